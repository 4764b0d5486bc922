"""Names of examinations and of what they look at, found in text.

`Names` holds those of the knowledge and is built once; `Names.of(findings)` lays a record's own names over them, which
is cheap. A name is found by its words (longest first, plurals and punctuation aside), or, where nothing is found by its
words, by likeness.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rapidfuzz import fuzz, process

from polyclinic.cases.record import Finding
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.name_table import Named, NameTable, is_generic, key_of
from polyclinic.knowledge.orders.meaning import title_of
from polyclinic.knowledge.recorded_names import LIKENESS, SHORTEST_LIKENESS, WHOLE_BODY, Layout, RecordNames

class _Title(NamedTuple):
    """What a finding is called, without its result."""

    examination: str
    item: str
    code: str | None


class Names:
    """The names of all examinations and items of the knowledge, in both languages, with their LOINC codes.

    Keys of what is named are `examination:ID` and `item:ID`.
    """

    def __init__(self, knowledge: Knowledge) -> None:
        self._table = NameTable()
        self.kinds: dict[str, str] = {}
        self.items: dict[str, frozenset[str]] = {}
        self._first_names: set[str] = set()
        for examination in knowledge.examinations.values():
            owner = f"examination:{examination.id}"
            self.kinds[owner] = examination.kind
            self.items[owner] = frozenset(f"item:{item.id}" for item in examination.items)
            self._first_names |= {key_of(examination.name.en), key_of(examination.name.zh)}
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

    def _lay_out(self, titles: tuple[_Title, ...]) -> Layout:
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
        for name in WHOLE_BODY:
            table.enter(name, "physical")
        drawn = all(key_of(title.examination) in self._first_names for title in titles)
        meant = tuple(title_of(title.examination, title.item) for title in titles)
        return Layout(table, tuple(examinations), tuple(items), meant, drawn)
