"""The claims of a piece of evidence, clause by clause, checked against what was measured: numbers, units and ranges."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding, Record, side_of
from polyclinic.evidence_tree.sources import RecordText, names_of
from polyclinic.evidence_tree.tree import WORDS
from polyclinic.knowledge.body import range_of, read_body
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.quantities import converted
from polyclinic.knowledge.results import ItemReading, ResultReader
from polyclinic.language.clauses import clause_words
from polyclinic.language.content_words import pieces
from polyclinic.language.language import CHINESE, Language, is_chinese
from polyclinic.language.word_lists import Pattern, WordLists

AROUND = " \t\"'“”‘’「」()（）[]【】.。;；,，:：!！?？-–—*、"
"""Characters around a clause that are not part of it."""


def bare(text: str) -> str:
    """Returns a text without the characters around it; a closing bracket stays if its other half does."""
    stripped = text.strip(AROUND)
    for opened, closed in ("()", "（）", "[]"):
        if stripped.count(opened) > stripped.count(closed) and closed in text:
            stripped += closed
    return stripped


class ClaimWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What divides claims, who has the illness, what is said of a value, and the names of a record's sections."""

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
    low: Pattern
    high: Pattern
    normal: Pattern
    abnormal: Pattern
    degree: Pattern
    framing: Pattern
    section: Pattern


_claim_words = WORDS.section("claims", ClaimWords)


def language_in(text: str) -> Language:
    """Returns the language whose words are to be looked for in a text: Chinese if any of it is."""
    return "zh" if is_chinese(text) else "en"


def claim_words(text: str) -> ClaimWords:
    """Returns the words of claims, in the language of a text."""
    return _claim_words(language_in(text))


def denial_in(text: str) -> re.Match[str] | None:
    """Returns the first denial in a text."""
    return clause_words(language_in(text)).denial.search(text)


def blanked(text: str, stretches: Iterable[tuple[int, int]]) -> str:
    """Returns a text with blanks in place of some stretches of it."""
    for start, end in stretches:
        text = text[:start] + " " * (end - start) + text[end:]
    return text


class Claim(NamedTuple):
    """A clause of evidence; `carried` if an earlier denial may apply to it too, `bound` if it must."""

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


class SaidOfPerson(NamedTuple):
    """Whether what a claim says of age and sex is right, and the rest of the claim."""

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


Standing = Literal["low", "normal", "high", "abnormal"]

_NUMBER = re.compile(r"(?<![\w.])[<>≤≥]?\s*([-−]?\d+(?:\.\d+)?)(?!\d|\.\d|[A-Za-z]\d)")
_RANGE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:-|–|—|~|～|to|至)\s*(\d+(?:\.\d+)?)")
_BELOW = re.compile(r"(?:<|≤|＜|up to|below|under|小于|低于)\s*(\d+(?:\.\d+)?)", re.IGNORECASE)
_ABOVE = re.compile(r"(?:>|≥|＞|above|over|大于|高于)\s*(\d+(?:\.\d+)?)", re.IGNORECASE)
_BRACKET = re.compile(r"[(（\[](?:[^()（）\[\]]*?)[)）\]]")
MARKED_LOW = re.compile(r"↓|[(（](?:L|low|低)[)）]|(?<=\d)\s*L$")
MARKED_HIGH = re.compile(r"↑|[(（](?:H|high|高)[)）]|(?<=\d)\s*H$")


