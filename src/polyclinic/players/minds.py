"""Makes a mind for each role of each visit, by the names that `mind_names` reads, and opens the models behind them.

From Python, a script or a mind of one's own is given itself: see `Playing`.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import msgspec

from polyclinic import plugins
from polyclinic.cases.pictures import CasePictures, SeenPicture, is_address, words_of_place
from polyclinic.cases.withhold import withhold
from polyclinic.errors import UnknownMind, UserError, meant
from polyclinic.events import Role
from polyclinic.knowledge.bayes import Reader
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.names import Names, names_of
from polyclinic.language.language import Language
from polyclinic.memory.options import FORGETFUL, MemoryOptions
from polyclinic.models.journal import Answers, Journal
from polyclinic.models.ledger import Ledger
from polyclinic.models.limits import WHOLE, Share
from polyclinic.models.model import Model
from polyclinic.models.open import meant_model
from polyclinic.models.pipeline import Asker
from polyclinic.models.session import OpenModels, Session, journal_of, open_models
from polyclinic.models.settings import ModelSettings
from polyclinic.models.tally import CallTally, SharedAnswers
from polyclinic.players.human.desk import Desk
from polyclinic.players.mind_names import KINDS, Playing, is_script, kind_by_prefix, kind_of, model_of, name_of
from polyclinic.players.own_mind import Answer, OwnMind, ScriptedMind, copied, maker_of, read_script
from polyclinic.players.patient_trust import PatientTrust, trust_in
from polyclinic.players.player import ALONE, Mind, Seat
from polyclinic.players.roles.doctor import Doctor
from polyclinic.players.roles.examiner import Examiner
from polyclinic.players.roles.patient import Patient
from polyclinic.players.roles.staff import Director, Nurse, Pharmacist
from polyclinic.players.rules.doctor import RulesDoctor
from polyclinic.players.rules.patient import RulesPatient
from polyclinic.players.rules.staff import RulesExaminer, RulesNurse, RulesPharmacist
from polyclinic.retrieval.retriever import LibraryOptions
from polyclinic.seeds import derive

if TYPE_CHECKING:
    from polyclinic.memory.opening import OpenedMemory
    from polyclinic.memory.remembering import Recollection
    from polyclinic.players.human.people import Chair
    from polyclinic.players.language_model.saps import Saps
    from polyclinic.retrieval.retriever import LookingUp

_MODELS = "local, local/FILE.gguf, direct/NAME (with --base-url), or a name that Inspect knows, such as openai/NAME"


def unknown_mind(role: Role, player: str) -> UnknownMind:
    """Returns what is told of whoever names a mind that cannot play the role."""
    rest = player.partition(":")[2]
    fit, offered = [kind.pattern for kind in KINDS.values() if role in kind.roles], plugins.offered("minds")
    named = [one.partition(":")[0] + (f":{rest}" if ":" in one else "") for one in fit] if rest else fit
    near = meant(player, [*named, *offered]) or meant_model(player)
    allowed = f"{', '.join(fit)}, or a model: {_MODELS}; or one of your own: {', '.join(('FILE.py:NAME', *offered))}"
    return UnknownMind(f"no mind {player!r} can play the {role}{near}; allowed: {allowed}")


SOMETHING_ELSE = 2
"""To the rules doctor, none of the diseases it knows is as likely beforehand as so many of them together: 20 % where it
knows eight, 4 % where it knows fifty. Who knows more meets less that is unknown."""


class _PlayedPart(NamedTuple):
    """A role in one visit, which the case names; `episode` is the part of the run that it is, for a journal."""

    role: Role
    case: str
    episode: str
    seat: Seat = ALONE
    department: str = ""

    def draws(self, seed: int) -> Any:
        """Returns the generator of the mind that plays the part."""
        return derive(seed, self.case, self.role, *([self.seat.number] if self.seat.number else []))


class Minds:
    """Makes a mind for each role of each visit; what is heavy (tables, scripts, models) is made once.

    Args:
        doctor: the doctor's mind, by name as on the command line; or a function of (ask, role), a class or an object
            with a method `answer`; or a script for it, a list or a dict. So are the five others.
        knowledge: what the built-in minds know.
        seed: the run's seed; each visit's minds draw from generators derived from it and the case.
        models: the language models that the minds need (`model_of`), by name, opened.
        journal: keeps every answer of a model; each visit is an episode.
        looking_up: what doctors may look things up in, those that read: models, and minds of one's own.
        remembering: what those same doctors remember of patients of their own.
        desk: where a person plays; the terminal by default.
        pictures: what doctors who see are shown of a case; nothing where None.

    Raises:
        UnknownMind: a name is none of those that can play the role.
        BadInput: a script cannot be read.
    """

    def __init__(
        self,
        *,
        doctor: Playing = "rules",
        patient: Playing = "rules",
        examiner: Playing = "rules",
        director: Playing = "rules",
        nurse: Playing = "rules",
        pharmacist: Playing = "rules",
        knowledge: Knowledge,
        seed: int,
        models: Mapping[str, Model] | None = None,
        journal: Journal | None = None,
        ledger: Ledger | None = None,
        temperature: float | None = None,
        looking_up: LookingUp | None = None,
        remembering: Recollection | None = None,
        desk: Desk | None = None,
        pictures: CasePictures | None = None,
    ) -> None:
        self.seed = seed
        self.desk = desk or Desk()
        self.chair: Chair | None = None
        self.pictures = pictures
        self._models = models if isinstance(models, OpenModels) else OpenModels(models)
        self._journal, self._temperature = journal, temperature
        self._looking_up, self._remembering, self._version = looking_up, remembering, ""
        self.ledgers: tuple[Ledger, ...] = () if ledger is None else (ledger,)
        self._shared: SharedAnswers | None = None
        self._tally: CallTally | None = None
        players = dict(zip(Role, (doctor, patient, examiner, director, nurse, pharmacist), strict=True))
        self.names = {role: name_of(player) for role, player in players.items()}
        self._makers = {role: _maker(role, player, self._models) for role, player in players.items()}
        self._knowledge, self._reader = knowledge, _reader_of(knowledge)
        self.examination_names: Names = names_of(knowledge)
        self._departments = frozenset(disease.department for disease in knowledge.diseases.values())

    def doctor(self, case: str, *, seat: Seat = ALONE, department: str = "") -> Mind[Doctor]:
        """Returns a mind for the doctor of this case; one with rules knows a department's diseases alone."""
        return self._make(Role.DOCTOR, case, seat=seat, department=department)

    def doctor_again(self, mind: Mind[Doctor], case: str, *, seat: Seat) -> Mind[Doctor]:
        """Returns a mind for a doctor of this case who goes on from that seat; what it keeps itself goes with it."""
        return copied(mind) if isinstance(mind, ScriptedMind | OwnMind) else self.doctor(case, seat=seat)

    def reading(self, doctor: Mind[Doctor], own: Recollection | None = None) -> dict[str, Any]:
        """Returns what a doctor's mind looks up and remembers, its `own` memory first, as fields of `Doctor`.

        Rules, scripts and people read nothing. A model says itself which experience helps, and `recall` asks for it.
        """
        if not getattr(doctor, "reads", True):
            return {}
        return {
            "looking_up": self._looking_up,
            "remembering": own or self._remembering,
            "reminded": not getattr(doctor, "reminds_itself", False),
            "judges": getattr(doctor, "helpful", None),
        }

    def patient(self, case: str, *, seat: Seat = ALONE) -> Mind[Patient]:
        """Returns a mind for the patient of this case, whom the doctor in that seat sees."""
        return self._make(Role.PATIENT, case, seat=seat)

    def tracker(self, case: str) -> Saps | RulesPatient | None:
        """Returns who tells what a doctor's turns were to the patient of this case, if its mind does not.

        For a model without a tracker it is the state-aware patient's, on the same model; for a person, a script or a
        mind of one's own, the rules. None where a patient tracks for itself.
        """
        from polyclinic.players.language_model.mind import ModelMind  # noqa: PLC0415 - see `_maker`
        from polyclinic.players.language_model.saps import Saps  # noqa: PLC0415

        part = _PlayedPart(Role.PATIENT, case, f"{self._episode(case, ALONE)}/tracker")
        patient = self._makers[Role.PATIENT](self, part)
        if isinstance(patient, ModelMind):
            return Saps(self._model(part), name=self.names[Role.PATIENT], temperature=self._temperature)
        if getattr(patient, "tracks", False):
            return None
        return RulesPatient(self.reader().lexicons, self.examination_names, part.draws(self.seed))

    def examiner(self, case: str, *, seat: Seat = ALONE) -> Mind[Examiner]:
        """Returns a mind for the examiner of this case, on whom the doctor in that seat calls."""
        return self._make(Role.EXAMINER, case, seat=seat)

    def director(self, case: str, *, team: str) -> Mind[Director]:
        """Returns a mind for the director of the discussion of this case by a team."""
        episode = self._staff_episode(case, Role.DIRECTOR, f"director of {team}")
        return self._make(Role.DIRECTOR, case, episode, seat=Seat(put_down_to=team))

    def nurse(self, case: str) -> Mind[Nurse]:
        """Returns a mind for the nurse who receives the patient of this case."""
        return self._make(Role.NURSE, case, self._staff_episode(case, Role.NURSE))

    def pharmacist(self, case: str) -> Mind[Pharmacist]:
        """Returns a mind for the pharmacist to whom the patient of this case brings a prescription."""
        return self._make(Role.PHARMACIST, case, self._staff_episode(case, Role.PHARMACIST))

    def reader(self, department: str = "") -> Reader:
        """Returns the reader of the whole knowledge, or of one department's where it has diseases; made once."""
        # A department without a disease of its own sees what the others send.
        return _reader_of(self._knowledge, department) if department in self._departments else self._reader

    def having(
        self,
        *,
        ledger: Ledger | None = None,
        version: str | None = None,
        chair: Chair | None = None,
        answers: SharedAnswers | None = None,
        tally: CallTally | None = None,
    ) -> Minds:
        """Returns the same minds with one thing more.

        A `ledger` gets their costs as well, and a `tally` counts their calls. Their answers are kept under the
        `version` of their memories ("" for none), and shared with all minds that have the same `answers`. In a `chair`
        a person plays the doctor, and not at the desk.
        """
        minds = copy.copy(self)
        minds.ledgers += () if ledger is None else (ledger,)
        changes = {"_version": version, "chair": chair, "_shared": answers, "_tally": tally}
        vars(minds).update({name: value for name, value in changes.items() if value is not None})
        return minds

    def forget(self, case: str) -> None:
        """Frees what a journal holds of a case that is over, seen by one doctor; nothing more may be asked of it."""
        if self._journal is not None:
            self._journal.forget(self._episode(case, ALONE))
            for role in (Role.NURSE, Role.PHARMACIST):
                self._journal.forget(self._staff_episode(case, role))

    def _staff_episode(self, case: str, role: Role, part: str = "") -> str:
        return f"{self.names[role]} {case}/{part or role}"

    def _episode(self, case: str, seat: Seat) -> str:
        alone = f"{self.names[Role.DOCTOR]} {case}{f'@{self._version}' if self._version else ''}"
        return f"{alone}/doctor {seat.number} of {seat.team}" if seat.number else alone

    def _make(self, role: Role, case: str, episode: str = "", *, seat: Seat = ALONE, department: str = "") -> Mind[Any]:
        part = _PlayedPart(role, case, episode or self._episode(case, seat), seat, department)
        return self._makers[role](self, part)

    def _model(self, part: _PlayedPart) -> Model:
        """Returns the model that a role's mind needs, with what is kept and summed of its answers."""
        name = model_of(self.names[part.role]) or ""
        player = part.seat.put_down_to or part.seat.team or self.names[Role.DOCTOR]
        asker = Asker(part.role, part.episode, part.case, player)
        model = self._models.asked_by(asker, name, journal=self._journal, ledgers=self.ledgers)
        if self._shared is not None:
            return self._shared.of(model, self._tally)
        return model if self._tally is None else self._tally.of(model)


