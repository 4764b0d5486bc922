"""What was prescribed beside what is due: named, and dosed, which a short report seldom does.

A record writes each drug with its dose, its way and why; a doctor who writes "salbutamol" has named it. So the grade of
the treatment goes by what is named, and whether the dose stands there too is told beside it. A drug goes by any of its
names, a procedure by its action and its part. Who writes a dose that cannot be lived with, or puts off what is urgent,
has named nothing of use: the point is not given, and why is told.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec

from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.prescribed import DrugInUse, DrugNames, procedure_words
from polyclinic.language.content_words import pieces
from polyclinic.language.language import Language
from polyclinic.metrics.grades import QUARTERS, AspectMatch, Grade, Scale, analysis

_UNITS = {
    "micrograms": 0.001,
    "microgram": 0.001,
    "mcg": 0.001,
    "µg": 0.001,
    "μg": 0.001,
    "ug": 0.001,
    "微克": 0.001,
    "mg": 1.0,
    "毫克": 1.0,
    "grams": 1_000.0,
    "gram": 1_000.0,
    "g": 1_000.0,
    "克": 1_000.0,
    "ml": 1.0,
    "毫升": 1.0,
    "units": 1.0,
    "unit": 1.0,
    "iu": 1.0,
    "u": 1.0,
    "单位": 1.0,
    "%": 1.0,
}
_OF_UNITS = frozenset({"units", "unit", "iu", "u", "单位"})
_OF_WEIGHT = frozenset(_UNITS) - _OF_UNITS - {"ml", "毫升", "%"}
_UNIT = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
_NUMBER = r"(\d+(?:\.\d+)?)"
AMOUNT = re.compile(rf"{_NUMBER}(?:\s*(?:-|–|~|to|至|到|/)\s*{_NUMBER})?\s*({_UNIT})(?![a-z])", re.IGNORECASE)
_PER = re.compile(r"^\s*(?:/|per |每)\s*(?:kg|m2|m²|㎡|公斤|千克|h\b|hour|min|小时|分钟)", re.IGNORECASE)
_WORDS = {
    "once": 1,
    "twice": 2,
    "three times": 3,
    "four times": 4,
    "一": 1,
    "两": 2,
    "二": 2,
    "三": 3,
    "四": 4,
    "六": 6,
}
_SHORT = {"od": 1, "qd": 1, "bd": 2, "bid": 2, "tds": 3, "tid": 3, "qds": 4, "qid": 4}
_EVERY = re.compile(r"(?:every|each|q)\s*(\d+)\s*(?:h\b|hours?|hourly)|每\s*(\d+)\s*个?小时", re.IGNORECASE)
_TIMES = re.compile(
    rf"({'|'.join(_WORDS)}|\d+)\s*(?:times|次)?\s*(?:a day|daily|per day|/d|/日|/天)|"
    rf"每[日天]\s*({'|'.join(_WORDS)}|\d+)\s*次|一[日天]\s*({'|'.join(_WORDS)}|\d+)\s*次|日\s*(\d+)\s*次|"
    rf"\b({'|'.join(_SHORT)})\b",
    re.IGNORECASE,
)
_HOURS = 24


class Amount(NamedTuple):
    """An amount in milligrams where it is a weight, else in units, millilitres or per cent."""

    least: float
    most: float
    unit: str


def amounts(text: str) -> Iterator[Amount]:
    """Yields the amounts of a text, but for those of a kilogram, a square metre or an hour."""
    for match in AMOUNT.finditer(text):
        if not _PER.match(text[match.end() :]):
            least, most = amount_of(match)
            yield Amount(least, most, match[3].casefold())


def amount_of(match: re.Match[str]) -> tuple[float, float]:
    """Returns the least and the most of an amount, in milligrams where it is a weight."""
    times = _UNITS[match[3].casefold()]
    first = float(match[1])
    last = float(match[2] or first)
    return min(first, last) * times, max(first, last) * times


def is_beyond_living(text: str, usual: DrugInUse) -> bool:
    """Whether a dose of a drug, as it is written behind its name, is beyond what can be lived with.

    The least that is written counts, and an amount in another kind of unit than the drug's does not.
    """
    kind = _OF_UNITS if usual.unit == "units" else _OF_WEIGHT
    times = _times_a_day(text)
    return any(usual.too_much(one.least, times) for one in amounts(text) if one.unit in kind)


def _times_a_day(text: str) -> float:
    """Returns how often a day something is taken; 0 where it is not told."""
    if every := _EVERY.search(text):
        hours = int(every[1] or every[2])
        return _HOURS / hours if hours else 0.0
    if told := _TIMES.search(text):
        word = next(group for group in told.groups() if group).casefold()
        return float(_WORDS.get(word) or _SHORT.get(word) or (int(word) if word.isdigit() else 0))
    return 0.0


HALF = 0.5
"""From which share of its words on a measure counts as named; of exactly half of them the last must be one."""

_CONDITION_BEFORE = re.compile(
    r"^\s*(?:(?:if|where|when|outside|unless|from|under)\b.*:\s|(?:if|where|when|once|after|before|in case of)\b[^,:]*,"
    r"|[^：]*(?:[时期]|岁[^：]*)：|[如若][^，,：]*[，,：])\s*",
    re.IGNORECASE,
)
_QUALIFIER = re.compile(
    r"\b(?:after|until|till|if|when|where|while|once|before|within|unless|then|every"
    r"|as (?:needed|tolerated|long|soon))\b.*"
    r"|(?:直至|直到|除非|[，,]能|(?<=..)[如若待]).*",
    re.IGNORECASE | re.DOTALL,
)
_PURPOSE = re.compile(r"\b(?:for|against|because)\b.*", re.IGNORECASE | re.DOTALL)
_TIME_BEFORE = re.compile(
    r"^[^，,；、]{0,12}?(?:期间|(?:分钟|小时|天|日|周|月)[内后]|[后时]|(?<=.)前(?!列))(?:内|行|给予|服(?=口服))?"
)
_BETWEEN = re.compile(r"[,;:，；：、]|\band\b|[和及并]", re.IGNORECASE)
_CLAUSE = re.compile(r"[,;:!?\n，。；：！？、]|\.(?!\d)|\b(?:but|and|instead)\b|[但改]", re.IGNORECASE)
_CONDITION = re.compile(r"\b(?:if|when|where|unless)\b", re.IGNORECASE)
_DENIAL = re.compile(
    r"\b(?:avoid\w*|stop\w*|withhold\w*|discontinu\w*|contraindicated|never|quit\w*|cessation|don't|no|not"
    r"|without(?!\s+(?:delay|waiting)))\b"
    r"|不需要?|无需|不必|不用|不要|不给|不应|不宜|不再|禁用|禁止|避免|停用|停止|勿|(?<!禁)忌",
    re.IGNORECASE,
)
_DENIED_BEFORE = re.compile(
    r"(?:\b(?:not|never|no longer)\s+(?:be\s+)?(?:needed|necessary|indicated|required|given|used|recommended|advised)"
    r"|\bcontraindicated|\bcessation|不需要?|无需(?:使用)?|不必|不用|禁用|停用|暂停)\s*$",
    re.IGNORECASE,
)
_RETURN = re.compile(
    r"\b(?:come back|back at once|seen? again|returns?|review(?:ed)?|follow[- ]?up)\b"
    r"|复诊|复查$|随访|随诊|返院|再来|就诊",
    re.IGNORECASE,
)
_TO_RETURN = re.compile(r"^[^；]*(?:复诊|随访|随诊|返院|就诊)$")  # in Chinese the reasons stand before it
_OF_DENIAL = frozenset({"help"})


def affirmed_and_denied(text: str) -> tuple[str, str]:
    """Returns what a text says is to be done, and what it says is not."""
    affirmed, denied = [], []
    for clause in _CLAUSE.split(text):
        condition = _CONDITION.search(clause)
        # "If not better" denies nothing that is to be done.
        said = clause if condition is None else clause[: condition.start()]
        found = _DENIAL.search(said)
        start = 0 if _DENIED_BEFORE.search(said) else len(clause) if found is None else found.start()
        affirmed.append(clause[:start])
        denied.append(clause[start:])
    return "\n".join(affirmed), "\n".join(denied)


def without_condition(text: str) -> str:
    """Returns a point without what says first for whom it is."""
    return _CONDITION_BEFORE.sub("", text) or text


def without_qualifiers(text: str) -> str:
    """Returns a point without the conditions before it and behind it."""
    bare = without_condition(text)
    bare = _TIME_BEFORE.sub("", bare) or bare
    return _QUALIFIER.sub("", bare).strip(" ,，;；") or text


def names_measure(point: str, given: Sequence[str], whole: str = "") -> bool:
    """Returns whether a report names a point that is no drug: its first measure, or most of all of them.

    To come back is named where a reason or time of the point stands with it, which `whole` holds where the point is
    cut short.
    """
    done, left = affirmed_and_denied("\n".join(given))
    core = without_qualifiers(point)
    bare = _PURPOSE.sub("", core)
    # "Test for chlamydia" is no test for something else.
    measures = [part.strip() for part in _BETWEEN.split(bare if len(_words(bare)) > 1 else core) if _words(part)]
    if not measures:
        return False
    if _RETURN.search(measures[0]) or _TO_RETURN.search(core):
        return any(_names_return(whole or point, line) for line in given)
    to_do, to_leave = affirmed_and_denied(measures[0])
    # Who is to smoke no more has been told so by "stop", "no" and "never" alike.
    left_out = _DENIAL.sub(" ", to_leave)
    if pieces(left_out):
        return says(left_out, left) or (bool(pieces(to_do) - _OF_DENIAL) and says(to_do, done))
    return says(measures[0], done) or says(" ".join(m for m in measures if not _RETURN.search(m)), done)


def says(measure: str, text: str) -> bool:
    """Returns whether most words of a measure stand in a text; of exactly half of them its last."""
    share = _share(measure, text)
    return share > HALF or (share == HALF and bool(_last(measure) & pieces(text)))


def _share(measure: str, text: str) -> float:
    wanted = _words(measure)
    return len(wanted & pieces(text)) / len(wanted) if wanted else 0.0


def _words(text: str) -> frozenset[str]:
    """Returns the pieces of a text without its numbers, which name nothing."""
    return frozenset(piece for piece in pieces(text) if not piece[0].isdigit())


def _last(measure: str) -> frozenset[str]:
    words = measure.split() if measure.isascii() else [measure.rstrip()[-2:]]
    return next((_words(word) for word in reversed(words) if _words(word)), frozenset())


def _names_return(point: str, line: str) -> bool:
    if _RETURN.search(line) is None:
        return False
    wanted = pieces(_RETURN.sub(" ", point, count=1))
    return not wanted or bool(wanted & pieces(_RETURN.sub(" ", line, count=1)))


_BY_POINT = Scale(weights={"named": 1.0}, cuts=QUARTERS)
_BEHIND = re.compile(r"[,，;；(（]")
_SENTENCE = re.compile(r"[;；。\n]|\.(?!\d)")
_LONG = 3  # words of a name from which on not all are asked for
_NEAR = 1.02  # of an amount, by which another may differ

Against = Literal["dose", "put off"]
_AGAINST: dict[Language, dict[Against, str]] = {
    "en": {
        "dose": "{point} (written, but in a dose that nobody survives)",
        "put off": "{point} (written, but put off: it cannot wait)",
    },
    "zh": {"dose": "{point}（已写，但剂量足以致命）", "put off": "{point}（已写，但被推迟：不能等）"},
}


class DuePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One point of what is due.

    Attributes:
        text: as the record has it.
        named: whether the report names it, in a way that helps.
        dosed: whether it says the dose; None where the record has none, or it is not named.
        against: why what is written does not count; None where nothing speaks against it, or it is not written at all.
    """

    text: str
    named: bool
    dosed: bool | None = None
    against: Against | None = None