_POWER = r"(?:[×xX*·]\s*)?10\s*(?:[*^]\s*\d{1,2}|[⁰¹²³⁴-⁹]+)"
_UNIT = (
    rf"(?:{_POWER}\s*)?(?:[%‰％]|°\s*[CF]\b|[℃℉°]|(?:[A-Za-zμµ\[\]]{{0,8}}|次)\s*(?:/|\bper\b)\s*"
    r"(?:\d*\s*[A-Za-zμµ]+[³²]?|分钟?|升)|mm\s?\[?Hg\]?|(?:kPa|fL|pg|cm|mm|mL|kg|bpm|percent|mg|g|L|U|IU)(?![A-Za-z]))"
)
_TIME = (
    r"[\s-]*(?:(?:second|minute|min|hour|hr|day|week|month|year|yr|time|pack)s?\b"
    r"|个?(?:秒|分钟|小时|天|日|周|星期|月|年|岁|次(?!/)|支|包))"
)
_BELOW_SIGN = r"[<≤＜]|less than|lower than|fewer than|below|under|小于|低于|不足|不到"
_ABOVE_SIGN = r"[>≥＞]|greater than|higher than|more than|above|over|exceed(?:s|ing)|大于|高于|超过"
_FIGURE = re.compile(
    rf"(?:(?P<below>{_BELOW_SIGN})|(?P<above>{_ABOVE_SIGN}))?\s*=?\s*(?<![A-Za-z\d_.])(?P<number>[-−]?\d+(?:\.\d+)?)"
    rf"(?!\d|\.\d|[A-Za-z]\d)(?:(?P<time>{_TIME})|\s*[(（]?(?P<unit>{_UNIT}))?",
    re.IGNORECASE,
)
_THOUSANDS = re.compile(r"(?<=\d)[,，](?=\d{3}(?!\d))")
_RANGE_SAID = re.compile(
    r"[(（\[][^()（）\[\]]*[)）\]]|[,，;；]?\s*\b(?:reference|ref|normal)\b[.\s]*(?:range|interval|values?|limits?)?\s*"
    r"(?:is|was|of|:)?\s*(?:[<>≤≥]\s*\d+(?:\.\d+)?|\d+(?:\.\d+)?\s*(?:-|–|—|~|to)\s*\d+(?:\.\d+)?)"
    r"|(?:参考|正常)(?:值|范围|区间)*\s*(?:为|是|[:：])?\s*(?:[<>≤≥]\s*\d+(?:\.\d+)?|\d+(?:\.\d+)?\s*[-–—~～至]\s*\d+(?:\.\d+)?)",
    re.IGNORECASE,
)

_OF_SOMETHING = re.compile(
    r"[(（\[](?!\s*(?:n|nl|ref|reference|normal|range|interval|limits?|values?|lab(?:oratory)?|for|adults?|m|f|male|female|men|women)\b"
    r"|\s*(?:参考|正常|成人|男|女|范围|区间|up to|below|under|above|over|小于|低于|大于|高于))[\s,;，；]*[^\W\d_]",
    re.IGNORECASE,
)

Limits = tuple[float | None, float | None]


class Figure(NamedTuple):
    """A number of a text: whether below or above it is meant, its unit as written, and where it stands."""

    number: float
    sign: Literal["", "<", ">"]
    unit: str
    start: int
    end: int


def figures(text: str) -> list[Figure]:
    """Returns the numbers of a text in order, those of times and durations left out."""
    return [
        Figure(
            number=float(m["number"].replace("−", "-")),
            sign="<" if m["below"] else ">" if m["above"] else "",
            unit=(m["unit"] or "").strip(),
            start=m.start(),
            end=m.end(),
        )
        for m in _FIGURE.finditer(text)
        if not m["time"]
    ]


def ranges_said(text: str) -> tuple[str, list[Limits]]:
    """Returns a text without the reference ranges that are written in it as such, and their limits."""
    said: list[Limits] = []

    def taken(found: re.Match[str]) -> str:
        limits = _reference(found[0])
        # "(SBP < 90)" is said of a result, and is no range of one.
        if limits is None or _OF_SOMETHING.match(found[0]):
            return found[0]
        said.append(limits)
        return " " * len(found[0])

    return _RANGE_SAID.sub(taken, text), said


def _reference_text(finding: Finding) -> str:
    return finding.reference or (" ".join(_BRACKET.findall(finding.value)) if isinstance(finding.value, str) else "")


class Measured(NamedTuple):
    """A number, as it was written, and where it lies; None where nothing says where it should."""

    value: float
    written: str
    standing: Standing | None


