"""The results of AIE as tables, as a document, as rows and as files."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from polyclinic.evaluations import measuring
from polyclinic.evaluations.aie.correlation import Correlations, Matrix
from polyclinic.evaluations.aie.distractors import WRONG_OPTIONS, MadeOptions
from polyclinic.evaluations.aie.evaluation import AieResult, DoctorResult, Means
from polyclinic.evaluations.aie.people import ViewByPeople
from polyclinic.events import End
from polyclinic.judging.pairs import CRITERIA, CriterionResult, Judgements, View
from polyclinic.metrics.conversation import MCQE, MetricDifference
from polyclinic.metrics.dialogue import LeftOut
from polyclinic.results.folder import ItemMeasure, ItemRow
from polyclinic.run.output import Output, first_failure, output_of_visits
from polyclinic.statistics.agreement import Agreement
from polyclinic.statistics.pairwise import Standings
from polyclinic.terminal.figures import NOTHING, ShownFigure, number
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import (
    counted,
    few_comparisons,
    mean_and_error,
    show_problems,
    table,
)
from polyclinic.visits.visit import Visit

_NUMBERS = ("AVG_TURN", "AVG_LEN")
_SHARES = ("DIAGNOSIS", MCQE)  # of dialogues; the others are means of what each dialogue has
_TURNS_SHOWN = 4  # doctors whose turns are shown; all are in --json
_SOURCES_SHOWN = 12  # generated cases have a source each, and a table of them says nothing


def aie_output(
    result: AieResult, *, protocol: str, cases: str, patient: str, seed: int, made: MadeOptions | None = None
) -> Output:
    """Returns the output of an evaluation that followed this protocol, with this patient.

    `made` is what came of making options by a model; None if none did.
    """

    def show(screen: Console) -> None:
        show_evaluation(screen, result)
        if made is not None:
            alone = (
                f"; from the options alone it took the right one in {made.alone} of {made.asked}" if made.asked else ""
            )
            screen.print(
                f"options made by a model for {counted(made.made, 'case')}: {counted(made.dropped, 'name')} could not "
                f"be used, {counted(made.filled, 'option')} filled in from the knowledge{alone} (by chance one in "
                f"{WRONG_OPTIONS + 1})"
            )
        screen.print(f"protocol: {protocol}; patient: {patient}; seed: {seed}")

    doctors = {one.name: one for one in result.doctors}
    visits = {name: one.visits for name, one in doctors.items()}
    failed = [visit for theirs in visits.values() for visit in theirs if visit.end is End.FAILED]
    scores = {(name, str(score.id)): score for name, one in doctors.items() for score in one.summary.scores}
    metrics = result.doctors[0].summary.metrics

    def row(name: str, visit: Visit) -> ItemRow:
        """Returns the metrics of a case, and MCQE; a visit that failed has none."""
        score, chosen = scores.get((name, visit.case)), doctors[name].chosen
        values = {} if score is None else {metric: v for metric, v in score.values.items() if metric in metrics}
        # The paper's mean length is that of all turns.
        weights = {"AVG_LEN": float(len(score.lengths))} if score is not None and "AVG_LEN" in values else {}
        if visit.case in chosen:
            values[MCQE] = 100.0 * chosen[visit.case]
        return ItemRow(item=visit.case, values=values, weights=weights, model=name, seed=seed, end=str(visit.end))

    # `written` is a format, and the name of a file is no part of it.
    named = shlex.quote(cases).replace("{", "{{").replace("}", "}}")
    return output_of_visits(
        visits,
        row,
        document={
            "protocol": protocol,
            "patient": patient,
            "doctors": [_document(one) for one in result.doctors],
            "options_made": made
            and {name: value for name, value in msgspec.structs.asdict(made).items() if name != "cases"},
            "comparisons": result.comparisons,
            "judgements": result.judgements,
            **({"people": result.people} if result.people else {}),
            "correlations": result.correlations,
        },
        show=show,
        written=f"Traces and summary: {{0}}. Score them again with: polyclinic score aie {{0}} --cases {named}",
        failed=len(failed),
        failures=first_failure(failed),
        measures=[
            ItemMeasure(name=name, percent=name not in _NUMBERS, share=name in _SHARES) for name in (*metrics, MCQE)
        ],
    )


def _document(one: DoctorResult) -> dict[str, Any]:
    fields = ("name", "mcqe", "mcqe_failed", "by_length", "truncated", "by_turn", "by_source")
    return {
        **{name: getattr(one, name) for name in fields},
        **{name: getattr(one.summary, name) for name in ("metrics", "second", "unreadable", "failed", "left_out")},
        "passages": {"recalled": one.recalled, "near": one.near},
        "cases": [{"id": score.id, **score.values} for score in one.summary.scores],
    }


_COUNTS: dict[str, Callable[[DoctorResult], int]] = {
    "dialogues": lambda one: len(one.summary.scores),
    "failed, outside the means": lambda one: one.summary.failed,
    "no usable choice, counted as wrong": lambda one: one.summary.unreadable,
    "MCQE failed, outside its mean": lambda one: one.mcqe_failed,
}

_TRACKED: dict[str, Callable[[DoctorResult], int]] = {
    "passages that the patient's tracker gave": lambda one: one.recalled,
    "in other words, matched to the nearest": lambda one: one.near,
}


def show_evaluation(screen: Console, result: AieResult) -> None:
    """Prints the metrics side by side, the means by length, turn and source, and the comparisons."""
    doctors = result.doctors
    shown = table("AIE, mean ± se", ("metric", *(one.name for one in doctors)))
    for metric in doctors[0].summary.metrics:
        shown.add_row(plain(metric), *(mean_and_error(one.summary.metrics[metric]) for one in doctors))
    shown.add_section()
    shown.add_row(MCQE, *(mean_and_error(one.mcqe) for one in doctors))
    for name, count in (_COUNTS | (_TRACKED if any(one.recalled for one in doctors) else {})).items():
        shown.add_row(name, *(str(count(one)) for one in doctors), style="dim")
    screen.print(shown, "")
    for one in doctors:
        show_left_out(screen, one.summary.left_out)
    lengths = sorted({n for one in doctors for n in one.truncated})
    by_length = {str(n): [one.truncated.get(n) for one in doctors] for n in lengths}
    title = "if the dialogue had ended with this turn: DIAGNOSIS, if it was asked for, and COVERAGE"
    _show_means(screen, title, doctors, by_length)
    for one in doctors[:_TURNS_SHOWN]:
        states = sorted({state for shares in one.by_turn.values() for state in shares})
        cells = ([number(shares[s], ".0f") if s in shares else "·" for s in states] for shares in one.by_turn.values())
        rows = ((str(turn), *shares) for turn, shares in zip(one.by_turn, cells, strict=True))
        title = f"{one.name}: what its turns were to the patient, in percent"
        screen.print(Text(plain(title), style="italic"))
        screen.print(table(None, ("turn", *states), rows, left=0, called=plain(title)), "")
    sources = list(dict.fromkeys(source for one in doctors for source in one.by_source))
    if 1 < len(sources) <= _SOURCES_SHOWN:
        by_source = {source: [one.by_source.get(source) for one in doctors] for source in sources}
        _show_means(screen, f"DIAGNOSIS and {MCQE} by source", doctors, by_source)
    if len(doctors) > 1:
        show_compared(screen, result.comparisons)
    show_judgements(screen, result.judgements, result.people)
    if result.correlations is not None:
        show_correlations(screen, result.correlations)


def _show_means(
    screen: Console, title: str, doctors: Sequence[DoctorResult], rows: Mapping[str, Sequence[Means | None]]
) -> None:
    """Prints two means in a cell, by doctor."""

    def cell(means: Means | None) -> str:
        if means is None:
            return ""
        text = "; ".join(mean_and_error(one) for one in means.values() if one.n)
        n = [one.n for one in means.values()][-1]
        parts: dict[str, float | None] = {}
        for name, one in means.items():
            parts |= {name: one.mean, f"{name} stderr": one.stderr}
        return ShownFigure(f"{text} (n = {n})", {**parts, "n": n})

    screen.print(title, style="italic")
    named = ((plain(name), *map(cell, means)) for name, means in rows.items())
    screen.print(table(None, ("", *(one.name for one in doctors)), named, called=title), "")


def show_left_out(screen: Console, left_out: Sequence[LeftOut]) -> None:
    """Prints what is not scored, and why."""
    where = ((one, f"no {', '.join(one.metrics)}" if one.metrics else "left out") for one in left_out)
    show_problems(screen, ((f"{lacks}: {one.problem}", str(one.id)) for one, lacks in where))


def show_compared(screen: Console, compared: Sequence[MetricDifference]) -> None:
    """Prints the paired differences of every two doctors."""
    if not compared:
        screen.print("No case is in two of the files: nothing can be compared in pairs.")
        return
    test = "sign-flip test, for DIAGNOSIS McNemar's exact test"
    columns = {"": "first", "less": "second", "metric": "measure"}
    measuring.show_compared(screen, "On the cases of both", compared, columns, test=test)
    screen.print()


def show_judgements(screen: Console, judgements: Judgements | None, people: Mapping[View, ViewByPeople]) -> None:
    """Prints win rates and strengths by view and criterion, people's below the judge's, and how far these agree.

    Of the judge also how far the order alone decided.
    """
    for view in CRITERIA:
        judged = {} if judgements is None else judgements.views[view]
        said = people.get(view)
        if judged or said is not None:
            _show_view(screen, view, "" if judgements is None else judgements.judge, judged, said)
    if judgements is None:
        return
    failures = [f"{n} {name}" for name, n in {**judgements.unreadable, **judgements.failed}.items()]
    lost = f"; answers that failed: {', '.join(failures)}" if failures else ""
    screen.print(
        f"prompts {judgements.prompts}; {judgements.incomplete} comparisons lack an order and count for nobody; "
        f"{judgements.without} had no dialogue to show{lost}\n"
    )


def _show_view(
    screen: Console, view: View, judge: str, judged: Mapping[str, CriterionResult], people: ViewByPeople | None
) -> None:
    criteria, said = CRITERIA[view], {} if people is None else people.criteria
    sources = [(name, of_one) for name, of_one in ((judge, judged), ("people", said)) if of_one]
    by = " and by ".join(name for name, _ in sources)
    shown = table(f"judged by {by} as a {view}: win rate without ties, strength [95 %]", ("doctor", *criteria))
    every: list[Standings] = [*judged.values(), *said.values()]
    for doctor in dict.fromkeys(name for one in every for name in one.win_rates):
        for place, (name, of_one) in enumerate(sources):
            cells = (_won(of_one[one], doctor) if one in of_one else NOTHING for one in criteria)
            shown.add_row(Text(f"  {name}" if place else plain(doctor)), *cells)
    shown.add_section()
    counts: dict[str, tuple[Mapping[str, Any], Callable[[Any], str]]] = {
        "comparisons": (judged, lambda one: str(one.n)),
        "ties": (judged, lambda one: str(one.ties)),
        "orders disagree": (judged, lambda one: str(one.disagreements)),
        "the first shown wins": (judged, lambda one: number(one.first_wins, ".0f", " %")),
        "people's comparisons": (
            said,
            lambda one: ShownFigure(f"{one.n}, {one.ties} ties", {"": one.n, "ties": one.ties}),
        ),
        "judge and people alike": ({} if people is None else people.with_judge, _alike),
    }
    for name, (of_one, cell) in counts.items():
        if of_one:
            shown.add_row(name, *(cell(of_one[one]) if one in of_one else NOTHING for one in criteria), style="dim")
    screen.print(shown)
    if few := few_comparisons(one.n for one in every):
        screen.print(few, style="yellow")
    screen.print()


def _alike(one: Agreement) -> str:
    if one.percent is None:
        return NOTHING
    parts = {"": one.percent, "n": one.n, "κ": one.kappa}
    return ShownFigure(f"{one.percent:.0f} % of {one.n}, κ {number(one.kappa)}", parts)


def _won(judged: Standings, doctor: str) -> str:
    if doctor not in judged.win_rates:
        return NOTHING
    rate, strength = judged.win_rates[doctor].percent, judged.strengths[doctor]
    span = f"[{strength.low:+.2f}, {strength.high:+.2f}]"
    parts = {"": rate, "strength": strength.strength, "strength low": strength.low, "strength high": strength.high}
    return ShownFigure(f"{number(rate, '.0f', ' %')}, {strength.strength:+.2f} {span}", parts)


def show_correlations(screen: Console, correlations: Correlations) -> None:
    """Prints Spearman's coefficients over all pairs of doctors, in and between groups, and in the study with people."""
    if correlations.study is not None:
        study = correlations.study
        _show_matrix(screen, f"the study of {len(study.indicators)} indicators", study)
        rows = sorted(study.with_people.items(), key=lambda one: -math.inf if one[1] is None else -one[1])
        told = ((name, _coefficient(value)) for name, value in rows)
        screen.print(table("mean coefficient with people's indicators, x 100", ("indicator", "people"), told), "")
    for name, matrix in {"all pairs": correlations.pairs, **correlations.groups}.items():
        _show_matrix(screen, f"Spearman's coefficients x 100, {name}", matrix)


def _show_matrix(screen: Console, title: str, matrix: Matrix) -> None:
    if all(value is None for row in matrix.matrix for value in row):
        screen.print(plain(f"{title}: {matrix.note}"), "", style="dim")
        return
    shown = Table(box=None, padding=(0, 1, 0, 0), title=Text(plain(title)), title_justify="left")
    shown.add_column("", no_wrap=True)
    for place in range(1, len(matrix.indicators) + 1):
        shown.add_column(str(place), justify="right", no_wrap=True)
    for place, (name, row) in enumerate(zip(matrix.indicators, matrix.matrix, strict=True), start=1):
        shown.add_row(plain(f"{place} {name}"), *map(_coefficient, row))
    screen.print(shown)
    if matrix.note:
        screen.print(plain(matrix.note), style="dim")
    screen.print()


def _coefficient(value: float | None) -> str:
    return "·" if value is None else number(100 * value, "+.0f")
