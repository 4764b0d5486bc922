"""How well a doctor led a consultation: the ten automatic metrics of AIE (aie-saps §4.4.2).

The definitions are those that give the published tables; where the paper's formulas say something else, they are the
second column. docs/metrics.md writes them out.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

import msgspec

from polyclinic.events import State
from polyclinic.language.language import length
from polyclinic.language.words import distinct_2, likeness, rouge_1
from polyclinic.metrics.dialogue import Dialogue, LeftOut
from polyclinic.statistics.uncertainty import Estimate, estimate, ratio, share_estimate, standard_error

METRICS = tuple(
    "DIAGNOSIS COVERAGE INQUIRY_ACC INQUIRY_SPECIFIC INQUIRY_LOGIC "
    "ADVICE_ACC ADVICE_SPECIFIC DISTINCT AVG_TURN AVG_LEN".split()
)
"""The ten, in the order of the published tables; percent, but turns and length as they are."""

SECOND = tuple(
    "COVERAGE_WITHOUT_O INQUIRY_ACC_POOLED INQUIRY_SPECIFIC_POOLED ADVICE_ACC_POOLED ADVICE_SPECIFIC_POOLED".split()
)
"""As formulas 14, 16, 17, 19 and 20 have it: COVERAGE without the opening, and shares of all turns of all cases."""

_INQUIRY = (State.EFFECTIVE_INQUIRY, State.INEFFECTIVE_INQUIRY, State.AMBIGUOUS_INQUIRY)
_ADVICE = (State.EFFECTIVE_ADVICE, State.INEFFECTIVE_ADVICE, State.AMBIGUOUS_ADVICE)
_EFFECTIVE = frozenset({State.EFFECTIVE_INQUIRY, State.EFFECTIVE_ADVICE})
_SHARES = {
    "INQUIRY_ACC": (_INQUIRY[:1], _INQUIRY),
    "INQUIRY_SPECIFIC": (_INQUIRY[:2], _INQUIRY),
    "ADVICE_ACC": (_ADVICE[:1], _ADVICE),
    "ADVICE_SPECIFIC": (_ADVICE[:2], _ADVICE),
}
_NEED_INFORMATION = ("COVERAGE", "INQUIRY_LOGIC", "COVERAGE_WITHOUT_O")


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """One dialogue's values.

    Attributes:
        values: by metric; a metric that cannot be computed is missing.
        counts: for each share, how many turns count and of how many.
        lengths: of the doctor's turns, in characters or words.
        unreadable: the diagnosis is not among the options; it counts as wrong.
    """

    id: str | int
    values: dict[str, float]
    counts: dict[str, tuple[int, int]]
    lengths: tuple[int, ...]
    left_out: tuple[LeftOut, ...] = ()
    unreadable: bool = False


class ConversationSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A doctor's scores over many dialogues.

    Attributes:
        second: the metrics as the paper's formulas have them.
        unreadable: dialogues whose diagnosis could not be read; counted as wrong.
        failed: visits that failed; outside every mean.
    """

    metrics: dict[str, Estimate]
    second: dict[str, Estimate]
    scores: tuple[Score, ...]
    left_out: tuple[LeftOut, ...]
    unreadable: int
    failed: int


def score(dialogue: Dialogue) -> Score:
    """Scores one dialogue.

    Raises:
        MissingExtra: what cuts its language into words is not installed.
    """
    values: dict[str, float] = {}
    left_out = []
    counts = {}
    states = [turn.state for turn in dialogue.turns]
    unreadable = False
    if not dialogue.options:
        left_out.append(LeftOut(dialogue.id, "the case has no options to choose a diagnosis from", ("DIAGNOSIS",)))
    elif not set(dialogue.answers) & dialogue.options.keys():
        given = ", ".join(dialogue.answers) or "none"
        left_out.append(LeftOut(dialogue.id, f"the right answer ({given}) is not among the options", ("DIAGNOSIS",)))
    else:
        unreadable = dialogue.chosen not in dialogue.options
        values["DIAGNOSIS"] = 100.0 * (dialogue.chosen in dialogue.answers)
    if dialogue.information is None:
        problem = "all that is known of the patient is not at hand (a trace needs its cases)"
        left_out.append(LeftOut(dialogue.id, problem, _NEED_INFORMATION[:2]))
    else:
        values |= _coverage(dialogue, dialogue.information)
    for name, (good, all_of_kind) in _SHARES.items():
        counts[name] = sum(s in good for s in states), sum(s in all_of_kind for s in states)
        values[name] = 100 * counts[name][0] / counts[name][1] if counts[name][1] else 0.0
    # A turn's two texts are joined without a blank, as the published values have it.
    values["DISTINCT"] = 100 * distinct_2([t.doctor + t.patient for t in dialogue.turns], dialogue.language)
    values["AVG_TURN"] = float(len(dialogue.turns))
    opened_by_patient = not dialogue.turns[0].doctor and dialogue.turns[0].state is State.OPENING
    lengths = tuple(length(turn.doctor) for turn in dialogue.turns[opened_by_patient:])
    values["AVG_LEN"] = sum(lengths) / len(lengths) if lengths else 0.0
    return Score(
        id=dialogue.id,
        values={name: values[name] for name in (*METRICS, *SECOND) if name in values},
        counts=counts,
        lengths=lengths,
        left_out=tuple(left_out),
        unreadable=unreadable,
    )


