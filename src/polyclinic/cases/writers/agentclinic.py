"""Cases in AgentClinic's layout, as nested OSCE examinations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from polyclinic.cases.case import Case
from polyclinic.cases.loaders.fields import age_in_years
from polyclinic.cases.record import Finding

_SECTIONS = {
    "Past_Medical_History": "past",
    "Current_Medications": "medications",
    "Allergies": "allergies",
    "Social_History": "personal",
    "Family_History": "family",
    "Review_of_Systems": "review",
}
_PHYSICAL = frozenset({"physical examination", "体格检查"})
_BEDSIDE = _PHYSICAL | {"vital signs", "生命体征"}


def written(case: Case) -> dict[str, Any]:
    """Returns a record of a case; of several diagnoses the principal one, which is all that there is room for."""
    presentation, history = case.presentation, case.record.history
    told = age_in_years(presentation.about) is not None
    who = [] if told else [_who(case)]
    patient: dict[str, Any] = {"Demographics": ", ".join(filter(None, [*who, presentation.about]))}
    # Theirs is a text in every case; what a source has as a vignette alone is the history.
    patient["History"] = history.present or (case.record.vignette if not history.sections() else "")
    patient["Symptoms"] = {"Primary_Symptom": presentation.complaint, "Secondary_Symptoms": list(history.symptoms)}
    patient |= {key: text for key, name in _SECTIONS.items() if (text := getattr(history, name))}
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
        items[name] = _result(one)
    return tree


def _result(one: Finding) -> str:
    """Returns value, unit, reference and day as text, the unit as UCUM has it."""
    reference, day = one.reference and f"(reference {one.reference})", one.date and f"({one.date})"
    return " ".join(part for part in (one.value_text, one.unit, reference, day) if part)
