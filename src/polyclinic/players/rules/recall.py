"""What a patient recalls of its record when it is asked something: the facts to tell, and what is not there.

A question asks for a topic of the history ("Which medicines do you take?"), for how something is ("Is it worse at
night?"), or for things by their names, each a part of the question. What the record holds is told. Of the rest, a
symptom is denied; of anything else, and of how something is, the patient does not know.
"""

from __future__ import annotations

import msgspec

from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.language.content_words import terms
from polyclinic.language.language import Language
from polyclinic.players.rules.attributes import Attribute, attributes_of
from polyclinic.players.rules.entailing import answers
from polyclinic.players.rules.held import held, is_beside, without_place
from polyclinic.players.rules.how_it_is import how_it_is
from polyclinic.players.rules.last_period import last_period
from polyclinic.players.rules.matching import essential
from polyclinic.players.rules.meaning import read, unread
from polyclinic.players.rules.named import names_thing
from polyclinic.players.rules.narrowing import for_sake, is_there, not_set_apart
from polyclinic.players.rules.others import asks_of_others, told_of_others
from polyclinic.players.rules.questions import Part, headings, is_open, parts, refers_back, spoken, without_context
from polyclinic.players.rules.story import Fact, Story
from polyclinic.players.rules.topics import Topic, beside_topics, lack_of_past, same_topics, topics_of
from polyclinic.players.rules.vocabulary import vocabulary

_ALL_BUT_SAID = 0.75
"""The share of a question's words by weight that a fact must hold to answer it whatever they mean."""

_THE_SAME = 0.9
"""The same where the question names a thing: of the pain in the ear that in the knee tells nothing."""

_ABOUT_IT = 0.34
"""The same for a question that takes something for granted: what is nearest to it is told."""

_OF_ITSELF = frozenset({"amount", "size"})
"""What only the thing itself can tell, and the rest of the story never."""
_WHEN = frozenset({"time", "trigger", "relief", "length", "frequency", "hours", "onset"})
_DATED = frozenset({"operations", "hospital", "injuries", "immunizations"})
_DENIABLE = frozenset({"generic", "whole", "kinds_of_symptoms"})


class Recalled(msgspec.Struct, frozen=True):
    """What comes of a question.

    Attributes:
        told: the facts that answer it.
        absent: names of the symptoms that are asked for and are not there.
        lack: the set phrase for when there is neither; "" where nothing that could be answered is asked.
        who: `age` or `sex`, where that is asked for.
        items: how many things are asked for.
        unknown: names of what else is asked for, of which nothing is known.
        lacking: the set phrases for topics of which nothing is known, where of others something is.
        near: where nothing is told, what is known of something near to what is asked for.
        late: whether the period is late, where that is asked and what is told says it.
    """

    told: tuple[Fact, ...] = ()
    absent: tuple[str, ...] = ()
    lack: str = ""
    who: str = ""
    items: int = 1
    unknown: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    near: tuple[Fact, ...] = ()
    late: bool | None = None


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
    if found.absent and (asks_for_more or _is_unsure(text, lexicon)):
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


def _is_unsure(text: str, lexicon: Lexicon) -> bool:
    """Whether a question has words of which the meaning is not known."""
    left = unread(without_context(text, lexicon.language), lexicon.language)
    return not lexicon.knows_questions(text) and bool(terms(left, lexicon.language))


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
