"""What a patient recalls of its record when it is asked something: the facts to tell, and what is not there.

A question asks for a topic of the history ("Which medicines do you take?"), for how something is ("Is it worse at
night?"), or for things by their names, each a part of the question. What the record holds is told. Of the rest, a
symptom is denied; of anything else, and of how something is, the patient does not know.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.language.content_words import terms
from polyclinic.language.language import Language
from polyclinic.language.word_lists import Pattern
from polyclinic.players.rules.lay_vocabulary import (
    ANYWHERE,
    IN_MUSCLES,
    NONE,
    USUAL,
    Frame,
    Vocabulary,
    concepts,
    essential,
    fit,
    read,
    unread,
    vocabulary,
)
from polyclinic.players.rules.questions import Part, headings, is_open, parts, refers_back, spoken, without_context
from polyclinic.players.rules.sayings import WORDS
from polyclinic.players.rules.story import Fact, Story
from polyclinic.players.rules.symptom_attributes import (
    ALIKE,
    BY_DOING,
    Attribute,
    attributes_of,
    held,
    how_it_is,
    is_beside,
    without_place,
)
from polyclinic.players.rules.topics import Topic, beside_topics, lack_of_past, names_thing, same_topics, topics_of
from polyclinic.yaml_files import read_yaml

_OF_WHAT_KIND = frozenset({"color", "form", "character", "hours", "circumstance", "radiation"})
"""What kinds of qualities make a thing another one; since when and how bad it is do not."""
_ASKS_FOR_ONE = frozenset({"time_of_day", "what_color", "what_like", "located", "size"})
_NO_REGION = ANYWHERE | {"joint", "bone", "muscle", "nerve", "vein"}
_SOMEBODY = frozenset({"mother", "father", "parent", "sibling", "child", "grandparent", "other_relative", "partner"})
_BRINGS_IT = frozenset({"exposures", "medicines"})
_TAKEN = frozenset({"food_eaten", "smoking", "alcohol", "caffeine", "betel", "street_drugs"})
_MOVING = frozenset({"moving"})
_COMES_OUT = frozenset({"bleeding", "pus", "discharge"})
_COMES_WITH = frozenset({"generic", "whole", "occasions"})


def answers(part: Part, fact: Fact, story: Story) -> bool:
    """Whether a fact that holds a part of a question answers it."""
    asked = [frame for frame in part.frames if essential(frame)]
    if not asked:
        return True
    known = vocabulary(story.language)
    around = [frame for f in story.facts if f.sentence == fact.sentence for frame in f.frames]
    by_symptom = part.symptom is not None and part.symptom in fact.symptoms
    return any(
        (_is_told(frame, fact, known) or (by_symptom and not _is_placed_elsewhere(frame, fact, known)))
        and _with_all(frame, around, known)
        and not (_others(frame, story) and not any(_others(frame, story) & told.wide for told in around))
        for frame in asked
    )


def _is_told(asked: Frame, fact: Fact, known: Vocabulary) -> bool:
    """Whether one of a fact's frames is the thing that is asked for, in its place."""
    # Who chokes on drinks is asked for the choking: that something is drunk is no answer.
    brings = _triggers(asked, known)
    it = msgspec.structs.replace(asked, things=tuple(i for i in asked.things if i not in brings)) if brings else asked
    return any(fit(it, told, known).likeness >= USUAL and not _is_elsewhere(it, told, known) for told in fact.frames)


def _is_placed_elsewhere(asked: Frame, fact: Fact, known: Vocabulary) -> bool:
    """Whether a fact tells of the thing that is asked for in another place alone."""
    wanted = set(essential(asked))
    of_it = [told for told in fact.frames if wanted & told.wide or fit(asked, told, known) != NONE]
    return bool(of_it) and all(_is_elsewhere(asked, told, known) for told in of_it)


