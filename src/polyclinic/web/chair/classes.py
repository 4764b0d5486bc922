"""Classes: a teacher's set of cases, a link for each student, and what came of it.

A student's link opens that student's visits and nothing else; its key cannot be guessed. No student receives the truth
before the end of a visit or, in a class that holds scores back, before the teacher releases them.
"""

from __future__ import annotations

import secrets
import time
from typing import Annotated, Any

import msgspec

from polyclinic.errors import BadInput, UserError
from polyclinic.evaluations.visit_score import Scored
from polyclinic.judging.verdicts import table_text
from polyclinic.visits.consultation import MAX_TURNS
from polyclinic.web.chair.catalogue import CaseAt
from polyclinic.web.chair.visits import PlayedCase, PlayedVisits, Sitting
from polyclinic.web.practice import check_names
from polyclinic.web.refused import NotFound

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=120)]


class NewClass(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a teacher sets."""

    title: _Name
    cases: Annotated[tuple[CaseAt, ...], msgspec.Meta(min_length=1, max_length=50)]
    students: Annotated[tuple[_Name, ...], msgspec.Meta(min_length=1, max_length=300)]
    patient: str = "rules"
    max_turns: Annotated[int, msgspec.Meta(ge=1, le=50)] = MAX_TURNS
    hints: bool = True  # whether students may have hints
    undo: bool = True  # whether students may take turns back
    scores: bool = True  # whether a student sees score and truth after each visit; else once the teacher releases them


class Student(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A student of a class: the key of the link, and the visits by the number of the case, from 1."""

    name: str
    key: str
    visits: dict[int, str] = {}
    comments: dict[int, str] = {}


class KeptClass(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A class as it is kept."""

    id: str
    made: float
    set: NewClass
    students: tuple[Student, ...]
    scores_out: bool = False


class Classes:
    """The classes of a practice; one that cannot be read is left out, and named."""

    def __init__(self, visits: PlayedVisits) -> None:
        self._visits, self._practice = visits, visits.practice
        self.all()  # names those that cannot be read

    def all(self) -> list[KeptClass]:
        """Returns all classes, the latest first."""
        return sorted(self._practice.all("class", KeptClass).values(), key=lambda kept: -kept.made)

    def damaged(self) -> list[BadInput]:
        """Returns what is wrong with classes that cannot be read."""
        return self._practice.damaged("class")

    def make(self, new: NewClass) -> KeptClass:
        """Makes a class, with a key for each student."""
        names = [name.strip() for name in new.students]
        check_names(new.title, names, "students")
        for at in new.cases:
            self._visits.catalogue.case(at)
        if len(set(new.cases)) < len(new.cases):
            raise UserError("a case is listed twice; a student who has finished it once would know the diagnosis")
        self._visits.staff.check_patient(new.patient)
        students = tuple(_student(name) for name in names)
        return self._keep(KeptClass(id=secrets.token_urlsafe(9), made=time.time(), set=new, students=students))

    def named(self, id: str) -> KeptClass:
        """Returns a class."""
        kept = self._practice.get("class", id, KeptClass)
        if kept is None:
            raise NotFound("there is no such class here")
        return kept

    def add(self, id: str, names: tuple[str, ...]) -> KeptClass:
        """Adds students to a class."""
        kept = self.named(id)
        taken = {student.name for student in kept.students}
        added: list[Student] = []
        for name in (name.strip() for name in names):
            if not name or name in taken:
                raise UserError(f"{name!r} is in the class already" if name else "a name is empty")
            taken.add(name)
            added.append(_student(name))
        return self._keep(msgspec.structs.replace(kept, students=(*kept.students, *added)))

    def let_out(self, id: str, *, out: bool) -> KeptClass:
        """Lets students see scores and the truth, or no longer."""
        return self._keep(msgspec.structs.replace(self.named(id), scores_out=out))

    def comment(self, id: str, name: str, number: int, text: str) -> KeptClass:
        """Keeps what a teacher says of a student's visit, who sees it with the score; "" takes it away."""
        kept = self.named(id)
        student = next((one for one in kept.students if one.name == name), None)
        if student is None or not 1 <= number <= len(kept.set.cases):
            raise NotFound("there is no such student, or no such case, in this class")
        comments = {**student.comments, number: text}
        if not text:
            del comments[number]
        return self._keep(_with(kept, student, comments=comments))

    def student(self, key: str) -> tuple[KeptClass, Student]:
        """Returns the class and the student of a link."""
        for kept in self.all():
            for student in kept.students:
                if student.key == key:
                    return kept, student
        raise NotFound("this link is not valid; ask your teacher for another")

    def seen_by(self, key: str) -> dict[str, Any]:
        """Returns the class as a student sees it: each case with its state, and the points if they may be seen."""
        kept, student = self.student(key)
        seen = self.shows_scores(kept)
        cases = []
        for number in range(1, len(kept.set.cases) + 1):
            scored, state = self._score(student, number)
            points = scored.own.points.total if scored and seen else None
            comment = student.comments.get(number, "") if seen else ""
            cases.append({"number": number, "state": state, "points": points, "comment": comment})
        return {"title": kept.set.title, "name": student.name, "cases": cases, "scores": seen}

    @staticmethod
    def shows_scores(kept: KeptClass) -> bool:
        """Whether students see scores and the truth of visits that are over."""
        return kept.set.scores or kept.scores_out

    def sitting(self, key: str, number: int) -> Sitting:
        """Returns a student's visit to a case of the class, begun now where it was not before."""
        kept, student = self.student(key)
        if not 1 <= number <= len(kept.set.cases):
            raise NotFound(f"this class has the cases 1 to {len(kept.set.cases)}")
        if number in student.visits:
            return self._visits.sitting(student.visits[number])
        sitting = self._visits.begin(
            PlayedCase(
                case=kept.set.cases[number - 1],
                patient=kept.set.patient,
                max_turns=kept.set.max_turns,
                hints=kept.set.hints,
                undo=kept.set.undo,
                student=student.name,
            )
        )
        self._keep(_with(kept, student, visits={**student.visits, number: sitting.id}))
        return sitting

    def visit_of(self, id: str, name: str, number: int) -> str:
        """Returns the id of a student's visit, for the teacher."""
        student = next((one for one in self.named(id).students if one.name == name), None)
        if student is None or number not in student.visits:
            raise NotFound("there is no such visit in this class")
        return student.visits[number]

    def rows(self, kept: KeptClass) -> list[dict[str, object]]:
        """Returns a row for every case of every student: its state, and the figures of the visit if it is over."""
        rows = []
        for student in kept.students:
            for number, at in enumerate(kept.set.cases, start=1):
                scored, state = self._score(student, number)
                row = {"student": student.name, "case": number, "case_id": self._case_id(at), "state": state}
                row |= {} if scored is None else _figures(scored)
                row |= {"comment": student.comments.get(number, "")}
                rows.append({name: value for name, value in row.items() if value not in ("", None)})
        return rows

    def csv(self, id: str) -> str:
        """Returns the rows as a table; nothing in it is run by a spreadsheet."""
        return table_text([{field: row.get(field) for field in _COLUMNS} for row in self.rows(self.named(id))])

    def _case_id(self, at: CaseAt) -> str:
        try:
            return self._visits.catalogue.case(at).id
        except NotFound:  # the server was begun without that file of cases
            return f"{at.set} {at.key}"

    def _score(self, student: Student, number: int) -> tuple[Scored | None, str]:
        id = student.visits.get(number)
        if id is None:
            return None, "new"
        scored = self._visits.stored_score(id)
        return scored, "done" if scored else "begun"

    def _keep(self, kept: KeptClass) -> KeptClass:
        self._practice.put("class", kept.id, kept)
        return kept


def _student(name: str) -> Student:
    return Student(name=name, key=secrets.token_urlsafe(16))


def _with(kept: KeptClass, student: Student, **changes: object) -> KeptClass:
    changed = msgspec.structs.replace(student, **changes)
    return msgspec.structs.replace(kept, students=tuple(changed if one is student else one for one in kept.students))


_ASPECTS = {"symptoms": "symptoms", "examinations": "examinations", "diagnosis": "diagnosis_grade"}
_ASPECTS |= {"rationale": "rationale", "treatment": "treatment"}
_COLUMNS = (
    *("student", "case", "case_id", "state", "points", "verdict", "diagnosis", *_ASPECTS.values(), "coverage", "turns"),
    *("needed_missed", "not_indicated", "cost", "danger_missed", "hint_points", "taken_back", "minutes", "comment"),
)


def _figures(scored: Scored) -> dict[str, object]:
    own = scored.own
    coverage = own.metrics.get("COVERAGE")
    return {
        "points": own.points.total,
        "verdict": own.verdict.value,
        "diagnosis": "; ".join(one.name for one in (() if own.report is None else own.report.diagnoses)),
        **{_ASPECTS[one.aspect.value]: one.grade for one in own.aspects},
        "coverage": None if coverage is None else round(coverage, 1),
        "turns": own.turns,
        "needed_missed": "; ".join(own.stewardship.needed_missed),
        "not_indicated": "; ".join(own.stewardship.not_indicated),
        "cost": own.stewardship.cost,
        "danger_missed": "; ".join(own.danger.missed),
        "hint_points": own.points.hints,
        "taken_back": scored.taken_back,
        "minutes": round(scored.seconds / 60, 1),
    }
