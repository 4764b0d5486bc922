"""Whether a simulated patient's or examiner's answer is relevant, and consistent with the record, round by round.

Two of the four questions of AI Hospital (§6.1, Table 7). The judge sees the record without diagnosis and treatment.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from polyclinic.cases.case import Case
from polyclinic.events import Role
from polyclinic.judging.model_judging import Exhibit, Judging, spoken
from polyclinic.players.language_model.mind import describe, known_lines

VERSION = 1  # of what the judge is shown and asked; results of different versions are not comparable


class RoundAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the judge answers."""

    reason: str
    relevant: Literal["yes", "no"]
    consistent: Literal["yes", "no"]


class SaidInRound(NamedTuple):
    """What was said in a round of a case: the doctor's turn, and the answers."""

    case: Case
    said: Sequence[tuple[Role, str]]


def _shown(round: SaidInRound) -> Exhibit:
    record = round.case.record
    language = record.presentation.language
    lines = [*describe(record.presentation).splitlines(), *known_lines(record.history, record.findings, language)]
    texts = {"record": lines, "round": [spoken(who, text, language) for who, text in round.said]}
    return Exhibit(language, "judge", ("record", "round"), texts, RoundAnswer, "reliability")


JUDGING = Judging(Path(__file__).with_suffix(".md"), _shown, bullet="")
