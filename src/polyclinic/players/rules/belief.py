"""What the rules doctor of one visit, or the rules nurse, has learnt, and what follows from it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from polyclinic.cases.patient_record import NotedLine, NotedVisit, PatientRecord
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding
from polyclinic.events import Established, Examined, Role, Said
from polyclinic.knowledge.bayes import ItemEvidence, Reader, normalise
from polyclinic.knowledge.entries import Symptom
from polyclinic.knowledge.lexicon import read_days
from polyclinic.knowledge.reading import PatientReading, Vector
from polyclinic.language.clauses import denies
from polyclinic.players.roles.doctor import Doctor
from polyclinic.players.roles.staff import Nurse
from polyclinic.players.rules.sayings import doctor_sayings

_WEIGHT = 0.2
"""How much it weighs. What was found then is mostly there still, and will be found again: it must not count twice."""

_LEAST = 1e-6


def earlier_evidence(reader: Reader, visits: Sequence[NotedVisit], presentation: Presentation) -> Vector:
    """Returns the log-likelihoods of what earlier visits found.

    They speak for or against diseases, and of none for how badly it is there: that has changed since.
    """
    log = np.zeros_like(reader.prior())
    lexicon = reader.lexicons[presentation.language]
    for visit in visits:
        reading = PatientReading(reader.tables, presentation.age, presentation.sex)
        reader.read_findings(visit.findings, reading)
        told = lexicon.read_all(text for held in visit.consultations for text in held.symptoms)
        for symptom, present in told.items():
            if present:
                reading.symptom(symptom, True)
        prior = reader.prior() + reader.person(presentation)
        before, after = (reader.members @ normalise(one) for one in (prior, prior + reading.log()))
        of_disease = np.log(np.maximum(after, _LEAST)) - np.log(np.maximum(before, _LEAST))
        log = log + _WEIGHT * (reader.members.T @ of_disease)
    return log


_UNREAD_KNOWN, _UNREAD_OTHER = 0.03, 0.6
"""Chance of a complaint in words outside the knowledge, from a patient with a known disease and with something else."""

_STRANGE_KNOWN, _STRANGE_OTHER, _MOST_STRANGE = 0.2, 0.6, 3
"""The same of something wrong in an examination outside the knowledge. Such results hang together, so few count."""

_TOLD_KNOWN, _TOLD_OTHER = 0.1, 1.0
"""The same of results in other words than the knowledge's, once: who is told of so may have anything there is."""

_TRUST = 0.55
"""How much the evidence of a case in others' words weighs: what was not drawn from the knowledge is not independent."""

_UNTOLD = 0.25
"""How much it weighs that a record in others' words does not speak of a symptom, where its absence weighs 1."""

_QUESTION = re.compile(r"[^.!?。！？]*[?？]")

_LISTENERS = (Role.DOCTOR, Role.NURSE)

_REASONS = 5
_WORTH_SAYING = 1.5


