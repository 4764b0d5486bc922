"""Names of examinations and of what they look at, found in text.

`Names` holds those of the knowledge and is built once; `Names.of(findings)` lays a record's own names over them, which
is cheap. A name is found by its words (longest first, plurals and punctuation aside), or, where nothing is found by its
words, by likeness.

What a request names by a name of the record is that; by a name of the knowledge, what the record has by that name.
Whatever else it asks for is found by its meaning (`orders`): the same procedure and region, the same thing looked at.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rapidfuzz import fuzz, process

from polyclinic.cases.record import Finding
from polyclinic.knowledge.examination_words import FISHING, TECHNIQUE
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.name_table import (
    Named,
    NameTable,
    is_generic,
    key_of,
)
from polyclinic.knowledge.orders.concepts import (
    NOT,
    SAME,
    FindingTitle,
    OrderMeaning,
    any_at,
    closeness,
    is_near,
    is_place,
    is_the_very,
    is_unspecific,
    may_hide,
    title_of,
)
from polyclinic.knowledge.orders.reading import AskedFor, Reading, is_understood, read_orders

_REQUEST_PARTS = re.compile(r"[,;.:，。；：、\n]|\band\b|\bwith\b|和|以及|及")
_COMMA = re.compile(r"\s*[,，、;；]\s*")
WHOLE_BODY = frozenset(("physical examination", "physical", "体 格 检 查", "查 体", "体 检", "全 身 检 查"))
_PHYSICAL = re.compile(
    r"physical|vital sign|体格|查体|专科检查|生命体征|体征"
    r"|^(?!.*(?:ultraso|imag|x-?ray|radio|laborat|urine|blood|stool|micro|fluid|csf|pathol"
    r"|histo|slit|fundosc|mri|ct\b))"
    r".*\bexam(?:ination)?s?$",
    re.IGNORECASE,
)


LIKENESS = 88.0  # of 100: the least at which a name that is not spelled rightly counts as named
SHORTEST_LIKENESS = 5  # letters, in its compared form, of a name that is looked for by likeness; shorter ones are alike


class Layout(NamedTuple):
    """The names of a record's findings in a table, and of each finding what its names name and mean."""

    table: NameTable
    examinations: tuple[frozenset[str], ...]
    items: tuple[frozenset[str], ...]
    titles: tuple[FindingTitle, ...]
    drawn: bool  # every examination goes by the knowledge's first name for it, so that its names are all there are


class _LookedUp(NamedTuple):
    """What a request asks for: findings by their places, what is not recorded, and what is near to each of that."""

    wanted: tuple[int, ...]
    missing: tuple[str, ...]
    farther: frozenset[int]
    near: dict[str, frozenset[int]]


class MayMean(NamedTuple):
    """What a request may mean of what is recorded, and the names of what it asks for beside, each with what is near."""

    meant: frozenset[Finding]
    missing: dict[str, frozenset[Finding]]


