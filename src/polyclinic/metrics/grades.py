"""Grades of a report: the five aspects of AI Hospital's director (ai-hospital §3.2), and scales from points to grades.

A file of judgements is one `Judgement` a line, as JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum, StrEnum
from pathlib import Path

import msgspec

from polyclinic.errors import BadInput
from polyclinic.files import read_records
from polyclinic.language.language import Language


class Aspect(StrEnum):
    """What is graded: how the doctor got there, and the three parts of the conclusion."""

    SYMPTOMS = "symptoms"
    EXAMINATIONS = "examinations"
    DIAGNOSIS = "diagnosis"
    RATIONALE = "rationale"
    TREATMENT = "treatment"


ONE_STEP = (Aspect.DIAGNOSIS, Aspect.RATIONALE, Aspect.TREATMENT)
"""What is graded of a doctor who read the whole record: symptoms and examinations were given to it."""


class Grade(IntEnum):
    """A is the best and counts 4, D counts 1."""

    D = 1
    C = 2
    B = 3
    A = 4


NO_GRADE = "no grade was given"
LETTERS = tuple(grade.name for grade in sorted(Grade, reverse=True))


class Judgement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What one judge says of one report."""

    case: str
    doctor: str = ""  # whose report it is; no judge is told
    judge: str
    version: int  # of the judge, a number that grows when its questions or rules come to mean something else
    prompts: str = ""  # hash of what the judge was told, or of the numbers that rules were fitted to
    one_step: bool = False  # symptoms and examinations were not asked for
    grades: dict[Aspect, Grade | None] = {}  # None for an aspect that got no grade; empty if no answer came at all
    analyses: dict[Aspect, str] = {}
    unreadable: dict[Aspect, str] = {}  # the aspects without a grade, and what is wrong with the answer on each
    failed: str = ""  # the name of the failure where no answer came at all; such a judgement counts for nothing
    lengths: dict[Aspect, int] = {}  # how long the report is in each aspect: characters of Chinese, or words


def aspects_of(*, one_step: bool) -> tuple[Aspect, ...]:
    """Returns what is graded."""
    return ONE_STEP if one_step else tuple(Aspect)


def grade_named(letter: object) -> Grade | None:
    """Returns the grade that a letter names; None for anything else.

    A number names none: whether 4 is the best or the fourth would be a guess.
    """
    name = letter.strip().upper() if isinstance(letter, str) else ""
    return Grade[name] if name in Grade.__members__ else None


def why_no_grade(letter: object) -> str:
    """Returns what is wrong with something that is no grade."""
    if letter is None or letter == "":
        return NO_GRADE
    return f"{str(letter)[:80]!r} is none of the grades: {' | '.join(LETTERS)}"


def read_judgements(path: str | Path) -> list[Judgement]:
    """Reads a file of judgements, in its order."""
    path = Path(path)
    judgements = []
    for number, judgement in read_records(path, Judgement, "a judgement"):
        allowed = () if judgement.failed else aspects_of(one_step=judgement.one_step)
        if set(judgement.grades) != set(allowed):
            aspects = ", ".join(allowed) or "nothing, as the judgement failed"
            problem = f"there are grades of {aspects}: D=1 to A=4, or null where the judge gave none"
            raise BadInput(problem, path=path, line=number, field="$.grades")
        judgements.append(judgement)
    return judgements


Link = Callable[[str], frozenset[str]]  # from the name of a disease to its ICD-10 codes; empty where it has none

Shares = dict[str, float]


QUARTERS = (0.25, 0.5, 0.75)


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """How shares become a grade."""

    weights: dict[str, float]  # by share, summing to 1; if the first share is 0 the grade is D, whatever the others are
    cuts: tuple[float, float, float]  # the least scores of C, B and A

    def score(self, shares: Shares) -> float:
        """Returns the weighted mean of the shares, 0 to 1."""
        return sum(weight * shares[name] for name, weight in self.weights.items())

    def grade(self, shares: Shares) -> Grade:
        """Returns the grade of the shares."""
        if shares[next(iter(self.weights))] == 0:
            return Grade.D
        return Grade(1 + sum(self.score(shares) >= cut for cut in self.cuts))


class AspectMatch(msgspec.Struct, frozen=True):
    """One aspect of a report beside the reference."""

    shares: Shares  # by name, each from 0 to 1; empty where the reference says nothing of it
    matched: tuple[str, ...] = ()  # points of the reference that the report has
    missed: tuple[str, ...] = ()  # points of the reference that the report does not have
    extra: tuple[str, ...] = ()  # points of the report that the reference does not have


_ENDS = " .;。；"
_SAYS: dict[Language, tuple[str, str, str, str, str, str]] = {
    "en": ("Agrees: ", "Missing: ", "Beyond the reference: ", "; ", ". ", "There is nothing to compare."),
    "zh": ("相符：", "遗漏：", "参考之外：", "；", "。", "没有可比较的内容。"),
}


def analysis(compared: AspectMatch, language: Language) -> str:
    """Returns in words what was matched and what was missed."""
    *labels, between, end, nothing = _SAYS[language]
    parts = zip(labels, (compared.matched, compared.missed, compared.extra), strict=True)
    said = [
        label + between.join(dict.fromkeys(point.rstrip(_ENDS) for point in points))
        for label, points in parts
        if points
    ]
    return (end.join(said) + end).strip() if said else nothing
