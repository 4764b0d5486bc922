"""Sheets for people to fill in: an item a row, what it is about beside it, and empty fields for the answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

from polyclinic.cases.case import Case
from polyclinic.cases.report import Report
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


class Sheet:
    """The rows of a form, without answers."""

    def __init__(self, form: str, rows: Iterable[tuple[Item, Mapping[str, str]]]) -> None:
        self.form, self._form = form, form_named(form)
        self.items: dict[Item, Mapping[str, str]] = {}
        for item, shown in rows:
            self.items.setdefault(item, shown)

    def only(self, items: Iterable[Item]) -> Sheet:
        """Returns the sheet of some of its items, in their order here."""
        wanted = set(items)
        return Sheet(self.form, ((item, shown) for item, shown in self.items.items() if item in wanted))

    def shuffled(self, order: Random) -> Sheet:
        """Returns the sheet with its items in an order that is drawn."""
        items = list(self.items.items())
        order.shuffle(items)
        return Sheet(self.form, items)

    def rows(self, who: str = "") -> list[dict[str, Any]]:
        """Returns what is written: keys, what is shown, and empty answers, for a person where one is named."""
        form = self._form
        return [
            {
                "form": self.form,
                **dict(zip(form.keys, item, strict=True)),
                **shown,
                "who": who,
                **dict.fromkeys(form.questions, ""),
                "comment": "",
            }
            for item, shown in self.items.items()
        ]


def sheet_of(
    form: str,
    files: Sequence[Path],
    cases: Mapping[str, Case],
    *,
    departments: int = DEPARTMENTS,
    each: int = RECORDS,
    seed: int = 0,
    bad: list[BadInput] | None = None,
) -> Sheet:
    """Returns the sheet of a form that shows cases: of traces, of outcomes (explanations), or of the cases (records).

    With a list for `bad` input, visits that cannot be read, or are of other cases, go there and are left out.
    """
    check_needed(form, files)
    if form == "records":
        rows = _records(cases.values(), departments, each, seed)
    elif form == "explanations":
        rows = _explanations(files, cases)
    else:
        visits = _visits(files, cases, bad)
        if form == "rounds":
            rows = _rounds(visits)
        else:
            rows = _reports(form, visits) if form in ("grades", "failures") else _pairs(form, visits, seed)
    return Sheet(form, rows)


def check_needed(form: str, files: Sequence[Path]) -> None:
    """Raises a UserError if there is no such form, or if it needs files and has none."""
    form_named(form)
    if not files and form != "records":
        wanted = "files of outcomes" if form == "explanations" else "traces"
        raise UserError(f"nothing to judge: {form!r} needs {wanted}")


_Rows = Iterator[tuple[Item, Mapping[str, str]]]
_Visits = Iterator[tuple[str, Trace, Case]]


def _visits(paths: Iterable[Path], cases: Mapping[str, Case], bad: list[BadInput] | None) -> _Visits:
    """Yields the visits that came to their end, with doctor or team and case; those of other cases are `bad`.

    The visits of a team's doctors are left out: the discussion is judged in their place.
    """
    for path in paths:
        for trace in Trace.read(path, bad=bad):
            begin, ended = trace[0], trace.last(Ended)
            if ended is None or ended.reason is End.FAILED or not isinstance(begin, Opened | Convened):
                continue
            if isinstance(begin, Opened) and begin.doctor:
                continue
            doctor = begin.minds[Role.DOCTOR] if isinstance(begin, Opened) else " + ".join(begin.doctors)
            try:
                case = _named(cases, begin.case)
            except UserError as error:
                if bad is None:
                    raise
                bad.append(BadInput(str(error), path=path))
                continue
            yield doctor, trace, case


def _rounds(visits: _Visits) -> _Rows:
    """Yields every round: a doctor's turn and the answers of patient and examiner."""
    for doctor, trace, case in visits:
        language, record = case.presentation.language, _record(case)
        turns: dict[int, list[str]] = {}
        for event in trace:
            if isinstance(event, Said | Examined) and event.turn:
                who = event.who if isinstance(event, Said) else Role.EXAMINER
                turns.setdefault(event.turn, []).append(spoken(who, event.text, language))
        for turn, said in turns.items():
            if len(said) > 1:
                yield (case.id, doctor, str(turn)), {"record": record, "said": "\n".join(said)}


def _pairs(form: str, visits: _Visits, seed: int) -> _Rows:
    said: dict[str, dict[str, str]] = {}
    right: dict[str, str] = {}
    for doctor, trace, case in visits:
        if dialogue := "\n".join(said_in(trace)):
            said.setdefault(case.id, {}).setdefault(doctor, dialogue)
            right[case.id] = _diagnoses(case)
    for id, dialogues in said.items():
        for pair in combinations(sorted(dialogues), 2):
            first, second = derive(seed, "pairs", id, *pair).sample(pair, 2)
            shown = {"first_dialogue": dialogues[first], "second_dialogue": dialogues[second]}
            yield (id, first, second), {"right": right[id], **shown} if form == "pairs doctor" else shown