def _is_elsewhere(asked: Frame, told: Frame, known: Vocabulary) -> bool:
    """Whether a place is asked for, and what is told is of another or of the body in general.

    A region holds its parts: what is felt in the hand may be felt in a finger. Joints are no region.
    """
    of_itself = {part for thing in asked.things for part in known.felt[thing]}
    wanted = [part for part in asked.named if part not in ANYWHERE and part not in of_itself]
    if not wanted or not told.named or any(part in told.places for part in wanted):
        return False
    if "body" in told.named and asked.places & IN_MUSCLES:
        return False
    return not any(part in asked.places for part in told.named if part not in _NO_REGION)


def _others(asked: Frame, story: Story) -> frozenset[str]:
    """Returns who else's trouble is asked for: a relative's, and not the patient's own."""
    own = story.is_child or "pregnancy" in asked.wide
    return (asked.wide & _SOMEBODY) - (frozenset({"child"}) if own else frozenset())


def _with_all(asked: Frame, told: list[Frame], known: Vocabulary) -> bool:
    """Whether what is told has the qualities, circumstances and triggers that are asked for."""
    qualities = (m for m in asked.manners if known.kind[m] in _OF_WHAT_KIND and m not in _ASKS_FOR_ONE)
    return all(_is_so(one, told) for one in qualities) and all(
        any(one in frame.wide for frame in told) for one in _triggers(asked, known)
    )


def _triggers(asked: Frame, known: Vocabulary) -> list[str]:
    head = essential(asked)
    # Blood that is coughed up is no other blood.
    comes = any(i in _COMES_OUT for i in head)
    named = [
        i
        for i in asked.things
        if (comes and known.kind[i] == "whole" and i in head and i not in asked.either)
        or (known.kind[i] in _BRINGS_IT and i != "sick_contact")
        or i in _TAKEN
        or (i in asked.later and known.kind[i] in _COMES_WITH)
    ]
    return named if len(named) < len(asked.things) else []


def _is_so(quality: str, told: list[Frame]) -> bool:
    wanted = {quality}.union(*(like for like in ALIKE if quality in like))
    # Who is short of breath in moving need not be so in lying.
    done = BY_DOING.get(quality, frozenset()) - (_MOVING if quality == "with_position" else frozenset())
    return any(wanted & set(frame.manners) or done & (frame.wide | set(frame.functions)) for frame in told)


_HALF = 0.5


_narrowing = WORDS.section("narrowing", dict[str, Pattern])


@functools.cache
def _purposes() -> dict[str, frozenset[str]]:
    """Returns what each class of medicines is taken for."""
    found = read_yaml(Path(__file__).with_name("lay") / "purposes.yaml", dict[str, frozenset[str]])
    for name, those in found.items():
        for one in (name, *those):
            if one not in concepts():
                raise ValueError(f"purposes.yaml: {one} is no concept")
    return found


def for_sake(facts: Iterable[Fact], sake: list[Frame], story: Story) -> tuple[list[Fact], bool]:
    """Returns those of the facts that tell what is taken for the sake of something, and whether that is certain.

    Certain is what stands in one sentence with it, and a medicine that is for it; what is for something else is left
    out.
    """
    known = vocabulary(story.language)
    wanted = {one for frame in sake for one in (*frame.wide, *(frame.places - ANYWHERE), *frame.functions)}
    certain: list[Fact] = []
    unsure: list[Fact] = []
    others = False
    for fact in facts:
        around = (frame for f in story.facts if f.sentence == fact.sentence for frame in f.frames)
        taken = {i for frame in fact.frames for i in frame.things if known.kind[i] == "medicines"}
        classes = {above for i in taken for above in known.above[i]} & _purposes().keys()
        if any(_purposes()[one] & wanted for one in classes) or any(
            fit(one, told, known) != NONE for one in sake for told in around
        ):
            certain.append(fact)
        elif classes:
            others = True
        else:
            unsure.append(fact)
    return (certain, True) if certain else ([f for f in unsure if not (others and _is_drug(f))], False)