def measured(finding: Finding) -> Measured | None:
    """Returns the number that a finding gives; None where it gives none, or several."""
    if not isinstance(finding.value, str):
        return Measured(finding.value, finding.value_text, _standing(finding.value, finding.reference))
    # A range in brackets is no value, nor is a unit's power of ten.
    bare = _BRACKET.sub(
        lambda found: " " if _RANGE.search(found[0]) or _reference(found[0]) else found[0], finding.value
    )
    numbers = [float(one.replace("−", "-")) for one in _NUMBER.findall(re.sub(_POWER, " ", bare))]
    if len(numbers) != 1 or not re.match(r"\s*[<>≤≥]?\s*[-−]?\d", finding.value):
        return None
    standing = _standing(numbers[0], _reference_text(finding))
    if standing is None:
        marked = (("low", MARKED_LOW), ("high", MARKED_HIGH))
        standing = next((name for name, mark in marked if mark.search(finding.value)), None)  # type: ignore[misc]
    return Measured(numbers[0], f"{numbers[0]:g}", standing)


def _standing(value: float, reference: str) -> Standing | None:
    limits = _reference(reference)
    return None if limits is None else side_of(value, *limits)


def _reference(text: str) -> Limits | None:
    """Returns the lower and the upper limit of a reference range; None if there is none."""
    if match := _RANGE.search(text):
        return float(match[1]), float(match[2])
    if match := _BELOW.search(text):
        return None, float(match[1])
    if match := _ABOVE.search(text):
        return float(match[1]), None
    return None


Said = Literal["supported", "contradicted", "not there", "no claim"]

_DECIDED: tuple[Said, ...] = ("supported", "contradicted")
_SEGMENT = re.compile(r"(?:[^;；,，\n(（]|[(（][^()（）]*[)）]|,(?=\d{3}(?!\d)))+")
_NAMED = re.compile(
    rf"\s*(?P<name>[^:：;；\n]*?[^\s:：\d])\s*(?:[:：]\s*|\s+|(?<=[{CHINESE}]))(?P<value>[<>≤≥]?\s*\d[^:：]*)$"
)


_reader = functools.lru_cache(maxsize=4)(ResultReader)


class Result(NamedTuple):
    """A number of the record: the finding that it is, or the part of a longer one, and where it stands."""

    finding: Finding
    text: RecordText
    start: int
    end: int


class HeldAgainst(NamedTuple):
    """What the results say to a claim, those that it speaks of, and the one that says so."""

    verdict: Said
    spoken_of: tuple[Result, ...] = ()
    by: Result | None = None


