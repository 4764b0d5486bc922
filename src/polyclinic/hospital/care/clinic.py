"""Computes the medical part of a visit in this process: triage, consultations, the plan, the pharmacy.

1. The nurse measures, asks, and sends the patient to a department (`triage.py`; agent-hospital §3.4.2).
2. A doctor of that department sees the patient; the examinations of the whole visit are counted together (§3.4.4).
3. The doctor decides whether it treats the patient, refers it, twice at most, or admits it; the next doctor has the
   record of all that was said and found before, and the examinations left over.
4. The doctor chooses among the three plans of the disease that it diagnosed (§4.1), or of which it named a kind; of a
   diagnosis that the knowledge does not have there is no plan, and the treatment is what the report says.
   Of the plan is done what is due for this patient, by what the visit found (`polyclinic.knowledge.treatment`).
5. The pharmacist hands out one drug of each measure, or withholds it and hands out the next.
6. What was done is held against what is so; nobody who plays gets that.

An episode is a function of its request, of who plays and of the seed; the order of episodes is nothing to it. A failure
of a player ends the episode under its name, and nothing stands in for the answer that did not come.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from polyclinic import plugins
from polyclinic.cases.case import Case
from polyclinic.cases.patient_record import NotedConsultation, NotedLine, NotedTriage, NotedVisit, PatientRecord
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding
from polyclinic.cases.report import Report
from polyclinic.cases.truth import Severity
from polyclinic.errors import UnknownMind
from polyclinic.events import Examined, Failed, Role, Said, Trace
from polyclinic.hospital.care.effect import VisitDone, care_given
from polyclinic.hospital.care.remembering import ClinicMemory, open_clinic_memory
from polyclinic.hospital.care.setup import Setup
from polyclinic.hospital.care.triage import EpisodeStopped, TriageStation, stopping
from polyclinic.hospital.record.episodes import (
    AtDoor,
    Compute,
    ConsultationHeld,
    Episode,
    EpisodeRequest,
    LearnDone,
    LearnRequest,
)
from polyclinic.hospital.record.happenings import Acuity
from polyclinic.knowledge.data import DATA, SEVERITIES
from polyclinic.knowledge.disease_names.relation import disease_meant
from polyclinic.knowledge.entries import Disease, Drug
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.knowledge.plan_words import plan_words
from polyclinic.knowledge.safety import Known, goes_on, read_cautions, told_at_the_counter
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
from polyclinic.players.roles.doctor import Doctor, Post
from polyclinic.players.roles.patient import Patient
from polyclinic.players.roles.staff import Pharmacist
from polyclinic.visits.visit import Attended, attend


async def with_worse(
    request: EpisodeRequest, triaged: Episode, treat: Callable[[], Awaitable[None]], compute: Compute
) -> Episode | None:
    """Lets a patient be treated, and computes beside it what would be done if it got worse before."""
    received = triaged.received
    if request.worse is None or received is None or received.acuity is Acuity.EMERGENCY:
        await treat()
        return None
    worse = msgspec.structs.replace(request, case=request.worse, worse=None, received=received)
    # Side by side, so that whichever is wanted is there as soon as the other.
    along = asyncio.ensure_future(compute(worse))
    try:
        await treat()
    finally:
        episode = await along
    return episode


def spent(ledger: Ledger, along: Episode | None) -> dict[str, float | None]:
    """Returns what an episode has cost, with what was computed along: calls, tokens, cost."""
    usage = ledger.total.usage
    calls, tokens, cost = ledger.total.calls, usage.tokens_in + usage.tokens_out, usage.cost
    if along is not None:
        calls, tokens = calls + along.calls, tokens + along.tokens
        cost = along.cost if cost is None else cost + (along.cost or 0.0)
    return {"calls": calls, "tokens": tokens, "cost": cost}


def noted_triage(record: PatientRecord, acuity: str, at_door: AtDoor) -> PatientRecord:
    """Returns the record with what the nurse noted."""
    said = [line for asked, told in at_door.told for line in (NotedLine("nurse", asked), NotedLine("patient", told))]
    triage = NotedTriage(
        acuity=acuity,
        reason=at_door.reason,
        said=tuple(said),
        findings=tuple(one.finding for one in at_door.vital_signs),
    )
    return msgspec.structs.replace(record, today=msgspec.structs.replace(record.today, triage=triage))


def noted_consultation(
    trace: Trace, report: Report, step: NextStep, *, department: str, doctor: str, departments: Mapping[str, str]
) -> NotedConsultation:
    """Returns what is noted of a consultation."""
    findings: dict[Finding, None] = {}
    said: list[NotedLine] = []
    for event in trace:
        if isinstance(event, Examined):
            findings.update(dict.fromkeys(event.findings))
        elif isinstance(event, Said) and event.to is not Role.EXAMINER:
            said.append(NotedLine("doctor" if event.who is Role.DOCTOR else "patient", event.text))
    return NotedConsultation(
        department=department,
        doctor=doctor,
        said=tuple(said),
        findings=tuple(findings),
        symptoms=report.symptoms,
        diagnoses=report.diagnoses,
        rationale=report.rationale,
        step=step.step,
        refer_to=departments.get(step.department, step.department),
        reason=step.reason,
    )


def noted_treatment(
    record: PatientRecord,
    treatment: tuple[str, ...],
    given: tuple[str, ...],
    withheld: Mapping[str, str],
    *,
    drugs: Mapping[str, Drug],
    language: Language,
) -> PatientRecord:
    """Returns the record with what was done for the patient, and what the pharmacist handed out and withheld.

    `given` are drugs by id, and `withheld` the reasons by a drug's id.
    """

    def name(drug: str) -> str:
        return drugs[drug].name.get(language) if drug in drugs else drug

    today: NotedVisit = msgspec.structs.replace(
        record.today,
        treatment=treatment,
        handed_out=tuple(map(name, given)),
        withheld=tuple(f"{name(drug)}{MARKS[language].colon}{reason}" for drug, reason in withheld.items()),
    )
    return msgspec.structs.replace(record, today=today)


def departments_of(request: EpisodeRequest, setup: Setup) -> dict[str, str]:
    """Returns the departments of the hospital, id to name in the language of the visit."""
    language = request.case.presentation.language
    return {d: setup.departments.get(d, {}).get(language, d) for d in request.departments}


def post_of(request: EpisodeRequest, department: str, doctor: str, *, setup: Setup, knowledge: Knowledge) -> Post:
    """Returns the post of a doctor, by its id; of nobody in particular where that is ""."""
    person, member = request.case.presentation, setup.staff.get(doctor)
    language = person.language
    possible = [e for e in knowledge.examinations.values() if e.possible(person.sex, person.age)]
    diseases = knowledge.diseases.values() if setup.candidates else ()
    return Post(
        name="" if member is None else member.name[language],
        hospital=setup.hospital.get(language, ""),
        department=department,
        departments=departments_of(request, setup),
        skill="specialist" if member is None else member.skill,
        about="" if member is None else member.about.get(language, ""),
        orders=tuple(examination.name.get(language) for examination in possible),
        candidates=tuple(disease.name.get(language) for disease in diseases),
        memory=request.memories.get(doctor, ()),
    )


_ADVISED_AGAINST = re.compile(r"\b(?:no|not|never|avoid|stop|without|instead of)\b|不|无|避免|停|忌|勿", re.IGNORECASE)
"""What a treatment says before a drug that it does not prescribe."""


class AtCounter(NamedTuple):
    """What became of a prescription.

    Attributes:
        given: for each measure the number of the alternative that was handed out; None where none was.
        withheld: drugs that were withheld, by id, each with the reason.
        instead: of those, each that another drug stands in for, with that.
    """

    given: tuple[int | None, ...]
    withheld: dict[str, str]
    instead: dict[str, str]

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
    while prescription := _prescription(under_way, withheld):
        pharmacist = Pharmacist(mind, presentation, prescription, known, past)
        dispensing = await pharmacist.act(dispense(drug.id for drug in prescription))
        withheld |= {one.drug: one.reason for one in dispensing.withheld}
        if not _go_on(under_way, withheld):
            break
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


def _go_on(measures: Sequence[_TriedDrugs], withheld: dict[str, str]) -> bool:
    """Passes over what is withheld; returns whether something stands in for it that was not asked about."""
    before = [measure.drug() for measure in measures]
    after = {drug.id for drug in _prescription(measures, withheld)}
    return not after <= {drug.id for drug in before if drug is not None}


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
    """Computes episodes, any number at once.

    Args:
        minds: who plays.
        knowledge: what the hospital knows.
        setup: how long a visit may take, and what is kept of it.
        memory: what its doctors remember; None where they do not.
    """

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
        ledger = Ledger()
        going = _EpisodeUnderWay(self, request, self.minds.on(ledger))
        try:
            await going.run()
        except EpisodeStopped as stopped:
            going.put(failed=stopped.who, error=stopped.error, problem=stopped.problem)
        finally:
            going.forget()
        going.put(noted=going.noted)
        going.put(**spent(ledger, going.episode.worse))
        return going.episode

    async def learn(self, request: LearnRequest) -> LearnDone:
        """Lets a doctor draw a lesson from a wrong answer, or read."""
        assert self.memory is not None  # noqa: S101
        return await self.memory.learn(request)

    def publish(self, publication: Publication) -> None:
        """Lets doctors remember what is new, in the visits that read its version."""
        assert self.memory is not None  # noqa: S101
        self.memory.publish(publication)


class _EpisodeUnderWay:
    """One episode as it is being computed."""

    def __init__(self, clinic: Clinic, request: EpisodeRequest, minds: Minds) -> None:
        self._clinic, self._request = clinic, request
        self._minds = minds.reading(request.memory)
        self._knowledge, self._setup = clinic.knowledge, clinic.setup
        self._case: Case = request.case
        self._language: Language = request.case.presentation.language
        self._done: dict[str, None] = {}
        self._key = request.visit_key
        self._keys = [self._key]
        self.episode = Episode(key=request.key)
        self._departments = departments_of(request, clinic.setup)
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
        self.episode = msgspec.structs.replace(self.episode, **fields)

    def forget(self) -> None:
        """Frees what a journal held for it."""
        for key in self._keys:
            self._minds.forget(key)

    async def run(self) -> None:
        """Lets everybody play in turn.

        Raises:
            EpisodeStopped: somebody failed.
        """
        department = await self._triage()
        treat = partial(self._treat, department)
        worse = await with_worse(self._request, self.episode, treat, self._clinic.compute)
        if worse is not None:
            self.put(worse=worse)

    async def _treat(self, department: str) -> None:
        attended, report = await self._consult(department)
        disease = disease_meant(report.diagnoses[0].name, self._knowledge) if report.diagnoses else None
        plan = await self._plan(attended.doctor, disease)
        memory = self._clinic.memory
        if memory is not None and memory.learns:
            self.put(answered=memory.answered(attended.doctor, report, plan))
        facts = self._facts(attended.patient, report)
        self.put(plan=plan, treatment=report.treatment, **self._held_against_truth(report, plan))
        if disease is not None and plan is not None:
            person, stratum = self._case.presentation, (disease, plan)
            planned = PlannedTreatment(disease.plan(plan), facts, self._knowledge, person, stratum=stratum)
            on = tuple(f"{drug}: {taken}" for drug, taken in planned.continued.items())
            self.put(treatment=planned.lines(), not_begun=planned.not_begun(), continued=on)
            at = await self._dispense(attended.patient, facts, planned.measures)
            self.put(
                treatment=planned.lines(at.given), disposition=disease.plan(plan).disposition, treated_for=disease.id
            )
        else:
            drugs = prescribed(report.treatment, self._knowledge.drugs.values(), self._language)
            taken = {d.id: goes_on([d], facts.known, self._case.presentation, read_cautions()) for d in drugs}
            self.put(continued=tuple(f"{drug}: {on[1]}" for drug, on in taken.items() if on is not None))
            at = await self._dispense(attended.patient, facts, [[drug] for drug in drugs if taken[drug.id] is None])
        if self.episode.admits and self.episode.disposition in ("", "home"):
            self.put(disposition="ward")
        self._past = noted_treatment(
            self._past,
            self.episode.treatment,
            self.episode.dispensed,
            at.withheld,
            drugs=self._knowledge.drugs,
            language=self._language,
        )
        self._hold_care_against_truth(disease, plan, facts)

    def _hold_care_against_truth(self, disease: Disease | None, plan: Severity | None, facts: VisitFacts) -> None:
        named, severity = self._case.truth.diagnoses, self._case.truth.severity
        truth = self._knowledge.disease_named(named[0].name) if named else None
        if truth is None or severity is None:
            return
        followed = None if disease is None or plan is None else disease.plan(plan)
        continued = tuple(drug.partition(":")[0] for drug in self.episode.continued)
        done = VisitDone(disease, followed, self.episode.dispensed, facts, continued)
        self.put(care=care_given(truth, truth.plan(severity), done, self._case, self._knowledge))

    async def _triage(self) -> str:
        received = self._request.received
        if received is not None:
            self.put(department=received.department, acuity=received.acuity, at_door=received.at_door)
            self._past = noted_triage(self._past, received.acuity, received.at_door)
            return received.department
        key = self._key
        self._keys.append(f"{key}/triage")
        triage, at_door = await self._clinic.station.receive(
            self._case,
            self._minds,
            key=key,
            departments=self._departments,
            max_questions=self._setup.nurse_questions,
            past=self._past,
        )
        self.put(department=triage.department, acuity=Acuity(triage.acuity), at_door=at_door)
        self._past = noted_triage(self._past, triage.acuity, at_door)
        return triage.department

    async def _consult(self, department: str) -> tuple[Attended, Report]:
        seen_by: list[str] = []
        while True:
            seen_by.append(department)
            doctor = self._doctor(department)
            attended = await self._see(department, doctor)
            report = attended.visit.report
            if report is None:
                self._take_down(attended, department, doctor, NextStep(""))
                failed = attended.visit.trace.last(Failed)
                assert failed is not None  # noqa: S101
                raise EpisodeStopped(failed.who, failed.error, failed.problem)
            others = tuple(d for d in self._request.departments if d not in seen_by)
            among = others if len(seen_by) <= self._setup.max_referrals else ()
            try:
                with stopping(Role.DOCTOR):
                    step = (await attended.doctor.act(Ask(Purpose.NEXT_STEP, NextStep, among=among))).plain
            except EpisodeStopped:
                self._take_down(attended, department, doctor, NextStep(""))
                raise
            self._take_down(attended, department, doctor, step)
            if step.step != "refer":
                return attended, report
            department = step.department

    def _doctor(self, department: str) -> str:
        """Returns who sees the patient: the first of those who would that has not; "" where nobody is named."""
        seen = {held.doctor for held in self.episode.seen}
        there = self._request.doctors.get(department, ())
        return next((doctor for doctor in there if doctor not in seen), there[0] if there else "")

    async def _see(self, department: str, doctor: str) -> Attended:
        most, memory = self._setup.max_examinations, self._clinic.memory
        key = f"{self._key}/{department}"
        self._keys.append(key)
        attended = await attend(
            self._case,
            self._minds,
            key=key,
            post=post_of(self._request, department, doctor, setup=self._setup, knowledge=self._knowledge),
            past=self._past,
            remembering=None if memory is None else memory.of(self._request, doctor, department),
            max_turns=self._setup.max_turns,
            max_examinations=None if most is None else most - len(self._done),
            free=self._clinic.free,
        )
        found = [f for event in attended.visit.trace if isinstance(event, Examined) for f in event.findings]
        self._done.update(dict.fromkeys(f.examination for f in found if f.examination not in self._clinic.free))
        return attended

    def _take_down(self, attended: Attended, department: str, doctor: str, step: NextStep) -> None:
        """Writes down a consultation, in the episode and in the record that goes along with the patient."""
        visit = attended.visit
        examined = (event for event in visit.trace if isinstance(event, Examined))
        names = dict.fromkeys(finding.examination for event in examined for finding in event.findings)
        diagnoses = visit.report.diagnoses if visit.report is not None else ()
        held = ConsultationHeld(
            department=department,
            doctor=doctor,
            turns=visit.turns,
            examinations=tuple(dict.fromkeys(self._clinic.examinations.get(n.casefold(), n) for n in names)),
            diagnosis=diagnoses[0].name if diagnoses else "",
            step=step.step,
            refer_to=step.department,
            reason=step.reason,
            trace=visit.trace.lines() if self._setup.traces else "",
        )
        self.put(seen=(*self.episode.seen, held))
        if visit.report is not None:
            member = self._setup.staff.get(doctor)
            self._past = self._past.with_consultation(
                noted_consultation(
                    visit.trace,
                    visit.report,
                    step,
                    department=self._departments.get(department, department),
                    doctor="" if member is None else member.name[self._language],
                    departments=self._departments,
                )
            )

    async def _plan(self, doctor: Doctor, disease: Disease | None) -> Severity | None:
        if disease is None:
            return None
        with stopping(Role.DOCTOR):
            choice = await doctor.act(choose_plan(disease, self._language))
        return next((severity for severity in SEVERITIES if severity == choice.answer), None)

    def _facts(self, patient: Patient, report: Report) -> VisitFacts:
        told = told_at_the_counter(patient.presentation, patient.history)
        noted = [symptom for held in self._past.today.consultations for symptom in held.symptoms]
        symptoms, found = tuple(dict.fromkeys((*noted, *report.symptoms))), self._past.today.findings
        return visit_facts(patient.presentation, told, symptoms, found, self._minds.reader())

    async def _dispense(self, patient: Patient, facts: VisitFacts, measures: Sequence[Sequence[Drug]]) -> AtCounter:
        mind = self._minds.pharmacist(self._key)
        with stopping(Role.PHARMACIST):
            # What was said word for word is between doctor and patient.
            past = msgspec.structs.replace(self._past, today=self._past.today.closed())
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
        setup.options,
        knowledge=knowledge,
        seed=setup.seed,
        journal=None if not setup.journal else setup.journal if side is None else side.keeper,
        ledger=None if side is None else side.ledger(setup.options),
        prompts=setup.traces,
        run=setup.run,
        share=WHOLE if side is None else side.share,
        desk=desk,
    ) as opened:
        with open_clinic_memory(setup, knowledge, opened.session) as memory:
            yield Clinic(opened.minds[setup.doctor], knowledge, setup, memory)
