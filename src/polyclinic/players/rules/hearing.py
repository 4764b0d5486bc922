"""What the doctor's turn is to the patient: inquiry, advice, demand, another topic, or the end (aie-saps §4.2.2).

Only how it is put is read here; whether the patient holds the answer is `story.py`'s question.
"""

from __future__ import annotations

import functools
import re
from typing import Literal

import msgspec

from polyclinic.knowledge.examination_words import EXAMINATION
from polyclinic.language.language import CHINESE, Language
from polyclinic.language.word_lists import Pattern
from polyclinic.players.rules.words import WORDS

Kind = Literal["inquiry", "advice", "demand", "other topic", "conclusion"]


class Heard(msgspec.Struct, frozen=True):
    """A doctor's turn.

    Attributes:
        focus: the sentences that ask or advise, without what leads up to them.
        treatment: the advice is to take or undergo a treatment, not an examination.
    """

    kind: Kind
    focus: str
    treatment: bool = False


class _Cues(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    question: Pattern
    advice: Pattern
    asked_before: Pattern
    demand: Pattern
    other_topic: Pattern
    end: Pattern
    treatment: Pattern
    vague: Pattern


_cues = WORDS.section("hearing", _Cues)

_SENTENCE = re.compile(r"(?<=[。！？?!；;\n])|(?<=\.)(?=\s)")
_WORD = re.compile(rf"[{CHINESE}]{{2}}|[^\W_]{{2}}")


@functools.lru_cache(maxsize=4096)
def hear(text: str, language: Language) -> Heard:
    """Reads a doctor's turn."""
    cues = _cues(language)
    sentences = [s for s in _SENTENCE.split(text) if s and s.strip()]
    asking = [s for s in sentences if cues.question.search(s)]
    advising = [s for s in sentences if cues.advice.search(s) and not cues.asked_before.search(s)]
    demanding = [s for s in sentences if cues.demand.search(s)]
    examining = any(EXAMINATION.search(s) for s in advising)
    if demanding and not examining:
        return Heard("demand", " ".join(demanding).strip())
    if cues.other_topic.search(text) and not advising and not EXAMINATION.search(text):
        return Heard("other topic", text.strip())
    if cues.end.search(text) and not asking and not examining:
        return Heard("conclusion", text.strip())
    if advising:
        focus = " ".join(s.strip() for s in advising)
        treatment = cues.treatment.search(focus) is not None and EXAMINATION.search(focus) is None
        return Heard("advice", focus, treatment)
    if not asking and EXAMINATION.search(text) and len(text) < 60:
        # A bare name ("Chest X-ray.") is an order.
        return Heard("advice", text.strip())
    return Heard("inquiry", " ".join(s.strip() for s in (asking or sentences)) or text.strip())


def is_vague(heard: Heard, language: Language) -> bool:
    """Whether an advice names nothing that could be done."""
    cues = _cues(language)
    if EXAMINATION.search(heard.focus) or cues.treatment.sub("", heard.focus) == "":
        return False
    return not _WORD.search(cues.vague.sub("", heard.focus))
