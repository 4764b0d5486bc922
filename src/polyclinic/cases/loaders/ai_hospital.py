"""AI Hospital's layout: Chinese medical records by section (Fan et al., arXiv:2402.09742).

The revised sections are read; parts of the history that only the raw record has, such as habits and work, are taken
from there.

Sections that hold the truth, and sections that nobody knows, are given to no player; nor are title, department and
diseases of the record, which name the diagnosis.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.loaders.chinese_findings import auxiliary_findings, physical_findings
from polyclinic.cases.loaders.fields import (
    WORDS,
    age_in_years,
    as_object,
    as_text,
    sex_of,
    split_diagnoses,
    split_points,
)
from polyclinic.cases.loaders.layout import Layout
from polyclinic.cases.persona import Persona
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History, Record
from polyclinic.cases.truth import Truth
from polyclinic.errors import BadInput
from polyclinic.language.language import language_of

_history_keys = WORDS.section("ai_hospital", dict[str, str])
_PROFILE = re.compile(r"<([^<>\n]{1,20})>([^<]*)")
_LABEL = re.compile(r"^\s*(性别|年龄|姓名)\s*[:：]\s*")


def load(record: dict[str, Any], order: int) -> Case:
    """Reads an AI Hospital record: the revised sections, or the raw ones where there are none."""
    part = "medical_record" if record.get("medical_record") else "raw_medical_record"
    sections = {name: as_text(text) for name, text in as_object(record.get(part), f"$.{part}").items()}
    complaint = sections.get("主诉", "")
    if not complaint:
        raise BadInput("a case needs a complaint", field=f"$.{part}.主诉")
    raw = record.get("raw_medical_record")
    texts = {name: as_text(text) for name, text in raw.items()} if isinstance(raw, dict) else {}
    sections |= {name: text for name, text in texts.items() if text and _is_history(name) and not sections.get(name)}
    diagnoses = split_diagnoses(sections.get("诊断结果") or sections.get("初步诊断", ""))
    if not diagnoses:
        raise BadInput("a case needs its diagnoses", field=f"$.{part}.诊断结果")
    truth = Truth(
        diagnoses=diagnoses,
        rationale=split_points(sections.get("诊断依据", "")),
        treatment=split_points(sections.get("诊治经过", "")),
    )
    history = _history(sections)
    findings = (*physical_findings(sections.get("查体", "")), *auxiliary_findings(sections.get("辅助检查", "")))
    identifier = as_text(record.get("id")) or str(order)
    return Case(
        id=identifier,
        record=Record(presentation=_presentation(complaint, sections), history=history, findings=findings),
        truth=truth,
        source=f"AI Hospital (arXiv:2402.09742), record {identifier}",
        department=next(iter(as_text(record.get("department")).split()), "").removesuffix("病例"),
        persona=_persona(as_text(record.get("profile"))),
    )


def _is_history(name: str) -> bool:
    return name in _history_keys("zh") or name.endswith("史")


def _persona(profile: str) -> Persona | None:
    """Reads the persona that a record brings, in parts that begin with their names; None where it lacks the statement.

    The statement speaks to the patient ("you ..."), and the patient is to say it.
    """
    parts = {name.strip(): text.strip() for name, text in _PROFILE.findall(profile)}
    statement = parts.get("病情陈述", "").replace("您", "你").replace("你", "我")
    if not statement:
        return None
    return Persona(
        statement=statement,
        life=parts.get("工作与生活", ""),
        events=parts.get("事件", ""),
        character=parts.get("性格", ""),
        speech=parts.get("说法方式", "") or parts.get("说话方式", ""),
    )


def _presentation(complaint: str, sections: dict[str, str]) -> Presentation:
    parts = [p.strip() for p in re.split(r"[\n，,]", sections.get("一般资料", "")) if p.strip()]
    age = sex = None
    about = []
    for part in parts:
        value = _LABEL.sub("", part)
        if re.fullmatch(r"[男女]性?", value):
            sex = sex_of(value)
        elif (part != value or "岁" in value) and age_in_years(value) is not None:
            age = age_in_years(value)
        else:
            about.append(part)
    language = language_of([complaint, sections.get("现病史", "")])
    return Presentation(complaint=complaint, language=language, age=age, sex=sex, about="，".join(about))


def _history(sections: dict[str, str]) -> History:
    texts: dict[str, list[str]] = {}
    known = _history_keys("zh")
    for name, text in sections.items():
        if text and name in known:
            texts.setdefault(known[name], []).append(text)
        elif text and _is_history(name):
            texts.setdefault("other", []).append(f"{name}：{text}")
    return msgspec.convert({name: "\n".join(parts) for name, parts in texts.items()}, History)


LAYOUTS = (Layout("ai-hospital", frozenset({"medical_record", "raw_medical_record"}), load),)