class RecordNames:
    """The names of one record's findings, over those of the knowledge."""

    def __init__(self, known: Names, layout: Layout, findings: tuple[Finding, ...]) -> None:
        self._known, self._findings = known, findings
        self._table, self._examinations, self._items, self._titles, self._drawn = layout
        self._found = functools.cache(self._find)
        self._looked = functools.cache(lambda request: self._look_up(request, read_orders(request)))
        self._read = functools.cache(lambda text: self._look_up(text, read_orders(text, mentioned=True)))

    def find(self, text: str) -> list[Named]:
        """Returns the names that stand in a text, in order."""
        return list(self._found(text))

    def _find(self, text: str) -> list[Named]:
        found = self._table.find(text)
        for place, mention in enumerate(found):
            comma = _COMMA.search(mention.text)
            if comma is None or not all(key.startswith("finding") for key in mention.keys):
                continue
            # "Joint examination, joint" names an item; before "X-ray" the joint begins another name of the list.
            at = mention.start + comma.end()
            behind = [n._replace(start=n.start + at, end=n.end + at) for n in self._find(text[at:])]
            if behind and behind[0].start == at and behind[0].end > mention.end:
                return [*found[:place], *self._table.find(text[: mention.start + comma.start()])[place:], *behind]
        return found

    def recorded(self) -> tuple[str, ...]:
        """Returns the names of the examinations that have been done."""
        return tuple(dict.fromkeys(f.examination for f in self._findings))

    def look_up(self, request: str) -> tuple[list[Finding], list[str]]:
        """Returns the findings that a request asks for, in the record's order, and the names of which there is none.

        An examination brings all its findings, an item that item only; an item beside its examination narrows it.
        Names that say nothing by themselves ("findings") count only beside their examination.
        """
        looked = self._looked(request)
        return [self._findings[i] for i in looked.wanted], list(looked.missing)

    def mentioned(self, text: str) -> list[Finding]:
        """Returns the findings that a text speaks of which orders nothing: a report, or a question for results."""
        return [self._findings[i] for i in self._read(text).wanted]

    def may_mean(self, request: str) -> MayMean:
        """Returns what may be given where somebody else has read the request: nothing that it does not ask for."""
        wanted, _ = self.look_up(request)
        looked = self._looked(request)
        near = {name: frozenset(self._findings[i] for i in places) for name, places in looked.near.items()}
        farther = (self._findings[i] for i in looked.farther)
        return MayMean(frozenset((*wanted, *farther)).union(*near.values()), near)

    def refuses(self, request: str) -> bool:
        """Whether a request speaks of examinations of which it wants none, or none in particular ("some tests")."""
        read = read_orders(request)
        return bool(read.refused or read.vague or read.unnamed)

    def may_be_normal(self, name: str) -> bool:
        """Whether what is not recorded can be said to be normal.

        It can where all of the name is understood, and nothing recorded is of the same procedure and region or near to
        it, also not what is understood of the record only in part.
        """
        orders = read_orders(name).orders
        if not orders or any(not is_understood(order.text) for order in orders):
            return False
        return not any(may_hide(order.meaning, title) for order in orders for title in self._titles)

    def _look_up(self, request: str, reading: Reading) -> _LookedUp:
        orders = reading.orders
        mentions = [
            m
            for m in self.find(request)
            if self._says_something(m, request)
            and not reading.refuses(m.start, m.end)
            and (self._is_heading(m, reading) if is_unspecific(m.text) else self._is_own(m) or self._counts(m, reading))
        ]
        by_name: dict[Named, AskedFor] = {}
        by_meaning: list[AskedFor] = []
        for order in orders:
            whole = next((m for m in mentions if m.start <= order.core[0] and m.end >= order.core[1]), None)
            if whole is None:
                by_meaning.append(order)
                mentions = [m for m in mentions if m.end <= order.core[0] or m.start >= order.core[1]]
            else:
                by_name.setdefault(whole, order)
        if not (mentions or by_meaning or reading.refused or reading.vague or reading.unnamed):
            alike = self._known.like(request, list(self._table.owners))
            mentions = [] if alike is None else [Named(request, 0, len(request), self._table.get(alike))]
        wanted: set[int] = set()
        missing: dict[int, str] = {}
        near: dict[str, frozenset[int]] = {}
        farther: set[int] = set()
        for mention, named in self._named(request, mentions):
            if named is None or (orders and mention not in by_name and named and _only_place(mention.text)):
                # A part of the body is no examination beside one, unless it narrows it.
                continue
            asked = by_name.get(mention)
            found = named
            if asked is not None and not self._is_own(mention):
                found = self._either(mention, named, self._meant(asked))
            elif asked is not None and all(key.startswith("item:") for key in mention.keys):
                # Of several items of one name those that are meant: blood glucose, and not what is in urine.
                found = named & self._meant(asked) or named
            wanted |= found
            if not found:
                name = mention.text if asked is None or not is_place(mention.text) else asked.name
                missing[mention.start] = name
                near[name] = frozenset[int]() if asked is None else self._near(asked)
        for order in by_meaning:
            meant = self._meant(order)
            wanted |= meant
            if meant:
                farther |= {i for i, title in enumerate(self._titles) if closeness(order.meaning, title)}
            else:
                missing[order.start] = order.name
                near[order.name] = self._near(order)
        names = (missing[start] for start in sorted(missing))
        return _LookedUp(tuple(sorted(wanted)), tuple(dict.fromkeys(names)), frozenset(farther), near)

    def _named(self, request: str, mentions: Sequence[Named]) -> list[tuple[Named, set[int] | None]]:
        """Returns what each name brings; None where it only says more about the name beside it."""
        brought: list[tuple[Named, set[int] | None]] = []
        narrowed: Named | None = None
        for position, mention in enumerate(mentions):
            exact = {int(k.removeprefix("finding:")) for k in mention.keys if k.startswith("finding:")}
            if exact:
                same = {(self._findings[i].examination, self._findings[i].item) for i in exact}
                brought.append((mention, {i for i, f in enumerate(self._findings) if (f.examination, f.item) in same}))
                # What follows in the same list may be further items of the same examination.
                narrowed = mention._replace(keys=frozenset().union(*(self._examinations[i] for i in exact)))
                continue
            if narrowed is not None:
                further = self._within(narrowed, mention)
                if further and _joined(request[mentions[position - 1].end : mention.start], ("and", "和", "及", "、")):
                    brought.append((mention._replace(text=""), further))
                    continue
            narrowed = None
            following = mentions[position + 1] if position + 1 < len(mentions) else None
            if following is not None and _joined(request[mention.end : following.start]):
                inside = self._within(mention, following) or self._within(following, mention)
                if inside:
                    narrowed = mention if self._within(mention, following) else following
                    brought += [(mention, None), (mention._replace(text="", keys=frozenset()), inside)]
                    continue
            previous = mentions[position - 1] if position else None
            after = previous is not None and _joined(request[previous.end : mention.start])
            if after and previous is not None and self._within(mention, previous):
                # The examination after its item ("hemoglobin in the complete blood count") brings nothing more.
                brought.append((mention, None))
                continue
            only_item = not any(key.startswith(("examination", "finding", "physical")) for key in mention.keys)
            if not (only_item and TECHNIQUE.match(request[mention.end :].lstrip()) is not None):
                brought.append((mention, self._owned(mention)))
        return brought

    def _near(self, order: AskedFor) -> frozenset[int]:
        return frozenset(i for i, title in enumerate(self._titles) if is_near(order.meaning, title))

    def _either(self, mention: Named, named: set[int], meant: set[int]) -> set[int]:
        """Returns what a name of the knowledge asks for: what it brings, or what it means, or both.

        An examination of the knowledge goes by names that mean a part of it ("arterial blood gas" of a respiratory
        function test), and in records of others their names need not mean what they mean in the knowledge.
        """
        if self._drawn:
            first = self._known.is_first(mention.text)
            return named or meant if first else named & meant or named or meant
        return named | meant if self._known.is_first(mention.text) else meant

    def _meant(self, order: AskedFor) -> set[int]:
        """Returns what is recorded of the same procedure and region as an order: of the closest only."""
        if order.meaning == OrderMeaning(procedures=frozenset(("physical",))):
            return self._owned(Named(order.text, order.start, order.end, frozenset(("physical",))))
        by_closeness: dict[int, set[int]] = {}
        for number, title in enumerate(self._titles):
            by_closeness.setdefault(closeness(order.meaning, title), set()).add(number)
        by_closeness.pop(NOT, None)
        if not by_closeness:
            return set()
        closest = max(by_closeness)
        found = by_closeness[closest]
        very = {i for i in found if closest == SAME and is_the_very(order.meaning, self._titles[i])}
        if very:
            # Of several regions, one may be recorded as a part of another only.
            rest = order.meaning.regions.difference(*(self._titles[i].whole.regions for i in very))
            return very | {i for i in found if any_at(rest, self._titles[i])}
        return found

    def is_named(self, name: str, request: str) -> bool:
        """Whether a request really asks for a name that somebody read in it.

        It does where what the name brings lies within what the request itself brings; where all that is named in the
        name is named in the request too, in the same or in other words; where all its words stand in one part of the
        request ("X-ray of the chest"); and where it is nearly a part of the request. A name that nothing is known by
        has to stand in the request word for word. A name that says nothing by itself is not asked for by a request
        that fishes for more than it names.
        """
        key = key_of(name)
        brought, _ = self.look_up(name)
        if brought:
            asked, _ = self.look_up(request)
            if all(finding in asked for finding in brought):
                return True
        if not key or (is_generic(key) and FISHING.search(request)):
            return False
        mentions = [m for m in self.find(name) if not is_generic(key_of(m.text))]
        asked_for = self.find(request)
        if mentions and all(any(m.keys & one.keys for one in asked_for) for m in mentions):
            return True
        meant = {order.meaning for order in read_orders(name).orders}
        if meant and not brought and meant <= {order.meaning for order in read_orders(request).orders}:
            return True
        if not mentions and not brought:
            return f" {key} " in f" {key_of(request)} " and not FISHING.search(name)
        parts = [key_of(part) for part in _REQUEST_PARTS.split(request)]
        wanted = set(key.split(" "))
        # A longer name that holds these words ("eosinophil count in sputum") is another name.
        longer = any(wanted < set(key_of(one.text).split(" ")) for one in asked_for)
        if len(wanted) > 1 and name.isascii() and not longer and any(wanted <= set(p.split(" ")) for p in parts):
            return True
        return len(key) >= SHORTEST_LIKENESS and any(fuzz.ratio(key, part) >= LIKENESS for part in parts)

    def _says_something(self, mention: Named, request: str) -> bool:
        if "physical" in mention.keys or not is_generic(key_of(mention.text)):
            return True
        if FISHING.search(request[: mention.start] + request[mention.end :]):
            return False
        return any(k.startswith("finding") for k in mention.keys) or (
            any(k.startswith("examination") for k in mention.keys) and self._owned(mention) != set()
        )

    @staticmethod
    def _is_own(mention: Named) -> bool:
        return "physical" in mention.keys or any(
            key.startswith(("examination:=", "item:=", "finding")) for key in mention.keys
        )

    def _is_heading(self, mention: Named, reading: Reading) -> bool:
        """Whether what says nothing in particular ("blood test") is the very name of what is recorded, and meant."""
        if any(key.startswith("finding") for key in mention.keys):
            return True
        if reading.is_vague(mention.start, mention.end):
            return False
        key = _as_heading(mention.text)
        first = self._drawn and self._known.is_heading(mention.text)
        return first or any(key in (_as_heading(f.examination), _as_heading(f.item)) for f in self._findings)

    @staticmethod
    def _counts(mention: Named, reading: Reading) -> bool:
        """Whether a name of the knowledge is meant: "bloods" is an examination, the blood in a sentence is none."""
        if reading.is_vague(mention.start, mention.end) or reading.is_reason(mention.start, mention.end):
            return False
        examinations = all(key.startswith("examination") for key in mention.keys)
        word = key_of(mention.text)
        return not (examinations and " " not in word and word == mention.text.casefold() and is_place(mention.text))

    def _owned(self, mention: Named) -> set[int]:
        # The record's own name is that examination, or that item, and no other examination that the knowledge knows by
        # it too.
        own = frozenset(k for k in mention.keys if k.startswith("examination:="))
        if not own and any(k.startswith("item:=") for k in mention.keys) and not is_generic(key_of(mention.text)):
            return self._with_item(mention.keys)
        keys = own or mention.keys
        found = {i for i, own_keys in enumerate(self._examinations) if not own_keys.isdisjoint(keys)}
        if "physical" in keys:
            # Where one examination is called so, by whatever of these names, it is that one; else all that is physical.
            called = {i for i, f in enumerate(self._findings) if key_of(f.examination) in WHOLE_BODY}
            found = called or found | {i for i, f in enumerate(self._findings) if self._is_physical(i, f)}
        if not found and not is_generic(key_of(mention.text)):
            found = self._with_item(keys)
        return found

    def _with_item(self, keys: frozenset[str]) -> set[int]:
        return {i for i, own_keys in enumerate(self._items) if own_keys & keys}

    def _is_physical(self, index: int, finding: Finding) -> bool:
        kinds = {self._known.kinds.get(key) for key in self._examinations[index]} - {None}
        return kinds == {"physical"} if kinds else _PHYSICAL.search(finding.examination) is not None

    def _within(self, examination: Named, item: Named) -> set[int]:
        if not any(key.startswith("examination") or key == "physical" for key in examination.keys):
            return set()
        return {i for i in self._owned(examination) if self._items[i] & item.keys}


