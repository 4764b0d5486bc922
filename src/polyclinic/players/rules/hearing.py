"""What the doctor's turn is to the patient: inquiry, advice, demand, another topic, or the end (aie-saps §4.2.2).

A turn is read sentence by sentence. Each is a speech act: it asks, asks for consent, advises, instructs, closes, or
only comments. What the turn is as a whole follows from its acts: who explains, advises and then asks whether that is
clear advises; who comments and then asks inquires. Then it is read whether the turn names anything definite: a symptom,
an examination, a treatment. Whether the patient holds the answer is the question of `story.py`.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from pathlib import Path
from typing import Literal

import msgspec

from polyclinic.knowledge.examination_words import EXAMINATION
from polyclinic.language.language import CHINESE, Language
from polyclinic.language.word_lists import Pattern, WordLists

Kind = Literal["inquiry", "advice", "demand", "other topic", "conclusion"]
Act = Literal["question", "consent", "advice", "instruction", "closing", "comment"]


class Heard(msgspec.Struct, frozen=True):
    """A doctor's turn.

    Attributes:
        focus: the sentences that ask or advise, without what leads up to them.
        definite: something is named that could be told, or be done: a symptom, an examination, a treatment.
        examining: the advice is to undergo an examination; else it is a treatment, a precaution, or to see a doctor.
        refused: the advice is to leave an examination, or to put it off: there is nothing to be done.
    """

    kind: Kind
    focus: str
    definite: bool = True
    examining: bool = True
    refused: bool = False


class _Cues(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ask: Pattern
    consent: Pattern
    advise: Pattern
    urge: Pattern
    asked_before: Pattern
    done: Pattern
    instruct: Pattern
    hands: Pattern
    shown: Pattern
    other_topic: Pattern
    bodily: Pattern
    offer: Pattern
    close: Pattern
    examination: Pattern
    broad: Pattern
    treatment: Pattern
    refuses: Pattern
    example: Pattern
    refers: Pattern
    empty: Pattern


_cues = WordLists(Path(__file__).with_name("hearing")).section("hearing", _Cues)

_SENTENCE = re.compile(r"(?<=[。！？?!；;\n])|(?<=[^\d\s]\.)(?=\s)")
_CLAUSE = re.compile(r"(?<=[，,。；;！!？?\n])|(?<=[^\d\s]\.)(?=\s)|(?=但是?|而是|不过)|(?<=\s)(?=but\s|so let)")
_ENDS = " \n.,;!，。；！"
_TAG = re.compile(r"<[^<>\s]{1,20}>")
"""What a model ends its turn with, such as `<eoa>`, where it got into the text."""
_WORD = re.compile(rf"[{CHINESE}]|[^\W\d_]{{2}}")
_ITEM = re.compile(r"\W*(?:\d{1,2}[.、)）:：]|[（(]\d{1,2}[)）]|[-*•·—])")
"""How an item of a list begins."""
_PHRASE = 3
"""Words up to which a question is a phrase ("Chest pain?"), and needs none of those that every sentence has."""
_SENTENCE_AT_MOST = 1000
"""Characters of a sentence by which its act is known; a model that repeats itself may find no end."""
_BARE_ORDER = 60
"""Characters up to which a turn that is nothing but the name of an examination is an order."""


@functools.lru_cache(maxsize=4096)
def hear(text: str, language: Language) -> Heard:
    """Reads a doctor's turn."""
    text = _TAG.sub(" ", text)
    cues, acts = _cues(language), speech_acts(text, language)

    def joined(*which: Act) -> str:
        return " ".join(sentence for sentence, act in acts if act in which)

    advising, asking = joined("advice"), joined("question")
    count = Counter(act for _, act in acts)
    if count["instruction"] and count["instruction"] >= count["advice"] and not _examining(advising, cues):
        return Heard("demand", joined("instruction"))
    elsewhere = cues.other_topic.search(text) and not cues.bodily.search(text)
    if elsewhere and not advising and not EXAMINATION.search(text):
        return Heard("other topic", text.strip())
    if advising:
        advice = _advice(advising, cues, asking)
        if advice.definite or cues.urge.search(advising):
            return advice
        if not asking:
            # Who recommends nothing, and begins with a farewell or says it in more sentences, says goodbye.
            more = count["closing"] - count["advice"] + (acts[0][1] == "closing")
            return Heard("conclusion", text.strip()) if more > 0 else advice
    if asking:
        # "... such as a new mole. Have you noticed anything like that?"
        meant = text if cues.refers.search(asking) else asking
        definite = _is_definite(asking, cues) or cues.example.search(meant) is not None
        return Heard("inquiry", asking, definite=definite)
    if count["closing"]:
        return Heard("conclusion", text.strip())
    if len(text) < _BARE_ORDER and _examining(text, cues):
        # A bare name ("Chest X-ray.") is an order.
        return _advice(text.strip(), cues)
    whole = joined("consent", "comment") or text.strip()
    return Heard("inquiry", whole, definite=_is_definite(whole, cues))


