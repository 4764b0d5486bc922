"""Lets a model write the histories of drawn patients from the knowledge (agent-hospital §3.4.1).

Truth, person, symptoms, results and what was so before stay as they were drawn; the model puts complaint, symptoms and
the history of the illness into words. What contradicts the drawn patient or the knowledge is refused by name, asked for
again a few times, and counted; then the patient keeps the templates' words. Results stay in the knowledge's words:
numbers are measurements, and a reader of the knowledge knows its wordings.

Cost: 1 call a patient, and 1 more each time that its record is refused.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.presentation import Sex
from polyclinic.errors import ModelError
from polyclinic.generation.draw import DrawnPatient
from polyclinic.knowledge.entries import Disease, Symptom
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.knowledge.lexicon import lexicon_of, read_days, say_days
from polyclinic.language.folding import Folded, fold_term
from polyclinic.language.language import Language
from polyclinic.models.model import Message, Model
from polyclinic.prompts import read_prompts

PROMPTS = Path(__file__).with_suffix(".md")

TIMES = 3
"""So often is a patient's record asked for at most."""

Contradiction = Literal[
    "unreadable",
    "another age or sex",
    "another duration",
    "a symptom that is not there",
    "a symptom left out",
    "another number",
    "an illness named",
    "a treatment named",
    "an examination named",
]
"""Why a written record is refused."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_SEXES: dict[Sex, re.Pattern[str]] = {
    "female": re.compile(r"\b(?:woman|girl|female|lady)\b|女性|女士|女孩|女患者", re.IGNORECASE),
    "male": re.compile(r"\b(?:man|boy|male|gentleman)\b|男性|男士|男孩|男患者", re.IGNORECASE),
}
_MOST_KNOWN = 12
"""Symptoms of a disease that the writer is told, the most usual first."""


class WrittenHistory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A history as a model answers it."""

    age: float
    sex: Sex
    complaint: str
    symptoms: tuple[str, ...]
    present: str


class WrittenPatient(NamedTuple):
    """A patient whose record was written, or kept as drawn."""

    case: Case
    refused: tuple[Contradiction, ...]  # why records of it were refused, in order
    written: bool  # the model's words stand in the case


async def write_record(
    drawn: DrawnPatient, knowledge: Knowledge, model: Model, *, temperature: float | None = None
) -> WrittenPatient:
    """Has a drawn patient's history written; keeps the templates' words where no record can be taken."""
    language = drawn.case.presentation.language
    prompts = read_prompts(PROMPTS)[language]
    messages: list[Message] = [("system", prompts("write")), ("user", _told(drawn, knowledge))]
    refused: list[Contradiction] = []
    for time in range(1, TIMES + 1):
        try:
            purpose = f"record, {time}"
            reply = await model.ask(messages, answer=WrittenHistory, temperature=temperature, purpose=purpose)
        except ModelError:
            refused.append("unreadable")
            continue
        written: WrittenHistory = reply.value
        problem = contradiction(written, drawn, knowledge)
        if problem is None:
            record = drawn.case.record
            complaint, *symptoms = (text.strip().rstrip(".。") for text in (written.complaint, *written.symptoms))
            presentation = msgspec.structs.replace(record.presentation, complaint=complaint)
            present = written.present.strip()
            history = msgspec.structs.replace(record.history, symptoms=tuple(symptoms), present=present)
            record = msgspec.structs.replace(record, presentation=presentation, history=history)
            return WrittenPatient(msgspec.structs.replace(drawn.case, record=record), tuple(refused), written=True)
        refused.append(problem[0])
        told = f"{problem[0]}: {problem[1]}"
        messages = [*messages[:2], ("assistant", reply.text), ("user", prompts("refused", problem=told))]
    return WrittenPatient(drawn.case, tuple(refused), written=False)


