"""The options that say who plays, and the opening of what they name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import msgspec
import typer
from typer.core import TyperCommand

from polyclinic.errors import UserError

if TYPE_CHECKING:
    from polyclinic.knowledge.knowledge import Knowledge
    from polyclinic.models.journal import Journal
    from polyclinic.models.ledger import Ledger
    from polyclinic.models.model import Model, Price
    from polyclinic.players.minds import Minds

_PANEL = "Language models"
_MINDS = "rules, scripted:FILE, local, direct/NAME, or a name that Inspect knows."

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout, and nothing else.")]
LayoutOption = Annotated[
    str | None,
    typer.Option(help="The file's layout: polyclinic, agentclinic, ai-hospital, aie, tor. Recognised where left out."),
]
DoctorOption = Annotated[str, typer.Option(help=f"The doctor's mind: {_MINDS}", metavar="MIND")]
PatientOption = Annotated[
    str,
    typer.Option(
        help=f"The patient's mind: {_MINDS} saps:MODEL is the state-aware simulator, saps-parallel:MODEL the same with "
        "its questions asked at once.",
        metavar="MIND",
    ),
]
ExaminerOption = Annotated[
    str, typer.Option(help="Who reads requests for examinations: rules, or a model.", metavar="MIND")
]
BaseUrlOption = Annotated[
    str | None,
    typer.Option(help="The endpoint's address, up to /v1.", metavar="URL", rich_help_panel=_PANEL),
]
KeyOption = Annotated[
    str,
    typer.Option(help="The environment variable that holds the key.", metavar="NAME", rich_help_panel=_PANEL),
]
ConcurrencyOption = Annotated[
    int | None,
    typer.Option(min=1, help="Questions at a time to an endpoint; adapts where left out.", rich_help_panel=_PANEL),
]
TemperatureOption = Annotated[
    float | None,
    typer.Option(min=0, max=2, help="Left to the server where left out.", rich_help_panel=_PANEL),
]
JournalOption = Annotated[
    Path | None,
    typer.Option(
        help="Keep every answer in this file; the same command again goes on from it, asking nothing twice.",
        metavar="FILE",
        rich_help_panel=_PANEL,
    ),
]
MaxTokensOption = Annotated[
    int | None, typer.Option(min=1, help="Stop when the models have used so many tokens.", rich_help_panel=_PANEL)
]
MaxCostOption = Annotated[
    float | None, typer.Option(min=0, help="Stop when the models have cost so much.", rich_help_panel=_PANEL)
]
PriceOption = Annotated[
    str | None,
    typer.Option(
        help="What a million tokens cost, in and out, such as 0.15,0.60.", metavar="IN,OUT", rich_help_panel=_PANEL
    ),
]


_TEAM = "Several doctors"

DoctorsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--doctors",
        help="Several doctors, in place of --doctor: each sees the patient alone, then they discuss. "
        "--doctors A B C, or A,B,C.",
        metavar="MIND MIND ...",
        rich_help_panel=_TEAM,
    ),
]
DirectorOption = Annotated[
    str, typer.Option(help=f"Who chairs the discussion: {_MINDS}", metavar="MIND", rich_help_panel=_TEAM)
]
NoDisputesOption = Annotated[
    bool,
    typer.Option(
        "--no-dispute-resolution",
        help="The doctors see the others' reports, and not what is in dispute: the paper's ablation.",
        rich_help_panel=_TEAM,
    ),
]
OrderOption = Annotated[
    Literal["parallel", "sequential"],
    typer.Option(
        help="The doctors of a round speak all at once, or one after another, as in AI Hospital's Algorithm 1.",
        rich_help_panel=_TEAM,
    ),
]
MaxRoundsOption = Annotated[int, typer.Option(min=1, help="Rounds of discussion at most.", rich_help_panel=_TEAM)]


class TakesDoctors(TyperCommand):
    """A command whose `--doctors` takes several values: `app.command("consult", cls=TakesDoctors)`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parses what was typed."""
        return super().parse_args(ctx, spread(args, "--doctors"))


def spread(arguments: Sequence[str], option: str) -> list[str]:
    """Returns the arguments with an option that takes several values put before each of them.

    `--doctors a b,c --seed 1` becomes `--doctors a --doctors b --doctors c --seed 1`. The values end where the next
    option begins, so that what has no option of its own stands before them.
    """
    words, spreads, taking = list(arguments), list[str](), False
    for number, word in enumerate(words):
        if word == "--":
            return spreads + words[number:]
        name, equals, value = word.partition("=") if word.startswith("-") else ("", "=", word)
        taking = name == option if name else taking
        if not taking:
            spreads.append(word)
        elif equals:
            values = [one.strip() for one in value.split(",") if one.strip()] or [value]
            spreads += [part for one in values for part in (option, one)]
        elif number + 1 == len(words) or words[number + 1].startswith("-"):
            # Without a value: it is complained of as any other option is.
            spreads.append(word)
    return spreads


class ModelOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the options say about language models."""

    seed: int
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    concurrency: int | None = None
    temperature: float | None = None
    journal: Path | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    price: str | None = None


