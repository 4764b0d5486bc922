"""Checks a case file from end to end: what cannot be read, what contradicts itself, where the truth shows.

A leak is a diagnosis or a distinctive finding that stands, word for word, in a text that a doctor was given.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.loaders import another_id, check_layout, find_layout, load_element, recognise
from polyclinic.cases.loaders.fields import same_options
from polyclinic.cases.loaders.reader import read_elements
from polyclinic.cases.pictures import words_of_place
from polyclinic.cases.shipped import shipped_path
from polyclinic.cases.terms import DiseaseNaming, DiseaseNamings, diagnosis_terms, result_terms
from polyclinic.cases.withhold import WORDS, clauses_of, known_as, ways_known, withhold
from polyclinic.errors import BadInput
from polyclinic.files import key_twice
from polyclinic.frames import Tabular
from polyclinic.language.folding import Folded, fold_term, stands_in, tidy
from polyclinic.language.language import is_chinese
from polyclinic.language.word_lists import Pattern

_Kind = Literal["diagnosis", "finding"]


class Leak(msgspec.Struct, frozen=True, kw_only=True):
    """A text that holds what only the truth, or a finding that nobody asked for, says; `where` counts from 0."""

    kind: _Kind
    term: str
    where: int
    excerpt: str


def find_leaks(texts: Iterable[str], case: Case, *, revealed: Iterable[str] = ()) -> list[Leak]:
    """Finds diagnoses and findings that stand in texts which a doctor was given, such as prompts.

    What patient and examiner have revealed before, or the presentation says, is no leak; nor is an illness that the
    history tells as one from before this visit. One that is a relative's there, or denied, may be named as such. Each
    term is found at most once in a text, and none that lies inside a longer one.
    """
    presentation = case.presentation
    known: list[Folded] | None = None
    searched: tuple[tuple[_Kind, tuple[str, ...]], ...] = (
        ("diagnosis", diagnosis_terms(case.truth.diagnoses)),
        ("finding", result_terms(case.record.findings)),
    )
    leaks: list[Leak] = []
    for where, text in enumerate(texts):
        folded = Folded(text)
        seen: list[str] = []
        for kind, terms in searched:
            for term in terms:
                at = folded.find(term)
                if at < 0 or any(term.casefold() in longer for longer in seen):
                    continue
                if known is None:
                    known = [Folded(t) for t in (presentation.complaint, presentation.about, *revealed)]
                if any(k.find(term) >= 0 for k in known):
                    continue
                if kind == "diagnosis":
                    # What the patient knows of may be named as far as that goes.
                    told = case.record.history.sections()
                    ways = {how for name, section in told for how in ways_known(term, section, section=name)} - {None}
                    if "had" in ways or (ways and None not in ways_known(term, text)):
                        continue
                seen.append(term.casefold())
                leaks.append(Leak(kind=kind, term=term, where=where, excerpt=folded.around(at, len(term))))
    return leaks


_words = WORDS.section("concluded", dict[str, Pattern])


def conclusions(text: str, *, section: str) -> Iterator[str]:
    """Yields the clauses of a section of a history that tell what was concluded or found, and not long ago."""
    for earlier, clause, later in clauses_of(text):
        words = _words("zh" if is_chinese(clause) else "en")
        plain = tidy(clause).casefold()
        cue = words["found"].search(plain) or (words["who"].search(plain) and words["says"].search(plain))
        cue = cue or (words["others"].search(plain) and words["opinion"].search(plain))
        if not cue:
            continue
        known = known_as(cue[0], clause, section=section, earlier=earlier, later=later)
        if known is None:
            yield clause.strip(" ,，")


Level = Literal["error", "warning"]

_ANALYTE = re.compile(
    r"\b(?:virus|viral|RNA|DNA|antigens?|antibod(?:y|ies)|Ig[AGM])\b|病毒|抗原|抗体|核酸", re.IGNORECASE
)


class CaseProblem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something wrong with a case file."""

    level: Level  # an `error` makes the case useless or shows the truth to the doctor; a `warning` is worth knowing
    line: int  # the line, from 1; in a JSON array the element
    id: str = ""
    field: str = ""  # where in the case, as a JSON path such as `$.record.history.past`
    problem: str


