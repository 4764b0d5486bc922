"""The triage station: the nurse measures vital signs, asks a few questions, and judges (agent-hospital §3.4.2).

She measures what the body of the case has, as an examiner would read it out, and nothing else of the record reaches
her but what the patient answers. What she measured and was told is given on with the patient.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from polyclinic.cases.case import Case
from polyclinic.cases.patient_record import PatientRecord
from polyclinic.cases.record import Finding, read_out
from polyclinic.errors import PlayFailure
from polyclinic.events import Examined, Role, Said
from polyclinic.hospital.record.episodes import AtDoor, VitalSign
from polyclinic.knowledge.acuity import MEASURED
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.players.minds import ALONE, Minds
from polyclinic.players.player import REPLY, Triage, send_to
from polyclinic.players.roles.nurse import Nurse
from polyclinic.players.roles.patient import Patient
from polyclinic.visits.visit import patient_of


class StationFailure(Exception):
    """Somebody at the station gave no usable answer."""

    def __init__(self, who: Role, failure: PlayFailure) -> None:
        self.who, self.failure = who, failure
        super().__init__(str(failure))


class TriageStation:
    """Where patients are received; it knows what vital signs are called."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._signs = {
            (outer.casefold(), inner.casefold()): item.id
            for examination in knowledge.examinations.values()
            for item in examination.items
            if item.id in MEASURED
            for outer in (examination.name.en, examination.name.zh)
            for inner in (item.name.en, item.name.zh)
        }

    def vital_signs(self, findings: tuple[Finding, ...]) -> dict[str, Finding]:
        """Returns what a nurse can measure of what there is to be found, by item id."""
        named = ((self._signs.get((f.examination.casefold(), f.item.casefold())), f) for f in findings)
        return {sign: finding for sign, finding in named if sign is not None}

    async def receive(
        self,
        case: Case,
        minds: Minds,
        *,
        key: str,
        departments: Mapping[str, str],
        max_questions: int,
        past: PatientRecord | None = None,
    ) -> tuple[Triage, AtDoor]:
        """Lets a nurse receive the patient of a case.

        Args:
            case: who comes; holds the truth, which nobody gets.
            minds: who plays.
            key: names the nurse's part of the run; that of the patient has `/triage` behind it.
            departments: id to name in the language of the case.
            max_questions: how often the nurse may ask.
            past: what was noted of the patient at earlier visits.

        Raises:
            StationFailure: no usable answer came.
        """
        measured = self.vital_signs(case.record.findings)
        nurse = Nurse(minds.nurse(key), case.presentation, departments, max_questions, past)
        patient: Patient | None = None
        findings = tuple(measured.values())
        if findings:
            text = "; ".join(read_out(findings, case.presentation.language))
            nurse.observe(Examined(seq=0, turn=0, findings=findings, not_recorded=(), text=text))
        turn, left = 0, False
        while True:
            with _naming(Role.NURSE):
                triage = await nurse.act(send_to(departments))
            if left or not triage.ask.strip() or nurse.questions_left() <= 0:
                break
            turn += 1
            patient = patient or patient_of(case, minds, ALONE, key=f"{key}/triage", past=past)
            asked = Said(seq=2 * turn - 1, turn=turn, who=Role.NURSE, to=Role.PATIENT, text=triage.ask)
            nurse.observe(asked)
            patient.observe(asked)
            with _naming(Role.PATIENT):
                reply = await patient.act(REPLY)
            said = Said(seq=2 * turn, turn=turn, who=Role.PATIENT, to=Role.NURSE, text=reply.say, state=reply.state)
            nurse.observe(said)
            patient.observe(said)
            left = reply.leave
        return triage, AtDoor(
            level=triage.judged,
            reason=triage.reason,
            vital_signs=tuple(VitalSign(sign=sign, finding=finding) for sign, finding in measured.items()),
            told=nurse.exchanges(),
        )


@contextmanager
def _naming(who: Role) -> Iterator[None]:
    try:
        yield
    except PlayFailure as failure:
        raise StationFailure(who, failure) from None
