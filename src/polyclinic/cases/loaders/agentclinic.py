"""AgentClinic's layout: nested OSCE examinations (Schmidgall et al., arXiv:2405.07960).

`Objective_for_Doctor` is given to nobody: it can hold the answer. Where a case has no symptoms, as one of the extended
set, the complaint is what the objective says the patient presents with, unless that names the diagnosis.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.loaders.fields import (
    WORDS,
    age_in_years,
    as_object,
    as_text,
    lower_first,
    readable,
    sex_of,
    split_value,
)
from polyclinic.cases.loaders.layout import Layout
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, History, Record
from polyclinic.cases.report import Diagnosis
from polyclinic.cases.terms import diagnosis_terms
from polyclinic.cases.truth import Truth
from polyclinic.errors import BadInput
from polyclinic.language.folding import stands_in
from polyclinic.language.language import language_of


class _AgentClinicKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    gatherings: frozenset[str]
    laboratories: frozenset[str]
    results: frozenset[str]
    history: dict[str, str]


_PRESENTS = re.compile(
    r"\b(?:present(?:s|ed|ing)?|complain(?:s|ed|ing)?|suffer(?:s|ed|ing)?|patient|man|woman|child|girl|boy)\b"
    r"[^.]{0,40}?\b(?:with|of|for|from)\b\s+(.+)",
    re.IGNORECASE | re.DOTALL,
)
_TASK = re.compile(
    r"^(?:(?:assess|evaluate|diagnose|determine|manage|identify|examine|find out|and|the|an?|patient(?:['’]s)?)\b"
    r"[\s,]*)+",
    re.IGNORECASE,
)

_keys = WORDS.section("agentclinic", _AgentClinicKeys)


def load(record: dict[str, Any], order: int) -> Case:
    """Reads an AgentClinic record; the id is its number in the file."""
    root = "$.OSCE_Examination"
    osce = as_object(record.get("OSCE_Examination"), root)
    patient = as_object(osce.get("Patient_Actor"), f"{root}.Patient_Actor")
    symptoms = patient.get("Symptoms") or {}
    if not isinstance(symptoms, dict):
        symptoms = {"Primary_Symptom": symptoms}
    diagnosis = as_text(osce.get("Correct_Diagnosis"))
    if not diagnosis:
        raise BadInput("a case needs its diagnosis", field=f"{root}.Correct_Diagnosis")
    complaint = as_text(symptoms.get("Primary_Symptom")) or _complaint(osce, patient, Diagnosis(diagnosis))
    if not complaint:
        raise BadInput("a case needs a complaint", field=f"{root}.Patient_Actor.Symptoms.Primary_Symptom")
    about = as_text(patient.get("Demographics"))
    history = _history(patient, symptoms)
    presentation = Presentation(
        complaint=complaint,
        language=language_of([complaint, history.present]),
        age=age_in_years(about),
        sex=sex_of(about),
        about=about,
    )
    physical = _leaves(osce.get("Physical_Examination_Findings"))
    findings = (
        *(_finding("physical examination", path, text) for path, text in physical),
        *_tests(osce.get("Test_Results")),
    )
    return Case(
        id=str(order),
        record=Record(presentation=presentation, history=history, findings=findings),
        truth=Truth(diagnoses=(Diagnosis(diagnosis),)),
        source="AgentClinic (arXiv:2405.07960)",
    )


def _complaint(osce: dict[str, Any], patient: dict[str, Any], diagnosis: Diagnosis) -> str:
    """Returns what the objective says the patient presents with; "" where it says nothing, or the diagnosis."""
    objective = as_text(osce.get("Objective_for_Doctor") or patient.get("Objective_for_Doctor"))
    presents = _PRESENTS.search(objective)
    text = (presents[1] if presents else _TASK.sub("", objective)).strip(" .")
    return "" if stands_in(text, diagnosis_terms((diagnosis,))) else text[:1].upper() + text[1:]


def _history(patient: dict[str, Any], symptoms: dict[str, Any]) -> History:
    sections: dict[str, list[str]] = {}
    for key, value in patient.items():
        text = as_text(value)
        if not text or key in {"Demographics", "Symptoms"}:
            continue
        section = _keys("en").history.get(key)
        sections.setdefault(section or "other", []).append(text if section else f"{readable(key)}: {text}")
    secondary = symptoms.get("Secondary_Symptoms") or []
    single = [as_text(s) for s in (secondary if isinstance(secondary, list) else [secondary])]
    single += [as_text(v) for k, v in symptoms.items() if k not in {"Primary_Symptom", "Secondary_Symptoms"}]
    told: dict[str, Any] = {name: "; ".join(texts) for name, texts in sections.items()}
    return msgspec.convert({"symptoms": [s for s in single if s], **told}, History)


def _tests(value: Any) -> Iterator[Finding]:
    keys = _keys("en")
    for path, text in _leaves(value):
        whole = path or ["Tests"]
        top = whole[0].lower()
        gathered = (top in keys.gatherings and len(whole) > 1) or (top in keys.laboratories and len(whole) > 2)
        examination, *rest = whole[1:] if gathered else whole
        yield _finding(examination, rest, text)


def _finding(examination: str, path: list[str], text: str) -> Finding:
    names = [name for name in path if name.lower() not in _keys("en").results]
    item = ", ".join(names[:1] + [lower_first(name) for name in names[1:]])
    value, unit = split_value(text)
    return Finding(examination=examination, item=item, value=value, unit=unit)


def _leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[list[str], str]]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _leaves(part, (*path, readable(str(key))))
    elif text := as_text(value):
        yield list(path), text


_PHYSICAL = frozenset({"physical examination", "体格检查"})
_BEDSIDE = _PHYSICAL | {"vital signs", "生命体征"}


def agentclinic_record(case: Case) -> dict[str, Any]:
    """Returns a record of a case; of several diagnoses the principal one, which is all that there is room for."""
    # Of several keys for a part of the history the first is the usual one.
    presentation, history = case.presentation, case.record.history
    told = age_in_years(presentation.about) is not None
    who = [] if told else [_who(case)]
    patient: dict[str, Any] = {"Demographics": ", ".join(filter(None, [*who, presentation.about]))}
    # Theirs is a text in every case; what a source has as a vignette alone is the history.
    patient["History"] = history.present or (case.record.vignette if not history.sections() else "")
    patient["Symptoms"] = {"Primary_Symptom": presentation.complaint, "Secondary_Symptoms": list(history.symptoms)}
    sections = {section: key for key, section in reversed(_keys("en").history.items()) if section != "present"}
    patient |= {key: text for section, key in reversed(sections.items()) if (text := getattr(history, section))}
    if history.other:
        patient["Other"] = history.other
    findings = case.record.findings
    return {
        "OSCE_Examination": {
            "Objective_for_Doctor": f"Assess and diagnose the patient presenting with: {presentation.complaint}",
            "Patient_Actor": patient,
            "Physical_Examination_Findings": _tree(one for one in findings if one.examination in _BEDSIDE),
            "Test_Results": _tree(one for one in findings if one.examination not in _BEDSIDE),
            "Correct_Diagnosis": case.truth.diagnoses[0].name if case.truth.diagnoses else "",
        }
    }


def _who(case: Case) -> str:
    age, sex = case.presentation.age, case.presentation.sex
    if case.presentation.language == "zh":
        return " ".join(part for part in ("" if age is None else f"{age:g}岁", _CHINESE.get(sex or "", "")) if part)
    return " ".join(part for part in ("" if age is None else f"{age:g}-year-old", sex or "") if part)


_CHINESE = {"female": "女", "male": "男"}


def _tree(findings: Iterable[Finding]) -> dict[str, Any]:
    """Returns findings as examination to item to result; a second one of the same name gets a number."""
    tree: dict[str, Any] = {}
    for one in findings:
        physical = one.examination in _PHYSICAL and one.item
        items = tree if physical else tree.setdefault(one.examination, {})
        name = one.item or "Findings"
        if name in items:
            name = next(f"{name} ({n})" for n in range(2, len(items) + 3) if f"{name} ({n})" not in items)
        reference, day = one.reference and f"(reference {one.reference})", one.date and f"({one.date})"
        items[name] = " ".join(part for part in (one.value_text, one.unit, reference, day) if part)
    return tree


LAYOUTS = (Layout("agentclinic", frozenset({"OSCE_Examination"}), load, agentclinic_record),)