def _is_drug(fact: Fact) -> bool:
    known = vocabulary(fact.language)
    return any(known.kind[i] == "medicines" for frame in fact.frames for i in frame.things)


def is_there(frame: Frame, story: Story) -> bool:
    """Whether something is told of a thing, or of the part of the body where it is felt."""
    parts_of_body = set(frame.named) - ANYWHERE
    near = any(parts_of_body & told.places for fact in story.facts for told in fact.frames if not fact.denied)
    return near or any(not fact.denied for fact in story.meaning(frame))


def not_set_apart(fact: Fact, text: str, topic: str) -> bool:
    """Whether a fact of a topic is none that a question sets apart ("other than the insulin", "before the hernia")."""
    return not any(len(wanted & fact.terms) > _HALF * len(wanted) for wanted in _set_apart(text, topic, fact.language))


@functools.lru_cache(maxsize=1024)
def _set_apart(text: str, topic: str, language: Language) -> tuple[frozenset[str], ...]:
    words = _narrowing(language)
    found = words["set_apart"].findall(text)
    if topic == "operations":
        found += words["earlier"].findall(text)
    known = (frozenset(terms(said, language)) for said in found)
    return tuple(wanted for wanted in known if wanted)


_FELT = frozenset({"generic", "whole"})
_CAUGHT = frozenset({"infection", "infectious_disease", "sick_contact"})
_NOT_THEIRS = frozenset({"similar_before"})
_NO_PERSON = frozenset({"dust", "animals", "pollen", "water", "travel", "living"})
_AT_MOST = 2


_others_asked = WORDS.section("others", dict[str, Pattern])


@functools.lru_cache(maxsize=4096)
def asks_of_others(text: str, language: Language, *, of_family: bool = False) -> bool:
    """Whether a question asks if somebody around the patient has some trouble; of the family, one that is caught."""
    words, known = _others_asked(language), vocabulary(language)
    found = words["asked"].search(text)
    if found is None or words["otherwise"].search(text):
        return False
    said = found[0]
    named = {thing for frame in read(said, language) for thing in (*essential(frame), *frame.things)} - _NOT_THEIRS
    kinds = _FELT if of_family else _FELT | {"illnesses"}
    return words["same"].search(said) is not None or any(
        known.kind[thing] in kinds or known.above[thing] & _CAUGHT for thing in named
    )


def told_of_others(story: Story, *, of_family: bool = False) -> tuple[Fact, ...]:
    """Returns what is known of others who were ill; of the family, only that there was somebody."""
    words = _others_asked(story.language)
    found = [
        fact
        for fact in story.facts
        if fact.section != "family"
        and (words["told"].search(fact.text) or _is_of_contact(fact))
        and not (words["unlike"].search(fact.text) or (of_family and fact.denied))
    ]
    return tuple(sorted(found, key=lambda fact: fact.denied)[:_AT_MOST])


def _is_of_contact(fact: Fact) -> bool:
    return not fact.denied and any("sick_contact" in f.wide and not f.wide & _NO_PERSON for f in fact.frames)


_CYCLE = 28.0  # days
_PERIODS = frozenset({"periods", "missed_periods", "irregular_periods"})
_MISSED = "missed_period"


_words = WORDS.section("last_period", dict[str, Pattern])
_numbers = WORDS.section("period_numbers", dict[str, dict[str, float]])


class LastPeriod(msgspec.Struct, frozen=True):
    """What is told of a last period."""

    told: tuple[Fact, ...]  # the facts that tell it
    late: bool | None = None  # whether the next one is late, where that is asked and can be told; else None