def due_points(due: Sequence[str], given: Sequence[str], knowledge: Knowledge) -> tuple[DuePoint, ...]:
    """Returns each point of what is due, beside a report's treatment."""
    return tuple(_beside(text, given, _drug_names(knowledge)) for text in due)


def graded(points: Sequence[DuePoint], language: Language) -> tuple[Grade, str]:
    """Returns the grade of a treatment, by the share of its points that are named, and which those are."""
    named = tuple(point.text for point in points if point.named)
    missed = tuple(_told(point, language) for point in points if not point.named)
    shares = {"named": len(named) / len(points)}
    return _BY_POINT.grade(shares), analysis(AspectMatch(shares, matched=named, missed=missed), language)


def _told(point: DuePoint, language: Language) -> str:
    return point.text if point.against is None else _AGAINST[language][point.against].format(point=point.text)


@functools.lru_cache(maxsize=16)
def _drug_names(knowledge: Knowledge) -> DrugNames:
    return DrugNames(knowledge.drugs)


def _beside(text: str, given: Sequence[str], names: DrugNames) -> DuePoint:
    head = _head(without_condition(text))
    due, _ = affirmed_and_denied(without_qualifiers(head))
    drugs = tuple(names.in_plan(due))
    if not drugs:
        return _procedure_beside(text, head, given)
    found = [(id, line) for line in given for id in drugs if _prescribes(line, id, names)]
    # Another drug for the same reason shares every word but the one that counts.
    borne = [(id, line) for id, line in found if not _is_deadly(line, id, names)]
    if found and not borne:
        return DuePoint(text=text, named=False, against="dose")
    return DuePoint(text=text, named=bool(borne), dosed=_is_dosed(text, [line for _, line in borne]) if borne else None)


