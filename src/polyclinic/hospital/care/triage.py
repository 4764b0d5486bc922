"""The triage station: the nurse measures vital signs, asks a few questions, and judges (agent-hospital §3.4.2).

She measures what the body of the case has, as an examiner would read it out, and nothing else of the record reaches
her but what the patient answers. What she measured and was told is given on with the patient.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from polyclinic.cases.case import Case
from polyclinic.cases.patient_record import PatientRecord
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, read_out
from polyclinic.errors import PlayFailure
from polyclinic.events import Examined, Role, Said
from polyclinic.hospital.record.episodes import AtDoor, VitalSign
from polyclinic.hospital.record.happenings import Acuity
from polyclinic.knowledge.acuity import MEASURED, Level, by_signs, in_danger_zone
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.knowledge.physiology import physiology_of
from polyclinic.knowledge.safety import read_red_flags, says_pregnant
from polyclinic.language.language import LANGUAGES
from polyclinic.players.minds import Minds
from polyclinic.players.player import ALONE, REPLY, Triage, send_to
from polyclinic.players.roles.patient import Patient
from polyclinic.players.roles.staff import Nurse
from polyclinic.visits.visit import patient_of

_SOONER: dict[Level, Level] = {1: 1, 2: 2, 3: 2, 4: 3, 5: 4}


class EpisodeStopped(Exception):
    """A player failed; the episode ends with this."""

    def __init__(self, who: Role | str, error: str, problem: str) -> None:
        self.who, self.error, self.problem = str(who), error, problem
        super().__init__(problem)


@contextmanager
def stopping(who: Role) -> Iterator[None]:
    """Ends the episode where the player fails."""
    try:
        yield
    except PlayFailure as failure:
        raise EpisodeStopped(who, type(failure).__name__, str(failure)) from None


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
        self._body = physiology_of(knowledge)
        self._lexicons = {language: Lexicon(knowledge.symptoms.values(), language) for language in LANGUAGES}

    def vital_signs(self, findings: tuple[Finding, ...]) -> dict[str, Finding]:
        """Returns what a nurse can measure of what there is to be found, by item id."""
        named = ((self._signs.get((f.examination.casefold(), f.item.casefold())), f) for f in findings)
        return {sign: finding for sign, finding in named if sign is not None}

    def at_the_door(self, case: Case) -> Acuity | None:
        """Returns how urgent anybody sees that the patient is; None where nothing is to be seen."""
        told, flags = self._told(case.presentation), read_red_flags()
        if case.truth.acuity == 1 or not told.isdisjoint(flags.emergency):
            return Acuity.EMERGENCY
        return None if told.isdisjoint(flags.urgent) else Acuity.URGENT

    def _told(self, words: Presentation) -> set[str]:
        """Returns the symptoms that a patient says first, by id."""
        read = self._lexicons[words.language].read_all((words.complaint, words.about))
        return {symptom for symptom, present in read.items() if present}

    def look_again(self, case: Case, before: AtDoor) -> AtDoor:
        """Looks again at somebody who waits and has got worse; asks nobody.

        The vital signs are measured anew, and a danger sign in what the patient says first counts as at the door. Who
        says that it has got worse is seen sooner by a level at least, though for that alone not at once.
        """
        measured = self.vital_signs(case.record.findings)
        words = case.presentation
        numbers = {sign: f.value for sign, f in measured.items() if isinstance(f.value, float)}
        as_adult = {
            sign: self._body.carrying(self._body.items[sign], words.age, words.sex).back(value)
            for sign, value in numbers.items()
            if sign in self._body.items
        }
        told = self._told(words)
        flags = read_red_flags().of(words.age, pregnant=says_pregnant(words.complaint, words.language))
        level: Level = before.level
        levels: list[Level | None] = [
            _SOONER[before.level],
            by_signs(as_adult),
            2 if in_danger_zone(as_adult) or not told.isdisjoint(flags.emergency) else None,
            3 if not told.isdisjoint(flags.urgent) else None,
        ]
        for made in levels:
            level = level if made is None or level < made else made
        return AtDoor(level=level, reason=before.reason, vital_signs=_as_signs(measured), told=before.told)

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
        """Lets a nurse receive the patient of a case."""
        measured = self.vital_signs(case.record.findings)
        nurse = Nurse(minds.nurse(key), case.presentation, departments, max_questions, past)
        patient: Patient | None = None
        findings = tuple(measured.values())
        if findings:
            text = "; ".join(read_out(findings, case.presentation.language))
            nurse.observe(Examined(seq=0, turn=0, findings=findings, not_recorded=(), text=text))
        turn, left = 0, False
        while True:
            with stopping(Role.NURSE):
                triage = await nurse.act(send_to(departments))
            if left or not triage.ask.strip() or nurse.questions_left() <= 0:
                break
            turn += 1
            patient = patient or patient_of(case, minds, ALONE, key=f"{key}/triage", past=past)
            asked = Said(seq=2 * turn - 1, turn=turn, who=Role.NURSE, to=Role.PATIENT, text=triage.ask)
            nurse.observe(asked)
            patient.observe(asked)
            with stopping(Role.PATIENT):
                reply = await patient.act(REPLY)
            said = Said(seq=2 * turn, turn=turn, who=Role.PATIENT, to=Role.NURSE, text=reply.say, state=reply.state)
            nurse.observe(said)
            patient.observe(said)
            left = reply.leave
        return triage, AtDoor(
            level=triage.judged,
            reason=triage.reason,
            vital_signs=_as_signs(measured),
            told=nurse.exchanges(),
        )


def _as_signs(measured: Mapping[str, Finding]) -> tuple[VitalSign, ...]:
    return tuple(VitalSign(sign=sign, finding=finding) for sign, finding in measured.items())
