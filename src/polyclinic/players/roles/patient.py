"""The patient: knows how it came and what it has lived through, never what this visit is to find out.

AI Hospital's patient (§2.4) leaves examinations to the examiner; AIE's (§4), on an online visit without one, holds the
findings too and gives them when asked.
"""

from __future__ import annotations

import msgspec

from polyclinic.cases.patient_record import PatientRecord
from polyclinic.cases.persona import Persona
from polyclinic.cases.presentation import Presentation, Setting
from polyclinic.cases.record import Finding, History, Record
from polyclinic.cases.withhold import withhold
from polyclinic.events import Role
from polyclinic.players.player import Mind, PlayedRole
from polyclinic.players.roles.parting import distinctive_results, part, without_results
from polyclinic.players.roles.remembered import remembered
from polyclinic.players.roles.secret import in_other_words

__all__ = ["Patient", "without_results"]

_TEXTS = ("statement", "life", "events", "character", "speech")


class Patient(PlayedRole):
    """The patient of one visit.

    Args:
        record: the case's record; of its findings only an online patient keeps any.
        setting: `ward`, where an examiner holds the findings, or `online`.
        withheld: the names of the diagnoses. What the patient has names one only where it shows that the patient knows
            of it from before this visit (see `cases.known`), or where the complaint does.
        past: what was noted of it in this hospital; what it was told there it knows, whatever is withheld.
        whole: it has its history whole, with the results that it reports, and may say all of it, whatever is withheld
            otherwise (aie-saps §4.2.3; ai-hospital §2.1, Table 9).
        ai_hospital: it is AI Hospital's, and is told what that is (ai-hospital, Table 9).

    Attributes:
        history: what the patient can tell; in a ward, without the results of this visit unless it has the whole.
        findings: what the patient knows of results; none in a ward.
        persona: whose voice the patient has; None where it has none.
        remembered: what it remembers of its visits to this hospital, a text each.
        whole: see above.
        vignette: all that it knows as one text, where it has the whole record and the source has it so; else "".
    """

    def __init__(
        self,
        mind: Mind[Patient],
        record: Record,
        *,
        setting: Setting = "ward",
        withheld: tuple[str, ...] = (),
        persona: Persona | None = None,
        past: PatientRecord | None = None,
        whole: bool = False,
        ai_hospital: bool = False,
    ) -> None:
        super().__init__(mind)
        self.ai_hospital = ai_hospital
        withheld = () if whole else withheld
        self.setting: Setting = setting
        self.presentation: Presentation = record.presentation
        self.whole = whole
        reports = whole or setting == "online"
        parted = part(record, setting="online" if reports else "ward", withheld=withheld)
        self.history: History = parted.history
        self._opening = record.opening
        self.vignette: str = record.vignette if whole else ""
        self.remembered: tuple[str, ...] = remembered(past, record.presentation.language)
        self.findings: tuple[Finding, ...] = ()
        if setting == "online":
            values = [f.value for f in record.findings if isinstance(f.value, str)]
            secret = (*parted.withheld, *in_other_words(values, record, withheld))
            told_findings = (
                msgspec.structs.replace(f, value=withhold(f.value, secret, section="present"))
                if isinstance(f.value, str)
                else f
                for f in record.findings
            )
            self.findings = tuple(f for f in told_findings if f.value_text.strip())

        def tellable(text: str) -> str:
            # A persona retells what the history tells; results it leaves to the history.
            secret = (*parted.withheld, *in_other_words((text,), record, withheld))
            told = withhold(text, secret, section="present")
            return told if reports else without_results(told, distinctive_results(record.findings, told))

        self.persona: Persona | None = None
        if persona is not None:
            texts = {name: tellable(getattr(persona, name)) for name in _TEXTS}
            questions = tuple(q for question in persona.questions if (q := tellable(question)).strip())
            self.persona = msgspec.structs.replace(persona, questions=questions, **texts)

    def first_words(self) -> str:
        """Returns what it says first where that stands fixed: its persona's statement, else the source's; else ""."""
        if self.persona is not None and self.persona.statement:
            return self.persona.statement
        return "" if self._opening is None else self._opening.said

    def heard(self) -> str:
        """Returns what the doctor, or the nurse at the door, last said; "" before that."""
        return self.last_said(who=Role.DOCTOR) or self.last_said(who=Role.NURSE)
