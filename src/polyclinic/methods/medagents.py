"""MedAgents: experts gather, analyse, report, consult until all of them agree, and one decides.

Paper: Tang et al., MedAgents: Large Language Models as Collaborators for Zero-shot Medical Reasoning, arXiv:2311.10537,
§3 and Algorithm 1.
Defaults: 5 experts on the question and 2 on the options, temperature 1, top_p 1, as the paper (PubMedQA: 4 and 2); at
most 3 rounds, as the authors' code.
The card `docs/methods/medagents.md` has the cost and where we differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from polyclinic.answering.calls import Asker, at_least, exactly, needed, together, usable
from polyclinic.answering.outcome import Outcome
from polyclinic.cases.presentation import Question
from polyclinic.errors import ModelError, PlayFailure, UserError
from polyclinic.models.model import Answer, Model

PROMPTS = Path(__file__).with_suffix(".md")
MOST_EXPERTS = 100
"""On the question, and on the options."""

Votes = Literal["combined", "separate"]
Stages = Literal["analysis", "summary", "consultation"]


class Expert(msgspec.Struct, frozen=True, kw_only=True):
    """An expert. The number, from 1 over all experts, keeps those of one field apart."""

    number: int
    field: str
    reads: Literal["question", "options"]
    analysis: str = ""


class Synthesis(msgspec.Struct, frozen=True):
    """The report on all analyses."""

    key_knowledge: tuple[str, ...]
    total_analysis: str


class Vote(msgspec.Struct, frozen=True):
    """What an expert says to the report; the modification counts only with a no."""

    assessment: str
    vote: Literal["yes", "no"]
    modification: str


async def medagents(
    question: Question,
    model: Model,
    *,
    question_experts: int = 5,
    option_experts: int = 2,
    max_rounds: int = 3,
    votes: Votes = "combined",
    stages: Stages = "consultation",
    temperature: float | None = 1.0,
    top_p: float | None = 1.0,
) -> Outcome:
    """Answers a question as a consultation of experts does: m on the question in the paper, n on the options, or none.

    "combined" asks for a vote and its modification at once, "separate" asks those who said no in a call of its own, as
    the paper. The decision is made from the analyses, the first report ("summary") or that after the rounds of voting
    ("consultation"): the paper's ablation, table 3. A failure is the outcome's end; it is not raised.

    Raises:
        UserError: a number of experts that is too small or too large, too few rounds, or a question without options.
    """
    at_least(0, question_experts=question_experts, option_experts=option_experts)
    at_least(1, max_rounds=max_rounds)
    if not question_experts + option_experts:
        raise UserError("0 and 0 experts; at least one is needed")
    if max(question_experts, option_experts) > MOST_EXPERTS:
        raise UserError(f"{question_experts} and {option_experts} experts; {MOST_EXPERTS} of a kind are the most")
    panel = _Panel(PROMPTS, question, model, temperature=temperature, top_p=top_p)
    try:
        # 1. Experts are gathered, for the question and for the options.
        for_question, for_options = await panel.gather(question_experts, option_experts)
        # 2. Each expert on the question analyses it, without the options.
        on_question = await panel.analyse(for_question)
        # 3. Each expert on the options analyses them in the light of that.
        on_options = await panel.analyse(for_options, panel.analyses(on_question))
        experts = usable([*on_question, *on_options])
        material = panel.analyses(experts)
        if stages != "analysis":
            # 4. One report: key knowledge and total analysis.
            report = await panel.report("report", material)
            if stages == "consultation":
                # 5. Algorithm 1: all vote on the report as it stands, which is revised until all agree.
                report = await panel.consult(report, experts, max_rounds, votes)
            material = panel.reported(report)
        # 6. The decision.
        return await panel.decide(material)
    except PlayFailure as failure:
        return panel.calls.failed(question.id, failure)


class _Panel(Asker):
    """Asks on behalf of those who sit around the table."""

    async def gather(self, on_question: int, on_options: int) -> tuple[list[Expert], list[Expert]]:
        self.trip += 1
        kinds: list[tuple[Literal["question", "options"], int]] = [("question", on_question), ("options", on_options)]

        def fields(kind: str, number: int) -> Any:
            section, purpose = f"{kind} experts", f"gather experts on the {kind}"
            return self.ask(section, purpose, answer=exactly(number), options=kind == "options", number=number)

        lists = iter(await together(*(fields(kind, number) for kind, number in kinds if number)))
        named = [(kind, field) for kind, number in kinds if number for field in needed(next(lists))]
        experts = [Expert(number=n, field=field, reads=kind) for n, (kind, field) in enumerate(named, start=1)]
        return experts[:on_question], experts[on_question:]

    async def analyse(self, experts: Sequence[Expert], before: str = "") -> list[Expert | ModelError]:
        """Returns the experts with their analyses, or the failures of those who fall silent."""
        self.trip += bool(experts)

        async def one(expert: Expert) -> Expert:
            purpose = f"analyse the {expert.reads}, expert {expert.number}"
            about = expert.reads == "options"
            text = await self.ask(f"{expert.reads} analysis", purpose, before, self._you(expert), options=about)
            return msgspec.structs.replace(expert, analysis=text.strip())

        return await together(*map(one, experts))

    async def report(self, section: str, *told: str, round_number: int = 0) -> Synthesis:
        self.trip += 1
        purpose = f"{section} {round_number}" if round_number else section
        report: Synthesis = await self.ask(section, purpose, *told, answer=Synthesis)
        return report

    async def consult(self, report: Synthesis, experts: Sequence[Expert], rounds: int, votes: Votes) -> Synthesis:
        """Algorithm 1."""
        vote = self._vote_at_once if votes == "combined" else self._vote_apart
        for number in range(1, rounds + 1):
            dissent = await vote(report, experts, number)
            if not dissent:
                break
            report = await self.report("revision", self.reported(report), self._wishes(dissent), round_number=number)
        return report

    async def _vote_at_once(self, report: Synthesis, experts: Sequence[Expert], number: int) -> dict[Expert, str]:
        """Returns what those who do not agree want modified, "" for those who did not say."""
        said = await self._of_each("vote", report, experts, f"vote {number}", Vote)
        wanted = {e: s.modification if isinstance(s, Vote) else "" for e, s in said.items()}
        return {e: wanted[e].strip() for e, s in said.items() if not (isinstance(s, Vote) and s.vote == "yes")}

    async def _vote_apart(self, report: Synthesis, experts: Sequence[Expert], number: int) -> dict[Expert, str]:
        said = await self._of_each("vote alone", report, experts, f"vote {number}", ("yes", "no"))
        against = [e for e, vote in said.items() if vote == "no"]
        wanted = await self._of_each("modification", report, against, f"modification {number}", None)
        told = {e: text.strip() for e, text in wanted.items() if isinstance(text, str)}
        return {e: told.get(e, "") for e, vote in said.items() if vote != "yes"}

    async def _of_each(
        self, section: str, report: Synthesis, experts: Sequence[Expert], purpose: str, answer: Answer
    ) -> dict[Expert, Any]:
        self.trip += bool(experts)
        told = self.reported(report)
        asked = (self.ask(section, f"{purpose}, expert {e.number}", told, self._you(e), answer=answer) for e in experts)
        return dict(zip(experts, await together(*asked), strict=True))

    def _you(self, expert: Expert) -> str:
        return self._prompts("you", number=expert.number, field=expert.field)

    def analyses(self, experts: Iterable[Expert | ModelError]) -> str:
        """Returns the analyses of those who did not fall silent."""
        texts = [
            self._prompts(f"{e.reads} analysed", number=e.number, field=e.field, text=e.analysis)
            for e in experts
            if isinstance(e, Expert)
        ]
        return "\n\n".join(texts)

    def reported(self, report: Synthesis) -> str:
        knowledge = "\n".join(f"- {line}" for line in report.key_knowledge)
        return self._prompts("reported", knowledge=knowledge, analysis=report.total_analysis)

    def _wishes(self, dissent: dict[Expert, str]) -> str:
        return "\n\n".join(
            self._prompts("wish", number=e.number, field=e.field, text=text)
            if text
            else self._prompts("wish untold", number=e.number, field=e.field)
            for e, text in dissent.items()
        )
