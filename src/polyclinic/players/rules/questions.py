"""What a doctor asks for: the symptoms and circumstances that a question names."""

from __future__ import annotations

import functools
import re

import msgspec

from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.language.content_words import terms
from polyclinic.language.language import Language, is_chinese
from polyclinic.language.word_lists import Pattern, Rule, rewritten
from polyclinic.players.rules.words import WORDS


class Part(msgspec.Struct, frozen=True):
    """One thing that is asked for, and its `name` for when it is not there: "" where it is better left unnamed."""

    name: str
    terms: frozenset[str]
    symptom: str | None = None


class _Forms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    comment: Pattern
    cue: Pattern
    aside: Pattern
    lead: Pattern
    divider: Pattern
    name_lead: Pattern
    name_tail: Pattern
    no_name: Pattern
    addressed: tuple[Rule, ...]
    longest_name: int


_forms = WORDS.section("questions", _Forms)

_QUESTION = re.compile(r"(?<=[。？?！])")
_SENTENCE = re.compile(r"(?<=[?？。！])|(?<=\.)\s")
_CLAUSE = re.compile(r"(?<=[，,])")
_MARKS = " .,?!:，。？"


def core(text: str, language: Language) -> str:
    """Returns the part of a doctor's sentences that asks, without what it comments on first."""
    forms = _forms(language)
    if language == "en":
        return forms.comment.sub("", text)
    found = []
    for sentence in _QUESTION.split(text):
        clauses = _CLAUSE.split(forms.comment.sub("", sentence))
        begin = next((i for i, clause in enumerate(clauses) if forms.cue.search(clause)), 0)
        found.append("".join(clauses[begin:]))
    return "".join(found)


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
        asked, several = forms.lead.subn("", forms.aside.sub("", sentence))
        for piece in forms.divider.split(asked) if several else [asked]:
            found += _part(piece, lexicon, forms, nameable=several > 0)
    asked_as = _questions(lexicon).get(_bare(text))
    if asked_as is not None:
        # The knowledge's own question means its symptom, in whatever words it is put; the doctor's words name it.
        named = found[0].name if len(found) == 1 and found[0].symptom == asked_as else ""
        name = named or lexicon.symptoms[asked_as].name.get(language)
        return (Part(name, frozenset(terms(text, language)), asked_as),)
    return tuple(found)


@functools.lru_cache(maxsize=16)
def _questions(lexicon: Lexicon) -> dict[str, str]:
    """Returns the knowledge's own question for each symptom, to the symptom."""
    return {_bare(s.question.get(lexicon.language)): s.id for s in lexicon.symptoms.values() if s.question.en}


def _bare(text: str) -> str:
    return re.sub(r"\W+", "", text).casefold()


def _part(piece: str, lexicon: Lexicon, forms: _Forms, *, nameable: bool) -> list[Part]:
    language = lexicon.language
    symptoms = list(dict.fromkeys(symptom for symptom, _ in lexicon.mentions(piece)))
    wanted = frozenset(terms(piece, language))
    if len(symptoms) > 1:
        return [Part(lexicon.symptoms[s].name.get(language), frozenset(), s) for s in symptoms]
    if symptoms:
        rest = frozenset(terms(lexicon.unread(piece), language))
        symptom = lexicon.symptoms[symptoms[0]]
        # "chest pain when breathing in" is more than "chest pain", but chest pain answers it.
        return [Part(_name(piece, forms) or symptom.name.get(language), wanted if rest else frozenset(), symptom.id)]
    if not wanted:
        return []
    return [Part(_name(piece, forms) if nameable else "", wanted)]


def _name(piece: str, forms: _Forms) -> str:
    name = forms.name_tail.sub("", piece.strip(_MARKS)).strip(_MARKS)
    name = rewritten(forms.name_lead.sub("", name), forms.addressed)
    length = len(name) if is_chinese(name) else len(name.split())
    return name if 0 < length <= forms.longest_name and not forms.no_name.match(name) else ""