def last_period(text: str, story: Story) -> LastPeriod | None:
    """Returns what answers a question for the last period, the first or a late one, perhaps nothing; None: for else."""
    words = _words(story.language)
    if _is_of_periods(text, story.language) and words["other"].search(text) and not words["unsure"].search(text):
        return LastPeriod(tuple(fact for fact in story.facts if words["other"].search(fact.text)))
    when, late = _asks_when(text, story.language), _asks_late(text, story.language)
    told = _told(story) if when or late else []
    if not told and not when:
        return None
    return LastPeriod(tuple(told[:2]), _is_late(told, story) if late and not when else None)


def _asks_when(text: str, language: Language) -> bool:
    words = _words(language)
    if not _is_of_periods(text, language):
        return False
    if words["since"].search(text):
        return True
    how = {one.name for one in attributes_of(text, language, ())}
    return is_open(text, language) and words["last"].search(text) is not None and "time" in how


def _asks_late(text: str, language: Language) -> bool:
    words = _words(language)
    if is_open(text, language) and not words["since"].search(text):
        return _is_of_periods(text, language) and words["late"].search(text) is not None
    return words["late_alone"].search(text) is not None or (
        words["late"].search(text) is not None and _is_of_periods(text, language)
    )


def _is_of_periods(text: str, language: Language) -> bool:
    """Whether a question speaks of periods as such, and of no pain or bleeding in them."""
    # What stands behind "since" or "when" would be no more than when something is.
    frames = read(_words(language)["joint"].sub(",", text), language)
    return any(_PERIODS & frame.wide for frame in frames) and all(_PERIODS.issuperset(essential(f)) for f in frames)


def _told(story: Story) -> list[Fact]:
    own = [fact for fact in story.facts if not fact.denied and not fact.of_family]
    last = [fact for fact in own if _is_of_last(fact)]
    return last or [fact for fact in own if _is_missed(fact)]


def _is_of_last(fact: Fact) -> bool:
    words = _words(fact.language)
    if words["other"].search(fact.text):
        return False
    return words["last"].search(fact.text) is not None or (
        _ago(fact) is not None and any(_PERIODS & frame.wide for frame in fact.frames)
    )


def _is_missed(fact: Fact) -> bool:
    """Whether a fact speaks of a period that was missed or is late, be it denied."""
    of_periods = any(_PERIODS & frame.wide for frame in fact.frames)
    return _MISSED in fact.direct or (of_periods and _words(fact.language)["late"].search(fact.text) is not None)


def _is_late(told: list[Fact], story: Story) -> bool | None:
    words = _words(story.language)
    if any(words["unsure"].search(fact.text) for fact in told):
        return None
    missed = [fact.denied for fact in story.facts if _is_missed(fact) and not fact.of_family]
    if not all(missed):
        return True
    ago = next((days for fact in told if (days := _ago(fact)) is not None), None)
    if ago is None or missed:
        return None
    cycles = [days for fact in story.facts if (days := _cycle(fact)) is not None]
    return ago > max(cycles, default=_CYCLE)


def _ago(fact: Fact) -> float | None:
    """Returns how many days ago a fact says that it was, the fewest of a range."""
    words = _words(fact.language)
    for piece in words["apart"].split(fact.text):
        told = words["ago"].search(piece)
        if told is not None and (span := words["span"].search(told[0])) is not None:
            return _days(span, fact.language)[0]
    return None


def _cycle(fact: Fact) -> float | None:
    """Returns the days of the cycle that a fact tells, the most of a range."""
    words = _words(fact.language)
    pieces = [piece for piece in words["apart"].split(fact.text) if words["cycle"].search(piece)]
    lengths = [
        _days(span, fact.language)[1]
        for piece in pieces
        for span in words["span"].finditer(words["ago"].sub(" ", piece))
    ]
    return lengths[0] if lengths and any(_PERIODS & frame.wide for frame in fact.frames) else None


def _days(span: re.Match[str], language: Language) -> tuple[float, float]:
    """Returns the fewest and the most days of a span of time."""
    unit = next(days for name, days in _numbers(language)["units"].items() if span["unit"].casefold().startswith(name))
    few = _number(span["few"], language)
    return few * unit, (_number(span["many"], language) if span["many"] else few) * unit


