"""Names of examinations, completed: what a person types in part, and which examinations may be meant."""

from __future__ import annotations

import re
from difflib import get_close_matches

from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.language.language import Language

_LIKE = 0.75
_ALIKE: dict[Language, float] = {"en": 0.75, "zh": 0.65}
"""How alike a word in a sentence is to a name that was meant; a Chinese name has few letters, one of them wrong."""

# A sentence that orders, and nothing else: what is asked of the patient is none.
_ORDERS: dict[Language, re.Pattern[str]] = {
    "en": re.compile(
        r"(?:please,?\s+|let'?s\s+|let us\s+|we(?:'ll| will)\s+|i(?:'ll| will| want to|'d like to| would like to)\s+)?"
        r"(?:(?:order|arrange|perform|request|run)|(?:get|do|have|take)(?=\s+(?:an?|the|some)\s)"
        r"|i(?:'d| would) like(?: you to have| to have)?|you need)\s+(?P<names>[^?.;]{3,120}?)(?:,?\s+please)?[.!]*",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"(?:请|麻烦|给您|给你|我们|先|再|去|您|你|需要|要)*(?:开单|开个|开一个|开|查一下|查个|查|做一下|做一个|做个|做)"
        r"(?P<names>[^？?。]{2,40}?)(?:吧|检查单)?[。！]*"
    ),
}
_AND: dict[Language, re.Pattern[str]] = {"en": re.compile(r",|\band\b"), "zh": re.compile(r"[,，、和]")}
_ARTICLE = re.compile(r"^(?:an?|the|some)\s+", re.IGNORECASE)


class OrderNames:
    """The examinations of the knowledge by their names, synonyms and items, in both languages."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._titles: dict[str, dict[Language, str]] = {}
        self._names: dict[str, set[str]] = {}
        for id, examination in knowledge.examinations.items():
            self._titles[id] = {"en": examination.name.en, "zh": examination.name.zh}
            names = [*examination.names(), *(name for item in examination.items for name in item.names())]
            self._names[id] = {name.casefold() for name in names}
        self._spelt = {_letters(name) for names in self._names.values() for name in names}

    def titles(self, typed: str, language: Language) -> list[str]:
        """Returns the titles that something typed may mean, the nearest first; all of them where it is empty.

        Those whose name it is in full; else those of which a name begins with it, or holds all its words; else those
        whose name it nearly is. Of these, titles that hold what was typed come before those one of whose items does.
        """
        word = typed.strip().casefold()
        parts = word.split()
        found = self._named(word) or self._nearly_named(word, _LIKE)
        titles = list(dict.fromkeys(self._titles[id][language] for id in found))
        return sorted(titles, key=lambda title: not all(part in title.casefold() for part in parts))

    def meant(self, typed: str, language: Language) -> list[str]:
        """Returns the title that an order means; several where it is not clear, none where there is no such name."""
        titles = self.titles(typed, language)
        return [title for title in titles if title.casefold() == typed.strip().casefold()][:1] or titles

    def misspelt(self, line: str, language: Language) -> dict[str, str]:
        """Returns what a line orders by names that nearly are one of ours, each with the title that it nearly is.

        Nothing of a line that orders nothing, or by words that are no name and near none.
        """
        order = _ORDERS[language].fullmatch(line.strip())
        if order is None:
            return {}
        found = {}
        for part in _AND[language].split(order["names"]):
            typed = _ARTICLE.sub("", part.strip())
            if not typed or self._named(typed.casefold()) or _letters(typed) in self._spelt:
                continue
            if near := self._nearly_named(typed.casefold(), _ALIKE[language]):
                found[typed] = self._titles[near[0]][language]
        return found

    def _named(self, word: str) -> list[str]:
        """Returns the ids of which a name is this word, or else begins with it, or else holds all its parts."""
        parts = word.split()
        return (
            [id for id, names in self._names.items() if word in names]
            or [id for id, names in self._names.items() if any(name.startswith(word) for name in names)]
            or [id for id, names in self._names.items() if any(all(p in name for p in parts) for name in names)]
        )

    def _nearly_named(self, word: str, like: float) -> list[str]:
        near = get_close_matches(word, [name for names in self._names.values() for name in names], cutoff=like)
        return [id for name in near for id, names in self._names.items() if name in names]


def _letters(name: str) -> str:
    """Returns a name without what people write in different ways: "X-ray", "xray", "x ray"."""
    return re.sub(r"[\W_]", "", name.casefold())