def speech_acts(text: str, language: Language) -> list[tuple[str, Act]]:
    """Returns the sentences of a turn, each with what it does."""
    acts: list[tuple[str, Act]] = []
    for sentence in _SENTENCE.split(text):
        said = sentence.strip()
        if not _WORD.search(said):
            continue
        act = _act(said[:_SENTENCE_AT_MOST], _cues(language))
        if act == "comment" and acts and _ITEM.match(said):
            # "Please have these done: 1. blood count 2. urinalysis"
            act = acts[-1][1]
        acts.append((said, act))
    return acts


def _act(sentence: str, cues: _Cues) -> Act:
    if cues.instruct.search(sentence):
        return "instruction"
    if cues.shown.search(sentence):
        return "question"
    if cues.hands.search(sentence):
        return "advice"
    asks = cues.ask.search(sentence) is not None
    if asks and cues.consent.search(sentence):
        return "consent"
    urges = cues.urge.search(sentence) is not None
    advises = urges or (not asks and _advises(sentence, cues))
    if not asks and cues.offer.search(sentence):
        return "closing"
    if advises and not cues.asked_before.search(sentence):
        return "advice"
    if asks:
        return "question"
    return "closing" if cues.close.search(sentence) else "comment"


def _advises(sentence: str, cues: _Cues) -> bool:
    """Whether a sentence says what is to be done, and not only what has been."""
    done = cues.done.search(sentence)
    return cues.advise.search(sentence, done.end() if done else 0) is not None


def _advice(text: str, cues: _Cues, asking: str = "") -> Heard:
    if not _names_something_to_do(text, cues) and _names_something_to_do(asking, cues):
        # "Have you had an ECG? If not, I recommend one."
        text = f"{asking} {text}"
    if _examining(text, cues) and (kept := _without_refused(text, cues)) != text:
        if not _names_something_to_do(kept, cues):
            return Heard("advice", text, examining=False, refused=True)
        text = kept.strip()
    examining = _examining(text, cues)
    return Heard("advice", text, definite=examining or cues.treatment.search(text) is not None, examining=examining)


def _without_refused(text: str, cues: _Cues) -> str:
    """Returns advice without the clauses that say of an examination that it is not to be done, or not now."""
    clauses = _CLAUSE.split(text)
    return "".join(c for c in clauses if not (cues.refuses.search(c.strip(_ENDS)) and _examining(c, cues)))


def _names_something_to_do(text: str, cues: _Cues) -> bool:
    return _examining(text, cues) or cues.treatment.search(text) is not None


def _examining(text: str, cues: _Cues) -> bool:
    """Whether a text names an examination that could be done as it is named."""
    named = cues.broad.sub(" ", text)
    return any(words.search(named) for words in (cues.examination, cues.hands, EXAMINATION))


def _is_definite(text: str, cues: _Cues) -> bool:
    """Whether a question names anything that the patient could tell, be it by an example."""
    if cues.example.search(text):
        return True
    rest, said = cues.empty.subn(" ", text)
    # Several words and none that every sentence has: another language than it was taken for.
    return _WORD.search(rest) is not None and (said > 0 or len(rest.split()) <= _PHRASE)