def _number(text: str, language: Language) -> float:
    """Reads digits, and words for numbers; of Chinese ones up to 99, "五十三"."""
    if re.fullmatch(r"\d+(?:\.\d+)?", text):
        return float(text)
    if text.casefold() in (known := _numbers(language)["numbers"]):
        return known[text.casefold()]
    tens, _, ones = text.partition("十")
    return 10 * known.get(tens, 1.0) + known.get(ones, 0.0)


_ALL_BUT_SAID = 0.75  # The share of a question's words by weight that a fact must hold to answer it whatever they mean
_THE_SAME = 0.9  # The same where the question names a thing: of the pain in the ear that in the knee tells nothing
_ABOUT_IT = 0.34  # The same for a question that takes something for granted: what is nearest to it is told
_OF_ITSELF = frozenset({"amount", "size"})  # What only the thing itself can tell, and the rest of the story never
_WHEN = frozenset({"time", "trigger", "relief", "length", "frequency", "hours", "onset"})
_DATED = frozenset({"operations", "hospital", "injuries", "immunizations"})
_DENIABLE = frozenset({"generic", "whole", "kinds_of_symptoms"})


class Recalled(msgspec.Struct, frozen=True):
    """What comes of a question."""

    told: tuple[Fact, ...] = ()  # the facts that answer it
    absent: tuple[str, ...] = ()  # names of the symptoms that are asked for and are not there
    lack: str = ""  # the set phrase for when there is neither; "" where nothing that could be answered is asked
    who: str = ""  # `age` or `sex`, where that is asked for
    items: int = 1  # how many things are asked for
    unknown: tuple[str, ...] = ()  # names of what else is asked for, of which nothing is known
    lacking: tuple[str, ...] = ()  # the set phrases for topics of which nothing is known, where of others something is
    near: tuple[Fact, ...] = ()  # where nothing is told, what is known of something near to what is asked for
    late: bool | None = None  # whether the period is late, where that is asked and what is told says it


def recall(text: str, story: Story, lexicon: Lexicon, before: str = "") -> Recalled:
    """Returns what a patient recalls when it is asked a question, in the language of the lexicon.

    A question that names no thing and says "it" goes back to what the question `before` named.
    """
    language = story.language
    if lexicon.language == language and (period := last_period(text, story)) is not None:
        return Recalled(told=period.told, late=period.late, lack="" if period.told else "unknown")
    back = _going_back(text, before, story, lexicon) if before and lexicon.language == story.language else None
    if back is not None:
        return back
    if lexicon.language != language or lexicon.knows_questions(text):
        return _by_meaning(text, story, lexicon)
    if listed := headings(text, language):
        return _together([recall(one, story, lexicon) for one in listed])
    asks_for_more = is_open(text, language)
    how = attributes_of(without_context(text, language), language, ()) if asks_for_more else ()
    if told := [f for f in story.in_own_words(frozenset(terms(text, language))) if _tells(f, how)]:
        return Recalled(told=tuple(told))
    found = _by_meaning(text, story, lexicon)
    left = unread(without_context(text, language), language)  # words whose meaning is not known
    if found.absent and (asks_for_more or terms(left, language)):
        # Who asks which or how, or in words that are not all understood, is not told that there is nothing.
        found = msgspec.structs.replace(found, absent=(), lack="unknown")
    if found.lack == "nothing like that" and asks_for_more:
        found = msgspec.structs.replace(found, lack="unknown")
    if found.told or found.absent or found.who or found.lack not in ("", "unknown"):
        return found
    # What means nothing known may still stand there in the same words.
    named = names_thing(text, language) or any(essential(f) and f.named for f in read(text, language))
    enough = _THE_SAME if named and asks_for_more else _ABOUT_IT if asks_for_more else _ALL_BUT_SAID
    wanted = frozenset(terms(without_context(text, language), language))
    if how and named:
        return found
    told = [f for f in story.best(wanted, enough=enough)[:1] if _tells(f, how)]
    return Recalled(told=tuple(told)) if told else found


