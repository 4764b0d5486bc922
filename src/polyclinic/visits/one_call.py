"""A visit in one call, for who has no event loop: `polyclinic.consult(case)`."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from polyclinic.cases.case import Case
from polyclinic.cases.pictures import CasePictures
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.models.session import ModelOptions
from polyclinic.players.mind_names import Playing, name_of
from polyclinic.players.opening import Cast, open_minds
from polyclinic.visits.consultation import MAX_TURNS
from polyclinic.visits.visit import Visit, see


def consult(
    case: Case,
    *,
    doctor: Playing = "rules",
    patient: Playing = "rules",
    examiner: Playing = "rules",
    seed: int = 0,
    max_turns: int = MAX_TURNS,
    in_one_step: bool = False,
    models: ModelOptions | None = None,
    journal: str | Path | None = None,
    pictures: CasePictures | None = None,
) -> Visit:
    """Lets a doctor see the patient of a case as `see` does, and waits for the end.

    Minds are named as on the command line, or are your own functions, classes or objects, as `Minds` takes them. The
    journal is a file that keeps every answer of a model. Doctors who see are shown the case's pictures, as
    `pictures` reads them.

    Raises:
        UserError: a name or a file cannot be used.
    """

    async def visit() -> Visit:
        playing = open_minds(
            [doctor],
            Cast(patient=patient, examiner=examiner),
            models or ModelOptions(),
            knowledge=read_knowledge(),
            seed=seed,
            journal=journal,
            pictures=pictures,
        )
        async with playing as opened:
            return await see(case, opened.minds[name_of(doctor)], max_turns=max_turns, in_one_step=in_one_step)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(visit())
    # In a notebook a loop runs already: the visit has one of its own, in a thread that is waited for.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, visit()).result()
