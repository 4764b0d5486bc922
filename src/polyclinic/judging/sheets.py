"""Sheets for people to fill in: an item a row, what it is about beside it, and empty fields for the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from polyclinic.cases.case import Case
from polyclinic.errors import BadInput, UserError
from polyclinic.events import Convened, End, Ended, Examined, Opened, Reported, Role, Said, Trace
from polyclinic.files import read_records
from polyclinic.judging.director import sections_of
from polyclinic.judging.model_judging import spoken
from polyclinic.judging.pairs import said_in
from polyclinic.judging.verdicts import BLIND, PAIR, Item, Key, form_named, rows_of
from polyclinic.language.language import Language
from polyclinic.players.language_model.mind import describe, known_lines
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.shown import show
from polyclinic.seeds import derive

DEPARTMENTS = 10
RECORDS = 5  # the paper's sample of records: five of each of ten departments (AI Hospital §3.3)


Items = Mapping[Item, dict[str, str]]  # the items of a sheet, and what is shown of each
_Rows = Iterator[tuple[Item, dict[str, str]]]
_Visits = Iterator[tuple[str, Trace, Case]]


@dataclass(frozen=True, kw_only=True)
class Material:
    """The files that are judged, and the cases or questions to show with them.

    `departments` and `each` are the size of the sample of records. Unreadable visits are added to `bad`, if given.
    """

    files: Sequence[Path] = ()
    cases: Mapping[str, Case] = field(default_factory=dict)
    questions: Mapping[str, ExamQuestion] = field(default_factory=dict)
    departments: int = DEPARTMENTS
    each: int = RECORDS
    seed: int = 0
    bad: list[BadInput] | None = None

    def visits(self) -> _Visits:
        """Yields completed visits with their doctor or team and case. Of a team only the discussion is judged."""
        for path in self.files:
            for trace in Trace.read(path, bad=self.bad):
                begin, ended = trace[0], trace.last(Ended)
                if ended is None or ended.reason is End.FAILED or not isinstance(begin, Opened | Convened):
                    continue
                if isinstance(begin, Opened) and begin.doctor:
                    continue
                doctor = begin.minds[Role.DOCTOR] if isinstance(begin, Opened) else " + ".join(begin.doctors)
                try:
                    yield doctor, trace, self.case(begin.case)
                except UserError as error:
                    if self.bad is None:
                        raise
                    self.bad.append(BadInput(str(error), path=path))

    def outcomes(self) -> Iterator[tuple[Path, str, dict[str, Any]]]:
        """Yields file, id and outcome of each line; each method is called after its file."""
        for path in self.files:
            for _, line in read_records(path, dict[str, Any], "an outcome"):
                yield path, str(line.get("id", "")), line.get("outcome") or {}

    def case(self, id: str) -> Case:
        """Returns a case that is judged."""
        if id not in self.cases:
            raise UserError(f"case {id!r} is not in the case file; name the one that was judged")
        return self.cases[id]


def sheet_of(form: str, material: Material) -> Items:
    """Returns the items of a form, each once."""
    check_needed(form, material.files)
    items: dict[Item, dict[str, str]] = {}
    for item, shown in _ROWS[form](material):
        items.setdefault(item, shown)
    return items


def rows_to_fill(form: str, items: Items, who: str = "") -> list[dict[str, Any]]:
    """Returns the rows of a sheet: keys, what is shown, and empty answers, for a person where one is named."""
    asked = form_named(form)
    empty = {"who": who, **dict.fromkeys(asked.questions, ""), "comment": ""}
    return [asked.row(form, item) | shown | empty for item, shown in items.items()]


def check_needed(form: str, files: Sequence[Path]) -> None:
    """Raises a UserError if there is no such form, or if it needs files and has none."""
    form_named(form)
    if not files and form != "records":
        wanted = "files of outcomes" if form in ("explanations", "errors") else "traces"
        raise UserError(f"nothing to judge: {form!r} needs {wanted}")


def _rounds(material: Material) -> _Rows:
    """Yields every round: a doctor's turn and the answers of patient and examiner."""
    for doctor, trace, case in material.visits():
        language, record = case.presentation.language, _record(case)
        turns: dict[int, list[str]] = {}
        for event in trace:
            if isinstance(event, Said | Examined) and event.turn:
                who = event.who if isinstance(event, Said) else Role.EXAMINER
                turns.setdefault(event.turn, []).append(spoken(who, event.text, language))
        for turn, said in turns.items():
            if len(said) > 1:
                yield (case.id, doctor, str(turn)), {"record": record, "said": "\n".join(said)}


def _pairs(material: Material) -> _Rows:
    said: dict[str, dict[str, str]] = {}
    for doctor, trace, case in material.visits():
        if dialogue := "\n".join(said_in(trace)):
            said.setdefault(case.id, {}).setdefault(doctor, dialogue)
    for id, dialogues in said.items():
        for pair in combinations(sorted(dialogues), 2):
            first, second = derive(material.seed, "pairs", id, *pair).sample(pair, 2)
            yield (id, first, second), {"first_dialogue": dialogues[first], "second_dialogue": dialogues[second]}


def _pairs_with_truth(material: Material) -> _Rows:
    for item, shown in _pairs(material):
        yield item, {"right": _diagnoses(material.cases[item[0]]), **shown}


