"""How a simulated patient did on labelled questions, as tables and as a document."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from polyclinic.benchmarks.benchmark import Output
from polyclinic.benchmarks.patient_simulator.evaluation import EFFECT, LabelledReply, SimulatorResult
from polyclinic.benchmarks.patient_simulator.figures import figure_3a
from polyclinic.benchmarks.patient_simulator.items import LABELLED_MEASURES, case_asked, labelled_rows
from polyclinic.statistics.agreement import Agreement
from polyclinic.terminal.figures import low_to_high, number
from polyclinic.terminal.tables import mean_and_error, table


def simulator_output(result: SimulatorResult, *, patient: str, seed: int) -> Output:
    """Returns what a user gets of the evaluation of a patient's mind."""
    everything, effect = result.all_states, result.effect
    document = {
        "patient": patient,
        "questions": len(result.rows),
        "failed": everything.failed,
        "states": everything.states,
        "constant": everything.constant,
        "effect": {"keys": EFFECT, "states": effect.states, "constant": effect.constant},
        "metrics": result.told.metrics,
        "human": result.people.metrics,
        "recorded": result.recorded.metrics,
        "like_people": result.like_people,
        "second": result.told.second,
        "by_turn": {str(turn): metrics for turn, metrics in result.told.by_turn.items()},
        "rows": [_row(row) for row in result.rows],
    }
    return Output(
        document=document,
        show=lambda screen: _show(screen, result, patient),
        files={"figure-3a.svg": [figure_3a(result, patient=patient)]},
        written="Figure and summary: {}",
        rows=[*labelled_rows(result.rows, patient, seed=seed)],
        measures=LABELLED_MEASURES,
        asked_for=lambda call: (patient, "", case_asked(call.item)),
    )


def _row(row: LabelledReply) -> dict[str, Any]:
    return {
        "case": row.case,
        "key": row.question.key,
        "label": row.question.state,
        "state": row.state,
        "reply": row.reply,
        "error": row.error,
    }


def _show(screen: Console, result: SimulatorResult, patient: str) -> None:
    """Prints agreement, confusion, and the six metrics beside those of people."""
    columns = ("questions", "n", "agree", "95 % interval", "kappa", "a guess")
    shown = table("states that agree with people's labels", columns)
    which = {"all": result.all_states, f"meant as {' or '.join(key + '*' for key in EFFECT)}": result.effect}
    for name, one in which.items():
        a = one.states
        figures = (number(a.percent, ".1f", " %"), low_to_high(a.low, a.high, ".1f"), number(a.kappa, ".3f"))
        shown.add_row(name, str(a.n), *figures, number(one.constant, ".1f", " %"))
    screen.print(shown)
    screen.print("a guess: knows the kind of turn, and takes every specific one for ineffective", style="dim")
    screen.print(f"{result.all_states.failed} questions failed, outside all figures\n")
    _show_confusion(screen, result.all_states.states)
    both = (result.told, result.people, result.recorded)
    like = {name: number(one.coefficient, "+.2f") for name, one in result.like_people.items()}
    rows = (
        (name, *(mean_and_error(summary.metrics[name]) for summary in both), str(estimate.n), like.get(name, ""))
        for name, estimate in result.told.metrics.items()
    )
    columns = ("metric", patient, "people", "the set's own", "n", "goes with people's")
    screen.print(table("\nwhat it tells, mean ± se", columns, rows))
    screen.print("goes with people's: Spearman's coefficient over the questions to which both replied", style="dim")


def _show_confusion(screen: Console, states: Agreement) -> None:
    used = [i for i, row in enumerate(states.confusion) if any(row) or any(r[i] for r in states.confusion)]
    labels = [str(states.labels[i]) for i in used]
    rows = ((label, *(str(states.confusion[i][j] or "·") for j in used)) for label, i in zip(labels, used, strict=True))
    screen.print(table("label by row, patient's state by column", ("", *labels), rows))
