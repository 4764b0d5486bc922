"""The methods of an exam: their settings in the MedAgents paper (§4.1), and the memory of those that remember."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import msgspec

from polyclinic.errors import UserError
from polyclinic.evaluations.memory_knowledge import say_other_knowledge
from polyclinic.evaluations.protocol import as_paper
from polyclinic.memory.library import asked_for, memory_embedder
from polyclinic.memory.memory import snapshot_of
from polyclinic.memory.opening import open_what_is_remembered
from polyclinic.memory.options import MemoryOptions
from polyclinic.memory.remembering import ExamMemory
from polyclinic.methods.table import ChosenMethod
from polyclinic.models.session import open_models
from polyclinic.models.settings import ModelSettings
from polyclinic.protocols.following import FollowedProtocol
from polyclinic.protocols.papers import MedAgentsSettings, PaperSetting
from polyclinic.terminal.screen import note, plain

SUBJECTS = (
    "anatomy", "clinical knowledge", "college medicine", "medical genetics", "professional medicine", "college biology",
)  # fmt: skip
"""The subjects of MMLU in the paper, in the order of Table 2."""


def as_published(
    chosen: Sequence[ChosenMethod],
    rules: FollowedProtocol[MedAgentsSettings],
    *,
    dataset: str,
    temperature: float | None = None,
) -> list[ChosenMethod]:
    """Returns the methods with the paper's settings of each; unchanged if ours is followed.

    Methods that the paper does not name keep what they have, and so do settings in which methods of one name differ.
    """
    paper, made = rules.settings, []
    for one in chosen:
        wanted: dict[str, PaperSetting[Any] | None] = {}
        if (drawing := paper.methods.get(one.name)) is not None:
            wanted |= {"temperature": drawing.temperature, "top_p": drawing.top_p, "samples": drawing.samples}
        if one.name == "medagents":
            for name in ("question_experts", "option_experts"):
                experts = getattr(paper, name)
                wanted[name] = PaperSetting(paper=_of_dataset(experts.paper, dataset), section=experts.section)
            wanted |= {"max_rounds": paper.rounds, "votes": paper.votes}
        same = [other.settings for other in chosen if other.name == one.name]
        varied = [name for name in wanted if len({str(settings.get(name)) for settings in same}) > 1]
        made.append(as_paper(one, wanted, rules, temperature=temperature, varied=varied))
    return made


def _of_dataset(value: Any, dataset: str) -> Any:
    """Returns the value of a setting for a data set; a mapping has one for others, too."""
    return value.get(dataset, value["others"]) if isinstance(value, Mapping) else value


def limit_of(rules: FollowedProtocol[MedAgentsSettings], dataset: str) -> int | None:
    """Returns how many questions of a data set are asked; None for all."""
    number = _of_dataset(rules.of(rules.settings.sample), dataset)
    return None if number == "all" else int(number)


def check_limit(rules: FollowedProtocol[MedAgentsSettings], dataset: str, given: int | str | None) -> None:
    """Refuses another number of questions than the paper's."""
    number = limit_of(rules, dataset) or "all"
    if rules.side == "paper" and given not in (None, number):
        had = f"{number} questions of {dataset} ({rules.settings.sample.section})"
        raise UserError(f"--protocol {rules.given} has {had}; leave out --limit {given}, or take --protocol ours")


REMEMBERS = "medagent_zero"
"""The method that goes by a memory."""


def remembering(chosen: Sequence[ChosenMethod], memory: MemoryOptions) -> list[ChosenMethod]:
    """Returns the methods with how much comes to mind, where the options say that."""
    if any(one.name == REMEMBERS for one in chosen) and memory.memory is None:
        raise UserError(f"{REMEMBERS} goes by what was learnt; name it with --memory DIR")
    if memory.memory is not None and all(one.name != REMEMBERS for one in chosen):
        raise UserError(f"--memory has no effect without a method that remembers; give --method {REMEMBERS}")
    given = {"records": memory.k_records, "experience": memory.k_experience}
    known = {key: k for key, k in given.items() if k is not None}
    return [
        msgspec.structs.replace(one, settings={**known, **one.settings}) if one.name == REMEMBERS else one
        for one in chosen
    ]


@asynccontextmanager
async def open_exam_memory(memory: MemoryOptions, models: ModelSettings) -> AsyncIterator[ExamMemory | None]:
    """Opens what is remembered on an exam, and notes how much it is; None if no memory is named."""
    async with AsyncExitStack() as stack:
        if memory.memory is None:
            yield None
            return
        opened = stack.enter_context(open_what_is_remembered(memory.memory))
        reading = opened.reading
        asked = [] if reading is None else asked_for(reading.about.embedder)
        session = await stack.enter_async_context(open_models(asked, models))
        embedder = None if reading is None else memory_embedder(reading.about.embedder, session)
        made = ExamMemory(opened.memory, reading, embedder=embedder, source=opened.source)
        records, principles = made.counts
        told = f"{opened.source}: {records:,} records of documents, {principles:,} principles from patients"
        if not records:
            folder, _ = snapshot_of(opened.folder)
            told += f"; polyclinic memory read {folder} --corpus NAME --doctor MODEL adds records"
        note(plain(told))
        say_other_knowledge(memory)
        yield made
