"""A name of a disease as a row of units.

They are words in Latin letters, in one spelling and in the singular; single Chinese characters; numbers with what they
number ("type 2", 2型); and marks. British and American spelling, accents, Roman numerals, hyphens and plurals make no
difference. An abbreviation that is an English word in small letters ("ALL", "AS") keeps a mark, and is read as one only
in capitals or standing alone.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polyclinic.language.language import CHINESE
from polyclinic.yaml_files import read_yaml

HERE = Path(__file__).parent

MARK = "^"
"""Behind an abbreviation in capitals that would be an ordinary word in small letters."""

WORDS_TOO = frozenset(
    (
        "ALL AS CAP ADD AD ED ET DR TEN PAN PAD MASH PAC DI HAP VAP AIDS PID PE AA UC SAD "
        "COP NET MEN POP FAS PAP MAS HUS TIN CAD"
    ).split()
)

_CAPITALS = re.compile(rf"(?<![A-Za-z])({'|'.join(sorted(WORDS_TOO))})(?![A-Za-z])")
# A blank between Chinese words ends one name and begins another, as a mark would.
_BETWEEN = re.compile(rf"(?<=[{CHINESE}])\s+(?=[{CHINESE}])")
_UNIT = re.compile(
    rf"[a-z]+:[a-z0-9]+|[a-z0-9]+(?:\.[0-9]+)?\^?|[{CHINESE}]|[,;:、，；：。()（）\[\]【】?？+/]", re.IGNORECASE
)
_CHARACTERS = re.compile("(?![^一二三四五甲乙丙丁戊]*[一二三四五甲乙丙丁戊])[\u4e00-\u9fff]+")  # without numbers
# "r/o", "w/o", "c/w", "s/p", "NK/T": a stroke that divides nothing.
_STROKE = re.compile(r"(?<![a-z])(?:([rwcs])/([owp])|(nk)/(t))(?![a-z])")
_POSSESSIVE = re.compile(r"(?<=[a-z])['’`]s?\b")
_JOINED = re.compile(
    r"(?<=[a-z]o)-(?=[a-z]{4})|\b(pre|hyper|hypo|anti|inter|intra|sub|peri|semi|micro|macro|poly|multi|para|auto)-(?=[a-z])"
)
_NON = re.compile(r"\bnon(?=[a-z]{5})")
# "Malignant neoplasm: Liver", as in the tabular list of ICD-10.
_NAMELY = re.compile(r"(?<=[a-z]): (?=[a-z])")
_ROMAN = {"ii": "2", "iii": "3", "iv": "4", "vi": "6", "vii": "7", "viii": "8", "ix": "9"}
_ROMAN_NUMBER = re.compile(r"(?<![a-z0-9])(viii|vii|vi|iv|iii|ii|ix)(?=[a-c]?(?![a-z]))")
_DIGIT = re.compile("[0-9]")
_SERIAL = r"\d+[a-e]?\d?|i[a-c]\d?|[a-e]|i|v"  # a number of a stage: 2, 2b, 1b1
_DISC = re.compile(r"(?<![a-z0-9])([clst])(\d{1,2}) *[-/~至] *\1?(\d{1,2})(?![0-9])")
_DISC_CHINESE = re.compile(r"([颈胸腰骶])(\d{1,2}) *[-/~、至] *\1?(\d{1,2})(?![0-9])")
_LUMBOSACRAL = re.compile(r"(?:\bl|腰)5 *[-/~、]? *(?:s|骶)1(?![0-9])")
_THIRD = re.compile(r"(?<=[上中下])1/3段?")
# T2N1M0, with what it was found by before it: clinically, pathologically, after treatment, again.
_SPREAD = re.compile(
    r"(?<![a-z0-9])[cpyr]{0,3}t([0-4]|is|x)([a-d]?) *[cp]?n([0-3x][a-c]?)(?: *[cp]?m([01x][a-c]?))?(?![a-z0-9])"
)
_SURFACE = re.compile(r"(?<![a-z0-9])[cp]?t([0-4]|a|is)([a-d]?) *g([1-4])(?![a-z0-9])")
_KIDNEY = re.compile(
    r"((?:\bckd|chronic kidney disease|慢性肾脏病|慢性肾病)[ ,(（，]*)(?:stage *)?(?:g *)?"
    r"([1-5][ab]?)(?: *[ ,/]? *a([1-3]))?期?(?![0-9a-z级])"
)
_DYSPLASIA = re.compile(r"(?<![a-z])(cin|vin|vain|ain|pin|panin) *(?:grade *)?([1-3]|i)(?![a-z0-9])")
_LIKENESS = re.compile(r"(?<![a-z0-9])g([1-4])(?: *级)?(?![a-z0-9.])")
_CHINESE_DIGITS = str.maketrans("一二三四五甲乙丙丁戊", "12345abcde")
_GREEK = {ord("α"): " alpha ", ord("β"): " beta ", ord("γ"): " gamma ", ord("δ"): " delta "}
_ORDINALS = {"first": "1", "second": "2", "third": "3", "fourth": "4", "1st": "1", "2nd": "2", "3rd": "3", "4th": "4"}
_ACCENTED = re.compile("[À-ɏ̀-ͯ]")
_NUMBER = re.compile(
    rf"[0-9一二三四五甲乙丙丁戊]|(?<![a-z])(?:[a-eiv]|i[a-c])(?![a-z])|{'|'.join(w for w in _ORDINALS if w.isalpha())}"
)
_ENDINGS = (
    (re.compile(r"our(?=s?$)"), "or"),
    (re.compile(r"is(?=(?:e|ed|ation|ing|es)$)"), "iz"),
    (re.compile(r"^leuc"), "leuk"),
    (re.compile(r"sulph"), "sulf"),
    (re.compile(r"tre$"), "ter"),
)
_SHORT = 3  # letters of a word whose end is not looked at


@functools.cache
def _scales() -> tuple[re.Pattern[str], tuple[tuple[str, re.Pattern[str]], ...]]:
    """Returns what a number behind the name of a scale is ("FIGO IB1", "Dukes B", "Garden Ⅲ型"), with its pattern."""
    said = read_yaml(HERE / "grammar.yaml", dict[str, dict[str, Any]])["scales"]
    after = "stage|staging|grade|grading|class|classification|type|score|level|group"
    table = []
    for what, names in said.items():
        scales = "|".join(sorted((w.strip().casefold() for w in names.split(";")), key=len, reverse=True))
        found = re.compile(
            rf"(?<![a-z])(?:{scales})(?: *(?:{after}|分期|分级|分型|评分))?[ :：]*"
            rf"(?P<n>[1-5]\+[1-5]|{_SERIAL})(?![0-9a-z]) *(?:期|级|型|度|类|分|{after})?(?![a-z])"
        )
        table.append((what, found))
    names = "|".join(w.strip().casefold() for names in said.values() for w in names.split(";"))
    return re.compile(rf"(?<![a-z])(?:{names})"), tuple(table)


@functools.cache
def _numbered() -> Mapping[str, tuple[re.Pattern[str], ...]]:
    """Returns the patterns by which a number is known to be a type, a stage and so on; group `n` is the number."""
    table = {}
    said = read_yaml(HERE / "grammar.yaml", dict[str, dict[str, dict[str, str] | str]])["numbered"]
    for what, names in said.items():
        assert isinstance(names, dict)  # noqa: S101
        words = "|".join(sorted((w.strip() for w in names["en"].split(";")), key=len, reverse=True))
        characters = "|".join(sorted((w.strip() for w in names["zh"].split(";")), key=len, reverse=True))
        ordinals = "|".join(_ORDINALS)
        table[what] = (
            re.compile(rf"\b(?:{words})\s*(?P<n>{_SERIAL})\b"),
            re.compile(rf"\b(?P<n>{ordinals})\s+(?:{words})\b"),
            re.compile(rf"(?<![a-z0-9.])(?P<n>{_SERIAL})\s*-?(?:{characters})(?![脑肝])"),
            re.compile(rf"(?P<n>[一二三四五])(?:{characters})"),
            *((re.compile(r"(?P<n>[甲乙丙丁戊])型"),) if what == "type" else ()),
        )
    return table


def plain(word: str) -> str:
    """Returns a word in small letters in one spelling and in the singular."""
    for found, instead in _ENDINGS:
        word = found.sub(instead, word) if len(word) > _SHORT + 1 else word
    if len(word) <= _SHORT or not word.isalpha():
        return word
    if word.endswith("ies") and len(word) > _SHORT + 2:
        return word[:-3] + "y"
    if word.endswith("itides"):
        return word[:-4] + "s"
    if word.endswith("oses"):
        return word[:-2] + "is"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def fold(text: str) -> str:
    """Returns a text in one width, case and spelling, with numbers beside what they number."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_GREEK)
    text = _BETWEEN.sub("、", text)
    text = _CAPITALS.sub(rf"\1{MARK}", text).casefold()
    if _ACCENTED.search(text):
        text = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    if _DIGIT.search(text):
        text = _with_figures(text)
    text = _NAMELY.sub(" of ", text)
    text = _STROKE.sub(r"\1\3 \2\4", text)
    text = _POSSESSIVE.sub("", text.replace("‐", "-").replace("–", "-").replace("—", "-").replace("_", " "))
    text = _JOINED.sub(lambda found: found[1] or "", text).replace("-", " ")
    text = _NON.sub("non ", text).replace("ae", "e").replace("oe", "e")
    text = _ROMAN_NUMBER.sub(lambda found: _ROMAN[found[0]], text)
    if _NUMBER.search(text):
        some, scales = _scales()
        for what, found in scales if some.search(text) else ():
            text = found.sub(functools.partial(_with_number, what), text)
        text = _DYSPLASIA.sub(lambda found: f"{found[1]} grade:{_number(found[2])} ", text)
        text = _LIKENESS.sub(r" grade:\1 ", text)
        for what, patterns in _numbered().items():
            for pattern in patterns:
                text = pattern.sub(functools.partial(_with_number, what), text)
    return text


