"""Options shared by several commands, each declared once as a type; the command line is made from these types.

An option is the type of a keyword of the same name: `seed: Seed = 0` is `--seed`. So is a group of options,
`models: Models = MODELS`; the docstring of a field is its `--help`. A command with a help text of its own for an option
adds it: `seed: Annotated[Seed, Parameter(help="...")] = 0`.
"""

# Annotations are objects here, not text: declarations elsewhere inherit these classes, and the command line reads both.

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Annotated, Self

from cyclopts import Group, Parameter, Token

from polyclinic.cases.pictures import PictureChoice
from polyclinic.errors import BadInput, UserError
from polyclinic.events import Order
from polyclinic.memory.options import FORGETFUL, MemoryOptions
from polyclinic.models.journal import KeptAnswers
from polyclinic.models.settings import Address, ModelSettings
from polyclinic.players.human.desk import Desk
from polyclinic.players.mind_names import HUMAN
from polyclinic.retrieval.retriever import LibraryOptions
from polyclinic.run.invocation import NOT_INVOKED, Invocation
from polyclinic.settings import setting
from polyclinic.storage.server import is_store, read_address

MODELS_GROUP = Group("Language models", sort_key=20)
CONFIGURATION_GROUP = Group("Configuration", sort_key=30)
TEAM_GROUP = Group("Several doctors", sort_key=10)
_MINDS = "rules, scripted:FILE, local, direct/NAME, a name that Inspect knows, or FILE.py:NAME."

MIND = Parameter(metavar="MIND")
MINDS = Parameter(metavar="MIND...", consume_multiple=1)
FILE = Parameter(metavar="FILE")
FILES = Parameter(metavar="FILE...", consume_multiple=1)
DIR = Parameter(metavar="DIR")

Several = Parameter(consume_multiple=1)
"""An option that takes several values, `--doctor A B`, and may be repeated."""


def between(least: float, most: float = inf) -> Parameter:
    """An option with a checked range; a number outside it is refused with the range that is allowed."""
    allowed = f"{least:,g} or more" if most == inf else f"{least:,g} to {most:,.15g}"

    def check(_: object, value: float | str | None) -> None:
        if isinstance(value, int | float) and not least <= value <= most:
            raise ValueError(allowed)

    return Parameter(validator=check)


POSITIVE = between(1)

