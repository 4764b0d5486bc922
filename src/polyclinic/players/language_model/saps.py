"""SAPS, the state-aware patient simulator: state tracker, memory bank, response generator.

Paper: Liao et al., Automatic Interactive Evaluation with State Aware Patient Simulator, arXiv:2403.08495, §4.2.
Defaults: `tracker="staged"`, one to three calls in a row before the reply, as the paper. `tracker="parallel"` asks the
same five questions at once and decides in the same way: one round trip a turn, five calls.

A turn is effective where the tracker says that the information holds what answers it, as in the paper. What it gives of
that information is told as it stands there: a passage in other words is matched to the nearest one, and counted. The
opening is the source's, without a call. The paper's tracker answers kind and specificity with a bare category.

Where we differ: answers are typed, and one that cannot be read fails the turn under its name; in the authors' code
whatever was not one exact phrase passed for a successful inquiry. In a ward, which the paper does not have, ordered
examinations go to the examiner.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from polyclinic.errors import PlayFailure, ScriptError, UnreadableReply
from polyclinic.events import ADVICE, INQUIRY, State
from polyclinic.language.content_words import terms
from polyclinic.models.model import Message, Model, Reply
from polyclinic.players.language_model.mind import describe, joined, known_lines
from polyclinic.players.language_model.speaking import dialogue, nearest, standing
from polyclinic.players.player import Ask, PatientTurn, Purpose
from polyclinic.players.roles.patient import Patient
from polyclinic.players.rules.patient import voice_of
from polyclinic.players.rules.wording import opening
from polyclinic.prompts import Prompts, read_prompts

PROMPTS = Path(__file__).with_suffix(".md")

Tracker = Literal["staged", "parallel"]

Passage = Annotated[str, msgspec.Meta(max_length=4000)]


class Held(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the patient's information holds of what the doctor asks for or advises.

    The analysis comes first: a model writes from left to right, and must not decide before it has looked.
    """

    analysis: Annotated[str, msgspec.Meta(max_length=8000)] = ""
    relevant: bool
    texts: Annotated[tuple[Passage, ...], msgspec.Meta(max_length=20)]