Maker = Callable[[Minds, _PlayedPart], Mind[Any]]
"""Makes the mind of a role in one visit."""


def by_person(_role: Role, _name: str) -> Maker:
    """Returns what makes a person at the desk, or in the doctor's chair."""
    from polyclinic.players.human import people  # noqa: PLC0415 - see `_maker`

    def make(minds: Minds, part: _PlayedPart) -> Mind[Any]:
        if part.role is Role.PATIENT:
            return people.HumanPatient(minds.desk, f"{part.episode}/patient")
        if part.role is Role.NURSE:
            return people.HumanNurse(minds.desk, f"{part.role}/{part.episode}")
        adviser = RulesDoctor(minds.reader(part.department), minds.reader())
        if minds.chair is not None:
            return people.SeatedDoctor(minds.chair, adviser)
        return people.HumanDoctor(minds.desk, part.episode, people.order_names_of(minds._knowledge), adviser)

    return make


def by_rules(_role: Role, _name: str) -> Maker:
    """Returns what makes the built-in minds."""
    return _rules


def _rules(minds: Minds, part: _PlayedPart) -> Mind[Any]:
    match part.role:
        case Role.DOCTOR:
            return RulesDoctor(minds.reader(part.department), minds.reader())
        case Role.PATIENT:
            return RulesPatient(minds.reader().lexicons, minds.examination_names, part.draws(minds.seed))
        case Role.EXAMINER:
            return RulesExaminer()
        case Role.NURSE:
            return RulesNurse(minds.reader())
        case Role.PHARMACIST:
            return RulesPharmacist()
    from polyclinic.players.rules.director import RulesDirector  # noqa: PLC0415 - see `_maker`

    return RulesDirector(minds.reader())


