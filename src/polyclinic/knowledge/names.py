"""Names of examinations and of what they look at, found in text.

`Names` holds those of the knowledge and is built once; `Names.of(findings)` lays a record's own names over them, which
is cheap. A name is found by its words (longest first, plurals and punctuation aside), or, where nothing is found by its
words, by likeness.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from polyclinic.cases.record import Finding
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.name_table import KnownNames, NameTable, key_of
from polyclinic.knowledge.orders.meaning import title_of
from polyclinic.knowledge.recorded_names import WHOLE_BODY, Layout, RecordNames

_NamesOfFinding = tuple[str, str, str | None]
"""What a finding is called, without its result: its examination, item and code."""


class Names(KnownNames):
    """The names of the knowledge, over which those of a record are laid."""

    def __init__(self, knowledge: Knowledge) -> None:
        super().__init__(knowledge)
        self._laid_out = functools.lru_cache(maxsize=64)(self._lay_out)

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
