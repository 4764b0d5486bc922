"""Nothing that a history tells is lost: the patient tells it, or the examiner holds it, and never both."""

import re
from pathlib import Path

import msgspec
import pytest

from polyclinic.cases.case import Case
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, History, Record
from polyclinic.cases.report import Diagnosis
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
