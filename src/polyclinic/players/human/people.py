"""A person as the doctor, the nurse or the patient at the desk, or as the doctor on a page."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Protocol, TypeVar

from polyclinic.cases.presentation import Question
from polyclinic.cases.record import read_out
from polyclinic.cases.report import Diagnosis
from polyclinic.errors import ScriptError
from polyclinic.events import Role
from polyclinic.knowledge.acuity import Level
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.language import Language
from polyclinic.players.human.advice import Hint, Rung, give_hint
from polyclinic.players.human.desk import Desk, DeskSeat, NoAnswer, read_says
from polyclinic.players.human.moves import ConcludeMove, HintMove, NoteMove, OrderMove, ReportMove, SayMove
from polyclinic.players.language_model.mind import describe, known_lines
from polyclinic.players.player import Ask, Choice, DoctorTurn, Mind, NextStep, PatientTurn, Purpose, Triage, Urgency
from polyclinic.players.roles.doctor import Doctor
from polyclinic.players.roles.patient import Patient
from polyclinic.players.roles.staff import Nurse

T = TypeVar("T")

_LIKE = 0.75  # how like a name what is typed must be to mean it


class OrderNames:
    """The examinations of the knowledge by their names, synonyms and items, in both languages."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._titles: dict[str, dict[Language, str]] = {}
        self._names: dict[str, set[str]] = {}
        for id, examination in knowledge.examinations.items():
            self._titles[id] = {"en": examination.name.en, "zh": examination.name.zh}
            names = [*examination.names(), *(name for item in examination.items for name in item.names())]
            self._names[id] = {name.casefold() for name in names}

    def titles(self, typed: str, language: Language) -> list[str]:
        """Returns the titles that typed text may mean, the nearest first; all titles if it is empty.

        A full name counts first, then the beginning or all words of a name, then a similar name. Titles that contain
        the text precede those whose items do.
        """
        word = typed.strip().casefold()
        parts = word.split()
        found = (
            [id for id, names in self._names.items() if word in names]
            or [id for id, names in self._names.items() if any(name.startswith(word) for name in names)]
            or [id for id, names in self._names.items() if any(all(p in name for p in parts) for name in names)]
        )
        if not found:
            near = get_close_matches(word, [name for names in self._names.values() for name in names], cutoff=_LIKE)
            found = [id for name in near for id, names in self._names.items() if name in names]
        titles = list(dict.fromkeys(self._titles[id][language] for id in found))
        return sorted(titles, key=lambda title: not all(part in title.casefold() for part in parts))

    def meant(self, typed: str, language: Language) -> list[str]:
        """Returns the title that an order means; several where it is not clear, none where there is no such name."""
        titles = self.titles(typed, language)
        return [title for title in titles if title.casefold() == typed.strip().casefold()][:1] or titles


_PARTS = ("diagnoses", "symptoms", "examinations", "rationale", "treatment")
_LIKELY = re.compile(r"(?P<name>.+?)[\s,，]*(?P<percent>\d{1,3})\s*[%％]")
_HINTS = (Rung.TURN, Rung.DISEASES)  # what a hint tells, and one more at the same turn; after that nothing new
_SEPARATOR = re.compile(r"[,，、;；]")


order_names_of = functools.lru_cache(maxsize=4)(OrderNames)
"""Returns the names by which orders are completed; they take a moment to make."""

MoveNow = SayMove | OrderMove | ConcludeMove | ReportMove | NoteMove | HintMove
"""A move that is the doctor's to make where it sits."""


class Chair(Protocol):
    """Where a person sits; only moves that fit the purpose come from it."""

    async def next(self, purpose: Purpose, role: Doctor) -> MoveNow:
        """Waits for the next move."""

    def show_hint(self, hint: Hint) -> None:
        """Shows a hint."""


class SeatedDoctor:
    """A mind for the `Doctor` of one visit, by the moves that come from a chair."""

    name = "human"
    reads = False

    def __init__(self, chair: Chair, adviser: Mind[Doctor]) -> None:
        self._chair, self._adviser = chair, adviser

    async def answer(self, ask: Ask[Any], role: Doctor) -> object:
        """Waits for the move that answers."""
        if ask.purpose not in (Purpose.SPEAK, Purpose.REPORT, Purpose.REVISE):
            raise ScriptError(f"a person in the doctor's chair cannot be asked to {ask.purpose}")
        say = read_says(Role.DOCTOR)[role.presentation.language]
        while True:
            match await self._chair.next(ask.purpose, role):
                case SayMove(text=text):
                    return DoctorTurn(text)
                case OrderMove(names=names):
                    return DoctorTurn(say["please"].format(names=say["and"].join(names)))
                case ConcludeMove(text=text):
                    return DoctorTurn(text or say["thanks"], conclude=True)
                case ReportMove() as move:
                    return move.report
                case HintMove(rung=rung):
                    self._chair.show_hint(await give_hint(self._adviser, rung, role))


