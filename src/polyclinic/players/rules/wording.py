"""From the words of a record to the words of a patient: third person to first, clinical style to speech.

Where the patient is a small child, a parent speaks for it: "My child has had ...".
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import msgspec

from polyclinic.cases.presentation import Presentation, Sex
from polyclinic.language.ages import say_age
from polyclinic.language.language import MARKS, Language, capitalised
from polyclinic.language.word_lists import Pattern, Rule, rewritten
from polyclinic.players.rules.sayings import WORDS, Voice


class _Speech(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    none: dict[Voice, str]
    any: Pattern
    sentence: str
    verb: Pattern
    also_none: str
    between_none: str
    either: str
    subject: str
    old: str
    sex: dict[Sex, str]
    phrases: dict[str, tuple[str, ...]]
    of_parent: tuple[tuple[str, str], ...]
    of_child: dict[Voice, tuple[Rule, ...]]
    of_companion: tuple[Rule, ...]


_speech = WORDS.section("speech", _Speech)


class Sayer:
    """Says set phrases, varied by the generator."""

    def __init__(self, language: Language, rng: random.Random, voice: Voice = "self") -> None:
        self._words, self._rng, self._voice = _speech(language), rng, voice

    def __call__(self, key: str, *said: str) -> str:
        """Returns a phrase of this kind, with what is said put in."""
        phrase = self._rng.choice(self._words.phrases[key])
        for ours, theirs in self._words.of_parent if self._voice == "parent" else ():
            phrase = phrase.replace(ours, theirs)
        what = [s.rstrip(" .。；;，") if phrase.endswith(("{}.", "{}。")) else s for s in said]
        return phrase.format(*what)


def who(topic: str, presentation: Presentation) -> str:
    """Returns the answer to a question for age or sex; "" where it is not known."""
    words, age = _speech(presentation.language), presentation.age
    if topic == "sex":
        return "" if presentation.sex is None else words.sex[presentation.sex]
    if age is None:
        return ""
    return words.old.format(say_age(age if age < 1 else int(age), presentation.language))


def of_companion(said: str, language: Language) -> str:
    """Returns what a parent says of a child as somebody says it who came along with an adult."""
    return rewritten(said, _speech(language).of_companion)


def deny(what: str, language: Language, voice: Voice = "self") -> str:
    """Returns that there is none of it: "I have no chest pain"."""
    words = _speech(language)
    what = words.any.sub("", what.strip(" .。,，"))
    # "no feeding difficulties were noted" is a sentence already.
    return (words.sentence if words.verb.search(what) else words.none[voice]).format(what)


def answer(there: Sequence[str], absent: Sequence[str], language: Language, voice: Voice) -> str:
    """Returns sentences in the first person and things that are absent as one answer."""
    words, marks = _speech(language), MARKS[language]
    said = [capitalised(sentence) for sentence in there if sentence]
    absent = list(dict.fromkeys(rewritten(name, words.of_child[voice]) for name in absent if name))
    absent = [name for name in absent if not any(name != other and name in other for other in absent)]
    said[1:] = [sentence.removeprefix(words.subject) for sentence in said[1:]]
    if absent and said:
        said.append(words.also_none.format(words.between_none.join(absent)))
    elif absent:
        either = words.either.join([marks.item.join(absent[:-1]), absent[-1]] if len(absent) > 1 else absent)
        said.append(deny(either, language, voice))
    return (marks.stop + marks.blank if marks.blank else marks.comma).join(said) + marks.stop


class _Beginning(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    words: Pattern
    said: dict[Voice, str]


class _EnglishRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    gerunds: dict[str, str]
    verbs: dict[str, str]
    habits: frozenset[str]
    taken: dict[Voice, str]
    of_child: tuple[Rule, ...]
    beginnings: tuple[_Beginning, ...]
    have: dict[Voice, str]
    am: dict[Voice, str]
    reporting: tuple[Rule, ...]
    pronouns: dict[Voice, tuple[Rule, ...]]


class _Chinese(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rules: tuple[Rule, ...]
    begins: Pattern
    trade: Pattern
    greeting: Pattern
    complaint: tuple[Rule, ...]
    lasting: Rule


_english = WORDS.section("wording", dict[str, Pattern])
_english_rules = WORDS.section("wording_rules", _EnglishRules)
_chinese = WORDS.section("wording", _Chinese)

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_OF_A_THING = re.compile(r"\b(?:that|which|who) [^,.;]*$")
_VERB = re.compile(r"((?:\w+ly |also |then |just |never )*)([\w']+)(.*)$", re.DOTALL)
_MEDICINE = re.compile(r"(?:[A-Z][\w-]+|(?:an? |the )?(?:oral |daily |inhaled )?[\w-]+)(?:[ ,/]|$)")
_SUBJECT = re.compile(
    r"(?:, |^(?:which|though|although|but|because|so|and|or) )(?:I|my child|they|it|there(?:'s)?|he|she|the \w+) ",
    re.IGNORECASE,
)
_NOTHING = re.compile(r"(no|none|not)\b\s*(.*)$", re.IGNORECASE | re.DOTALL)


def first_person(text: str, language: Language, voice: Voice = "self", *, taken: bool = False) -> str:
    """Returns a clause or sentence of a record as the patient, or its parent, would say it; no final stop.

    `taken`: a bare name is that of something that the patient takes, and does not have.
    """
    text = text.strip().rstrip(".。;；,，、 ")
    if not text:
        return ""
    if language == "zh":
        return _in_chinese(text, voice)
    if (named := _english("en")["introduced"].match(text)) is not None:
        return _introduced(text[named.end() :], voice)
    said = _in_english(text, voice)
    rules = _english_rules("en")
    if taken and _MEDICINE.match(text) and said.startswith(f"{rules.have[voice]} "):
        return f"{rules.taken[voice]}{said.removeprefix(rules.have[voice])}"
    return _together(said) if said.startswith("I ") else said


def _introduced(what: str, voice: Voice) -> str:
    """Returns what somebody is or where it is, as it stands behind a name: "I am a programmer"."""
    words, rules = _english("en"), _english_rules("en")
    if what.startswith(("at ", "in ")) or words["no_article"].match(what) or not words["trade"].search(what):
        return f"{rules.am[voice]} {what}"
    return f"{rules.am[voice]} {'an' if what[0] in 'aeiou' else 'a'} {what}"


def opening(complaint: str, language: Language, voice: Voice = "self") -> str:
    """Returns the chief complaint as the patient's first words to the doctor."""
    text = complaint.strip()
    if language == "zh":
        return _chinese_opening(text, voice)
    words = _english("en")
    if words["greeting"].match(text) or (
        voice == "parent" and words["spoken"].match(text) and words["own_child"].search(text)
    ):
        return text
    sentences = [first_person(s, "en", voice) for s in _SENTENCE.split(text)[:2] if s.strip(" .")]
    said = ". ".join(s for s in sentences if s) or "I do not feel well"
    if not re.match(r"I\b", said):
        said = said[0].lower() + said[1:]
    return f"Doctor, {said}."


