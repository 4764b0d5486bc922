"""What people say, in the terminal: how far they agree, and what their verdicts come to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from msgspec.structs import replace as replace_fields
from rich.console import Console

from polyclinic.errors import BadInput
from polyclinic.judging.people import (
    CountsByPeople,
    MeansByPeople,
    PairsByPeople,
    PeopleFigures,
    Percent,
    QuestionAgreement,
    RecordsByPeople,
    RoundsByPeople,
    agreed,
    figures,
    marks_by_item,
)
from polyclinic.judging.verdicts import Known, PersonsVerdict, forms, read_verdicts
from polyclinic.results.folder import ItemMeasure, ItemRow
from polyclinic.run.output import Output
from polyclinic.terminal.figures import NOTHING, ShownFigure, number
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import few_comparisons, mean_and_error, table, table_of


def read_people(paths: Sequence[Path] | None, known: Known) -> list[PersonsVerdict]:
    """Reads verdicts of these forms on these items, and raises BadInput for all others."""
    said = read_verdicts(paths or (), known=known)
    if (other := next((one.form for one in said if one.form not in known), None)) is not None:
        (path, *_) = paths or ()
        raise BadInput(f"there are verdicts of the form {other!r}; here it is {' or '.join(known)}", path=path)
    return said


def with_people(output: Output, said: Sequence[PersonsVerdict], form: str, *, seed: int) -> Output:
    """Returns the output with what people say of the same, below it and in the document."""
    between, found = agreed(said, form, seed=seed), figures(said, form, seed=seed)

    def show(screen: Console) -> None:
        screen.print()
        show_agreement(screen, form, between)
        show_figures(screen, found)

    return output.beside({"people": {"agreement": between, "figures": found}}, show)


def with_agreement(output: Output, said: Sequence[PersonsVerdict], *, seed: int) -> Output:
    """Returns the output with how far people agree, and with their marks in its rows."""
    between = {form: agreed(said, form, seed=seed) for form in dict.fromkeys(one.form for one in said)}
    marks = marks_by_item(said)

    def show(screen: Console) -> None:
        screen.print()
        for form, found in between.items():
            show_agreement(screen, form, found)

    def marked(row: ItemRow) -> ItemRow:
        """Returns a row with people's marks of the same: by its doctor, or by the file of its method's outcomes."""
        file = row.at.partition(".jsonl")[0]
        found = marks.get((row.item, row.model)) or marks.get((row.item, file)) or {}
        return replace_fields(row, values=row.values | {f"{name} (people)": mark for name, mark in found.items()})

    asked = dict.fromkeys(question for one in marks.values() for question in one)
    return replace(
        output.beside({"people_agreement": between}, show),
        rows=list(map(marked, output.rows)),
        measures=[*output.measures, *(ItemMeasure(name=f"{question} (people)", percent=False) for question in asked)],
    )


def show_agreement(screen: Console, form: str, found: Sequence[QuestionAgreement]) -> None:
    """Prints how far people agree, question by question."""

    def alpha(one: QuestionAgreement) -> str:
        value, low, high = one.alpha.alpha, one.alpha.low, one.alpha.high
        interval = "" if value is None else f" [{low:.2f}, {high:.2f}]"
        return ShownFigure(f"{number(value, '.3f')}{interval}", {"": value, "low": low, "high": high})

    people = ", ".join(dict.fromkeys(who for one in found for who in one.people))
    columns: dict[str, Callable[[QuestionAgreement], str]] = {
        "question": lambda one: one.question,
        "items": lambda one: str(one.items),
        "of several": lambda one: str(one.shared),
        "alike": lambda one: number(one.alike, ".1f", " %"),
        "κ of two": lambda one: number(one.kappa, ".3f"),
        "n": lambda one: NOTHING if one.two is None else str(one.two.n),
        "Fleiss' κ": lambda one: number(one.fleiss, ".3f"),
        "α [95 %]": alpha,
        "undecided": lambda one: str(one.undecided),
    }
    screen.print(table_of(f"{form} ({forms()[form].source}), said by {people}", found, columns))
    two = next((one.people[:2] for one in found if len(one.people) > 1), ())
    told = (
        [f"κ of two: {' and '.join(two)}, on the n items of both."] if two else ["One person alone agrees with nobody."]
    )
    if forms()[form].third and two:
        told.append("All of it is of these two, as a third is asked only where two differ.")
    if any(one.undecided for one in found):
        told.append("Undecided: as many say the one as the other; one more person decides.")
    screen.print(plain(" ".join(told)), style="dim", soft_wrap=True)
    screen.print()


def show_figures(screen: Console, found: Mapping[str, PeopleFigures]) -> None:
    """Prints what people's verdicts of one form come to, by doctor or method."""
    shown = None
    for name, one in found.items():
        columns, rows = _rows(one)
        if shown is None:
            shown = table(None, ("people say", *columns))
        for row in rows:
            shown.add_row(plain(name), *row)
    if shown is None:
        return
    screen.print(shown)
    pairs = [c.n for one in found.values() if isinstance(one, PairsByPeople) for c in one.criteria.values()]
    if told := few_comparisons(pairs):
        screen.print(told, style="yellow")
    if any(isinstance(one, RoundsByPeople) for one in found.values()):
        screen.print('"not asked": accuracy as the paper prints it, where question 3 is "No".', style="dim")
    screen.print()


def _rows(found: PeopleFigures) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Returns the columns of one doctor's figures, or one method's, and its rows."""
    match found:
        case RoundsByPeople():
            columns = ("#QA", "relevant", "consistent", "#Test", "asked, examined", "not asked, not examined")
            shares = (_percent(found.relevance), _percent(found.consistency), str(found.tests))
            return columns, [(str(found.qa), *shares, _percent(found.arrived), _percent(found.as_printed))]
        case RecordsByPeople():
            parts = [_percent(part) for part in found.parts.values()]
            return ("all right", *found.parts, "n"), [(_percent(found.right), *parts, str(found.right.n))]
        case PairsByPeople():
            rows = [
                (criterion, plain(doctor), number(rate.percent, ".0f", " %"), strength, str(rate.ties), str(one.n))
                for criterion, one in found.criteria.items()
                for doctor, rate in one.win_rates.items()
                for strength in [number(one.strengths[doctor].strength, "+.2f")]
            ]
            return ("criterion", "doctor", "wins of decided", "strength", "ties", "n"), [*rows]
        case CountsByPeople():
            return (*found.counts, "n"), [(*map(str, found.counts.values()), str(found.n))]
        case MeansByPeople():
            n = max((one.n for one in found.means.values()), default=0)
            return (*found.means, "n"), [(*(mean_and_error(one, ".3f") for one in found.means.values()), str(n))]


def _percent(one: Percent) -> str:
    if one.percent is None:
        return NOTHING
    parts = {"": one.percent, "low": one.low, "high": one.high}
    return ShownFigure(f"{one.percent:.1f} % ({one.low:.0f}-{one.high:.0f})", parts)
