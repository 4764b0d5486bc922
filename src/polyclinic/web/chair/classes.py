"""Classes: a teacher's set of cases, a link for each student, and the results.

A student's link opens only that student's visits, and its key cannot be guessed. The truth is shown at the end of a
visit or, if the class holds scores back, when the teacher releases them.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from polyclinic.errors import UserError
from polyclinic.evaluations.visit_score import Scored
from polyclinic.judging.verdicts import table_text
from polyclinic.metrics.grades import Aspect
from polyclinic.web.chair.catalogue import CaseAt
from polyclinic.web.chair.visits import PlayedCase, PlayedVisits, PlayRules, Sitting
from polyclinic.web.practice import Guest, Invitation, Invitations
from polyclinic.web.refused import NotFound

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=120)]


class NewClass(PlayRules, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a teacher sets."""

    title: _Name
    cases: Annotated[tuple[CaseAt, ...], msgspec.Meta(min_length=1, max_length=50)]
    students: Annotated[tuple[_Name, ...], msgspec.Meta(min_length=1, max_length=300)]
    scores: bool = True  # whether a student sees score and truth after each visit; else once the teacher releases them


class Student(Guest, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A student of a class, with visits by the number of the case, from 1."""

    visits: dict[int, str] = msgspec.field(default_factory=dict)
    comments: dict[int, str] = msgspec.field(default_factory=dict)


class KeptClass(Invitation, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A class as it is kept."""

    set: NewClass
    students: tuple[Student, ...]
    scores_out: bool = False


class Classes(Invitations[KeptClass, Student]):
    """The classes of a practice; one that cannot be read is left out, and named."""

    def __init__(self, visits: PlayedVisits) -> None:
        self._visits = visits
        super().__init__(visits.practice, "class", KeptClass, lambda kept: kept.students, "your teacher")

    def make(self, new: NewClass) -> KeptClass:
        """Makes a class, with a key for each student."""
        names = [name.strip() for name in new.students]
        self.check(new.title, names, "students")
        for at in new.cases:
            self._visits.catalogue.case(at)
        if len(set(new.cases)) < len(new.cases):
            raise UserError("a case is listed twice; a student who has finished it once would know the diagnosis")
        self._visits.staff.check_patient(new.patient)
        return self.keep(KeptClass(set=new, students=tuple(Student(name=name) for name in names)))

    def add(self, id: str, names: tuple[str, ...]) -> KeptClass:
        """Adds students to a class."""
        kept = self.named(id)
        added = [Student(name=name.strip()) for name in names]
        self.check(kept.set.title, [one.name for one in (*kept.students, *added)], "students")
        return self.keep(replace(kept, students=(*kept.students, *added)))

    def let_out(self, id: str, *, out: bool) -> KeptClass:
        """Lets students see scores and the truth, or no longer."""
        return self.keep(replace(self.named(id), scores_out=out))

    def comment(self, id: str, name: str, number: int, text: str) -> KeptClass:
        """Keeps what a teacher says of a student's visit, who sees it with the score; "" takes it away."""
        kept = self.named(id)
        student = next((one for one in kept.students if one.name == name), None)
        if student is None or not 1 <= number <= len(kept.set.cases):
            raise NotFound("there is no such student, or no such case, in this class")
        comments = {place: said for place, said in {**student.comments, number: text}.items() if said}
        return self._change(kept, student, comments=comments)

    def seen_by(self, key: str) -> dict[str, Any]:
        """Returns the class as a student sees it: each case with its state, and the points if they may be seen."""
        kept, student = self.guest(key)
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
        kept, student = self.guest(key)
        if not 1 <= number <= len(kept.set.cases):
            raise NotFound(f"this class has the cases 1 to {len(kept.set.cases)}")
        if number in student.visits:
            return self._visits.sitting(student.visits[number])
        rules: dict[str, Any] = {name: getattr(kept.set, name) for name in PlayRules.__struct_fields__}
        played = PlayedCase(case=kept.set.cases[number - 1], student=student.name, **rules)
        sitting = self._visits.begin(played)
        self._change(kept, student, visits={**student.visits, number: sitting.id})
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
                case_id = f"{at.set} {at.key}"
                with suppress(NotFound):  # the server was begun without that file of cases
                    case_id = self._visits.catalogue.case(at).id
                row = {"student": student.name, "case": number, "case_id": case_id, "state": state}
                row |= {} if scored is None else _figures(scored)
                row |= {"comment": student.comments.get(number, "")}
                rows.append({name: value for name, value in row.items() if value not in ("", None)})
        return rows

    def csv(self, id: str) -> str:
        """Returns the rows as a table; nothing in it is run by a spreadsheet."""
        return table_text([{field: row.get(field) for field in _COLUMNS} for row in self.rows(self.named(id))])

    def _score(self, student: Student, number: int) -> tuple[Scored | None, str]:
        id = student.visits.get(number)
        if id is None:
            return None, "new"
        scored = self._visits.stored_score(id)
        return scored, "done" if scored else "begun"

    def _change(self, kept: KeptClass, student: Student, **changes: object) -> KeptClass:
        changed = replace(student, **changes)
        return self.keep(replace(kept, students=tuple(changed if one is student else one for one in kept.students)))


_COLUMNS = (
    "student case case_id state points verdict diagnosis symptoms examinations diagnosis_grade rationale treatment "
    "coverage turns needed_missed not_indicated cost danger_missed hint_points taken_back minutes comment"
).split()


def _figures(scored: Scored) -> dict[str, object]:
    own = scored.own
    coverage = own.metrics.get("COVERAGE")
    return {
        "points": own.points.total,
        "verdict": own.verdict.value,
        "diagnosis": "; ".join(one.name for one in (() if own.report is None else own.report.diagnoses)),
        **{"diagnosis_grade" if one.aspect is Aspect.DIAGNOSIS else one.aspect.value: one.grade for one in own.aspects},
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
