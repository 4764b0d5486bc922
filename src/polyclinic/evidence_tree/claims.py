"""What a piece of evidence claims: its clauses one by one, who and whose it speaks of, and what it denies."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

import msgspec

from polyclinic.cases.presentation import Presentation
from polyclinic.evidence_tree.printed import WORDS
from polyclinic.language.clauses import clause_words
from polyclinic.language.language import Language, is_chinese
from polyclinic.language.word_lists import Pattern

AROUND = " \t\"'“”‘’「」()（）[]【】.。;；,，:：!！?？-–—*、"
"""What may stand around a clause without being a part of it."""


_BRACKETS = {"(": ")", "（": "）", "[": "]"}


def bare(text: str) -> str:
    """Returns a text without what may stand around it, a bracket that it ends with but not without its other half."""
    stripped = text.strip(AROUND)
    for opened, closed in _BRACKETS.items():
        if stripped.count(opened) > stripped.count(closed) and closed in text:
            stripped += closed
    return stripped


class ClaimWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What divides claims, what denies or affirms from behind, whose illness it is, who the patient is."""

    divider: Pattern
    joined: Pattern
    denied_behind: Pattern
    affirmed_behind: Pattern
    relative: Pattern
    general: Pattern
    age: Pattern
    female: Pattern
    male: Pattern
    lead: Pattern
    tens: dict[str, int]
    ones: dict[str, int]
    no: str


_words = WORDS.section("claims", ClaimWords)


def language_in(text: str) -> Language:
    """Returns the language whose words are to be looked for in a text: Chinese where any of it is."""
    return "zh" if is_chinese(text) else "en"


def claim_words(text: str) -> ClaimWords:
    """Returns the words of the language of a text."""
    return _words(language_in(text))


class Claim(NamedTuple):
    """A clause of evidence; `carried` where a denial before it may hold for it too, `bound` where it must."""

    text: str
    carried: bool = False
    bound: bool = False


def claims_of(evidence: str) -> list[Claim]:
    """Returns the claims of a piece of evidence, in order, with denials from behind put in front."""
    words, denial = claim_words(evidence), clause_words(language_in(evidence)).denial
    found: list[Claim] = []
    denied, at = False, 0
    dividers = [*words.divider.finditer(evidence), None]
    joint = ""
    for mark in dividers:
        text = bare(evidence[at : mark.start() if mark else len(evidence)])
        if text:
            told = told_from_behind(text)
            own = denial.search(text) is not None
            carried = denied and told is None and not own
            bound = carried and words.joined.fullmatch(joint.strip()) is not None
            found.append(Claim(denial_in_front(text), carried, bound))
            denied = own if told is None and own else carried
        if mark:
            joint, at = mark[0], mark.end()
            denied = denied and not re.search(r"[;；]|but|但|however", joint)
    return found


def told_from_behind(clause: str) -> tuple[Literal["denied", "there"], int] | None:
    """Returns whether a clause's end denies or affirms the rest ("fever was denied"), and where that end begins."""
    words = claim_words(clause)
    for told, pattern in (("denied", words.denied_behind), ("there", words.affirmed_behind)):
        found = pattern.search(clause.rstrip(AROUND))
        if found is not None and any(ch.isalnum() for ch in clause[: found.start()]):
            return told, found.start()  # type: ignore[return-value]
    return None


def denial_in_front(clause: str) -> str:
    """Returns a clause that is denied or affirmed from behind as others say it ("no fever", "headache")."""
    told = told_from_behind(clause)
    if told is None:
        return clause
    rest = bare(clause[: told[1]])
    return f"{claim_words(clause).no}{rest}" if told[0] == "denied" else rest


def is_general(evidence: str) -> bool:
    """Whether evidence is but numbers and words that name nothing by themselves ("84", "month", "normal")."""
    left = claim_words(evidence).general.sub(" ", evidence)
    return not any(ch.isalpha() for ch in left)


def plainly(claim: str) -> str:
    """Returns a claim without what only leads to it ("the patient has", "history of"), its denial said shortly."""
    words = claim_words(claim)
    rest = words.lead.sub("", claim.strip())
    denial = clause_words(language_in(claim)).denial.match(rest)
    if denial is None:
        return rest or claim
    said = words.lead.sub("", rest[denial.end() :].strip())
    return f"{words.no}{said}" if said else claim


def _in_digits(text: str) -> str:
    """Returns a text in which numbers below a hundred that are written as words are digits."""
    words = claim_words(text)
    tens, ones = ("|".join(sorted(table, key=len, reverse=True)) for table in (words.tens, words.ones))
    either = rf"(?:(?P<tens>{tens})(?:[\s-]*(?P<and>{ones}))?|(?P<ones>{ones}))"
    edge = r"\b{}\b" if language_in(text) == "en" else r"{}(?=\s*(?:周)?岁)"

    def digits(found: re.Match[str]) -> str:
        of_ten = words.tens.get((found["tens"] or "").casefold(), 0)
        return str(of_ten + words.ones.get((found["and"] or found["ones"] or "").casefold(), 0))

    return re.sub(edge.format(either), digits, text, flags=re.IGNORECASE)


def speaks_of_relatives(text: str) -> bool:
    """Whether a text tells the illness of somebody of the family."""
    return claim_words(text).relative.search(text) is not None


class SaidOfPerson(NamedTuple):
    """What a claim says of who the patient is, whether it is so, and what else it says."""

    agrees: bool
    section: Literal["age", "sex"]
    rest: str


def person_in(claim: str, who: Presentation) -> SaidOfPerson | None:
    """Returns what a claim says of age and sex; None where it says nothing of them, or the record does not know."""
    words, rest = claim_words(claim), _in_digits(claim)
    agrees: list[bool] = []
    section: Literal["age", "sex"] = "sex"
    age = words.age.search(rest)
    if age is not None and who.age is not None:
        said = next(number for number in age.groups() if number)
        agrees.append(float(said) == float(int(who.age)) or float(said) == who.age)
        rest, section = rest[: age.start()] + " " + rest[age.end() :], "age"
    rest = words.lead.sub("", rest.strip()) if not words.male.match(rest) and not words.female.match(rest) else rest
    for sex, pattern in (("female", words.female), ("male", words.male)):
        found = pattern.match(rest.strip())
        if found is not None and who.sex is not None:
            agrees.append(sex == who.sex)
            rest = rest.strip()[found.end() :]
            break
    return SaidOfPerson(all(agrees), section, rest.strip(AROUND)) if agrees else None
