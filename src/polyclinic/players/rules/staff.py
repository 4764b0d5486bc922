"""The rules nurse, pharmacist and examiner.

The nurse measures, asks for danger signs, and weighs all diseases of the knowledge. The department is the one whose
diseases are together the likeliest, of those that the hospital has. The level follows the Emergency Severity Index
(`polyclinic.knowledge.acuity`): her vital signs; a danger sign of the knowledge (`red_flags.yaml`), including those of
children and pregnant women; and whether minutes decide in any likely disease, and how many kinds of resources it takes.
If she knows no word of the complaint, the department is the one that sees most patients of this age and sex.

The pharmacist withholds a drug for an allergy, age, pregnancy, the kidneys, an illness or another drug. The examiner
reads a request into the names that it contains.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from polyclinic.cases.presentation import Presentation
from polyclinic.errors import ScriptError
from polyclinic.knowledge.acuity import LEVELS, Level, by_signs, in_danger_zone, needed_resources, telling_signs
from polyclinic.knowledge.bayes import Reader, normalise
from polyclinic.knowledge.data import SEVERITIES
from polyclinic.knowledge.entries import Drug, Symptom
from polyclinic.knowledge.examination_words import EXAMINATION, FISHING
from polyclinic.knowledge.lexicon import asked_of, read_days
from polyclinic.knowledge.reading import Vector
from polyclinic.knowledge.safety import (
    RedFlags,
    objection,
    read_red_flags,
    says_pregnant,
)
from polyclinic.language.language import MARKS, Language
from polyclinic.players.player import Ask, Dispensing, Purpose, Request, Triage, Withheld
from polyclinic.players.roles.examiner import Examiner
from polyclinic.players.roles.staff import Nurse, Pharmacist
from polyclinic.players.rules.belief import Belief
from polyclinic.players.rules.sayings import nurse_sayings, pharmacist_sayings

_TOO_LATE = 1.5  # Being a level too late is so many times as bad as being one too early: who waits in danger loses more
_AT_ONCE = 2  # Things asked for in one question; more is an interrogation, and patients answer it badly

_WORTH_ASKING = 0.003
"""Nats about the level that an answer must be expected to say; of a danger sign that is not known less is enough."""

_DANGER_WORTH_ASKING = 0.001

_GOES_WITH, _MAY_BE_THERE = 1.5, 0.01
"""A danger sign goes with what is known where it is so many times as likely as in all who come, and so likely."""


class TriageTables:
    """What the rules nurse looks up of a knowledge; made once."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        # Somebody severely ill has many complaints; that a certain one is named, then, says less for the illness than
        # the complaint's own frequency. These are the logarithms of the numbers expected under each hypothesis.
        rows = {symptom: row for row, symptom in enumerate(reader.knowledge.symptoms)}
        total = np.zeros(reader.shares.shape[1])
        for symptom in reader.knowledge.symptoms.values():
            if symptom.section == "symptoms":
                chain = (symptom.id, *reader.lexicons["en"].ancestors(symptom.id))
                total += np.prod(reader.shares[[rows[s] for s in chain]], axis=0)
        self.log_complaints: Vector = np.log(total)
        examinations = reader.knowledge.examinations
        pairs = [(d, severity) for d in reader.diseases for severity in SEVERITIES]
        resources = np.array([needed_resources(d, severity, examinations) for d, severity in pairs])
        self._critical = np.array([severity in d.time_critical for d, severity in pairs])
        self._many, self._some = resources >= 2, resources == 1
        self.usual: Vector = reader.shares @ normalise(reader.prior())  # how often each symptom is, in all who come
        choices = np.array(LEVELS)
        later = choices[:, None] - choices[None, :]
        self.losses: Vector = np.where(later > 0, _TOO_LATE * later, -later)

    def levels(self, vital_signs: dict[str, float]) -> Vector:
        """Returns which hypothesis is of which level, with these vital signs: (level, hypothesis).

        "Something else" takes two kinds of resources, as most that a knowledge does not hold.
        """
        of_signs = by_signs(vital_signs)
        of_many = 2 if in_danger_zone(vital_signs) else 3
        level = np.where(self._many, of_many, np.where(self._some, 4, 5))
        level = np.append(np.where(self._critical, 2, level), of_many)
        if of_signs is not None:
            level = np.full(len(level), of_signs) if of_signs == 1 else np.minimum(level, 2)
        members: Vector = (level[None, :] == np.array(LEVELS)[:, None]).astype(np.float64)
        return members


tables_of = functools.lru_cache(maxsize=16)(TriageTables)


