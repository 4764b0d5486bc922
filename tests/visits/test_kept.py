"""Nothing that a history tells is lost: the patient tells it, or the examiner holds it.

Never both, but for the list of symptoms: what a patient feels, an examiner may find.
"""

import re
from pathlib import Path

import msgspec
import pytest
from tests.tables import each_row

from polyclinic.cases.case import Case
from polyclinic.cases.check import find_leaks
from polyclinic.cases.loaders import read_cases
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.shipped import SHIPPED
from polyclinic.cases.terms import diagnosis_terms
from polyclinic.cases.truth import Truth
from polyclinic.events import Role, Said
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.named_in import named_in
from polyclinic.language.content_words import terms
from polyclinic.language.folding import SENTENCE, tidy
from polyclinic.language.language import language_of
from polyclinic.players.minds import Minds
from polyclinic.players.own_mind import ScriptedMind
from polyclinic.players.player import ALONE, EXAMINE, REPLY, PatientTurn, Results
from polyclinic.players.roles.examiner import Examiner
from polyclinic.players.roles.patient import Patient
from polyclinic.visits.visit import examiner_of, held_by_examiner
from polyclinic.visits.visit import patient_of as played
from polyclinic.yaml_files import read_yaml

DATA = Path(__file__).parent / "data"


class Kept(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record of `kept.yaml`: who holds what of its history."""

    diagnoses: list[str]
    complaint: str
    setting: str = "ward"
    present: str = ""
    past: str = ""
    medications: str = ""
    personal: str = ""
    family: str = ""
    review: str = ""
    symptoms: list[str] = []
    findings: list[tuple[str, str, str]] = []
    patient: list[str] = []
    examiner: list[tuple[str, str]] = []
    withheld: list[str] = []

    def case(self) -> Case:
        texts = {f: getattr(self, f) for f in ("present", "past", "medications", "personal", "family", "review")}
        language = language_of([self.complaint, self.present])
        joined = {f: t.replace("\n", "").replace(" ", "") if language == "zh" else t for f, t in texts.items()}
        record = Record(
            presentation=Presentation(complaint=self.complaint, language=language),
            history=History(symptoms=tuple(self.symptoms), **joined),
            findings=tuple(Finding(examination=e, item=i, value=v) for e, i, v in self.findings),
        )
        truth = Truth(diagnoses=tuple(map(Diagnosis, self.diagnoses)))
        return Case(id="1", record=record, truth=truth, setting=self.setting)


KEPT = read_yaml(DATA / "kept.yaml", list[Kept])


def patient_of(case: Case) -> Patient:
    withheld = diagnosis_terms(case.truth.diagnoses)
    return Patient(ScriptedMind([]), case.record, setting=case.setting, withheld=withheld, persona=case.persona)


def plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", tidy(text)).casefold()


def moved(case: Case) -> tuple[Finding, ...]:
    return held_by_examiner(case).findings[len(case.record.findings) :]


@each_row("kept", KEPT)
def test_who_holds_what(kept: Kept):
    case = kept.case()
    told = plain(" ".join(text for _, text in patient_of(case).history.sections()))
    results = [(finding.examination, plain(finding.value_text)) for finding in moved(case)]
    for part in kept.patient:
        assert plain(part) in told, part
        assert not any(plain(part) in value for _, value in results), part
    for name, part in kept.examiner:
        assert any(name in examination and plain(part) in value for examination, value in results), (part, results)
        assert plain(part) not in told, part
    for part in kept.withheld:
        assert plain(part) not in told, part
        assert not any(plain(part) in value for _, value in results), part


FILES = (
    "agentclinic/agentclinic_medqa.jsonl",
    "ai_hospital/patients_small_10.json",
    "aie/HospitalCases.json",
    "aie/MedicalExam.json",
)
OURS = ("agentclinic.jsonl", "ai_hospital.json", "aie.json", "tor.jsonl")
_CLAUSE = re.compile(r"[，,。；;！!？?\n【]|\.(?=\s|$)|\s(?=患[者儿])")
_LEAST = 4  # letters of a clause that can be told from others
_SAYS_SOMETHING = re.compile(r"[\u3400-\u9fff]{3}|[A-Za-z]{3,}\W+[A-Za-z]{3,}")
# The share of clauses that the rules patient tells when it is asked in the clause's own words, in per cent.
TOLD = {FILES[0]: 75, FILES[1]: 70, FILES[2]: 80, FILES[3]: 85}


def clauses_of(text: str) -> list[str]:
    """Returns the clauses of a text, as plain letters."""
    return [
        clause for clause in (plain(part.strip().removeprefix("because ")) for part in _CLAUSE.split(text)) if clause
    ]


def walk(case: Case) -> tuple[int, list[str]]:
    """Returns how many clauses of a case's history there are, and those that are withheld; all others have a place."""
    patient = patient_of(case)
    told = dict.fromkeys(History.__struct_fields__, "")
    for section, text in patient.history.sections():
        told[section] += plain(text) + "\n"
    results = [plain(finding.value_text) for finding in moved(case)]
    recorded = [plain(finding.text()) for finding in case.record.findings]
    terms_of_truth = diagnosis_terms(case.truth.diagnoses)
    names = [plain(term) for term in terms_of_truth]
    n, withheld = 0, []
    for section, text in case.record.history.sections():
        for clause in clauses_of(text):
            n += 1
            by_patient = clause in told[section]
            by_examiner = any(clause in result for result in results)
            # A symptom of the patient's own list it feels, and the examiner may find the same.
            if len(clause) >= _LEAST and section != "symptoms":
                assert not (by_patient and by_examiner), (case.id, section, clause)
            if by_patient or by_examiner or any(clause in one or one in clause for one in recorded if one):
                continue
            # What is left names what the visit is to find out, in whatever words.
            # What stands in brackets or quotation marks goes as one.
            whole = next(plain(part) for part in SENTENCE.split(text) if clause in plain(part))
            meant = [plain(said.text) for said in named_in(text, terms_of_truth) if said.is_sure]
            assert any(name in clause for name in names) or any(name in whole for name in meant), (case.id, clause)
            withheld.append(clause)
    return n, withheld


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_every_clause_of_a_published_history_has_one_place(shared_data, file):
    walked = [walk(case) for case in read_cases(shared_data / "cases" / file)]
    clauses, withheld = sum(n for n, _ in walked), sum(len(left) for _, left in walked)
    assert clauses > 90
    assert withheld <= 0.02 * clauses


@pytest.mark.slow
@each_row("file", [*SHIPPED.values(), *(Path(__file__).parents[1] / "cases" / "data" / f for f in OURS)])
def test_every_clause_of_our_histories_has_one_place(file):
    assert [left for _, left in map(walk, read_cases(file)) if left] == []


@each_row("kept", KEPT)
def test_every_clause_of_an_invented_history_has_one_place(kept: Kept):
    _, withheld = walk(kept.case())
    assert len(withheld) == len(kept.withheld)


@pytest.fixture(scope="module")
def minds():
    return Minds(doctor="rules", patient="rules", knowledge=read_knowledge(), seed=1)


async def asked(patient: Patient, text: str) -> PatientTurn:
    patient.observe(Said(seq=0, turn=1, who=Role.DOCTOR, to=Role.PATIENT, text=text))
    return await patient.act(REPLY)


async def ordered(examiner: Examiner, text: str) -> Results:
    examiner.observe(Said(seq=0, turn=1, who=Role.PATIENT, to=Role.EXAMINER, text=text))
    return await examiner.act(EXAMINE)


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
async def test_what_a_history_tells_comes_when_it_is_asked_for(shared_data, minds, file):
    told = n = 0
    for case in list(read_cases(shared_data / "cases" / file))[::2]:
        language = case.presentation.language
        examiner = examiner_of(case, minds, ALONE, "not recorded", key=case.id)
        for finding in moved(case):
            assert finding in (await ordered(examiner, finding.examination)).findings
        patient = played(case, minds, ALONE, key=case.id)
        for _, text in patient.history.sections():
            for clause in filter(_SAYS_SOMETHING.search, _CLAUSE.split(text)):
                words = set(terms(clause, language))
                question = f"{clause.strip()}吗？" if language == "zh" else f"Is this so: {clause.strip()}?"
                reply = await asked(patient, question)
                n += 1
                told += reply.to == "doctor" and len(words & set(terms(reply.say, language))) >= 0.6 * len(words)
    assert 100 * told / n >= TOLD[file]


KNOWN = (
    ("Do you have diabetes?", "type 2 diabetes mellitus", 0),
    ("Any past illnesses?", "Pulmonary embolism after knee surgery in 2009", 1),
    ("Do you have migraines?", "15-year history of migraine", 4),
    ("Does your brother or sister have asthma?", "sister has asthma", 3),
    ("Have you had any tests done before?", "colonoscopy at an outside hospital", 2),
    ("What did the colonoscopy show?", "continuous inflammation of the rectum", 2),
    ("您有糖尿病吗？", "2型糖尿病5年", 8),
    ("您有高血压吗？", "高血压病3级", 8),
    ("您在外院做过什么检查？", "ST段抬高", 8),
    ("得过肝炎吗？", "慢性乙型病毒性肝炎20", 9),
    ("外院的胸片怎么样？", "胸片未见异常", 10),
)


@each_row(("question", "told", "which"), KNOWN)
async def test_a_patient_tells_what_it_knew_before(minds, question, told, which):
    patient = played(KEPT[which].case(), minds, ALONE, key="1")
    reply = await asked(patient, question)
    assert reply.to == "doctor"
    assert plain(told) in plain(reply.say)


@each_row(
    ("which", "order", "brought"),
    [
        (0, "physical examination", "39.2 °C"),
        (1, "CT", "a pulmonary embolism of the left lower lobe"),
        (1, "D-dimer", "3,200"),
        (9, "腹部彩超", "胆囊多发结石"),
        (10, "胸部CT", "右上肺空洞"),
        (12, "血常规", "嗜酸性粒细胞8%"),
    ],
)
async def test_who_orders_an_examination_gets_what_the_history_reports_of_it(minds, which, order, brought):
    case = KEPT[which].case()
    assert brought in (await ordered(examiner_of(case, minds, ALONE, "not recorded", key="1"), order)).text
    patient = played(case, minds, ALONE, key="1")
    for question in ("What did the examination show?", "检查结果怎么样？", f"{order}?", "Tell me everything."):
        assert plain(brought) not in plain((await asked(patient, question)).say)


@each_row("kept", KEPT)
async def test_what_a_patient_knew_before_is_no_leak(minds, kept):
    case = kept.case()
    patient = played(case, minds, ALONE, key="1")
    said = [(await asked(patient, part)).say for part in (*kept.patient, *kept.withheld)]
    said += [text for _, text in patient.history.sections()]
    assert [leak for leak in find_leaks(said, case) if leak.kind == "diagnosis"] == []
    # What is known from before is no secret any more, so that nobody is blamed for naming it.
    secret = [] if kept.diagnoses == ["Hypothyroidism"] else kept.withheld
    assert len({leak.where for leak in find_leaks(secret, case)}) == len(secret)
