"""Reads a text into frames (a thing, where, how, whether denied), by a vocabulary of everyday and medical words.

The vocabulary is some hundreds of concepts in both languages, as data (`lay/`). `fit` compares what a record says
with what is asked, by what both mean.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from polyclinic.compiled import Compiled
from polyclinic.language.content_words import plain_stem
from polyclinic.language.language import CHINESE, LANGUAGES, Language, is_chinese
from polyclinic.language.word_lists import Pattern
from polyclinic.players.rules.sayings import WORDS
from polyclinic.yaml_files import read_yaml

_LAY = Path(__file__).with_name("lay")
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
        path = _LAY / f"{name}.yaml"
        for kind, those in read_yaml(path, dict[str, dict[str, Concept]]).items():
            for key, concept in those.items():
                if key in found:
                    raise ValueError(f"{path.name}: {key} stands twice")
                found[key] = (kind, concept)
    for key, names in read_yaml(_LAY / "named.yaml", dict[str, tuple[Phrase, ...]]).items():
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


class NamingPhrase(msgspec.Struct):
    """Words, as tokens, and the concepts that they mean; a noun is one of the names by which a patient calls it."""

    words: Phrase
    concepts: list[str]
    noun: bool = False


def _nouns(concept: Concept, language: Language) -> tuple[str, ...]:
    return concept.en if language == "en" else concept.zh


def _phrases() -> dict[Language, dict[str, list[NamingPhrase]]]:
    """Returns the phrases of each language by their first token; to stem them all takes long."""
    found: dict[Language, dict[str, list[NamingPhrase]]] = {}
    for language in LANGUAGES:
        named: dict[Phrase, NamingPhrase] = {}
        for key, (_, concept) in concepts().items():
            nouns = _nouns(concept, language)
            for word in (*nouns, *(concept.also if language == "en" else ())):
                either = [word]
                if language == "zh" and _ABLE.search(word):
                    either.append(_ABLE.sub(lambda m: "得" if m[0] == "不" else "不", word))
                for form in either:
                    words = tuple(token.text for token in tokens(form, language))
                    phrase = named.setdefault(words, NamingPhrase(words, []))
                    if key not in phrase.concepts:
                        phrase.concepts.append(key)
                    phrase.noun = phrase.noun or form in nouns
        by_first: dict[str, list[NamingPhrase]] = found.setdefault(language, {})
        for phrase in named.values():
            by_first.setdefault(phrase.words[0], []).append(phrase)
    return found


def _sources() -> list[Path]:
    return [_LAY / f"{name}.yaml" for name in (*_FILES, "named")]


PHRASES = Compiled(
    _LAY / "phrases.msgpack",
    dict[Language, dict[str, list[NamingPhrase]]],
    sources=_sources,
    make=_phrases,
)
"""The phrases that name concepts."""


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
        self._phrases = PHRASES.table[language]
        self._ends: dict[str, str] = {}
        for key, (_, concept) in known.items():
            for made_of in concept.of:
                self.composed.setdefault(min(made_of), []).append((made_of, key))
            self.named[key] = next(iter(_nouns(concept, language)), "")
            self._ends.update(dict.fromkeys(concept.en_ends if language == "en" else concept.zh_ends, key))
        ends = sorted(self._ends, key=len, reverse=True)
        self._ending = re.compile(rf"\w{{2,}}?({'|'.join(ends)})s?$") if ends else re.compile("(?!)")

    def is_noun(self, text: str) -> bool:
        """Whether a text is one of the nouns by which a thing is named."""
        phrase = tuple(t.text for t in tokens(text, self.language))
        return bool(phrase) and any(one.noun and one.words == phrase for one in self._phrases.get(phrase[0], ()))

    def at_token(self, words: list[Token], start: int, text: str) -> tuple[int, list[str]]:
        """Returns how many tokens from `start` are the longest phrase there, and what it means; 0 where none begins."""
        found: tuple[int, list[str]] = (0, [])
        for phrase in self._phrases.get(words[start].text, ()):
            length = _length_of(phrase.words, words, start)
            # Of equally long ones, the words as they stand win over those with others between them.
            if length > found[0] or (length == found[0] and length and GAP not in phrase.words):
                found = (length, phrase.concepts)
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


_FELT = frozenset({"generic", "whole"})
_LONGEST_JOINT = 16  # characters of the longest word or phrase that denies or leads on
_QUALITIES = frozenset(
    ("onset course change severity character radiation where color form hours circumstance frequency length").split()
)
"""The kinds of concepts that say how something is."""
_NO_THINGS = _QUALITIES | {"parts", "plain", "idle", "functions"}


Joined = Literal["", "listed", "joined"]  # How a segment hangs on the one before it: not, by a comma, or by "and"
_joints = WORDS.section("meaning", dict[str, Pattern])
_breaks = WORDS.section("meaning_breaks", dict[str, dict[str, Joined]])


class Frame(msgspec.Struct, frozen=True):
    """One thing that a text speaks of.

    Attributes:
        things: the concepts that it is about, what is said of it first: symptoms, illnesses, medicines and so on.
        functions: what the body does, where it is spoken of ("sleep").
        named: the parts of the body that are named; of a thing that has its own place, those as well.
        places: those, and what they are parts of.
        manners: how it is: its onset, course, severity and so on.
        plain: words that mean little alone ("trouble", "less", "normal").
        either: things of which a word may mean any ("spots").
        given: things that are spoken of as known ("the cough").
        later: what is said of when it is ("when you walk").
        denied: the text denies it.
        begin, end: where it stands in the text.
        unread: whether words of it mean none of these.
    """

    things: tuple[str, ...]
    functions: tuple[str, ...]
    named: tuple[str, ...]
    places: frozenset[str]
    manners: tuple[str, ...]
    plain: frozenset[str]
    either: frozenset[str]
    given: frozenset[str]
    later: tuple[str, ...]
    denied: bool
    begin: int
    end: int
    unread: bool
    wide: frozenset[str]


class _Naming(msgspec.Struct):
    ids: list[str]
    begin: int
    end: int
    denied: bool
    later: bool
    given: bool


class _Segment(msgspec.Struct):
    mentions: list[_Naming]
    joined: Joined
    unread: int


@functools.lru_cache(maxsize=1 << 14)
def read(text: str, language: Language) -> tuple[Frame, ...]:
    """Returns the frames of a text in order; none where it names nothing that is known."""
    known = vocabulary(language)
    segments = [segment for segment in _Cutter(text, known).cut() if segment.mentions]
    frames = [_framed(segment, known) for segment in segments]
    joined = [segment.joined for segment in segments]
    found = _shared(frames, joined, known)
    return tuple(frame for one in found for frame in (one, *_lacking(one, known)))


@functools.lru_cache(maxsize=1 << 12)
def unread(text: str, language: Language) -> str:
    """Returns what of a text means nothing that is known, the rest as blanks."""
    cutter = _Cutter(text, vocabulary(language))
    cutter.cut()
    left = cutter.left
    return "".join(c if at in left else " " for at, c in enumerate(text))


class _Cutter:
    """Cuts a text into segments; what denies, and what leads on to a circumstance, holds to the end of its clause."""

    def __init__(self, text: str, known: Vocabulary) -> None:
        self._text, self._known, self._joints = text, known, _joints(known.language)
        self._breaks = _breaks(known.language)["breaks"]
        self._words = tokens(text, known.language)
        self.found = [_Segment([], joined="", unread=0)]
        self._denied = self._later = False
        self.left: set[int] = set()

    def cut(self) -> list[_Segment]:
        at = 0
        while at < len(self._words):
            length, ids = self._known.at_token(self._words, at, self._text)
            if length:
                self._mention(ids, self._words[at].begin, self._words[at + length - 1].end)
                at += length
            elif self._words[at].text in self._breaks:
                self._divide(self._breaks[self._words[at].text])
                at += 1
            else:
                at = self._turn(at)
        return self.found

    def _mention(self, ids: list[str], begin: int, end: int) -> None:
        if any(self._known.kind[i] != "idle" for i in ids):
            given = _is_given(self._text, begin, end, self._joints)
            mention = _Naming(ids, begin, end, denied=self._denied, later=self._later, given=given)
            self.found[-1].mentions.append(mention)

    def _divide(self, joined: Joined) -> None:
        now = self.found[-1]
        if now.mentions or now.unread:
            self.found.append(_Segment([], joined=joined, unread=0))
        elif now.joined != "":
            now.joined = joined
        self._denied, self._later = self._denied and joined != "", self._later and joined == "joined"

    def _turn(self, at: int) -> int:
        """Reads a word that means nothing by itself: it may deny, or lead on; returns where to go on."""
        joints, begin = self._joints, self._words[at].begin
        # In Chinese such words are of several tokens.
        here = self._text[begin : begin + _LONGEST_JOINT].casefold()
        if (word := joints["denies_again"].match(here)) is not None:
            self._denied = False
        elif (word := joints["denies"].match(here)) is not None:
            self._denied = True
        elif at and (word := joints["when"].match(here)) is not None:
            self._later = True
        elif (word := joints["past_when"].match(here)) is not None:
            for mention in self.found[-1].mentions:
                mention.later = True
        else:
            self.found[-1].unread += 1
            self.left.update(range(begin, self._words[at].end))
            return at + 1
        end = begin + max(word.end(), 1)
        return next((i for i in range(at, len(self._words)) if self._words[i].begin >= end), len(self._words))


def _is_given(text: str, begin: int, end: int, joints: Mapping[str, Pattern]) -> bool:
    """Whether a thing is spoken of as known, as what something else is asked of."""
    before, after = text[max(0, begin - 24) : begin], text[end : end + 8]
    return joints["given_before"].search(before) is not None or joints["given_after"].match(after) is not None


def _lacking(frame: Frame, known: Vocabulary) -> Iterator[Frame]:
    """Yields what a quality denies of its thing: "painless" is no pain there."""
    for manner in frame.manners:
        for thing in known.lacks.get(manner, ()):
            yield msgspec.structs.replace(frame, things=(thing,), manners=(), wide=known.above[thing], denied=True)


def _framed(segment: _Segment, known: Vocabulary) -> Frame:
    kind = known.kind
    named = [i for m in segment.mentions for i in m.ids]
    later = {i for m in segment.mentions if m.later for i in m.ids}
    # "Short of breath when you lie flat" names one thing, by what comes later.
    first = {i for m in segment.mentions if not m.later for i in m.ids}
    later -= {i for i in later if (known.above[i] - {i}) & first}
    # What the words say together.
    wide = frozenset(a for i in named for a in known.above[i])
    made: list[str] = []
    spent: set[str] = set()
    for one in wide:
        for made_of, key in known.composed.get(one, ()):
            if made_of <= wide and key not in named:
                made.append(key)
                spent |= made_of
    things = list(dict.fromkeys([*sorted(made), *(i for i in named if kind[i] not in _NO_THINGS)]))
    things = [i for i in things if i not in spent or i in made]
    if len(things) > 1:
        # "sore throat" is no lump that is sore: what is meant beside more special words of the same text goes.
        things = [i for i in things if not any(i != other and i in known.above[other] for other in things)]
    done = any(kind[i] == "functions" for m in segment.mentions if not m.later for i in m.ids)
    if done or any(kind[i] != "people" for i in things):
        # Who has it is no second thing that is spoken of.
        things = [i for i in things if kind[i] != "people"]
    head = [i for i in things if i not in later] or things
    if any(kind[i] in _FELT for i in head):
        # Who coughs at work is asked for the cough.
        later |= {i for i in head if kind[i] == "habits"}
        head = [i for i in head if i not in later]
    parts = [i for i in named if kind[i] == "parts"]
    parts = [p for p in parts if not any(p != other and p in known.above[other] for other in parts)]
    parts += [p for i in things for p in known.felt[i] if p not in parts]
    # "After eating" speaks of when it is, not of the eating.
    aside = {i for i in later if kind[i] == "functions"} - {i for m in segment.mentions if not m.later for i in m.ids}
    wide = frozenset(a for i in named if i not in aside for a in known.above[i])
    wide |= frozenset(a for i in made for a in known.above[i])
    wide |= frozenset(p for i in wide for p in known.eq[i])
    return Frame(
        things=tuple(head + [i for i in things if i in later and i not in head]),
        functions=tuple(
            dict.fromkeys(i for i in named if kind[i] == "functions" and i not in spent and i not in aside)
        ),
        named=tuple(parts),
        places=frozenset(p for part in parts for p in known.above[part]),
        manners=tuple(dict.fromkeys(i for i in named if kind[i] in _QUALITIES and i not in spent)),
        plain=frozenset(i for i in named if kind[i] == "plain" and i not in spent),
        either=frozenset(i for m in segment.mentions if len(m.ids) > 1 for i in m.ids if i in things),
        given=frozenset(i for m in segment.mentions if m.given for i in m.ids),
        later=tuple(i for i in things if i in later),
        denied=all(m.denied for m in [m for m in segment.mentions if not m.later] or segment.mentions),
        begin=segment.mentions[0].begin,
        end=segment.mentions[-1].end,
        unread=segment.unread > 0,
        wide=wide,
    )


def _shared(frames: list[Frame], joined: list[Joined], known: Vocabulary) -> list[Frame]:
    """Gives "pain or swelling in the knee" its knee twice, and "pain in the chest and arm" its pain."""
    given = False
    for at in range(len(frames) - 2, -1, -1):
        frame, beside = frames[at], frames[at + 1]
        # A comma belongs to the list that an "and" ends: "pain, swelling and redness of the knee".
        given = joined[at + 1] == "joined" or (joined[at + 1] == "listed" and given)
        given = given and bool(frame.things) and not frame.places and bool(beside.things) and bool(beside.places)
        if given:
            frames[at] = msgspec.structs.replace(frame, named=beside.named, places=beside.places)
    for at in range(1, len(frames)):
        frame, before = frames[at], frames[at - 1]
        if not joined[at] or frame.functions or before.functions:
            continue
        if not frame.things and frame.places and before.things and before.places:
            frames[at] = _with_things(frame, before, known)
        elif not before.things and before.places and frame.things:
            if joined[at] != "joined":
                # "And your ears, do they hurt?"
                if not frame.named and any(known.kind[i] == "generic" for i in frame.things):
                    frames[at] = msgspec.structs.replace(frame, named=before.named, places=before.places)
            elif frame.places:
                frames[at - 1] = _with_things(before, frame, known)
            elif any(known.kind[i] == "generic" for i in frame.things):
                frames[at] = msgspec.structs.replace(frame, named=before.named, places=before.places)
    return frames


def _with_things(frame: Frame, beside: Frame, known: Vocabulary) -> Frame:
    felt = {i for thing in beside.things for i in (thing, *known.eq[thing])}
    things = tuple(sorted(i for i in felt if known.kind[i] == "generic")) or beside.things
    wide = frame.wide.union(*(known.above[i] for i in things)) if things else frame.wide
    return msgspec.structs.replace(frame, things=things, wide=wide, denied=beside.denied)


SAME, USUAL, WIDER, BESIDE = 4, 3, 2, 1
"""How well one thing answers for another: it is that thing, what it is a trouble of is as usual, it is a wider thing
("cough" for "dry cough"), or of one kind."""

_BROAD = frozenset({"generic", "whole", "illnesses", "operations"})
_ONE_KIND = frozenset({"whole"})
ANYWHERE = frozenset({"body", "skin", "side"})
IN_MUSCLES = frozenset({"limb", "muscle"})  # Where it hurts if it hurts all over
_BY_ALL = frozenset({"exercise", "walking", "standing", "stairs", "moving", "lifting", "sleep"})
"""What the whole body does; where a part of it is asked for, its part must be told."""
_SIDES = frozenset({"left", "right"})


class Fit(msgspec.Struct, frozen=True, order=True):
    """How well a told frame answers an asked one: how like the thing is, and how much else of it is said too."""

    likeness: int
    besides: int


NONE = Fit(0, 0)


def fit(asked: Frame, told: Frame, known: Vocabulary) -> Fit:
    """Returns how well what is told answers what is asked; `NONE` where it does not."""
    likeness = _likeness(asked, told, known)
    if not likeness or not _same_side(asked, told):
        return NONE
    wanted = {*asked.things, *asked.functions, *asked.later, *asked.manners, *asked.named}
    return Fit(likeness, len(wanted & (told.wide | told.places | set(told.manners))))


def essential(asked: Frame) -> tuple[str, ...]:
    """Returns what an answer must be about: the things that are asked for, else what the body does."""
    head = tuple(i for i in asked.things if i not in asked.later)
    # "Does the lump hurt?" asks for the pain; that there is a lump is known.
    return tuple(i for i in head if i not in asked.given) or head or asked.functions


def _likeness(asked: Frame, told: Frame, known: Vocabulary) -> int:
    wanted = essential(asked)
    if "vaccine" in told.wide and "vaccine" not in asked.wide:
        # Who is protected from something has not had it.
        return 0
    if not wanted:
        at_it = bool(asked.named) and any(known.kind[i] in _BROAD for i in told.things)
        return WIDER if at_it and _same_place(asked, told, known) else 0
    # "Does the lump hurt?" asks for both; of an illness or a symptom with a name of its own any will do.
    found = {thing: _one(thing, asked, told, known) for thing in wanted}
    both = [found[i] for i in wanted if known.kind[i] == "generic" and i not in asked.either]
    others = [found[i] for i in wanted if known.kind[i] != "generic" and i not in asked.either]
    either = [found[i] for i in asked.either if i in found] if min(both, default=1) else []
    return max([min(both, default=0), *others, *either])


def _one(thing: str, asked: Frame, told: Frame, known: Vocabulary) -> int:
    if known.kind[thing] == "functions":
        here = _same_place(asked, told, known) if told.named else not (thing in _BY_ALL and set(asked.named) - ANYWHERE)
        return SAME if here and thing in told.wide else 0
    if not _same_place(asked, told, known) and (known.kind[thing] == "generic" or told.named):
        return 0
    if thing in told.wide:
        return SAME
    if (
        known.eq[thing]
        and _same_place(asked, told, known)
        and all(i in told.wide for i in known.eq[thing] if known.kind[i] != "parts")
    ):
        return SAME
    above = known.above[thing] - {thing}
    # A cough may be a dry one; phlegm is not yet blood in it.
    if (
        known.kind[thing] != "generic"
        and known.made_of[thing]
        and known.direct[thing] <= told.wide
        and any(i in above and known.kind[i] in _BROAD for i in told.things)
    ):
        return WIDER
    functions = {i for i in above if known.kind[i] == "functions" and i != "pregnancy"}
    if functions & set(told.functions) and ("normal" in told.plain or "same" in told.manners):
        return USUAL
    # One infection says nothing of another.
    kinds = {i for i in above if known.kind[i] in _ONE_KIND and i != "infection"}
    if any(kinds & known.above[i] for i in told.things if i not in above):
        return BESIDE
    if known.kind[thing] == "illnesses" and known.felt[thing] and not known.above[thing] - {thing, "chronic"}:
        # "Any lung trouble?" is answered by what is felt there.
        felt = {part for i in (*told.things, *told.functions) for part in known.felt[i]}
        return BESIDE if any(known.above[part] & asked.places for part in felt) else 0
    return 0


def _same_place(asked: Frame, told: Frame, known: Vocabulary) -> bool:
    wanted = [part for part in asked.named if part not in ANYWHERE]
    if not wanted:
        return True
    if any(part in told.places for part in wanted) or ("body" in told.named and asked.places & IN_MUSCLES):
        return True
    # A rash of the skin of the face is none on the back.
    had = [part for part in told.named if part not in ANYWHERE] or told.named
    return any(part in asked.places for part in had)


def _same_side(asked: Frame, told: Frame) -> bool:
    wanted, had = _SIDES & set(asked.manners), _SIDES & set(told.manners)
    return not wanted or not had or bool(wanted & had) or not told.named


def best_fit(asked: Frame, told: Iterable[Frame], known: Vocabulary) -> tuple[Fit, bool]:
    """Returns the best fit among the frames of one statement, and whether the statement denies it there."""
    fits = [(fit(asked, frame, known), not frame.denied) for frame in told]
    best = max(fits, default=(NONE, True))
    return best[0], not best[1]