def by_recall(_role: Role, _name: str) -> Maker:
    """Returns what makes a doctor who goes by its memory alone."""
    from polyclinic.players.recalling import RecallMind  # noqa: PLC0415 - see `_maker`

    return lambda minds, part: RecallMind(minds.reader(part.department).knowledge, case=part.case, seed=minds.seed)


def by_script(role: Role, name: str) -> Maker:
    """Returns what makes a mind that says what its file says; the file is read once."""
    file = name.partition(":")[2]
    if not file:
        raise UnknownMind(f"the {role}'s mind 'scripted' needs its file: scripted:FILE")
    script = read_script(Path(file))
    return lambda *_: ScriptedMind(script, name=name)


def _maker(role: Role, player: Any, models: Mapping[str, Model]) -> Maker:
    """Returns what makes the minds of a role; a model's name is unknown where the model was not opened.

    Minds other than the rules are imported when somebody names them: a visit by rules starts in half the time.
    """
    if not isinstance(player, str):
        own = maker_of(player, f"the {role}'s mind") if not is_script(player) else None
        return (lambda *_: ScriptedMind(player)) if own is None else _own(own, name_of(player))
    kind, model = kind_of(player), model_of(player)
    if role in kind.roles and kind.made and (model in models if kind.needs == "MODEL" else kind.is_named_by(player)):
        module, _, attribute = kind.made.partition(":")
        made: Any = getattr(import_module(f"polyclinic.players.{module}"), attribute)
        if kind.needs != "MODEL":
            by_name: Maker = made(role, player)
            return by_name
        settings = dict(kind.settings)
        if role is Role.DOCTOR:
            settings["sees"] = isinstance(models, OpenModels) and models.sees(model or "", role)
        return lambda minds, part: made(minds._model(part), name=player, temperature=minds._temperature, **settings)
    if (thing := plugins.find(player, "minds")) is not None:
        return _own(maker_of(thing, player), player)
    if model is not None and role in kind.roles:
        raise UnknownMind(f"{model!r} is not open; open it: models={{{model!r}: open_model({model!r})}}")
    raise unknown_mind(role, player)


