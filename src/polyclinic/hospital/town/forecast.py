"""Courses of illnesses by a model (agent-hospital §3.4, follow-up), in place of the drawn ones.

The model stands for nature and for no player: it is told the disease. If its answer cannot be used, the follow-up has
failed, is counted, and is in no mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from polyclinic.cases.case import Case
from polyclinic.errors import PlayFailure
from polyclinic.hospital.record.happenings import FollowUpOutcome
from polyclinic.hospital.town.illness import IllnessCourse, Treatment, next_severity, recovering, severity_of
from polyclinic.models.model import Model
from polyclinic.prompts import read_prompts

PROMPTS = Path(__file__).with_suffix(".md")

LONGEST = 365
"""Days to recovery at most; beyond a year an illness has not been recovered from."""


class Forecast(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the model answers. `days` count where the illness is recovered from."""

    reason: Annotated[str, msgspec.Meta(max_length=600)]
    course: Literal["recovers", "worsens"]
    days: Annotated[int, msgspec.Meta(ge=1, le=LONGEST)]


async def course_by_model(
    case: Case,
    visit: int,
    treatment: Treatment,
    *,
    model: Model,
    follow_up_days: int,
    temperature: float | None = None,
) -> IllnessCourse | PlayFailure:
    """Asks a model how an illness goes on; its answer has the meaning of `Nature.at_home`. A failure is returned."""
    presentation, severity = case.presentation, severity_of(case)
    prompts = read_prompts(PROMPTS)[presentation.language]
    question = prompts(
        "illness",
        age="?" if presentation.age is None else f"{presentation.age:g}",
        sex=prompts(presentation.sex) if presentation.sex else "?",
        complaint=presentation.complaint,
        disease=case.truth.diagnoses[0].name,
        severity=prompts(severity),
        plan=_lines(case.truth.treatment, prompts("none")),
        diagnosis=treatment.diagnosis or prompts("none"),
        treatment=_lines(treatment.items, prompts("none")),
    )
    try:
        reply = await model.ask(
            [("system", prompts("forecast")), ("user", question)],
            answer=Forecast,
            temperature=temperature,
            purpose=f"course {case.id}/{visit}",
        )
    except PlayFailure as failure:
        return failure
    forecast: Forecast = reply.value
    if forecast.course == "worsens":
        return IllnessCourse(outcome=FollowUpOutcome.WORSE, recovers_after_days=None, severity=next_severity(severity))
    return recovering(forecast.days, severity, follow_up_days=follow_up_days)


def _lines(items: Sequence[str], none: str) -> str:
    return "\n".join(f"- {item}" for item in items) or none