class Belief:
    """What the doctor of one visit, or the nurse at its door, has learnt, and what follows from it.

    Attributes:
        asked: questions and orders so far.
        findings: the results, each once.
        unread: those of them in words outside the knowledge.
        in_others_words: some result was put in other words than the knowledge's, and could be read.
        asked_before: what others asked this patient before, word for word.
        complaint_unread: part of the complaint was in words outside the knowledge.
    """

    def __init__(self, reader: Reader, role: Doctor | Nurse) -> None:
        self._reader = reader
        self._role = role
        self._language = role.presentation.language
        self._lexicon = reader.lexicons[self._language]
        self._beside = reader.prior() + reader.person(role.presentation)
        self._reading = PatientReading(reader.tables, role.presentation.age, role.presentation.sex)
        self._events_read = 0
        self._present: dict[str, bool] = {}
        self._other_words: list[str] = []
        person = role.presentation
        # What this patient cannot have is not asked for, and not heard: its absence would say nothing.
        self._impossible = reader.impossible(person.age, person.sex)
        self._row = reader.symptom_row
        self._settled = np.zeros(len(self._row), dtype=np.bool_)
        self._settled[[self._row[symptom] for symptom in self._impossible]] = True
        examinations = reader.knowledge.examinations
        self._can_be_done = tuple(i for i, e in examinations.items() if e.possible(person.age, person.sex))
        self._evidence: list[tuple[str, Vector]] = []
        self._asked_symptoms: Sequence[Symptom] = ()
        self._ordered: set[str] = set()
        self._listening_generally = False
        self._awaited = ""
        self.asked = 0
        self.asked_before: set[str] = set()
        self.findings: list[Finding] = []
        self.unread: list[Finding] = []
        self._told: dict[tuple[str, str], tuple[str, ItemEvidence]] = {}
        self._strange = 0
        self.in_others_words = self.complaint_unread = False
        self._hear_complaint(role.presentation.complaint)
        if role.past is not None:
            self._take_over(role.past)
        if role.record is not None:
            self._read_whole_record()

    def posterior(self) -> Vector:
        """Returns the probability of every hypothesis."""
        log, prior = self._beside + self._reading.log(), self._reader.prior()
        return normalise(prior + _TRUST * (log - prior) if self.in_others_words else log)

    def askable(self) -> npt.NDArray[np.bool_]:
        """Returns which symptoms can be asked for: not settled, and their parents there."""
        askable = self._reader.with_parent(self.present()) & ~self._settled
        askable[[self._row[symptom] for symptom in self._reading.settled()]] = False
        return askable

    def open_examinations(self) -> list[str]:
        """Returns the examinations that were not ordered yet and can be done on this patient."""
        return [examination for examination in self._can_be_done if examination not in self._ordered]

    def undone(self, examinations: Iterable[str]) -> list[str]:
        """Returns those of the examinations that can be done on this patient and were not ordered yet."""
        return [id for id in examinations if id in self._can_be_done and id not in self._ordered]

    def has_ordered(self, examinations: Iterable[str]) -> bool:
        """Whether all these examinations were ordered, or their results came."""
        return self._ordered.issuperset(examinations)

    def expect(self, *, symptoms: Sequence[Symptom] = (), examinations: Sequence[str] = ()) -> None:
        """Notes what the next answer is an answer to; neither: a general question."""
        self.asked += 1
        self._asked_symptoms = symptoms
        self._listening_generally = not symptoms and not examinations
        for symptom in symptoms:
            # Whatever the patient makes of it, the same question again would bring the same answer.
            self._settled[self._row[symptom.id]] = True
        self._ordered.update(examinations)
        known = self._reader.knowledge.examinations
        self._awaited = known[examinations[0]].name.get(self._language) if examinations else ""

    def update(self) -> None:
        """Reads what was said and found since the last time."""
        for event in self._role.seen[self._events_read :]:
            if isinstance(event, Said) and event.who is Role.PATIENT and event.to in _LISTENERS and event.turn > 0:
                self._hear_reply(event.text)
            elif isinstance(event, Examined):
                for finding in event.findings:
                    self._read_finding(finding)
            elif isinstance(event, Established):
                self._take_in(event)
        self._events_read = len(self._role.seen)
        if not self._role.may_order():
            free, known = self._role.free, self._reader.knowledge.examinations
            self._ordered.update(id for id, e in known.items() if e.name.get(self._language) not in free)

    def present(self) -> tuple[str, ...]:
        """Returns the symptoms that are there, by id, in the order in which they became known."""
        return tuple(symptom for symptom, there in self._present.items() if there)

    def leaves(self) -> tuple[str, ...]:
        """Returns the symptoms that are there, by id, leaving out what a closer one implies."""
        implied = {p for s in self.present() for p in self._lexicon.ancestors(s)}
        return tuple(symptom for symptom in self.present() if symptom not in implied)

    def numbers(self) -> tuple[dict[str, float], dict[str, float]]:
        """Returns the numbers that were measured, by item id: as they are, and as an adult's."""
        measured = {item.place[1]: item.observed for _, item in self._told.values() if isinstance(item.observed, float)}
        return measured, {item: self._reading.as_adult(item, value) for item, value in measured.items()}

    def symptoms_found(self) -> tuple[str, ...]:
        """Returns the clinical names of what is there, leaving out what a closer one implies; then other words."""
        known = (self._reader.knowledge.symptoms[s].name.get(self._language) for s in self.leaves())
        return (*self._other_words, *known)

    def reasons(self, disease: int, say: dict[str, str]) -> tuple[str, ...]:
        """Returns what speaks most for a disease against the other candidates, strongest first."""
        posterior = self.posterior()
        mine = self._reader.members[disease] > 0
        inside, others = posterior * mine, posterior * ~mine
        if others.sum() <= 0 or inside.sum() <= 0:
            return ()
        # Against the candidates that are still open; the settled ones need no reasons any more.
        weighed, mine_all, others_all = [], inside.sum(), others.sum()
        for what, likelihood in self._evidence:
            p = np.exp(likelihood - likelihood.max())
            ratio = float((p @ inside / mine_all) / max(p @ others / others_all, 1e-9))
            weighed.append((ratio, what))
        best = sorted((w for w in weighed if w[0] > _WORTH_SAYING), key=lambda w: -w[0])[:_REASONS]
        return tuple(say["reason"].format(what=what, ratio=_in_two_figures(min(ratio, 999))) for ratio, what in best)

    def _take_over(self, past: PatientRecord) -> None:
        """Takes in what others noted: of this visit as if heard, of earlier ones which disease they speak for."""
        self._beside = self._beside + earlier_evidence(self._reader, past.of_this_illness, self._role.presentation)
        if past.today.triage is not None:
            self._read_talk(past.today.triage.said)
            for finding in past.today.triage.findings:
                self._read_finding(finding)
            # Vital signs are a part of what a doctor examines.
            self._ordered.clear()
        for held in past.today.consultations:
            self._read_talk(held.said)
            for finding in held.findings:
                self._read_finding(finding)

    def _read_talk(self, said: Iterable[NotedLine]) -> None:
        """Reads what somebody else asked, and what the patient answered."""
        symptoms, asked = self._reader.knowledge.symptoms, False
        for line in said:
            if line.who != "patient":
                self.asked_before.add(line.text)
                named = self._lexicon.asked(line.text)
                self._asked_symptoms, asked = [symptoms[s] for s in named], True
                for symptom in named:
                    self._settled[self._row[symptom]] = True
            elif asked:
                self._hear_reply(line.text)

    def _hear_complaint(self, text: str) -> None:
        for _ in self._lexicon.clauses_outside(text):
            self._beside = self._beside + self._of_known_and_other(_UNREAD_KNOWN, _UNREAD_OTHER)
            self.complaint_unread = True
            self._other_words = [text.strip()]
        for symptom, present in self._lexicon.read(text).items():
            if present:
                self._learn(symptom, present)
        days = read_days(text, self._language)
        if days is not None:
            self._add(doctor_sayings(self._language)["duration"].format(days=round(days)), self._reader.duration(days))

    def _hear_reply(self, text: str) -> None:
        if self._awaited:
            # Without an examiner it is the patient who tells a result, in whatever words it was told.
            told = Finding(examination=self._awaited, value=text.strip())
            if self._reader.says(told).items:
                self._read_finding(told)
        read = self._lexicon.read(text)
        unanswered, self._asked_symptoms = [s.id for s in self._asked_symptoms if s.id not in read], ()
        denied = denies(text, self._language) if unanswered else None
        # A bare yes to two questions says that one of them is so, and not which.
        if denied or (denied is False and len(unanswered) == 1):
            read.update(dict.fromkeys(unanswered, not denied))
        words = _QUESTION.sub("", text).strip()
        if self._listening_generally and words and not denies(words, self._language):
            self._other_words.append(words)
        for symptom, present in read.items():
            self._learn(symptom, present)

    def _take_in(self, facts: Established) -> None:
        """Takes in what a team has found out together; it overrules what this doctor had heard itself."""
        seen = self._lexicon.read_all(facts.symptoms)
        for text in facts.symptoms:
            if not self._lexicon.read(text) and text.strip() not in self._other_words:
                self._other_words.append(text.strip())
        # A parent first: what is said of it decides whether there can be anything under it.
        for symptom in sorted(seen, key=lambda s: len(self._lexicon.ancestors(s))):
            self._forget_unless(symptom, seen[symptom])
            self._learn(symptom, seen[symptom])
        for finding in facts.findings:
            if finding not in self.findings:
                self._read_finding(finding)

    def _forget_unless(self, symptom: str, present: bool) -> None:
        """Forgets a symptom, and what hangs on it, where something else was thought of it."""
        if self._present.get(symptom, present) == present:
            return
        for known in [s for s in self._present if s == symptom or symptom in self._lexicon.ancestors(s)]:
            what = self._what(known, self._present.pop(known))
            self._reading.forget(known)
            self._evidence = [(w, v) for w, v in self._evidence if w != what]

    def _learn(self, symptom: str, present: bool, *, weight: float = 1.0) -> None:
        if symptom in self._present or symptom in self._impossible:
            return
        knowledge = self._reader.knowledge
        parent = knowledge.symptoms[symptom].parent
        if parent is not None:
            if present:
                self._learn(parent, True)
            if not self._present.get(parent, False):
                # Without its parent it cannot be there, and its absence says nothing.
                return
        self._present[symptom] = present
        self._settled[self._row[symptom]] = True
        before = self._reading.log()
        self._reading.symptom(symptom, present, weight=weight)
        self._evidence.append((self._what(symptom, present), self._reading.log() - before))

    def _what(self, symptom: str, present: bool) -> str:
        """Returns how a symptom stands among the evidence."""
        name = self._reader.knowledge.symptoms[symptom].name.get(self._language)
        return name if present else doctor_sayings(self._language)["absent"].format(symptom=name)

    def _read_finding(self, finding: Finding) -> None:
        """Takes in what a finding says; what was said before says nothing new, unless it was usual and now is not."""
        if finding in self.findings:
            return
        self.findings.append(finding)
        says, what = self._reader.says(finding), finding.text(self._language)
        if says.is_unread:
            self.unread.append(finding)
        if says.is_strange and self._strange < _MOST_STRANGE:
            self._strange += 1
            self._add(what, self._of_known_and_other(_STRANGE_KNOWN, _STRANGE_OTHER))
        log = self._reading.log()
        for item in says.items:
            self._ordered.add(item.place[0])
            before = self._told.get(item.place)
            if before is not None and not (before[1].is_usual and not item.is_usual):
                continue
            self._told[item.place] = (what, item)
            self._reading.item(item.place[1], item.observed)
        self._evidence.append((what, self._reading.log() - log))
        if says.is_in_others_words and not self.in_others_words:
            self.in_others_words = True
            self._beside = self._beside + self._of_known_and_other(_TOLD_KNOWN, _TOLD_OTHER)

    def _of_known_and_other(self, known: float, other: float) -> Vector:
        """Returns the log-likelihood of what has one chance with a known disease and one with something else."""
        likelihood: Vector = np.log(np.append(np.full(len(self._beside) - 1, known), other))
        return likelihood

    def _read_whole_record(self) -> None:
        record = self._role.record
        assert record is not None  # noqa: S101
        for finding in record.findings:
            self._read_finding(finding)
        for section, text in record.history.sections():
            for symptom, present in self._lexicon.read(text).items():
                self._learn(symptom, present)
            if section == "symptoms" and not self._lexicon.read(text):
                self._other_words.append(text)
        # A record in the knowledge's words tells everything; one in others' is silent about most that nobody asked.
        weight = _UNTOLD if self.in_others_words else 1.0
        for symptom in self._reader.knowledge.symptoms:
            self._learn(symptom, False, weight=weight)

    def _add(self, what: str, likelihood: Vector) -> None:
        self._beside = self._beside + likelihood
        self._evidence.append((what, likelihood))


def _in_two_figures(ratio: float) -> str:
    """Returns a likelihood ratio as people write it: 1.7, 24, 220."""
    digits = 1 - math.floor(math.log10(ratio))
    return f"{round(ratio, digits):.{max(digits, 0)}f}".removesuffix(".0")