class HumanDoctor(DeskSeat):
    """The doctor of one visit at the desk, which is a chair too."""

    sees = True
    role = Role.DOCTOR
    purposes = (Purpose.SPEAK, Purpose.REPORT, Purpose.REVISE, Purpose.CHOOSE, Purpose.PLAN, Purpose.NEXT_STEP)
    commands = ("undo", "leave", "done", "order", "list", "hint", "back")

    def __init__(self, desk: Desk, seat: str, names: OrderNames, adviser: Mind[Doctor]) -> None:
        super().__init__(desk, seat)
        self._names, self._seated = names, SeatedDoctor(self, adviser)
        self._is_met = False
        self._hints = self._hints_now = 0
        self._report: ReportMove | None = None

    async def play(self, ask: Ask[Any], role: Doctor, *, goes_on: bool) -> object:
        """Shows what happened, and returns the answer."""
        is_question = ask.purpose is Purpose.CHOOSE
        if not self._is_met:
            self._is_met = True
            self.show("\n" + self.say["comes"].format(who=describe(role.presentation)))
            for picture in role.pictures:
                self.show(self.say["picture"].format(where=picture.shown.name))
            if is_question:
                self.show(self.say["record alone"])
            if role.record is not None:
                for line in known_lines(role.record.history, role.record.findings, self.language):
                    self.show(f"  {line}")
            self.show(self.say["question help" if is_question else "short help"])
        self.show_events(role)
        self._hints_now = 0
        if ask.purpose is Purpose.NEXT_STEP:
            return await self._next_step(ask.among, role)
        if ask.question is not None:
            return await self._option(ask.question, none=is_question)
        return await self._seated.answer(ask, role)

    async def next(self, purpose: Purpose, role: Doctor) -> MoveNow:
        """Asks for the next move."""
        if purpose is not Purpose.SPEAK:
            return await self._form()

        def read(line: str, command: str) -> SayMove | ConcludeMove | HintMove | list[str]:
            match command:
                case "done":
                    return ConcludeMove(text=line)
                case "order":
                    return [part.strip() for part in _SEPARATOR.split(line) if part.strip()]
                case "hint":
                    return HintMove(rung=_HINTS[min(self._hints_now, 1)])
                case "list":
                    raise NoAnswer(", ".join(self._names.titles(line, self.language)) or self.say["unknown"])
                case "" if line:
                    return SayMove(text=line)
            raise NoAnswer(self.say["help" if command else "short help"])

        while True:
            move = await self.ask(self.say["you"].format(left=role.turns_left()), read, stays="hint")
            if not isinstance(move, list):
                return move
            if ordered := await self._ordered(move):
                return OrderMove(names=ordered)

    async def _ordered(self, wanted: list[str]) -> tuple[str, ...]:
        """Returns the examinations that are wanted, each by its name in full; none where one is not clear."""
        if not wanted:
            self.show(self.say["order what"])
        ordered = []
        for part in wanted:
            meant = self._names.meant(part, self.language)
            if len(meant) > 1:
                self.show("  ".join(f"{number} {title}" for number, title in enumerate(meant, start=1)))
                number = await self.ask(self.say["which"], lambda line, _: line)
                if not (number.isdecimal() and 1 <= int(number) <= len(meant)):
                    self.show(self.say["not ordered"])
                    return ()
                meant = [meant[int(number) - 1]]
            elif not meant:
                # A record of the world may hold what our knowledge has no name for.
                self.show(self.say["as written"].format(name=part))
            ordered.append((meant or [part])[0])
        return tuple(ordered)

    def show_hint(self, hint: Hint) -> None:
        """Shows what a doctor by rules would do next or, asked again, which diseases it thinks of."""
        if self._hints_now < len(_HINTS):
            self.desk.hinted(self.seat, hint.rung)
        self._hints += 1
        self._hints_now += 1
        if hint.rung is Rung.TURN:
            self.show(self.say["hint done" if hint.step else "hint turn"].format(turn=hint.turn))
            return
        told = (
            diagnosis.name if diagnosis.probability is None else f"{diagnosis.name} {100 * diagnosis.probability:.0f} %"
            for diagnosis in hint.diseases
        )
        self.show(self.say["hint diseases"].format(names=", ".join(told)))

    async def _form(self) -> ReportMove:
        """Asks for the five parts of a report, line by line; without a diagnosis, the earlier report is kept."""

        def read(line: str, command: str) -> tuple[str, bool]:
            if command not in ("", "back"):
                raise NoAnswer(self.say["form help"])
            return line, command == "back"

        self.show(self.say["form"])
        found: dict[str, list[str]] = {part: [] for part in _PARTS}
        part = 0
        while part < len(_PARTS):
            lines = found[_PARTS[part]]
            line, back = await self.ask(self.say[_PARTS[part]].format(number=len(lines) + 1), read)
            if back:
                part = max(0, part - (not lines))
                found[_PARTS[part]].clear()
            elif line:
                lines.append(line)
            elif self._report is not None and not part and not lines:
                break
            else:
                part += 1
        else:
            named = tuple(map(_diagnosis, found.pop("diagnoses")))
            points: dict[str, Any] = {name: tuple(lines) for name, lines in found.items()}
            self._report = ReportMove(diagnoses=named, **points)
        for count, told in ((self._hints, "hints"), (self.desk.taken_back(self.seat), "taken back")):
            if count:
                self.desk.show(self.say[told].format(count=count))
        return self._report

    async def _option(self, question: Question, *, none: bool) -> Choice:
        self.show(question.stem)
        answers = dict.fromkeys(("0", "-") if none else (), Choice(None))
        for number, (key, text) in enumerate(question.options.items(), start=1):
            self.show(f"  {number} {text}")
            answers[str(number)] = Choice(key)
        return await self._pick(self.say["choose or none" if none else "choose"].format(most=number), answers)

    async def _next_step(self, among: Sequence[str], role: Doctor) -> NextStep:
        answers = dict.fromkeys(("", "t", "treat"), NextStep(self.say["reason"]))
        answers |= dict.fromkeys(("a", "admit"), NextStep(self.say["reason"], "admit"))
        for number, id in enumerate(among, start=1):
            self.show(f"  {number} {id if role.post is None else role.post.departments.get(id, id)}")
            answers[str(number)] = NextStep(self.say["reason"], "refer", id)
        return await self._pick(self.say["onward"], answers)

    async def _pick(self, prompt: str, answers: Mapping[str, T]) -> T:
        def read(line: str, command: str) -> T:
            if command or line.casefold() not in answers:
                raise NoAnswer(f"{'' if command else self.say['no answer']} {self.say['question help']}".strip())
            return answers[line.casefold()]

        return await self.ask(prompt, read)


