"""Computes the medical part of a visit in this process: triage, consultations, the plan, the pharmacy.

1. The nurse measures, asks, and sends the patient to a department (`triage.py`; agent-hospital §3.4.2).
2. A doctor of that department sees the patient; the limit of examinations is for the whole visit (§3.4.4).
3. The doctor treats the patient, refers it (twice at most), or admits it. The next doctor has the record of all that
   was said and found before, and the examinations left.
4. The doctor chooses among the three plans of the disease that it diagnosed (§4.1) or named a kind of. For a diagnosis
   that the knowledge does not have, the treatment is that of the report. The measures of the plan that are due for this
   patient are carried out (`polyclinic.knowledge.treatment`).
5. The pharmacist hands out one drug of each measure, or withholds it and hands out the next.
6. The result is compared with the truth. No player gets the comparison.

An episode is a function of its request, the minds and the seed; the order of episodes does not matter. A failure of a
player ends the episode under its name, and nothing replaces the missing answer.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from polyclinic import plugins
from polyclinic.cases.case import Case
from polyclinic.cases.patient_record import NotedConsultation, NotedLine, NotedTriage, NotedVisit, PatientRecord
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.report import Report
from polyclinic.cases.truth import Severity
from polyclinic.errors import UnknownMind
from polyclinic.events import Examined, Failed, Role, Said
from polyclinic.hospital.care.effect import VisitDone, care_given
from polyclinic.hospital.care.remembering import ClinicMemory, answered_tasks, holder_of, open_clinic_memory
from polyclinic.hospital.care.setup import Setup
from polyclinic.hospital.care.triage import EpisodeStopped, TriageStation, stopping
from polyclinic.hospital.record.episodes import (
    ConsultationHeld,
    Episode,
    EpisodeRequest,
    LearnDone,
    LearnRequest,
    Received,
)
from polyclinic.hospital.record.happenings import Acuity
from polyclinic.knowledge.data import DATA, SEVERITIES
from polyclinic.knowledge.disease_names.relation import disease_meant
from polyclinic.knowledge.entries import Drug
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.knowledge.plan_words import plan_words
from polyclinic.knowledge.safety import Known, goes_on, told_at_the_counter
from polyclinic.knowledge.treatment import PlannedTreatment, VisitFacts, visit_facts
from polyclinic.language.clauses import told
from polyclinic.language.language import MARKS, Language
from polyclinic.memory.opening import Publication
from polyclinic.metrics.accuracy import Verdict, verdict
from polyclinic.models.ledger import Ledger
from polyclinic.models.limits import WHOLE
from polyclinic.parallel.worker import WorkerSide
from polyclinic.players.human.desk import Desk
from polyclinic.players.minds import Minds, open_minds
from polyclinic.players.own_mind import is_shared
from polyclinic.players.player import Ask, Mind, NextStep, Purpose, choose_plan, dispense
from polyclinic.players.roles.doctor import Post
from polyclinic.players.roles.patient import Patient
from polyclinic.players.roles.staff import Pharmacist
from polyclinic.visits.visit import Attended, attend

_ADVISED_AGAINST = re.compile(r"\b(?:no|not|never|avoid|stop|without|instead of)\b|不|无|避免|停|忌|勿", re.IGNORECASE)
"""What a treatment says before a drug that it does not prescribe."""


class AtCounter(NamedTuple):
    """What became of a prescription."""

    given: tuple[int | None, ...]  # for each measure the number of the alternative that was handed out; None for none
    withheld: dict[str, str]  # drugs that were withheld, by id, each with the reason
    instead: dict[str, str]  # of those, each that another drug stands in for, with that

    def lacking(self) -> tuple[str, ...]:
        """Returns the drugs that were withheld and that nothing stands in for."""
        return tuple(drug for drug in self.withheld if drug not in self.instead)


class _TriedDrugs(msgspec.Struct):
    """One measure at the counter: its drugs, which of them is tried, and those that were refused."""

    drugs: Sequence[Drug]
    tried: int = 0
    refused: list[str] = msgspec.field(default_factory=list)

    def drug(self) -> Drug | None:
        return self.drugs[self.tried] if self.tried < len(self.drugs) else None


async def at_counter(
    mind: Mind[Pharmacist],
    presentation: Presentation,
    known: Known,
    measures: Sequence[Sequence[Drug]],
    past: PatientRecord | None = None,
) -> AtCounter:
    """Lets a pharmacist, who has the patient's record, hand out one drug of each measure, the first that may be."""
    under_way = [_TriedDrugs(drugs) for drugs in measures]
    withheld: dict[str, str] = {}
    asked: set[str] = set()
    while prescription := _prescription(under_way, withheld):
        drugs = {drug.id for drug in prescription}
        if drugs <= asked:
            break
        pharmacist = Pharmacist(mind, presentation, prescription, known, past)
        dispensing = await pharmacist.act(dispense(drug.id for drug in prescription))
        withheld |= {one.drug: one.reason for one in dispensing.withheld}
        asked = drugs
    given = tuple(None if measure.drug() is None else measure.tried for measure in under_way)
    instead = {drug: m.drugs[m.tried].id for m in under_way if m.drug() is not None for drug in m.refused}
    return AtCounter(given, withheld, instead)