def _own(make: Callable[[int], Answer], name: str) -> Maker:
    return lambda minds, part: OwnMind(make, name=name, seed=part.draws(minds.seed).getrandbits(32))


def check_mind(role: Role, name: str) -> None:
    """Checks that a mind that needs no model can play a role, and that its file can be read."""
    _maker(role, name, {})


@functools.lru_cache(maxsize=64)
def _reader_of(knowledge: Knowledge, wanted: str = "all") -> Reader:
    known = knowledge.select(wanted)
    return Reader(known, something_else=SOMETHING_ELSE / (SOMETHING_ELSE + len(known.diseases)))


def shown_to(
    doctor: Mind[Doctor], pictures: CasePictures | None, urls: Sequence[str], *, secret: Sequence[str] = ()
) -> tuple[SeenPicture, ...]:
    """Returns those of a case's pictures that a doctor's mind is shown, by where they lie.

    One whose file is named by a `secret`, a name of what the visit is to find out, is told of by its number alone. One
    whose address on the network is, is not shown: the endpoint would be sent the name.
    """
    if pictures is None:
        return ()
    seen = pictures.of(urls) if getattr(doctor, "sees", False) else ()
    shown = []
    for number, picture in enumerate(seen, start=1):
        if tells_in_address(picture.url, secret):
            continue
        place, named = words_of_place(picture.shown.name), picture.shown
        if withhold(place, secret) != place:
            named = msgspec.structs.replace(named, name=f"picture {number}")
        shown.append(msgspec.structs.replace(picture, shown=named))
    return tuple(shown)


def tells_in_address(url: str, secret: Sequence[str]) -> bool:
    """Whether a picture lies somewhere on the network at an address in which a `secret` stands."""
    place = words_of_place(unquote(url))
    return is_address(url) and withhold(place, secret) != place


