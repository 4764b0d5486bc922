"""The patient: knows how it came and what it has lived through; never the diagnosis, in a ward never a result.

AI Hospital's patient (§2.4) leaves examinations to the examiner; AIE's (§4), on an online visit without one, holds the
findings too and gives them when asked.
"""

from __future__ import annotations

import re

import msgspec

from polyclinic.cases.persona import Persona
from polyclinic.cases.presentation import Presentation, Setting
from polyclinic.cases.record import Finding, History, Record
from polyclinic.cases.withhold import withhold
from polyclinic.events import Role
from polyclinic.knowledge.examination_words import EXAMINATION, LABORATORY_VALUE
from polyclinic.language.language import chinese_characters, is_chinese
from polyclinic.players.player import Mind, PlayedRole

_SENTENCE = re.compile(r"(?<=[。；;！？\n])|(?<=[.!?])(?=\s)")
_CLAUSE = re.compile(r"(?<=[，、])|(?<=,)(?=\s)")
_RESUMED = re.compile(
    r"\s*(?:患者|患儿|遂|为求|为进一步|因|自觉|自述|近|此后|之后|后来|自发病|病程中|发病以来|服用|口服|给予?|予|经|门诊拟|入院"
    r"|\d+\s*[个余多]*(?:分钟|小时|天|日|周|月|年)|(?:and |but |so )?(?:she|he|they|the patient|the pain|i)\b)",
    re.IGNORECASE,
)

_TEXTS = ("statement", "life", "events", "character", "speech")


class Patient(PlayedRole):
    """The patient of one visit.

    Args:
        record: the case's record; of its findings only an online patient keeps any.
        setting: `ward`, where an examiner holds the findings, or `online`.
        withheld: texts that must never be said, the names of the diagnoses; nothing that the patient has holds one.

    Attributes:
        history: what the patient can tell; in a ward, without results.
        findings: what the patient knows of results; none in a ward.
        persona: whose voice the patient has; None where it has none.
    """

    def __init__(
        self,
        mind: Mind[Patient],
        record: Record,
        *,
        setting: Setting = "ward",
        withheld: tuple[str, ...] = (),
        persona: Persona | None = None,
    ) -> None:
        super().__init__(mind)
        self.setting: Setting = setting
        values = tuple(f.value for f in record.findings if isinstance(f.value, str) and _is_distinctive(f.value))

        def tellable(text: str) -> str:
            told = withhold(text, withheld)
            return without_results(told, values) if setting == "ward" else told

        self.presentation: Presentation = msgspec.structs.replace(
            record.presentation,
            complaint=withhold(record.presentation.complaint, withheld),
            about=withhold(record.presentation.about, withheld),
        )
        history = record.history
        sections = {f: tellable(getattr(history, f)) for f in History.__struct_fields__ if f != "symptoms"}
        symptoms = tuple(told for symptom in history.symptoms if (told := tellable(symptom)).strip())
        self.history = History(symptoms=symptoms, **sections)
        self.findings: tuple[Finding, ...] = ()
        if setting == "online":
            told_findings = (
                msgspec.structs.replace(f, value=withhold(f.value, withheld)) if isinstance(f.value, str) else f
                for f in record.findings
            )
            self.findings = tuple(f for f in told_findings if f.value_text.strip())
        self.persona: Persona | None = None
        if persona is not None:
            texts = {name: tellable(getattr(persona, name)) for name in _TEXTS}
            questions = tuple(q for question in persona.questions if (q := tellable(question)).strip())
            self.persona = msgspec.structs.replace(persona, questions=questions, **texts)

    def heard(self) -> str:
        """Returns what the doctor last said; "" before that."""
        return self.last_said(who=Role.DOCTOR)


def without_results(text: str, values: tuple[str, ...] = ()) -> str:
    """Returns the text without the clauses that report an examination or its result.

    What follows such a clause in the same sentence is taken to go on with it, until a clause begins anew with a time or
    with the patient.
    """
    if not text.strip():
        return text
    kept = []
    for sentence in _SENTENCE.split(text):
        reporting, clauses = False, []
        for clause in _CLAUSE.split(sentence):
            if _reports_result(clause, values):
                reporting = True
            elif reporting and _RESUMED.match(clause):
                reporting = False
            if not reporting:
                clauses.append(clause)
        if clauses and any(c.strip() for c in clauses):
            whole = "".join(clauses)
            kept.append(whole if len(clauses) == len(_CLAUSE.split(sentence)) else _closed(whole))
    told = "".join(kept).strip()
    # A value may hold commas, and so stand across clauses that each look harmless.
    return "" if any(value in told for value in values) else told


def _is_distinctive(value: str) -> bool:
    """Whether a result, where it stands word for word in a history, can only be that result."""
    chinese = chinese_characters(value)
    return chinese >= 8 or (chinese == 0 and len(value) >= 20)


def _reports_result(clause: str, values: tuple[str, ...]) -> bool:
    """Whether a clause reports an examination, a measured value, or one of the given values."""
    return bool(EXAMINATION.search(clause) or LABORATORY_VALUE.search(clause) or any(v in clause for v in values))


def _closed(text: str) -> str:
    text = text.rstrip(" ，、,")
    if not text or text[-1] in "。.!?；;！？":
        return text
    return text + ("。" if is_chinese(text) else ". ")
