"""The names of the knowledge's examinations and of what they look at, in both languages, with their LOINC codes."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from rapidfuzz import fuzz, process

from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.name_table import Named, NameTable, is_generic, key_of

LIKENESS = 88.0  # of 100: the least at which a name that is not spelled rightly counts as named
SHORTEST_LIKENESS = 5  # letters, in its compared form, of a name that is looked for by likeness; shorter ones are alike


class KnownNames:
    """The names of all examinations and items of the knowledge, in both languages, with their LOINC codes.

    Keys of what is named are `examination:ID` and `item:ID`.
    """

    def __init__(self, knowledge: Knowledge) -> None:
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


def _likest(key: str, choices: Sequence[str]) -> str | None:
    """Returns which of the names, in their compared form, is nearly this one, or None."""
    for scorer in (fuzz.ratio, fuzz.token_sort_ratio):
        best = process.extractOne(key, choices, scorer=scorer, score_cutoff=LIKENESS)
        if best is not None and not is_generic(best[0]):
            return best[0]
    return None