def _joined(gap: str, also: tuple[str, ...] = ()) -> bool:
    """Whether the text between two names reads as one request ("complete blood count: hemoglobin")."""
    rest = gap.casefold().strip(" ,:：，()（）-\u2013'")
    return rest in ("", "of", "of the", "in", "in the", "on", "on the", "的", "里的", "中的", "之", *also)


def _only_place(name: str) -> bool:
    """Whether a name is that of a part of the body, and not of an examination ("blood test")."""
    return is_place(name) and not is_unspecific(name)


def _as_heading(name: str) -> str:
    """Returns a name by its very words, in small letters and the singular: "blood work" is no "blood test"."""
    return " ".join(word.casefold().removesuffix("s") for word in name.replace("_", " ").split())


_NamesOfFinding = tuple[str, str, str | None]
"""What a finding is called, without its result: its examination, item and code."""


class Names:
    """The names of all examinations and items of the knowledge, in both languages, with their LOINC codes.

    Keys of what is named are `examination:ID` and `item:ID`. Those of a record are laid over them.
    """

    def __init__(self, knowledge: Knowledge) -> None:
        self._laid_out = functools.lru_cache(maxsize=64)(self._lay_out)
        self._table = NameTable()
        self.kinds: dict[str, str] = {}
        self.items: dict[str, frozenset[str]] = {}
        self._first_names: set[str] = set()
        self._headings: set[str] = set()
        for examination in knowledge.examinations.values():
            owner = f"examination:{examination.id}"
            self.kinds[owner] = examination.kind
            self.items[owner] = frozenset(f"item:{item.id}" for item in examination.items)
            self._first_names |= {key_of(examination.name.en), key_of(examination.name.zh)}
            self._headings |= {examination.name.en.casefold(), examination.name.zh}
            texts = [examination.name.en, examination.name.zh, examination.id.replace("_", " ")]
            parts = {key_of(name) for item in examination.items for name in item.names()}
            # Of several items, one that is asked for by its name is not the whole examination.
            several = len(examination.items) > 1
            synonyms = (*examination.synonyms.en, *examination.synonyms.zh)
            texts += [name for name in synonyms if not (several and key_of(name) in parts)]
            for name in texts:
                # Without its last word a test would go by the name of what it measures.
                self._table.add(name, owner, as_it_is=True)
            for item in examination.items:
                for name in (*item.names(), *((item.loinc,) if item.loinc else ())):
                    self._table.add(name, f"item:{item.id}")
        known = [key for key in self._table.owners if len(key) >= SHORTEST_LIKENESS]
        # It takes long, and what no record holds is asked for of many.
        self._likest_known = functools.lru_cache(maxsize=4096)(functools.partial(_likest, choices=known))

    def find(self, text: str) -> list[Named]:
        """Returns the names that stand in a text, in order; longer ones win over shorter ones that they hold."""
        return self._table.find(text)

    def is_first(self, name: str) -> bool:
        """Whether an examination of the knowledge goes by this name before all others."""
        return key_of(name) in self._first_names

    def is_heading(self, name: str) -> bool:
        """Whether an examination of the knowledge goes by these very words, and not by others that mean the same."""
        return bool({name.casefold(), name.casefold().removesuffix("s")} & self._headings)

    def keys(self, name: str) -> frozenset[str]:
        """Returns what a name is a name of, as a whole; empty where it is none."""
        return self._table.get(key_of(name))

    def like(self, text: str, others: Sequence[str] = ()) -> str | None:
        """Returns the name that is nearly the text, in its compared form, or None."""
        key = key_of(text)
        if len(key) < SHORTEST_LIKENESS or is_generic(key):
            return None
        return _likest(key, others) or self._likest_known(key)

    def of(self, findings: Iterable[Finding]) -> RecordNames:
        """Returns the names for one record: these and the record's own."""
        found = tuple(findings)
        titles = tuple([(f.examination, f.item, None if f.code is None else f.code.code) for f in found])
        return RecordNames(self, self._laid_out(titles), found)

    def _lay_out(self, titles: tuple[_NamesOfFinding, ...]) -> Layout:
        """Lays a record's own names over these; records in one form, such as drawn ones, share what comes of it."""
        table = NameTable(self._table)
        examinations: list[frozenset[str]] = []
        items: list[frozenset[str]] = []
        seen: dict[tuple[str, str], frozenset[str]] = {}
        for number, (examination, item, code) in enumerate(titles):
            for kind, name, kept in (("examination", examination, examinations), ("item", item, items)):
                keys = seen.get((kind, name))
                if keys is None:
                    known = frozenset(k for k in self.keys(name) if k.startswith(kind)) if name else frozenset[str]()
                    own = f"{kind}:={name}"
                    if name:
                        table.add(name, own)
                    keys = seen[kind, name] = known | {own}
                kept.append(keys)
            whole = f"finding:{number}"
            if item:
                table.enter(key_of(f"{examination} {item}"), whole)
            if code is not None:
                table.add(code, whole)
        for name in WHOLE_BODY:
            table.enter(name, "physical")
        drawn = all(key_of(examination) in self._first_names for examination, _, _ in titles)
        meant = tuple(title_of(examination, item) for examination, item, _ in titles)
        return Layout(table, tuple(examinations), tuple(items), meant, drawn)


@functools.lru_cache(maxsize=8)
def names_of(knowledge: Knowledge) -> Names:
    """Returns the names of a knowledge, made once."""
    return Names(knowledge)


def _likest(key: str, choices: Sequence[str]) -> str | None:
    """Returns which of the names, in their compared form, is nearly this one, or None."""
    for scorer in (fuzz.ratio, fuzz.token_sort_ratio):
        best = process.extractOne(key, choices, scorer=scorer, score_cutoff=LIKENESS)
        if best is not None and not is_generic(best[0]):
            return best[0]
    return None