class HeldInWard(Held, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The same, and which examinations the doctor wants done or read out."""

    examinations: Annotated[tuple[Passage, ...], msgspec.Meta(max_length=20)]


class SaidInReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The patient's reply."""

    say: Annotated[str, msgspec.Meta(min_length=1, max_length=8000)]


class Tracked(msgspec.Struct, frozen=True):
    """What the tracker made of a doctor's turn: its state, and the text that answers it or the examinations ordered.

    `near` counts the passages that it gave in other words than the information's.
    """

    state: State
    texts: tuple[str, ...] = ()
    examinations: tuple[str, ...] = ()
    near: int = 0


KINDS = {
    "inquiry": INQUIRY,
    "advice": ADVICE,
    "demand": (State.DEMAND,),
    "other topic": (State.OTHER_TOPIC,),
    "conclusion": (State.CONCLUSION,),
}
"""The five kinds and their states; of three, effective, ineffective and ambiguous."""

QUESTIONS = ("kind", "specific inquiry", "relevant inquiry", "specific advice", "relevant advice")
"""What the tracker asks: sections of the prompts, and purposes of the calls."""


class Saps:
    """The state-aware patient, a mind for `Patient`. One model plays tracker and generator.

    Both trackers give the same states with a model that answers the same question always in the same way; "parallel"
    trades up to four calls a turn that are not needed for one or two round trips.
    """

    tracks = True

    def __init__(
        self, model: Model, *, name: str, tracker: Tracker = "staged", temperature: float | None = None
    ) -> None:
        self.name = name
        self._model, self._tracker, self._temperature = model, tracker, temperature

    async def answer(self, ask: Ask[Any], role: Patient) -> object:
        """Opens, or replies to what the doctor last said; fails as `Model.ask`. Any other ask is a `ScriptError`."""
        language = role.presentation.language
        prompts = read_prompts(PROMPTS)[language]
        # 1. Initialization: the complaint in the first person, the same for every doctor and model.
        if ask.purpose is Purpose.OPEN:
            said = role.first_words() or opening(role.presentation.complaint, language, voice_of(role))
            return PatientTurn(say=said, state=State.OPENING)
        if ask.purpose is not Purpose.REPLY:
            raise ScriptError(f"the state-aware patient opens and replies; it was asked to {ask.purpose}")
        # 2. The state tracker.
        tracked = await self.track(role)
        if tracked.state is State.CONCLUSION:
            return PatientTurn(say=prompts("goodbye"), state=tracked.state, leave=True)
        if tracked.examinations:
            comma = "、" if language == "zh" else ", "
            request = prompts("request", examinations=comma.join(tracked.examinations))
            return PatientTurn(say=request, to="examiner", state=tracked.state)
        # 3. The memory bank, and 4. the response generator.
        said = await self._reply(remember(tracked, role, prompts))
        return PatientTurn(say=said, state=tracked.state, recalled=len(tracked.texts), near=tracked.near)

    async def track(self, role: Patient) -> Tracked:
        """Says what the doctor's last turn is to this patient, whoever replies; fails as `Model.ask`."""
        prompts = read_prompts(PROMPTS)[role.presentation.language]
        if not role.heard().strip():
            return Tracked(State.AMBIGUOUS_INQUIRY)

        async def ask(question: str) -> Any:
            answer: Any = tuple(KINDS) if question == "kind" else ("specific", "ambiguous")
            blanks = {}
            if question.startswith("relevant"):
                answer, examiner = (HeldInWard, " " + prompts("examiner")) if role.setting == "ward" else (Held, "")
                blanks = {"information": information(role), "examiner": examiner}
            messages: list[Message] = [("system", prompts(question, **blanks)), ("user", role.heard())]
            return (await self._ask(messages, answer, question)).value

        if self._tracker == "staged":
            return await decide(ask, role)
        asked = {question: asyncio.ensure_future(ask(question)) for question in QUESTIONS}
        for answer in await asyncio.gather(*asked.values(), return_exceptions=True):
            # A failure counts where its answer is needed, as it does in stages; what ends the run ends it at once.
            if isinstance(answer, BaseException) and not isinstance(answer, PlayFailure):
                raise answer
        return await decide(asked.__getitem__, role)

    async def _ask(self, messages: list[Message], answer: Any, purpose: str) -> Reply:
        return await self._model.ask(messages, answer=answer, temperature=self._temperature, purpose=purpose)

    async def _reply(self, messages: list[Message]) -> str:
        reply = await self._ask(messages, SaidInReply, "reply")
        said: str = reply.value.say.strip()
        if not said:
            raise UnreadableReply("the patient's reply is blank", text=reply.text, attempts=reply.attempts)
        return said


async def decide(answer_to: Callable[[str], Awaitable[Any]], role: Patient) -> Tracked:
    """Classifies the doctor's turn in three stages (§4.2.2), by the answers to some of `QUESTIONS`."""
    # 2.1 Which of five kinds.
    kind = await answer_to("kind")
    if kind not in ("inquiry", "advice"):
        return Tracked(KINDS[kind][0])
    effective, ineffective, ambiguous = KINDS[kind]
    # 2.2 Specific or ambiguous.
    if await answer_to(f"specific {kind}") == "ambiguous":
        return Tracked(ambiguous)
    # 2.3 In the patient's information or not, and which text.
    held: Held = await answer_to(f"relevant {kind}")
    if isinstance(held, HeldInWard) and (ordered := standing(held.examinations, role.heard())):
        return Tracked(effective, examinations=ordered)
    return recalled(held, role, effective) if held.relevant else Tracked(ineffective)


def recalled(held: Held, role: Patient, state: State) -> Tracked:
    """Returns an effective turn with the passages that answer it, as they stand in the patient's information.

    What does not stand there is matched to the nearest passage; what was said to be there and not given, to the one
    nearest to the doctor's words.
    """
    known = information(role)
    texts: dict[str, None] = {}
    near = 0
    for given in held.texts:
        found = standing([given], known)
        near += not found and bool(given.strip())
        texts |= dict.fromkeys(found or filter(None, [nearest(given, known) if given.strip() else ""]))
    telling = [text for text in texts if terms(text, role.presentation.language)]
    if not telling:
        telling, near = [nearest(role.heard(), known)], max(near, 1)
    return Tracked(state, tuple(telling), near=near)


def remember(tracked: Tracked, role: Patient, prompts: Prompts) -> list[Message]:
    """Returns what the response generator is told: the three memories (§4.2.3).

    Long-term memory gives the extracted text, in the two effective states only; working memory what the state
    requires of the reply; short-term memory the dialogue so far. Where the patient has its whole record, as in the
    paper, nothing else goes to the generator; else it is told who it is, too.
    """
    known = prompts("known", texts="\n".join(tracked.texts)) + "\n" if tracked.texts else ""
    ward = " ward" if tracked.state is State.DEMAND and role.setting == "ward" else ""
    requirement = prompts(f"require {tracked.state}{ward}")
    messages: list[Message] = [("system", prompts("generator", person=_person(role, prompts)))]
    # The last one is the doctor's turn: it stands with what changes, at the end.
    before = dialogue(role.seen, role, SaidInReply)[:-1]
    if before[:1] and before[0][0] != "user":
        messages.append(("user", prompts("greeting")))
    messages += before
    messages.append(("user", prompts("reply", heard=role.heard(), known=known, requirement=requirement)))
    return joined(messages)


def _person(role: Patient, prompts: Prompts) -> str:
    """Returns who speaks, as a sentence for the generator; "" where it gets of the record what was extracted alone."""
    if role.staging.whole:
        return ""
    space = " " if role.presentation.language == "en" else ""
    return space + prompts("person", presentation=describe(msgspec.structs.replace(role.presentation, about="")))


def information(role: Patient) -> str:
    """Returns everything that the patient knows and may say: the whole as it stands, or line by line."""
    if role.vignette:
        return role.vignette
    told = known_lines(role.history, role.findings, role.presentation.language)
    return "\n".join([f"- {describe(role.presentation)}", *told])
