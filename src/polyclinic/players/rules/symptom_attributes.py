"""What a story holds of how something is: since when, how bad, what makes it worse.

It is told of the very thing, in the part of the body that is asked for. A question that names neither is about the
complaint, unless it has words that mean something else, or presumes what is not there ("when you blacked out").
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from polyclinic.language.language import Language
from polyclinic.language.word_lists import Pattern
from polyclinic.players.rules.lay_vocabulary import (
    ANYWHERE,
    BESIDE,
    NONE,
    SAME,
    WIDER,
    Frame,
    best_fit,
    essential,
    fit,
    read,
    vocabulary,
)
from polyclinic.players.rules.questions import Part, occasions, other_words, takes_any
from polyclinic.players.rules.sayings import WORDS
from polyclinic.players.rules.story import Fact, Story

BY_DOING = {
    "on_exertion": frozenset({"exercise", "walking", "stairs", "lifting", "moving"}),
    "with_meals": frozenset({"appetite", "diet", "swallowing", "chewing", "taste", "smell", "digestion", "stool"}),
    "with_movement": frozenset({"moving", "walking"}),
    "with_breath": frozenset({"breathing"}),
    "with_position": frozenset({"standing", "moving"}),
    "at_night": frozenset({"sleep"}),
}
"""What the body does in a circumstance: it tells the circumstance, and who asks for it does not ask for that."""

ALIKE = tuple(
    map(frozenset, (("with_movement", "with_position"), ("with_movement", "on_exertion"), ("with_position", "at_rest")))
)
"""Circumstances that may be one."""


class Attribute(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way in which something can be."""

    name: str
    asked: Pattern  # how it is asked for
    groups: tuple[str, ...] = ()  # the groups of qualities that tell it
    told: Pattern | None = None  # how it reads where no quality tells it, a time or a number
    unlike: Pattern | None = None  # how what tells something else reads, whatever it says besides
    place: bool = False  # a part of the body tells it
    open: bool = False  # whatever is said of the thing tells it

    @property
    def needs_thing(self) -> bool:
        """Whether it asks nothing where no thing is named: "How do you feel?", "Where is it wrong?"."""
        return self.open or self.place or "character" in self.groups

    def is_told(self, fact: Fact) -> bool:
        """Whether a fact tells it."""
        if self.unlike is not None and self.unlike.search(fact.text):
            return False
        if self.told is not None and self.told.search(fact.text):
            return True
        if self.place and any(frame.named for frame in fact.frames):
            return True
        return self.is_quality(fact)

    def is_quality(self, fact: Fact) -> bool:
        """Whether a quality of one of its groups is told."""
        kinds = vocabulary(fact.language).kind
        return any(kinds[manner] in self.groups for manner in fact.manners)


_section = WORDS.section("attributes", dict[str, tuple[Attribute, ...]])


def attributes_of(text: str, language: Language, asked: tuple[Part, ...]) -> tuple[Attribute, ...]:
    """Returns what a question asks of something or of the illness; none where it asks whether something is there."""
    known = _section(language)["attributes"]
    found = [one for one in known if one.asked.search(text)]
    if found:
        # "How long does it last?" asks for no beginning, nor does "When is it worse?".
        names = {one.name for one in found}
        wider = {"time" if names & {"length", "frequency", "trigger"} else "", "where" if "side" in names else ""}
        return tuple(one for one in found if one.name not in wider)
    kinds = vocabulary(language).kind
    # "Is the pain constant?" asks how it is; "Do you have severe headaches?" whether there are any.
    frames = [
        frame
        for part in asked
        if not part.listed or not any(essential(one) or one.named for one in part.frames)
        for frame in part.frames
    ]
    if any(essential(frame) for frame in frames) and any(essential(f) and not _said(f) for f in frames):
        # "Is your nose blocked, or is there more discharge?" asks whether each is there.
        return ()
    groups = {kinds[manner] for frame in frames for manner in _said(frame)}
    return tuple(one for one in known if groups & set(one.groups) and not one.open)


def _said(frame: Frame) -> list[str]:
    """Returns how the thing is that a frame names, without what goes with what the body does."""
    return [
        manner
        for manner in frame.manners
        if manner not in frame.later and not (BY_DOING.get(manner, frozenset()) & frame.wide and essential(frame))
    ]


