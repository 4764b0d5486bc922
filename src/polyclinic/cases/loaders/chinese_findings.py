"""Chinese examination text as findings: the physical examination by system, the other examinations by item."""

from __future__ import annotations

import re
from collections.abc import Iterator

from polyclinic.cases.loaders.fields import WORDS, split_outside
from polyclinic.cases.record import Finding
from polyclinic.language.word_lists import Pattern

PHYSICAL = "体格检查"
_OTHER = "辅助检查"
_GENERAL = "一般情况"
_systems = WORDS.section("systems", dict[str, Pattern])
_BULLET = re.compile(r"^\s*(?:[-•*]|\d{1,2}[.、](?!\d))\s*")
_LABELLED = re.compile(r"((?:[^:：，,。；;()（）]|\([^)]*\)|（[^）]*）){1,24}?)\s*[:：]\s*(.*)", re.DOTALL)
# Headings that gather examinations and are none themselves.
_GATHERINGS = re.compile(r"(影像学?|血液|实验室|化验|特殊|其他|其它|辅助)(检查|检验)?|检查|检验|化验")
_NAME_TAIL = re.compile(r"(?<=.)(?:提?示|诊断|结果|回报)$")
_SPACED = re.compile(r"(\S*[^\d\s.,，。；;、]\S*)\s+([-+<>＜＞≤≥]?\s?\d\S*(?:\s\S+)?)")
_JOINED = re.compile(
    r"([\u3400-\u9fff（）()/γα-]*[\u3400-\u9fff）)])"
    r"([<>＜＞≤≥]?\d[\d.,]*\s*(?:次/分|个/\w+|级|[A-Za-z%‰/μµ^0-9*×+.-]*)(?:\s*[（(][^（()）]*[)）])?)"
)
_NAMED = re.compile(
    r"[\w/γ-]*?(?:测定|检测|检查|试验|超声|彩超|B超|CT|MRI|心电图|胸片|X线片|造影|培养|常规)(?:\([^)]*\)|（[^）]*）)?"
)


def physical_findings(text: str) -> Iterator[Finding]:
    """Yields one finding a body system, or a labelled line; every clause stays word for word."""
    parts: dict[str, list[str]] = {}
    for line in text.strip().splitlines():
        bare = _BULLET.sub("", line).strip()
        label = _LABELLED.fullmatch(bare) if bare != line.strip() else None
        if label and label[2]:
            parts.setdefault(label[1].strip(), []).append(label[2].strip().rstrip("。"))
            continue
        for system, clauses in _by_system(bare):
            parts.setdefault(system, []).append(clauses)
    for item, clauses_of_item in parts.items():
        yield Finding(examination=PHYSICAL, item=item, value="；".join(clauses_of_item))


def auxiliary_findings(text: str) -> Iterator[Finding]:
    """Yields one finding an item where the text lists items, else one an examination."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not any(_BULLET.match(line) for line in lines):
        for statement in _statements(lines):
            yield from _statement(statement)
        return
    for heading, children in _sections(lines):
        name, own = _heading(heading)
        gathers = bool(_GATHERINGS.fullmatch(name)) and bool(children)
        if own or not children:
            yield from _statement(heading)
        loose = []
        for child in children:
            if gathers:
                yield from _statement(child, otherwise=name)
            elif item := _item(child):
                yield Finding(examination=name, item=item[0], value=item[1])
            else:
                loose.append(child)
        if loose:
            yield Finding(examination=name, value="；".join(loose))


def _by_system(text: str) -> Iterator[tuple[str, str]]:
    """Yields runs of clauses that concern one system; a clause that names none goes with the one before it."""
    system, begin, end = "", 0, 0
    for clause in re.finditer(r"[^，,。；;]+", text):
        found = next((name for name, words in _systems("zh").items() if words.search(clause[0])), system or _GENERAL)
        if system and found != system:
            yield system, text[begin:end].strip()
            begin = clause.start()
        system, end = found, clause.end()
    if system:
        yield system, text[begin:end].strip(" ，,。；;")


def _sections(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yields headings with the lines under them; a line without a bullet stands above lines with one."""
    heading, level, children = "", 0, []
    for line in lines:
        bullet = _BULLET.match(line)
        depth = len(line) - len(line.lstrip()) + 1 if bullet else 0
        bare = _BULLET.sub("", line).strip()
        if heading and depth > level:
            children.append(bare)
            continue
        if heading:
            yield heading, children
        heading, level, children = bare, depth, []
    if heading:
        yield heading, children


def _statements(lines: list[str]) -> Iterator[str]:
    """Yields the statements of a paragraph; a sentence that names no examination goes with the one before it."""
    current = ""
    for line in lines:
        for sentence in filter(None, map(str.strip, split_outside(line, "。；;"))):
            begins = bool(_LABELLED.fullmatch(sentence) or _NAMED.match(sentence))
            if current and (begins or len(list(_statement(current))) > 1):
                yield current
                current = ""
            current = f"{current}；{sentence}" if current else sentence
    if current:
        yield current


def _heading(text: str) -> tuple[str, str]:
    match = _LABELLED.fullmatch(text)
    return (match[1].strip(), match[2].strip()) if match else (text.strip(), "")


def _statement(text: str, otherwise: str = _OTHER) -> Iterator[Finding]:
    """Yields the findings of "examination: result", where the result may be a list of items."""
    name, value = _heading(text)
    name = _NAME_TAIL.sub("", name)
    if not value:
        named = _NAMED.match(text)
        yield Finding(examination=named[0] if named and named[0] else otherwise, value=text)
        return
    items = [_item(part.strip()) for part in split_outside(value, "，,、")]
    if len(items) > 1 and all(items):
        for item in items:
            if item:
                yield Finding(examination=name, item=item[0], value=item[1])
    else:
        yield Finding(examination=name, value=value)


def _item(text: str) -> tuple[str, str] | None:
    """Splits one item into name and value: "HGB 140g/L", "比重1.015", "蛋白: 阴性"; None where that is not safe."""
    label = _LABELLED.fullmatch(text)
    if label and label[2]:
        return label[1].strip(), label[2].strip()
    match = _SPACED.fullmatch(text) or _JOINED.fullmatch(text)
    return (match[1], match[2].strip()) if match else None
