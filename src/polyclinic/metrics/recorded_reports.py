"""Reads reports that were recorded elsewhere, beside the reference and a judge's letters: the layout `ai-hospital`.

AI Hospital publishes one JSON object a line, of four kinds:

1. a judged report: `doctor_diagnosis` (`diagnosis`: the whole report) beside `reference_diagnosis` (`diagnosis`,
   `basis`, `treatment`, also `symptom` and `medical_test`), and a judge's `diagnosis_choice` and the like;
2. a dialogue: `dialog_history`, in which the doctor's last turn is the report;
3. a collaboration: `diagnosis` with `symptom_and_examination`, `doctor_engine_names` and `host_engine_name`;
4. a report in one step: `diagnosis` alone.

All have `patient_id`. The last three hold no reference; a file of the first kind has it for them.

A report is one text, whose sections begin with headings. One without headings counts like any other: its whole text is
the diagnosis section. What a doctor wrote is then judged for what it is worth as a diagnosis, and its rationale and
treatment are empty, which is what was handed in; the text under every section would be paid for three times, and
leaving the report out would pay for bad form.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from polyclinic.errors import BadInput
from polyclinic.files import read_records
from polyclinic.language.clauses import at_marks
from polyclinic.language.language import length
from polyclinic.metrics.grades import LETTERS, NO_GRADE, Aspect, Grade, Judgement, aspects_of, grade_named, why_no_grade
from polyclinic.statistics.agreement import Agreement, agreement, spearman, weighted_kappa
from polyclinic.statistics.uncertainty import Estimate, estimate, percentile_half, share

_HEADINGS = {
    "symptoms": ("症状", "病人症状", "患者症状", "症状总结"),
    "examinations": ("辅助检查", "检查结果", "医学检查", "医学检查项目", "检查"),
    "diagnosis": ("诊断结果", "诊断结论", "初步诊断"),
    "rationale": ("诊断依据", "诊断理由"),
    "treatment": ("治疗方案", "治疗计划", "治疗措施"),
}
_ASPECT_OF = {heading: aspect for aspect, headings in _HEADINGS.items() for heading in headings}
_NAMES = "|".join(_ASPECT_OF)
# "#诊断结果#" wherever it stands; without the marks it has to begin a line and to stand alone or before a colon. What
# only says what the patient has, or was examined for, needs its marks: those words begin many a line of reasons.
_PLAIN = "|".join(name for name, aspect in _ASPECT_OF.items() if aspect not in ("symptoms", "examinations"))
_HEADING = re.compile(
    rf"#+\s*(?P<marked>{_NAMES})\s*[:：]?\s*#+[:：]?"
    rf"|^[ \t]*(?:[#*【\[]|\d+[.、]|[一二三][、.])*[ \t]*(?P<plain>{_PLAIN})[ \t]*[*】\]]*[ \t]*(?:[:：][*]*|$)"
    rf"|^[ \t]*(?:#+|\*\*|【)[ \t]*(?P<first>{_NAMES})[ \t]*[*】]*[ \t]*(?:[:：][*]*|$)",
    re.MULTILINE,
)


class Sections(msgspec.Struct, frozen=True, kw_only=True):
    """The sections of a report or of a reference, "" where there is nothing."""

    diagnosis: str
    rationale: str
    treatment: str
    symptoms: str = ""
    examinations: str = ""


class RecordedReport(msgspec.Struct, frozen=True, kw_only=True):
    """A doctor's report on a case, with the reference and what a judge said."""

    id: str
    doctor: str
    reference: Sections
    given: Sections
    letters: dict[str, str | None]  # the judge's raw letters by aspect; None where it gave none
    line: int  # where it stands in its file, from 1


class ReportsOfFile(NamedTuple):
    """The reports of a file, and its cases without a reference."""

    reports: list[RecordedReport]
    without_reference: list[str]


class _Parts(msgspec.Struct, frozen=True, kw_only=True):
    diagnosis: str | None
    basis: str | None = None
    treatment: str | None = None
    symptom: str | None = None
    medical_test: str | None = None

    def sections(self) -> Sections:
        said = (self.diagnosis, self.basis, self.treatment, self.symptom, self.medical_test)
        return Sections(**dict(zip(Sections.__struct_fields__, ((one or "").strip() for one in said), strict=True)))


class _Reference(_Parts, frozen=True, kw_only=True):
    diagnosis: str


class _RecordedTurn(msgspec.Struct, frozen=True):
    role: str
    content: str | None


Said = str | dict[str, str | None] | None  # a text, or its sections by their headings


