"""Danger signs: what a patient has that must not wait, and whether the doctor found it and said so.

Which symptoms they are stands in the knowledge (`red_flags.yaml`). The patient has those that its complaint and the
story of its illness name. Found is one that somebody said or read out in the visit; reported one that the report names.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.report import Report
from polyclinic.events import Examined, Role, Said, Trace
from polyclinic.knowledge.dispensing import is_pregnant
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.knowledge.safety import RedFlags

_OF_THIS_ILLNESS = ("symptoms", "present", "review")


class DangerSigns(msgspec.Struct, frozen=True, kw_only=True):
    """Symptoms by id, in the order of the red flags: those that the patient has, and what became of each.

    Attributes:
        missed: never told in the visit.
        unreported: told, and not in the report.
    """

    has: tuple[str, ...]
    missed: tuple[str, ...]
    unreported: tuple[str, ...]


def danger_signs(case: Case, trace: Trace, report: Report | None, lexicon: Lexicon, flags: RedFlags) -> DangerSigns:
    """Returns what became of the patient's danger signs; `lexicon` is of the case's language."""
    person, history = case.presentation, case.record.history
    has = _there(lexicon, [person.complaint, *(text for name, text in history.sections() if name in _OF_THIS_ILLNESS)])
    of_person = flags.of(person.age, pregnant=flags.may_be_pregnant in has or is_pregnant(case.record))
    signs = tuple(sign for sign in (*of_person.emergency, *of_person.urgent) if sign in has)
    told = [e.text for e in trace if (isinstance(e, Said) and e.who is Role.PATIENT) or isinstance(e, Examined)]
    found = _there(lexicon, [person.complaint, *told])
    wrote = () if report is None else (*report.symptoms, *report.rationale, *(d.name for d in report.diagnoses))
    reported = _there(lexicon, wrote)
    return DangerSigns(
        has=signs,
        missed=tuple(sign for sign in signs if sign not in found),
        unreported=tuple(sign for sign in signs if sign in found and sign not in reported),
    )


def _there(lexicon: Lexicon, texts: Iterable[str]) -> set[str]:
    """Returns the symptoms that texts say are there."""
    return {symptom for text in texts for symptom, there in lexicon.read(text).items() if there}