def contradiction(
    written: WrittenHistory, drawn: DrawnPatient, knowledge: Knowledge
) -> tuple[Contradiction, str] | None:
    """Returns why a written history cannot be taken, with the words that it hangs on; None where it can."""
    case, language = drawn.case, drawn.case.presentation.language
    person = case.presentation
    own = "\n".join((written.complaint, *written.symptoms, written.present))
    if written.sex != person.sex or written.age != person.age:
        return "another age or sex", f"{written.age:g}, {written.sex}"
    other: Sex = "male" if person.sex == "female" else "female"
    if (match := _SEXES[other].search(f"{written.complaint}\n{written.present}")) is not None:
        return "another age or sex", match[0]
    if read_days(written.complaint, language) != read_days(person.complaint, language):
        return "another duration", written.complaint
    if (symptom := _symptom_changed(written, case, knowledge, language)) is not None:
        return symptom
    there = "\n".join((person.complaint, person.about, *(text for _, text in case.record.history.sections())))
    allowed = {*_NUMBER.findall(there), f"{person.age:g}"}
    if (number := next((n for n in _NUMBER.findall(own) if n not in allowed), None)) is not None:
        return "another number", number
    text, before = Folded(own), Folded(there)
    for kind, names in _names().items():
        named = next((name for name in names if text.find(name) >= 0 and before.find(name) < 0), None)
        if named is not None:
            return kind, named
    return None


def _symptom_changed(
    written: WrittenHistory, case: Case, knowledge: Knowledge, language: Language
) -> tuple[Contradiction, str] | None:
    """Returns what is told otherwise, by what a reader of the knowledge reads in either."""
    lexicon = lexicon_of(knowledge, language)
    history = case.record.history
    drawn = lexicon.read_all((case.presentation.complaint, *history.symptoms))
    told = lexicon.read_all((written.complaint, *written.symptoms))
    whole = lexicon.read_all((written.complaint, *written.symptoms, written.present))
    for id, present in whole.items():
        if present and not drawn.get(id, False):
            return "a symptom that is not there", lexicon.symptoms[id].name.get(language)
    for id, present in drawn.items():
        denied = lexicon.read(written.present).get(id) is False
        if present and (denied or not told.get(id, False)):
            return "a symptom left out", lexicon.symptoms[id].name.get(language)
    if len(written.symptoms) != len(history.symptoms) or not written.present.strip():
        return "a symptom left out", f"{len(written.symptoms)} of {len(history.symptoms)}"
    return None


def _told(drawn: DrawnPatient, knowledge: Knowledge) -> str:
    """Returns what the writer is told of a patient."""
    person, language = drawn.case.presentation, drawn.case.presentation.language
    prompts = read_prompts(PROMPTS)[language]
    symptoms = drawn.case.record.history.symptoms
    there = {symptom.id for symptom in drawn.body.present}
    usual = _usual(drawn.disease, knowledge)
    absent = [s.name.get(language) for s, share in usual if s.id not in there]
    days = read_days(person.complaint, language)
    known = "\n".join(
        prompts("symptom", symptom=symptom.name.get(language), share=f"{100 * share:.0f} %") for symptom, share in usual
    )
    return prompts(
        "patient",
        age=f"{person.age:g}",
        sex=prompts(person.sex or "male"),
        about=person.about,
        duration="-" if days is None else say_days(days, language),
        complaint=person.complaint,
        symptoms="\n".join(f"{n}. {text}" for n, text in enumerate(symptoms, start=1)),
        absent="\n".join(f"- {name}" for name in absent) or prompts("none"),
        disease=drawn.disease.name.get(language),
        severity=drawn.severity,
        knowledge=known,
    )


def _usual(disease: Disease, knowledge: Knowledge) -> list[tuple[Symptom, float]]:
    """Returns the symptoms that a disease names, with how many have each, the most usual first."""
    shares = [(symptom, disease.share(symptom, "moderate")) for symptom in knowledge.symptoms.values()]
    named = [pair for pair in shares if pair[0].id in disease.symptoms and pair[0].section == "symptoms"]
    return sorted(named, key=lambda pair: -pair[1])[:_MOST_KNOWN]


@functools.cache
def _names() -> dict[Contradiction, tuple[str, ...]]:
    """Returns what no history may name, folded, in both languages: illnesses, drugs and examinations of all we know.

    What a reader of the knowledge takes for a symptom is no name of any of them: "cough", or "chest pain".
    """
    knowledge = read_knowledge()
    named: dict[Contradiction, list[str]] = {
        "an illness named": [name for one in knowledge.diseases.values() for name in one.names()],
        "a treatment named": [name for one in knowledge.drugs.values() for name in (one.name.en, one.name.zh)],
        "an examination named": [name for one in knowledge.examinations.values() for name in one.names()],
    }
    lexicons = [lexicon_of(knowledge, language) for language in ("en", "zh")]

    def is_symptom(name: str) -> bool:
        return any(lexicon.read(name) for lexicon in lexicons)

    return {
        kind: tuple(sorted({fold_term(name) for name in names if len(name) > 1 and not is_symptom(name)}))
        for kind, names in named.items()
    }