class CheckResult(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """What a case file holds and what is wrong with it."""

    layout: str  # the layout it was read in; empty where no record told
    n: int  # cases that could be read
    unreadable: int  # records that could not
    languages: dict[str, int]
    settings: dict[str, int]
    with_question: int
    findings: int  # findings in all cases together
    problems: tuple[CaseProblem, ...]

    @property
    def errors(self) -> int:
        """How many of the problems are errors."""
        return sum(problem.level == "error" for problem in self.problems)


def check_cases(path: str | Path, layout: str | None = None, *, namings: DiseaseNamings | None = None) -> CheckResult:
    """Reads a whole case file and collects what is wrong with it; a bad record does not end the check.

    Without a layout, the first record that can be decoded tells. `namings` finds the diagnoses in other words
    (`knowledge.named_in.named_in`); without it they are found word for word alone.

    Raises:
        BadInput: nothing of the file can be checked: it is missing, not a case file, or in no known layout.
    """
    path = shipped_path(path)
    check_layout(layout)
    problems: list[CaseProblem] = []

    def bad(line: int, id: str, field: str, problem: str) -> None:
        problems.append(CaseProblem(level="error", line=line, id=id, field=field, problem=problem))

    counts: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    settings: Counter[str] = Counter()
    first_seen: dict[str, int] = {}
    elements = read_elements(path)
    while True:
        try:
            element = next(elements, None)
        except BadInput as error:
            # Something breaks the reading itself, such as a line that is not UTF-8.
            if not counts["read"]:
                raise
            bad(error.line or 0, "", error.field, f"{error.problem}; the check ends here")
            break
        if element is None:
            break
        counts["read"] += 1
        id = ""
        try:
            record = element.fields()
            id = str(found) if isinstance(found := record.get("id"), str | int) else ""
        except BadInput as error:
            bad(error.line or element.number, id, error.field, error.problem)
            continue
        layout = layout or recognise(element, record)
        if not find_layout(layout).keys_once and (twice := key_twice(element.text)):
            problem = f"the key {twice!r} stands twice in an object, and only the last is read; a key stands once"
            bad(element.number, id, "", problem)
        try:
            case = load_element(element, layout, record)
        except BadInput as error:
            bad(error.line or element.number, id, error.field, error.problem)
            continue
        counts.update(n=1, with_question=case.question is not None, findings=len(case.record.findings))
        languages[case.presentation.language] += 1
        settings[case.setting] += 1
        earlier = first_seen.setdefault(case.id, element.number)
        if earlier != element.number:
            another = another_id(case.id, first_seen)
            first_seen[another] = element.number
            problem = f"the id {case.id!r} stands in {element.part} {earlier} already; this case is read as {another!r}"
            bad(element.number, case.id, "$.id", problem)
        problems += check_case(case, line=element.number, namings=namings)
    return CheckResult(
        layout=layout or "",
        n=counts["n"],
        unreadable=counts["read"] - counts["n"],
        languages=dict(languages),
        settings=dict(settings),
        with_question=counts["with_question"],
        findings=counts["findings"],
        problems=tuple(problems),
    )


def check_case(case: Case, *, line: int = 1, namings: DiseaseNamings | None = None) -> Iterator[CaseProblem]:
    """Yields what is wrong with one case that could be read, which stands at a line of its file; see `check_cases`."""
    for level, field, problem in (*_texts(case, namings), *_findings(case), *_pictures(case), *_question(case)):
        yield CaseProblem(level=level, line=line, id=case.id, field=field, problem=problem)


def _texts(case: Case, namings: DiseaseNamings | None) -> Iterator[tuple[Level, str, str]]:
    terms, presentation = diagnosis_terms(case.truth.diagnoses), case.presentation
    if not case.truth.diagnoses:
        yield "warning", "$.truth.diagnoses", "no diagnosis: nothing that the doctor reports can be right"
    for order, diagnosis in enumerate(case.truth.diagnoses):
        if not diagnosis.name.strip():
            yield "error", f"$.truth.diagnoses[{order}]", "a diagnosis without a name: no report can be right"
    for name, text in (("complaint", presentation.complaint), ("about", presentation.about)):
        if term := stands_in(text, terms):
            problem = f"the truth stands where the doctor sees it before asking: {term!r}"
            yield "error", f"$.record.presentation.{name}", problem
        elif said := _in_other_words(text, case, namings):
            problem = f"the truth stands in other words where the doctor sees it before asking: {_quoted(said)}"
            level: Level = "warning" if said.is_wider or not said.is_sure else "error"
            yield level, f"$.record.presentation.{name}", problem
    yield from _history(case, terms, namings)


def _history(case: Case, terms: tuple[str, ...], namings: DiseaseNamings | None) -> Iterator[tuple[Level, str, str]]:
    for name, text in case.record.history.sections():
        if term := stands_in(text, terms):
            kept = withhold(text, terms, section=name) != text
            what = "the patient withholds it" if kept else "the patient, who knows of it, tells it when asked"
            look = "; look at it" if not kept and _is_another_s(term, name, text) else ""
            problem = f"a diagnosis stands here, and {what}{look}: {term!r}"
            yield "warning", f"$.record.history.{name}", problem
        elif said := _in_other_words(text, case, namings):
            told = withhold(text, (said.text,), section=name) == text
            if told and not _is_another_s(said.text, name, text):
                continue  # as something known
            problem = f"a diagnosis stands here in other words, and the patient withholds it: {_quoted(said)}"
            if told:
                problem = (
                    "a diagnosis stands here in other words, as somebody else's or as denied, and the patient tells "
                    f"it; look at it: {_quoted(said)}"
                )
            elif not said.is_sure:
                problem = f"this may name a diagnosis, and the patient tells it; look at it: {_quoted(said)}"
            yield "warning", f"$.record.history.{name}", problem
        elif namings is not None and (concluded := next(conclusions(text, section=name), None)) is not None:
            problem = (
                f"somebody concluded something of this illness, and the patient tells it; look at it: {concluded!r}"
            )
            yield "warning", f"$.record.history.{name}", problem


def _is_another_s(term: str, section: str, text: str) -> bool:
    """Whether a diagnosis is told as somebody else's, or as denied, where this illness is spoken of."""
    return section == "present" and bool(
        ways_known(fold_term(term), text, section=section) & {"a relative's", "denied"}
    )


def _in_other_words(text: str, case: Case, namings: DiseaseNamings | None) -> DiseaseNaming | None:
    """Returns what names a diagnosis, what does so most clearly first; None where nothing does."""
    found = namings(text, diagnosis_terms(case.truth.diagnoses)) if namings is not None and text.strip() else ()
    return min(found, key=lambda said: (not said.is_sure, said.is_wider), default=None)


def _quoted(said: DiseaseNaming) -> str:
    return f"{said.text!r} ({said.name})"


def _findings(case: Case) -> Iterator[tuple[Level, str, str]]:
    if not case.record.findings and case.setting == "ward":
        yield "warning", "$.record.findings", "no findings: every examination will come back as not recorded"
    for order, finding in enumerate(case.record.findings):
        if not finding.examination.strip():
            yield "error", f"$.record.findings[{order}]", "a finding without an examination: nobody can order it"
        # What is looked for is named after its disease whatever comes out: "influenza B virus RNA: not detected".
        name = "" if _ANALYTE.search(finding.item) else f"{finding.examination}, {finding.item}"
        if term := stands_in(f"{name}: {finding.value_text}", diagnosis_terms(case.truth.diagnoses)):
            problem = f"{finding.examination!r} names a diagnosis, and whoever orders it is told: {term!r}"
            yield "warning", f"$.record.findings[{order}]", problem


def _pictures(case: Case) -> Iterator[tuple[Level, str, str]]:
    terms = diagnosis_terms(case.truth.diagnoses)
    for order, picture in enumerate(case.attachments):
        if not picture.url.startswith("data:") and (term := stands_in(words_of_place(picture.url), terms)):
            yield (
                "warning",
                f"$.attachments[{order}].url",
                f"the name of a picture tells the truth: {term!r}",
            )


def unanswerable(case: Case) -> str:
    """Says why the question of a case cannot be answered rightly; "" where it can, or there is none."""
    return next((problem for level, _, problem in _question(case) if level == "error"), "")


def _question(case: Case) -> Iterator[tuple[Level, str, str]]:
    question, answers = case.question, case.truth.answers
    if question is None:
        if answers:
            yield "error", "$.truth.answers", "there are answers, and no question that they answer"
        return
    allowed = ", ".join(question.options)
    if len(question.options) < 2:
        yield "error", "$.question.options", "a question needs two or more options"
    if same := same_options(question.options):
        # One that is right under one key and wrong under another cannot be chosen rightly.
        level: Level = "error" if question.several or not {*same}.isdisjoint(answers) else "warning"
        problem = f"two options are the same, {same[0]} and {same[1]}: {question.options[same[1]]!r}; each once"
        yield level, "$.question.options", problem
    if not answers:
        yield "error", "$.truth.answers", f"the question has no right answer; allowed are {allowed}"
    for answer in answers:
        if answer not in question.options:
            yield "error", "$.truth.answers", f"the right answer {answer!r} is none of the options {allowed}"
