"""A record as a chart on a ward: who, what for, history, vital signs in a row, results with flags, reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from polyclinic.cases.case import Case
from polyclinic.cases.record import Finding, flag_of
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.ages import say_age
from polyclinic.language.language import MARKS, Language, capitalised
from polyclinic.language.word_lists import WordLists
from polyclinic.results.folder import grouped

WORDS = WordLists(Path(__file__).with_name("words"))
"""What the command line says in a case's own language."""

_VITAL = {
    "8310-5": "temperature",
    "8867-4": "pulse",
    "9279-1": "breathing",
    "8480-6": "pressure",
    "8462-4": "pressure",
    "59408-5": "oxygen",
    "2708-6": "oxygen",
    "9269-2": "coma",
}
"""LOINC codes of the vital signs."""

_NormalTexts = dict[tuple[str, str], set[str]]

_ALWAYS = ("past", "medications", "allergies")
_RULE = 2  # letters that what belongs to a heading stands in

_words = WORDS.section("chart", dict[str, Any])


def show_chart(screen: Console, case: Case, knowledge: Knowledge, *, truth: bool) -> None:
    """Prints a record as a chart; the truth, and what hints at it, only where it is wanted."""
    language = case.presentation.language
    words = _words(language)
    person = case.presentation
    age = "" if person.age is None else say_age(person.age, person.language)
    sex = "" if person.sex is None else words["sexes"][person.sex]
    head = " · ".join(part for part in (case.id, person.about, sex, age) if part)
    screen.rule(Text(head, style="bold"), align="left", style="dim")
    print_section(screen, words["complaint"], person.complaint)
    history = case.record.history
    sections = dict(history.sections()) | {"symptoms": MARKS[language].semicolon.join(history.symptoms)}
    for name, heading in words["history"].items():
        if sections.get(name) or name in _ALWAYS:
            print_section(screen, heading, sections.get(name) or words["nothing_told"])
    # Findings of several days are shown day by day, and so are vital signs.
    found = [
        msgspec.structs.replace(one, examination=f"{one.examination}, {one.date}") if one.date else one
        for one in case.record.findings
    ]
    if any(map(_vital_sign, found)):
        print_section(screen, words["vital_signs"], _vital_row(found, words))
    others = [f for f in found if not _vital_sign(f)]
    panels = {f.examination for f in others if not isinstance(f.value, str)}
    usual = {
        (e.name.get(language), item.name.get(language)): {item.values[id].get(language) for id in item.normal_texts()}
        for e in knowledge.examinations.values()
        for item in e.items
        if not item.numeric
    }
    for heading, shown in (
        (words["results"], _results([f for f in others if f.examination in panels], words, usual)),
        (words["reports"], _reports([f for f in others if f.examination not in panels], usual, language)),
    ):
        if shown.row_count:
            screen.print(Text(f"\n{heading}", style="bold"))
            screen.print(Padding(shown, (0, 0, 0, _RULE)))
    if found:
        screen.print(Text("\n" + words["flags"], style="dim"))
    if case.question is not None:
        options = "\n".join(f"{key}. {option}" for key, option in case.question.options.items())
        print_section(screen, words["question"], f"{case.question.stem}\n{options}")
    if truth:
        _show_truth(screen, case, knowledge, words)


def print_section(screen: Console, name: str, told: Text | str) -> None:
    """Prints what belongs to a heading beside it."""
    row = Table.grid(padding=(0, 2, 0, 0))
    row.add_column(style="bold", min_width=15, max_width=15)
    row.add_column(overflow="fold")
    row.add_row(name, told if isinstance(told, Text) else Text(told))
    screen.print(row)


def _vital_sign(finding: Finding) -> str:
    """Returns the vital sign that a finding is, "" for any other."""
    return "" if finding.code is None or finding.date else _VITAL.get(finding.code.code, "")


