"""Reading a text into what it means: frames of a thing, where it is, how it is, and whether it is denied."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Literal

import msgspec

from polyclinic.language.language import Language
from polyclinic.language.word_lists import Pattern
from polyclinic.players.rules.vocabulary import Vocabulary, tokens, vocabulary
from polyclinic.players.rules.words import WORDS

_NOT_THINGS = frozenset({"parts", "plain", "idle"})
_FELT = frozenset({"generic", "whole"})
_LONGEST_JOINT = 16  # characters of the longest word or phrase that denies or leads on
_QUALITIES = frozenset(
    ("onset course change severity character radiation where color form hours circumstance frequency length").split()
)
"""The kinds of concepts that say how something is."""


class _Hinges(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    breaks: dict[str, Joined]
    denies: Pattern
    denies_again: Pattern
    when: Pattern
    past_when: Pattern
    given_before: Pattern
    given_after: Pattern


_joints = WORDS.section("meaning", _Hinges)


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


Joined = Literal["", "listed", "joined"]
"""How a segment hangs on the one before it: not, by a comma, or by "and"."""


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
            elif self._words[at].text in self._joints.breaks:
                self._divide(self._joints.breaks[self._words[at].text])
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
        if (word := joints.denies_again.match(here)) is not None:
            self._denied = False
        elif (word := joints.denies.match(here)) is not None:
            self._denied = True
        elif at and (word := joints.when.match(here)) is not None:
            self._later = True
        elif (word := joints.past_when.match(here)) is not None:
            for mention in self.found[-1].mentions:
                mention.later = True
        else:
            self.found[-1].unread += 1
            self.left.update(range(begin, self._words[at].end))
            return at + 1
        end = begin + max(word.end(), 1)
        return next((i for i in range(at, len(self._words)) if self._words[i].begin >= end), len(self._words))


def _is_given(text: str, begin: int, end: int, joints: _Hinges) -> bool:
    """Whether a thing is spoken of as known, as what something else is asked of."""
    before, after = text[max(0, begin - 24) : begin], text[end : end + 8]
    return joints.given_before.search(before) is not None or joints.given_after.match(after) is not None


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
    things = list(dict.fromkeys([*sorted(made), *(i for i in named if _is_thing(kind[i]))]))
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


def _is_thing(kind: str) -> bool:
    return kind not in _NOT_THINGS and kind not in _QUALITIES and kind != "functions"


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
