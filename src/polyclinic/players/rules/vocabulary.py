"""What everyday and medical words mean: some hundreds of concepts, in both languages, as data in `lay/*.yaml`.

A file holds kinds, a kind its concepts by id:

    en: how it is named, nouns; the first is what a patient calls it. as: other English words for it, in any form
    zh: Chinese words for it; the first is what a patient calls it
    is: what it is a kind (a part of the body: a part) of. at: where it is felt
    of: other concepts that together say the same ("difficulty" and "breathe")
    eq: what it is made of, and is the same as
    lacks: what is denied with it ("painless")
    en_ends, zh_ends: endings of the names of medicines of this class

`lay/named.yaml` names, by concept, what is a thing of its own within it.

English is compared by stems, without articles; "…" stands for up to three words ("throw … up").
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

import msgspec

from polyclinic.language.content_words import plain_stem
from polyclinic.language.language import CHINESE, Language, is_chinese
from polyclinic.yaml_files import read_yaml

_FILES = ("body", "symptoms", "illnesses", "medicines", "life", "qualities")
_TOKEN = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+|[,;:.!?/\n()…]")
_APART = ((re.compile(r"(?i)\b(?:can't|cannot|cant)\b"), "can not"), (re.compile(r"(?i)n't\b"), " not"))
_OWNED = re.compile(r"(?i)'(?:s|ve|re|m|ll|d)\b|(?<=s)'(?=\s|$)")
_CHINESE_RUN = re.compile(rf"[{CHINESE}]|[A-Za-z]+(?:-[A-Za-z0-9]+)*|\d+(?:\.\d+)?|[^\s]")
# "疼不疼" asks what "疼" says; "张得开" asks for what "张不开" says.
_BOTH_WAYS = re.compile(rf"(?:([{CHINESE}]{{1,2}})[不没](?=\1))|(?<=有)无(?!力|神)")
_ABLE = re.compile(r"(?<=.)[不得](?=下|着|开|住|动|清|见|上|稳|出|到|了|直|完|起)")
GAP = "…"
LONGEST_GAP = 3
_EMPTY_WORDS = frozenset(
    "a an the my your his her their its our any some this that these those of is are was were am be been very so really"
    " quite too i you he she it we they".split()
)
_AS_IT_IS = frozenset(
    ("handed monthly monthlies motions extreme extremes extremely").split()
)  # the stem is another word
_WITH_ARTICLE = frozenset("runs trots squits skitters blues shakes willies jitters creeps".split())
"""What is an illness with its article, and something else without ("the runs", "it runs")."""
Phrase = tuple[str, ...]


class Concept(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"also": "as", "kinds": "is"}):
    """One thing that can be meant; see the module."""

    en: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    zh: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    at: tuple[str, ...] = ()
    of: tuple[frozenset[str], ...] = ()
    eq: frozenset[str] = frozenset()
    lacks: tuple[str, ...] = ()
    en_ends: tuple[str, ...] = ()
    zh_ends: tuple[str, ...] = ()


class Token(msgspec.Struct, frozen=True):
    """A word of a text: as it is compared, and where it stands."""

    text: str
    begin: int
    end: int


@functools.cache
def concepts() -> dict[str, tuple[str, Concept]]:
    """Returns every concept by its id, with its kind."""
    found: dict[str, tuple[str, Concept]] = {}
    for name in _FILES:
        path = Path(__file__).with_name("lay") / f"{name}.yaml"
        for kind, those in read_yaml(path, dict[str, dict[str, Concept]]).items():
            for key, concept in those.items():
                if key in found:
                    raise ValueError(f"{path.name}: {key} stands twice")
                found[key] = (kind, concept)
    for key, names in read_yaml(Path(__file__).with_name("lay") / "named.yaml", dict[str, tuple[Phrase, ...]]).items():
        _part(key, names, found)
    return found


def _part(key: str, names: tuple[Phrase, ...], found: dict[str, tuple[str, Concept]]) -> None:
    """Gives what has a name of its own within a concept a concept of its own, below that."""
    kind, concept = found[key]
    given = frozenset(name for one in names for name in one)

    def kept(words: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(word for word in words if word not in given)

    found[key] = (
        kind,
        msgspec.structs.replace(concept, en=kept(concept.en), also=kept(concept.also), zh=kept(concept.zh)),
    )
    for one in names:
        zh = tuple(name for name in one if is_chinese(name))
        en = tuple(name for name in one if name not in zh)
        found[f"{key}: {one[0]}"] = (kind, Concept(en=en[:1], also=en[1:], zh=zh, kinds=(key,)))


class Vocabulary:
    """The concepts in one language: which words mean which, and what follows from each."""

    def __init__(self, language: Language) -> None:
        self.language = language
        known = concepts()
        self.kind = {key: kind for key, (kind, _) in known.items()}
        self.above = {key: frozenset(_ancestors(key)) for key in known}
        self.direct = {key: frozenset(concept.kinds) for key, (_, concept) in known.items()}
        self.felt = {key: _felt(key) for key in known}
        self.lacks = {key: concept.lacks for key, (_, concept) in known.items() if concept.lacks}
        self.eq = {key: concept.eq for key, (_, concept) in known.items()}
        self.made_of = {key: bool(concept.of or concept.eq or concept.at) for key, (_, concept) in known.items()}
        self.composed: dict[str, list[tuple[frozenset[str], str]]] = {}
        self.named: dict[str, str] = {}
        self._nouns: set[Phrase] = set()
        self._phrases: dict[str, dict[Phrase, list[str]]] = {}
        # To stem takes long: the words with an initial wait until a text has a word with it, and a stem keeps it.
        self._waiting: dict[str, list[tuple[str, str, bool]]] = {}
        self._ends: dict[str, str] = {}
        for key, (_, concept) in known.items():
            for made_of in concept.of:
                self.composed.setdefault(min(made_of), []).append((made_of, key))
            nouns, others = (concept.en, concept.also) if language == "en" else (concept.zh, ())
            self.named[key] = nouns[0] if nouns else ""
            for word in (*nouns, *others):
                self._waiting.setdefault(_initial(word, language), []).append((word, key, word in nouns))
                if language == "zh" and _ABLE.search(word):
                    able = _ABLE.sub(lambda m: "得" if m[0] == "不" else "不", word)
                    self._waiting[_initial(word, language)].append((able, key, False))
            self._ends.update(dict.fromkeys(concept.en_ends if language == "en" else concept.zh_ends, key))
        ends = sorted(self._ends, key=len, reverse=True)
        self._ending = re.compile(rf"\w{{2,}}?({'|'.join(ends)})s?$") if ends else re.compile("(?!)")

    def _beginning(self, first: str) -> dict[Phrase, list[str]]:
        """Returns the phrases that begin with a token."""
        for word, key, noun in self._waiting.pop(first[:1], ()):
            phrase = tuple(t.text for t in tokens(word, self.language))
            ids = self._phrases.setdefault(phrase[0], {}).setdefault(phrase, [])
            if key not in ids:
                ids.append(key)
            if noun:
                self._nouns.add(phrase)
        return self._phrases.get(first, {})

    def is_noun(self, text: str) -> bool:
        """Whether a text is one of the nouns by which a thing is named."""
        phrase = tuple(t.text for t in tokens(text, self.language))
        return bool(phrase) and phrase in self._beginning(phrase[0]) and phrase in self._nouns

    def at_token(self, words: list[Token], start: int, text: str) -> tuple[int, list[str]]:
        """Returns how many tokens from `start` are the longest phrase there, and what it means; 0 where none begins."""
        found: tuple[int, list[str]] = (0, [])
        for phrase, ids in self._beginning(words[start].text).items():
            length = _length_of(phrase, words, start)
            # Of equally long ones, the words as they stand win over those with others between them.
            if length > found[0] or (length == found[0] and length and GAP not in phrase):
                found = (length, ids)
        if found[0]:
            return found
        token = words[start]
        if self.language == "en":
            ending = (
                self._ending.match(text[token.begin : token.end].casefold()) if token.end - token.begin > 5 else None
            )
            return (1, [self._ends[ending[1]]]) if ending else (0, [])
        for length in (2, 3):
            tail = "".join(t.text for t in words[start : start + length])
            if tail in self._ends:
                return length, [self._ends[tail]]
        return 0, []


@functools.cache
def vocabulary(language: Language) -> Vocabulary:
    """Returns the vocabulary of a language, read once."""
    return Vocabulary(language)


def tokens(text: str, language: Language) -> list[Token]:
    """Returns the words of a text in order, and the marks that divide it: stems for English, characters for Chinese."""
    if language == "zh":
        left_out = {at for m in _BOTH_WAYS.finditer(text) for at in range(m.start(), m.end())}
        return [
            Token(m[0].upper() if m[0].isascii() else m[0], m.start(), m.end())
            for m in _CHINESE_RUN.finditer(text)
            if m.start() not in left_out
        ]
    text = _same_length(text)
    found = []
    before = ""
    for match in _TOKEN.finditer(text):
        word = match[0].casefold()
        if word not in _EMPTY_WORDS:
            stem = f"{word} the" if before == "the" and word in _WITH_ARTICLE else _stem(word)
            found.append(Token(stem, match.start(), match.end()))
        before = word
    return found


def _initial(word: str, language: Language) -> str:
    """Returns the first letter or character of a phrase's first token."""
    if language == "zh":
        return word[0].upper()
    plain = _same_length(word).casefold()
    return next(m[0][0] for m in _TOKEN.finditer(plain) if m[0] not in _EMPTY_WORDS)