class _PublishedReport(msgspec.Struct):
    patient_id: int | str
    reference_diagnosis: _Reference | None = None
    doctor_diagnosis: _Parts | None = None
    doctor_name: str = ""
    # The published code spells it "sympton".
    symptom_choice: str | msgspec.UnsetType | None = msgspec.UNSET
    sympton_choice: str | msgspec.UnsetType | None = msgspec.UNSET
    test_choice: str | msgspec.UnsetType | None = msgspec.UNSET
    diagnosis_choice: str | None = None
    basis_choice: str | None = None
    treatment_choice: str | None = None
    dialog_history: list[_RecordedTurn] | None = None
    diagnosis: Said = None
    symptom_and_examination: Said = None
    doctor: str = ""
    doctor_engine_name: str = ""
    doctor_engine_names: tuple[str, ...] = ()

    def named(self) -> str:
        """Returns whose report it is: a doctor, or the members of a team."""
        return self.doctor_name or " + ".join(self.doctor_engine_names) or self.doctor_engine_name or self.doctor

    def given(self) -> Sections | None:
        """Returns the report; None where the line holds none."""
        if self.doctor_diagnosis is not None:
            # Some doctors hand their sections in apart, as the reference does.
            apart = self.doctor_diagnosis.sections()
            found, others = split_sections(apart.diagnosis), {n: getattr(apart, n) for n in ("rationale", "treatment")}
        elif self.dialog_history is not None:
            said = [turn.content or "" for turn in self.dialog_history if turn.role.casefold() == "doctor"]
            return split_sections(said[-1] if said else "")
        elif self.diagnosis is None:
            return None
        else:
            facts, found = (split_sections(_text(said)) for said in (self.symptom_and_examination, self.diagnosis))
            others = {name: getattr(facts, name) for name in ("symptoms", "examinations")}
        return msgspec.structs.replace(found, **{name: getattr(found, name) or text for name, text in others.items()})

    def letters(self) -> dict[str, str | None]:
        """Returns the judge's letters; on symptoms and examinations only if it was asked."""
        symptoms = self.sympton_choice if self.symptom_choice is msgspec.UNSET else self.symptom_choice
        letters = {
            "symptoms": symptoms,
            "examinations": self.test_choice,
            "diagnosis": self.diagnosis_choice,
            "rationale": self.basis_choice,
            "treatment": self.treatment_choice,
        }
        return {aspect: letter for aspect, letter in letters.items() if not isinstance(letter, msgspec.UnsetType)}


def _text(said: Said) -> str:
    if isinstance(said, dict):
        return "\n".join(f"#{heading}#\n{text or ''}" for heading, text in said.items())
    return said or ""


def read_references(path: str | Path) -> dict[str, Sections]:
    """Reads the references of a file of judged reports, by case."""
    references: dict[str, Sections] = {}
    for number, record in read_records(Path(path), _PublishedReport, "a recorded report in the layout ai-hospital"):
        if record.reference_diagnosis is None:
            problem = "no 'reference_diagnosis'; a file of references has the layout of the published evaluations"
            raise BadInput(problem, path=Path(path), line=number)
        references.setdefault(str(record.patient_id), record.reference_diagnosis.sections())
    return references


def is_ours(path: Path, key: str) -> bool:
    """Returns whether the first record of a file has a key of our own layout, and not those of ai-hospital."""
    number, record = next(read_records(path, object, "a record"))
    keys = list(record) if isinstance(record, dict) else []
    if key in keys or {"patient_id", "reference_diagnosis", "dialog_history"} & set(keys):
        return key in keys
    came = ", ".join(map(repr, keys[:_SHOWN])) or "none"
    problem = f"in no known layout by the keys that came: {came}; ours has {key!r}, ai-hospital's 'patient_id'"
    raise BadInput(problem, path=path, line=number)


def read_recorded(path: str | Path, references: Mapping[str, Sections] | None = None) -> ReportsOfFile:
    """Reads the reports of a file in the layout `ai-hospital`, one doctor's, in file order.

    The `references`, by case, are of reports that stand without; see the module for what a line may be.
    """
    path = Path(path)
    reports: dict[str, RecordedReport] = {}
    without: list[str] = []
    for number, record in read_records(path, _PublishedReport, "a recorded report in the layout ai-hospital"):
        id, given = str(record.patient_id), record.given()
        if id in reports:
            problem = f"case {id} stands in line {reports[id].line} already; a file holds one report a case"
            raise BadInput(problem, path=path, line=number, field="$.patient_id")
        if given is None:
            problem = "no report: neither 'doctor_diagnosis', 'dialog_history' nor 'diagnosis'"
            raise BadInput(problem, path=path, line=number)
        if record.reference_diagnosis is not None:
            reference = record.reference_diagnosis.sections()
        elif references is None:
            problem = (
                "no 'reference_diagnosis', as dialogues and collaborations have none: name a file with --reference"
            )
            raise BadInput(problem, path=path, line=number)
        elif id in references:
            reference = references[id]
        else:
            without.append(id)
            continue
        whose = record.named()
        reports[id] = RecordedReport(
            id=id, doctor=whose, reference=reference, given=given, letters=record.letters(), line=number
        )
    if not reports:
        known = ", ".join(list(references or {})[:_SHOWN])
        raise BadInput(
            f"no case of it, such as {without[0]}, has a reference; the references are of {known} ...", path=path
        )
    return ReportsOfFile(list(reports.values()), without)


