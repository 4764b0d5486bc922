"""A person at the desk as the doctor, the nurse or the patient, or on a page in the doctor's chair.

The doctor asks, orders by name, reports by a form, and gets hints of a doctor by rules.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from polyclinic.cases.presentation import Question
from polyclinic.cases.record import read_out
from polyclinic.cases.report import Diagnosis, Report
from polyclinic.errors import ScriptError
from polyclinic.events import Role
from polyclinic.knowledge.acuity import Level
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.language import Language
from polyclinic.players.human.advice import Adviser, Rung
from polyclinic.players.human.desk import Desk, DeskSeat, read_says
from polyclinic.players.human.moves import ConcludeMove, HintMove, NoteMove, OrderMove, ReportMove, SayMove
from polyclinic.players.language_model.mind import describe, known_lines
from polyclinic.players.player import Ask, Choice, DoctorTurn, NextStep, PatientTurn, Purpose, Triage, Urgency
from polyclinic.players.roles.doctor import Doctor
from polyclinic.players.roles.patient import Patient
from polyclinic.players.roles.staff import Nurse

_LIKE = 0.75
_ALIKE: dict[Language, float] = {"en": 0.75, "zh": 0.65}
"""How alike a word in a sentence is to a name that was meant; a Chinese name has few letters, one of them wrong."""

_ARTICLE = re.compile(r"^(?:an?|the|some)\s+", re.IGNORECASE)


class OrderNames:
    """The examinations of the knowledge by their names, synonyms and items, in both languages."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._titles: dict[str, dict[Language, str]] = {}
        self._names: dict[str, set[str]] = {}
        for id, examination in knowledge.examinations.items():
            self._titles[id] = {"en": examination.name.en, "zh": examination.name.zh}
            names = [*examination.names(), *(name for item in examination.items for name in item.names())]
            self._names[id] = {name.casefold() for name in names}
        self._spelt = {_letters(name) for names in self._names.values() for name in names}

    def titles(self, typed: str, language: Language) -> list[str]:
        """Returns the titles that something typed may mean, the nearest first; all of them where it is empty.

        Those whose name it is in full; else those of which a name begins with it, or holds all its words; else those
        whose name it nearly is. Of these, titles that hold what was typed come before those one of whose items does.
        """
        word = typed.strip().casefold()
        parts = word.split()
        found = self._named(word) or self._nearly_named(word, _LIKE)
        titles = list(dict.fromkeys(self._titles[id][language] for id in found))
        return sorted(titles, key=lambda title: not all(part in title.casefold() for part in parts))

    def meant(self, typed: str, language: Language) -> list[str]:
        """Returns the title that an order means; several where it is not clear, none where there is no such name."""
        titles = self.titles(typed, language)
        return [title for title in titles if title.casefold() == typed.strip().casefold()][:1] or titles

    def misspelt(self, line: str, language: Language) -> dict[str, str]:
        """Returns what a line orders by names that nearly are one of ours, each with the title that it nearly is."""
        say = read_says(_SAYS)[language]
        order = re.fullmatch(say["orders"], line.strip(), re.IGNORECASE)
        if order is None:
            return {}
        found = {}
        for part in re.split(say["between orders"], order["names"]):
            typed = _ARTICLE.sub("", part.strip())
            if not typed or self._named(typed.casefold()) or _letters(typed) in self._spelt:
                continue
            if near := self._nearly_named(typed.casefold(), _ALIKE[language]):
                found[typed] = self._titles[near[0]][language]
        return found

    def _named(self, word: str) -> list[str]:
        """Returns the ids of which a name is this word, or else begins with it, or else holds all its parts."""
        parts = word.split()
        return (
            [id for id, names in self._names.items() if word in names]
            or [id for id, names in self._names.items() if any(name.startswith(word) for name in names)]
            or [id for id, names in self._names.items() if any(all(p in name for p in parts) for name in names)]
        )

    def _nearly_named(self, word: str, like: float) -> list[str]:
        near = get_close_matches(word, [name for names in self._names.values() for name in names], cutoff=like)
        return [id for name in near for id, names in self._names.items() if name in names]


