"""What a clinic is made from, as plain values, and the opening of it: here, or in each of several workers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from polyclinic.hospital.care.clinic import MAX_REFERRALS, Clinic
from polyclinic.knowledge.knowledge import DATA, read_knowledge
from polyclinic.models.journal import Journal
from polyclinic.models.ledger import Ledger
from polyclinic.models.limits import Limit
from polyclinic.models.model import Price
from polyclinic.models.open import open_model
from polyclinic.players.minds import Minds, model_of
from polyclinic.visits.consultation import MAX_TURNS

_MOST_AT_ONCE = 1024
"""Questions at a time to an endpoint that is adapted to, over all workers."""


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What episodes are computed with; plain values, so that another process can open the same.

    Attributes:
        seed: the run's.
        doctor: who plays, by name as on the command line; so are the four that follow.
        patient: likewise.
        nurse: likewise.
        examiner: likewise.
        pharmacist: likewise.
        knowledge: the folder of the medical knowledge; "" for the package's own.
        diseases: which of them the hospital knows, as `Knowledge.select` takes it.
        max_turns: a doctor's turns a consultation.
        max_referrals: as `MAX_REFERRALS`.
        max_examinations: a visit, referrals included; None for as many as are ordered.
        traces: whether episodes hold the traces of their consultations; they take most of an episode's memory.
        departments: their names, id to name by language, as a nurse is shown them; the id where there is none.
        base_url: the endpoint's address, up to `/v1`.
        api_key_env: the environment variable that holds the key.
        concurrency: questions at a time to an endpoint, over all workers; None adapts.
        temperature: of the models; None leaves it to the server.
        journal: the file that keeps every answer; "" for none. Each of several workers has a file of its own beside it.
        run: names the run in the journal.
        max_tokens: of the models, in and out, over all workers; the run ends when a worker has used its share.
        max_cost: likewise, in the currency of the prices.
        price: what tokens cost.
    """

    seed: int
    doctor: str = "rules"
    patient: str = "rules"
    nurse: str = "rules"
    examiner: str = "rules"
    pharmacist: str = "rules"
    knowledge: str = ""
    diseases: str = "all"
    max_turns: int = MAX_TURNS
    max_referrals: int = MAX_REFERRALS
    max_examinations: int | None = None
    traces: bool = False
    departments: dict[str, dict[str, str]] = {}
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    concurrency: int | None = None
    temperature: float | None = None
    journal: str = ""
    run: str = ""
    max_tokens: int | None = None
    max_cost: float | None = None
    price: Price | None = None

    def models(self) -> tuple[str, ...]:
        """Returns the names of the language models that are needed, each once."""
        named = (model_of(mind) for mind in (self.doctor, self.patient, self.nurse, self.examiner, self.pharmacist))
        return tuple(dict.fromkeys(name for name in named if name is not None))


class Share(NamedTuple):
    """One of so many equal parts of what a run may use: `number` from 0 of `of` workers."""

    number: int = 0
    of: int = 1


@asynccontextmanager
async def open_clinic(setup: Setup, share: Share = Share()) -> AsyncIterator[Clinic]:  # noqa: B008
    """Opens what a clinic needs: the knowledge, the models, what is kept of their answers.

    Args:
        setup: what it is made from.
        share: which part of the run's limits is its own.

    Raises:
        UserError: a name, a file or a department cannot be used.
    """
    knowledge = read_knowledge(Path(setup.knowledge) if setup.knowledge else DATA).select(setup.diseases)
    ledger = Ledger(
        max_cost=None if setup.max_cost is None else setup.max_cost / share.of,
        max_tokens=None if setup.max_tokens is None else max(1, setup.max_tokens // share.of),
    )
    async with AsyncExitStack() as stack:
        models = {
            name: await stack.enter_async_context(
                open_model(
                    name,
                    base_url=setup.base_url,
                    api_key_env=setup.api_key_env,
                    concurrency=_limit(name, setup.concurrency, share),
                    price=setup.price,
                    seed=setup.seed,
                )
            )
            for name in setup.models()
        }
        journal = None
        if setup.journal:
            path = Path(setup.journal)
            if share.of > 1:
                path = path.with_name(f"{path.stem}.{share.number + 1}-of-{share.of}{path.suffix}")
            journal = await stack.enter_async_context(Journal(path, run=setup.run))
        minds = Minds(
            doctor=setup.doctor,
            patient=setup.patient,
            nurse=setup.nurse,
            examiner=setup.examiner,
            pharmacist=setup.pharmacist,
            knowledge=knowledge,
            seed=setup.seed,
            models=models,
            journal=journal,
            ledger=ledger,
            temperature=setup.temperature,
        )
        yield Clinic(
            minds,
            knowledge,
            max_turns=setup.max_turns,
            max_referrals=setup.max_referrals,
            max_examinations=setup.max_examinations,
            traces=setup.traces,
            departments=setup.departments,
        )


def _limit(name: str, concurrency: int | None, share: Share) -> Limit | int | None:
    if concurrency is None:
        direct = name.partition("/")[0] == "direct"
        return Limit(max(1, _MOST_AT_ONCE // share.of), adaptive=True) if direct else None
    whole, rest = divmod(concurrency, share.of)
    return max(1, whole + (share.number < rest))
