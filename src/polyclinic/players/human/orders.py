"""Names of examinations, completed: what a person types in part, and which examinations may be meant."""

from __future__ import annotations

from difflib import get_close_matches

from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.language import Language

_LIKE = 0.75


class OrderNames:
    """The examinations of the knowledge by their names, synonyms and items, in both languages."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._titles: dict[str, dict[Language, str]] = {}
        self._names: dict[str, set[str]] = {}
        for id, examination in knowledge.examinations.items():
            self._titles[id] = {"en": examination.name.en, "zh": examination.name.zh}
            names = [*examination.names(), *(name for item in examination.items for name in item.names())]
            self._names[id] = {name.casefold() for name in names}

    def titles(self, typed: str, language: Language) -> list[str]:
        """Returns the titles that something typed may mean, the nearest first; all of them where it is empty.

        Those whose name it is in full; else those of which a name begins with it, or holds all its words; else those
        whose name it nearly is. Of these, titles that hold what was typed come before those one of whose items does.
        """
        word = typed.strip().casefold()
        parts = word.split()
        found = (
            [id for id, names in self._names.items() if word in names]
            or [id for id, names in self._names.items() if any(name.startswith(word) for name in names)]
            or [id for id, names in self._names.items() if any(all(p in name for p in parts) for name in names)]
        )
        if not found:
            near = get_close_matches(word, [name for names in self._names.values() for name in names], cutoff=_LIKE)
            found = [id for name in near for id, names in self._names.items() if name in names]
        titles = list(dict.fromkeys(self._titles[id][language] for id in found))
        return sorted(titles, key=lambda title: not all(part in title.casefold() for part in parts))

    def meant(self, typed: str, language: Language) -> list[str]:
        """Returns the title that an order means; several where it is not clear, none where there is no such name."""
        titles = self.titles(typed, language)
        return [title for title in titles if title.casefold() == typed.strip().casefold()][:1] or titles