def _chinese_opening(text: str, voice: Voice) -> str:
    words = _chinese("zh")
    if words.greeting.match(text):
        return text if text.endswith(("。", "！", "？")) else text + "。"
    told = first_person(rewritten(text.rstrip("。 "), words.complaint), "zh", voice)
    told = rewritten(told, [words.lasting]) or "我不舒服"
    return f"医生，{told.replace('孩子', '我家孩子', 1)}。"


def _in_chinese(text: str, voice: Voice) -> str:
    words = _chinese("zh")
    who = "孩子" if voice == "parent" else "我"
    if words.trade.match(text):
        return f"{who}是{text}"
    text = rewritten(text, words.rules).strip(" ，、；").replace("我", who)
    return text if text.startswith(who) or words.begins.match(text) else who + text


def _in_english(text: str, voice: Voice) -> str:
    words, rules = _english("en"), _english_rules("en")
    text = text.replace("’", "'")
    if text[:1] in '"“' and text[-1:] in '"”':
        text = text.strip('"“”. ')
    if words["spoken"].match(text):
        return text if voice == "self" else capitalised(rewritten(text, rules.of_child))
    nothing = _NOTHING.match(text)
    if nothing:
        return _denied(nothing[1], nothing[2], voice)
    if (relative := words["relative"].match(text)) is not None:
        # "..., which is relieved by rest" tells of the thing before it.
        return f"It {_pronouns(text[relative.end() :], voice)}"
    text = words["only"].sub("", text) or text
    begun = words["subject"].match(text)
    rest = words["beside"].sub("", text[begun.end() :].strip()) if begun else text
    beside = words["accompanied"].match(rest) if begun else None
    if beside:
        return (
            f"{rules.have[voice]} {_pronouns(beside[1], voice)}. {capitalised(_in_english(f'She {beside[2]}', voice))}"
        )
    denied = words["denied"].match(rest)
    if denied:
        return deny(_pronouns(rest[denied.end() :], voice), "en", voice)
    reported = words["reported"].match(rest)
    if reported and not words["as_verb"].match(rest) and (begun or not words["report_or_noun"].match(rest)):
        return _reported(words["complaint"].sub("", rest[reported.end() :]), voice)
    if begun:
        return _verb(rest, voice) if re.match(r"\w", rest) else _phrase(text, voice)
    return _phrase(text, voice)