def unusable(id: str | int, problem: str, names: Sequence[str] = METRICS) -> Score:
    """Returns the score of a doctor whose answer could not be used: a diagnosis that is wrong, and nothing else.

    A model must not gain by being unreadable, so its case stays in the mean of DIAGNOSIS.
    """
    others = tuple(name for name in names if name != "DIAGNOSIS")
    return Score(
        id=id,
        values={"DIAGNOSIS": 0.0},
        counts=dict.fromkeys(_SHARES, (0, 0)),
        lengths=(),
        left_out=(LeftOut(id, problem, others),),
        unreadable=True,
    )


def covered(dialogue: Dialogue) -> float | None:
    """Returns COVERAGE alone; None where all that is known of the patient is not at hand.

    Raises:
        MissingExtra: what cuts its language into words is not installed.
    """
    if dialogue.information is None:
        return None
    return 100 * rouge_1(_collected(dialogue, {State.OPENING}), dialogue.information, dialogue.language).recall


def _collected(dialogue: Dialogue, also: Set[State] = frozenset()) -> str:
    return "".join(turn.patient for turn in dialogue.turns if turn.state in _EFFECTIVE | also)


def _coverage(dialogue: Dialogue, information: str) -> dict[str, float]:
    effective, collected = _collected(dialogue), _collected(dialogue, {State.OPENING})
    return {
        "COVERAGE": 100 * rouge_1(collected, information, dialogue.language).recall,
        "INQUIRY_LOGIC": 100 * likeness(collected, information, dialogue.language),
        "COVERAGE_WITHOUT_O": 100 * rouge_1(effective, information, dialogue.language).recall,
    }


def summarise(
    scores: Sequence[Score], *, names: Sequence[str] = METRICS, left_out: Sequence[LeftOut] = (), seed: int = 0
) -> ConversationSummary:
    """Returns the means over dialogues with their errors and intervals.

    Dialogues of one id are repetitions of one case: errors and intervals are then over cases. AVG_LEN is the mean
    over all turns of all dialogues, and its standard error over turns, as published; its interval is over cases.
    What is given as left out are the records that could not be scored at all.
    """

    def mean(name: str) -> Estimate:
        having = [score for score in scores if name in score.values]
        ids, values = [score.id for score in having], [score.values[name] for score in having]
        if name == "DIAGNOSIS":
            return share_estimate(values, clusters=ids)
        return estimate(values, clusters=ids, seed=seed)

    def pooled(parts: list[float], wholes: list[int]) -> Estimate:
        return ratio(parts, wholes, clusters=[score.id for score in scores], seed=seed)

    metrics = {name: mean(name) for name in names}
    if "AVG_LEN" in metrics:
        lengths = [length for score in scores for length in score.lengths]
        pooled_length = pooled([sum(score.lengths) for score in scores], [len(score.lengths) for score in scores])
        # Where all are equal there is none: that is no sign of being sure.
        error = standard_error(lengths) or None
        metrics["AVG_LEN"] = msgspec.structs.replace(pooled_length, stderr=error, n=len(lengths))
    second = {SECOND[0]: mean(SECOND[0])} if "COVERAGE" in metrics else {}
    for name, pooled_name in zip(_SHARES, SECOND[1:], strict=True):
        if name in metrics:
            shares = [score.counts[name] for score in scores]
            second[pooled_name] = pooled([100 * part for part, _ in shares], [whole for _, whole in shares])
    problems = (problem for score in scores for problem in score.left_out if set(problem.metrics) & set(names))
    return ConversationSummary(
        metrics=metrics,
        second=second,
        scores=tuple(scores),
        left_out=(*left_out, *problems),
        unreadable=sum(score.unreadable for score in scores),
        failed=sum(problem.failed for problem in left_out),
    )
