"""Names of examinations and of what they look at, found in text.

`Names` holds those of the knowledge and is built once; `Names.of(findings)` lays a record's own names over them, which
is cheap. A name is found by its words (longest first, plurals and punctuation aside), or, where nothing is found by its
words, by likeness.
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
from polyclinic.knowledge.name_table import Named, NameTable, is_generic, key_of

LIKENESS = 88.0  # of 100: the least at which a name that is not spelled rightly counts as named
SHORTEST_LIKENESS = 5  # letters, in its compared form, of a name that is looked for by likeness; shorter ones are alike

_REQUEST_PARTS = re.compile(r"[,;.:，。；：、\n]|\band\b|\bwith\b|和|以及|及")
_WHOLE_BODY = frozenset(("physical examination", "physical", "体 格 检 查", "查 体", "体 检", "全 身 检 查"))
_PHYSICAL = re.compile(
    r"physical|vital sign|体格|查体|专科检查|生命体征|体征"
    r"|^(?!.*(?:ultraso|imag|x-?ray|radio|laborat|urine|blood|stool|micro|fluid|csf|pathol"
    r"|histo|slit|fundosc|mri|ct\b))"
    r".*\bexam(?:ination)?s?$",
    re.IGNORECASE,
)


class _Title(NamedTuple):
    """What a finding is called, without its result."""

    examination: str
    item: str
    code: str | None


class _Layout(NamedTuple):
    """The names of a record's findings in a table, and what each finding's examination and item are names of."""

    table: NameTable
    examinations: tuple[frozenset[str], ...]
    items: tuple[frozenset[str], ...]


class Names:
    """The names of all examinations and items of the knowledge, in both languages, with their LOINC codes.

    Keys of what is named are `examination:ID` and `item:ID`.
    """

    def __init__(self, knowledge: Knowledge) -> None:
        self._table = NameTable()
        self.kinds: dict[str, str] = {}
        self.items: dict[str, frozenset[str]] = {}
        for examination in knowledge.examinations.values():
            owner = f"examination:{examination.id}"
            self.kinds[owner] = examination.kind
            self.items[owner] = frozenset(f"item:{item.id}" for item in examination.items)
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
        self._known = [key for key in self._table.owners if len(key) >= SHORTEST_LIKENESS]
        self._laid_out = functools.lru_cache(maxsize=64)(self._lay_out)

    def find(self, text: str) -> list[Named]:
        """Returns the names that stand in a text, in order; longer ones win over shorter ones that they hold."""
        return self._table.find(text)

    def keys(self, name: str) -> frozenset[str]:
        """Returns what a name is a name of, as a whole; empty where it is none."""
        return self._table.get(key_of(name))

    def like(self, text: str, others: Sequence[str] = ()) -> str | None:
        """Returns the name that is nearly the text, in its compared form, or None."""
        key = key_of(text)
        if len(key) < SHORTEST_LIKENESS or is_generic(key):
            return None
        for choices in (others, self._known):
            for scorer in (fuzz.ratio, fuzz.token_sort_ratio):
                best = process.extractOne(key, choices, scorer=scorer, score_cutoff=LIKENESS)
                if best is not None and not is_generic(best[0]):
                    return best[0]
        return None

    def of(self, findings: Iterable[Finding]) -> RecordNames:
        """Returns the names for one record: these and the record's own."""
        found = tuple(findings)
        titles = tuple(_Title(f.examination, f.item, f.code.code if f.code is not None else None) for f in found)
        return RecordNames(self, self._laid_out(titles), found)

    def _lay_out(self, titles: tuple[_Title, ...]) -> _Layout:
        """Lays a record's own names over these; records in one form, such as drawn ones, share what comes of it."""
        table = NameTable(self._table)
        examinations: list[frozenset[str]] = []
        items: list[frozenset[str]] = []
        seen: dict[tuple[str, str], frozenset[str]] = {}
        for number, title in enumerate(titles):
            for kind, name, kept in (("examination", title.examination, examinations), ("item", title.item, items)):
                keys = seen.get((kind, name))
                if keys is None:
                    known = frozenset(k for k in self.keys(name) if k.startswith(kind)) if name else frozenset[str]()
                    own = f"{kind}:={name}"
                    if name:
                        table.add(name, own)
                    keys = seen[kind, name] = known | {own}
                kept.append(keys)
            whole = f"finding:{number}"
            if title.item:
                table.enter(key_of(f"{title.examination} {title.item}"), whole)
            if title.code is not None:
                table.add(title.code, whole)
        for name in _WHOLE_BODY:
            table.enter(name, "physical")
        return _Layout(table, tuple(examinations), tuple(items))