def _vital_row(findings: Sequence[Finding], words: dict[str, Any]) -> Text:
    row = Text()
    for name, label in words["vital_names"].items():
        of_name = [finding for finding in findings if _vital_sign(finding) == name]
        if of_name:
            value, unit = "/".join(finding.value_text for finding in of_name), of_name[0].printed_unit
            told = f"{label} {value}{'' if unit == '%' else ' ' if unit else ''}{unit}".replace(" ", "\u00a0")
            flags = "".join(dict.fromkeys(map(flag_of, of_name)))
            row.append(f"{'   ' if row else ''}{told}")
            row.append(f"\u00a0{flags}" if flags else "", style="bold red")
    return row


def _flag(finding: Finding, usual: _NormalTexts) -> str:
    normal = usual.get((finding.examination, finding.item)) if isinstance(finding.value, str) else None
    if normal is None:
        return flag_of(finding)
    return "" if finding.value in normal else "A"


def _results(findings: Iterable[Finding], words: dict[str, Any], usual: _NormalTexts) -> Table:
    shown = Table.grid(padding=(0, 2, 0, 0))
    for style, ratio in (("", 3), ("", 2), ("bold red", None), ("", None), ("dim", None)):
        shown.add_column(overflow="fold", style=style, ratio=ratio, no_wrap=bool(style))
    for examination, of_one in groupby(findings, key=lambda one: one.examination):
        if not shown.row_count:
            shown.add_row(*(Text(name, style="dim") for name in words["columns"]))
        shown.add_row(Text(capitalised(examination), style="italic"))
        for one in of_one:
            texts = (f"  {one.item or examination}", one.value_text, _flag(one, usual), one.printed_unit, one.reference)
            shown.add_row(*map(Text, texts))
    return shown


def _reports(findings: Iterable[Finding], usual: _NormalTexts, language: Language) -> Table:
    shown, marks = Table.grid(padding=(0, 1, 0, 0)), MARKS[language]
    shown.add_column(no_wrap=True, style="bold red", min_width=1)
    shown.add_column(overflow="fold")
    for examination, of_one in grouped(findings, lambda one: one.examination).items():
        told = Text().append(f"{capitalised(examination)}{marks.colon}", style="italic")
        flags = ["A" if _flag(finding, usual) else "" for finding in of_one]
        for number, (finding, flag) in enumerate(zip(of_one, flags, strict=True)):
            told.append(marks.semicolon if number else "")
            # What was looked at, unless the examination is named for it.
            named = finding.item and (len(of_one) > 1 or finding.item.casefold() not in examination.casefold())
            item = f"{finding.item}{marks.colon}" if named else ""
            told.append(f"{item}{finding.value_text}", style="bold" if flag else "")
            told.append(" (A)" if flag and len(of_one) > 1 else "", style="bold red")
        shown.add_row("A" if any(flags) else " ", told)
    return shown


def _show_truth(screen: Console, case: Case, knowledge: Knowledge, words: dict[str, Any]) -> None:
    language, truth = case.presentation.language, case.truth
    screen.print()
    screen.rule(Text(words["truth"], style="bold"), align="left", style="dim")
    # What else it might be, in the source's order, with probabilities where there are any.
    shares = {} if truth.probabilities is msgspec.UNSET else dict(truth.probabilities)
    likely = [words["likely"].format(name=name, percent=100 * share) for name, share in shares.items()]
    department = knowledge.departments.get(case.department)
    disease = knowledge.disease_named(truth.diagnoses[0].name)
    sections = {
        "diagnosis": "\n".join(f"{d.name}{f' ({d.icd10})' if d.icd10 else ''}" for d in truth.diagnoses),
        "severity": words["severities"][truth.severity] if truth.severity else "",
        "differential": "\n".join([*likely, *(name for name in truth.differential if name not in shares)]),
        "acuity": words["acuities"][truth.acuity - 1] if truth.acuity else "",
        "department": case.department if department is None else department.name.get(language),
        "rationale": "\n".join(f"• {item}" for item in truth.rationale),
        "treatment": "\n".join(f"• {item}" for item in truth.treatment),
        "disposition": "",
        "answers": ", ".join(truth.answers),
    }
    if disease is not None and truth.severity and truth.treatment:
        sections["disposition"] = words["dispositions"][disease.plan(truth.severity).disposition]
    for name, told in sections.items():
        if told:
            print_section(screen, words[name], told)