class RulesNurse:
    """A mind for `Nurse`, one for each visit; its red flags are the knowledge's unless others are given."""

    name = "rules"

    def __init__(self, reader: Reader, red_flags: RedFlags | None = None) -> None:
        self._reader, self._tables = reader, tables_of(reader)
        self._flags = read_red_flags() if red_flags is None else red_flags
        self._known: tuple[Nurse, Belief] | None = None

    async def answer(self, ask: Ask[Any], role: Nurse) -> object:
        """Returns where the patient is sent, or what she asks first."""
        if ask.purpose is not Purpose.TRIAGE:
            raise ScriptError(f"the rules nurse triages; it was asked to {ask.purpose}")
        if self._known is None or self._known[0] is not role:
            self._known = role, Belief(self._reader, role)
        belief = self._known[1]
        belief.update()
        judging = _DoorJudgement(self._tables, self._flags, role, belief)
        asked = judging.questions() if role.questions_left() > 0 else []
        if asked:
            belief.expect(symptoms=asked)
        language = role.presentation.language
        questions = [asked_of(symptom.question.get(language), role.presentation) for symptom in asked]
        return judging.triage(ask.among, MARKS[language].blank.join(questions))


class _DoorJudgement:
    """What follows from what the nurse of one visit knows now."""

    def __init__(self, tables: TriageTables, flags: RedFlags, role: Nurse, belief: Belief) -> None:
        self._tables, self._reader, self._role, self._belief = tables, tables.reader, role, belief
        person = role.presentation
        self._language: Language = person.language
        self._present = belief.present()
        told = (person.complaint, person.about)
        pregnant = person.sex != "male" and (
            flags.may_be_pregnant in self._present or any(says_pregnant(text, person.language) for text in told)
        )
        self._flags = flags.of(person.age, pregnant=pregnant)
        self._measured, self._as_adult = belief.numbers()
        self._levels = tables.levels(self._as_adult)
        # A patient names a few of its complaints at the door; those that closer ones imply do not count.
        named = symptoms_told(self._reader, person)
        implied = {self._reader.knowledge.symptoms[symptom].parent for symptom in named}
        count = sum(symptom not in implied for symptom in named)
        self._posterior = normalise(np.log(belief.posterior() + 1e-300) - count * tables.log_complaints)

    def questions(self) -> list[Symptom]:
        """Returns what to ask for next, danger signs first; nothing where no answer would say enough of the level."""
        symptoms = list(self._reader.knowledge.symptoms.values())
        dangers = {*self._flags.emergency, *self._flags.urgent, self._flags.may_be_pregnant}
        # Who is not short of breath is not asked whether that is so at rest.
        dangers |= {s.parent for s in symptoms if s.id in dangers and s.parent is not None}
        information = np.where(self._belief.askable(), self._information(), 0.0)
        least = _WORTH_ASKING
        if self._role.questions_left() > 1 or not self._belief.asked:
            goes_with = self._reader.shares @ self._posterior >= np.maximum(
                _GOES_WITH * self._tables.usual, _MAY_BE_THERE
            )
            of_danger = information * goes_with * np.array([symptom.id in dangers for symptom in symptoms])
            if of_danger.max(initial=0.0) >= _DANGER_WORTH_ASKING:
                information, least = of_danger, _DANGER_WORTH_ASKING
        best = np.argsort(-information, kind="stable")[:_AT_ONCE]
        return [symptoms[i] for i in best if information[i] >= least]

    def _information(self) -> Vector:
        """Returns how much the answer on each symptom is expected to say about the level, in nats."""
        present = (self._reader.shares * self._posterior) @ self._levels.T
        now = self._levels @ self._posterior
        shares = present.sum(axis=1)
        information: Vector = _entropy(now) - _entropy_of(present, shares) - _entropy_of(now - present, 1 - shares)
        return information

    def triage(self, departments: Collection[str], question: str) -> Triage:
        """Returns the judgement."""
        shares = by_department(self._reader, self._posterior)
        department = max(departments, key=lambda d: shares.get(d, 0.0))
        by_level = self._levels @ self._posterior
        level = LEVELS[int((self._tables.losses @ by_level).argmin())]
        # Nobody is an emergency for age and sex alone.
        if not self._present and by_signs(self._as_adult) is None:
            level = level if level > 4 else 4
        flagged = (("emergency", self._flags.emergency), ("urgent", self._flags.urgent))
        flag = next(((s, urgency) for urgency, flags in flagged for s in self._present if s in flags), None)
        made: dict[str, Level] = {"emergency": 2, "urgent": 3}
        for urgency in (None if flag is None else flag[1], self._flags.by_sign(self._measured)):
            if urgency is not None:
                level = level if level < made[urgency] else made[urgency]
        return Triage.at(level, department, self._reason(level, shares.get(department, 0.0), flag), question)

    def _reason(self, level: Level, share: float, flag: tuple[str, str] | None) -> str:
        say, knowledge = nurse_sayings(self._language), self._reader.knowledge
        item = MARKS[self._language].item
        named = item.join(knowledge.symptoms[s].name.get(self._language) for s in self._belief.leaves())
        reason = (say["known"] if self._present else say["unknown"]).format(symptoms=named, percent=100 * share)
        signs = [
            f"{knowledge.quantities[sign].name.get(self._language)} {self._measured[sign]:g}"
            for sign in telling_signs(self._as_adult)
        ]
        if flag is not None:
            reason += say["flag"].format(flag=knowledge.symptoms[flag[0]].name.get(self._language))
        if signs:
            reason += say["signs"].format(signs=item.join(signs))
        return reason + say["level"].format(level=level)