class NumbersHeld:
    """The results of one record."""

    def __init__(self, record: Record, texts: Sequence[RecordText], knowledge: Knowledge) -> None:
        self._all = [
            part for text in texts if text.finding is not None for part in _parts(record.findings[text.finding], text)
        ]
        self._known = names_of(knowledge)
        self._names = self._known.of([result.finding for result in self._all])
        self._record, self._texts, self._knowledge = record, texts, knowledge

    def apart(self, claim: str) -> list[str]:
        """Returns a claim cut before every further name that stands behind a number ("Hb 84 troponin 900")."""
        cuts, at = [], 0
        numbers, names = figures(claim), sorted(self._names.find(claim), key=lambda n: n.start)
        for name in names:
            follows = any(at <= figure.start and figure.end <= name.start for figure in numbers)
            if follows and any(at <= other.start < name.start for other in names):
                cuts.append(claim[at : name.start])
                at = name.start
        return [*cuts, claim[at:]]

    def hold(self, claim: str, before: tuple[Result, ...]) -> HeldAgainst:
        """Returns what the results say to a claim; one that names nothing may speak of what was spoken of `before`."""
        said, limits = ranges_said(_THOUSANDS.sub("", claim))
        named = sorted(self._names.find(said), key=lambda n: n.start)
        bare = blanked(said, ((name.start, name.end) for name in named))
        numbers, standing = figures(bare), self.claimed(bare)
        wanted = {id(finding) for finding in self._names.mentioned(said)} if named else set()
        results = tuple(result for result in self._all if id(result.finding) in wanted)
        if not numbers and standing is None and not limits:
            return HeldAgainst("no claim", results)
        left = self._left(bare, results or before)
        if not named:
            if left:
                return HeldAgainst("no claim")
            results = before
        own = any(key.startswith(("item:", "finding:")) for name in named for key in name.keys)
        if not results or (named and not own and len(results) > 1):
            return HeldAgainst("not there" if not left and named and not own else "no claim")
        agree = [(result, self._agrees(result, numbers, standing, limits)) for result in results]
        for verdict in _DECIDED:
            by = next((result for result, agreed in agree if agreed == verdict), None)
            if by is not None and verdict == "supported" and left:
                return HeldAgainst("no claim", results)
            if by is not None and (verdict == "supported" or numbers or limits or not left):
                return HeldAgainst(verdict, results, by)
        return HeldAgainst("no claim", results)

    def of_item(self, item: str) -> list[tuple[Result, ItemReading]]:
        """Returns the results that are of an item of the knowledge, however it is called, as they are read."""
        return self._by_item.get(item, [])

    @functools.cached_property
    def _by_item(self) -> dict[str, list[tuple[Result, ItemReading]]]:
        reader, found = _reader(self._knowledge), dict[str, list[tuple[Result, ItemReading]]]()
        for text in self._texts:
            if text.finding is None:
                continue
            parts = [result for result in self._all if result.text is text]
            whole = Result(self._record.findings[text.finding], text, 0, len(text.text))
            known = set[str]()
            # What a text tells beside its numbers in a row ("BP 84/50, pulse 121") is read in the whole of it.
            for result in dict.fromkeys((*parts, whole)):
                for reading in reader.read(result.finding).readings:
                    if result != whole or len(parts) == 1 or reading.item not in known:
                        found.setdefault(reading.item, []).append((result, reading))
                        known.add(reading.item)
        return found

    def standing(self, result: Result, reading: ItemReading) -> Standing | None:
        """Returns where a result lies by its own reference range, or, where it has none, by that of the knowledge."""
        items = self._knowledge.examinations[reading.examination].items
        item = next(item for item in items if item.id == reading.item)
        if reading.values:
            return "normal" if reading.is_usual(item) else "high"
        value = measured(result.finding)
        if value is not None and value.standing is not None:
            return value.standing
        low, high = range_of(item, self._record.presentation.age, self._record.presentation.sex, read_body())
        if high is not None and reading.low >= high and reading.high > high:
            return "high"
        if low is not None and reading.high <= low and reading.low < low:
            return "low"
        within = (low is None or low <= reading.low) and (high is None or reading.high <= high)
        return "normal" if within else None

    def _left(self, bare: str, results: Sequence[Result]) -> bool:
        """Whether anything is said besides name, number, unit and standing that the results do not bear."""
        words = claim_words(bare)
        bare = blanked(bare, ((figure.start, figure.end) for figure in figures(bare)))
        patterns = (words.normal, words.low, words.high, words.abnormal, words.framing, words.degree)
        for pattern in (MARKED_LOW, MARKED_HIGH, *patterns):
            bare = pattern.sub(" ", bare)
        borne = frozenset[str]().union(*(pieces(r.text.label) | pieces(r.finding.value_text) for r in results))
        return bool(pieces(bare) - borne)

    def claimed(self, rest: str) -> Standing | None:
        """Returns what is said of a value: low, high or normal; None where nothing is, or several things are."""
        rest = blanked(rest, ((figure.start, figure.end) for figure in figures(rest)))
        words = claim_words(rest)
        normal = words.normal.search(rest) is not None
        rest = words.normal.sub(" ", rest)  # "not raised" is normal, and raises nothing
        denied = denial_in(rest) is not None
        low = (words.low.search(rest) or MARKED_LOW.search(rest)) is not None
        high = (words.high.search(rest) or MARKED_HIGH.search(rest)) is not None
        if normal:
            if low != high and not denied:  # "below the normal range"
                return "low" if low else "high"
            return "abnormal" if denied and not low and not high else "normal"
        if denied or low == high:
            return "abnormal" if words.abnormal.search(rest) and not denied else None
        return "low" if low else "high"

    def _agrees(
        self, result: Result, numbers: Sequence[Figure], claimed: Standing | None, limits: Sequence[Limits]
    ) -> Said:
        """Returns whether what is said of a result is so; "not there" where nothing can be held against it."""
        value = measured(result.finding)
        if value is None:
            return "not there"
        if limits:
            known = _reference(_reference_text(result.finding))
            if known is None:
                return "not there"
            if any(said != known for said in limits):
                return "contradicted"
        if numbers:
            keys = self._known.keys(result.finding.item or result.finding.examination)
            items = sorted(re.split("[:/]", key)[-1] for key in keys if key.startswith("item:"))
            item = next(iter(items), "")
            borne = [_is_borne(figure, value, result.finding, item) for figure in numbers]
            if not all(borne):
                # What it was before is in no record of one value: neither borne nor denied.
                return "not there" if any(borne) and len(numbers) > 1 else "contradicted"
            return "supported" if _may_be(value.standing, claimed) else "contradicted"
        if claimed is None:
            return "supported" if limits else "not there"
        standing = value.standing
        if standing is None:
            read = _reader(self._knowledge).read(result.finding).readings
            standing = self.standing(result, read[0]) if len(read) == 1 else None
        if standing is None:
            return "not there"
        return "supported" if _may_be(standing, claimed) else "contradicted"