def _records(cases: Iterable[Case], departments: int, each: int, seed: int) -> _Rows:
    """Yields records to be checked, drawn by the seed from each of the departments with most cases."""
    by_department: dict[str, list[Case]] = {}
    for case in cases:
        by_department.setdefault(case.department, []).append(case)
    for department, theirs in sorted(by_department.items(), key=lambda one: -len(one[1]))[:departments]:
        drawn = derive(seed, "records", department).sample(theirs, min(each, len(theirs)))
        for case in sorted(drawn, key=theirs.index):
            yield (case.id,), {"department": department, "record": f"{_record(case)}\n{_reference(case)}"}


def _reports(form: str, visits: _Visits) -> _Rows:
    for doctor, trace, case in visits:
        reported = trace.last(Reported)
        if reported is None:
            continue
        shown = {"reference": f"{_record(case)}\n{_reference(case)}"}
        if form == "failures":
            done = (f.examination for e in trace if isinstance(e, Examined) for f in e.findings)
            shown["done"] = "; ".join(dict.fromkeys(done))
        yield (case.id, doctor), {**shown, "report": _report(reported.report, case.presentation.language)}


def _explanations(paths: Iterable[Path], cases: Mapping[str, Case]) -> _Rows:
    """Yields the explanations in the files of `eval tor --out`; each method is called after its file."""
    for path in paths:
        for _, line in read_records(path, dict[str, Any], "an outcome"):
            case = _named(cases, str(line.get("id", "")))
            said = str((line.get("outcome") or {}).get("rationale") or "")
            shown = {"record": _record(case), "diagnoses": _diagnoses(case), "explanation": said}
            yield (case.id, path.stem), shown


def errors_sheet(paths: Iterable[Path], questions: Mapping[str, ExamQuestion]) -> Sheet:
    """Returns the wrong answers in the files of an exam's `eval --out`; each method is called after its file."""
    rows: list[tuple[Item, Mapping[str, str]]] = []
    for path in paths:
        for _, line in read_records(path, dict[str, Any], "an outcome"):
            outcome, id = line.get("outcome") or {}, str(line.get("id", ""))
            if id not in questions:
                raise UserError(f"question {id!r} of {path} is not in the file of questions; name the one asked")
            asked = questions[id]
            answer = [key for key in asked.question.options if key in (outcome.get("answers") or ())]
            if answer and {*answer} != {*asked.key}:
                shown = {"asked": show(asked.question), "key": _chosen(asked, asked.key)}
                calls = (f"{one.get('purpose')}: {one.get('text')}" for one in outcome.get("trace") or ())
                said = "\n\n".join([*calls, str(outcome.get("rationale") or "")])
                rows.append(((id, path.stem), {**shown, "said": said.strip(), "answer": _chosen(asked, answer)}))
    return Sheet("errors", rows)


def _chosen(asked: ExamQuestion, keys: Iterable[str]) -> str:
    return "; ".join(f"{key}. {asked.question.options[key]}" for key in keys)


def _named(cases: Mapping[str, Case], id: str) -> Case:
    if id not in cases:
        raise UserError(f"case {id!r} is not in the case file; name the one that was judged")
    return cases[id]


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


def _report(report: Report, language: Language) -> str:
    parts = sections_of(report).values()
    return "\n".join(f"{heading} {'; '.join(part)}" for heading, part in zip(_PARTS[language], parts, strict=True))


_PARTS: dict[Language, tuple[str, ...]] = {
    "en": ("Symptoms:", "Examinations:", "Diagnoses:", "Reasons:", "Treatment:"),
    "zh": ("症状：", "检查：", "诊断：", "诊断理由：", "治疗："),
}


_DOCTORS = tuple(f"{key}_doctor" for key in PAIR)


def is_blind(form: str) -> bool:
    """Whether a form's sheets are blind: those of two doctors are."""
    return form_named(form).keys[1:] == PAIR


def blinded(sheet: Sheet, *, seed: int) -> tuple[Sheet, list[dict[str, Any]]]:
    """Returns a sheet with codes in the place of doctors, and the rows of its key."""
    items: dict[Item, Mapping[str, str]] = {}
    key: list[dict[str, Any]] = []
    for item, shown in sheet.items.items():
        drawn = derive(seed, "blind", sheet.form, *item)
        codes = tuple(f"{BLIND}{drawn.getrandbits(32):08x}" for _ in PAIR)
        items[item[0], *codes] = shown
        named = zip((*PAIR, *_DOCTORS), (*codes, *item[1:]), strict=True)
        key.append({"form": sheet.form, "case": item[0], **dict(named)})
    return Sheet(sheet.form, items.items()), key


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