def _letters(name: str) -> str:
    """Returns a name without what people write in different ways: "X-ray", "xray", "x ray"."""
    return re.sub(r"[\W_]", "", name.casefold())


_SAYS = Path(__file__).with_name("doctor.yaml")
_COMMANDS = ("undo", "leave", "done", "order", "list", "hint", "back")
_PARTS = ("diagnoses", "symptoms", "examinations", "rationale", "treatment")
_LIKELY = re.compile(r"(?P<name>.+?)[\s,，]*(?P<percent>\d{1,3})\s*[%％]")
_HINTS = (Rung.TURN, Rung.DISEASES)  # what a hint tells, and one more at the same turn; after that nothing new
_SEPARATOR = re.compile(r"[,，、;；]")


order_names_of = functools.lru_cache(maxsize=4)(OrderNames)
"""Returns the names by which orders are completed; they take a moment to make."""


class HumanDoctor:
    """A mind for the `Doctor` of one visit."""

    name = "human"

    def __init__(self, desk: Desk, seat: str, names: OrderNames, adviser: Adviser) -> None:
        self._desk, self._seat, self._names, self._adviser = desk, seat, names, adviser
        self._place = DeskSeat(desk, seat, _SAYS, _COMMANDS)
        self._is_met = False
        self._hints = self._hints_now = 0
        self._report: Report | None = None
        self._asked_back = ""

    async def answer(self, ask: Ask[Any], role: Doctor) -> object:
        """Asks the person, until the answer is one."""
        say = read_says(_SAYS)[role.presentation.language]
        async with self._place.taken():
            self._tell(role, say, is_question=ask.purpose is Purpose.CHOOSE)
            self._hints_now = 0
            match ask.purpose:
                case Purpose.SPEAK:
                    return await self._turn(role, say)
                case Purpose.REPORT | Purpose.REVISE:
                    self._report = await self._form(say)
                    if self._hints:
                        self._desk.show(say["hints"].format(count=self._hints))
                    if taken_back := self._desk.taken_back(self._seat):
                        self._desk.show(say["taken back"].format(count=taken_back))
                    return self._report
                case Purpose.CHOOSE | Purpose.PLAN if ask.question is not None:
                    return Choice(await self._option(ask.question, say, none=ask.purpose is Purpose.CHOOSE))
                case Purpose.NEXT_STEP:
                    return await self._onward(ask, role, say)
        raise ScriptError(f"a person at the terminal cannot be asked to {ask.purpose}")

    def _tell(self, role: Doctor, say: dict[str, str], *, is_question: bool) -> None:
        """Shows what is new since the last answer; if a question comes first, there is no talk, and why it comes."""
        show = self._place.show
        if not self._is_met:
            self._is_met = True
            show("\n" + say["comes"].format(who=describe(role.presentation)))
            for picture in role.pictures:
                show(say["picture"].format(where=picture.shown.name))
            if is_question:
                show(say["record alone"])
            if role.record is not None:
                record, language = role.record, role.presentation.language
                for line in known_lines(record.history, record.findings, language):
                    show(f"  {line}")
            show(say["question help" if is_question else "short help"])
        self._place.show_events(role, Role.DOCTOR, say)

    async def _turn(self, role: Doctor, say: dict[str, str]) -> DoctorTurn:
        objection = partial(self._unclear, say=say, language=role.presentation.language)
        while True:
            line, command = await self._place.read(
                say["you"].format(left=role.turns_left()), say, objection, stays="hint"
            )
            if command == "done":
                return DoctorTurn(line or say["thanks"], conclude=True)
            if command == "order":
                if ordered := await self._ordered(line, role, say):
                    return DoctorTurn(say["please"].format(names=say["and"].join(ordered)))
            elif command == "hint":
                await self._hint(role, say)
            elif line and not command:
                return DoctorTurn(line)

    def _unclear(self, line: str, say: dict[str, str], language: Language) -> str:
        """Returns what is asked back of a line that would be a turn for nothing; "" where it is clear."""
        rest, command = self._place.command(line)
        if command == "list":
            return ", ".join(self._names.titles(rest, language)) or say["unknown"]
        if command:
            return "" if command in _COMMANDS and command != "back" else say["help"].rstrip()
        if not line:
            return say["short help"]
        if (told := self._place.without_sign(line, say)) or line == self._asked_back:
            return told
        misspelt = self._names.misspelt(line, language)
        if not misspelt:
            return ""
        self._asked_back = line
        near = say["and"].join(misspelt.values())
        return say["misspelt"].format(typed=say["and"].join(misspelt), near=near)

    async def _ordered(self, line: str, role: Doctor, say: dict[str, str]) -> list[str]:
        """Returns the examinations that a line names, each by its name in full; none where one is not clear."""
        wanted = [part.strip() for part in _SEPARATOR.split(line) if part.strip()]
        if not wanted:
            self._place.show(say["order what"])
        ordered = []
        for part in wanted:
            meant = self._names.meant(part, role.presentation.language)
            if len(meant) > 1:
                self._place.show("  ".join(f"{number} {title}" for number, title in enumerate(meant, start=1)))
                number, _ = await self._place.read(say["which"], say)
                if not (number.isdecimal() and 1 <= int(number) <= len(meant)):
                    self._place.show(say["not ordered"])
                    return []
                meant = [meant[int(number) - 1]]
            elif not meant:
                # A record of the world may hold what our knowledge has no name for.
                self._place.show(say["as written"].format(name=part))
            ordered.append((meant or [part])[0])
        return ordered

    async def _hint(self, role: Doctor, say: dict[str, str]) -> None:
        """Says what a doctor by rules would do next; asked again, which diseases it thinks of."""
        self._hints += 1
        self._hints_now += 1
        if self._hints_now <= len(_HINTS):
            self._desk.hinted(self._seat, _HINTS[self._hints_now - 1])
        if self._hints_now == 1:
            hint = await self._adviser.hint(Rung.TURN, role)
            self._place.show(say["hint done" if hint.step else "hint turn"].format(turn=hint.turn))
            return
        hint = await self._adviser.hint(Rung.DISEASES, role)
        told = [
            diagnosis.name if diagnosis.probability is None else f"{diagnosis.name} {100 * diagnosis.probability:.0f} %"
            for diagnosis in hint.diseases
        ]
        self._place.show(say["hint diseases"].format(names=", ".join(told)))

    async def _form(self, say: dict[str, str]) -> Report:
        """Asks for the five parts of a report, each line by line, an empty line after the last."""
        self._place.show(say["form"])
        found: dict[str, list[str]] = {part: [] for part in _PARTS}
        part = 0
        while part < len(_PARTS):
            name = _PARTS[part]
            objection = partial(self._not_in, say=say, commands=("back", "undo", "leave"), help=say["form help"])
            line, command = await self._place.read(say[name].format(number=len(found[name]) + 1), say, objection)
            if command == "back":
                part = max(0, part - (not found[name]))
                found[_PARTS[part]].clear()
            elif line and not command:
                found[name].append(line)
            elif command:  # of a session of before, that asked for help
                continue
            elif self._report is not None and name == "diagnoses" and not found[name]:
                return self._report
            else:
                part += 1
        named = tuple(map(_diagnosis, found["diagnoses"]))
        rest: dict[str, Any] = {part: tuple(found[part]) for part in _PARTS[1:]}
        return Report(diagnoses=named, **rest)

    async def _option(self, question: Question, say: dict[str, str], *, none: bool) -> str | None:
        self._place.show(question.stem)
        keys = list(question.options)
        for number, key in enumerate(keys, start=1):
            self._place.show(f"  {number} {question.options[key]}")
        answers = {str(number) for number in range(1, len(keys) + 1)} | ({"0", "-"} if none else set())
        objection = partial(self._not_in, say=say, help=say["question help"], answers=answers)
        prompt = say["choose or none" if none else "choose"].format(most=len(keys))
        while True:
            line, _ = await self._place.read(prompt, say, objection)
            if none and line in ("0", "-"):
                return None
            if line.isdecimal() and 1 <= int(line) <= len(keys):
                return keys[int(line) - 1]

    async def _onward(self, ask: Ask[Any], role: Doctor, say: dict[str, str]) -> NextStep:
        among = list(ask.among)
        post = role.post
        for number, id in enumerate(among, start=1):
            self._place.show(f"  {number} {id if post is None else post.departments.get(id, id)}")
        answers = {"", "t", "treat", "a", "admit", *map(str, range(1, len(among) + 1))}
        objection = partial(self._not_in, say=say, help=say["question help"], answers=answers)
        while True:
            line, _ = await self._place.read(say["onward"], say, objection)
            word = line.casefold()
            if word in ("", "t", "treat"):
                return NextStep(say["reason"])
            if word in ("a", "admit"):
                return NextStep(say["reason"], "admit")
            if word.isdecimal() and 1 <= int(word) <= len(among):
                return NextStep(say["reason"], "refer", among[int(word) - 1])

    def _not_in(
        self,
        line: str,
        *,
        say: dict[str, str],
        help: str,
        commands: Sequence[str] = ("undo", "leave"),
        answers: Collection[str] | None = None,
    ) -> str:
        """Returns what is said of a line that is none of the commands and answers there are here; "" if it is one."""
        if command := self._place.command(line)[1]:
            return "" if command in commands else help
        if told := self._place.without_sign(line, say):
            return told
        return "" if answers is None or line.casefold() in answers else f"{say['no answer']} {help}"


