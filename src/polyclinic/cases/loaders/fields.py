"""Values of data sets as text, keys as names, numbers with their units, and options with their keys."""

from __future__ import annotations

import ast
import re
import string
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.cases.presentation import Sex
from polyclinic.cases.record import Finding
from polyclinic.cases.report import Diagnosis
from polyclinic.errors import BadInput
from polyclinic.language.clauses import at_marks
from polyclinic.language.word_lists import WordLists

WORDS = WordLists(Path(__file__).with_name("words"))
"""The words of this room."""

# Names of people keep their capital inside a name ("left Achilles tendon").
_PEOPLE = frozenset(
    "Achilles Babinski Coombs Doppler Gram Hansel Hansel’s Lachman McMurray Murphy Papanicolaou Pap Phalen Phalen's "
    "Rinne Romberg Rorschach Tanner Tinel Tinel's Weber Wright".split()
)
# "X-Ray", "C-Reactive" and "Anti-Nuclear" are no double names of people, as "Dix-Hallpike" is.
_HYPHENATED = re.compile(r"(?<=\bX-)Ray|(?<=\bC-)Reactive|(?<=\bAnti-)[A-Z](?=[a-z])")
_PREFIX = r"(?:[kcdmunpfμµ]?)"
_UNIT = re.compile(
    rf"""(?:{_PREFIX}(?:g|L|l|mol|m|IU|U|Eq|Osm|s|Pa)|mm\ ?Hg|bpm|breaths|beats|lb|years)
        (?:/(?:{_PREFIX}(?:L|l|g|m2|mol)|min|minute|h|hr|hour|24h|24\ h|day))?""",
    re.VERBOSE,
)
_NUMBER_AND_UNIT = re.compile(r"(-?\d+(?:\.\d+)?) (\S.*)")


def as_text(value: Any) -> str:
    """Returns a JSON value as text: lists joined with "; ", objects as "Name: text; ...", null as nothing."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        return "; ".join(text for text in map(as_text, value) if text)
    if isinstance(value, dict):
        parts = ((readable(str(key)), as_text(part)) for key, part in value.items())
        return "; ".join(f"{name}: {text}" for name, text in parts if text)
    return str(value)


def as_object(value: Any, field: str) -> dict[str, Any]:
    """Returns the value if it is a JSON object, and refuses, with the field, what is something else."""
    if not isinstance(value, dict):
        came = "nothing" if value is None else type(value).__name__
        raise BadInput(f"an object {{...}} is needed here; there is {came}", field=field)
    return value


def readable(key: str) -> str:
    """Returns a key as a name: `Complete_Blood_Count` becomes "Complete blood count", `MRI_Brain` "MRI brain"."""
    words = _HYPHENATED.sub(lambda match: match[0].lower(), key.replace("_", " ")).split()
    return " ".join(words[:1] + [word.lower() if _is_common(word) else word for word in words[1:]])


def lower_first(name: str) -> str:
    """Returns a name as it stands inside a line: its first word in lower case, unless it is an abbreviation."""
    first, _, rest = name.partition(" ")
    return f"{first.lower() if _is_common(first) else first} {rest}".strip()


def _is_common(word: str) -> bool:
    """Tells a common noun in title case from an abbreviation, a letter ("hepatitis B") and a person."""
    return len(word) > 1 and word.istitle() and word.isalpha() and word not in _PEOPLE


def split_value(text: str) -> tuple[str | float, str]:
    """Splits "9.1 g/dL" into 9.1 and "g/dL"; whatever would not read out the same again stays whole, with unit ""."""
    match = _NUMBER_AND_UNIT.fullmatch(text)
    if match and _UNIT.fullmatch(match[2]) and f"{float(match[1]):g}" == match[1]:
        return float(match[1]), match[2]
    return text, ""


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


_LINE_NUMBER = re.compile(r"^\s*(?:[-•*]\s*|[（(]?\d{1,2}\s*[.．、)）]\s*(?!\d))")
_OPEN, _CLOSE = "(（[【“", ")）]】”"
# Each is tried only where the ones before it divide nothing: a comma inside a numbered item belongs to the item.
_SEPARATORS = ("\n", "；;", "、", "，,")


def split_diagnoses(text: str) -> tuple[Diagnosis, ...]:
    """Returns the diagnoses of a text, without their numbers, in their order.

    Understands "1. ... 2. ..." with or without line breaks, and lists by line, semicolon or comma; what stands in
    brackets is never divided, and neither are commas inside numbered items.
    """
    names = _numbered(text.strip())
    for marks in _SEPARATORS:
        if len(names) == 1:
            names = split_outside(names[0], marks)
    bare = (_LINE_NUMBER.sub("", name).strip(" \n\t。.；;，,、") for name in names)
    return tuple(Diagnosis(name) for name in dict.fromkeys(bare) if name)


def split_points(text: str) -> tuple[str, ...]:
    """Returns the lines of a text as items, without their numbers."""
    lines = (_LINE_NUMBER.sub("", line).strip() for line in text.splitlines())
    return tuple(line for line in lines if line)


def split_outside(text: str, marks: str) -> list[str]:
    """Splits a text at any of the marks that does not stand in brackets or quotation marks."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        if letter in _OPEN:
            depth += 1
        elif letter in _CLOSE:
            depth = max(0, depth - 1)
        elif letter in marks and not depth:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def _numbered(text: str) -> list[str]:
    """Splits at 1, 2, 3 ... in this order, so that numbers inside a name ("type 2", "2.5 cm") divide nothing."""
    marks: list[re.Match[str]] = []
    at, number = 0, 1
    while True:
        # "1." or, as some records have it, a bare "2" after a semicolon; "2型", "3级" belong to a name.
        dotted = rf"(?<!\d){number}\s*[.．、)）]\s*(?!\d(?!\d?\s*型))"
        bare = rf"(?<=[；;\n]){number}(?![\d.．型级期度])" if number > 1 else rf"^{number}(?![\d.．型级期度\s-])"
        match = re.compile(f"{dotted}|{bare}").search(text, at)
        if match is None or (number == 1 and match.start()):
            break
        marks.append(match)
        at, number = match.end(), number + 1
    return [behind for _, behind in at_marks(text, marks)[1]] or [text]