def _procedure_beside(text: str, head: str, given: Sequence[str]) -> DuePoint:
    """Returns a point that is no drug: by the action and the part where it has any, else by its words."""
    words = procedure_words()
    due = words.read(affirmed_and_denied(without_condition(text))[0])
    done = [line for line in given if words.read(affirmed_and_denied(line)[0]).names(due)]
    by_words = names_measure(head, given, text)
    if due.done and (done or by_words) and all(words.is_put_off(line, text) for line in done or given):
        return DuePoint(text=text, named=False, against="put off")
    named = bool(done) or by_words
    return DuePoint(text=text, named=named, dosed=_is_dosed(text, given) if named else None)


def _is_dosed(text: str, lines: Sequence[str]) -> bool | None:
    """Whether lines say the dose of a point; None where it has none."""
    wanted = AMOUNT.search(text)
    if wanted is None:
        return None
    least, most = amount_of(wanted)
    return any(low <= most * _NEAR and high >= least / _NEAR for line in lines for low, high, _ in amounts(line))


def _head(text: str) -> str:
    """Returns what a point names, where a dose or a reason stands behind it; a text of another kind as it is."""
    if AMOUNT.search(text) is None and not text.rstrip(" .。").endswith((")", "）")):
        return text
    return _BEHIND.split(text, maxsplit=1)[0].strip() or text


def _prescribes(line: str, id: str, names: DrugNames) -> bool:
    done, _ = affirmed_and_denied(line)
    # Of a long name two of three words will do ("sodium chloride"); of a short one each tells drugs apart.
    long = (name for name in names.own[id] if len(pieces(name)) >= _LONG)
    return any(True for _ in names.mentioned(done, id)) or any(says(name, done) for name in long)


def _is_deadly(line: str, id: str, names: DrugNames) -> bool:
    """Whether a line gives a drug in a dose that cannot be lived with: in what stands from its name to the next."""
    for sentence in _SENTENCE.split(line):
        starts = sorted(start for other in names.own for start, _ in names.mentioned(sentence, other))
        for start, end in names.mentioned(sentence, id):
            behind = next((at for at in starts if at >= end), len(sentence))
            before = sentence[:start] if start == min(starts) else ""
            told = sentence[end:behind]
            if is_beyond_living(told if AMOUNT.search(told) else before + told, names.most[id]):
                return True
    return False