def _records(material: Material) -> _Rows:
    """Yields records to be checked, drawn by the seed from each of the departments with most cases."""
    by_department: dict[str, list[Case]] = {}
    for case in material.cases.values():
        by_department.setdefault(case.department, []).append(case)
    largest = sorted(by_department.items(), key=lambda one: -len(one[1]))[: material.departments]
    for department, theirs in largest:
        drawn = derive(material.seed, "records", department).sample(theirs, min(material.each, len(theirs)))
        for case in sorted(drawn, key=theirs.index):
            yield (case.id,), {"department": department, "record": f"{_record(case)}\n{_reference(case)}"}


def _grades(material: Material) -> _Rows:
    for item, shown in _failures(material):
        yield item, {name: text for name, text in shown.items() if name != "done"}


def _failures(material: Material) -> _Rows:
    for doctor, trace, case in material.visits():
        if (reported := trace.last(Reported)) is not None:
            done = (f.examination for e in trace if isinstance(e, Examined) for f in e.findings)
            headings = _PARTS[case.presentation.language]
            parts = zip(headings, sections_of(reported.report).values(), strict=True)
            yield (
                (case.id, doctor),
                {
                    "reference": f"{_record(case)}\n{_reference(case)}",
                    "done": "; ".join(dict.fromkeys(done)),
                    "report": "\n".join(f"{heading} {'; '.join(part)}" for heading, part in parts),
                },
            )


def _explanations(material: Material) -> _Rows:
    for path, id, outcome in material.outcomes():
        case, said = material.case(id), str(outcome.get("rationale") or "")
        yield (id, path.stem), {"record": _record(case), "diagnoses": _diagnoses(case), "explanation": said}


def _errors(material: Material) -> _Rows:
    """Yields the wrong answers to exam questions."""
    for path, id, outcome in material.outcomes():
        if id not in material.questions:
            raise UserError(f"question {id!r} of {path} is not in the file of questions; name the one asked")
        asked = material.questions[id]
        answer = [key for key in asked.question.options if key in (outcome.get("answers") or ())]
        if answer and {*answer} != {*asked.key}:
            calls = (f"{one.get('purpose')}: {one.get('text')}" for one in outcome.get("trace") or ())
            said = "\n\n".join([*calls, str(outcome.get("rationale") or "")])
            shown = {"asked": show(asked.question), "key": _chosen(asked, asked.key), "said": said.strip()}
            yield (id, path.stem), shown | {"answer": _chosen(asked, answer)}


_ROWS: dict[str, Callable[[Material], _Rows]] = {
    "pairs doctor": _pairs_with_truth,
    "pairs patient": _pairs,
    "rounds": _rounds,
    "records": _records,
    "grades": _grades,
    "explanations": _explanations,
    "failures": _failures,
    "errors": _errors,
}


def _chosen(asked: ExamQuestion, keys: Iterable[str]) -> str:
    return "; ".join(f"{key}. {asked.question.options[key]}" for key in keys)


def _record(case: Case) -> str:
    record = case.record
    lines = known_lines(record.history, record.findings, record.presentation.language)
    return "\n".join([describe(record.presentation), *lines])


def _diagnoses(case: Case) -> str:
    return "; ".join(diagnosis.name for diagnosis in case.truth.diagnoses)


def _reference(case: Case) -> str:
    texts = (_diagnoses(case), "\n".join(case.truth.rationale), "\n".join(case.truth.treatment))
    headings = _PARTS[case.presentation.language][2:]
    return "\n".join(f"{heading} {text}" for heading, text in zip(headings, texts, strict=True))


_PARTS: dict[Language, tuple[str, ...]] = {
    "en": ("Symptoms:", "Examinations:", "Diagnoses:", "Reasons:", "Treatment:"),
    "zh": ("症状：", "检查：", "诊断：", "诊断理由：", "治疗："),
}


_DOCTORS = tuple(f"{key}_doctor" for key in PAIR)


def blinded(form: str, items: Items, *, seed: int) -> tuple[Items, list[dict[str, Any]]]:
    """Returns items with codes in the place of doctors, and the rows of their key."""
    blind: dict[Item, dict[str, str]] = {}
    key: list[dict[str, Any]] = []
    for item, shown in items.items():
        drawn = derive(seed, "blind", form, *item)
        codes = tuple(f"{BLIND}{drawn.getrandbits(32):08x}" for _ in PAIR)
        blind[item[0], *codes] = shown
        named = zip((*PAIR, *_DOCTORS), (*codes, *item[1:]), strict=True)
        key.append({"form": form, "case": item[0], **dict(named)})
    return blind, key


def read_key(paths: Iterable[Path]) -> Key:
    """Reads the keys of blind sheets."""
    found: dict[str, dict[Item, Item]] = {}
    for path in paths:
        for line, row in rows_of(path):
            said = {field: str(value or "") for field, value in row.items()}
            if missing := [field for field in ("form", "case", *PAIR, *_DOCTORS) if not said.get(field)]:
                problem = f"no {missing[0]!r}; this is no key of a blind sheet, such as 'verdicts export' writes"
                raise BadInput(problem, path=path, line=line)
            case = said["case"]
            item, doctors = ((case, *(said[field] for field in fields)) for fields in (PAIR, _DOCTORS))
            found.setdefault(said["form"], {})[item] = doctors
    return found