def _prescription(measures: Sequence[_TriedDrugs], withheld: dict[str, str]) -> list[Drug]:
    """Returns the drugs that are tried, each once; what another measure gives already is not tried again."""
    drugs: dict[str, Drug] = {}
    for measure in measures:
        while (drug := measure.drug()) is not None and (drug.id in drugs or drug.id in withheld):
            if drug.id in withheld and drug.id not in measure.refused:
                measure.refused.append(drug.id)
            measure.tried += 1
        if drug is not None:
            drugs[drug.id] = drug
    return list(drugs.values())


def prescribed(items: Iterable[str], drugs: Iterable[Drug], language: Language) -> list[Drug]:
    """Returns the drugs that the items of a treatment name, and do not name to say no to; longer names win."""
    found: list[Drug] = []
    text = ". ".join(items)
    for drug in sorted(drugs, key=lambda d: -len(d.name.get(language))):
        name = drug.name.get(language)
        if told(name, text, denied=_ADVISED_AGAINST):
            found.append(drug)
            text = re.sub(re.escape(name), "", text, flags=re.IGNORECASE)
    return found


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(EpisodeRequest).decode


class Clinic:
    """Computes episodes, any number at once."""

    def __init__(self, minds: Minds, knowledge: Knowledge, setup: Setup, memory: ClinicMemory | None = None) -> None:
        self.minds, self.knowledge, self.setup, self.memory = minds, knowledge, setup, memory
        self.station = TriageStation(knowledge)
        self.examinations = {
            name.casefold(): examination.id
            for examination in knowledge.examinations.values()
            for name in (examination.name.en, examination.name.zh)
        }
        free = [knowledge.examinations[id].name for id in setup.free_examinations if id in knowledge.examinations]
        self.free = frozenset(text for name in free for text in (name.en, name.zh))

    async def compute(self, request: EpisodeRequest) -> Episode:
        """Computes an episode."""
        # As another process gets it: an age of 40 is 40.0 there, and would stand so in a trace.
        request = _decode(_encode(request))
        return await self.minds.desk.play(request.visit_key, partial(self._computed, request))

    async def _computed(self, request: EpisodeRequest) -> Episode:
        ledger = Ledger(wanted=request.wanted)
        going = _EpisodeUnderWay(self, request, self.minds.having(ledger=ledger))
        try:
            await going.run()
        except EpisodeStopped as stopped:
            going.put(failed=stopped.who, error=stopped.error, problem=stopped.problem)
        finally:
            going.forget()
        usage, calls, along = ledger.total.usage, ledger.total.calls, going.episode.worse
        tokens, cost = usage.tokens_in + usage.tokens_out, usage.cost
        if along is not None:
            calls, tokens = calls + along.calls, tokens + along.tokens
            cost = along.cost if cost is None else cost + (along.cost or 0.0)
        going.put(noted=going.noted, calls=calls, tokens=tokens, cost=cost)
        return going.episode

    async def learn(self, request: LearnRequest) -> LearnDone:
        """Lets a doctor draw a lesson from a wrong answer, or read."""
        assert self.memory is not None  # noqa: S101
        return await self.memory.learn(request)

    def publish(self, publication: Publication) -> None:
        """Lets doctors remember what is new, in the visits that read its version."""
        assert self.memory is not None  # noqa: S101
        self.memory.memories.publish(publication)


