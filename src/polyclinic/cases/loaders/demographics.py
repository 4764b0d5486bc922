"""Age and sex, read from how sources write them."""

from __future__ import annotations

import re

from polyclinic.cases.presentation import Sex

_YEARS = {"y": 1.0, "m": 1 / 12, "w": 7 / 365.25, "d": 1 / 365.25, "h": 1 / 8766}
_OLD = re.compile(r"(\d+(?:\.\d+)?)[\s–-]*(y|m|w|d|h)(?:ear|r|onth|eek|ay|our)?s?[\s–-]*(?:old|o\b|/o)", re.IGNORECASE)
_AGED = re.compile(r"\bage[d:]?\s+(\d{1,3})\b", re.IGNORECASE)
_CODED = re.compile(r"([YMWD])\s*(\d+(?:\.\d+)?)", re.IGNORECASE)
_CHINESE_YEARS = re.compile(r"(\d+(?:\.\d+)?)\s*岁\s*(?:(\d+)\s*个?月)?")
_CHINESE_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(个?月|周|天|日)(?:龄|大)?")
_CHINESE_CASE = re.compile(r"^\s*[男女]性?\s*[，,、\s]\s*(\d{1,3})(?=\s*[，,、。岁\s])")
_DIGITS = "零一二三四五六七八九"
_CHINESE_NUMERAL = re.compile(
    r"^[一二两三四五六七八九十百零]+$|[一二两三四五六七八九十百零]+(?=\s*(?:岁|个月|月龄|周龄|天大))"
)
_NUMERAL_PARTS = re.compile(
    r"(?:(?P<hundreds>[一二三四五六七八九])百零?)?(?:(?P<tens>[一二三四五六七八九])?(?P<ten>十))?(?P<ones>[一二三四五六七八九])?"
)
_UNSAID = {"", "-", "–", "—", "?", "n/a", "na", "nan", "none", "null", "unknown", "not known", "not recorded"}
_UNSAID |= {"other", "不详", "未知", "不明", "无", "其他"}
_NEWBORN = re.compile(r"\bnewborn\b|\bneonate\b|新生儿", re.IGNORECASE)
_SEX = re.compile(
    r"\b(?P<female>female|woman|girl|lady|gravida|primigravida)\b|\b(?P<male>male|man|boy|gentleman)\b"
    r"|(?P<nv>女)|(?P<nan>男)",
    re.IGNORECASE,
)


def age_in_years(text: str) -> float | None:
    """Returns the age in years that a line on the patient or the beginning of a vignette gives, to three decimals.

    Understands "35-year-old", "5岁3个月", "六十岁", "3-week-old", "Newborn", "Y70", and a bare number.
    """
    line = _CHINESE_NUMERAL.sub(_in_digits, text.strip())
    years = None
    if coded := _CODED.fullmatch(line):
        years = float(coded[2]) * _YEARS[coded[1].lower()]
    elif line.replace(".", "", 1).isdigit():
        years = float(line)
    elif old := _OLD.search(line):
        years = float(old[1]) * _YEARS[old[2].lower()]
    elif chinese := _CHINESE_YEARS.search(line):
        years = float(chinese[1]) + float(chinese[2] or 0) / 12
    elif part := _CHINESE_PART.fullmatch(line):
        unit = {"周": "w", "天": "d", "日": "d"}.get(part[2], "m")
        years = float(part[1]) * _YEARS[unit]
    elif aged := _CHINESE_CASE.search(line) or _AGED.search(line):
        years = float(aged[1])
    elif _NEWBORN.search(line):
        years = 0.0
    return None if years is None else round(years, 3)


def _in_digits(numeral: re.Match[str]) -> str:
    """Returns a Chinese numeral below a thousand in digits, 六十三 as 63; what is none as it is."""
    found = _NUMERAL_PARTS.fullmatch(numeral[0].replace("两", "二"))
    if found is None:
        return numeral[0]
    hundreds = _DIGITS.index(found["hundreds"]) if found["hundreds"] else 0
    tens = _DIGITS.index(found["tens"]) if found["tens"] else int(found["ten"] is not None)
    return str(100 * hundreds + 10 * tens + (_DIGITS.index(found["ones"]) if found["ones"] else 0))


def is_unsaid(text: str) -> bool:
    """Whether a cell says nothing: it is empty, or holds what stands for that."""
    return text.strip().strip(".").casefold() in _UNSAID


def sex_of(text: str) -> Sex | None:
    """Reads the sex from a line on the patient: the first word that tells it counts."""
    if text.strip().lower() in {"m", "f"}:
        return "male" if text.strip().lower() == "m" else "female"
    match = _SEX.search(text)
    if match is None:
        return None
    return "female" if match["female"] or match["nv"] else "male"
