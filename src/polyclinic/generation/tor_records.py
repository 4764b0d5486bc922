"""Cases as records in the layout of Tree-of-Reasoning's appendix, which `polyclinic.cases.loaders.tor` reads.

Keys are English in both languages, as in the published example. It has none for what is measured outside the
laboratory, which stands among the laboratory's results, nor for endoscopies and the department, which have ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.record import Finding
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.language import MARKS, Language, capitalised

# By what an examination is called; whatever else is seen with sound.
_KEYS = {
    "X-ray-Imaging-Examination": re.compile(r"x-?ray|radiograph|X线|平片", re.IGNORECASE),
    "CT-Imaging-Examination": re.compile(r"CT|tomograph"),
    "Magnetic-Resonance-Imaging-Examination": re.compile(r"MRI|magnetic resonance|磁共振|核磁"),
    "Ultrasonic-Imaging-Examination": re.compile(""),
}


def as_tor(case: Case, knowledge: Knowledge) -> dict[str, Any]:
    """Returns a case as a record of the layout."""
    person, history, language = case.presentation, case.record.history, case.presentation.language
    marks = MARKS[language]
    kinds = {e.name.get(language): e.kind for e in knowledge.examinations.values()}
    by_examination: dict[str, list[Finding]] = {}
    for finding in case.record.findings:
        by_examination.setdefault(finding.examination, []).append(finding)
    texts: dict[str, list[str]] = {}
    laboratory: dict[str, dict[str, str]] = {}
    for name, findings in by_examination.items():
        kind = kinds.get(name, "physical")
        if kind in ("laboratory", "microbiology", "function"):
            laboratory[name] = {f.item: _value(f, language) for f in findings}
            continue
        key = "Physical-Examination"
        if kind == "imaging":
            key = next(key for key, called in _KEYS.items() if called.search(name))
        elif kind == "pathology":
            key = "Pathological-Examination"
        elif kind == "endoscopy":
            key = "Endoscopic-Examination"
        texts.setdefault(key, []).append(_read_out(name, findings, language))
    told = {
        "Age": None if person.age is None else f"Y{person.age:g}",
        "Sex": person.sex,
        "Department": case.department,
        "Chief-Complaints": person.complaint,
        "Present-Illness": history.present,
        "Past-History": marks.blank.join(filter(None, (history.past, history.medications, history.allergies))),
        "Personal-History": history.personal,
        "Family-History": history.family,
        "Physical-Examination": marks.blank.join(texts.pop("Physical-Examination", ())),
        "Laboratory-Examination": laboratory,
        **{
            key: marks.blank.join(texts[key])
            for key in (*_KEYS, "Endoscopic-Examination", "Pathological-Examination")
            if key in texts
        },
        "Diagnosis": [diagnosis.name for diagnosis in case.truth.diagnoses],
    }
    if case.question is not None:
        told["Options"] = ", ".join(f"{key}. {text}" for key, text in case.question.options.items())
        told["Label"] = ", ".join(case.truth.answers)
    return {key: value for key, value in told.items() if value}


def tor_lines(cases: Iterable[Case], knowledge: Knowledge) -> str:
    """Returns cases as JSON lines of the layout."""
    return "".join(msgspec.json.encode(as_tor(case, knowledge)).decode() + "\n" for case in cases)


def _read_out(name: str, findings: Sequence[Finding], language: Language) -> str:
    marks = MARKS[language]
    if len(findings) == 1:
        return f"{capitalised(name)}{marks.colon}{_value(findings[0], language)}{marks.stop}"
    results = marks.semicolon.join(finding.result(language) for finding in findings)
    return f"{capitalised(name)}{marks.colon}{results}{marks.stop}"


def _value(finding: Finding, language: Language) -> str:
    return msgspec.structs.replace(finding, item="").result(language)