def _diagnosis(line: str) -> Diagnosis:
    likely = _LIKELY.fullmatch(line)
    if likely is None or int(likely["percent"]) > 100:
        return Diagnosis(line)
    return Diagnosis(likely["name"], probability=int(likely["percent"]) / 100)


MoveNow = SayMove | OrderMove | ConcludeMove | ReportMove | NoteMove | HintMove
"""A move that is the doctor's to make where it sits."""


class Chair(Protocol):
    """Where a person sits; only moves that fit the purpose come from it."""

    async def next(self, purpose: Purpose, role: Doctor) -> MoveNow:
        """Waits for the next move."""

    async def advise(self, adviser: Adviser, move: HintMove, role: Doctor) -> None:
        """Has a hint told."""


class SeatedDoctor:
    """A mind for the `Doctor` of one visit, by the moves that come from a chair."""

    name = "human"

    def __init__(self, chair: Chair, adviser: Adviser) -> None:
        self._chair, self._adviser = chair, adviser

    async def answer(self, ask: Ask[Any], role: Doctor) -> object:
        """Waits for the move that answers."""
        if ask.purpose not in (Purpose.SPEAK, Purpose.REPORT):
            raise ScriptError(f"a person in the doctor's chair cannot be asked to {ask.purpose}")
        say = read_says(_SAYS)[role.presentation.language]
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
                case HintMove() as move:
                    await self._chair.advise(self._adviser, move, role)