Configuration = Annotated[
    list[Path] | None,
    Parameter(
        consume_multiple=1,
        metavar="FILE",
        group=CONFIGURATION_GROUP,
        help="A TOML file of options and settings, or the --out of a run.",
    ),
]
Sets = Annotated[
    list[str] | None,
    Parameter(
        name="--set",
        consume_multiple=1,
        metavar="KEY=VALUE",
        group=CONFIGURATION_GROUP,
        help="One setting; 'polyclinic config show COMMAND' lists all.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class AskedAddress(Address):
    """Where models are asked, and the files and settings that configure a command."""

    config: Configuration = None
    sets: Sets = None


@dataclass(frozen=True, kw_only=True)
class AskedModels(ModelSettings):
    """How models are asked, and the files and settings that configure a command."""

    config: Configuration = None
    sets: Sets = None


At = Annotated[AskedAddress, Parameter(name="*", group=MODELS_GROUP)]
AT = AskedAddress()
Models = Annotated[AskedModels, Parameter(name="*", group=MODELS_GROUP)]
MODELS = AskedModels()

Library = Annotated[LibraryOptions, Parameter(name="*", group=Group("Looking things up", sort_key=15))]
LIBRARY = LibraryOptions()

Memory = Annotated[MemoryOptions, Parameter(name="*", group=Group("Remembering", sort_key=16))]

ANSWERS, PRIVATE = "answers.sqlite", "private"


def _read_place(_: type, tokens: Sequence[Token]) -> Path | str:
    """Reads a folder, or the address of a database."""
    text = tokens[0].value
    return text if "://" in text else Path(text)


PLACE = Parameter(metavar="FOLDER|URL", converter=_read_place)
Out = Annotated[Path | str | None, PLACE]
"""Where a run is kept: a folder, or a PostgreSQL database that several machines share."""

Reuse = Annotated[
    Path | str | None,
    PLACE,
    Parameter(help="The --out of another run; its answers are reused where the requests are the same."),
    setting("run"),
]

BatchApi = Annotated[
    bool,
    Parameter(
        group=MODELS_GROUP,
        help="Ask in batches (/files, /batches), which cost less and may take a day; --out keeps their ids.",
    ),
    setting("models"),
]

Invoked = Annotated[Invocation, Parameter(parse=False)]
"""The command itself, with the values of its options."""

On = Annotated[
    str | None,
    Parameter(
        metavar="WHERE",
        help="Worker processes: local:N on this machine, ray or ray://HOST:PORT on a Ray cluster.",
    ),
]

Json = Annotated[bool, Parameter(help="Print one JSON document and nothing else; --csv prints tables as CSV.")]
Seed = Annotated[int, between(0), Parameter(help="Random seed; the same seed gives the same result.")]
BootstrapSeed = Annotated[int, between(0), Parameter(help="Random seed of the bootstrap.")]


def _check_file(_: object, value: Path | None) -> None:
    if value is not None and ":/" in str(value):
        raise ValueError("a file; its answers are kept beside it")


A_FILE = Parameter(metavar="FILE", validator=_check_file)
NewFile = Annotated[Path, A_FILE]
Force = Annotated[bool, Parameter(help="Overwrite the file.")]
Limit = Annotated[int | None, POSITIVE, Parameter(help="Number of cases, from the first.")]
MaxFailures = Annotated[
    float,
    between(0, 100),
    Parameter(help="Maximum share of failures, in percent; above it the run fails."),
    setting("run"),
]

CASE_FILE = Parameter(
    help="Case file, or an installed one: 'shipped', 'inpatients', and in Chinese 'shipped-zh', 'inpatients-zh'."
)
Cases = Annotated[str, FILE, CASE_FILE]
ONE_CASE = Parameter(
    metavar="FILE#ID",
    help="A case of a file, FILE#ID, such as shipped#p1-00001; 'shipped' and 'shipped-zh' are installed.",
)
LayoutOption = Annotated[
    str | None,
    Parameter(
        metavar="NAME",
        help="Layout of the case file: polyclinic, agentclinic, agentclinic-images, ai-hospital, aie, tor, mediq, "
        "craft-md, ddxplus, fhir, a field map FILE.toml, or FILE.py:NAME. By default it is recognised by its keys.",
    ),
]
Layout = Annotated[LayoutOption, setting("cases")]
Strict = Annotated[
    bool, Parameter(negative=(), help="Stop at an unusable case instead of naming, counting and skipping it.")
]
StrictSetting = Annotated[Strict, setting("cases")]

Pictures = Annotated[
    PictureChoice | None,
    Parameter(
        help="Pictures of a case shown to doctors who can see: local (the default), those in the folder of the case "
        "file; addresses, also those on the network, which the model's endpoint fetches; none. A model can see if its "
        "models.model-file says sees = true.",
    ),
    setting("cases"),
]

Doctor = Annotated[str, MIND, Parameter(help=f"The doctor's mind: {_MINDS} recall uses its memory alone.")]
Doctors = Annotated[list[str], MINDS, Parameter(help=f"Doctors' minds: {_MINDS}")]
Patient = Annotated[
    str,
    MIND,
    Parameter(
        help=f"The patient's mind: {_MINDS} saps:MODEL is the state-aware simulator; saps-parallel:MODEL asks its "
        "questions at the same time.",
    ),
]
Examiner = Annotated[
    str, MIND, Parameter(help="The examiner, who reads requests for examinations: rules, a model, or FILE.py:NAME.")
]
Metrics = Annotated[
    list[str] | None,
    Several,
    Parameter(
        metavar="METRIC...",
        help="Metrics to compute: any of the ten by name, or a function of your own, FILE.py:NAME. All ten if none "
        "of them is named.",
    ),
]
MaxTurns = Annotated[int, POSITIVE, Parameter(help="Maximum number of the doctor's turns.")]


Session = Annotated[
    Path | None,
    Parameter(metavar="FILE", help="Keep what you type as 'human' in this file; the same command resumes from it."),
    setting("run"),
]


@Parameter(name="*", group=TEAM_GROUP)
@dataclass(frozen=True, kw_only=True)
class TeamOptions:
    """Several doctors instead of one, and how they discuss."""

    doctors: Annotated[list[str] | None, MINDS] = None
    """Several doctors instead of --doctor; each sees the patient alone, then they discuss: --doctors A B, or A,B."""
    director: Annotated[str, MIND] = "rules"
    """The director of the discussion: rules, scripted:FILE, a model, or FILE.py:NAME."""
    no_dispute_resolution: Annotated[bool, setting("team")] = False
    """Show doctors each other's reports but not the points in dispute: the paper's ablation."""
    order: Annotated[Order | None, setting("team")] = None
    """Whether doctors speak at the same time (the default) or one after another, as in AI Hospital's Algorithm 1."""
    max_rounds: Annotated[int, POSITIVE, setting("team")] = 4
    """Maximum number of rounds of discussion."""

    @property
    def named(self) -> list[str]:
        """The doctors' minds; `A,B` counts as two."""
        return [
            name
            for text in self.doctors or ()
            for name in [one.strip() for one in text.split(",") if one.strip()] or [text]
        ]


TEAM = TeamOptions()


Protocol = Annotated[
    str,
    Parameter(
        metavar="WHOSE",
        help="Protocol: ours, paper, or a file FILE.yaml; 'polyclinic config show' prints each.",
    ),
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ProtocolOption:
    """The protocol that an evaluation follows."""

    protocol: Protocol = "ours"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SessionOption:
    """The file that keeps what a person types."""

    session: Session = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class BatchOption:
    """Whether models are asked in batches."""

    batch_api: BatchApi = False


def open_desk(options: SessionOption, minds: Sequence[str]) -> Desk:
    """Returns where a person plays."""
    if options.session is not None and HUMAN not in minds:
        raise UserError("run.session keeps what a person types; play the doctor or the patient: --doctor human")
    return Desk(session=options.session)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CaseOptions:
    """The cases, and the players other than the doctor."""

    cases: Cases
    layout: Layout = None
    strict: StrictSetting = False
    limit: Limit = None
    patient: Patient = "rules"
    examiner: Annotated[Examiner, setting("run")] = "rules"
    library: Library = LIBRARY
    memory: Memory = FORGETFUL
    pictures: Pictures = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class KeptOptions:
    """Where a run is kept: the prompts and answers of models, and the results."""

    out: Annotated[
        Out,
        Parameter(
            help="Folder for the results, or postgresql://USER@HOST/DATABASE. Answers are kept there too: the same "
            "command resumes."
        ),
    ] = None
    reuse: Reuse = None
    invocation: Invoked = NOT_INVOKED
    shared_answers: Annotated[KeptAnswers | None, Parameter(parse=False)] = None

    def __post_init__(self) -> None:
        for place in (self.out, self.reuse):
            if isinstance(place, str) and "://" in place:
                read_address(place.partition("#")[0])

    @property
    def folder(self) -> Path | None:
        """The folder of the results, None for none."""
        return None if self.out is None or self.database is not None else Path(self.out)

    @property
    def database(self) -> str | None:
        """The address of the database of answers and results, None for none."""
        return self.out.partition("#")[0] if isinstance(self.out, str) and is_store(self.out) else None

    @property
    def private(self) -> Path | None:
        """The folder of what models were asked and answered, None for none."""
        return None if self.folder is None else self.folder / PRIVATE


NOWHERE = KeptOptions()


class BesideFile(KeptOptions):
    """Where a command that writes one file keeps its answers: in `FILE.private`."""

    @property
    def private(self) -> Path | None:
        """The folder of what models were asked and answered."""
        return None if self.folder is None else self.folder.with_name(f"{self.folder.name}.{PRIVATE}")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RunOptions(KeptOptions):
    """The options of every evaluation: seed, results and models."""

    seed: Seed = 0
    json: Json = False
    max_failures: MaxFailures = 5.0
    models: Models = MODELS
    on: Annotated[On, Parameter(group=MODELS_GROUP)] = None

    def for_worker(self) -> Self:
        """Returns the same for a worker, which writes nothing and keeps nothing itself."""
        return replace(self, out=None, reuse=None, json=False, on=None, shared_answers=None, invocation=NOT_INVOKED)


RUN = RunOptions()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class AskOptions(RunOptions):
    """The options of a command that asks in this process alone, and does not judge the share of failures."""

    max_failures: Annotated[float, Parameter(parse=False)] = 100.0
    on: Annotated[On, Parameter(parse=False)] = None


ASK = AskOptions()


def check_new(out: Path, *, force: bool) -> None:
    """Raises BadInput if a file exists that may not be overwritten."""
    if out.is_file() and not force:
        raise BadInput("the file exists; name another, or overwrite it with --force", path=out)


def each_once(option: str, names: Sequence[str]) -> None:
    """Raises a UserError if an option that may be repeated names the same thing twice."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"--{option} names {twice!r} twice; each {option} once")