def _stem(word: str) -> str:
    # An inflammation is not the part that is inflamed, and who has an illness need not be ill.
    # What is medical is no medicine.
    for apart in ("illness", "medical"):
        if word.startswith(apart):
            return apart
    if word in _AS_IT_IS:
        return word
    return word if word.endswith("itis") or not word.isalpha() else plain_stem(word)


def _same_length(text: str) -> str:
    """Returns an English text with its short forms apart and its hyphens gone, every word still where it was."""
    text = text.replace("’", "'").replace("-", " ").replace("–", " ")
    for short, long in _APART:
        text = short.sub(lambda m, long=long: long.ljust(len(m[0]))[: max(len(m[0]), len(long))], text)  # type: ignore[misc]
    return _OWNED.sub(lambda m: " " * len(m[0]), text)


def _length_of(phrase: Phrase, words: list[Token], start: int) -> int:
    """Returns how many tokens from `start` a phrase takes, or 0 where it does not stand there."""
    at = start
    for index, part in enumerate(phrase):
        if part == GAP:
            wanted = phrase[index + 1]
            ahead = [t.text for t in words[at : at + LONGEST_GAP + 1]]
            if wanted not in ahead:
                return 0
            at += ahead.index(wanted)
        elif at < len(words) and words[at].text == part:
            at += 1
        else:
            return 0
    return at - start


def _ancestors(key: str) -> set[str]:
    found, waiting = set(), [key]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += concepts()[one][1].kinds
    return found


def _felt(key: str) -> tuple[str, ...]:
    """Returns the parts of the body where a concept is felt, by itself or as one of its kind."""
    found: list[str] = []
    for one in sorted(_ancestors(key), key=lambda a: a != key):
        concept = concepts()[one][1]
        found += [*concept.at, *(p for p in concept.eq if concepts()[p][0] == "parts")]
    return tuple(dict.fromkeys(found))