def _together(found: list[Recalled]) -> Recalled:
    """Returns what is recalled of several headings: each is answered."""
    told = tuple(dict.fromkeys(fact for one in found for fact in one.told))
    lacks = tuple(dict.fromkeys(key for one in found if not one.told for key in (one.lack,) if key))
    lacks = tuple(key for key in lacks if key != "unknown") or lacks
    if not told:
        return Recalled(lack=lacks[0] if lacks else "unknown", lacking=lacks[1:])
    return Recalled(told=told, items=len(told), lacking=lacks)


def _any_tells(facts: tuple[Fact, ...], how: tuple[Attribute, ...]) -> bool:
    return any(_tells(fact, how) for fact in facts)


def _tells(fact: Fact, how: tuple[Attribute, ...]) -> bool:
    """Whether a fact tells how something is, where that is asked for."""
    return not how or any(one.open or one.is_told(fact) for one in how)


def _going_back(text: str, before: str, story: Story, lexicon: Lexicon) -> Recalled | None:
    """Returns what is known of how the thing is that was spoken of last; None where the question is for another."""
    language = story.language
    if names_thing(text, language) or topics_of(text, language) or not refers_back(text, language):
        return None
    asked = parts(without_context(before, language), lexicon)
    how = attributes_of(without_context(text, language), language, parts(text, lexicon))
    about = [fact for part in asked for fact in held(part, story) if not fact.denied]
    if not how or not about:
        return None
    ends = {(fact.sentence, fact.number + 1) for fact in about}
    goes_on = [f for f in story.facts if (f.sentence, f.number) in ends and not names_thing(f.text, language)]
    told = [fact for fact in (*about, *goes_on) if any(one.is_told(fact) for one in how)]
    if told or any(one.name in _OF_ITSELF for one in how):
        return Recalled(told=tuple(told[:2]), lack="" if told else "unknown")
    return None


def _by_meaning(text: str, story: Story, lexicon: Lexicon) -> Recalled:
    asked = parts(text, lexicon)
    if lexicon.language != story.language:
        return _across(text, asked, story, lexicon.language)
    if lexicon.knows_questions(text):
        # A question in the knowledge's own words asks for that symptom, whatever else its words may mean.
        return _of_parts(asked, story)
    # What only leads up to the question, or says since when, asks for nothing itself.
    plainly = without_context(text, story.language)
    topics = topics_of(plainly, story.language)
    if (of_others := _of_others(text, topics, asked, plainly, story)) is not None:
        return of_others
    how = attributes_of(plainly, story.language, asked)
    if not topics and not asked and not how:
        return Recalled()
    named = any(essential(frame) for part in asked for frame in part.frames)
    if topics and topics[0].name in ("age", "sex") and not named:
        return Recalled(who=topics[0].name)
    family = tuple(topic for topic in topics if topic.whole)
    topics = family or tuple(topic for topic in topics if topic.name not in ("age", "sex"))
    if any(topic.name == "allergies" for topic in topics):
        # "Which medicines are you allergic to?" asks for no medicine that is taken.
        topics = tuple(topic for topic in topics if topic.name != "medications")
    if topics:
        others = parts(beside_topics(text, story.language), lexicon)
        found = _of_topics(topics, asked, others, plainly, story, whole=text)
        # Of what has no time none can be told, but of the thing itself it may stand elsewhere.
        of_time = {one.name for one in how} == {"time"} and {topic.name for topic in topics} == {"medications"}
        timeless = found is not None and of_time and not _any_tells(found.told, how)
        when = is_open(plainly, story.language) and {one.name for one in how} == {"time"}
        if found and found.told and when and {t.name for t in topics} <= _DATED and not _any_tells(found.told, how):
            return Recalled(lack="unknown", near=found.told[:1])
        if found is not None and not (timeless and found.told):
            return found
    if how:
        told = how_it_is(how, asked, plainly, story, is_open=is_open(plainly, story.language))
        if told and _asks_otherwise(how, asked, told, plainly, story):
            return Recalled(lack="unknown", near=tuple(told))
        if told is not None:
            return Recalled(told=tuple(told), lack="" if told else "unknown")
    found = _of_parts(asked, story)
    unsaid = topics and topics[0].is_unsaid(story) and not found.told and not found.absent
    return Recalled(lack=topics[0].unsaid) if unsaid else found


