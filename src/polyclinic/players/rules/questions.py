"""What a doctor asks for: the symptoms and circumstances that a question names."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from polyclinic.knowledge.lexicon import Lexicon, asked_of_companion, asked_of_parent
from polyclinic.language.content_words import terms
from polyclinic.language.language import Language, is_chinese
from polyclinic.language.word_lists import Pattern, Rule, rewritten
from polyclinic.players.rules.lay_vocabulary import Frame, essential, read, unread, vocabulary
from polyclinic.players.rules.sayings import WORDS


class Part(msgspec.Struct, frozen=True):
    """One thing that is asked for, and its `name` for when it is not there: "" where it is better left unnamed.

    `listed`: it is asked whether it is there ("Do you have ...?"), and not how it is.
    """

    name: str
    terms: frozenset[str]
    symptom: str | None = None
    frames: tuple[Frame, ...] = ()
    listed: bool = False


_forms = WORDS.section("questions", dict[str, Pattern])
_rules = WORDS.section("question_rules", dict[str, tuple[Rule, ...]])
_names = WORDS.section("question_names", dict[str, Any])

_ITEMS = frozenset({"whole", "illnesses"})  # The kinds of things that stand in a list, each by a name of its own
_TOPIC_AT_MOST = 9  # Characters of what a Chinese question may set before it as what it is about; more is a comment

_QUESTION = re.compile(r"(?<=[。？?！])")
_SENTENCE = re.compile(r"(?<=[?？。！])|(?<=\.)\s")
_ASKS = re.compile(r"[?？]")
_CLAUSE = re.compile(r"(?<=[，,])")
_MARKS = " .,?!:，。？"


@functools.lru_cache(maxsize=4096)
def is_opening(text: str, language: Language) -> bool:
    """Whether a doctor's turn opens the visit: it asks what brings the patient, and nothing else."""
    forms = _forms(language)
    asking = [s for s in _SENTENCE.split(text) if s.strip() and (forms["opening"].search(s) or _ASKS.search(s))]
    return (
        bool(asking)
        and all(forms["opening"].search(s) or forms["greeting"].search(s) for s in asking)
        and (any(forms["opening"].search(s) for s in asking))
    )


@functools.lru_cache(maxsize=4096)
def core(text: str, language: Language) -> str:
    """Returns the part of a doctor's sentences that asks, plainly, without what it comments on first."""
    forms = _forms(language)
    text = rewritten(forms["vocative"].sub("", text), _rules(language)["plain"])
    if language == "en":
        return forms["comment"].sub("", text)
    found = []
    for sentence in _QUESTION.split(text):
        clauses = _CLAUSE.split(forms["comment"].sub("", sentence))
        begin = next((i for i, clause in enumerate(clauses) if forms["cue"].search(clause)), 0)
        if begin and _is_of_part(clauses[begin - 1], "".join(clauses[begin:]), language):
            # "The belly, when does it hurt most?"
            begin -= 1
        found.append("".join(clauses[begin:]))
    return "".join(found)


def _is_of_part(before: str, asked: str, language: Language) -> bool:
    """Whether what stands before a question names the part of the body that it is about."""
    if len(before) > _TOPIC_AT_MOST or not any(frame.named for frame in read(before, language)):
        return False
    kinds, frames = vocabulary(language).kind, read(asked, language)
    return not any(f.named or any(kinds[i] != "generic" for i in essential(f)) for f in frames)


@functools.lru_cache(maxsize=4096)
def without_context(text: str, language: Language) -> str:
    """Returns a question without what it sets beside what it asks ("along with the cough", "since the operation")."""
    return _forms(language)["context"].sub(" ", text)


@functools.lru_cache(maxsize=4096)
def is_open(text: str, language: Language) -> bool:
    """Whether a question takes something for granted and asks which, when, how or how much; "no" answers none."""
    forms = _forms(language)
    if forms["open"].search(text) is None:
        return False
    # "What colour is it, and is it thick?" asks both.
    said = _CLAUSE.split(text) if language == "zh" else [text]
    return any(forms["open"].search(clause) and not forms["polar"].search(clause) for clause in said)


@functools.lru_cache(maxsize=4096)
def other_words(text: str, language: Language) -> frozenset[str]:
    """Returns the content words of a question that mean nothing that is known, and are none that every question has."""
    rest = _forms(language)["light"].sub(" ", unread(text, language))
    return frozenset(terms(rest, language))