def _entropy(shares: Vector) -> float:
    kept = np.maximum(shares, 1e-12)
    return float(-(kept * np.log(kept)).sum())


def _entropy_of(joint: Vector, shares: Vector) -> Vector:
    """Returns the entropy that is left after each answer, times how often it comes: (symptom, level), (symptom)."""
    kept = np.maximum(joint, 1e-12)
    left: Vector = -(kept * np.log(kept / np.maximum(shares, 1e-12)[:, None])).sum(axis=1)
    return left


def symptoms_told(reader: Reader, presentation: Presentation) -> tuple[str, ...]:
    """Returns the symptoms that a presentation speaks of as being there, in the order in which it names them."""
    read = reader.lexicons[presentation.language].read_all((presentation.complaint, presentation.about))
    return tuple(symptom for symptom, present in read.items() if present)


def at_the_door(reader: Reader, presentation: Presentation, present: Iterable[str]) -> Vector:
    """Returns the log posterior, not normalised, from age, sex, how long it has lasted and the symptoms told.

    What is not told is not denied: nobody has asked yet.
    """
    log = reader.prior() + reader.person(presentation)
    for symptom in present:
        log = log + reader.symptom(symptom, True)
    days = read_days(presentation.complaint, presentation.language)
    return log if days is None else log + reader.duration(days)


def by_department(reader: Reader, posterior: Vector) -> dict[str, float]:
    """Returns the probability that the illness is a department's."""
    of_diseases = posterior[:-1].reshape(-1, len(SEVERITIES)).sum(axis=1)
    shares: dict[str, float] = {}
    for disease, share in zip(reader.diseases, of_diseases.tolist(), strict=True):
        shares[disease.department] = shares.get(disease.department, 0.0) + share
    return shares


class RulesPharmacist:
    """A mind for `Pharmacist`."""

    name = "rules"

    async def answer(self, ask: Ask[Any], role: Pharmacist) -> object:
        """Returns what is withheld."""
        if ask.purpose is not Purpose.DISPENSE:
            raise ScriptError(f"the rules pharmacist dispenses; it was asked to {ask.purpose}")
        withheld: list[Withheld] = []
        handed_out: list[Drug] = []
        for drug in role.prescription:
            against = objection(drug, role.known, role.presentation, handed_out)
            if against is None:
                handed_out.append(drug)
                continue
            language = role.presentation.language
            reason = pharmacist_sayings(language)[against.kind].format(
                what=against.what.get(language),
                reason=against.reason.get(language),
                limit=against.limit,
                drug=drug.name.get(language),
            )
            withheld.append(Withheld(drug.id, reason))
        return Dispensing(tuple(withheld))


_LEAD = re.compile(
    r"^.{0,40}?\b(?:asks? for|orders?|requests?|please (?:do|perform|check|order|run))\b\s*:?\s*|^[^：]{0,16}：",
    re.IGNORECASE,
)
_PARTS = re.compile(r"[;；。\n]|\.(?=\s|$)")
_SMALLER = re.compile(r"[,，、]|\band\b|和|以及|及")
_POLITE = re.compile(
    r"\b(?:please|do|perform|check|order|run|get|give|show|tell|me|us|the|an?|some|of|for"
    r"|results?|also|would|like|to|i)\b"
    r"|请|做|查|一下|一个|一次|给我|告诉我|结果|的",
    re.IGNORECASE,
)


class RulesExaminer:
    """Reads requests by the names in them. What is vague names nothing, and yields nothing."""

    name = "rules"

    async def answer(self, ask: Ask[Any], role: Examiner) -> object:
        """Returns the `Request` that was last made."""
        if ask.purpose is not Purpose.READ_REQUEST:
            raise ScriptError(f"the rules examiner reads requests; it was asked to {ask.purpose}")
        request = role.request()
        items = [request] if any(role.names.look_up(request)) else []
        for part in _PARTS.split(_LEAD.sub("", request, count=1)):
            items += self._unknown(part.strip(), role)
        return Request(items=tuple(dict.fromkeys(items)))

    def _unknown(self, part: str, role: Examiner) -> list[str]:
        if not part or any(role.names.look_up(part)) or FISHING.search(part) or role.names.refuses(part):
            return []
        # Nothing of the kind is known by name; what plainly is an examination is answered as not recorded.
        smaller = (_POLITE.sub(" ", p).strip() for p in _SMALLER.split(part))
        return [" ".join(p.split()) for p in smaller if EXAMINATION.search(p)]
