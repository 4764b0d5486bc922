"""What anybody sees of a patient at the door, before a nurse has asked anything.

A clerk who looks up sees that somebody is blue, unconscious or fights for breath (level 1 of the five-level index,
whose signs are the body's), and hears the first words: a red flag of the knowledge in them (`red_flags.yaml`) puts the
patient before those who stand in line. Nothing else is known here; the nurse's judgement takes its place.
"""

from __future__ import annotations

from collections.abc import Callable

from polyclinic.cases.case import Case
from polyclinic.hospital.record.happenings import Acuity
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.knowledge.safety import read_red_flags
from polyclinic.language.language import LANGUAGES

_AT_ONCE = 1


def seen_at_the_door(knowledge: Knowledge) -> Callable[[Case], Acuity | None]:
    """Returns what says how urgent anybody sees that the patient of a case is; None where nothing is to be seen."""
    flags = read_red_flags()
    emergency, urgent = frozenset(flags.emergency), frozenset(flags.urgent)
    lexicons = {language: Lexicon(knowledge.symptoms.values(), language) for language in LANGUAGES}

    def look(case: Case) -> Acuity | None:
        if case.truth.acuity == _AT_ONCE:
            return Acuity.EMERGENCY
        words = case.presentation
        read = lexicons[words.language].read_all((words.complaint, words.about))
        told = {symptom for symptom, present in read.items() if present}
        if told & emergency:
            return Acuity.EMERGENCY
        return Acuity.URGENT if told & urgent else None

    return look
