"""How a simulated patient did on labelled questions, as tables and as a document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from polyclinic.terminal.tables import mean_and_error

if TYPE_CHECKING:
    from rich.console import Console

    from polyclinic.benchmarks.patient_simulator.evaluation import Row
    from polyclinic.metrics.patient_replies import PatientSummary
    from polyclinic.statistics.agreement import Agreement


def people(rows: Sequence[Row], seed: int) -> PatientSummary:
    """Returns the scores of what people replied to the same questions."""
    import msgspec

    from polyclinic.benchmarks.patient_simulator.evaluation import replies
    from polyclinic.metrics.patient_replies import summarise_replies

    answered = [
        msgspec.structs.replace(row, reply=row.question.replied, state=row.question.state)
        for row in rows
        if row.question.replied
    ]
    return summarise_replies(replies(answered), seed=seed)


def simulator_document(rows: Sequence[Row], patient: str, seed: int) -> dict[str, Any]:
    """Returns what `--json` prints."""
    from polyclinic.benchmarks.patient_simulator.evaluation import EFFECT, compare, replies
    from polyclinic.metrics.patient_replies import summarise_replies

    everything, effect = compare(rows), compare(rows, EFFECT)
    mine, human = summarise_replies(replies(rows), seed=seed), people(rows, seed)
    return {
        "patient": patient,
        "questions": len(rows),
        "failed": everything.failed,
        "states": everything.states,
        "constant": everything.constant,
        "effect": {"keys": EFFECT, "states": effect.states, "constant": effect.constant},
        "metrics": mine.metrics,
        "human": human.metrics,
        "recorded": summarise_replies(replies(rows, recorded=True), seed=seed).metrics,
        "second": mine.second,
        "by_turn": {str(turn): metrics for turn, metrics in mine.by_turn.items()},
        "rows": [
            {
                "case": row.case,
                "key": row.question.key,
                "label": row.question.state,
                "state": row.state,
                "reply": row.reply,
                "error": row.error,
            }
            for row in rows
        ],
    }


def show_simulator(screen: Console, rows: Sequence[Row], patient: str, seed: int) -> None:
    """Prints agreement, confusion, and the six metrics beside those of people."""
    from rich.table import Table
    from rich.text import Text

    from polyclinic.benchmarks.patient_simulator.evaluation import EFFECT, compare, replies
    from polyclinic.metrics.patient_replies import summarise_replies
    from polyclinic.terminal.screen import plain

    everything, effect = compare(rows), compare(rows, EFFECT)
    table = Table(show_edge=False, pad_edge=False, title="states that agree with people's labels")
    table.title_justify = "left"
    for name in ("questions", "n", "agree", "95 % interval", "kappa", "a constant guess"):
        table.add_column(name, justify="left" if name == "questions" else "right")
    for name, one in (("all", everything), (f"meant as {' or '.join(k + '*' for k in EFFECT)}", effect)):
        a = one.states
        kappa = "–" if a.kappa is None else f"{a.kappa:.3f}"
        table.add_row(name, str(a.n), _percent(a.percent), f"{a.low:.1f}-{a.high:.1f}", kappa, _percent(one.constant))
    screen.print(table)
    screen.print(f"{everything.failed} questions failed, outside all figures\n")
    _show_confusion(screen, everything.states)
    mine, human = summarise_replies(replies(rows), seed=seed), people(rows, seed)
    recorded = summarise_replies(replies(rows, recorded=True), seed=seed)
    metrics = Table(show_edge=False, pad_edge=False, title="\nwhat it tells, mean ± se", title_justify="left")
    metrics.add_column("metric")
    metrics.add_column(Text(plain(patient)), justify="right")
    metrics.add_column("people", justify="right")
    metrics.add_column("the set's own", justify="right")
    metrics.add_column("n", justify="right")
    for name, estimate in mine.metrics.items():
        metrics.add_row(
            name,
            mean_and_error(estimate),
            mean_and_error(human.metrics[name]),
            mean_and_error(recorded.metrics[name]),
            str(estimate.n),
        )
    screen.print(metrics)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f} %"


def _show_confusion(screen: Console, states: Agreement) -> None:
    from rich.table import Table

    used = [i for i, row in enumerate(states.confusion) if any(row) or any(r[i] for r in states.confusion)]
    table = Table(show_edge=False, pad_edge=False, title="label by row, patient's state by column")
    table.title_justify = "left"
    table.add_column("")
    for i in used:
        table.add_column(str(states.labels[i]), justify="right")
    for i in used:
        table.add_row(str(states.labels[i]), *(str(states.confusion[i][j] or "·") for j in used))
    screen.print(table)