class RecordNames:
    """The names of one record's findings, over those of the knowledge."""

    def __init__(self, names: Names, layout: _Layout, findings: tuple[Finding, ...]) -> None:
        self._names, self._findings = names, findings
        self._table, self._examinations, self._items = layout
        self._found: dict[str, list[Named]] = {}
        self._looked: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {}

    def find(self, text: str) -> list[Named]:
        """Returns the names that stand in a text, in order."""
        if text not in self._found:
            self._found[text] = self._table.find(text)
        return list(self._found[text])

    def recorded(self) -> tuple[str, ...]:
        """Returns the names of the examinations that have been done."""
        return tuple(dict.fromkeys(f.examination for f in self._findings))

    def look_up(self, request: str) -> tuple[list[Finding], list[str]]:
        """Returns the findings that a request names, in the record's order, and the names of which there is none.

        An examination brings all its findings, an item that item only; an item beside its examination narrows it.
        Names that say nothing by themselves ("findings") count only beside their examination.
        """
        if request not in self._looked:
            self._looked[request] = self._look_up(request)
        wanted, missing = self._looked[request]
        return [self._findings[i] for i in wanted], list(missing)

    def _look_up(self, request: str) -> tuple[tuple[int, ...], tuple[str, ...]]:
        mentions = self.find(request)
        if not any(self._says_something(m, request) for m in mentions):
            near = self._names.like(request, list(self._table.owners))
            mentions = [] if near is None else [Named(request, 0, len(request), self._table.get(near))]
        wanted: set[int] = set()
        missing: list[str] = []
        narrowed: Named | None = None
        for position, mention in enumerate(mentions):
            if not self._says_something(mention, request):
                continue
            exact = {int(k.removeprefix("finding:")) for k in mention.keys if k.startswith("finding:")}
            if exact:
                same = {(self._findings[i].examination, self._findings[i].item) for i in exact}
                wanted |= {i for i, f in enumerate(self._findings) if (f.examination, f.item) in same}
                # What follows in the same list may be further items of the same examination.
                narrowed = mention._replace(keys=frozenset().union(*(self._examinations[i] for i in exact)))
                continue
            if narrowed is not None:
                further = self._within(narrowed, mention)
                if further and _joined(request[mentions[position - 1].end : mention.start], ("and", "和", "及", "、")):
                    wanted |= further
                    continue
            narrowed = None
            following = mentions[position + 1] if position + 1 < len(mentions) else None
            if following is not None and _joined(request[mention.end : following.start]):
                inside = self._within(mention, following) or self._within(following, mention)
                if inside:
                    narrowed = mention if self._within(mention, following) else following
                    wanted |= inside
                    continue
            previous = mentions[position - 1] if position else None
            after = previous is not None and _joined(request[previous.end : mention.start])
            if after and previous is not None and self._within(mention, previous):
                # The examination after its item ("hemoglobin in the complete blood count") brings nothing more.
                continue
            if _names_technique(request, mention):
                continue
            found = self._owned(mention)
            wanted |= found
            if not found:
                missing.append(mention.text)
        return tuple(sorted(wanted)), tuple(dict.fromkeys(missing))

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

    def _owned(self, mention: Named) -> set[int]:
        # The record's own name is that examination, or that item, and no other examination that the knowledge knows by
        # it too.
        own = frozenset(k for k in mention.keys if k.startswith("examination:="))
        if not own and any(k.startswith("item:=") for k in mention.keys) and not is_generic(key_of(mention.text)):
            return self._with_item(mention.keys)
        keys = own or mention.keys
        found = {i for i, own_keys in enumerate(self._examinations) if own_keys & keys}
        if "physical" in keys:
            # Where one examination is called so, by whatever of these names, it is that one; else all that is physical.
            called = {i for i, f in enumerate(self._findings) if key_of(f.examination) in _WHOLE_BODY}
            found = called or found | {i for i, f in enumerate(self._findings) if self._is_physical(i, f)}
        if not found and not is_generic(key_of(mention.text)):
            found = self._with_item(keys)
        return found

    def _with_item(self, keys: frozenset[str]) -> set[int]:
        return {i for i, own_keys in enumerate(self._items) if own_keys & keys}

    def _is_physical(self, index: int, finding: Finding) -> bool:
        kinds = {self._names.kinds.get(key) for key in self._examinations[index]} - {None}
        return kinds == {"physical"} if kinds else _PHYSICAL.search(finding.examination) is not None

    def _within(self, examination: Named, item: Named) -> set[int]:
        if not any(key.startswith("examination") or key == "physical" for key in examination.keys):
            return set()
        return {i for i in self._owned(examination) if self._items[i] & item.keys}


def _joined(gap: str, also: tuple[str, ...] = ()) -> bool:
    """Whether the text between two names reads as one request ("complete blood count: hemoglobin")."""
    rest = gap.casefold().strip(" ,:：，()（）-\u2013'")
    return rest in ("", "of", "of the", "in", "in the", "on", "on the", "的", "里的", "中的", "之", *also)


def _names_technique(text: str, mention: Named) -> bool:
    """Whether a part of the body is named for a technique that follows it ("abdomen CT"), and not for itself."""
    only_item = not any(key.startswith(("examination", "finding", "physical")) for key in mention.keys)
    return only_item and TECHNIQUE.match(text[mention.end :].lstrip()) is not None
