"""The rules doctor: a Bayesian reader of the medical knowledge, without a model.

It asks what separates its candidates best, orders the examination that is worth most for its effort, concludes when it
is confident or out of turns, and gives its reasons. Where something else than what it knows is likelier, it takes a
general history, reports what it found, and names no diagnosis. In a team it takes in the facts of all and reports anew.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from polyclinic.cases.presentation import Presentation, Question
from polyclinic.cases.record import Finding, History, read_out
from polyclinic.cases.report import Diagnosis, Report
from polyclinic.knowledge.bayes import Reader, normalise
from polyclinic.knowledge.data import SEVERITIES, Severity
from polyclinic.knowledge.disease_names.relation import disease_meant
from polyclinic.knowledge.entries import Disease, Disposition
from polyclinic.knowledge.lexicon import asked_of
from polyclinic.knowledge.reading import Vector
from polyclinic.knowledge.safety import read_red_flags, told_at_the_counter
from polyclinic.knowledge.treatment import PlannedTreatment, visit_facts
from polyclinic.language.language import MARKS, Language
from polyclinic.memory.entries import GRADES
from polyclinic.players.player import Ask, Choice, DoctorTurn, NextStep, Purpose
from polyclinic.players.roles.doctor import Doctor, Post, Skill
from polyclinic.players.rules.belief import Belief
from polyclinic.players.rules.sayings import WORDS, doctor_sayings, general_questions, percent
from polyclinic.players.rules.staff import at_the_door, by_department, symptoms_told

_WORTH_SENDING = 0.01  # A department is not asked for what is less likely than this to be its


_step_sayings = WORDS.section("next_step", dict[str, str])
_places = WORDS.section("next_step_places", dict[Disposition, str])


def step_after(
    report: Report,
    person: Presentation,
    findings: Iterable[Finding],
    *,
    post: Post,
    others: Collection[str],
    disposition: Disposition,
    reader: Reader,
) -> NextStep:
    """Returns what comes after a report."""
    say = _step_sayings(person.language)
    if report.diagnoses:
        name = report.diagnoses[0].name
        disease = disease_meant(name, reader.knowledge)
        sees = post.department if disease is None else disease.department
        if sees in others:
            there = post.departments.get(sees, sees)
            return NextStep(say["theirs"].format(disease=name, department=there), "refer", sees)
        if disposition != "home":
            place = _places(person.language)[disposition]
            return NextStep(say["admitted"].format(disease=name, place=place), "admit")
        return NextStep(say["treated"])
    # Without a diagnosis the patient goes to the department whose illness it most likely is.
    told = dict.fromkeys(symptoms_told(reader, person))
    for text in report.symptoms:
        read = reader.lexicons[person.language].read(text)
        told.update(dict.fromkeys(symptom for symptom, present in read.items() if present))
    log = at_the_door(reader, person, told)
    for finding in findings:
        known = reader.finding(finding)
        if known is not None:
            log = log + known[2]
    shares = by_department(reader, normalise(log))
    department = max(others, key=lambda d: shares.get(d, 0.0), default="")
    share = shares.get(department, 0.0)
    if share < _WORTH_SENDING:
        return NextStep(say["nobody"])
    there = post.departments.get(department, department)
    return NextStep(say["likeliest"].format(department=there, percent=100 * share), "refer", department)


CONFIDENT = 0.98  # Concludes when one disease is this probable.
CONFIDENT_BY_SKILL: dict[Skill, float] = {"junior": 0.9, "specialist": CONFIDENT, "senior": 0.99}
COMMITS = 0.4  # Names no diagnosis where the likeliest disease is less probable than this.
COMMITS_IN_OTHERS_WORDS = 0.5  # The same where it is told in other words than its knowledge's, as of anybody.
LOST = 0.5  # Takes a general history where something else than what it knows is at least so probable.
SURE_OF_SEVERITY = 0.8  # Plans no treatment on one less probable than this without a physical examination.
LEAST_INFORMATION = 0.01  # Concludes when no question or examination is expected to say more than this, in nats.
LEAST_PROBABILITY = 0.02  # Diagnoses less probable than this do not stand in the report.
CANDIDATES = 3  # Diseases that are named where none is likely enough to be the diagnosis.
UNREAD_SHOWN = 6  # Results in unknown words that are named in the report.
QUESTIONS_A_TURN = 2  # Symptoms asked for in one breath; more is an interrogation, and patients answer it badly.
HISTORY_FIRST = 3  # A doctor talks before ordering: so many questions come first, as long as they are worth asking.
_NOTHING_LEFT = 1e-6  # Below this probability of all known diseases together there is nothing to separate.
_LAST_ORDERS = 2  # Turns left at which it looks at what its diagnosis needs, so as to read the result in time.
_STILL_OPEN = 0.15  # So probable a disease may still be the one that the last results leave.
_OPEN_QUESTIONS = 3  # After so many general questions it asks again for what separates its candidates.
_LOOKS_BEFORE_OUTSIDE = 2  # So often a complaint in unknown words is looked into before it is taken for something else.


class RulesDoctor:
    """A mind for `Doctor`; one for each visit. Its knowledge has a prior for "something else"."""

    name = "rules"
    reads = False

    def __init__(self, reader: Reader, whole: Reader | None = None) -> None:
        self._reader, self._whole = reader, whole or reader
        flags = read_red_flags()
        dangers = {*flags.emergency, *flags.urgent}
        self._danger_signs = np.array([symptom in dangers for symptom in reader.knowledge.symptoms])
        self._belief: Belief | None = None
        self._asked_generally = 0

    async def answer(self, ask: Ask[Any], role: Doctor) -> object:
        """Says the next thing, or gives the report."""
        if self._belief is None:
            self._belief = Belief(self._reader, role)
        self._belief.update()
        if ask.purpose in (Purpose.REPORT, Purpose.REVISE):
            # It weighs evidence, not opinions: the team's facts move it, the others' diagnoses do not.
            return self._report(role, self._belief)
        if ask.purpose is Purpose.NEXT_STEP:
            return self._next_step(ask, role, self._belief)
        if ask.question is not None and ask.purpose is Purpose.PLAN:
            return self._plan(ask.question, self._belief)
        if ask.question is not None:
            return self._choice(ask.question, self._belief)
        return self._turn(role, self._belief)

    def _turn(self, role: Doctor, belief: Belief) -> DoctorTurn:
        if role.turns_left() <= 1:
            return self._conclusion(role, belief)
        posterior = belief.posterior()
        by_disease = self._reader.members @ posterior
        # While the known diseases share the belief among them, something else is soon likelier than each alone.
        outside = bool(by_disease[-1] >= max(by_disease[:-1].max(), LOST))
        likeliest = None if outside or by_disease[:-1].max() < COMMITS else int(by_disease[:-1].argmax())
        confident = CONFIDENT if role.post is None else CONFIDENT_BY_SKILL[role.post.skill]
        if likeliest is not None and by_disease[likeliest] >= confident:
            looks = self._defining(role, belief, likeliest) or self._grading(role, belief, posterior)
            return looks or self._conclusion(role, belief)
        if role.turns_left() == _LAST_ORDERS and not outside:
            # What comes back may turn the two likeliest round, and then there is no turn left to look.
            candidates = [int(d) for d in np.argsort(-by_disease[:-1]) if by_disease[d] >= _STILL_OPEN]
            looks = self._defining(role, belief, *candidates)
            if looks is None and likeliest is not None:
                looks = self._grading(role, belief, posterior) or self._conclusion(role, belief)
            if looks is not None:
                return looks
        if outside and belief.asked >= _LOOKS_BEFORE_OUTSIDE and self._asked_generally < _OPEN_QUESTIONS:
            turn = self._general(role, belief)
        else:
            turn = self._most_informative(role, belief, posterior)
            if turn is None and outside:
                turn = self._general(role, belief)
            if turn is None and likeliest is not None:
                turn = self._defining(role, belief, likeliest)
        return turn or self._conclusion(role, belief)

    def _next_step(self, ask: Ask[Any], role: Doctor, belief: Belief) -> NextStep:
        if role.post is None:
            return NextStep("")
        report = self._report(role, belief)
        place: Disposition = "home"
        if report.diagnoses:
            best, severity = self._likeliest(belief)
            place = best.plan(severity).disposition
        return step_after(
            report,
            role.presentation,
            belief.findings,
            post=role.post,
            others=ask.among,
            disposition=place,
            reader=self._whole,
        )

    def _likeliest(self, belief: Belief) -> tuple[Disease, Severity]:
        """Returns the likeliest disease, and how severe it most likely is."""
        posterior = belief.posterior()
        best = int((self._reader.members[:-1] @ posterior).argmax())
        severities = posterior[best * len(SEVERITIES) : (best + 1) * len(SEVERITIES)]
        return self._reader.diseases[best], SEVERITIES[int(severities.argmax())]

    def _defining(self, role: Doctor, belief: Belief, *diseases: int) -> DoctorTurn | None:
        """Returns the order of what diagnoses need and was not looked at; None where nothing is open."""
        open_now = belief.open_examinations()
        all_needed = dict.fromkeys(e for d in diseases for e in self._reader.diseases[d].indicated.needed)
        needed = [e for e in all_needed if e in open_now]
        return self._order(role, belief, *needed) if needed else None

    def _grading(self, role: Doctor, belief: Belief, posterior: Vector) -> DoctorTurn | None:
        """Returns the order of a physical examination that grades it, where the severity, and so the plan, is open."""
        best = int((self._reader.members[:-1] @ posterior).argmax())
        severities = posterior[best * len(SEVERITIES) : (best + 1) * len(SEVERITIES)]
        if severities.max() >= SURE_OF_SEVERITY * severities.sum():
            return None
        examinations = self._reader.knowledge.examinations
        grading = self._reader.diseases[best].graded_by()
        physical = next(
            (e for e in belief.open_examinations() if examinations[e].kind == "physical" and e in grading), None
        )
        if physical is None:
            return None
        return self._order(role, belief, physical)

    def _order(self, role: Doctor, belief: Belief, *examinations: str) -> DoctorTurn:
        language = role.presentation.language
        belief.expect(examinations=examinations)
        names = [self._reader.knowledge.examinations[e].name.get(language) for e in examinations]
        say = doctor_sayings(language)
        if len(names) == 1:
            return DoctorTurn(say["order"].format(examination=names[0]))
        return DoctorTurn(say["orders"].format(examinations=say["between_orders"].join(names)))

    def _general(self, role: Doctor, belief: Belief) -> DoctorTurn | None:
        """Returns the next question or order of a general history; None where it has been taken."""
        general = general_questions(role.presentation.language)["general"]
        for text in general[self._asked_generally :]:
            self._asked_generally += 1
            # What has been ordered before, by whomever, would only be read out again.
            ordered = self._reader.examinations_named(text)
            done = text in belief.asked_before or self._was_done(text, role)
            if not done and not (ordered and belief.has_ordered(ordered)):
                belief.expect()
                return DoctorTurn(text)
        return None

    def _was_done(self, order: str, role: Doctor) -> bool:
        """Whether all that is ordered was done by others in this visit, whether or not this doctor knows of it."""
        if role.past is None:
            return False
        done = {finding.examination for finding in role.past.today.findings}
        ordered = self._whole.examinations_named(order)
        return bool(ordered) and ordered <= {id for name in done for id in self._whole.examinations_named(name)}

    def _most_informative(self, role: Doctor, belief: Belief, posterior: Vector) -> DoctorTurn | None:
        """Returns the question or order with the most information for its effort; None where none says enough."""
        language = role.presentation.language
        # However likely something else has become, the candidates are what a question can separate.
        known = posterior.copy()
        if known[:-1].sum() < _NOTHING_LEFT:
            return None
        known[-1] = min(known[-1], 0.5 * known[:-1].sum())
        known /= known.sum()
        knowledge = self._reader.knowledge
        questions = self._reader.question_information(known, belief.askable())
        if belief.asked == 0 and (questions * self._danger_signs).max(initial=0.0) >= LEAST_INFORMATION:
            # Danger signs come first: what must not be missed is asked for before what would tell most.
            questions = questions * self._danger_signs
        asking = float(questions.max()) if questions.max() >= LEAST_INFORMATION else 0.0
        talking = asking > 0 and belief.asked < HISTORY_FIRST
        orders = {} if talking else self._reader.examination_information(known, belief.open_examinations())
        worth = {e: i / knowledge.examinations[e].effort for e, i in orders.items() if i >= LEAST_INFORMATION}
        order = max(worth, key=lambda e: worth[e], default=None)
        if asking and (order is None or asking > worth[order]):
            symptoms = list(knowledge.symptoms.values())
            best = np.argsort(-questions)[:QUESTIONS_A_TURN]
            chosen = [symptoms[i] for i in best if questions[i] >= LEAST_INFORMATION]
            belief.expect(symptoms=chosen)
            asked = (asked_of(symptom.question.get(language), role.presentation) for symptom in chosen)
            return DoctorTurn(" ".join(asked))
        return None if order is None else self._order(role, belief, order)

    def _conclusion(self, role: Doctor, belief: Belief) -> DoctorTurn:
        language = role.presentation.language
        diagnoses = self._diagnoses(belief, language)
        say = doctor_sayings(language)
        if not diagnoses:
            return DoctorTurn(say["no_conclusion"], conclude=True)
        return DoctorTurn(say["conclusion"].format(disease=diagnoses[0].name), conclude=True)

    def _choice(self, question: Question, belief: Belief) -> Choice:
        """Returns the option that names the likeliest of its diseases; none where it knows none of them."""
        by_disease = self._reader.members @ belief.posterior()
        probable = {disease.id: float(p) for disease, p in zip(self._reader.diseases, by_disease, strict=False)}
        named = {key: disease_meant(text, self._reader.knowledge) for key, text in question.options.items()}
        known = {key: probable[disease.id] for key, disease in named.items() if disease is not None}
        return Choice(max(known, key=lambda key: known[key], default=None))

    def _plan(self, question: Question, belief: Belief) -> Choice:
        """Returns the likeliest severity of a disease; none of a disease that it does not know."""
        disease = self._reader.knowledge.diseases.get(question.id)
        if disease is None:
            return Choice(None)
        severities = belief.posterior()[self._reader.members[self._reader.diseases.index(disease)] > 0]
        return Choice(SEVERITIES[int(severities.argmax())])

    def _diagnoses(self, belief: Belief, language: Language) -> tuple[Diagnosis, ...]:
        by_disease = self._reader.members @ belief.posterior()
        order = np.argsort(-by_disease)
        in_own_words = not (belief.in_others_words or belief.complaint_unread)
        commits = COMMITS if in_own_words else COMMITS_IN_OTHERS_WORDS
        if order[0] == len(self._reader.diseases) or by_disease[order[0]] < commits:
            return ()
        return tuple(
            Diagnosis(
                self._reader.diseases[d].name.get(language),
                icd10=self._reader.diseases[d].icd10,
                probability=round(float(by_disease[d]), 3),
            )
            for d in order
            if d < len(self._reader.diseases) and by_disease[d] >= LEAST_PROBABILITY
        )

    def _outside(self, belief: Belief, by_disease: Vector, language: Language) -> tuple[str, ...]:
        """Returns why no diagnosis is named: what speaks for something else, or between which diseases it is open."""
        say, marks, last = doctor_sayings(language), MARKS[language], len(self._reader.diseases)
        something_else = percent(float(by_disease[-1]), say)
        known = say["known"].format(diseases=marks.item.join(d.name.get(language) for d in self._reader.diseases))
        if by_disease.argmax() == last:
            reasons = belief.reasons(last, say)
            return (say["outside"].format(percent=something_else), *reasons, *self._unread(belief, language), known)
        likeliest = [d for d in np.argsort(-by_disease) if d != last][:CANDIDATES]
        candidates = marks.item.join(
            say["candidate"].format(
                disease=self._reader.diseases[d].name.get(language), percent=percent(float(by_disease[d]), say)
            )
            for d in likeliest
        )
        undecided = say["undecided"].format(candidates=candidates, percent=something_else)
        reasons = belief.reasons(int(likeliest[0]), say)
        return (undecided, *reasons, *self._unread(belief, language), known)

    def _unread(self, belief: Belief, language: Language) -> tuple[str, ...]:
        """Returns how many results are in words that it does not know, and which; nothing where none is."""
        if not belief.unread:
            return ()
        names = dict.fromkeys(": ".join(filter(None, (f.examination, f.item))) for f in belief.unread)
        shown = list(names)[:UNREAD_SHOWN] + (["…"] if len(names) > UNREAD_SHOWN else [])
        named = MARKS[language].item.join(shown)
        line = doctor_sayings(language)["unread"]
        return (line.format(unread=len(belief.unread), all=len(belief.findings), names=named),)

    def _suspected(self, belief: Belief, disease: int, language: Language) -> tuple[str, ...]:
        """Returns that a diagnosis is only suspected, where something that it needs was not looked at."""
        needed = belief.undone(self._reader.diseases[disease].indicated.needed)
        names = [self._reader.knowledge.examinations[e].name.get(language) for e in needed]
        return (
            (doctor_sayings(language)["suspected"].format(examinations=MARKS[language].item.join(names)),)
            if names
            else ()
        )

    def _treatment(self, stratum: tuple[Disease, Severity], role: Doctor, belief: Belief) -> tuple[str, ...]:
        """Returns what of a plan is done for this patient, by what was found; then what waits for an examination."""
        person, history = role.presentation, History() if role.record is None else role.record.history
        told = told_at_the_counter(person, history)
        facts = visit_facts(person, told, belief.symptoms_found(), belief.findings, self._reader)
        planned = PlannedTreatment(stratum[0].plan(stratum[1]), facts, self._reader.knowledge, person, stratum=stratum)
        return (*planned.lines(), *planned.not_begun())

    def _report(self, role: Doctor, belief: Belief) -> Report:
        language = role.presentation.language
        say = doctor_sayings(language)
        diagnoses = self._diagnoses(belief, language)
        by_disease = self._reader.members @ belief.posterior()
        outside = float(by_disease[-1])
        if not diagnoses:
            rationale: tuple[str, ...] = self._outside(belief, by_disease, language)
            treatment: tuple[str, ...] = (say["refer"],)
        else:
            best = int(by_disease[:-1].argmax())
            disease, severity = self._likeliest(belief)
            probable = say["probable"].format(
                disease=disease.name.get(language), percent=percent(float(by_disease[best]), say)
            )
            rationale = (
                probable,
                *belief.reasons(best, say),
                *((say["doubt"].format(percent=percent(outside, say)),) if outside >= LEAST_PROBABILITY else ()),
                *self._suspected(belief, best, language),
                say["severity"].format(severity=GRADES[language][severity]),
                *self._unread(belief, language),
            )
            treatment = self._treatment((disease, severity), role, belief)
        return Report(
            symptoms=belief.symptoms_found(),
            examinations=tuple(read_out(belief.findings, language)),
            # Its hypotheses exclude one another: the likeliest is held, the others are what it may be instead.
            diagnoses=diagnoses[:1],
            rationale=rationale,
            treatment=treatment,
            differential=diagnoses[1:],
        )
