"""Reading symptoms out of text: which are named in it, and which of those are denied."""

from __future__ import annotations

import re
from collections.abc import Iterable

from polyclinic.knowledge.entries import Symptom
from polyclinic.knowledge.knowledge import ancestors
from polyclinic.language.clauses import clause_words
from polyclinic.language.language import Language

_CLAUSE = re.compile(r"[.;:!?\n。；：！？]|,\s*but\b|\bbut\b|\bhowever\b|，?但是?|(?<!喘)，?不过(?!气)", re.IGNORECASE)

_QUESTION = re.compile(r"(?<=[?？])")


class Lexicon:
    """The words for every symptom of the knowledge, in one language.

    Longer words win over shorter ones that they hold, so that "high fever" is not read as "fever" beside it; a symptom
    that is there brings its parents with it.
    """

    def __init__(self, symptoms: Iterable[Symptom], language: Language) -> None:
        self.language = language
        self.symptoms = {s.id: s for s in symptoms}
        self._questions = {_bare(s.question.get(language)): s.id for s in self.symptoms.values()}
        self._owner = {
            word.casefold(): symptom.id for symptom in self.symptoms.values() for word in symptom.words(language)
        }
        words = sorted(self._owner, key=len, reverse=True)
        edge = r"(?<!\w){}(?!\w)" if language == "en" else "{}"
        self._words = re.compile(edge.format(f"(?:{'|'.join(map(re.escape, words)) or '(?!)'})"), re.IGNORECASE)

    def mentions(self, text: str) -> list[tuple[str, bool]]:
        """Returns the symptoms named in a text, in order, each with whether it is affirmed."""
        found, denial = [], clause_words(self.language).denial
        for clause in _CLAUSE.split(text):
            if not clause:
                continue
            denied_from = min((m.start() for m in denial.finditer(clause)), default=len(clause))
            found += [(self._owner[m[0].casefold()], m.start() < denied_from) for m in self._words.finditer(clause)]
        return found

    def read(self, text: str) -> dict[str, bool]:
        """Returns symptom id to presence, for the symptoms that the text speaks of and what follows from them."""
        seen: dict[str, bool] = {}
        for symptom, present in self.mentions(text):
            seen[symptom] = seen.get(symptom, False) or present
        for symptom, present in list(seen.items()):
            if present:
                for parent in self.ancestors(symptom):
                    seen[parent] = True
        return seen

    def read_all(self, texts: Iterable[str]) -> dict[str, bool]:
        """Returns what several texts speak of; what one of them affirms is there."""
        seen: dict[str, bool] = {}
        for text in texts:
            for symptom, present in self.read(text).items():
                seen[symptom] = seen.get(symptom, False) or present
        return seen

    def question(self, text: str) -> str | None:
        """Returns the symptom that a question asks for in the knowledge's own words, or None."""
        return self._questions.get(_bare(text))

    def knows_questions(self, text: str) -> bool:
        """Whether a text holds nothing but questions in the knowledge's own words."""
        asked = [q for q in _QUESTION.split(text) if q.strip()]
        return bool(asked) and all(self.question(q) is not None for q in asked)

    def ancestors(self, symptom: str) -> list[str]:
        """Returns a symptom's parent, the parent's parent, and so on."""
        return ancestors(self.symptoms, symptom)

    def unread(self, text: str) -> str:
        """Returns the text without the words of the lexicon."""
        return self._words.sub(" ", text)


def _bare(question: str) -> str:
    return question.strip(" ?？.。!！").casefold()
