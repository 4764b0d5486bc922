"""What to search for to find a diagnosis or a finding in a text; `language.folding` searches."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from polyclinic.cases.record import Finding
from polyclinic.cases.report import Diagnosis
from polyclinic.language.folding import ABBREVIATION, SENTENCE, fold_term, tidy
from polyclinic.language.language import CHINESE, chinese_characters

_NUMBERING = re.compile(r"^\s*(?:\d{1,2}\s*[.．、)）]\s*|\([a-z]\)\s*)", re.IGNORECASE)
_BRACKETS = re.compile(r"[(（]([^()（）]*)[)）]")
_DISEASE = re.compile(
    r"病|症|炎|癌|瘤|征|梗|血栓|出血|感染|衰|绞痛|硬化|溃疡|结石|囊肿|息肉|骨折|脱位|损伤|中毒|休克|畸形|疝"
)
# Names are looked at after normalising, which makes full-width marks narrow.
_PARTS = re.compile(rf"[:;\n]|,\s|(?<=[{CHINESE})]),|(?<=[{CHINESE}]{{3}})(?:合并|并(?!发)|伴)(?=[{CHINESE}]{{3}})")
# Words that follow the name of a disease after a comma, or qualify it, and are no name themselves.
_QUALIFIER = re.compile(
    r"(?:with|without|due|in|of|type|stage|grade|not|unspecified|acute|chronic|mild|moderate|severe)\b"
)
_CODE = re.compile(r"[A-Z]\d\d(?:\.\w{1,6})?")
_MEASURED = re.compile(r"(?=(?:\D*\d){3})[<>]?\s*[\d.,/x×*^+-]+\s*(?:[^\d\s.,;][^;]*)")
# Results that stand in any textbook: they tell of no patient in particular.
_PLAIN = re.compile(
    r".{0,8}未见.{0,6}异常|.{0,8}无.{0,4}异常(?:发现)?|正常|阴性|阳性|待结果|如上所述"
    r"|(?:(?:all|entirely|grossly|within|the) )*(?:normal|reference|unremarkable)(?: limits?| ranges?| for age)?"
    r"|1[0-3]\d/[678]\d ?mm ?hg|3[67](?:\.\d)? ?°c.*"
)


@lru_cache(maxsize=4096)
def diagnosis_terms(diagnoses: tuple[Diagnosis, ...]) -> tuple[str, ...]:
    """Returns the terms of diagnoses, longest first: names, their distinctive parts, abbreviations in brackets, codes.

    Nothing but these abbreviations and codes is shorter than four Latin letters or two Chinese characters.
    """
    names = (term for diagnosis in diagnoses for term in _name_terms(diagnosis.name))
    return _longest_first((*names, *(one.icd10 for one in diagnoses if one.icd10 and _CODE.fullmatch(one.icd10))))


def _name_terms(name: str) -> Iterator[str]:
    name = _NUMBERING.sub("", unicodedata.normalize("NFKC", name)).strip(" .;,。；，、")
    bare = " ".join(_BRACKETS.sub(" ", name).split())
    # A name in capitals is a name like any other; only short ones are abbreviations.
    for whole in (name, bare):
        long_enough = chinese_characters(whole) >= 2 or len(re.findall(r"[A-Za-z]", whole)) >= 4
        if long_enough or ABBREVIATION.fullmatch(whole):
            yield whole.casefold() if len(whole) > 5 else whole
    for inside in _BRACKETS.findall(name):
        named = _DISEASE.search(inside) or (len(inside.split()) > 1 and not _QUALIFIER.match(inside))
        if named or ABBREVIATION.fullmatch(inside.strip()):
            yield inside.strip()
    parts = [part.strip() for part in _PARTS.split(bare)]
    for order, part in enumerate(parts if len(parts) > 1 else []):
        chinese = chinese_characters(part)
        # The head is a name, in English only where it is no single word; further parts are names in Chinese only.
        head = not order and (chinese > 1 or len(part.split()) > 1)
        if head or (chinese > 2 and _DISEASE.search(part)):
            yield part


@lru_cache(maxsize=4096)
def result_terms(findings: tuple[Finding, ...]) -> tuple[str, ...]:
    """Returns the distinctive results of findings, longest first: long ones, or three digits and a unit."""
    terms = []
    for finding in findings:
        whole = f"{finding.value_text} {finding.unit}".strip()
        terms += [part.strip() for part in (whole, *SENTENCE.split(whole)) if _distinctive(part.strip())]
    return _longest_first(terms)


def _distinctive(value: str) -> bool:
    folded = tidy(value).rstrip(".。")
    if _PLAIN.fullmatch(folded.casefold()) or not folded:
        return False
    if _MEASURED.fullmatch(folded):
        return True
    chinese = chinese_characters(folded)
    return chinese >= 8 or (chinese == 0 and len(folded) >= 20 and len(folded.split()) >= 4)


def _longest_first(terms: Iterable[str]) -> tuple[str, ...]:
    folded = dict.fromkeys(fold_term(term.strip().rstrip(".。;；")) for term in terms)
    return tuple(sorted((term for term in folded if term), key=lambda term: (-len(term), term)))


class DiseaseNaming(NamedTuple):
    """What names a disease in a text."""

    text: str  # as it stands there
    name: str  # of the disease
    is_sure: bool = True  # it says which disease it is; else it could be said of others too
    is_wider: bool = False  # it says less than the name ("pneumonia", of a pneumococcal one)


DiseaseNamings = Callable[[str, Iterable[str]], Iterable[DiseaseNaming]]
"""Finds what names one of some diseases in a text."""
