"""What makes an evaluation a task of Inspect: the option that names the model under test, and a sample of each item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from polyclinic.players.language_model.mind import describe
from polyclinic.questions.shown import show

if TYPE_CHECKING:
    from polyclinic.cases.case import Case
    from polyclinic.evaluations.tor.inpatients import Inpatient
    from polyclinic.questions.exam import ExamQuestion


class ItemSample(NamedTuple):
    """An item as Inspect shows it; items with the same id are one sample."""

    id: str
    input: str
    target: str | list[str] = ""
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class UnderTest:
    """The option that names the model under test, the sample of an item, and defaults of other options."""

    option: str
    sample: Callable[[Any], ItemSample]
    defaults: Mapping[str, Any] = field(default_factory=dict)


def sample_of_case(case: Case, answers: Iterable[str] | None = None) -> ItemSample:
    """Returns the sample of a case; its target is the answers, by default the diagnoses."""
    right = [one.name for one in case.truth.diagnoses] if answers is None else list(answers)
    about = {"language": case.presentation.language, "source": case.source}
    return ItemSample(case.id, describe(case.presentation), right, about)


def sample_of_question(item: ExamQuestion | Inpatient) -> ItemSample:
    """Returns the sample of a question with options."""
    asked = item.question
    return ItemSample(asked.id, show(asked), sorted(item.key), {"language": asked.language})
