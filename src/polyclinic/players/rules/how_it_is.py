"""What a story holds of how something is: since when, how bad, what makes it worse.

It is told of the very thing, in the part of the body that is asked for. A question that names neither is about the
complaint, unless it has words that mean something else, or presumes what is not there ("when you blacked out").
"""

from __future__ import annotations

from collections.abc import Iterable

from polyclinic.players.rules.attributes import ALIKE, BY_DOING, Attribute
from polyclinic.players.rules.held import held
from polyclinic.players.rules.matching import ANYWHERE, NONE, SAME, WIDER, essential, fit
from polyclinic.players.rules.meaning import Frame, read
from polyclinic.players.rules.questions import Part, occasions, other_words, takes_any
from polyclinic.players.rules.story import Fact, Story
from polyclinic.players.rules.vocabulary import vocabulary

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
        and all(_is_very(fact, subjects, story) for fact in about)
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


def _is_very(fact: Fact, subjects: list[Frame], story: Story) -> bool:
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