def _of_others(
    text: str, topics: tuple[Topic, ...], asked: tuple[Part, ...], plainly: str, story: Story
) -> Recalled | None:
    """Returns what is known of somebody else's trouble; None where that is not asked for, or the family history is."""
    kin = tuple(topic for topic in topics if topic.whole)
    if not asks_of_others(text, story.language, of_family=bool(kin)):
        return None
    met = told_of_others(story, of_family=bool(kin))
    of_kin = _of_topics(kin, asked, (), plainly, story) if kin else None
    if (of_kin and of_kin.told) or (kin and not met):
        return None
    return Recalled(told=met, lack="" if met else "no others")


def _asks_otherwise(
    how: tuple[Attribute, ...], asked: tuple[Part, ...], told: list[Fact], text: str, story: Story
) -> bool:
    """Whether a question asks when, how long or what makes it worse, and what is told tells none of it."""
    kinds = vocabulary(story.language).kind
    of_exposure = any(kinds[i] == "exposures" for part in asked for frame in part.frames for i in frame.things)
    when = is_open(text, story.language) and all(one.name in _WHEN for one in how) and not of_exposure
    return when and not _any_tells(tuple(told), how)


def _across(text: str, asked: tuple[Part, ...], story: Story, language: Language) -> Recalled:
    """Returns what is recalled of a question in another language than the story's: of concepts, which are in none."""
    topics = same_topics(topics_of(without_context(text, language), language), story.language)
    if any(topic.name in ("age", "sex") for topic in topics):
        return Recalled(who=topics[0].name)
    named = tuple(
        msgspec.structs.replace(part, name=spoken(part.frames, story.language), terms=frozenset()) for part in asked
    )
    found = _of_topics(topics, named, named, "", story) if topics else None
    return found or (_of_parts(named, story) if named else Recalled())


def _of_topics(
    topics: tuple[Topic, ...],
    asked: tuple[Part, ...],
    others: tuple[Part, ...],
    text: str,
    story: Story,
    *,
    whole: str = "",
) -> Recalled | None:
    """Returns what is known of the topics, and of what else is asked for in the same breath; None where that is all.

    `whole` is the question with what it sets beside what it asks for.
    """
    sake = [frame for topic in topics for frame in topic.purposes(text, story.language)]
    known = [(topic, fact) for topic in topics for fact in topic.answers(story, asked, text)]
    held = [fact for topic, fact in known if not_set_apart(fact, whole, topic.name)]
    if known and not held:
        return Recalled(lack=topics[0].lack(story))
    if sake:
        held, certain = for_sake(held, sake, story)
        if not certain and (not held or not any(is_there(frame, story) for frame in sake)):
            # What is taken for what is not there, is not taken.
            return Recalled(lack=topics[0].not_there(story))
    of_sake = {thing for frame in sake for thing in essential(frame)}
    others = tuple(p for p in others if not any(of_sake & set(essential(frame)) for frame in p.frames))
    beside = tuple(
        part
        for part in others
        if (part.symptom and story.with_symptom(part.symptom)) or not any(t.covers(part, story) for t in topics)
    )
    only = [topic for topic in topics if topic.only]
    if not held and not only and asked:
        return None
    more = _of_parts(beside, story) if only and not any(t.whole for t in topics) else Recalled()
    told = tuple(dict.fromkeys((*held, *more.told)))
    # What is asked for in words of its own was not taken for another topic: each of them is answered.
    apart = told and any(topic.span is not None for topic in topics)
    without = [topic.not_there(story) for topic in only if not topic.answers(story, asked, text)] if apart else []
    return Recalled(
        told=told,
        lack="" if told else topics[0].lack(story),
        absent=more.absent if apart else (),
        unknown=more.unknown if apart else (),
        lacking=tuple(key for key in dict.fromkeys(without) if key != "unknown"),
    )