def _parts(finding: Finding, text: RecordText) -> list[Result]:
    """Returns a finding, or the numbers of one that gives several in a row ("heart rate 88 /min; temperature 37")."""
    whole = Result(finding, text, 0, len(text.text))
    if not isinstance(finding.value, str) or measured(finding) is not None:
        return [whole]
    found = []
    for segment in _SEGMENT.finditer(text.text, text.begins):
        named = _NAMED.match(segment[0].rstrip(" .。"))
        if named is None:
            continue
        one = Finding(examination=finding.examination, item=named["name"].strip(), value=named["value"].strip())
        if measured(one) is not None:
            found.append(Result(one, text, segment.start() + named.start("name"), segment.end()))
    return found or [whole]


def _is_borne(figure: Figure, value: Measured, finding: Finding, item: str) -> bool:
    written = figures(finding.value_text)
    unit = finding.unit or (written[0].unit if written and isinstance(finding.value, str) else "")
    said = converted(figure.number, figure.unit, unit, item)
    further = converted(figure.number + 1, figure.unit, unit, item)
    if said is None or further is None:
        return False
    sign = written[0].sign if written else ""
    if figure.sign == "<":
        return value.value < said or (sign == "<" and value.value <= said)
    if figure.sign == ">":
        return value.value > said or (sign == ">" and value.value >= said)
    digits = len(f"{figure.number:g}".partition(".")[2])
    return abs(value.value - said) <= (0.5 * 0.1**digits + 1e-9) * abs(further - said)


def _may_be(standing: Standing | None, claimed: Standing | None) -> bool:
    if standing is None or claimed is None:
        return True
    return standing == claimed or (claimed == "abnormal" and standing != "normal")


_NEVER = re.compile("(?!)")
NO_CLAIM = HeldAgainst("no claim")
_PLACES: tuple[Standing, ...] = ("high", "low", "normal")


class _StandardTerm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    of: tuple[str, ...]
    called: Pattern = _NEVER
    high: Pattern = _NEVER
    low: Pattern = _NEVER
    normal: Pattern = _NEVER
    lasting: bool = False


class _JointTerm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    say: Pattern
    high: tuple[str, ...] = ()
    low: tuple[str, ...] = ()


class _TermWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    past: Pattern
    beside: Pattern
    pressure: Pattern
    terms: tuple[_StandardTerm, ...]
    together: tuple[_JointTerm, ...]


class _WantedPlace(NamedTuple):
    """Where items have to lie: any of them, or each."""

    items: tuple[str, ...]
    where: Standing
    each: bool
    lasting: bool = False


class _Found(NamedTuple):
    """A term of a claim; without a direction of its own where it only names."""

    start: int
    end: int
    items: tuple[str, ...]
    wanted: tuple[_WantedPlace, ...] = ()


_term_words = WordLists(Path(__file__).with_name("terms")).section("terms", _TermWords)


