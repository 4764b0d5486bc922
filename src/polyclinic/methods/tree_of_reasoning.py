"""Tree-of-Reasoning: doctors by kind of data write evidence trees, check one another's, and a head merges them.

Paper: Peng et al., Tree-of-Reasoning: Towards Complex Medical Diagnosis via Multi-Agent Reasoning with Evidence Tree,
§3 and Algorithm 1, and its appendix B.
Defaults: 2 rounds of 2 turns, 3 passages a doctor, as the paper.
The card `docs/methods/tree-of-reasoning.md` has the cost and where we differ.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from polyclinic.answering.calls import Calls, at_least, decision_on, keys_of, together, usable
from polyclinic.answering.outcome import Outcome
from polyclinic.cases.presentation import Presentation, Question
from polyclinic.cases.record import Record
from polyclinic.errors import ModelError, PlayFailure, UserError
from polyclinic.evidence_tree.meeting import Concluded, Doctors, Happening, Meeting, Opinion, Remark
from polyclinic.evidence_tree.sources import Kind, RecordPart, Removed, divide
from polyclinic.evidence_tree.support import Supporter
from polyclinic.evidence_tree.tree import EvidenceTree, parse_tree, print_tree
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.language.language import Language
from polyclinic.models.model import Answer, Message, Model
from polyclinic.prompts import read_prompts
from polyclinic.questions.shown import show
from polyclinic.retrieval.retriever import Passage, Retriever
from polyclinic.seeds import derive

PROMPTS = Path(__file__).with_suffix(".md")

_LONGEST = 2_000  # characters of a passage that are shown

Form = Literal["typed", "printed"]
Targets = Literal["chosen", "random"]
Draw = Callable[..., random.Random]


class MeetingOutcome(Outcome, frozen=True, kw_only=True):
    """An outcome with everything that happened in the meeting, and which parts of the record there were."""

    parts: tuple[RecordPart, ...] = ()
    log: tuple[Happening, ...] = ()


class Addressees(msgspec.Struct, frozen=True):
    """To whom a doctor has something to say."""

    reason: str
    to: tuple[Kind, ...]


async def tree_of_reasoning(
    question: Question,
    model: Model,
    *,
    record: Record | None = None,
    retriever: Retriever | None = None,
    doctors: Doctors | None = None,
    rounds: int = 2,
    turns: int = 2,
    passages: int = 3,
    tree: bool = True,
    cross_verification: bool = True,
    retrieval: bool = True,
    without: tuple[Kind, ...] = (),
    removed: Removed = "reassigned",
    evidence: Literal["all", "supported"] = "all",
    form: Form = "typed",
    update_from: Literal["latest", "first"] = "latest",
    targets: Targets = "chosen",
    seed: int = 0,
    temperature: float | None = None,
    top_p: float | None = None,
) -> MeetingOutcome:
    """Chooses the diagnoses that hold as a team of up to four doctors; who has no data does not take part.

    The paper's ablations: without `tree` doctors speak plain language to one another, without `cross_verification`
    nobody is heard on another's tree, without `retrieval` nothing is looked up, and `without` removes doctors, whose
    data the outpatient doctor gets, or nobody ("withheld"). With the `evidence` "supported", what the record does not
    bear does not reach the head. Without a record the question itself is the complaint. `doctors` think in the model's
    place. A failure is the outcome's end; it is not raised.

    Raises:
        UserError: a number that is too small, the outpatient doctor removed, or a question without options.
    """
    at_least(0, rounds=rounds)
    at_least(1, turns=turns, passages=passages)
    decision_on(question)
    if record is None:
        told = Presentation(complaint=question.stem, about=question.context, language=question.language)
        record = Record(presentation=told)
    try:
        meeting = Meeting(divide(record, read_knowledge(), without=without, removed=removed), trees=tree)
    except ValueError as problem:
        raise UserError(str(problem)) from None
    calls = Calls(model, temperature=temperature, top_p=top_p)
    language = record.presentation.language
    team = doctors or _Asked(calls, language, form, targets)
    try:
        # 1. Each doctor looks its part up, and writes its tree.
        await _read(meeting, team, retriever if retrieval else None, passages)
        # 2. Cross-verification, until the rounds are spent or nobody has anything to say.
        if cross_verification:
            draw = partial(derive, seed, question.id, "addressee") if targets == "random" else None
            await _verify(meeting, team, rounds, turns, draw, from_first=update_from == "first")
        # 3. The head merges what they think in the end, and chooses the options that hold.
        if evidence == "supported":
            _keep_supported(meeting, record)
        meeting.step += 1
        concluded = await team.conclude(meeting, question)
        meeting.log.append(concluded)
        rationale = printed(concluded.opinion, language)
        outcome = calls.outcome(question.id, concluded.answers, rationale=rationale)
    except PlayFailure as failure:
        outcome = calls.failed(question.id, failure)
    parts = tuple(meeting.parts.values())
    return MeetingOutcome(**msgspec.structs.asdict(outcome), parts=parts, log=tuple(meeting.log))


async def _read(meeting: Meeting, team: Doctors, library: Retriever | None, passages: int) -> None:
    """Every doctor reads its part alone. All of them silent end the question."""
    meeting.step += 1

    async def one(part: RecordPart) -> tuple[Opinion, tuple[Passage, ...]]:
        found = () if library is None else await library.search(" ".join(text.text for text in part.texts), passages)
        return await team.read(part, found, trees=meeting.trees), found

    came = await together(*map(one, meeting.parts.values()))
    usable(came)
    for kind, read in zip(meeting.parts, came, strict=True):
        if not isinstance(read, ModelError):
            meeting.wrote(kind, *read)


async def _verify(
    meeting: Meeting, team: Doctors, rounds: int, turns: int, draw: Draw | None, *, from_first: bool
) -> None:
    """Algorithm 1: in a turn whoever has something to say says it; after a round everybody thinks again."""
    for meeting.round in range(1, rounds + 1):
        for meeting.turn in range(1, turns + 1):
            if not await _turn(meeting, team, draw):
                break
        if not meeting.remarks():
            return
        meeting.step += 1
        present = list(meeting.opinions)
        before = [meeting.first(me) if from_first else meeting.opinions[me] for me in present]
        came = await together(*(team.update(me, was, meeting) for me, was in zip(present, before, strict=True)))
        for me, opinion in zip(present, came, strict=True):
            if not isinstance(opinion, ModelError):
                meeting.wrote(me, opinion)
        if not any(one.turn == meeting.turn for one in meeting.remarks()):
            return  # the last turn was silent


async def _turn(meeting: Meeting, team: Doctors, draw: Draw | None) -> bool:
    """Returns whether anybody had something to say."""
    if not (present := [me for me in meeting.opinions if meeting.others(me)]):
        return False
    meeting.step += 1
    wishes = await together(*(team.addressees(me, meeting) for me in present))
    pairs: list[tuple[Kind, Kind]] = []
    for me, wish in zip(present, wishes, strict=True):
        wished = () if isinstance(wish, ModelError) else wish
        others = [one for one in meeting.others(me) if one in wished]
        if others and draw is not None:
            others = [draw(meeting.round, meeting.turn, me).choice(others)]
        pairs += [(me, one) for one in others]
    if not pairs:
        return False
    meeting.step += 1
    said = await together(*(team.remark(me, to, meeting) for me, to in pairs))
    for (me, to), text in zip(pairs, said, strict=True):
        if not isinstance(text, ModelError) and text.strip():
            one = Remark(by=me, to=to, round=meeting.round, turn=meeting.turn, text=text.strip())
            meeting.log.append(one)
    return True


def _keep_supported(meeting: Meeting, record: Record) -> None:
    """Takes out of the trees what the record does not bear."""
    supporter = Supporter(record, read_knowledge())
    for kind, opinion in meeting.opinions.items():
        if isinstance(opinion, EvidenceTree):
            meeting.opinions[kind] = opinion.pruned(supporter.supported)


def printed(opinion: Opinion, language: Language) -> str:
    """Returns an opinion as it is shown."""
    return print_tree(opinion, language) if isinstance(opinion, EvidenceTree) else opinion


class _Asked:
    """A model that thinks for all the doctors and the head."""

    def __init__(self, calls: Calls, language: Language, form: Form, targets: Targets) -> None:
        self._calls, self._language, self._form, self._targets = calls, language, form, targets
        self._say = read_prompts(PROMPTS)[language]

    async def read(self, part: RecordPart, passages: Sequence[Passage], *, trees: bool) -> Opinion:
        found = [self._say("passage", source=p.source, title=p.title, text=p.text[:_LONGEST]) for p in passages]
        told = [self._say("passages", passages="\n\n".join(found))] if found else []
        told += [self._say("part", part=part.read_out()), self._say(part.kind)]
        return await self._opinion(1, f"{part.kind} reads", "reads", told, trees=trees)

    async def addressees(self, me: Kind, meeting: Meeting) -> Sequence[Kind]:
        told = [*self._situation(meeting), self._say(me), self._say("you", me=self._named(me), **_when(meeting))]
        purpose = "{me} speaks, round {round}, turn {turn}".format(me=me, **_when(meeting))
        if self._targets == "random":
            said = await self._ask(meeting.step, purpose, "speaks or not", told, ("yes", "no"))
            return meeting.others(me) if said == "yes" else ()
        chosen: Addressees = await self._ask(meeting.step, purpose, "speaks", told, Addressees)
        return chosen.to

    async def remark(self, me: Kind, to: Kind, meeting: Meeting) -> str:
        who = self._say("you to", me=self._named(me), to=self._named(to), **_when(meeting))
        purpose = "{me} to {to}, round {round}, turn {turn}".format(me=me, to=to, **_when(meeting))
        told = [*self._situation(meeting), self._say(me), who]
        text: str = await self._ask(meeting.step, purpose, "remark", told, None)
        return text

    async def update(self, me: Kind, before: Opinion, meeting: Meeting) -> Opinion:
        remarks = self._remarks(meeting.remarks(to=me)) or self._say("nothing said")
        own = self._say("yours", me=self._named(me), opinion=printed(before, self._language), remarks=remarks)
        purpose, told = f"{me} updates, round {meeting.round}", [*self._situation(meeting), self._say(me), own]
        return await self._opinion(meeting.step, purpose, "updates", told, trees=meeting.trees)

    async def conclude(self, meeting: Meeting, question: Question) -> Concluded:
        told = [*self._situation(meeting, remarks=False), self._say("options", question=show(question))]
        section = "concludes" if meeting.trees else "concludes plainly"
        answer = decision_on(question, ("tree", EvidenceTree)) if meeting.trees else decision_on(question)
        decided = await self._ask(meeting.step, "conclusion", section, told, answer)
        return Concluded(opinion=decided.tree if meeting.trees else decided.rationale, answers=keys_of(decided))

    async def _opinion(self, step: int, purpose: str, section: str, told: Sequence[str], *, trees: bool) -> Opinion:
        if not trees:
            plain: str = await self._ask(step, purpose, f"{section} plainly", told, None)
            return plain
        said = await self._ask(step, purpose, section, told, EvidenceTree if self._form == "typed" else None)
        if isinstance(said, EvidenceTree):
            return said
        try:
            return parse_tree(said)
        except ModelError as failure:
            self._calls.unusable(purpose, failure)
            raise

    async def _ask(self, step: int, purpose: str, section: str, told: Sequence[str], answer: Answer) -> Any:
        system = self._say(section)
        if section in ("reads", "updates"):
            system = f"{system}\n\n{self._say(f'{self._form} tree')}"
        messages: list[Message] = [("system", system), ("user", "\n\n".join(told))]
        return (await self._calls.ask(messages, round_trip=step, purpose=purpose, answer=answer)).value

    def _situation(self, meeting: Meeting, *, remarks: bool = True) -> list[str]:
        """Returns the record, what everybody thinks, and what was said: the same for all whom a turn asks."""
        told = [self._say("record", record="\n".join(part.read_out() for part in meeting.parts.values()))]
        for kind, opinion in meeting.opinions.items():
            told.append(self._say("opinion", doctor=self._named(kind), opinion=printed(opinion, self._language)))
        said = self._remarks(meeting.remarks()) if remarks else ""
        return [*told, self._say("remarks", remarks=said)] if said else told

    def _remarks(self, remarks: Sequence[Remark]) -> str:
        lines = [
            self._say("remark made", turn=one.turn, by=self._named(one.by), to=self._named(one.to), text=one.text)
            for one in remarks
        ]
        return "\n".join(lines)

    def _named(self, kind: Kind) -> str:
        return self._say(f"doctor {kind}")


def _when(meeting: Meeting) -> dict[str, int]:
    return {"round": meeting.round, "turn": meeting.turn}