_HELP = ("/help", "help", "/帮助", "帮助", "?", "？", "/?")
_ACUITIES: dict[str, Urgency] = {"e": "emergency", "u": "urgent", "r": "routine"}
_LEVELS: dict[str, Level] = {"1": 1, "2": 2, "3": 3, "4": 4, "5": 5}


class HumanNurse:
    """A mind for the `Nurse` who receives one patient."""

    name = "human"

    def __init__(self, desk: Desk, seat: str) -> None:
        self._desk, self._place = desk, DeskSeat(desk, seat, Path(__file__).with_name("nurse.yaml"), ("undo", "leave"))

    async def answer(self, ask: Ask[Any], role: Nurse) -> object:
        """Asks the person, until the answer is a judgement or a question to the patient."""
        if ask.purpose is not Purpose.TRIAGE:
            raise ScriptError(f"the nurse triages; it was asked to {ask.purpose}")
        async with self._place.taken() as goes_on:
            triage = await self._triage(list(ask.among), role, goes_on=goes_on)
            if triage.ask:
                self._desk.wait_for_answer()
            else:
                self._desk.stand_up()
            return triage

    async def _triage(self, departments: list[str], role: Nurse, *, goes_on: bool) -> Triage:
        language = role.presentation.language
        say, left, show = self._place.says(language), role.questions_left(), self._place.show
        names = [f"{number} {role.departments.get(id, id)}" for number, id in enumerate(departments, start=1)]
        told = [say["told"].format(asked=asked, told=answered) for asked, answered in role.exchanges()]
        if goes_on:
            show(told[-1])
        else:
            show("\n" + say["comes"].format(who=describe(role.presentation)))
            for line in (*read_out(role.vital_signs(), language), *told, "  ".join(names)):
                show(line)
        while True:
            if self._desk.is_first("how the nurse answers"):
                prompt = (say["may ask"].format(left=left) if left > 0 else "") + say["ask"]
            else:
                prompt = say["asked" if left > 0 else "asked last"].format(left=left)
            line, command = await self._place.read(
                prompt, say, lambda _: "", is_answer=lambda line: line.casefold() not in _HELP
            )
            if command in _HELP or line.casefold() in _HELP:
                show(say["help"])
                continue
            if left > 0 and line.endswith(("?", "？")):
                # What stands beside a question counts for nothing: it is asked again before it could.
                return Triage(departments[0], "emergency", say["reason"], ask=line)
            words = line.casefold().split()
            if len(words) == 2 and words[0].isdecimal() and 1 <= int(words[0]) <= len(departments):
                department = departments[int(words[0]) - 1]
                if words[1] in _ACUITIES:
                    return Triage(department, _ACUITIES[words[1]], say["reason"])
                if words[1] in _LEVELS:
                    return Triage.at(_LEVELS[words[1]], department, say["reason"])
            show(say["wrong"].format(n=len(departments)))


