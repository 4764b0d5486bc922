"""What to search for to find a diagnosis or a finding in a text, and the search.

A term stands in a text regardless of case, of full and half width, of blanks and of the form of quotation marks and
dashes; Latin words only as whole words. Abbreviations that the source puts in brackets keep their case, or "(ALL)"
would be found in every text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

from polyclinic.cases.record import Finding
from polyclinic.cases.report import Diagnosis

_MARKS = str.maketrans("‘’ʼ`´“”„«»‐‑‒–—−", "'" * 5 + '"' * 5 + "-" * 6)
_BLANKS = re.compile(r"\s+")
_BESIDE_CHINESE = re.compile(r"(?<=[\u3400-\u9fff。、]) | (?=[\u3400-\u9fff。、])")
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_WORD = re.compile(r"[a-z0-9]")
_NUMBERING = re.compile(r"^\s*(?:\d{1,2}\s*[.．、)）]\s*|\([a-z]\)\s*)", re.IGNORECASE)
_BRACKETS = re.compile(r"[(（]([^()（）]*)[)）]")
_ABBREVIATION = re.compile(r"(?=.*[A-Z].*[A-Z])[A-Za-z0-9-]{3,8}")
_DISEASE = re.compile(
    r"病|症|炎|癌|瘤|征|梗|血栓|出血|感染|衰|绞痛|硬化|溃疡|结石|囊肿|息肉|骨折|脱位|损伤|中毒|休克|畸形|疝"
)
# Names are looked at after normalising, which makes full-width marks narrow.
_PARTS = re.compile(
    r"[:;\n]|,\s|(?<=[\u3400-\u9fff)]),|(?<=[\u3400-\u9fff]{3})(?:合并|并(?!发)|伴)(?=[\u3400-\u9fff]{3})"
)
SENTENCE = re.compile(r"[。；;！？!?\n]|\.(?=\s|$)")
# Words that follow the name of a disease after a comma, or qualify it, and are no name themselves.
_QUALIFIER = re.compile(
    r"(?:with|without|due|in|of|type|stage|grade|not|unspecified|acute|chronic|mild|moderate|severe)\b"
)
_MEASURED = re.compile(r"(?=(?:\D*\d){3})[<>]?\s*[\d.,/x×*^+-]+\s*(?:[^\d\s.,;][^;]*)")
# Results that stand in any textbook: they tell of no patient in particular.
_PLAIN = re.compile(
    r".{0,8}未见.{0,6}异常|.{0,8}无.{0,4}异常(?:发现)?|正常|阴性|阳性|待结果|如上所述"
    r"|(?:(?:all|entirely|grossly|within|the) )*(?:normal|reference|unremarkable)(?: limits?| ranges?| for age)?"
    r"|1[0-3]\d/[678]\d ?mm ?hg|3[67](?:\.\d)? ?°c.*"
)
_EXCERPT = 40


class Folded:
    """A text made ready for searching."""

    def __init__(self, text: str) -> None:
        self.cased = _tidy(text)
        self.plain = self.cased.casefold()

    def find(self, term: str) -> int:
        """Returns where a folded term stands as whole words, or -1."""
        text = self.cased if _ABBREVIATION.fullmatch(term) else self.plain
        at = text.find(term)
        while at >= 0:
            end = at + len(term)
            before, after = text[at - 1 : at].lower(), text[end : end + 1].lower()
            inside = (_WORD.match(before) and _WORD.match(term[:1].lower())) or (
                _WORD.match(after) and _WORD.match(term[-1:].lower())
            )
            number = term[:1].isdigit() and before in {".", ","} and text[at - 2 : at - 1].isdigit()
            if not inside and not number:
                return at
            at = text.find(term, at + 1)
        return -1

    def around(self, at: int, length: int) -> str:
        """Returns the words around a place."""
        text = self.cased if len(self.cased) == len(self.plain) else self.plain
        begin, end = max(0, at - _EXCERPT), at + length + _EXCERPT
        return f"{'…' if begin else ''}{text[begin:end].strip()}{'…' if end < len(text) else ''}"


def _tidy(text: str) -> str:
    tidy = unicodedata.normalize("NFKC", text).translate(_MARKS)
    return _BESIDE_CHINESE.sub("", _BLANKS.sub(" ", tidy)).strip()


def fold_term(term: str) -> str:
    """Returns a term as `Folded.find` takes it."""
    tidy = _tidy(term)
    return tidy if _ABBREVIATION.fullmatch(tidy) else tidy.casefold()


def stands_in(text: str, terms: Iterable[str]) -> str | None:
    """Returns the first of the terms that stands in the text, or None."""
    folded = Folded(text)
    return next((term for term in terms if folded.find(fold_term(term)) >= 0), None)


@lru_cache(maxsize=4096)
def diagnosis_terms(diagnoses: tuple[Diagnosis, ...]) -> tuple[str, ...]:
    """Returns the terms of diagnoses, longest first: names, their distinctive parts, abbreviations in brackets."""
    return _longest_first(term for diagnosis in diagnoses for term in _name_terms(diagnosis.name))


def _name_terms(name: str) -> Iterator[str]:
    name = _NUMBERING.sub("", unicodedata.normalize("NFKC", name)).strip(" .;,。；，、")
    bare = _BLANKS.sub(" ", _BRACKETS.sub(" ", name)).strip()
    # A name in capitals is a name like any other; only short ones are abbreviations.
    for whole in (name, bare):
        if _long_enough(whole) or _ABBREVIATION.fullmatch(whole):
            yield whole.casefold() if len(whole) > 5 else whole
    for inside in _BRACKETS.findall(name):
        named = _DISEASE.search(inside) or (len(inside.split()) > 1 and not _QUALIFIER.match(inside))
        if named or _ABBREVIATION.fullmatch(inside.strip()):
            yield inside.strip()
    parts = [part.strip() for part in _PARTS.split(bare)]
    for order, part in enumerate(parts if len(parts) > 1 else []):
        chinese = len(_CHINESE.findall(part))
        # The head is a name, in English only where it is no single word; further parts are names in Chinese only.
        head = not order and (chinese > 1 or len(part.split()) > 1)
        if head or (chinese > 2 and _DISEASE.search(part)):
            yield part


def _long_enough(term: str) -> bool:
    chinese = len(_CHINESE.findall(term))
    return chinese >= 2 or len(re.findall(r"[A-Za-z]", term)) >= 4


@lru_cache(maxsize=4096)
def result_terms(findings: tuple[Finding, ...]) -> tuple[str, ...]:
    """Returns the distinctive results of findings, longest first."""
    terms = []
    for finding in findings:
        whole = f"{finding.value_text} {finding.unit}".strip()
        terms += [part.strip() for part in (whole, *SENTENCE.split(whole)) if _distinctive(part.strip())]
    return _longest_first(terms)


def _distinctive(value: str) -> bool:
    tidy = _tidy(value).rstrip(".。")
    if _PLAIN.fullmatch(tidy.casefold()) or not tidy:
        return False
    if _MEASURED.fullmatch(tidy):
        return True
    chinese = len(_CHINESE.findall(tidy))
    return chinese >= 8 or (chinese == 0 and len(tidy) >= 20 and len(tidy.split()) >= 4)


def _longest_first(terms: Iterable[str]) -> tuple[str, ...]:
    folded = dict.fromkeys(fold_term(term.strip().rstrip(".。;；")) for term in terms)
    return tuple(sorted((term for term in folded if term), key=lambda term: (-len(term), term)))