def _of_parts(asked: tuple[Part, ...], story: Story) -> Recalled:
    told: list[Fact] = []
    absent: list[str] = []
    unknown: list[str] = []
    denied = False
    lack = ""
    near: list[Fact] = []
    news = [part for part in asked if not _is_given(part)]
    for part in news or asked:
        facts = held(part, story)
        found = [fact for fact in facts if not fact.denied]
        affirmed = [fact for fact in found if answers(part, fact, story)]
        if found and not affirmed:
            near += found[:1]
        elif affirmed:
            told += affirmed[:1]
            if _is_deniable(part, story) and all(is_beside(part, fact, story) for fact in affirmed):
                # Who is asked for vomiting, and feels sick, says that and that nothing was vomited.
                absent += [part.name] if part.name else []
        elif facts:
            told += facts[:1]
        elif (placeless := without_place(part, story))[0]:
            told += placeless[0][:1] if placeless[1] else []
            near += [] if placeless[1] else placeless[0][:1]
        elif _is_deniable(part, story):
            name = "" if _said_elsewhere(part, story) else part.name
            absent += [name] if name else []
            denied = True
        else:
            lack = lack or _unknown(part, story)
            unknown += _name_of_illness(part, story)
    if near and not told:
        return Recalled(lack="not noticed", near=tuple(dict.fromkeys(near)))
    if denied and not told and not absent:
        return Recalled(lack="nothing like that")
    return Recalled(
        told=tuple(dict.fromkeys(told)),
        absent=tuple(absent),
        lack=lack or "unknown",
        items=len(news or asked),
        unknown=tuple(dict.fromkeys(unknown)) if told else (),
    )


def _is_given(part: Part) -> bool:
    """Whether a part speaks only of what is known, so that something else is asked of it."""
    wanted = [thing for frame in part.frames for thing in essential(frame)]
    return bool(wanted) and all(any(thing in frame.given for frame in part.frames) for thing in wanted)


def _is_deniable(part: Part, story: Story) -> bool:
    """Whether it is a symptom, which its patient knows not to have where nothing is said of it."""
    wanted = {thing for frame in part.frames for thing in essential(frame)}
    if not wanted:
        return part.symptom is not None
    kinds = vocabulary(story.language).kind
    return any(kinds[thing] in _DENIABLE for thing in wanted)


def _said_elsewhere(part: Part, story: Story) -> bool:
    """Whether the thing itself is told somewhere, so that to deny it without more would be false."""
    wanted = {thing for frame in part.frames for thing in essential(frame)}
    narrowed = any(frame.named for frame in part.frames)
    return (
        bool(wanted)
        and not narrowed
        and any(
            wanted & frame.wide and not frame.denied and not fact.denied
            for fact in story.facts
            for frame in fact.frames
        )
    )


def _name_of_illness(part: Part, story: Story) -> list[str]:
    """Returns what an illness that is asked for is called; nothing for what is none."""
    known = vocabulary(story.language)
    things = [thing for frame in part.frames for thing in essential(frame)]
    return [known.named[i] for i in things[:1] if known.kind[i] == "illnesses" and known.named[i]]


def _unknown(part: Part, story: Story) -> str:
    known = vocabulary(story.language)
    kinds = {known.kind[thing] for frame in part.frames for thing in essential(frame)}
    return lack_of_past(story) if kinds & {"illnesses", "operations"} else "unknown"