@functools.lru_cache(maxsize=4096)
def headings(text: str, language: Language) -> tuple[str, ...]:
    """Returns the headings of a history that a question lists ("past illnesses, allergies, family history?")."""
    forms = _forms(language)
    found = [piece.strip(_MARKS) for piece in forms["between"].split(text)]
    found = [piece for piece in found if piece]
    return tuple(found) if len(found) > 1 and all(forms["heading"].search(piece) for piece in found) else ()


def occasions(text: str, language: Language) -> tuple[Frame, ...]:
    """Returns what a question takes for granted as the time of what it asks for ("when you fainted")."""
    return tuple(
        f for words in _forms(language)["occasion"].findall(text) for f in read(words, language) if essential(f)
    )


def takes_any(text: str, language: Language) -> bool:
    """Whether a question is for anything of a kind, of which what it names is an example."""
    return _forms(language)["any_of"].search(text) is not None


def refers_back(text: str, language: Language) -> bool:
    """Whether a question goes back to what was spoken of last ("How high was it?")."""
    return _forms(language)["refers"].search(text) is not None


@functools.lru_cache(maxsize=4096)
def parts(text: str, lexicon: Lexicon) -> tuple[Part, ...]:
    """Splits a question into what it asks for; none where it names nothing."""
    language, forms = lexicon.language, _forms(lexicon.language)
    found: list[Part] = []
    for sentence in _SENTENCE.split(text):
        if not sentence.strip():
            continue
        known = lexicon.question(sentence)
        if known is not None:
            found.append(Part(lexicon.symptoms[known].name.get(language), frozenset(), known))
            continue
        asked, several = _led(forms["context"].sub(" ", forms["aside"].sub("", sentence)), forms, language)
        frames = read(asked, language)
        for begin, piece in _pieces(asked, forms["divider"]) if several else [(0, asked)]:
            mine = tuple(f for f in frames if begin <= f.begin < begin + len(piece))
            found += _part(piece, mine, lexicon, forms, nameable=several > 0)
    asked_as = _questions(lexicon).get(_bare(text))
    if asked_as is not None:
        # The knowledge's own question means its symptom, in whatever words it is put; the doctor's words name it.
        named = found[0].name if len(found) == 1 and found[0].symptom == asked_as else ""
        name = named or lexicon.symptoms[asked_as].name.get(language)
        return (Part(name, frozenset(terms(text, language)), asked_as),)
    return tuple(found)


def _led(sentence: str, forms: Mapping[str, Pattern], language: Language) -> tuple[str, int]:
    """Returns what a sentence asks for behind what leads on to it ("do you have any"), and whether anything does."""
    lead = forms["lead"].match(sentence)
    if lead is None:
        return sentence, 0
    before = _CLAUSE.split(lead[0])[-1]
    if any(frame.named and not frame.things for frame in read(before, language)):
        # "Has your nose given any trouble?"
        return sentence, 0
    return sentence[lead.end() :], 1


def _pieces(text: str, divider: Pattern) -> list[tuple[int, str]]:
    """Returns what stands between the divisions of a text, with where each piece begins."""
    found, begin = [], 0
    for division in divider.finditer(text):
        found.append((begin, text[begin : division.start()]))
        begin = division.end()
    return [*found, (begin, text[begin:])]


@functools.lru_cache(maxsize=16)
def _questions(lexicon: Lexicon) -> dict[str, str]:
    """Returns the knowledge's own question for each symptom, to the symptom."""
    language = lexicon.language
    asked = {s.question.get(language): s.id for s in lexicon.symptoms.values() if s.question.en}
    return {
        _bare(form): s
        for text, s in asked.items()
        for form in (asked_of_companion(text, language), asked_of_parent(text, language), text)
    }


def _bare(text: str) -> str:
    return re.sub(r"\W+", "", text).casefold()


