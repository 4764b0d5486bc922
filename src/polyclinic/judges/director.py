"""The medical director, who grades reports against what is so (ai-hospital §2.5, §3.2): interface, and a model as one.

1. The director sees complaint, present illness, examinations, diagnosis, rationale and treatment, and the report.
2. One typed answer: in each aspect an analysis, then a grade. In one step symptoms and examinations are not asked for.
3. What cannot be read as a whole is read aspect by aspect: one without a grade is unreadable, and the others count.

Best a model of another family than every doctor that it judges. It is told no doctor's name.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.record import read_out
from polyclinic.cases.report import Report
from polyclinic.errors import EndpointError, ModelError, ScriptError, UnreadableReply
from polyclinic.language.words import length
from polyclinic.metrics.grades import Aspect, Grade, Judgement, aspects_of, grade_named, why_no_grade
from polyclinic.models.answers import read_value
from polyclinic.models.model import Message, Model
from polyclinic.models.schema import form_of
from polyclinic.prompts import read_prompts

PROMPTS = Path(__file__).with_suffix(".md")

VERSION = 1
"""Grows when the prompts come to mean something else; grades of two versions are not to be held against each other."""

_RULE = re.compile("[=＝]{3,}")
_ANYTHING = form_of(dict[str, Any])


class _Graded(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    analysis: str
    grade: Literal["A", "B", "C", "D"]


_ANSWERS = {
    one_step: msgspec.defstruct(
        "GradesInOneStep" if one_step else "Grades",
        [(aspect.value, _Graded) for aspect in aspects_of(one_step=one_step)],
        frozen=True,
        forbid_unknown_fields=True,
    )
    for one_step in (False, True)
}


class Judge(Protocol):
    """Grades reports. Ask `grade` for as many at once as you like."""

    @property
    def name(self) -> str:
        """Names the judge in results."""
        ...

    @property
    def version(self) -> int:
        """The version of its questions or rules."""
        ...

    @property
    def prompts(self) -> str:
        """The hash of its prompts, or of the numbers that its rules were fitted to."""
        ...

    async def grade(self, case: Case, report: Report, *, one_step: bool = False) -> Judgement:
        """Grades a report.

        Args:
            case: what is so.
            report: the doctor's.
            one_step: the doctor read the whole record; symptoms and examinations are not graded.

        Returns:
            The judgement, without the doctor's name; a failure of the judge is in it, and is not raised.

        Raises:
            WrongKey: the judge's endpoint wants another key.
            BudgetSpent: the run has cost what it may cost.
        """
        ...


class ModelJudge:
    """A model as the director. The same case and report are asked for once in its life, whoever asks.

    Args:
        model: the judge; with `Journal.wrap` nothing is paid for again after a crash either.
        temperature: of the judge; None leaves it to the server.
    """

    version = VERSION

    def __init__(self, model: Model, *, temperature: float | None = None) -> None:
        self._model, self._temperature = model, temperature
        self._said: dict[bytes, Judgement] = {}
        self._asking: dict[bytes, asyncio.Lock] = {}

    @property
    def name(self) -> str:
        """Names the model."""
        return self._model.name

    @property
    def prompts(self) -> str:
        """The hash of the prompts in both languages."""
        return prompts_hash(PROMPTS)

    async def grade(self, case: Case, report: Report, *, one_step: bool = False) -> Judgement:
        """Grades a report; see `Judge.grade`."""
        messages = messages_for(case, report, one_step=one_step)
        key = hashlib.blake2b(msgspec.json.encode(messages), digest_size=16).digest()
        async with self._asking.setdefault(key, asyncio.Lock()):
            said = self._said.get(key)
            if said is None:
                said = await self._ask(case, report, messages, one_step=one_step)
                # Asked again, what no endpoint answered is asked anew.
                if not said.failed:
                    self._said[key] = said
        return msgspec.structs.replace(said, case=case.id)

    async def _ask(self, case: Case, report: Report, messages: list[Message], *, one_step: bool) -> Judgement:
        answer, grades, refused, failed = _ANSWERS[one_step], dict[str, Any](), "", ""
        try:
            reply = await self._model.ask(messages, answer=answer, temperature=self._temperature, purpose="director")
            grades = msgspec.to_builtins(reply.value)
        except ModelError as failure:
            grades = _salvaged(failure.text) if isinstance(failure, UnreadableReply) else {}
            refused = "" if grades else f"{type(failure).__name__}: {failure.problem}"
        except (EndpointError, ScriptError) as failure:
            failed = type(failure).__name__
        came = Judgement(
            case=case.id,
            judge=self.name,
            version=self.version,
            prompts=self.prompts,
            one_step=one_step,
            failed=failed,
            lengths=lengths_of(report, one_step=one_step),
        )
        return came if failed else _read(came, grades, refused)


def without_report(case: Case, judge: Judge, problem: str, *, one_step: bool) -> Judgement:
    """Returns the judgement on a doctor whose answer cannot be used: D in every aspect, as nobody gains by that.

    Args:
        case: the case.
        judge: whose judgements it stands among; it is not asked.
        problem: the name of the failure.
        one_step: as in `Judge.grade`.
    """
    aspects = aspects_of(one_step=one_step)
    return Judgement(
        case=case.id,
        judge=judge.name,
        version=judge.version,
        prompts=judge.prompts,
        one_step=one_step,
        grades=dict.fromkeys(aspects, Grade.D),
        analyses=dict.fromkeys(aspects, f"no report was handed in: {problem}"),
    )


def _read(came: Judgement, said: dict[str, Any], refused: str) -> Judgement:
    """Returns the judgement with what the model said, aspect by aspect."""
    grades: dict[Aspect, Grade | None] = {}
    analyses: dict[Aspect, str] = {}
    unreadable: dict[Aspect, str] = {}
    for aspect in aspects_of(one_step=came.one_step):
        part = said.get(aspect.value)
        letter = part.get("grade") if isinstance(part, dict) else part
        grades[aspect] = grade_named(letter)
        if isinstance(part, dict) and isinstance(part.get("analysis"), str):
            analyses[aspect] = part["analysis"]
        if grades[aspect] is None:
            unreadable[aspect] = refused or why_no_grade(letter)
    return msgspec.structs.replace(came, grades=grades, analyses=analyses, unreadable=unreadable)


def _salvaged(text: str) -> dict[str, Any]:
    """Returns the one object that an answer holds, whatever is in it; empty where there is none."""
    try:
        said: dict[str, Any] = read_value(text, _ANYTHING)
    except UnreadableReply:
        return {}
    return said


@functools.cache
def prompts_hash(path: Path) -> str:
    """Returns the hash of a prompt file in both languages: other prompts give other results."""
    texts = b"".join(file.read_bytes() for file in (path, path.with_suffix(".zh.md")))
    return hashlib.sha256(texts).hexdigest()[:16]


def messages_for(case: Case, report: Report, *, one_step: bool = False) -> list[Message]:
    """Returns what the director is told of a case and a report."""
    prompts = read_prompts(PROMPTS)[case.presentation.language]
    record, truth = case.record, case.truth
    nothing = prompts("nothing")
    shown: dict[str, Iterable[str]] = {
        "complaint": [record.presentation.complaint],
        "present": [*record.history.symptoms, record.history.present],
        "findings": read_out(record.findings, case.presentation.language),
        "diagnoses": [diagnosis.name for diagnosis in truth.diagnoses],
        "rationale": truth.rationale,
        "treatment": truth.treatment,
    }
    parts = sections_of(report)
    names = {Aspect.DIAGNOSIS: "report_diagnoses"}
    for aspect in aspects_of(one_step=one_step):
        shown[names.get(aspect, f"report_{aspect}")] = parts[aspect]
    blanks = {name: points(items, nothing) for name, items in shown.items()}
    in_one_step = "_one_step" if one_step else ""
    return [("system", prompts(f"director{in_one_step}")), ("user", prompts(f"shown{in_one_step}", **blanks))]


def sections_of(report: Report) -> dict[Aspect, tuple[str, ...]]:
    """Returns the points of a report by aspect."""
    return {
        Aspect.SYMPTOMS: report.symptoms,
        Aspect.EXAMINATIONS: report.examinations,
        Aspect.DIAGNOSIS: tuple(diagnosis.name for diagnosis in report.diagnoses),
        Aspect.RATIONALE: report.rationale,
        Aspect.TREATMENT: report.treatment,
    }


def points(items: Iterable[str], nothing: str) -> str:
    """Returns items as a prompt shows them: one a line, each behind a hyphen.

    Line breaks become blanks, and a row of equals signs one: no item can end its line, begin one, or look like the end
    of what is shown.
    """
    lines = [_RULE.sub("=", " ".join(item.split())) for item in items]
    return "\n".join(f"- {line}" for line in lines if line) or f"- {nothing}"


def lengths_of(report: Report, *, one_step: bool) -> dict[Aspect, int]:
    """Returns how long a report is in each aspect that is graded."""
    parts = sections_of(report)
    return {aspect: length(" ".join(parts[aspect])) for aspect in aspects_of(one_step=one_step)}
