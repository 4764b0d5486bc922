"""MDAgents: how hard a question is decides who answers it: one clinician, a team that discusses, or teams in order.

Paper: Kim et al., MDAgents: An Adaptive Collaboration of LLMs for Medical Decision-Making, arXiv:2404.15155, §3.
Defaults: 5 experts in a team; an assessment, a diagnostic and a review team of 3, the lead included, as the authors'
code. At most 3 rounds of one turn each (the authors' code: 5 and 5).

Cost with these defaults, triage included: low 2 calls in 2 round trips; moderate 8 in 4 where all agree at once, and at
most 41 in 13; high 15 in 12. `docs/methods/mdagents.md` has the formulas.

Where we differ: the level is a typed answer, and one that cannot be read ends the question under its name. Agreement is
read from typed opinions, not asked for. To whom an expert speaks is a field. An opinion that cannot be used is no
agreement, and nobody speaks for that expert in that round. Diagnostic teams, where there are several, work at once on
what the assessment team found. Nothing is retrieved, and the single clinician is shown no examples.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from polyclinic.answering.asking import Asker
from polyclinic.answering.calls import Calls
from polyclinic.answering.decision import decision_on, keys_of
from polyclinic.answering.outcome import Outcome
from polyclinic.answering.together import together, usable
from polyclinic.cases.presentation import Question
from polyclinic.errors import ModelError, PlayFailure, UserError
from polyclinic.models.model import Model

PROMPTS = Path(__file__).with_suffix(".md")

Level = Literal["low", "moderate", "high"]


class Difficulty(msgspec.Struct, frozen=True):
    """How hard the question is."""

    reason: str
    level: Level


async def mdagents(
    question: Question,
    model: Model,
    *,
    level: Level | None = None,
    experts: int = 5,
    max_rounds: int = 3,
    turns: int = 1,
    diagnostic_teams: int = 1,
    members: int = 2,
    temperature: float | None = None,
    top_p: float | None = None,
) -> Outcome:
    """Answers a question with as many clinicians as it needs.

    A `level` leaves the triage out (the paper's ablation). The experts of a moderate question discuss it; in a round
    everybody may speak so many turns, and silence of all ends them. The diagnostic teams of a hard one stand between
    assessment and review; each has so many members beside its lead. A failure is the outcome's end; it is not raised.

    Raises:
        UserError: a number that is too small, or a question without options.
    """
    at_least_one = {"experts": experts, "turns": turns, "members": members}
    at_least_none = {"max_rounds": max_rounds, "diagnostic_teams": diagnostic_teams}
    for least, numbers in ((1, at_least_one), (0, at_least_none)):
        for name, number in numbers.items():
            if number < least:
                raise UserError(f"{name} is {number}; it is at least {least}")
    calls = Calls(model, temperature=temperature, top_p=top_p)
    clinic = _Clinicians(question, calls)
    try:
        # 1. Triage.
        if level is None:
            level = (await clinic.ask("triage", "triage", trip=1, answer=Difficulty)).level
        # 2. Recruitment, and 3. what the recruited work out.
        if level == "low":
            found = ""
        elif level == "moderate":
            found = await clinic.discuss(experts, max_rounds, turns)
        else:
            found = await clinic.teams(diagnostic_teams, members)
        # 4. The decision: of the single clinician, the moderator, or whoever weighs the teams' reports.
        trip = calls.round_trips + 1
        decided = await clinic.ask(f"{level} decision", "decision", found, trip=trip, answer=clinic.decision)
        return calls.outcome(question.id, keys_of(decided), rationale=decided.rationale)
    except PlayFailure as failure:
        return calls.failed(question.id, failure)


class _Clinicians(Asker):
    """Asks on behalf of those recruited."""

    def __init__(self, question: Question, calls: Calls) -> None:
        self.decision = decision_on(question)
        super().__init__(PROMPTS, question, calls)
        self._comma = "、" if question.language == "zh" else ", "

    async def discuss(self, count: int, max_rounds: int, turns: int) -> str:
        """Returns the opinions of a team after its discussion."""
        trip = self.calls.round_trips + 1
        fields: tuple[str, ...] = await self.ask("recruit", "recruit", trip=trip, answer=_texts(count), number=count)
        you = [self._prompts("you", number=n, field=field) for n, field in enumerate(fields, start=1)]
        heard, told, feedback, everybody = [""] * count, "", "", range(count)
        for number in range(1, max_rounds + 2):
            # 3.1 Everybody gives an opinion; from the second time on with what was said to them, and the feedback.
            trip += 1
            stage, asked = ("opinion" if number == 1 else "opinion again"), f"opinion {number}, expert"
            asking = (
                self.ask(stage, f"{asked} {n + 1}", told, feedback, heard[n], you[n], trip=trip, answer=self.decision)
                for n in everybody
            )
            opinions = await together(*asking)
            agreed = len({keys_of(opinion) for opinion in usable(opinions)}) == 1
            told = self._opinions(fields, opinions)
            # 3.2 The rounds end where all agree; an opinion that cannot be used agrees with nobody.
            if number > max_rounds or (agreed and not any(isinstance(o, ModelError) for o in opinions)):
                break
            # 3.3 Who has something to say says it, and to whom.
            heard = [""] * count
            for turn in range(1, turns + 1):
                trip += 1
                asked, wanted = f"remark {number}.{turn}, expert", _remark(count)
                asking = (
                    self.ask("remark", f"{asked} {n + 1}", told, heard[n], you[n], trip=trip, answer=wanted)
                    for n in everybody
                )
                remarks = await together(*asking)
                spoken = self._delivered(fields, remarks)
                if not any(spoken):
                    break
                heard = ["\n\n".join(filter(None, both)) for both in zip(heard, spoken, strict=True)]
            # 3.4 The moderator tells the team where it stands; without readable feedback the round goes on without.
            trip += 1
            all_said = "\n\n".join(filter(None, heard))
            (came,) = await together(self.ask("feedback", f"feedback {number}", told, all_said, trip=trip))
            feedback = "" if isinstance(came, ModelError) else self._prompts("fed back", text=came.strip())
        return told

    def _opinions(self, fields: Sequence[str], opinions: Sequence[Any]) -> str:
        given = [
            (n, field, self._comma.join(sorted(keys_of(opinion))), opinion.rationale)
            for n, (field, opinion) in enumerate(zip(fields, opinions, strict=True), start=1)
            if not isinstance(opinion, ModelError)
        ]
        say = self._prompts
        return "\n\n".join(say("opinion given", number=n, field=f, answer=a, text=text) for n, f, a, text in given)

    def _delivered(self, fields: Sequence[str], remarks: Sequence[Any]) -> list[str]:
        """Returns what each expert was told; a remark that cannot be used is silence, and so is talking to oneself."""
        told: list[list[str]] = [[] for _ in fields]
        for sender, (field, remark) in enumerate(zip(fields, remarks, strict=True), start=1):
            if isinstance(remark, ModelError) or not remark.text.strip():
                continue
            for hearer in sorted(set(remark.to) - {sender}):
                line = self._prompts("remark heard", number=sender, field=field, to=hearer, text=remark.text.strip())
                told[hearer - 1].append(line)
        return ["\n\n".join(lines) for lines in told]

    async def teams(self, diagnostic: int, members: int) -> str:
        """Returns the reports of the teams, assessment first and review last."""
        trip = self.calls.round_trips + 1
        wanted = _teams(diagnostic, members)
        plan = await self.ask("recruit teams", "recruit", trip=trip, answer=wanted, teams=diagnostic, members=members)
        named = [(f"diagnosis {n}", team) for n, team in enumerate(plan.diagnosis, start=1)]
        reports: list[str | ModelError] = []
        for stage in ([("assessment", plan.assessment)], named, [("review", plan.review)]):
            # A team that falls silent needs fewer round trips than others.
            trip = self.calls.round_trips
            before = "\n\n".join(report for report in reports if isinstance(report, str))
            reports += await together(*(self._team(name, team, before, trip) for name, team in stage))
        return "\n\n".join(usable(reports))

    async def _team(self, name: str, team: Any, before: str, trip: int) -> str:
        """Returns a team's report; a ModelError where the lead, or every member, cannot be used: it falls silent."""
        is_team = self._prompts("team", goal=team.goal, lead=team.lead, members=self._comma.join(team.members))
        # 3.1 The lead gives every member a task.
        wanted = _texts(len(team.members))
        tasks = await self.ask("assign", f"assign, {name} team", before, is_team, trip=trip + 1, answer=wanted)
        # 3.2 The members work on their tasks.
        work = [
            self._prompts("task", number=n, field=field, text=task)
            for n, (field, task) in enumerate(zip(team.members, tasks, strict=True), start=1)
        ]
        asked = f"investigate, {name} team, member"
        investigating = (
            self.ask("investigate", f"{asked} {n}", before, is_team, task, trip=trip + 2)
            for n, task in enumerate(work, start=1)
        )
        found = await together(*investigating)
        usable(found)
        findings = [
            self._prompts("finding", number=n, field=field, text=text.strip())
            for n, (field, text) in enumerate(zip(team.members, found, strict=True), start=1)
            if isinstance(text, str)
        ]
        # 3.3 The lead reports.
        text = await self.ask("team report", f"report, {name} team", before, is_team, *findings, trip=trip + 3)
        return self._prompts("reported", goal=team.goal, text=text.strip())


@functools.cache
def _texts(number: int) -> Any:
    return Annotated[tuple[str, ...], msgspec.Meta(min_length=number, max_length=number)]


@functools.cache
def _remark(experts: int) -> Any:
    """Returns the type of what an expert says: to whom, by number, and what; to nobody is silence."""
    to = tuple[Annotated[int, msgspec.Meta(ge=1, le=experts)], ...]
    return msgspec.defstruct("Remark", [("to", to), ("text", str)], frozen=True, module=__name__)


@functools.cache
def _teams(diagnostic: int, members: int) -> Any:
    team = msgspec.defstruct("Team", [("goal", str), ("lead", str), ("members", _texts(members))], module=__name__)
    several = Annotated[tuple[team, ...], msgspec.Meta(min_length=diagnostic, max_length=diagnostic)]  # type: ignore[valid-type]
    return msgspec.defstruct("Teams", [("assessment", team), ("diagnosis", several), ("review", team)], module=__name__)
