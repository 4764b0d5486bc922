"""The rules nurse: weighs over all diseases of the knowledge what is known at the door.

The department is the one whose diseases are together the likeliest, of those that the hospital has. What it may be says
how soon (`polyclinic.knowledge.acuity`); a red flag of the knowledge (`red_flags.yaml`) in the complaint makes it
sooner. Of a complaint in unknown words it knows age and sex alone: the department is the one that sees most people like
this one, and the patient waits for its turn.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, get_args

import numpy as np

from polyclinic.cases.presentation import Presentation
from polyclinic.errors import ScriptError
from polyclinic.knowledge.acuity import Level, usual_level
from polyclinic.knowledge.bayes import Reader, normalise
from polyclinic.knowledge.data import SEVERITIES
from polyclinic.knowledge.duration import read_days
from polyclinic.knowledge.likelihoods import Vector
from polyclinic.knowledge.safety import RedFlags, read_red_flags
from polyclinic.language.language import MARKS
from polyclinic.players.player import Ask, Purpose, Triage, Urgency
from polyclinic.players.roles.nurse import Nurse
from polyclinic.players.rules.sayings import nurse_sayings

_ASKED_BY: dict[Level, Urgency] = {1: "emergency", 2: "emergency", 3: "urgent", 4: "routine", 5: "routine"}

_MAY_BE_EMERGENCY = 0.4
"""From this probability on somebody is seen at once: who waits in danger loses more than who is seen too soon."""


class RulesNurse:
    """A mind for `Nurse`; its red flags are the knowledge's unless others are given."""

    name = "rules"

    def __init__(self, reader: Reader, red_flags: RedFlags | None = None) -> None:
        self._reader = reader
        self._flags = read_red_flags() if red_flags is None else red_flags
        self._log_complaints = complaints_expected(reader)
        levels = [usual_level(d, severity, reader.knowledge) for d in reader.diseases for severity in SEVERITIES]
        self._levels = np.array([_ASKED_BY[level] for level in levels])

    async def answer(self, ask: Ask[Any], role: Nurse) -> object:
        """Returns where the patient is sent."""
        if ask.purpose is not Purpose.TRIAGE:
            raise ScriptError(f"the rules nurse triages; it was asked to {ask.purpose}")
        language = role.presentation.language
        present = symptoms_told(self._reader, role.presentation)
        log = at_the_door(self._reader, role.presentation, present)
        posterior = normalise(log - self._named(present) * self._log_complaints)
        shares = by_department(self._reader, posterior)
        department = max(ask.among, key=lambda d: shares.get(d, 0.0))
        # Nobody is an emergency for age and sex alone.
        flag, acuity = self._flag(present), self._acuity(posterior) if present else "routine"
        say, names = nurse_sayings(language), self._reader.knowledge.symptoms
        percent = 100 * shares.get(department, 0.0)
        named = MARKS[language].item.join(names[s].name.get(language) for s in present)
        reason = (say.known if present else say.unknown).format(symptoms=named, percent=percent)
        if flag is not None:
            symptom, acuity = flag[0], min(flag[1], acuity, key=get_args(Urgency).index)
            reason += say.flag.format(flag=names[symptom].name.get(language))
        return Triage(department, acuity, reason)

    def _named(self, present: Collection[str]) -> int:
        """Returns how many complaints are named, leaving out what closer ones imply."""
        symptoms = self._reader.knowledge.symptoms
        implied = {symptoms[s].parent for s in present}
        return sum(s not in implied for s in present)

    def _flag(self, present: Iterable[str]) -> tuple[str, Urgency] | None:
        """Returns the gravest red flag among the symptoms, and what it makes."""
        flagged: tuple[tuple[Urgency, tuple[str, ...]], ...] = (
            ("emergency", self._flags.emergency),
            ("urgent", self._flags.urgent),
        )
        return next(((s, urgency) for urgency, flags in flagged for s in present if s in flags), None)

    def _acuity(self, posterior: Vector) -> Urgency:
        """Returns how soon what it may be asks for."""
        shares = {urgency: float(posterior[:-1][self._levels == urgency].sum()) for urgency in get_args(Urgency)}
        if shares["emergency"] >= _MAY_BE_EMERGENCY * sum(shares.values()):
            return "emergency"
        return max(get_args(Urgency), key=lambda urgency: shares[urgency])


def complaints_expected(reader: Reader) -> Vector:
    """Returns the logarithm of how many complaints somebody has under each hypothesis.

    Who comes through the door names a few complaints of those that there are. Somebody severely ill has many; that a
    certain one is named, then, says less for it than the complaint's own frequency.
    """
    rows = {symptom: row for row, symptom in enumerate(reader.knowledge.symptoms)}
    total = np.zeros(reader.shares.shape[1])
    for symptom in reader.knowledge.symptoms.values():
        if symptom.section == "symptoms":
            chain = (symptom.id, *reader.lexicons["en"].ancestors(symptom.id))
            total += np.prod(reader.shares[[rows[s] for s in chain]], axis=0)
    return np.log(total)


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