_LETTER = re.compile(r"(?:^|[,，;；、\n])\s*(?:[(（]([A-Z])[)）]|([A-Z])[.．、:：)])\s*(\w)")
_MARKED = re.compile(r"\s*\(?([A-Z])(?:[.．、:：]|\))\s*(.*)", re.DOTALL)


def read_options(value: Any, field: str) -> dict[str, str]:
    """Returns the options as key to text, in their order.

    An object keeps its keys. An array, an array literal in a text, and plain lines get letters. A text is split at its
    letters ("A. ..., B. ..." or "(A) ... (B) ..."), which must follow the alphabet, so that commas inside survive.
    """
    if isinstance(value, str):
        value = literal(value)
    if isinstance(value, str):
        if twice := _letter_twice(value):
            raise BadInput(f"the letter {twice} stands before two options; each once", field=field)
        value = _split_letters(value) or [line for line in value.splitlines() if line.strip()]
    if isinstance(value, list):
        value = _lettered(value, field)
    if not isinstance(value, dict) or len(value) < 2:
        raise BadInput(
            "two or more options are needed: an object, an array, or text such as 'A. ..., B. ...'", field=field
        )
    return {str(key).strip(): as_text(text) for key, text in value.items()}


def same_options(options: Mapping[str, str]) -> tuple[str, str] | None:
    """Returns the keys of two options in the same text but for case, width and blanks; None where there are none."""
    first: dict[str, str] = {}
    for key, text in options.items():
        bare = "".join(unicodedata.normalize("NFKC", text).casefold().split())
        if bare in first:
            return first[bare], key
        first[bare] = key
    return None


def read_keys(value: Any, options: dict[str, str]) -> tuple[str, ...]:
    """Returns the keys of the right options: of "A, C", "a, c", "AC", ["A", "C"] or an option's own text.

    What is none of the options is returned as it came, for the check of the file to report.
    """
    if isinstance(value, list):
        return tuple(key for part in value for key in read_keys(part, options))
    text = as_text(value)
    if not text or text in options:
        return (text,) if text else ()
    by_text = [key for key, option in options.items() if _bare(option) == _bare(text)]
    if by_text:
        return (by_text[0],)
    parts = [part.strip("().． ") for part in re.split(r"[,，、;；\s]+", text) if part.strip("().． ")]
    if len(parts) == 1 and all(letter in options for letter in parts[0]):
        parts = list(parts[0])
    # A letter by itself may be small; several together would be a word.
    return tuple(part if part in options or part.upper() not in options else part.upper() for part in parts)