_PATIENT_COMMANDS = ("undo", "leave", "to examiner", "go")


class HumanPatient:
    """A mind for the `Patient` of one visit; the `seat` names the role in the visit."""

    name = "human"

    def __init__(self, desk: Desk, seat: str) -> None:
        self._place = DeskSeat(desk, seat, Path(__file__).with_name("patient.yaml"), _PATIENT_COMMANDS)
        self._knows_who_it_is = False

    async def answer(self, ask: Ask[Any], role: Patient) -> PatientTurn:
        """Asks the person, until something is said."""
        if ask.purpose not in (Purpose.OPEN, Purpose.REPLY):
            raise ScriptError(f"a person at the terminal cannot be asked to {ask.purpose}")
        say = self._place.says(role.presentation.language)
        async with self._place.taken():
            show = self._place.show
            if not self._knows_who_it_is:
                show("\n" + say["are"].format(who=describe(role.presentation)))
                for line in known_lines(role.history, role.findings, role.presentation.language):
                    show(f"  {line}")
                show(say["help"])
            self._knows_who_it_is = True
            self._place.show_events(role, Role.PATIENT, say)
            while True:
                line, command = await self._place.read(say["you"], say, partial(self._unclear, say=say))
                if command == "to examiner":
                    return PatientTurn(line or say["request"], to="examiner")
                if command == "go":
                    return PatientTurn(line or say["goodbye"], leave=True)
                if line and not command:
                    return PatientTurn(line)

    def _unclear(self, line: str, *, say: dict[str, str]) -> str:
        """Returns what is said of a line that says nothing and is no command; "" if it does or is one."""
        if command := self._place.command(line)[1]:
            return "" if command in _PATIENT_COMMANDS else say["help"]
        return self._place.without_sign(line, say) if line else say["help"]
