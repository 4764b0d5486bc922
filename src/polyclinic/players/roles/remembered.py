"""What a patient remembers of its visits: whom it saw, what it was told and given, and how it went on."""

from __future__ import annotations

import msgspec

from polyclinic.cases.patient_record import NotedConsultation, NotedVisit, PatientRecord
from polyclinic.language.language import MARKS, Language
from polyclinic.players.roles.parting import WORDS


class _RememberedSayings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    today: str
    before: str
    with_doctor: str
    named: str
    not_named: str
    examined: str
    referred: str
    admitted: str
    given: str
    outcomes: dict[str, str]


_remembered = WORDS.section("remembered", _RememberedSayings)


def remembered(past: PatientRecord | None, language: Language) -> tuple[str, ...]:
    """Returns what a patient remembers, a text a visit, the earliest first; nothing of a first visit's beginning."""
    if past is None:
        return ()
    before = [_visit(visit, language, today=False) for visit in past.earlier]
    now = _visit(past.today, language, today=True)
    return tuple(text for text in (*before, now) if text)


def _visit(visit: NotedVisit, language: Language, *, today: bool) -> str:
    say, marks = _remembered(language), MARKS[language]
    sentences: list[str] = []
    for held in visit.consultations:
        sentences += _consultation(held, "" if today else visit.day, language)
    if sentences and visit.handed_out:
        sentences.append(say.given.format(drugs=marks.item.join(visit.handed_out)))
    if sentences and visit.outcome:
        sentences.append(say.outcomes[visit.outcome])
    return marks.blank.join(sentences)


def _consultation(held: NotedConsultation, day: str, language: Language) -> list[str]:
    say, item = _remembered(language), MARKS[language].item
    where = say.with_doctor.format(department=held.department, doctor=held.doctor) if held.doctor else held.department
    sentences = [say.before.format(day=day, where=where) if day else say.today.format(where=where)]
    if examinations := dict.fromkeys(finding.examination for finding in held.findings):
        sentences.append(say.examined.format(examinations=item.join(examinations)))
    named = say.named.format(disease=held.diagnoses[0].name) if held.diagnoses else say.not_named
    sentences.append(named)
    if held.step == "refer":
        sentences.append(say.referred.format(department=held.refer_to))
    elif held.step == "admit":
        sentences.append(say.admitted)
    return sentences