@dataclass(frozen=True, kw_only=True)
class Cast:
    """The players other than the doctor, each the name of a mind or a mind of your own."""

    patient: Playing = "rules"
    examiner: Playing = "rules"
    director: Playing = "rules"
    nurse: Playing = "rules"
    pharmacist: Playing = "rules"

    @property
    def minds(self) -> tuple[Playing, ...]:
        """The minds."""
        return tuple(vars(self).values())


class OpenMinds(NamedTuple):
    """For each doctor, by name, who plays its visits, the models behind all of them, and how far the patient holds."""

    minds: dict[str, Minds]
    session: Session
    patient_trust: PatientTrust | None = None

    def judge(self, name: str) -> Model:
        """Returns a further model that was opened, as one that judges."""
        return self.session.model(name, Asker("judge", "judge"))


@asynccontextmanager
async def open_minds(
    doctors: Sequence[Playing],
    cast: Cast,
    options: ModelSettings,
    *,
    knowledge: Knowledge,
    seed: int,
    journal: Answers | None = None,
    ledger: Ledger | None = None,
    others: Sequence[str] = (),
    run: str | None = None,
    share: Share = WHOLE,
    library: LibraryOptions | None = None,
    memory: MemoryOptions = FORGETFUL,
    desk: Desk | None = None,
    languages: Iterable[Language] = (),
    prompts: bool = True,
    pictures: CasePictures | None = None,
    batches: bool = False,
    report: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[OpenMinds]:
    """Opens the models among the minds with `open_models`, and gives each doctor minds of its own.

    Further models are opened too, such as a judge; names of no model among these `others` are passed over. The run's
    name in the journal, unless given, is made of seed, patient and examiner; `prompts` says whether what was asked is
    kept there. With a library, doctors look things up; with a memory, they remember; it must be in the `languages` of
    the visits, as far as they are given. People play at the desk, the terminal by default. Doctors who see are shown
    the pictures. `ledger`, `batches` and `report` are as in `open_models`.

    Raises:
        BadInput: the memory is in another language.
        UserError: a model, the journal, the library or the memory cannot be used, or no doctor reads what they hold.
    """
    library = library or LibraryOptions()
    reading = any(kind_by_prefix(name_of(doctor)).reads for doctor in doctors)
    for option, given in (("--corpus", library.corpus), ("--memory", memory.memory)):
        if given is not None and not reading:
            raise UserError(f"{option} is for a doctor who reads: a language model, or a mind of your own")
    run = f"seed={seed} patient={name_of(cast.patient)} examiner={name_of(cast.examiner)}" if run is None else run
    async with AsyncExitStack() as stack:
        opened: OpenedMemory | None = None
        if memory.memory is not None:
            from polyclinic.memory.opening import open_what_is_remembered  # noqa: PLC0415 - only of doctors with one

            opened = stack.enter_context(open_what_is_remembered(memory.memory))
        named = [model_of(mind) for mind in (*doctors, *cast.minds, *others)]
        opening = open_models(
            filter(None, [*named, *(opened.asked if opened else ())]),
            options,
            ledger=ledger,
            journal=journal_of(journal, run=run, prompts=prompts),
            seed=seed,
            share=share,
            batches=batches,
            report=report,
        )
        session = await stack.enter_async_context(opening)
        looking_up: LookingUp | None = None
        if library.corpus is not None:
            from polyclinic.retrieval.library import open_library  # noqa: PLC0415 - only of doctors with one

            looking_up = await stack.enter_async_context(open_library(library, session, options, share=share))
        if opened is not None:
            opened.check_language(languages)
        remembering = opened.recollection(session, memory.wanted()) if opened else None
        for role, mind in (*(("doctor", doctor) for doctor in doctors), *vars(cast).items()):
            if (name := model_of(mind)) is not None:
                session.models.of(name, role)  # where it cannot be opened, that is said before anybody plays
        minds = {
            name_of(doctor): Minds(
                doctor=doctor,
                **vars(cast),
                knowledge=knowledge,
                seed=seed,
                models=session.models,
                journal=session.journal,
                ledger=session.ledger,
                temperature=options.temperature,
                looking_up=looking_up,
                remembering=remembering,
                desk=desk,
                pictures=pictures,
            )
            for doctor in doctors
        }
        yield OpenMinds(minds, session, trust_in(cast.patient, doctors))