def _part(
    piece: str, frames: tuple[Frame, ...], lexicon: Lexicon, forms: Mapping[str, Pattern], *, nameable: bool
) -> list[Part]:
    language = lexicon.language
    if frames and all(frame.later and not essential(frame) for frame in frames):
        return []
    listed = [one for frame in frames for one in _each(frame, language)]
    if len(listed) > len(frames) or (len(listed) > 1 and all(_is_item(frame, language) for frame in listed)):
        return [_item(frame, lexicon, listed=nameable) for frame in listed]
    symptoms = list(dict.fromkeys(symptom for symptom, _ in lexicon.mentions(piece)))
    wanted = frozenset(terms(piece, language))
    # Several words of the lexicon may say one thing together, as "pain" and "urine" do.
    if len(symptoms) > 1 and not (len(frames) == 1 and len(frames[0].things) == 1):
        below = {above for s in symptoms for above in lexicon.ancestors(s)}
        return [Part(lexicon.symptoms[s].name.get(language), frozenset(), s) for s in symptoms if s not in below]
    name = _name(piece, language) if nameable else ""
    known = vocabulary(language)
    if symptoms:
        rest = frozenset(terms(lexicon.unread(piece), language))
        symptom = lexicon.symptoms[symptoms[0]]
        # "chest pain when breathing in" is more than "chest pain", but chest pain answers it.
        plain = symptom.name.get(language)
        said = {i for frame in read(plain, language) for i in essential(frame)}
        wider = {above for i in said for above in known.above[i]}
        meant = {i for frame in frames for i in essential(frame)}
        # "Is there blood in the phlegm?" names phlegm, and asks for more.
        more = bool(said and meant) and not meant & wider
        if name and not (known.is_noun(name) or lexicon.unread(name).strip(_MARKS) == ""):
            name = ""
        return [
            Part(
                name or spoken(frames, language) or plain,
                wanted if rest else frozenset(),
                None if more else symptom.id,
                frames,
                nameable,
            )
        ]
    if len(frames) > 1:
        return [Part(spoken((frame,), language), wanted, None, (frame,), nameable) for frame in frames]
    if not wanted and not frames:
        return []
    if name and language == "en" and not known.is_noun(name):
        name = ""
    return [Part(name or spoken(frames, language), wanted, None, frames, nameable)]


def _each(frame: Frame, language: Language) -> list[Frame]:
    """Returns the frames of things that are named one after the other without marks, as Chinese lists them."""
    things = essential(frame)
    plain = not (frame.unread or frame.manners or frame.functions or frame.later or frame.given or frame.either)
    if language != "zh" or len(things) < 2 or not plain:
        return [frame]
    known = vocabulary(language)
    if any(known.kind[thing] not in _ITEMS for thing in things):
        return [frame]
    return [
        msgspec.structs.replace(
            frame,
            things=(thing,),
            named=known.felt[thing],
            places=frozenset(above for part in known.felt[thing] for above in known.above[part]),
            wide=known.above[thing] | known.eq[thing],
        )
        for thing in things
    ]


def _is_item(frame: Frame, language: Language) -> bool:
    """Whether a frame names one symptom or illness with a name of its own, and nothing else."""
    things = essential(frame)
    return len(things) == 1 and vocabulary(language).kind[things[0]] in _ITEMS and not frame.later


def _item(frame: Frame, lexicon: Lexicon, *, listed: bool) -> Part:
    """Returns one thing of a list as what is asked for."""
    noun = vocabulary(lexicon.language).named[essential(frame)[0]]
    symptom = next((symptom for symptom, _ in lexicon.mentions(noun)), None)
    return Part(spoken((frame,), lexicon.language), frozenset(), symptom, (frame,), listed)


def spoken(frames: tuple[Frame, ...], language: Language) -> str:
    """Returns what a patient calls the first thing that is asked for: "pain in my chest"; "" where there is none."""
    known = vocabulary(language)
    for frame in frames:
        for thing in essential(frame)[:1]:
            noun = known.named[thing]
            inner = {p for i in frame.things for p in known.felt[i]}
            parts_of_body = [p for p in frame.named if p not in inner]
            if not noun or known.kind[thing] not in ("generic", "whole") or frame.later:
                continue
            if known.kind[thing] == "generic" and parts_of_body:
                return str(_names(language)["in_part"]).format(noun, known.named[parts_of_body[0]])
            return noun
    return ""


def _name(piece: str, language: Language) -> str:
    forms = _forms(language)
    name = forms["name_tail"].sub("", piece.strip(_MARKS)).strip(_MARKS)
    name = rewritten(forms["name_lead"].sub("", name), _rules(language)["addressed"])
    length = len(name) if is_chinese(name) else len(name.split())
    return name if 0 < length <= _names(language)["longest_name"] and not forms["no_name"].match(name) else ""