class _EpisodeUnderWay:
    """One episode as it is being computed."""

    def __init__(self, clinic: Clinic, request: EpisodeRequest, minds: Minds) -> None:
        self._clinic, self._request = clinic, request
        self._minds = minds.having(version=request.memory)
        self._knowledge, self._setup = clinic.knowledge, clinic.setup
        self._case: Case = request.case
        self._language: Language = request.case.presentation.language
        self._done: dict[str, None] = {}
        self._key = request.visit_key
        self._keys = [self._key]
        self.episode = Episode(key=request.key)
        names = clinic.setup.departments
        self._departments = {d: names.get(d, {}).get(self._language, d) for d in request.departments}
        illness = request.case.id.partition(".")[0]
        today = NotedVisit(illness=illness, day=request.day, number=request.visit)
        self._past = PatientRecord(today=today, earlier=request.earlier)

    @property
    def noted(self) -> NotedVisit | None:
        """What is kept of what was noted; None where nobody saw the patient."""
        today = self._past.today
        return None if today.is_empty else today.closed()

    def put(self, **fields: object) -> None:
        """Writes down what has become of it."""
        self.episode = replace(self.episode, **fields)

    def _note(self, **fields: object) -> None:
        """Writes something into today's part of the patient's record."""
        today = replace(self._past.today, **fields)
        self._past = replace(self._past, today=today)

    def forget(self) -> None:
        """Frees what a journal held for it."""
        for key in self._keys:
            self._minds.forget(key)

    async def run(self) -> None:
        """Lets everybody play in turn, and computes beside it what would be done if the patient got worse before.

        That is not computed for an emergency, whom a doctor sees within minutes.
        """
        request, department = self._request, await self._triage()
        received = self.episode.received
        if request.worse is None or received is None or received.acuity is Acuity.EMERGENCY:
            await self._treat(department)
            return
        worse = replace(request, case=request.worse, worse=None, received=received)
        # Side by side, so that whichever is wanted is there as soon as the other.
        along = asyncio.ensure_future(self._clinic.compute(worse))
        try:
            await self._treat(department)
        finally:
            episode = await along
        self.put(worse=episode)

    async def _triage(self) -> str:
        received = self._request.received
        if received is None:
            self._keys.append(f"{self._key}/triage")
            triage, at_door = await self._clinic.station.receive(
                self._case,
                self._minds,
                key=self._key,
                departments=self._departments,
                max_questions=self._setup.nurse_questions,
                past=self._past,
            )
            received = Received(department=triage.department, acuity=Acuity(triage.acuity), at_door=at_door)
        at_door = received.at_door
        self.put(department=received.department, acuity=received.acuity, at_door=at_door)
        said = [line for q, a in at_door.told for line in (NotedLine("nurse", q), NotedLine("patient", a))]
        findings = tuple(one.finding for one in at_door.vital_signs)
        self._note(
            triage=NotedTriage(acuity=received.acuity, reason=at_door.reason, said=tuple(said), findings=findings)
        )  # fmt: skip
        return received.department

    async def _treat(self, department: str) -> None:
        attended, report = await self._consult(department)
        person = self._case.presentation
        disease = disease_meant(report.diagnoses[0].name, self._knowledge) if report.diagnoses else None
        severity: Severity | None = None
        if disease is not None:
            with stopping(Role.DOCTOR):
                choice = await attended.doctor.act(choose_plan(disease, self._language))
            severity = next((severity for severity in SEVERITIES if severity == choice.answer), None)
        memory = self._clinic.memory
        if memory is not None and memory.learning.learns:
            self.put(answered=answered_tasks(attended.doctor, report, severity, self._knowledge))
        told = told_at_the_counter(attended.patient.presentation, attended.patient.history)
        noted = [symptom for held in self._past.today.consultations for symptom in held.symptoms]
        symptoms = tuple(dict.fromkeys((*noted, *report.symptoms)))
        facts = visit_facts(
            attended.patient.presentation, told, symptoms, self._past.today.findings, self._minds.reader()
        )
        self.put(plan=severity, treatment=report.treatment, **self._held_against_truth(report, severity))
        plan = None if disease is None or severity is None else disease.plan(severity)
        if disease is not None and severity is not None and plan is not None:
            planned = PlannedTreatment(plan, facts, self._knowledge, person, stratum=(disease, severity))
            on = tuple(f"{drug}: {taken}" for drug, taken in planned.continued.items())
            self.put(treatment=planned.lines(), not_begun=planned.not_begun(), continued=on)
            at = await self._dispense(attended.patient, facts, planned.measures)
            self.put(treatment=planned.lines(at.given), disposition=plan.disposition, treated_for=disease.id)
        else:
            drugs = prescribed(report.treatment, self._knowledge.drugs.values(), self._language)
            taken = {d.id: goes_on([d], facts.known, person) for d in drugs}
            self.put(continued=tuple(f"{drug}: {on[1]}" for drug, on in taken.items() if on is not None))
            at = await self._dispense(attended.patient, facts, [[drug] for drug in drugs if taken[drug.id] is None])
        if self.episode.admits and self.episode.disposition in ("", "home"):
            self.put(disposition="ward")
        name, colon = self._drug_name, MARKS[self._language].colon
        self._note(
            treatment=self.episode.treatment,
            handed_out=tuple(map(name, self.episode.dispensed)),
            withheld=tuple(f"{name(drug)}{colon}{reason}" for drug, reason in at.withheld.items()),
        )
        named, right = self._case.truth.diagnoses, self._case.truth.severity
        truth = self._knowledge.disease_named(named[0].name) if named else None
        if truth is not None and right is not None:
            continued = tuple(drug.partition(":")[0] for drug in self.episode.continued)
            done = VisitDone(disease, plan, self.episode.dispensed, facts, continued)
            self.put(care=care_given(truth, truth.plan(right), done, self._case, self._knowledge))

    def _drug_name(self, drug: str) -> str:
        drugs = self._knowledge.drugs
        return drugs[drug].name.get(self._language) if drug in drugs else drug

    async def _consult(self, department: str) -> tuple[Attended, Report]:
        seen_by: list[str] = []
        while True:
            seen_by.append(department)
            # The first of those who would see the patient who has not; nobody in particular if nobody is named.
            seen, there = {held.doctor for held in self.episode.seen}, self._request.doctors.get(department, ())
            doctor = next((doctor for doctor in there if doctor not in seen), there[0] if there else "")
            attended = await self._see(department, doctor)
            report, step = attended.visit.report, NextStep("")
            try:
                if report is None:
                    failed = attended.visit.trace.last(Failed)
                    assert failed is not None  # noqa: S101
                    raise EpisodeStopped(failed.who, failed.error, failed.problem)
                others = tuple(d for d in self._request.departments if d not in seen_by)
                among = others if len(seen_by) <= self._setup.max_referrals else ()
                with stopping(Role.DOCTOR):
                    step = (await attended.doctor.act(Ask(Purpose.NEXT_STEP, NextStep, among=among))).plain
            finally:
                self._take_down(attended, department, doctor, step)
            if step.step != "refer":
                return attended, report
            department = step.department

    def _post(self, department: str, doctor: str) -> Post:
        """Returns the post of a doctor, by its id; of nobody in particular where that is ""."""
        person, setup, language = self._case.presentation, self._setup, self._language
        member = setup.staff.get(doctor)
        possible = [e for e in self._knowledge.examinations.values() if e.possible(person.age, person.sex)]
        diseases = self._knowledge.diseases.values() if setup.candidates else ()
        return Post(
            name="" if member is None else member.name[language],
            hospital=setup.hospital.get(language, ""),
            department=department,
            departments=self._departments,
            skill="specialist" if member is None else member.skill,
            about="" if member is None else member.about.get(language, ""),
            orders=tuple(examination.name.get(language) for examination in possible),
            candidates=tuple(disease.name.get(language) for disease in diseases),
        )

    async def _see(self, department: str, doctor: str) -> Attended:
        most, memory = self._setup.max_examinations, self._clinic.memory
        key = f"{self._key}/{department}"
        self._keys.append(key)
        attended = await attend(
            self._case,
            self._minds,
            key=key,
            post=self._post(department, doctor),
            past=self._past,
            remembering=None
            if memory is None
            else memory.memories.of(holder_of(memory.learning, doctor, department), self._request.memory),
            max_turns=self._setup.max_turns,
            max_examinations=None if most is None else most - len(self._done),
            free=self._clinic.free,
        )
        found = [f for event in attended.visit.trace if isinstance(event, Examined) for f in event.findings]
        self._done.update(dict.fromkeys(f.examination for f in found if f.examination not in self._clinic.free))
        return attended

    def _take_down(self, attended: Attended, department: str, doctor: str, step: NextStep) -> None:
        """Writes down a consultation, in the episode and in the record that goes along with the patient."""
        report, trace = attended.visit.report, attended.visit.trace
        findings = dict.fromkeys(f for event in trace if isinstance(event, Examined) for f in event.findings)
        names = dict.fromkeys(finding.examination for finding in findings)
        diagnoses = report.diagnoses if report is not None else ()
        held = ConsultationHeld(
            department=department,
            doctor=doctor,
            turns=attended.visit.turns,
            examinations=tuple(dict.fromkeys(self._clinic.examinations.get(n.casefold(), n) for n in names)),
            diagnosis=diagnoses[0].name if diagnoses else "",
            step=step.step,
            refer_to=step.department,
            reason=step.reason,
            trace=trace.lines() if self._setup.traces else "",
        )
        self.put(seen=(*self.episode.seen, held))
        if report is None:
            return
        member = self._setup.staff.get(doctor)
        said = [event for event in trace if isinstance(event, Said) and event.to is not Role.EXAMINER]
        noted = NotedConsultation(
            department=self._departments.get(department, department),
            doctor="" if member is None else member.name[self._language],
            said=tuple(NotedLine("doctor" if one.who is Role.DOCTOR else "patient", one.text) for one in said),
            findings=tuple(findings),
            symptoms=report.symptoms,
            diagnoses=report.diagnoses,
            rationale=report.rationale,
            step=step.step,
            refer_to=self._departments.get(step.department, step.department),
            reason=step.reason,
        )
        self._past = self._past.with_consultation(noted)

    async def _dispense(self, patient: Patient, facts: VisitFacts, measures: Sequence[Sequence[Drug]]) -> AtCounter:
        mind = self._minds.pharmacist(self._key)
        with stopping(Role.PHARMACIST):
            # What was said word for word is between doctor and patient.
            past = replace(self._past, today=self._past.today.closed())
            at = await at_counter(mind, patient.presentation, facts.known, measures, past)
        lacking = plan_words(self._language)["lacking"]
        given = [drugs[n].id for drugs, n in zip(measures, at.given, strict=True) if n is not None]
        self.put(
            dispensed=tuple(given),
            withheld=tuple(f"{drug}: {reason}" for drug, reason in at.withheld.items()),
            instead=tuple(f"{drug}: {other}" for drug, other in at.instead.items()),
            lacking=tuple(f"{drug}: {lacking}" for drug in at.lacking()),
        )
        return at

    def _held_against_truth(self, report: Report, plan: Severity | None) -> dict[str, bool]:
        truth = self._case.truth
        disease = disease_meant(truth.diagnoses[0].name, self._knowledge) if truth.diagnoses else None
        done = {examination for seen in self.episode.seen for examination in seen.examinations}
        right = verdict(report, truth, self._knowledge) is Verdict.RIGHT
        who = self._case.presentation
        ids = () if disease is None else self._knowledge.right_examinations(disease, sex=who.sex, age=who.age)
        return {
            "right_examination": not done.isdisjoint(ids),
            "right_diagnosis": right,
            "right_treatment": right and plan is not None and plan == truth.severity,
        }


@asynccontextmanager
async def open_clinic(
    setup: Setup, *, side: WorkerSide | None = None, desk: Desk | None = None
) -> AsyncIterator[Clinic]:
    """Opens what a clinic needs: the knowledge, the models, what is kept of their answers."""
    for name in (setup.doctor, *vars(setup.cast).values()):
        if is_shared(plugins.find(name, "minds")):
            raise UnknownMind(f"{name} is one object for all visits; a run takes a function, or a class")
    knowledge = read_knowledge(Path(setup.knowledge) if setup.knowledge else DATA).select(setup.diseases)
    async with open_minds(
        [setup.doctor],
        setup.cast,
        setup.models,
        knowledge=knowledge,
        seed=setup.seed,
        journal=None if not setup.journal else setup.journal if side is None else side,
        ledger=None if side is None else side.ledger(setup.models),
        prompts=setup.traces,
        run=setup.run,
        share=WHOLE if side is None else side.share,
        desk=desk,
    ) as opened:
        with open_clinic_memory(setup, knowledge, opened.session) as memory:
            yield Clinic(opened.minds[setup.doctor], knowledge, setup, memory)