_COMES_OUT = frozenset({"bleeding", "pus", "discharge"})
_TROUBLE = frozenset({"trouble", "hard", "change", "irregular"})


def held(part: Part, story: Story, most: int = 2) -> list[Fact]:
    """Returns the facts that hold a part of a question, what affirms it first."""
    facts = [] if part.symptom is None else story.with_symptom(part.symptom)
    if facts:
        return (_of_the_thing(part, facts, story) or facts)[:most]
    asking = [frame for frame in part.frames if essential(frame)]
    # "Any trouble with your throat?" leaves the throat behind what leads on to it.
    if asking or any(f.named and (f.plain & _TROUBLE or (part.listed and not f.unread)) for f in part.frames):
        return [fact for frame in (asking or part.frames) for fact in story.meaning(frame, most=most)]
    return [] if any(frame.named or frame.later for frame in part.frames) else story.best(part.terms)


def _of_the_thing(part: Part, facts: list[Fact], story: Story) -> list[Fact]:
    """Returns the facts of the very thing where those of its symptom speak of another: of vomiting, not of nausea."""
    affirmed = [fact for fact in facts if not fact.denied]
    if not affirmed or not all(is_beside(part, fact, story) for fact in affirmed):
        return []
    known = vocabulary(story.language)
    asking = [frame for frame in part.frames if essential(frame)]
    others = [f for f in story.facts if all(best_fit(one, f.frames, known)[0].likeness == SAME for one in asking)]
    return sorted(others, key=lambda f: f.denied)


def is_beside(part: Part, fact: Fact, story: Story) -> bool:
    """Whether a fact tells of a symptom that may go with the one that is asked for, and not of that."""
    asking = [frame for frame in part.frames if essential(frame)]
    if not asking:
        # A question in the knowledge's own words; the vocabulary may never be needed.
        return False
    known = vocabulary(story.language)
    if any(known.kind[i] != "whole" for frame in asking for i in essential(frame)):
        return False
    another = any(known.kind[i] == "whole" for frame in fact.frames for i in frame.things)
    return another and all(best_fit(frame, fact.frames, known)[0].likeness <= BESIDE for frame in asking)


def without_place(part: Part, story: Story) -> tuple[list[Fact], bool]:
    """Returns what is told of something that comes out and not where, and whether it is of the place that is asked for.

    Where it comes from goes without saying in a sentence or a complaint that names the place.
    """
    asking = [frame for frame in part.frames if _COMES_OUT.issuperset(essential(frame)) and essential(frame)]
    found: list[Fact] = []
    here = False
    for asked in asking:
        wanted = set(essential(asked))
        for fact in story.facts:
            of_it = [f for f in fact.frames if wanted & f.wide and not f.named and not f.denied]
            if not of_it or fact.denied or fact.of_family or not asked.named:
                continue
            around = (f for f in story.facts if f.sentence == fact.sentence or f.section == "complaint")
            is_here = any(set(asked.named) & f.places for one in around for f in one.frames)
            found = [fact, *found] if is_here and not here else [*found, fact]
            here = here or is_here
    return found, here


_CIRCUMSTANCES = frozenset({"circumstance", "hours"})
"""What each has nothing to say of another: who is worse in the cold need not be better in the warm."""
_FELT = frozenset({"generic", "whole"})
_CAUSES = frozenset({"trigger", "relief"})
_OF_DEGREE = frozenset({"course", "frequency", "severity"})
_SEVERAL = 2
_PRESUMED = frozenset({"generic", "whole", "functions", "illnesses", "operations"})
_TIME = "time"
_AGAIN = "recurrent"
_ANOTHER = frozenset({"illnesses", "operations"})
_COUNTED = frozenset({"time", "amount", "size", "frequency", "length", "where"})
"""What only a number, a time or a place tells."""