def right_options(options: dict[str, str], given: Iterable[Any], field: str) -> tuple[str, ...]:
    """Returns the keys of the right options, as the first of some values names them that names any."""
    keys = next((keys for value in given if (keys := read_keys(value, options))), ())
    wrong = [key for key in keys if key not in options]
    if wrong or not keys:
        came = f"{wrong[0]!r} came" if wrong else "there is none"
        raise BadInput(f"the right option is needed, one of {', '.join(options)}; {came}", field=field)
    return keys


def nested_findings(
    value: Any, examination: str, name_of: Callable[[Any], str] = lambda key: readable(str(key))
) -> Iterator[Finding]:
    """Yields results: a text is one; of an object each key is an item, or an examination with items of its own."""
    if not isinstance(value, dict):
        if text := as_text(value):
            yield Finding(examination=examination, value=text)
        return
    for name, part in value.items():
        if isinstance(part, dict):
            for item, result in part.items():
                if text := as_text(result):
                    yield Finding(examination=name_of(name), item=name_of(item), value=text)
        elif text := as_text(part):
            yield Finding(examination=examination, item=name_of(name), value=text)


def _bare(option: str) -> str:
    marked = _MARKED.fullmatch(option)
    return (marked[2] if marked else option).strip().casefold()


def literal(text: Any) -> Any:
    """Returns what a text says in JSON or as Python writes it, an array or an object; else what came, as it came."""
    if not isinstance(text, str) or not text.lstrip().startswith(("[", "{")):
        return text
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _split_letters(text: str) -> dict[str, str]:
    marks: list[re.Match[str]] = []
    at = 0
    for letter in string.ascii_uppercase:
        mark = re.compile(rf"(?:^|(?<=[\s,，;；、]))(?:\({letter}\)|（{letter}）|{letter}[.．、:：)])\s*")
        match = mark.search(text, at)
        if match is None:
            break
        marks.append(match)
        at = match.end()
    before, parts = at_marks(text, marks)
    if len(parts) < 2 or before.strip():
        return {}
    texts = (behind.strip().rstrip(",，;；、").rstrip() for _, behind in parts)
    return dict(zip(string.ascii_uppercase, texts, strict=False))


def _letter_twice(text: str) -> str:
    """Returns a letter that stands before two options of a text; "" where none does.

    "Sepsis by B. cereus" is no option B: a letter counts at the beginning or behind what parts options, and not before
    a small letter where the first option has a large one.
    """
    found = [(match[1] or match[2], match[3]) for match in _LETTER.finditer(text)]
    capital = bool(found) and found[0][1].isupper()
    letters = [letter for letter, first in found if not (capital and first.islower())]
    return next((letter for letter in letters if letters.count(letter) > 1), "")


def _lettered(values: list[Any], field: str) -> dict[str, str]:
    """Returns options of an array by their keys, or by the letters before them; else they get letters."""
    letters = string.ascii_uppercase[: len(values)]
    if values and all(isinstance(v, dict) and {"key", "value"} <= v.keys() for v in values):
        keys, texts = [as_text(v["key"]) for v in values], [as_text(v["value"]) for v in values]
    else:
        texts = [as_text(value) for value in values]
        marked = [match for text in texts if (match := _MARKED.fullmatch(text))]
        keys = [match[1] for match in marked] if len(marked) == len(texts) else [*letters]
        if "".join(keys) == letters and marked:
            texts = [match[2] for match in marked] if len(marked) == len(texts) else texts
    if twice := next((key for key in keys if keys.count(key) > 1), ""):
        raise BadInput(f"the letter {twice} stands before two options; each once", field=field)
    given = all(isinstance(value, dict) for value in values)
    return dict(zip(keys if given else letters, texts, strict=False))
