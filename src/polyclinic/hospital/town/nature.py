"""Models that stand for nature: they write who lives in the town, and say how illnesses go on.

They play nobody and are told what is so; what they say reaches nobody who plays but as a case.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec

from polyclinic.cases.case import Case
from polyclinic.hospital.configuration import Configuration
from polyclinic.hospital.record.store import Store
from polyclinic.hospital.simulation import Treatment
from polyclinic.hospital.town.forecast import NoCourse, course_by_model
from polyclinic.hospital.town.illness import Course
from polyclinic.hospital.town.profiles import write_profiles
from polyclinic.hospital.town.residents import Residents
from polyclinic.hospital.town.town import DrawnTown
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.models.journal import Journal
from polyclinic.models.ledger import Ledger
from polyclinic.models.model import Model
from polyclinic.models.open import open_model


class Nature(msgspec.Struct):
    """The models of a run that play nobody, and what they cost."""

    configuration: Configuration
    models: dict[str, Model]
    ledger: Ledger

    async def written(
        self, town: DrawnTown, residents: Residents, knowledge: Knowledge
    ) -> tuple[Residents, dict[str, int]]:
        """Returns the residents with those who may fall ill written by a model, and the failures by name."""
        chosen: dict[int, None] = {}
        for day in range(self.configuration.days):
            chosen |= dict.fromkeys(onset.resident for onset in town.onsets(day))
            if self.configuration.visits is not None and len(chosen) >= self.configuration.visits:
                break
        model = self.models[self.configuration.profiles]
        temperature = self.configuration.setup.temperature
        profiles, failures = await write_profiles(
            [residents[number] for number in chosen], model, knowledge, temperature=temperature
        )
        return residents.with_profiles(profiles), dict(failures)

    async def forecast(self, case: Case, visit: int, treatment: Treatment) -> Course | NoCourse:
        """Says how an illness goes on after a visit."""
        return await course_by_model(
            case,
            self.models[self.configuration.course],
            visit=visit,
            diagnosis=treatment.diagnosis,
            treatment=treatment.items,
            follow_up_days=self.configuration.hospital.illness.follow_up_days,
            temperature=self.configuration.setup.temperature,
        )


@asynccontextmanager
async def open_nature(configuration: Configuration, store: Store | None) -> AsyncIterator[Nature]:
    """Opens the models that stand for nature, as long as they are needed; none where none is named.

    Args:
        configuration: names them.
        store: keeps their answers in a file of their own beside the run.

    Raises:
        UserError: a model cannot be opened.
    """
    setup, ledger = configuration.setup, Ledger(max_cost=configuration.setup.max_cost)
    names = [name for name in (configuration.profiles, configuration.course) if name]
    async with AsyncExitStack() as stack:
        journal = None
        if store is not None and names:
            journal = await stack.enter_async_context(Journal(store.calls.with_name("nature.sqlite"), run="nature"))
        models: dict[str, Model] = {}
        for name in dict.fromkeys(names):
            opened = await stack.enter_async_context(
                open_model(
                    name,
                    base_url=setup.base_url,
                    api_key_env=setup.api_key_env,
                    concurrency=setup.concurrency or "adaptive",
                    price=setup.price,
                    seed=configuration.seed,
                )
            )
            models[name] = ledger.meter(opened if journal is None else journal.wrap(opened), "nature")
        yield Nature(configuration, models, ledger)