def how_it_is(
    how: tuple[Attribute, ...], asked: tuple[Part, ...], text: str, story: Story, *, is_open: bool
) -> list[Fact] | None:
    """Returns the facts that tell how something is, at most two; None where the thing itself is not there."""
    frames = [frame for part in asked for frame in part.frames]
    names, at_places = {one.name for one in how}, all(one.place for one in how)
    subjects = [frame for frame in frames if essential(frame) and not (names & _CAUSES and _is_occasion(frame, story))]
    subjects = _of_place(subjects, story)
    about = [f for part in asked if any(one in subjects for one in part.frames) for f in held(part, story, most=8)]
    about = [fact for fact in about if not (fact.denied or _is_denied(fact, subjects, story))]
    if _TIME in names:
        # What a complaint lists has lasted as long as the complaint, though it may be told by itself as well.
        same = {symptom for fact in about for symptom in fact.direct}
        about += [f for f in story.section("complaint") if f not in about and f.direct & same]
    if subjects and not about:
        return None
    elsewhere = [] if subjects else _presumed(text, story, frames, is_open=is_open)
    if elsewhere:
        about = [fact for frame in elsewhere for fact in story.meaning(frame, most=8) if not fact.denied]
        if not about:
            return []
    circumstance = frozenset() if is_open or takes_any(text, story.language) else _circumstance(frames, story)
    manners = {manner for frame in frames for manner in frame.manners}

    others = _FELT | (_ANOTHER if names <= _COUNTED and subjects else frozenset())
    given = _places_given(frames, subjects, story)

    again = names & _CAUSES and any(_AGAIN in frame.manners for frame in read(text, story.language))

    def tells(one: Attribute, fact: Fact) -> bool:
        if again and (_AGAIN in fact.manners or any("similar_before" in frame.wide for frame in fact.frames)):
            return True
        return one.is_told(fact) and (
            not one.place or one.is_quality(fact) or _tells_place(fact, subjects, given, story)
        )

    def said(facts: Iterable[Fact]) -> list[Fact]:
        fitting = [f for f in facts if not (f.denied or (f.is_measured and not f.of_temperature))]
        fitting = [f for f in fitting if f in about or not f.of_vaccine]
        fitting = [f for f in fitting if any(tells(one, f) for one in how) and _is_so(f, circumstance)]
        fitting = [f for f in fitting if f in about or not _is_of_another(f, subjects or elsewhere, story, others)]

        # Where a part of the body is told, what else is said of where it is answers less.
        fitting = [f for f in fitting if at_places and _tells_place(f, subjects, given, story)] or fitting

        def order(f: Fact) -> tuple[int, bool, bool]:
            spelt = any(one.told is not None and one.told.search(f.text) for one in how)
            return -len(manners & f.manners), not any(one.is_quality(f) for one in how), not spelt

        return sorted(fitting, key=order)

    sentences = {fact.sentence: fact.number for fact in about}
    near = [f for f in story.facts if f.sentence in sentences and f not in about]
    near.sort(key=lambda f: abs(f.number - sentences[f.sentence]))
    told = said(about) or said(near)
    if not told and not elsewhere and _is_of_complaint(about, how, text, story):
        told = said(story.section("complaint"))
        # Where it is, is told of the complaint alone; a part of the body elsewhere belongs to something else.
        if not all(one.place for one in how) and not any(one.is_quality(fact) for one in how for fact in told):
            among = ("present", "symptoms", "review", *(("medications", "past", "personal") if names & _CAUSES else ()))
            more = said(f for f in story.section(*among) if not f.is_finding)
            told = [f for f in more if any(one.is_quality(f) for one in how)] or told or more
    counted = all(one.name in _COUNTED for one in how) and not all(frame.functions for frame in subjects)
    one_of = len({m for frame in frames for m in frame.manners}) < _SEVERAL
    if (
        not told
        and subjects
        and names <= _OF_DEGREE
        and one_of
        and all(_is_the_same(fact, subjects, story) for fact in about)
    ):
        # Whether it is always there or bad, who has it knows: what is recorded of it is told.
        told = about
    if not told and (is_open or any(one.open for one in how)) and not counted:
        told = [fact for fact in about if not fact.is_finding]
    if not told and subjects and "trigger" in names:
        # Who feels bad near cats says so in whatever words.
        kinds = vocabulary(story.language).kind
        told = about if all(kinds[i] == "exposures" for frame in subjects for i in essential(frame)) else []
    if not told and any(part.listed for part in asked) and not (is_open and counted and subjects):
        return None
    return told[:2]