_SHOWN = 5


def split_sections(text: str) -> Sections:
    """Splits a report at its headings, such as "#诊断结果# ... #诊断依据# ... #治疗方案# ...".

    A section with two headings is the text under both. Text before the first heading is the diagnosis where no
    diagnosis has a heading of its own, and else a greeting; so a text without headings is all diagnosis.
    """
    before, parts = at_marks(text, _HEADING.finditer(text))
    sections: dict[str, list[str]] = {aspect: [] for aspect in _HEADINGS}
    for match, behind in parts:
        heading = match["marked"] or match["plain"] or match["first"]
        sections[_ASPECT_OF[heading]].append(behind.strip())
    if not any(sections["diagnosis"]):
        sections["diagnosis"] = [before.strip()]
    return Sections(**{aspect: "\n".join(filter(None, parts)) for aspect, parts in sections.items()})


MissingGrade = Literal["left out", "counts 1"]
Pairs = Sequence[tuple[Judgement, Judgement]]
RECORDED = "recorded"  # the judge of letters that were recorded elsewhere


class AspectMean(Estimate, frozen=True, kw_only=True):
    """The mean grade of one aspect over many reports, 1 to 4; to those that are unreadable the judge gave none."""

    unreadable: int
    bracket: float | None = None  # printed after a mean: half its bootstrap interval, some 1.96 standard errors (§5.1)


def brackets(metrics: Mapping[Aspect, AspectMean]) -> dict[Aspect, float | None]:
    """Returns what the paper prints behind each mean."""
    return {aspect: mean.bracket for aspect, mean in metrics.items()}


