"""Models that stand for nature: they write who lives in the town, and say how illnesses go on.

They play nobody and are told what is so; what they say reaches nobody who plays but as a case.
"""

from __future__ import annotations

import dataclasses
from contextlib import AbstractAsyncContextManager
from functools import partial

from polyclinic.hospital.configuration import Configuration
from polyclinic.hospital.planned import Forecasting
from polyclinic.hospital.record.store import Store
from polyclinic.hospital.town.forecast import course_by_model
from polyclinic.hospital.town.profiles import write_profiles
from polyclinic.hospital.town.residents import Residents
from polyclinic.hospital.town.town import Town
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.models.journal import SharedRun
from polyclinic.models.session import Session, open_session

_NATURE = "nature"


def open_nature(
    configuration: Configuration, store: Store | None, shared: SharedRun | None
) -> AbstractAsyncContextManager[Session]:
    """Opens the models that stand for nature; their answers are kept in a file of their own beside the run.

    Where the run's are `shared` in a database, theirs are, under a name of their own.
    """
    names = [name for name in (configuration.profiles, configuration.course) if name]
    return open_session(
        names,
        # What tokens they may use is the players' alone.
        dataclasses.replace(configuration.setup.options, max_tokens=None),
        journal=store.calls.with_name("nature.sqlite") if store is not None and names else None,
        run=_NATURE,
        shared=None if shared is None else shared._replace(run=f"{shared.run} {_NATURE}"),
        seed=configuration.seed,
    )


async def written_by_model(
    configuration: Configuration, town: Town, residents: Residents, nature: Session, knowledge: Knowledge
) -> tuple[Residents, dict[str, int]]:
    """Returns the residents with those who may fall ill written by a model, and the failures by name."""
    chosen: dict[int, None] = {}
    for day in range(configuration.days):
        chosen |= dict.fromkeys(onset.resident for onset in town.onsets(day))
        if configuration.visits is not None and len(chosen) >= configuration.visits:
            break
    model = nature.metered(configuration.profiles, role=_NATURE, episode="")
    profiles, failures = await write_profiles(
        [residents[number] for number in chosen], model, knowledge, temperature=configuration.setup.temperature
    )
    return residents.with_profiles(profiles), dict(failures)


def forecasting(configuration: Configuration, nature: Session) -> Forecasting | None:
    """Returns who says how illnesses go on; None where the knowledge does."""
    if not configuration.course:
        return None
    return partial(
        course_by_model,
        model=nature.metered(configuration.course, role=_NATURE, episode=""),
        follow_up_days=configuration.hospital.illness.follow_up_days,
        temperature=configuration.setup.temperature,
    )
