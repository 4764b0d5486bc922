"""Nothing that a history tells is lost: the patient tells it, or the examiner holds it, and never both."""

import re
from pathlib import Path

import msgspec
import pytest

from polyclinic.cases.case import Case
from polyclinic.cases.loaders import read_cases
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.shipped import SHIPPED
from polyclinic.cases.terms import diagnosis_terms
from polyclinic.cases.truth import Truth
from polyclinic.language.folding import tidy
from polyclinic.language.language import language_of
from polyclinic.players.roles.patient import Patient
from polyclinic.players.scripted import ScriptedMind
from polyclinic.visits.visit import held_by_examiner
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


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: kept.diagnoses[0])
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


def clauses_of(text: str) -> list[str]:
    """Returns the clauses of a text, as plain letters."""
    return [clause for clause in map(plain, _CLAUSE.split(text)) if clause]


def walk(case: Case) -> tuple[int, list[str]]:
    """Returns how many clauses of a case's history there are, and those that are withheld; all others have a place."""
    patient = patient_of(case)
    told = dict.fromkeys(History.__struct_fields__, "")
    for section, text in patient.history.sections():
        told[section] += plain(text) + "\n"
    results = [plain(finding.value_text) for finding in moved(case)]
    recorded = [plain(finding.text()) for finding in case.record.findings]
    names = [plain(term) for term in diagnosis_terms(case.truth.diagnoses)]
    n, withheld = 0, []
    for section, text in case.record.history.sections():
        for clause in clauses_of(text):
            n += 1
            by_patient = clause in told[section]
            by_examiner = any(clause in result for result in results)
            if len(clause) >= _LEAST:
                assert not (by_patient and by_examiner), (case.id, section, clause)
            if by_patient or by_examiner or any(clause in one or one in clause for one in recorded if one):
                continue
            # What is left names what the visit is to find out, or says nothing but which one is meant.
            assert any(name in clause for name in names), (case.id, section, clause)
            withheld.append(clause)
    return n, withheld


@pytest.mark.parametrize("file", FILES)
def test_every_clause_of_a_published_history_has_one_place(shared_data, file):
    walked = [walk(case) for case in read_cases(shared_data / "cases" / file)]
    clauses, withheld = sum(n for n, _ in walked), sum(len(left) for _, left in walked)
    assert clauses > 90
    assert withheld <= 0.01 * clauses


@pytest.mark.parametrize("file", [*SHIPPED.values(), *(Path(__file__).parents[1] / "cases" / "data" / f for f in OURS)])
def test_every_clause_of_our_histories_has_one_place(file):
    assert [left for _, left in map(walk, read_cases(file)) if left] == []


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: kept.diagnoses[0])
def test_every_clause_of_an_invented_history_has_one_place(kept: Kept):
    _, withheld = walk(kept.case())
    assert len(withheld) == len(kept.withheld)