def _diagnosis(line: str) -> Diagnosis:
    likely = _LIKELY.fullmatch(line)
    if likely is None or int(likely["percent"]) > 100:
        return Diagnosis(line)
    return Diagnosis(likely["name"], probability=int(likely["percent"]) / 100)


_ACUITIES: dict[str, Urgency] = {"e": "emergency", "u": "urgent", "r": "routine"}
_LEVELS: dict[str, Level] = {"1": 1, "2": 2, "3": 3, "4": 4, "5": 5}


class HumanNurse(DeskSeat):
    """The nurse at the desk, who receives one patient."""

    role = Role.NURSE
    purposes = (Purpose.TRIAGE,)
    commands = ("undo", "leave")

    async def play(self, ask: Ask[Any], role: Nurse, *, goes_on: bool) -> Triage:
        """Returns a judgement, or a question to the patient."""
        left, reason = role.questions_left(), self.say["reason"]
        departments = dict(enumerate(ask.among, start=1))
        told = [self.say["told"].format(asked=asked, told=answered) for asked, answered in role.exchanges()]
        if goes_on:
            self.show(told[-1])
        else:
            names = [f"{number} {role.departments.get(id, id)}" for number, id in departments.items()]
            self.show("\n" + self.say["comes"].format(who=describe(role.presentation)))
            for line in (*read_out(role.vital_signs(), self.language), *told, "  ".join(names)):
                self.show(line)

        def read(line: str, command: str) -> Triage:
            if command:
                raise NoAnswer(self.say["help"])
            if left > 0 and line.endswith(("?", "？")):
                # The judgement in it counts for nothing: the nurse is asked again before it could.
                return Triage(ask.among[0], "emergency", reason, ask=line)
            number, _, soon = line.casefold().partition(" ")
            department = departments.get(int(number)) if number.isdecimal() else None
            if department and (level := _LEVELS.get(soon.strip())):
                return Triage.at(level, department, reason)
            if department and (acuity := _ACUITIES.get(soon.strip())):
                return Triage(department, acuity, reason)
            raise NoAnswer(self.say["wrong"].format(n=len(departments)))

        later = self.say["asked" if left > 0 else "asked last"].format(left=left)
        first = (self.say["may ask"].format(left=left) if left > 0 else "") + self.say["ask"]
        prompt = first if self.desk.is_first("how the nurse answers") else later
        triage = await self.ask(prompt, read, later=later)
        if triage.ask:
            self.desk.wait_for_answer()
        else:
            self.desk.stand_up()
        return triage


class HumanPatient(DeskSeat):
    """The patient of one visit at the desk."""

    role = Role.PATIENT
    purposes = (Purpose.OPEN, Purpose.REPLY)
    commands = ("undo", "leave", "to examiner", "go")
    _knows_who_it_is = False

    async def play(self, ask: Ask[Any], role: Patient, *, goes_on: bool) -> PatientTurn:
        """Shows what happened, and returns what is said."""
        if not self._knows_who_it_is:
            self.show("\n" + self.say["are"].format(who=describe(role.presentation)))
            for line in known_lines(role.history, role.findings, self.language):
                self.show(f"  {line}")
            self.show(self.say["help"])
        self._knows_who_it_is = True
        self.show_events(role)

        def read(line: str, command: str) -> PatientTurn:
            match command:
                case "to examiner":
                    return PatientTurn(line or self.say["request"], to="examiner")
                case "go":
                    return PatientTurn(line or self.say["goodbye"], leave=True)
                case "" if line:
                    return PatientTurn(line)
            raise NoAnswer(self.say["help"])

        return await self.ask(self.say["you"], read)