def terms_held(claim: str, results: NumbersHeld) -> HeldAgainst:
    """Returns what the results say to a claim that is made of standard terms; "no claim" to any other."""
    language = language_in(claim)
    words, denial = _term_words(language), clause_words(language).denial.match(claim.strip())
    said = claim.strip()[denial.end() :] if denial is not None else claim.strip()
    if words.past.search(said):
        return NO_CLAIM
    pressure = words.pressure.search(said)
    bare = said if pressure is None else said[: pressure.start()] + said[pressure.end() :]
    terms = _terms_in(bare, words)
    if not terms or (pressure is not None and not any("systolic" in term.items for term in terms)):
        return NO_CLAIM
    rest = blanked(bare, ((term.start, term.end) for term in terms))
    claimed = results.claimed(rest)
    held = []
    for term in terms:
        wanted = term.wanted
        if not wanted and claimed is not None:
            wanted = (_WantedPlace(term.items, claimed, claimed == "normal"),)
        if wanted:  # else a name that only a number is said of
            held.append(_all_of([_where(one, results) for one in wanted]))
    if pressure is not None:
        held.append(_pressure(float(pressure[1]), float(pressure[2]), results))
    spoken_of = tuple(result for term in terms for item in term.items for result, _ in results.of_item(item))
    if figures(rest):
        held.append(results.hold(rest, spoken_of))
    else:
        of_value = _claim_words(language)
        patterns = [words.beside, of_value.degree]
        if any(not term.wanted for term in terms):
            patterns += [of_value.normal, of_value.low, of_value.high, of_value.abnormal]
        for pattern in patterns:
            rest = pattern.sub(" ", rest)
        if pieces(rest):
            return NO_CLAIM
    return _all_of(held, denied=denial is not None)


def _where(wanted: _WantedPlace, results: NumbersHeld) -> HeldAgainst:
    found = [
        (result, standing)
        for item in wanted.items
        for result, reading in results.of_item(item)
        if (standing := results.standing(result, reading)) is not None
    ]
    right = [r for r, at in found if at == wanted.where or (wanted.where == "abnormal" and at != "normal")]
    wrong = [r for r, _ in found if r not in right]
    if not found or (wanted.lasting and not right):
        return HeldAgainst("not there")
    if (wanted.each and wrong) or not right:
        return HeldAgainst("contradicted", by=wrong[0])
    return HeldAgainst("supported", by=right[0])


def _pressure(systolic: float, diastolic: float, results: NumbersHeld) -> HeldAgainst:
    pairs = [
        (result, reading, value)
        for item, value in (("systolic", systolic), ("diastolic", diastolic))
        for result, reading in results.of_item(item)
    ]
    by_item = {reading.item for _, reading, _ in pairs}
    borne = {reading.item for _, reading, value in pairs if reading.low == reading.high == round(value)}
    if len(by_item) < 2:
        return HeldAgainst("not there")
    by = next(result for result, reading, _ in pairs if reading.item in (by_item - borne or borne))
    return HeldAgainst("supported" if borne == by_item else "contradicted", by=by)


def _terms_in(text: str, words: _TermWords) -> list[_Found]:
    """Returns the terms of a text in order; longer ones win over shorter ones that they overlap."""
    found: list[_Found] = []
    for term in words.terms:
        for where in _PLACES:
            wanted = (_WantedPlace(term.of, where, where == "normal", term.lasting),)
            found += [_Found(m.start(), m.end(), term.of, wanted) for m in getattr(term, where).finditer(text)]
        found += [_Found(m.start(), m.end(), term.of) for m in term.called.finditer(text)]
    for several in words.together:
        each = tuple(_WantedPlace((i,), w, True) for w in _PLACES[:2] for i in getattr(several, w))
        found += [_Found(m.start(), m.end(), (*several.high, *several.low), each) for m in several.say.finditer(text)]
    kept: list[_Found] = []
    for one in sorted(found, key=lambda f: f.start - f.end):
        if all(one.end <= other.start or one.start >= other.end for other in kept):
            kept.append(one)
    return sorted(kept)


_OTHERWISE: dict[Said, Said] = {"supported": "contradicted", "contradicted": "supported"}


def _all_of(held: Sequence[HeldAgainst], *, denied: bool = False) -> HeldAgainst:
    """Returns the worst of several answers; of a denial, whether one of them is not so."""
    for verdict in ("no claim", "contradicted", "not there"):
        worst = next((one for one in held if one.verdict == verdict), None)
        if worst is not None:
            break
    else:
        worst = next(iter(held), NO_CLAIM)
    return worst._replace(verdict=_OTHERWISE.get(worst.verdict, worst.verdict)) if denied else worst