def _with_figures(text: str) -> str:
    """Returns a text with one writing of discs between vertebrae, of thirds, and of how far a tumour has spread."""
    text = _LUMBOSACRAL.sub(" l5 s1 ", text)
    text = _DISC.sub(r"\1\2/\1\3 ", text)
    text = _DISC_CHINESE.sub(r"\1\2/\1\3", text)
    text = _THIRD.sub("段", text)
    text = _SURFACE.sub(r" t:\1\2 grade:\3 ", _SPREAD.sub(_spread, text))
    return _KIDNEY.sub(_kidney, text)


def _spread(found: re.Match[str]) -> str:
    """Returns tumour, nodes and metastases each on its own."""
    said = ("t", f"{found[1]}{found[2]}"), ("n", found[3]), ("m", found[4])
    return f" {' '.join(f'{what}:{how}' for what, how in said if how)} "


def _kidney(found: re.Match[str]) -> str:
    """Returns a stage of a chronic kidney disease by filtration, and that by albumin."""
    return f"{found[1]} stage:{found[2]} " + (f"albumin:{found[3]} " if found[3] else "")


def _with_number(what: str, found: re.Match[str]) -> str:
    return f" {what}:{_number(found['n'])} "


def _number(text: str) -> str:
    text = _ORDINALS.get(text, text).translate(_CHINESE_DIGITS)
    if text[0] == "i":
        return f"1{text[1:]}"
    return "5" if text == "v" else text.replace("+", "p")


@functools.lru_cache(maxsize=1 << 16)
def units(text: str) -> tuple[str, ...]:
    """Returns the units of a name, in order."""
    if _CHARACTERS.fullmatch(text):
        return tuple(text)
    found = _UNIT.findall(fold(text))
    return tuple(unit if ":" in unit and len(unit) > 1 else plain(unit) if unit.isascii() else unit for unit in found)
