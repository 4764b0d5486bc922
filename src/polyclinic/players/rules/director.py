"""The rules director: merges lists, finds contradictions, and pools the doctors' probabilities, without a model.

It reads symptoms by the medical knowledge's words. Two doctors contradict one another where one affirms a symptom that
another denies, or where an examination's item has two values. They are in dispute where their first diagnoses differ,
or what they diagnose beside, or, with the same diagnoses, their plans; names of one disease, or of a kind of it, are
the same diagnosis, and plans that say mostly the same in other words are one plan. In the end every doctor has one
vote, spread over what it names by the probabilities; the mean of the votes decides which comes first, and a tie is
said. What all doctors diagnose stands in the report; what some do is a differential.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any, TypeVar

from polyclinic.cases.report import Diagnosis, Report
from polyclinic.errors import ScriptError
from polyclinic.events import Revised, Role, Said
from polyclinic.knowledge.bayes import Reader
from polyclinic.knowledge.disease_names.relation import Relation, known_relation
from polyclinic.language.clauses import denies
from polyclinic.language.content_words import coverage
from polyclinic.language.language import MARKS, Marks
from polyclinic.players.player import Ask, Disputes, Facts, Purpose
from polyclinic.players.roles.staff import Director
from polyclinic.players.rules.sayings import director_sayings, doctor_sayings

_LEAST_SHARE = 0.02  # Diagnoses that the doctors together hold for less probable than this do not stand in the report
_MOSTLY = 0.6  # From which share of its words in another a plan says mostly the same

K = TypeVar("K", bound=Hashable)


class RulesDirector:
    """A mind for `Director`; of the knowledge it needs the words for symptoms and the names of diseases."""

    name = "rules"

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._met: dict[str, str] = {}

    async def answer(self, ask: Ask[Any], role: Director) -> object:
        """Merges the facts, names what is in dispute, or concludes."""
        if ask.purpose is Purpose.MERGE:
            return self._merge(role)
        if ask.purpose is Purpose.DISPUTE:
            return self._disputes(role)
        if ask.purpose is Purpose.CONCLUDE:
            return self._conclusion(role)
        raise ScriptError(f"the rules director merges, disputes and concludes; it was asked to {ask.purpose}")

    def _merge(self, role: Director) -> Facts:
        language = role.presentation.language
        lexicon = self._reader.lexicons[language]
        knowledge = self._reader.knowledge
        answers = self._answers(role)
        told = dict.fromkeys(text.strip() for shared in role.shared() for text in shared.symptoms if text.strip())
        read = {text: dict(lexicon.mentions(text)) for text in told}
        affirmed, denied = (
            {s for of in read.values() for s, is_so in of.items() if is_so is so} for so in (True, False)
        )
        contradicted = sorted(affirmed & denied, key=list(knowledge.symptoms).index)
        settled = {symptom: so for symptom in contradicted if (so := answers.get(symptom)) is not None}

        symptoms = [text for text, of in read.items() if all(settled.get(s, so) == so for s, so in of.items())]
        kept = {symptom for text in symptoms for symptom in read[text]}
        # What an answer has overruled goes; what else stood in the same text stays, by its name.
        left = {s: settled.get(s, so) for text, of in read.items() if text not in symptoms for s, so in of.items()}
        for symptom in (symptom for symptom in left if symptom not in kept):
            name = knowledge.symptoms[symptom].name.get(language)
            symptoms.append(name if left[symptom] else doctor_sayings(language)["absent"].format(symptom=name))

        examinations = dict.fromkeys(e.strip() for shared in role.shared() for e in shared.examinations if e.strip())
        asking = role.may_ask and not any(isinstance(event, Said) for event in role.seen)
        questions = [knowledge.symptoms[symptom].question.get(language) for symptom in contradicted]
        return Facts(
            symptoms=tuple(symptoms),
            examinations=tuple(examinations),
            ask_patient=tuple(questions) if asking else (),
            ask_examiner=self._differing(role, examinations) if asking else (),
        )

    def _answers(self, role: Director) -> dict[str, bool]:
        """Returns what the patient has answered: whether a symptom is there, where the answer says so."""
        lexicon = self._reader.lexicons[role.presentation.language]
        asked: dict[int, str] = {}
        answers: dict[str, bool] = {}
        for event in role.seen:
            if isinstance(event, Said) and event.who is Role.DIRECTOR:
                asked[event.turn] = lexicon.question(event.text) or ""
            elif isinstance(event, Said) and asked.get(event.turn):
                symptom = asked[event.turn]
                denied = denies(event.text, lexicon.language)
                so = lexicon.read(event.text).get(symptom, None if denied is None else not denied)
                if so is not None:
                    answers[symptom] = so
        return answers

    def _differing(self, role: Director, examinations: Iterable[str]) -> tuple[str, ...]:
        """Returns the requests for the examinations of which two doctors give different results."""
        results: dict[str, dict[str, set[str]]] = {}
        names: dict[str, str] = {}
        for finding in (finding for shared in role.shared() for finding in shared.findings):
            by_item = results.setdefault(finding.examination.casefold(), {})
            by_item.setdefault(finding.item.casefold(), set()).add(f"{finding.value_text} {finding.unit}")
            names.setdefault(finding.examination.casefold(), finding.examination)
        if not results:
            # Nobody examined, the patient told: the doctors' own words are all there is.
            for text in examinations:
                name, colon, value = text.replace("：", ":").partition(":")
                if colon:
                    results.setdefault(name.strip().casefold(), {}).setdefault("", set()).add(value.strip().casefold())
                    names.setdefault(name.strip().casefold(), name.strip())
        say = director_sayings(role.presentation.language)["look_again"]
        return tuple(
            say.format(examination=names[name])
            for name, by_item in results.items()
            if any(len(values) > 1 for values in by_item.values())
        )

    def _disputes(self, role: Director) -> Disputes:
        say, marks = self._language(role)
        standing = role.standing()
        names = {
            self._first(event): event.report.diagnoses[0].name for event in standing[::-1] if event.report.diagnoses
        }
        by_lead = _grouped((self._first(event), event.doctor) for event in standing)
        if len(by_lead) > 1:
            leads = [(names.get(lead, say["nothing"]), doctors) for lead, doctors in by_lead.items()]
            return Disputes((say["lead"].format(sides=self._sides(role, leads)),))
        by_others = _grouped((frozenset(self._held(event)), event.doctor) for event in standing)
        if len(by_others) > 1:
            reports = {event.doctor: event.report for event in standing}
            shown = [(self._shown(role, reports[doctors[0]]), doctors) for doctors in by_others.values()]
            return Disputes((say["lead"].format(sides=self._sides(role, shown)),))
        by_plan = _plans(standing)
        if len(by_plan) == 1:
            return Disputes(())
        everywhere = frozenset.intersection(*(frozenset(_plan(event)) for event in standing))
        plans = {event.doctor: [item for item in _plan(event) if item not in everywhere] for event in standing}
        sides = [(marks.item.join(plans[doctors[0]]) or say["no_more"], doctors) for doctors in by_plan]
        (lead,) = by_lead
        disease = names.get(lead, say["nothing"])
        return Disputes((say["plan"].format(disease=disease, sides=self._sides(role, sides)),))

    def _conclusion(self, role: Director) -> Report:
        say, marks = self._language(role)
        standing, facts = role.standing(), role.established()
        votes = [self._vote(event.report) for event in standing]
        named: dict[str, Diagnosis] = {}
        for event in standing:
            for diagnosis in _named(event.report):
                named.setdefault(self._key(diagnosis), diagnosis)
        pooled = {key: sum(vote.get(key, 0.0) for vote in votes) / len(votes) for key in named}
        undecided = sum(not vote for vote in votes) / len(votes)
        order = sorted(pooled, key=lambda key: -round(pooled[key], 9))
        who = [
            say["votes"].format(who=self._who(role, [event.doctor]), what=self._shown(role, event.report))
            for event in standing
        ]
        symptoms, examinations = (facts.symptoms, facts.examinations) if facts is not None else ((), ())
        diagnosed = [self._held(event) for event in standing if event.report.diagnoses]
        if not diagnosed or undecided > pooled[order[0]]:
            rationale, refer = (say["undecided"], *who), (say["refer"],)
            return Report(
                symptoms=symptoms, examinations=examinations, diagnoses=(), rationale=rationale, treatment=refer
            )
        best = [key for key in order if round(pooled[key], 9) == round(pooled[order[0]], 9)]
        tie = say["tie"].format(diseases=marks.item.join(named[key].name for key in best))
        # The plan of those who put it first, of the surest among them where their plans differ.
        mine = [event for event in standing if self._first(event) == order[0]] or standing
        common = Counter(event.report.treatment for event in mine)
        sure = max(mine, key=lambda e: (common[e.report.treatment], self._vote(e.report).get(order[0], 0.0)))
        # What all who name anything diagnose is nobody's to drop, however little of a vote it has.
        held = set.intersection(*diagnosed) | {order[0]}
        pooling = [
            (key, Diagnosis(named[key].name, icd10=named[key].icd10, probability=round(pooled[key], 3)))
            for key in order
            if pooled[key] >= _LEAST_SHARE or key in held
        ]
        return Report(
            symptoms=symptoms,
            examinations=examinations,
            diagnoses=tuple(diagnosis for key, diagnosis in pooling if key in held),
            differential=tuple(diagnosis for key, diagnosis in pooling if key not in held),
            rationale=(
                say["pooled"].format(disease=named[order[0]].name, percent=100 * pooled[order[0]]),
                *((tie,) if len(best) > 1 else ()),
                *who,
                *sure.report.rationale,
            ),
            treatment=sure.report.treatment,
        )

    def _vote(self, report: Report) -> dict[str, float]:
        """Returns a doctor's vote, spread over its diagnoses; without probabilities the first has all of it."""
        everything = _named(report)
        probabilities = {self._key(d): d.probability for d in reversed(everything) if d.probability is not None}
        if not report.diagnoses or len(probabilities) == len({self._key(d) for d in everything}):
            return probabilities
        return {self._key(report.diagnoses[0]): 1.0}

    def _shown(self, role: Director, report: Report) -> str:
        say, marks = self._language(role)
        shown = [d.name if d.probability is None else f"{d.name} {100 * d.probability:.0f} %" for d in report.diagnoses]
        return marks.item.join(shown) or say["nothing"]

    def _key(self, diagnosis: Diagnosis) -> str:
        """Returns what a diagnosis means: the first name that was met of this disease, or of a kind of it."""
        name = " ".join(diagnosis.name.split())
        if name not in self._met:
            knowledge = self._reader.knowledge
            kin = (met for met in self._met.values() if known_relation(name, met, knowledge) is not Relation.DIFFERENT)
            self._met[name] = next(kin, name)
        return self._met[name]

    def _held(self, event: Revised) -> set[str]:
        """Returns what a doctor diagnoses, by its meaning."""
        return {self._key(diagnosis) for diagnosis in event.report.diagnoses}

    def _first(self, event: Revised) -> str:
        return self._key(event.report.diagnoses[0]) if event.report.diagnoses else ""

    def _sides(self, role: Director, sides: Iterable[tuple[str, list[int]]]) -> str:
        say, marks = self._language(role)
        return marks.semicolon.join(say["side"].format(what=what, who=self._who(role, who)) for what, who in sides)

    def _language(self, role: Director) -> tuple[dict[str, str], Marks]:
        return director_sayings(role.presentation.language), MARKS[role.presentation.language]

    def _who(self, role: Director, doctors: list[int]) -> str:
        say, marks = self._language(role)
        numbers = marks.item.join(map(str, doctors))
        return (say["doctor"] if len(doctors) == 1 else say["doctors"]).format(numbers=numbers)


def _named(report: Report) -> tuple[Diagnosis, ...]:
    """Returns all that a report names, what is held first."""
    return (*report.diagnoses, *report.differential)


def _plans(standing: Iterable[Revised]) -> list[list[int]]:
    """Returns the doctors by plan; two of which each holds most of the other's words are one."""
    groups: list[tuple[str, list[int]]] = []
    for event in standing:
        text = "; ".join(sorted(_plan(event)))
        alike = (
            doctors
            for other, doctors in groups
            if text == other or min(coverage(text, other), coverage(other, text)) > _MOSTLY
        )
        doctors = next(alike, None)
        if doctors is None:
            groups.append((text, [event.doctor]))
        else:
            doctors.append(event.doctor)
    return [doctors for _, doctors in groups]


def _plan(event: Revised) -> list[str]:
    return list(dict.fromkeys(item.strip() for item in event.report.treatment if item.strip()))


def _grouped(pairs: Iterable[tuple[K, int]]) -> dict[K, list[int]]:
    groups: dict[K, list[int]] = {}
    for key, doctor in pairs:
        groups.setdefault(key, []).append(doctor)
    return groups
