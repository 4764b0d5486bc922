"""What people say, in the terminal: how far they agree, and what their verdicts come to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
from msgspec.structs import replace as replace_fields
from rich.console import Console

from polyclinic.judging.pairs import CRITERIA, Judgements, View
from polyclinic.judging.people import (
    PeopleFigures,
    QuestionAgreement,
    agreed,
    comparisons,
    criteria_by_people,
    figures,
    marks_by_item,
)
from polyclinic.judging.verdicts import PersonsVerdict, forms
from polyclinic.results.folder import ItemMeasure, ItemRow
from polyclinic.run.output import Output
from polyclinic.statistics.agreement import Agreement, agreement
from polyclinic.statistics.pairwise import Comparison, Standings
from polyclinic.terminal.figures import NOTHING, ShownFigure, number, with_ends
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import Column, cell, crossed, few_comparisons, table, table_of


def with_people(output: Output, said: Sequence[PersonsVerdict], *, seed: int, form: str = "") -> Output:
    """Returns the output with how far people agree, and with their marks in its rows.

    Of a `form` that has no place in the evaluation's own tables, the figures come with it.
    """
    between = {one: agreed(said, one, seed=seed) for one in dict.fromkeys([form] if form else [v.form for v in said])}
    found = figures(said, form, seed=seed) if form else {}
    document = {"people": {"agreement": between[form], "figures": found}} if form else {"people_agreement": between}
    marks = marks_by_item(said)

    def show(screen: Console) -> None:
        screen.print()
        for name, agreed_on in between.items():
            show_agreement(screen, name, agreed_on)
        show_figures(screen, found)

    def marked(row: ItemRow) -> ItemRow:
        """Returns a row with people's marks of the same: by its doctor, or by the file of its method's outcomes."""
        file = row.at.partition(".jsonl")[0]
        given = marks.get((row.item, row.model)) or marks.get((row.item, file)) or {}
        return replace_fields(row, values=row.values | {f"{name} (people)": mark for name, mark in given.items()})

    asked = dict.fromkeys(question for one in marks.values() for question in one)
    return replace(
        output.beside(document, show),
        rows=list(map(marked, output.rows)),
        measures=[*output.measures, *(ItemMeasure(name=f"{question} (people)", percent=False) for question in asked)],
    )


def show_agreement(screen: Console, form: str, found: Sequence[QuestionAgreement]) -> None:
    """Prints how far people agree, question by question."""
    people = ", ".join(dict.fromkeys(who for one in found for who in one.people))
    columns: dict[str, Column] = {
        "question": "question",
        "items": "items",
        "of several": "shared",
        "alike": ("alike", ".1f %"),
        "κ of two": ("kappa", ".3f"),
        "n": lambda one: one.two and one.two.n,
        "Fleiss' κ": ("fleiss", ".3f"),
        "α [95 %]": lambda one: with_ends(one.alpha.alpha, one.alpha.low, one.alpha.high, ".3f"),
        "undecided": "undecided",
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
    rows = [{"people say": name, **row} for name, one in found.items() for row in _rows(one)]
    if not rows:
        return
    screen.print(table(None, list(rows[0]), (row.values() for row in rows)))
    pairs = [c.n for one in found.values() for c in one.criteria.values()]
    if told := few_comparisons(pairs):
        screen.print(told, style="yellow")
    if any("not asked, not examined" in one.shares for one in found.values()):
        screen.print('"not asked": accuracy as the paper prints it, where question 3 is "No".', style="dim")
    screen.print()


def _rows(found: PeopleFigures) -> list[dict[str, object]]:
    """Returns the figures of one doctor, or one method, by heading."""
    if not found.criteria:
        means = {question: cell(one, ".3f") for question, one in found.means.items()}
        shares = {f"{name} %": with_ends(one.percent, one.low, one.high, ".1f") for name, one in found.shares.items()}
        return [{"n": found.n, **found.counts, **shares, **means}]
    return [
        {
            "criterion": criterion,
            "doctor": doctor,
            "wins of decided": cell(rate.percent, ".0f %"),
            "strength": cell(one.strengths[doctor].strength, "+.2f"),
            "ties": rate.ties,
            "n": one.n,
        }
        for criterion, one in found.criteria.items()
        for doctor, rate in one.win_rates.items()
    ]


class ViewByPeople(msgspec.Struct, frozen=True, kw_only=True):
    """What people say from one view, by criterion.

    Attributes:
        with_judge: how far the judge says the same of the pairs that both judged, ties included; empty without one.
    """

    criteria: dict[str, Standings]
    with_judge: dict[str, Agreement]


def views_by_people(
    verdicts: Sequence[PersonsVerdict], judgements: Judgements | None = None, *, seed: int = 0
) -> dict[View, ViewByPeople]:
    """Returns what people say from each view from which anybody spoke."""
    found: dict[View, ViewByPeople] = {}
    for view in CRITERIA:
        said = criteria_by_people(verdicts, f"pairs {view}", seed=seed)
        if said:
            alike = {} if judgements is None else {one: _with_judge(verdicts, judgements, view, one) for one in said}
            found[view] = ViewByPeople(criteria=said, with_judge=alike)
    return found


def _with_judge(verdicts: Sequence[PersonsVerdict], judgements: Judgements, view: View, criterion: str) -> Agreement:
    """Returns how far judge and people agree on who wins; of several visits to a case the judge's first counts."""
    judged: dict[tuple[str, frozenset[str]], Comparison] = {}
    for one in judgements.comparisons(view, criterion):
        judged.setdefault((one.case, frozenset((one.first, one.second))), one)
    pairs = [
        (_side(one, one.winner), _side(one, judged[key].winner))
        for one in comparisons(verdicts, f"pairs {view}", criterion)
        if (key := (one.case, frozenset((one.first, one.second)))) in judged
    ]
    return agreement([people for people, _ in pairs], [judge for _, judge in pairs], labels=("first", "second", "tie"))