class MindOptions(ModelOptions, frozen=True, kw_only=True):
    """What the options say about who plays."""

    doctor: str
    patient: str
    examiner: str
    director: str = "rules"


class OpenedModels(NamedTuple):
    """The models that were opened, by name, what is kept of their answers, and what all of them cost."""

    models: Mapping[str, Model]
    journal: Journal | None
    ledger: Ledger

    def metered(self, name: str, *, role: str, episode: str) -> Model:
        """Returns a model, its answers kept for the episode and its cost written down under the role."""
        model = self.models[name]
        return self.ledger.meter(model if self.journal is None else self.journal.wrap(model, episode=episode), role)


class Opened(NamedTuple):
    """What was opened: for each doctor who plays its visits, the further models, and what all of them cost."""

    minds: dict[str, Minds]
    others: Mapping[str, Model]
    ledger: Ledger


@asynccontextmanager
async def open_models(names: Iterable[str], options: ModelOptions, *, run: str) -> AsyncIterator[OpenedModels]:
    """Opens language models, and what is kept of their answers, as long as they are needed.

    Args:
        names: of the models.
        options: how they are asked.
        run: names the run in the journal: answers are taken from the same run only.

    Raises:
        UserError: a name, a price or a file cannot be used.
    """
    from polyclinic.models.journal import Journal
    from polyclinic.models.ledger import Ledger
    from polyclinic.models.open import open_model

    price = read_price(options.price)
    ledger = Ledger(max_cost=options.max_cost, max_tokens=options.max_tokens)
    async with AsyncExitStack() as stack:
        models = {
            name: await stack.enter_async_context(
                open_model(
                    name,
                    base_url=options.base_url,
                    api_key_env=options.api_key_env,
                    concurrency=options.concurrency or "adaptive",
                    price=price,
                    seed=options.seed,
                )
            )
            for name in dict.fromkeys(names)
        }
        journal = None
        if options.journal is not None:
            journal = await stack.enter_async_context(Journal(options.journal, run=run))
        yield OpenedModels(models, journal, ledger)


@asynccontextmanager
async def open_minds(
    options: MindOptions, knowledge: Knowledge, *, doctors: Sequence[str] = (), others: Sequence[str] = ()
) -> AsyncIterator[Opened]:
    """Opens the models among the minds, and what is kept of their answers, as long as they are needed.

    Args:
        options: who plays, and how.
        knowledge: what the built-in minds know.
        doctors: several doctors, each with minds of its own; the one of the options by default.
        others: further models to open, such as a judge.

    Raises:
        UserError: a name, a price or a file cannot be used.
    """
    from polyclinic.players.minds import Minds, model_of

    doctors = doctors or [options.doctor]
    named = [model_of(mind) for mind in (*doctors, options.patient, options.examiner, options.director, *others)]
    run = f"seed={options.seed} patient={options.patient} examiner={options.examiner}"
    async with open_models([name for name in named if name is not None], options, run=run) as opened:
        minds = {
            doctor: Minds(
                doctor=doctor,
                patient=options.patient,
                examiner=options.examiner,
                director=options.director,
                knowledge=knowledge,
                seed=options.seed,
                models=opened.models,
                journal=opened.journal,
                ledger=opened.ledger,
                temperature=options.temperature,
            )
            for doctor in doctors
        }
        further = {
            name: opened.metered(name, role="judge", episode="judge") for name in others if name in opened.models
        }
        yield Opened(minds, further, opened.ledger)


def read_price(text: str | None) -> Price | None:
    """Reads `IN,OUT`.

    Raises:
        UserError: it is something else.
    """
    from polyclinic.models.model import Price

    if text is None:
        return None
    try:
        tokens_in, tokens_out = map(float, text.split(","))
    except ValueError:
        raise UserError(f"--price {text!r}; needs what a million tokens cost, in and out: 0.15,0.60") from None
    return Price(tokens_in, tokens_out)
