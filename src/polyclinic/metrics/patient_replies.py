"""How well a simulated patient replies: the six metrics of AIE (aie-saps §4.4.1), each over the states it speaks of.

Where the paper prints a formula that measures the opposite of its text, the text counts and the formula is a second
column. docs/metrics.md writes them out.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from polyclinic.events import ADVICE, AMBIGUOUS, EFFECTIVE, INEFFECTIVE, INQUIRY, State
from polyclinic.language.language import Language
from polyclinic.language.words import rouge_1
from polyclinic.statistics.agreement import Agreement, agreement
from polyclinic.statistics.uncertainty import Estimate, estimate
from polyclinic.yaml_files import read_yaml

PATIENT_METRICS = ("ACCURACY", "PASSIVE", "CAUTIOUS", "HONEST", "FOCUS", "GUIDANCE")
"""The six, in percent; higher is better."""

PATIENT_SECOND = ("PASSIVE_LEAK", "CAUTIOUS_LEAK", "HONEST_DENIAL")
"""Formula 10, formula 11 (both are leaks: lower is better), and denial on ineffective advice too (§4.2.1)."""


class PatientReply(msgspec.Struct, frozen=True, kw_only=True):
    """What a patient replied to one turn of a doctor."""

    case: str | int  # its id; replies of one case are resampled together
    turn: int  # which turn of the conversation it was, from 0
    state: State  # what the doctor's turn truly was
    text: str
    language: Language
    information: str
    answer: str | None = None  # the information that the turn asks for; needed on effective inquiry and advice
    heard: State | None = None  # what the patient took the turn to be; None where it gave no state that can be read


class PatientSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A patient's scores over many replies."""

    metrics: dict[str, Estimate]
    second: dict[str, Estimate]  # the metrics as the formulas are printed
    by_turn: dict[int, dict[str, Estimate]]
    states: Agreement  # how the patient read the doctor's turns
    without_answer: int  # replies on effective inquiry or advice outside ACCURACY and PASSIVE: no true answer is there


@functools.cache
def read_keywords(language: Language) -> dict[str, re.Pattern[str]]:
    """Reads the words of a language, by what they tell; the published lists are Chinese, these our own, and small."""
    words = read_yaml(Path(__file__).with_name(f"keywords.{language}.yaml"), dict[str, list[str]])
    any_of = {kind: "|".join(map(re.escape, several)) for kind, several in words.items()}
    if language == "zh":
        return {kind: re.compile(pattern) for kind, pattern in any_of.items()}
    return {kind: re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE) for kind, pattern in any_of.items()}


def says(kind: str, text: str, language: Language) -> bool:
    """Returns whether a reply holds a word of a kind: `denial`, `compliance`, `focus` or `guidance`."""
    return read_keywords(language)[kind].search(text.replace("’", "'")) is not None


def score_reply(reply: PatientReply) -> dict[str, float]:
    """Returns the metrics that speak of this reply's state, in percent; leaks may be negative."""
    state, text, language = reply.state, reply.text, reply.language
    values: dict[str, float] = {}
    if state in (*INQUIRY, *ADVICE):
        leaked = 100 * rouge_1(text, reply.information, language).precision
        if state in EFFECTIVE:
            values["CAUTIOUS_LEAK"] = leaked
            if reply.answer is not None:
                asked = rouge_1(text, reply.answer, language)
                values["ACCURACY"] = 100 * asked.recall
                values["PASSIVE_LEAK"] = leaked - 100 * asked.precision
                values["PASSIVE"] = 100 - max(0.0, values["PASSIVE_LEAK"])
        else:
            values["CAUTIOUS"] = 100 - leaked
    if state in INEFFECTIVE:
        values["HONEST_DENIAL"] = 100.0 * says("denial", text, language)
        wanted = "denial" if state is State.INEFFECTIVE_INQUIRY else "compliance"
        values["HONEST"] = 100.0 * says(wanted, text, language)
    if state in (State.OTHER_TOPIC, State.DEMAND):
        values["FOCUS"] = 100.0 * says("focus", text, language)
    if state in AMBIGUOUS:
        values["GUIDANCE"] = 100.0 * says("guidance", text, language)
    return values


def summarise_replies(replies: Sequence[PatientReply], *, seed: int = 0) -> PatientSummary:
    """Returns the six metrics over replies, by turn, and how the states were read; errors are over cases."""
    values = [score_reply(reply) for reply in replies]

    def mean(name: str, turn: int | None = None) -> Estimate:
        having = [
            (reply.case, value[name])
            for reply, value in zip(replies, values, strict=True)
            if name in value and turn in (None, reply.turn)
        ]
        return estimate([v for _, v in having], clusters=[case for case, _ in having], seed=seed)

    turns = sorted({reply.turn for reply in replies})
    return PatientSummary(
        metrics={name: mean(name) for name in PATIENT_METRICS},
        second={name: mean(name) for name in PATIENT_SECOND},
        by_turn={turn: {name: mean(name, turn) for name in PATIENT_METRICS} for turn in turns},
        states=agreement([r.state for r in replies], [r.heard for r in replies], labels=tuple(State)),
        without_answer=sum(r.state in EFFECTIVE and r.answer is None for r in replies),
    )
