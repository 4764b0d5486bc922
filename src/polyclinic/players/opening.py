"""Opens whoever plays: the language models behind the minds, what is kept of their answers, and what they cost."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from polyclinic.cases.pictures import CasePictures
from polyclinic.errors import UserError
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.language import Language
from polyclinic.memory.opening import open_what_is_remembered
from polyclinic.memory.options import FORGETFUL, MemoryOptions
from polyclinic.models.journal import SharedRun
from polyclinic.models.model import Model
from polyclinic.models.session import ModelOptions, Session, open_session
from polyclinic.models.share import WHOLE, Share
from polyclinic.players.human.desk import Desk
from polyclinic.players.mind_names import HUMAN, Playing, model_of, name_of
from polyclinic.players.minds import Minds
from polyclinic.players.patient_trust import PatientTrust, trust_in
from polyclinic.retrieval.looking_up import LibraryOptions
from polyclinic.retrieval.opening import open_library


@dataclass(frozen=True, kw_only=True)
class Cast:
    """Who plays beside the doctor, each by the name of a mind or as a mind of one's own."""

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
    """For each doctor, by name, who plays its visits, the models behind all of them, and how far the patient holds.

    `patient_trust` is None where there is nothing to say (see `trust_in`).
    """

    minds: dict[str, Minds]
    session: Session
    patient_trust: PatientTrust | None = None

    def judge(self, name: str) -> Model:
        """Returns a further model that was opened, as one that judges."""
        return self.session.metered(name, role="judge", episode="judge")


@asynccontextmanager
async def open_minds(
    doctors: Sequence[Playing],
    cast: Cast,
    options: ModelOptions,
    *,
    knowledge: Knowledge,
    seed: int,
    journal: str | Path | None = None,
    others: Sequence[str] = (),
    run: str | None = None,
    shared: SharedRun | None = None,
    share: Share = WHOLE,
    library: LibraryOptions | None = None,
    memory: MemoryOptions = FORGETFUL,
    desk: Desk | None = None,
    languages: Iterable[Language] = (),
    prompts: bool = True,
    pictures: CasePictures | None = None,
    batches: Path | str | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[OpenMinds]:
    """Opens the models among the minds with `open_session`, and gives each doctor minds of its own.

    Further models are opened too, such as a judge; names of no model among these `others` are passed over. The run's
    name in the journal, unless given, is made of seed, patient and examiner; `prompts` says whether what was asked is
    kept there. With a library, doctors look things up; with a memory, they remember; it must be in the `languages` of
    the visits, as far as they are given. People play at the desk, the terminal by default. Doctors who see are shown
    the pictures. `shared`, `batches` and `report` are as in `open_session`.

    Raises:
        BadInput: the memory is in another language.
        UserError: a model, the journal, the library or the memory cannot be used, or no doctor reads what they hold.
    """
    library = library or LibraryOptions()
    if library.corpus is not None and all(_reads_nothing(doctor) for doctor in doctors):
        raise UserError("--corpus is for a doctor who reads: a language model, or a mind of your own")
    if memory.memory is not None and all(_reads_nothing(doctor) for doctor in doctors):
        raise UserError("--memory is for a doctor who reads: a language model, or a mind of your own")
    named = [model_of(mind) for mind in (*doctors, *cast.minds, *others)]
    run = f"seed={seed} patient={name_of(cast.patient)} examiner={name_of(cast.examiner)}" if run is None else run
    async with (
        open_what_is_remembered(memory) as opened,
        open_session(
            filter(None, [*named, *(opened.asked if opened else ())]),
            options,
            journal=journal,
            run=run,
            shared=shared,
            seed=seed,
            share=share,
            prompts=prompts,
            batches=batches,
            report=report,
        ) as session,
        open_library(library, session, options, share=share) as looking_up,
    ):
        if opened is not None:
            opened.check_language(languages)
        records, experience = memory.wanted()
        remembering = opened.recollection(session, records=records, experience=experience) if opened else None
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


def _reads_nothing(doctor: Playing) -> bool:
    name = name_of(doctor)
    return name in ("rules", HUMAN) or name.partition(":")[0] == "scripted"
