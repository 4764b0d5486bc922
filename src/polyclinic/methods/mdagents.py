"""MDAgents: how hard a question is decides who answers it: one clinician, a team that discusses, or teams in order.

Paper: Kim et al., MDAgents: An Adaptive Collaboration of LLMs for Medical Decision-Making, arXiv:2404.15155, §3.
Defaults, all as the authors' code: 5 experts in a team, at most 5 rounds of at most 5 turns; an assessment, a
diagnostic and a review team of 3, the lead included; 5 examples; the decision by majority, at temperature 0.
The card `docs/methods/mdagents.md` has the cost and where we differ.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from polyclinic.answering.calls import Asker, at_least, exactly, keys_of, together, usable
from polyclinic.answering.outcome import Outcome
from polyclinic.cases.presentation import Question
from polyclinic.errors import ModelError, PlayFailure
from polyclinic.models.model import Model
from polyclinic.questions.examples import Example, examples_for
from polyclinic.questions.shown import show, write_answer
from polyclinic.seeds import derive


class Recruit(msgspec.Struct, frozen=True):
    """An expert of a team, and the number, from 1, of the one whom it reports to; 0 for nobody."""

    field: str
    reports_to: Annotated[int, msgspec.Meta(ge=0)] = 0


def links(team: Sequence[Recruit]) -> list[tuple[int, int]]:
    """Returns who reports to whom, by number; nobody reports to itself, or to one who is not there."""
    there = range(1, len(team) + 1)
    return [(n, one.reports_to) for n, one in enumerate(team, 1) if one.reports_to in there and one.reports_to != n]


def hears_of(team: Sequence[Recruit]) -> list[set[int]]:
    """Returns whose opinions each expert is shown, by place from 0.

    Of a hierarchy, those directly above and below it. Those who stand in none hear everybody, and are heard by all.
    """
    beside: list[set[int]] = [set() for _ in team]
    for number, above in links(team):
        beside[number - 1].add(above - 1)
        beside[above - 1].add(number - 1)
    alone = {n for n, linked in enumerate(beside) if not linked}
    return [(set(range(len(team))) if n in alone else linked | alone) - {n} for n, linked in enumerate(beside)]


PROMPTS = Path(__file__).with_suffix(".md")

Level = Literal["low", "moderate", "high"]
Moderator = Literal["majority", "reasons"]
Ends = Literal["silence", "agreement"]

SHOWN = 5
"""Examples that the single clinician, and a team, are shown."""


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
    max_rounds: int = 5,
    turns: int = 5,
    ends: Ends = "silence",
    moderator: Moderator = "majority",
    diagnostic_teams: int = 1,
    members: int = 2,
    examples: Sequence[Example] | None = None,
    temperature: float | None = None,
    decision_temperature: float | None = 0.0,
    top_p: float | None = None,
    seed: int = 0,
) -> Outcome:
    """Answers a question with as many clinicians as it needs.

    A `level` leaves the triage out (the paper's ablation). The experts of a moderate question discuss it: in a round
    everybody may speak so many turns, and then gives an opinion anew. A turn in which nobody says anything is the last,
    and ends the debate, behind those opinions where anything was said before; or, with "agreement", a round that all
    begin with one opinion ends it, and silence a round's turns alone. The moderator counts voices, or weighs reasons.
    The diagnostic teams of a hard question stand between assessment and review; each has so many members beside its
    lead. Five of the examples, drawn by the seed, are shown; None for the shipped ones. A failure is the outcome's end;
    it is not raised.

    Raises:
        UserError: a number that is too small, or a question without options.
    """
    at_least(1, experts=experts, turns=turns, members=members)
    at_least(0, max_rounds=max_rounds, diagnostic_teams=diagnostic_teams)
    clinic = _Clinicians(PROMPTS, question, model, temperature=temperature, top_p=top_p)
    pool = examples_for(question, examples)
    drawn = derive(seed, question.id, "examples").sample(pool, min(SHOWN, len(pool)))
    try:
        # 1. Triage.
        if level is None:
            clinic.trip = 1
            level = (await clinic.ask("triage", "triage", answer=Difficulty)).level
        # 2. Recruitment, and 3. what the recruited work out.
        stage = f"{level} decision"
        if level == "low":
            found = clinic.shown(drawn)
        elif level == "moderate":
            found = await clinic.discuss(experts, max_rounds, turns, ends=ends, before=clinic.shown(drawn))
            stage += " by reasons" if moderator == "reasons" else ""
        else:
            found = await clinic.teams(diagnostic_teams, members)
        # 4. The decision: of the single clinician, the moderator, or whoever weighs the teams' reports.
        return await clinic.decide(found, section=stage, temperature=decision_temperature)
    except PlayFailure as failure:
        return clinic.calls.failed(question.id, failure)


class _Clinicians(Asker):
    """Asks on behalf of those recruited."""

    @property
    def _comma(self) -> str:
        return "、" if self.question.language == "zh" else ", "

    def shown(self, examples: Sequence[Example]) -> str:
        """Returns solved questions as they stand before this one; "" for none."""
        solved = (
            "\n".join(
                (show(one.question), one.reasoning.strip(), write_answer(one.key, language=one.question.language))
            )
            for one in examples
        )
        return self._prompts("examples", examples="\n\n".join(solved)) if examples else ""

    async def discuss(self, count: int, max_rounds: int, turns: int, *, ends: Ends, before: str) -> str:
        """Returns the final opinions of a team, with who reports to whom."""
        self.trip += 1
        team: tuple[Recruit, ...] = await self.ask("recruit", "recruit", answer=_team(count), number=count)
        you, hears, everybody = [self._you(n, one) for n, one in enumerate(team, 1)], hears_of(team), range(count)
        order = "\n".join(self._prompts("reports to", number=n, above=a) for n, a in links(team))
        heard, said, report, over = [""] * count, [before] * count, "", False
        for number in range(1, max_rounds + 2):
            # 3.1 Everybody gives an opinion; from the second time on with what was said to them, and the report.
            stage = "opinion" if number == 1 else "opinion again"
            shown = [(said[n], report, heard[n], you[n]) for n in everybody]
            opinions = await self.ask_each(stage, f"opinion {number}, expert", shown, answer=self.decision)
            given = [self._opinion(n, one, o) for n, (one, o) in enumerate(zip(team, opinions, strict=True), 1)]
            usable(opinions)
            told = "\n\n".join(filter(None, [order, *given]))
            # Whom one hears, and oneself: of an order in which all stand alone that is everybody.
            said = ["\n\n".join(filter(None, (given[n] for n in sorted(hears[m] | {m})))) for m in everybody]
            agreed = all(given) and len({keys_of(one) for one in usable(opinions)}) == 1
            if over or number > max_rounds or (ends == "agreement" and agreed):
                break
            # 3.2 The moderator reports where the team stands; without a readable report the round goes on without.
            self.trip += 1
            (came,) = await together(self.ask("report", f"report {number}", told))
            report = "" if isinstance(came, ModelError) else self._prompts("moderator reported", text=came.strip())
            # 3.3 Who has something to say says it, and to whom.
            heard = [""] * count
            for turn in range(1, turns + 1):
                shown = [(said[n], report, heard[n], you[n]) for n in everybody]
                remarks = await self.ask_each("remark", f"remark {number}.{turn}, expert", shown, answer=_remark(count))
                spoken = self._delivered(team, hears, remarks)
                if not any(spoken):
                    over = ends == "silence"
                    break
                heard = ["\n\n".join(filter(None, both)) for both in zip(heard, spoken, strict=True)]
            # 3.4 Silence of all ends the debate: what each thinks stands, where nothing was said that could change it.
            if over and not any(heard):
                break
        return told

    def _you(self, number: int, one: Recruit) -> str:
        return self._prompts("you", number=number, field=one.field)

    def _opinion(self, number: int, one: Recruit, opinion: Any) -> str:
        if isinstance(opinion, ModelError):
            return ""
        answer = self._comma.join(sorted(keys_of(opinion)))
        return self._prompts("opinion given", number=number, field=one.field, answer=answer, text=opinion.rationale)

    def _delivered(self, team: Sequence[Recruit], hears: Sequence[set[int]], remarks: Sequence[Any]) -> list[str]:
        """Returns what each expert was told; a remark that cannot be used is silence, and so is talking to oneself.

        Nobody is told anything by one whose opinion it is not shown.
        """
        told: list[list[str]] = [[] for _ in team]
        for sender, (one, remark) in enumerate(zip(team, remarks, strict=True), start=1):
            if isinstance(remark, ModelError) or not remark.text.strip():
                continue
            for hearer in sorted(set(remark.to) - {sender}):
                if sender - 1 in hears[hearer - 1]:
                    blanks = {"number": sender, "field": one.field, "to": hearer, "text": remark.text.strip()}
                    told[hearer - 1].append(self._prompts("remark heard", **blanks))
        return ["\n\n".join(lines) for lines in told]

    async def teams(self, diagnostic: int, members: int) -> str:
        """Returns the reports of the teams, assessment first and review last."""
        self.trip += 1
        wanted = _teams(diagnostic, members)
        plan = await self.ask("recruit teams", "recruit", answer=wanted, teams=diagnostic, members=members)
        named = [(f"diagnosis {n}", team) for n, team in enumerate(plan.diagnosis, start=1)]
        reports: list[str | ModelError] = []
        for stage in ([("assessment", plan.assessment)], named, [("review", plan.review)]):
            # A team that falls silent needs fewer round trips than others.
            trip = self.calls.round_trips
            before = "\n\n".join(report for report in reports if isinstance(report, str))
            reports += await together(*(self._team(name, team, before, trip) for name, team in stage))
        self.trip = self.calls.round_trips
        return "\n\n".join(usable(reports))

    async def _team(self, name: str, team: Any, before: str, trip: int) -> str:
        """Returns a team's report; a ModelError where the lead, or every member, cannot be used: it falls silent."""
        is_team = self._prompts("team", goal=team.goal, lead=team.lead, members=self._comma.join(team.members))
        # 3.1 The lead gives every member a task.
        wanted = exactly(len(team.members))
        tasks = await self.ask("assign", f"assign, {name} team", before, is_team, trip=trip + 1, answer=wanted)
        # 3.2 The members work on their tasks.
        work = [
            self._prompts("task", number=n, field=field, text=task)
            for n, (field, task) in enumerate(zip(team.members, tasks, strict=True), start=1)
        ]
        told = [(before, is_team, task) for task in work]
        found = await self.ask_each("investigate", f"investigate, {name} team, member", told, trip=trip + 2)
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
def _team(number: int) -> Any:
    return Annotated[tuple[Recruit, ...], msgspec.Meta(min_length=number, max_length=number)]


@functools.cache
def _remark(experts: int) -> Any:
    """Returns the type of what an expert says: to whom, by number, and what; to nobody is silence."""
    to = tuple[Annotated[int, msgspec.Meta(ge=1, le=experts)], ...]
    return msgspec.defstruct("Remark", [("to", to), ("text", str)], frozen=True, module=__name__)


@functools.cache
def _teams(diagnostic: int, members: int) -> Any:
    team = msgspec.defstruct("Team", [("goal", str), ("lead", str), ("members", exactly(members))], module=__name__)
    several = Annotated[tuple[team, ...], msgspec.Meta(min_length=diagnostic, max_length=diagnostic)]  # type: ignore[valid-type]
    return msgspec.defstruct("Teams", [("assessment", team), ("diagnosis", several), ("review", team)], module=__name__)