def _side(pair: Comparison, winner: str | None) -> str:
    return "tie" if winner is None else "first" if winner == pair.first else "second"


def show_judgements(screen: Console, judgements: Judgements | None, people: Mapping[View, ViewByPeople]) -> None:
    """Prints win rates and strengths by view and criterion, people's below the judge's, and how far these agree.

    Of the judge also how far the order alone decided.
    """
    for view, criteria in CRITERIA.items():
        judged = {} if judgements is None else judgements.views[view]
        said = people[view].criteria if view in people else {}
        sources: dict[str, Mapping[str, Standings]] = {"people": said} if said else {}
        if judgements is not None and judged:
            sources = {judgements.judge: judged, **sources}
        if not sources:
            continue
        every = [one for of_one in sources.values() for one in of_one.values()]
        rows: dict[str, dict[str, object]] = {}
        for doctor in dict.fromkeys(name for one in every for name in one.win_rates):
            for place, (name, of_one) in enumerate(sources.items()):
                rows[f"{doctor}, {name}" if place else doctor] = {
                    one: _won(of_one.get(one), doctor) for one in criteria
                }
        counts: dict[str, tuple[Mapping[str, Any], Callable[[Any], object]]] = {
            "comparisons": (judged, lambda one: one.n),
            "ties": (judged, lambda one: one.ties),
            "orders disagree": (judged, lambda one: one.disagreements),
            "the first shown wins": (judged, lambda one: number(one.first_wins, ".0f", " %")),
            "people's comparisons": (said, lambda one: one.n),
            "people's ties": (said, lambda one: one.ties),
            "judge and people alike": (people[view].with_judge if said else {}, _alike),
        }
        for name, (of_some, count) in counts.items():
            if of_some:
                rows[name] = {one: count(of_some[one]) for one in criteria if one in of_some}
        title = f"judged by {' and by '.join(sources)} as a {view}: win rate without ties, strength [95 %]"
        screen.print(crossed(title, rows, corner="doctor", missing=NOTHING))
        if few := few_comparisons(one.n for one in every):
            screen.print(few, style="yellow")
        screen.print()
    if judgements is None:
        return
    failures = [f"{n} {name}" for name, n in {**judgements.unreadable, **judgements.failed}.items()]
    lost = f"; answers that failed: {', '.join(failures)}" if failures else ""
    screen.print(
        f"prompts {judgements.prompts}; {judgements.incomplete} comparisons lack an order and count for nobody; "
        f"{judgements.without} had no dialogue to show{lost}\n"
    )


def _alike(one: Agreement) -> str | None:
    if one.percent is None:
        return None
    parts = {"": one.percent, "n": one.n, "κ": one.kappa}
    return ShownFigure(f"{one.percent:.0f} % of {one.n}, κ {number(one.kappa)}", parts)


def _won(judged: Standings | None, doctor: str) -> str:
    if judged is None or doctor not in judged.win_rates:
        return NOTHING
    rate, strength = judged.win_rates[doctor].percent, judged.strengths[doctor]
    span = f"[{strength.low:+.2f}, {strength.high:+.2f}]"
    parts = {"": rate, "strength": strength.strength, "strength low": strength.low, "strength high": strength.high}
    return ShownFigure(f"{number(rate, '.0f', ' %')}, {strength.strength:+.2f} {span}", parts)