def _presumed(text: str, story: Story, frames: list[Frame], *, is_open: bool) -> list[Frame]:
    """Returns what a question that names no thing takes for granted: a part of the body, or what else was there."""
    placed = [frame for frame in frames if set(frame.named) - ANYWHERE]
    if placed or not is_open:
        return placed
    kinds = vocabulary(story.language).kind
    return [f for f in occasions(text, story.language) if any(kinds[i] in _PRESUMED for i in essential(f))]


def _is_occasion(frame: Frame, story: Story) -> bool:
    """Whether a frame names what the body does as a circumstance of something else ("anything you eat")."""
    kinds = vocabulary(story.language).kind
    done = {i for manner in frame.manners for i in BY_DOING.get(manner, ())}
    return bool(done) and all(kinds[i] == "functions" and i in done for i in essential(frame))


def _circumstance(frames: list[Frame], story: Story) -> frozenset[str]:
    """Returns the one circumstance that a question names; none where it asks which of several."""
    kinds = vocabulary(story.language).kind
    named = {
        m
        for frame in frames
        for m in frame.manners
        if kinds[m] in _CIRCUMSTANCES and m != "time_of_day" and not BY_DOING.get(m, frozenset()) & frame.wide
    }
    return frozenset(named) if len(named) == 1 else frozenset()


def _is_so(fact: Fact, circumstance: frozenset[str]) -> bool:
    if (
        not circumstance
        or any(circumstance <= like and fact.manners & like for like in ALIKE)
        or (circumstance & fact.manners)
    ):
        return True
    return any(BY_DOING.get(one, frozenset()) & frame.wide for one in circumstance for frame in fact.frames)


def _is_the_same(fact: Fact, subjects: list[Frame], story: Story) -> bool:
    known = vocabulary(story.language)
    return any(fit(one, frame, known).likeness == SAME for one in subjects for frame in fact.frames)


def _of_place(subjects: list[Frame], story: Story) -> list[Frame]:
    """Returns what is asked for without what only says again what is in a part of the body ("..., does it hurt?")."""
    kinds = vocabulary(story.language).kind
    placed = [frame for frame in subjects if set(frame.named) - ANYWHERE]
    bare = [f for f in subjects if f not in placed and all(kinds[i] == "generic" for i in essential(f))]
    return [frame for frame in subjects if not placed or frame not in bare]


def _is_denied(fact: Fact, subjects: list[Frame], story: Story) -> bool:
    """Whether a fact denies all that it says of what is asked for ("no lump was felt")."""
    known = vocabulary(story.language)
    fitting = [frame for one in subjects for frame in fact.frames if fit(one, frame, known) != NONE]
    return bool(fitting) and all(frame.denied for frame in fitting)


def _places_given(frames: list[Frame], subjects: list[Frame], story: Story) -> frozenset[str]:
    """Returns the places that answer no "where": those a question names, and where what it names is always felt."""
    known = vocabulary(story.language)
    own = {part for frame in subjects for thing in frame.things for part in known.felt[thing]}
    return frozenset({part for frame in frames for part in frame.named} | own)


def _tells_place(fact: Fact, subjects: list[Frame], given: frozenset[str], story: Story) -> bool:
    """Whether a fact tells where what is asked for is, more than the question itself says."""
    known = vocabulary(story.language)
    of_it = [
        f
        for f in fact.frames
        if not subjects or not f.things or any(fit(s, f, known).likeness >= WIDER for s in subjects)
    ]
    return any(set(frame.named) - given for frame in of_it)


def _is_of_another(fact: Fact, asked: list[Frame], story: Story, kinds: frozenset[str] = _FELT) -> bool:
    """Whether a fact names something that is felt, or of other kinds, and nothing of what is asked for."""
    known = vocabulary(story.language)
    named = [f for f in fact.frames if any(known.kind[thing] in kinds for thing in essential(f))]
    return bool(asked and named) and not any(fit(one, frame, known) != NONE for one in asked for frame in fact.frames)


def _is_of_complaint(about: list[Fact], how: tuple[Attribute, ...], text: str, story: Story) -> bool:
    """Whether what is asked may be of the complaint: of the thing itself, or of nothing that has a name."""
    if about:
        return any(fact.section == "complaint" or fact.terms & story.topic for fact in about)
    others = other_words(text, story.language)
    for one in how:
        # The words that ask how something is name nothing else.
        others &= other_words(one.asked.sub(" ", text), story.language)
    return not others or any(fact.terms & others for fact in story.section("complaint"))