class Unreadable(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An aspect of a report that has no grade, and why."""

    case: str
    doctor: str = ""
    aspect: Aspect
    problem: str


class GradeSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What the grades of one doctor, or of several together, come to, by aspect."""

    metrics: dict[Aspect, AspectMean]
    grades: dict[Aspect, dict[str, int]]  # how often each letter was given
    length: dict[Aspect, float | None]  # Spearman's of grade and length; None if one does not vary
    failed: dict[str, int]  # judgements that did not come, by the name of the failure; they are outside everything


class Ties(msgspec.Struct, frozen=True):
    """How often a judge gives two doctors one grade on one case: what it cannot tell apart."""

    first: str
    second: str
    aspect: Aspect
    n: int  # cases on which both have a grade
    ties: int
    percent: float | None  # of n, with Wilson's 95 % interval; None where that is 0
    low: float | None
    high: float | None


class TwoJudges(msgspec.Struct, frozen=True, kw_only=True):
    """How far two judges agree in one aspect, on the reports that both graded."""

    exact: Agreement  # the first judge's grades as rows, the second's as columns; `kappa` is Cohen's
    weighted_kappa: float | None
    within_one: float | None  # percent of the reports whose grades are at most one apart
    spearman: float | None
    means: tuple[float, float] | None  # of the first and of the second, on these reports
    ungraded: int  # reports that one of them, or both, gave no grade


def summarise(
    judgements: Sequence[Judgement], *, missing_grade: MissingGrade = "left out", seed: int = 0
) -> GradeSummary:
    """Returns the means of one judge's grades; several judgements of one case are resampled together.

    A missing grade that counts 1 is counted as unreadable all the same.
    """
    came = [one for one in judgements if not one.failed]
    metrics, grades, lengths = {}, {}, {}
    for aspect in Aspect:
        asked = [one for one in came if aspect in one.grades]
        graded = [(one, grade) for one in asked if (grade := one.grades[aspect]) is not None]
        counted = [(one.case, float(grade)) for one, grade in graded]
        if missing_grade == "counts 1":
            counted += [(one.case, float(Grade.D)) for one in asked if one.grades[aspect] is None]
        values, cases = [v for _, v in counted], [case for case, _ in counted]
        mean = estimate(values, clusters=cases, seed=seed)
        metrics[aspect] = AspectMean(
            **msgspec.structs.asdict(mean),
            unreadable=len(asked) - len(graded),
            bracket=None if mean.low is None else percentile_half(values, clusters=cases, seed=seed),
        )
        counts = Counter(grade.name for _, grade in graded)
        grades[aspect] = {letter: counts[letter] for letter in LETTERS}
        lengths[aspect] = spearman([[one.lengths.get(aspect) for one, _ in graded], [g for _, g in graded]])[0][1]
    failed = dict(Counter(one.failed for one in judgements if one.failed))
    return GradeSummary(metrics=metrics, grades=grades, length=lengths, failed=failed)


def unreadable(judgements: Sequence[Judgement]) -> list[Unreadable]:
    """Returns every aspect that a judge was asked about and did not grade, with the reason."""
    return [
        Unreadable(case=one.case, doctor=one.doctor, aspect=aspect, problem=one.unreadable.get(aspect, NO_GRADE))
        for one in judgements
        for aspect, grade in one.grades.items()
        if grade is None
    ]


def by_doctor(judgements: Sequence[Judgement]) -> dict[str, list[Judgement]]:
    """Returns the judgements of each doctor, in the order in which they first come."""
    groups = defaultdict[str, list[Judgement]](list)
    for one in judgements:
        groups[one.doctor].append(one)
    return groups


def ties(judgements: Sequence[Judgement]) -> list[Ties]:
    """Returns how often every two doctors got the same grade on a case, by aspect."""
    found = []
    for (first, ours), (second, theirs) in combinations(by_doctor(judgements).items(), 2):
        pairs = _paired(ours, theirs, same_doctor=False)
        for aspect in Aspect:
            grades = _graded_by_both(pairs, aspect)
            same = sum(one == other for one, other in grades)
            found.append(Ties(first, second, aspect, len(grades), same, *share(same, len(grades))))
    return found


def compare_judges(first: Sequence[Judgement], second: Sequence[Judgement]) -> dict[Aspect, TwoJudges]:
    """Returns how far two judges agree on the reports of both, by aspect.

    Reports are paired by case and doctor, or by case if one side names no doctor. Of several of one doctor on one case
    the first is paired with the first, and so on, failed ones too.
    """
    named = all(one.doctor for one in (*first, *second))
    pairs = _paired(first, second, same_doctor=named)
    if not pairs:
        doctors = [", ".join(by_doctor(judgements)) or "nobody" for judgements in (first, second)]
        problem = "no report was judged in both files: a report is the same where case and doctor are"
        raise BadInput(f"{problem}; the doctors are {doctors[0]}, and {doctors[1]}")
    found = {}
    for aspect in Aspect:
        both = _graded_by_both(pairs, aspect)
        ours, theirs = [a for a, _ in both], [b for _, b in both]
        exact = agreement([a.name for a in ours], [b.name for b in theirs], labels=LETTERS)
        found[aspect] = TwoJudges(
            exact=exact,
            weighted_kappa=weighted_kappa(exact.confusion),
            within_one=100 * sum(abs(a - b) <= 1 for a, b in both) / len(both) if both else None,
            spearman=spearman([ours, theirs])[0][1],
            means=(sum(ours) / len(both), sum(theirs) / len(both)) if both else None,
            ungraded=sum(aspect in a.grades and aspect in b.grades for a, b in pairs) - len(both),
        )
    return found


def _graded_by_both(pairs: Pairs, aspect: Aspect) -> list[tuple[Grade, Grade]]:
    both = [(one.grades.get(aspect), other.grades.get(aspect)) for one, other in pairs]
    return [(one, other) for one, other in both if one is not None and other is not None]


def _paired(first: Sequence[Judgement], second: Sequence[Judgement], *, same_doctor: bool) -> Pairs:
    def report(one: Judgement) -> tuple[str, str]:
        return one.case, one.doctor if same_doctor else ""

    left = defaultdict[tuple[str, str], list[Judgement]](list)
    for one in second:
        left[report(one)].append(one)
    return [(one, others.pop(0)) for one in first if (others := left.get(report(one)))]


def recorded_judgements(reports: Sequence[RecordedReport]) -> list[Judgement]:
    """Returns the letters of recorded reports as judgements; in one step where symptoms were not asked about."""
    judgements = []
    for report in reports:
        one_step = Aspect.SYMPTOMS.value not in report.letters
        letters = {aspect: report.letters.get(aspect.value) for aspect in aspects_of(one_step=one_step)}
        grades = {aspect: grade_named(letter) for aspect, letter in letters.items()}
        judgements.append(
            Judgement(
                case=report.id,
                doctor=report.doctor,
                judge=RECORDED,
                version=1,
                one_step=one_step,
                grades=grades,
                unreadable={aspect: why_no_grade(letters[aspect]) for aspect in grades if grades[aspect] is None},
                lengths={aspect: length(getattr(report.given, aspect.value)) for aspect in grades},
            )
        )
    if reports and not any(grade for one in judgements for grade in one.grades.values()):
        raise BadInput(f"none of the {len(reports)} reports has a letter: they were not judged, or in another layout")
    return judgements
