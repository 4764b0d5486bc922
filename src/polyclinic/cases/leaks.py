"""Finds the truth where a doctor was given it, and takes it out of what a patient may say.

A text leaks where it holds a diagnosis or a distinctive finding word for word: regardless of case, of full and half
width, of blanks and of the form of quotation marks and dashes; Latin words only as whole words. Abbreviations that
the source puts in brackets keep their case, or "(ALL)" would be found in every text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Literal

import msgspec

from polyclinic.cases.case import Case
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
_SENTENCE = re.compile(r"[。；;！？!?\n]|\.(?=\s|$)")
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
_CLAUSE = re.compile(r"[，,]|(?<![，,])\s(?=(?:but|and (?:he|she|they|I|has|was|had)|which|because|although)\b)")
_DANGLING = re.compile(r"^(?:which|who|that|with|including|such as|because|as|for|of|due to)\b", re.IGNORECASE)
_JOINT = re.compile(r"^\s*(?:but|and|so|or|但是?|并且?|而且?|且)(?:\s+|(?<=[\u3400-\u9fff]))", re.IGNORECASE)
_OPEN, _CLOSE = "([（【“", ")]）】”"
_EXCERPT = 40

_Kind = Literal["diagnosis", "finding"]


class Leak(msgspec.Struct, frozen=True, kw_only=True):
    """A text that holds what only the truth, or a finding that nobody asked for, says.

    Attributes:
        kind: what stands there.
        term: the words that were found.
        where: which of the texts, from 0.
        excerpt: the words around it.
    """

    kind: _Kind
    term: str
    where: int
    excerpt: str


def truth_terms(case: Case) -> tuple[str, ...]:
    """Returns what to search for to find the case's diagnoses: names, their distinctive parts, and abbreviations.

    Longest first. Nothing shorter than four Latin letters or two Chinese characters, except abbreviations that
    stand in brackets behind a name.
    """
    return _diagnosis_terms(case.truth.diagnoses)


def finding_terms(case: Case) -> tuple[str, ...]:
    """Returns the results that are distinctive: long enough, or a number with three digits and a unit.

    Longest first. "Normal", "negative" and small bare numbers stand in too many texts to tell anything.
    """
    return _finding_terms(case.record.findings)


def find_leaks(texts: Iterable[str], case: Case, *, revealed: Iterable[str] = ()) -> list[Leak]:
    """Finds diagnoses and findings that stand in texts which a doctor was given.

    Args:
        texts: what the doctor was given, such as prompts.
        case: whose truth and findings may not stand there.
        revealed: what patient and examiner have said before; what stands there, or in the presentation, is no leak.

    Returns:
        For each text each term at most once, and no term that lies inside a longer one that was found.
    """
    presentation = case.presentation
    known: list[_Folded] | None = None
    searched: tuple[tuple[_Kind, tuple[str, ...]], ...] = (
        ("diagnosis", truth_terms(case)),
        ("finding", finding_terms(case)),
    )
    leaks: list[Leak] = []
    for where, text in enumerate(texts):
        folded = _Folded(text)
        seen: list[str] = []
        for kind, terms in searched:
            for term in terms:
                at = folded.find(term)
                if at < 0 or any(term.casefold() in longer for longer in seen):
                    continue
                if known is None:
                    known = [_Folded(t) for t in (presentation.complaint, presentation.about, *revealed)]
                if any(k.find(term) >= 0 for k in known):
                    continue
                seen.append(term.casefold())
                leaks.append(Leak(kind=kind, term=term, where=where, excerpt=folded.around(at, len(term))))
    return leaks


def stands_in(text: str, terms: Iterable[str]) -> str | None:
    """Returns the first of the terms that stands in the text, or None."""
    folded = _Folded(text)
    return next((term for term in terms if folded.find(_fold_term(term)) >= 0), None)


def withhold(text: str, terms: Iterable[str]) -> str:
    """Takes out of a text the clauses that hold a term, so that a patient can say the rest.

    Of a sentence with several clauses only those with a term go; where the rest could not stand by itself, or the
    term spans clauses, the whole sentence goes. In what is returned no term is left.
    """
    wanted = tuple(dict.fromkeys(_fold_term(term) for term in terms if term.strip()))
    if not _holds(text, wanted):
        return text
    kept = []
    for sentence, end in _sentences(text):
        rest = _without_clauses(sentence, wanted) if _holds(sentence, wanted) else sentence
        if rest.strip():
            kept.append(rest + end)
        elif "\n" in end and kept and not kept[-1].endswith("\n"):
            kept.append("\n")
    result = "".join(kept).strip()
    # A term that spans sentences can only be broken by dropping them all.
    return "" if _holds(result, wanted) else result


class _Folded:
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


def _fold_term(term: str) -> str:
    tidy = _tidy(term)
    return tidy if _ABBREVIATION.fullmatch(tidy) else tidy.casefold()


@lru_cache(maxsize=4096)
def _diagnosis_terms(diagnoses: tuple[Diagnosis, ...]) -> tuple[str, ...]:
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
def _finding_terms(findings: tuple[Finding, ...]) -> tuple[str, ...]:
    terms = []
    for finding in findings:
        whole = f"{finding.value_text} {finding.unit}".strip()
        terms += [part.strip() for part in (whole, *_SENTENCE.split(whole)) if _distinctive(part.strip())]
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
    folded = dict.fromkeys(_fold_term(term.strip().rstrip(".。;；")) for term in terms)
    return tuple(sorted((term for term in folded if term), key=lambda term: (-len(term), term)))


def _holds(text: str, wanted: tuple[str, ...]) -> bool:
    folded = _Folded(text)
    return any(folded.find(term) >= 0 for term in wanted)


def _sentences(text: str) -> Iterator[tuple[str, str]]:
    begin = 0
    for end in _SENTENCE.finditer(text):
        blank = re.compile(r"\s*").match(text, end.end())
        stop = blank.end() if blank else end.end()
        yield text[begin : end.start()], text[end.start() : stop]
        begin = stop
    yield text[begin:], ""


def _without_clauses(sentence: str, wanted: tuple[str, ...]) -> str:
    marks = [mark for mark in _CLAUSE.finditer(sentence) if not _in_brackets(sentence, mark.start())]
    starts = [0, *(mark.start() for mark in marks)]
    clauses = [sentence[a:b] for a, b in zip(starts, [*starts[1:], len(sentence)], strict=True)]
    held = [_holds(clause, wanted) for clause in clauses]
    if not any(held) or all(held):
        return ""
    rest = ""
    for order, clause in enumerate(clauses):
        bare = clause.lstrip("，, ")
        # What only qualifies a clause that goes, goes with it.
        held[order] = held[order] or (order > 0 and held[order - 1] and bool(_DANGLING.match(bare)))
        if not held[order]:
            rest += clause if rest else _JOINT.sub("", bare)
    if held[0] and rest:
        rest = rest[0].upper() + rest[1:]
    return "" if _holds(rest, wanted) else rest


def _in_brackets(text: str, at: int) -> bool:
    before = text[:at]
    return sum(map(before.count, _OPEN)) > sum(map(before.count, _CLOSE))