def _denied(how: str, what: str, voice: Voice) -> str:
    if how.casefold() == "not":
        return f"It is not {_pronouns(what, voice)}"
    return deny(_pronouns(what, voice), "en", voice) if what else "No"


def _reported(rest: str, voice: Voice) -> str:
    words, rules = _english("en"), _english_rules("en")
    have = rules.have[voice]
    if rest.casefold().startswith("that "):
        return capitalised(_pronouns(rest[5:], voice))
    if re.match(r"(?:his|her|the|he|she|it|there|this|they) ", rest) and words["sentence_verb"].search(rest):
        return capitalised(_pronouns(rest, voice))
    spell = words["spell"].match(rest)
    if spell:
        number, unit, what = spell[1], spell[2].rstrip("s"), _pronouns(spell[3], voice)
        return f"{have} had {what} for {number} {unit}{'' if number in ('1', 'one') else 's'}"
    first, _, after = rest.partition(" ")
    gerund = rules.gerunds.get(first.casefold())
    if gerund and voice == "self":
        return f"I {gerund} {_pronouns(after, voice)}"
    if first.casefold() in ("experiencing", "having"):
        rest = after
    elif re.fullmatch(r"[a-z]{3,}ing", first) and after and not words["things_in_ing"].match(first):
        return f"{have} been {_pronouns(rest, voice)}"
    return f"{have} {'had ' if words['lasting'].search(rest) else ''}{_pronouns(rest, voice)}"


def _verb(rest: str, voice: Voice) -> str:
    if voice == "parent":
        return f"My child {_pronouns(rest, voice)}"
    match = _VERB.match(rest)
    if match is None:
        return f"I {_pronouns(rest, voice)}"
    adverb, verb, after = match.groups()
    return f"I {adverb}{_base(verb)}{_pronouns(after, voice)}"


def _together(text: str) -> str:
    """Returns what follows a verb with the verbs that share its subject in its form: "I smoke and drink"."""

    def in_form(found: re.Match[str]) -> str:
        # "A belly that comes and goes": there the belly is the subject.
        return found[0] if _OF_A_THING.search(text, 0, found.end(1)) else f"{found[1]}{_base(found[2])}"

    return _english("en")["together"].sub(in_form, text)


def _base(verb: str) -> str:
    lower = verb.casefold()
    if lower in _english_rules("en").verbs:
        return _english_rules("en").verbs[lower]
    if lower.endswith(("oes", "sses", "shes", "ches", "xes", "zes")):
        return lower[:-2]
    return lower[:-1] if lower.endswith("s") and not lower.endswith(("ss", "us", "was")) else verb


def _pronouns(text: str, voice: Voice) -> str:
    words, rules = _english("en"), _english_rules("en")
    text = rewritten(text, rules.reporting)
    if voice == "self":
        text = words["he_does"].sub(lambda m: f"I{m[1]}{_base(m[2])}", text)
    return rewritten(text, rules.pronouns[voice])


def _phrase(text: str, voice: Voice) -> str:
    words, rules = _english("en"), _english_rules("en")
    text = _pronouns(words["complaint"].sub("", text), voice)
    lower = text[0].lower() + text[1:]
    for beginning in rules.beginnings:
        if beginning.words.match(text) and (beginning.said[voice] or words["sentence_verb"].search(text)):
            before = beginning.said[voice]
            return capitalised(before + lower if before else text)
    first = text.split(" ")[0].rstrip(",")
    does = re.fullmatch(r"[A-Za-z][a-z]+s", first) and _base(first) in rules.habits
    if does or words["habit"].match(text):
        return _verb(lower, voice)
    # A verb behind "that" or "since" makes no sentence of what stands before it.
    head = words["aside"].split(text, maxsplit=1)[0]
    led = words["leading"].match(text) is not None and words["sentence_verb"].search(text) is not None
    if led or words["sentence_verb"].search(head) or _SUBJECT.search(text):
        return capitalised(text)
    # A capital that begins a phrase goes; an abbreviation or a name keeps it.
    if re.match(r"[A-Z][a-z]|An? ", text) and not words["names"].match(text):
        text = lower
    head = words["head_end"].split(text)[0].strip()
    if words["takes_article"].search(head) and not words["no_article"].match(text):
        text = f"{'an' if text[0] in 'aeiou' else 'a'} {text}"
    if words["state"].match(text):
        return f"{rules.am[voice]} {text}"
    return f"{rules.have[voice]} {'had ' if words['lasting'].search(text) else ''}{text}"
