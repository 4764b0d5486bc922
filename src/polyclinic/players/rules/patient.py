"""The rules patient: answers out of its record, without a model, and says for each turn which of the ten states it is.

State tracker, memory and answer as in AIE's patient (§4.2), by rules: this module reads how the turn is put,
`questions.py` and `topics.py` what it asks for, `recall.py` finds the answer, and `wording.py` words it. The same
record, turns and generator give the same answers; the generator varies only set phrases.

Of a persona it takes the statement, which is its opening, and the questions, of which it asks one where it is told
what to do or what it has. Of the manners it plays `parent` (the parent's voice), `withholding` (one clause an answer,
never a false one) and `anxious` (a question of its own to every second answer); the others it plays plainly, as it
cannot play them and keep to its record.
"""

from __future__ import annotations

import functools
import random
import re
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec

from polyclinic.cases.persona import Manner
from polyclinic.cases.record import read_out
from polyclinic.errors import ScriptError
from polyclinic.events import State
from polyclinic.knowledge.ages import SPEAKS_FROM, YOUNGEST_ADOLESCENT
from polyclinic.knowledge.examination_words import EXAMINATION
from polyclinic.knowledge.lexicon import Lexicon
from polyclinic.knowledge.names import Names, RecordNames
from polyclinic.knowledge.orders.concepts import OrderMeaning, closeness, is_a, title_of
from polyclinic.knowledge.orders.reading import read_orders
from polyclinic.language.content_words import terms
from polyclinic.language.language import CHINESE, MARKS, Language, language_of, uncapitalised
from polyclinic.language.word_lists import Pattern, WordLists
from polyclinic.players.player import Ask, PatientTurn, Purpose
from polyclinic.players.roles.patient import Patient
from polyclinic.players.rules.questions import core, is_open, is_opening, refers_back
from polyclinic.players.rules.recall import Recalled, recall
from polyclinic.players.rules.sayings import WORDS, Voice
from polyclinic.players.rules.story import Fact, Story
from polyclinic.players.rules.topics import asks_history, asks_temperature, names_onset, names_thing, names_topic
from polyclinic.players.rules.wording import Sayer, answer, first_person, of_companion, opening, who

Kind = Literal["inquiry", "advice", "demand", "other topic", "conclusion"]
Act = Literal["question", "consent", "advice", "instruction", "closing", "comment"]


class Heard(msgspec.Struct, frozen=True):
    """A doctor's turn."""

    kind: Kind
    focus: str  # the sentences that ask or advise, without what leads up to them
    definite: bool = True  # something is named that could be told, or be done: a symptom, an examination, a treatment
    # The advice is to undergo an examination; else it is a treatment, a precaution, or to see a doctor.
    examining: bool = True
    refused: bool = False  # the advice is to leave an examination, or to put it off: there is nothing to be done


_cues = WordLists(Path(__file__).with_name("hearing")).section("hearing", dict[str, Pattern])

_SENTENCE = re.compile(r"(?<=[。！？?!；;\n])|(?<=[^\d\s]\.)(?=\s)")
_CLAUSE = re.compile(r"(?<=[，,。；;！!？?\n])|(?<=[^\d\s]\.)(?=\s)|(?=但是?|而是|不过)|(?<=\s)(?=but\s|so let)")
_ENDS = " \n.,;!，。；！"
_TAG = re.compile(r"<[^<>\s]{1,20}>")  # What a model ends its turn with, such as `<eoa>`, where it got into the text
_WORD = re.compile(rf"[{CHINESE}]|[^\W\d_]{{2}}")
_ITEM = re.compile(r"\W*(?:\d{1,2}[.、)）:：]|[（(]\d{1,2}[)）]|[-*•·—])")  # How an item of a list begins
_PHRASE = 3  # Words up to which a question is a phrase ("Chest pain?"), and needs none of those that every sentence has
_SENTENCE_AT_MOST = 1000
"""Characters of a sentence by which its act is known; a model that repeats itself may find no end."""
_BARE_ORDER = 60  # Characters up to which a turn that is nothing but the name of an examination is an order


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
    elsewhere = cues["other_topic"].search(text) and not cues["bodily"].search(text)
    if elsewhere and not advising and not EXAMINATION.search(text):
        return Heard("other topic", text.strip())
    if advising:
        advice = _advice(advising, cues, asking)
        if advice.definite or cues["urge"].search(advising):
            return advice
        if not asking:
            # Who recommends nothing, and begins with a farewell or says it in more sentences, says goodbye.
            more = count["closing"] - count["advice"] + (acts[0][1] == "closing")
            return Heard("conclusion", text.strip()) if more > 0 else advice
    if asking:
        # "... such as a new mole. Have you noticed anything like that?"
        meant = text if cues["refers"].search(asking) else asking
        definite = _is_definite(asking, cues) or cues["example"].search(meant) is not None
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


def _act(sentence: str, cues: Mapping[str, Pattern]) -> Act:
    if cues["instruct"].search(sentence):
        return "instruction"
    if cues["shown"].search(sentence):
        return "question"
    if cues["hands"].search(sentence):
        return "advice"
    asks = cues["ask"].search(sentence) is not None
    if asks and cues["consent"].search(sentence):
        return "consent"
    urges = cues["urge"].search(sentence) is not None
    advises = urges or (not asks and _advises(sentence, cues))
    if not asks and cues["offer"].search(sentence):
        return "closing"
    if advises and not cues["asked_before"].search(sentence):
        return "advice"
    if asks:
        return "question"
    return "closing" if cues["close"].search(sentence) else "comment"


def _advises(sentence: str, cues: Mapping[str, Pattern]) -> bool:
    """Whether a sentence says what is to be done, and not only what has been."""
    done = cues["done"].search(sentence)
    return cues["advise"].search(sentence, done.end() if done else 0) is not None


def _advice(text: str, cues: Mapping[str, Pattern], asking: str = "") -> Heard:
    if not _names_something_to_do(text, cues) and _names_something_to_do(asking, cues):
        # "Have you had an ECG? If not, I recommend one."
        text = f"{asking} {text}"
    if _examining(text, cues) and (kept := _without_refused(text, cues)) != text:
        if not _names_something_to_do(kept, cues):
            return Heard("advice", text, examining=False, refused=True)
        text = kept.strip()
    examining = _examining(text, cues)
    return Heard("advice", text, definite=examining or cues["treatment"].search(text) is not None, examining=examining)


def _without_refused(text: str, cues: Mapping[str, Pattern]) -> str:
    """Returns advice without the clauses that say of an examination that it is not to be done, or not now."""
    clauses = _CLAUSE.split(text)
    return "".join(c for c in clauses if not (cues["refuses"].search(c.strip(_ENDS)) and _examining(c, cues)))


def _names_something_to_do(text: str, cues: Mapping[str, Pattern]) -> bool:
    return _examining(text, cues) or cues["treatment"].search(text) is not None


def _examining(text: str, cues: Mapping[str, Pattern]) -> bool:
    """Whether a text names an examination that could be done as it is named."""
    named = cues["broad"].sub(" ", text)
    return any(words.search(named) for words in (cues["examination"], cues["hands"], EXAMINATION))


def _is_definite(text: str, cues: Mapping[str, Pattern]) -> bool:
    """Whether a question names anything that the patient could tell, be it by an example."""
    if cues["example"].search(text):
        return True
    rest, said = cues["empty"].subn(" ", text)
    # Several words and none that every sentence has: another language than it was taken for.
    return _WORD.search(rest) is not None and (said > 0 or len(rest.split()) <= _PHRASE)


_orders = WORDS.section("orders", dict[str, Pattern])
_passed_on = WORDS.section("passed_on", dict[str, str])

_SENTENCE_ORDERS = re.compile(r"(?<=[。？！?!；])|(?<=\.)\s")
_TO_BE_DONE = re.compile(r"^.*\b(?:to be done|please do|the following(?: \w+)?)\s*:\s*", re.IGNORECASE)
_MARKS = " .。?？!！,，"


@functools.lru_cache(maxsize=4096)
def asks_result(text: str, language: Language) -> bool:
    """Returns whether a question asks for a result."""
    return _orders(language)["asks_result"].search(text) is not None


@functools.lru_cache(maxsize=4096)
def asks_earlier(text: str, language: Language) -> bool:
    """Returns whether a question asks for examinations from before this visit."""
    return _orders(language)["asks_earlier"].search(text) is not None


def is_planned(text: str, language: Language) -> bool:
    """Returns whether a text tells what is still to be done."""
    return _orders(language)["planned"].search(text) is not None


def reported(clause: str, language: Language) -> str:
    """Returns a clause with a result as it is told by itself, without what joins it to another."""
    return _orders(language)["joint"].sub("", clause)


def request(text: str, language: Language) -> str:
    """Returns the doctor's order as it is passed on: its names, without politeness and reasons."""
    return _passed_on(language)["request"].format(ordered(text, language))


def ordered(text: str, language: Language) -> str:
    """Returns what is ordered in a text, without what leads up to it and what it is meant for."""
    words, wanted = _orders(language), []
    for sentence in _SENTENCE_ORDERS.split(text):
        cues = list(words["cue"].finditer(sentence))
        clear = words["reason"].sub("", sentence[cues[-1].start() :] if cues else sentence)
        clear = _TO_BE_DONE.sub("", words["purpose"].sub("", clear))
        stripped = words["polite_end"].sub("", words["lead"].sub("", clear, count=1).strip(_MARKS))
        if stripped:
            wanted.append(stripped)
    return MARKS[language].semicolon.join(wanted) or text.strip(_MARKS)


def request_of_result(text: str, language: Language) -> str:
    """Returns a question for results as it is passed on: the names of the examinations alone, where any is known."""
    asked = [order for order in read_orders(text, mentioned=True).orders if not order.loose]
    names = dict.fromkeys(order.text.strip(_MARKS) for order in asked)
    if not names:
        return request(text, language)
    return _passed_on(language)["request"].format(MARKS[language].semicolon.join(names))


@functools.lru_cache(maxsize=4096)
def wanted(text: str) -> tuple[OrderMeaning, ...]:
    """Returns what is ordered in a text, by its meaning.

    A part of the body alone is none of it, nor is what a doctor sees and feels: it is done where the doctor is.
    """
    orders = (order.meaning for order in read_orders(text).orders if not order.loose)
    return tuple(m for m in orders if not (m.procedures and all(is_a(name, "physical") for name in m.procedures)))


def reports(text: str, order: OrderMeaning) -> int:
    """Returns how close what a text reports is to what is ordered: 0 where it is something else."""
    return closeness(order, title_of(text, ""))


def examinations(text: str, language: Language) -> list[str]:
    """Returns the examinations in a text, each with the words before it that say of what ("CT of the head")."""
    words = _orders(language)
    return [words["examination_lead"].sub("", found[0]) for found in words["examination"].finditer(text)]


_visits = WORDS.section("visits_asked", dict[str, Pattern])


def asks_of_visits(text: str, language: Language) -> bool:
    """Whether a question asks whom the patient saw before, what it was told or given there, or whether that helped."""
    return _visits(language)["visit"].search(text) is not None


AT_MOST = 3  # clauses in one answer
RESULTS_AT_MOST = 8  # sentences in one answer about results
SENTENCE = 160  # characters up to which a sentence with a result is told as a whole
LED_UP = 12  # characters from which on what leads up to a question is more than a comment
_PARENT_TELLS = frozenset({"past", "medications", "allergies", "family"})


class RulesPatient:
    """A mind for `Patient`: from the words for symptoms and the names of examinations."""

    name = "rules"
    tracks = True

    def __init__(self, lexicons: Mapping[Language, Lexicon], names: Names, rng: random.Random) -> None:
        self._lexicons, self._names, self._rng = lexicons, names, rng
        self._played: _PlayedPatient | None = None

    async def answer(self, ask: Ask[Any], role: Patient) -> object:
        """Opens, or replies to what the doctor last said."""
        if self._played is None or self._played.role is not role:
            self._played = _PlayedPatient(role, self._lexicons, self._names, self._rng)
        if ask.purpose is Purpose.OPEN:
            return self._played.open()
        if ask.purpose is not Purpose.REPLY:
            raise ScriptError(f"the rules patient opens and replies; it was asked to {ask.purpose}")
        return self._played.reply()

    async def state_of(self, role: Patient) -> State | None:
        """Says what the doctor's last turn is to this patient, whoever replies to it."""
        return _PlayedPatient(role, self._lexicons, self._names, self._rng).reply().state


class _PlayedPatient:
    """One patient, as the rules play it."""

    def __init__(self, role: Patient, lexicons: Mapping[Language, Lexicon], names: Names, rng: random.Random) -> None:
        self.role, self._lexicons, self._names = role, lexicons, names
        self._language = role.presentation.language
        # Somebody who came along speaks as a parent does, of the patient.
        self._voice: Voice = "parent" if role.presentation.companion else voice_of(role)
        self._say = Sayer(self._language, rng, self._voice)
        self._manner = _manner_of(role)
        self._wondering = list(role.persona.questions) if role.persona is not None else []
        self._replies = 0
        self._asked_for: list[tuple[str, Language, bool]] = []  # the questions so far, and whether they were answered

    @cached_property
    def _story(self) -> Story:
        return Story(self.role, self._lexicons[self._language])

    @cached_property
    def _findings(self) -> RecordNames:
        return self._names.of(self.role.findings)

    def _as_told(self, turn: PatientTurn) -> PatientTurn:
        """Returns a turn in the words of whoever tells it."""
        if not self.role.presentation.companion:
            return turn
        return msgspec.structs.replace(turn, say=of_companion(turn.say, self._language))

    def open(self) -> PatientTurn:
        """Returns the first words."""
        return self._as_told(self._open())

    def _open(self) -> PatientTurn:
        said = self.role.first_words() or opening(self.role.presentation.complaint, self._language, self._voice)
        return PatientTurn(say=said, state=State.OPENING)

    def reply(self) -> PatientTurn:
        """Returns the reply, with a question of the patient's own where it is told what to do or what it has.

        An anxious patient asks oftener.
        """
        self._replies += 1
        turn = self._as_told(self._reply())
        told = turn.state in (State.INEFFECTIVE_ADVICE, State.CONCLUSION) and turn.to == "doctor"
        anxious = self._manner == "anxious" and self._replies % 2 == 0
        if not self._wondering or turn.to != "doctor" or not (told or anxious):
            return turn
        return msgspec.structs.replace(turn, say=f"{turn.say}{MARKS[self._language].blank}{self._wondering.pop(0)}")

    def _reply(self) -> PatientTurn:
        said = self.role.heard()
        # A doctor may speak another language than the case.
        language = language_of([said])
        if is_opening(said, language):
            return self._open()
        heard = hear(said, language)
        if heard.kind == "inquiry":
            if self.role.remembered and asks_of_visits(heard.focus, language):
                visits = MARKS[self._language].blank.join(self.role.remembered)
                return PatientTurn(say=visits, state=State.EFFECTIVE_INQUIRY)
            heard = self._led_up_to(heard, said, language)
        match heard.kind:
            case "demand":
                key = "demand" if self.role.setting == "online" else "demand in ward"
                return PatientTurn(say=self._say(key), state=State.DEMAND)
            case "other topic":
                return PatientTurn(say=self._say("other"), state=State.OTHER_TOPIC)
            case "conclusion":
                return PatientTurn(say=self._say("thanks"), state=State.CONCLUSION)
            case "advice":
                return self._advised(heard)
            case "inquiry":
                # "How long have you had these symptoms?" names none, and is answered where a time is known.
                definite = heard.definite or self._lexicons[language].knows_questions(heard.focus)
                definite = definite or names_onset(heard.focus, language)
                definite = definite or names_thing(core(heard.focus, language), language)
                if definite or names_topic(heard.focus, language):
                    asked = self._asked(heard, language)
                    if definite or asked.state is not State.INEFFECTIVE_INQUIRY:
                        return asked
                return PatientTurn(say=self._say("which question"), state=State.AMBIGUOUS_INQUIRY)

    def _led_up_to(self, heard: Heard, said: str, language: Language) -> Heard:
        """Returns a question with what leads up to it, where it names nothing and goes back to that."""
        before = said[: max(said.find(heard.focus), 0)]
        if len(before) < LED_UP or self._lexicons[language].knows_questions(heard.focus):
            return heard
        if not refers_back(heard.focus, language) or names_thing(heard.focus, language):
            return heard
        # "You had an operation on that ear, I gather. Which one was it?"
        return msgspec.structs.replace(heard, focus=said, definite=True) if names_thing(before, language) else heard

    # Advice: an order of an examination goes to the examiner; online, what is held of it is told.

    def _advised(self, heard: Heard) -> PatientTurn:
        if heard.refused:
            return PatientTurn(say=self._say("noted"), state=State.INEFFECTIVE_ADVICE)
        in_ward = self.role.setting == "ward"
        # A doctor in a ward examines there and then; to be told online to be examined names nothing.
        named = in_ward and bool(self._names.find(heard.focus))
        if not heard.definite and not named:
            return PatientTurn(say=self._say("which advice"), state=State.AMBIGUOUS_ADVICE)
        if not heard.examining and not named:
            return PatientTurn(say=self._say("treatment"), state=State.INEFFECTIVE_ADVICE)
        if in_ward:
            return PatientTurn(say=request(heard.focus, self._language), to="examiner", state=State.EFFECTIVE_ADVICE)
        # The reasons given for an examination name things too; only the examination itself counts.
        results = self._results(ordered(heard.focus, self._language))
        if results:
            return PatientTurn(say=self._say("results", results), state=State.EFFECTIVE_ADVICE)
        return PatientTurn(say=self._say("not yet examined"), state=State.INEFFECTIVE_ADVICE)

    def _results(self, named: str) -> str:
        """Returns the results that an online patient holds of what is named, or ""."""
        semicolon = MARKS[self._language].semicolon
        findings = self._findings.mentioned(named) if self.role.findings else []
        if findings:
            return semicolon.join(read_out(findings, self._language))
        known = [f for f in self._story.facts if not f.denied and not is_planned(f.text, self._language)]
        sentences = [self._result(f) for f in self._naming(named, known)]
        return semicolon.join(dict.fromkeys(sentences[:RESULTS_AT_MOST]))

    def _heard_before(self, asked: str) -> str:
        """Returns the results from before this visit that a patient in a ward heard and is asked for, or ""."""
        if not asks_earlier(asked, self._language):
            return ""
        heard = [f for f in self._story.facts if f.of_examination and not is_planned(f.text, self._language)]
        if self._names.find(asked) or examinations(asked, self._language):
            heard = self._naming(asked, heard)
        told = dict.fromkeys(reported(self._result(f), self._language) for f in heard)
        return MARKS[self._language].semicolon.join(list(told)[:RESULTS_AT_MOST])

    def _naming(self, named: str, known: list[Fact]) -> list[Fact]:
        """Returns the facts that report what is named, of those that are known."""
        reporting = [f for f in known if f.of_examination]
        close = [[(reports(f.text, order), f) for f in reporting] for order in wanted(named)]
        held = [f for facts in close for near, f in facts if near and near == max(near for near, _ in facts)]
        if held or close:
            return list(dict.fromkeys(held))
        # First what names the examination itself; else what names something that it looks at.
        direct = frozenset(key for found in self._names.find(named) for key in found.keys)
        held = [f for f in known if direct & self._keys(f)]
        if not held:
            within = direct.union(*(self._names.items.get(key, frozenset()) for key in direct))
            held = [f for f in known if within & self._keys(f)]
        if not held:
            for examination in examinations(named, self._language) or [named]:
                held += self._story.best(frozenset(terms(examination, self._language)), reporting, enough=0.6)
        return held

    def _result(self, fact: Fact) -> str:
        """Returns a result with what goes on with it in its sentence."""
        if len(fact.whole) <= SENTENCE:
            return first_person(fact.whole, self._language)
        clauses = [f.text for f in self._story.facts if f.sentence == fact.sentence and f.number >= fact.number]
        return MARKS[self._language].comma.join(clauses[:AT_MOST])

    def _keys(self, fact: Fact) -> frozenset[str]:
        if fact.named is None:
            fact.named = frozenset(key for named in self._names.find(fact.text) for key in named.keys)
        return fact.named

    # Inquiry.

    def _asked(self, heard: Heard, language: Language) -> PatientTurn:
        asking = core(heard.focus, language)
        if self.role.setting == "ward" and not asks_history(asking, language):
            if before := self._heard_before(heard.focus):
                return PatientTurn(say=self._say("results", before), state=State.EFFECTIVE_INQUIRY)
            if self._language == language and (felt := self._temperature(asking)):
                return PatientTurn(say=self._tell(felt, []), state=State.EFFECTIVE_INQUIRY)
        about_results = asks_result(asking, language)
        named = EXAMINATION.search(asking) or (
            about_results and (EXAMINATION.search(heard.focus) or self._names.find(heard.focus))
        )
        if named and (about_results or self.role.setting == "ward"):
            if self.role.setting == "ward":
                asks = request_of_result(heard.focus, self._language)
                return PatientTurn(say=asks, to="examiner", state=State.EFFECTIVE_INQUIRY)
            results = self._results(heard.focus)
            if results:
                return PatientTurn(say=self._say("results", results), state=State.EFFECTIVE_INQUIRY)
            return PatientTurn(say=self._say("not examined"), state=State.INEFFECTIVE_INQUIRY)
        lexicon = self._lexicons[language]
        goes_back = not lexicon.knows_questions(asking) and refers_back(asking, language)
        before = self._spoken_of() if goes_back and not names_thing(asking, language) else ""
        found = recall(asking, self._story, lexicon, before)
        self._asked_for.append((asking, language, bool(found.told)))
        if found.who:
            is_so = who(found.who, self.role.presentation)
            state = State.EFFECTIVE_INQUIRY if is_so else State.INEFFECTIVE_INQUIRY
            return PatientTurn(say=is_so or self._say("unknown"), state=state)
        if found.told:
            return PatientTurn(say=self._told(found), state=State.EFFECTIVE_INQUIRY)
        if found.absent:
            said = self._tell([], list(found.absent))
            denial = self._say("denial", said if said.startswith("I ") else said[0].lower() + said[1:])
            return PatientTurn(say=denial, state=State.INEFFECTIVE_INQUIRY)
        if found.near:
            # What is near to it is told as what it is, and not as the answer.
            said = self._say("not noticed but", self._tell(list(found.near), []))
            return PatientTurn(say=said, state=State.INEFFECTIVE_INQUIRY)
        if found.lack:
            lacks = MARKS[self._language].blank.join(self._say(key) for key in (found.lack, *found.lacking))
            return PatientTurn(say=lacks, state=State.INEFFECTIVE_INQUIRY)
        if language != self._language:
            # Much that is asked in another language is not understood: it is not known, and never denied.
            return PatientTurn(say=self._say("unknown"), state=State.INEFFECTIVE_INQUIRY)
        return PatientTurn(say=self._say("which question"), state=State.AMBIGUOUS_INQUIRY)

    def _told(self, found: Recalled) -> str:
        """Returns what is told, with what of it is not known."""
        answered = self._tell(list(found.told), list(found.absent), found.items)
        if found.late is not None:
            lower = answered if answered[:2].isupper() or answered.startswith("I ") else uncapitalised(answered)
            answered = self._say("late" if found.late else "not late", lower)
        answers = [answered, *(self._say("unknown of it", name) for name in found.unknown)]
        answers += [self._say(key) for key in found.lacking]
        return MARKS[self._language].blank.join(answers)

    def _spoken_of(self) -> str:
        """Returns the last question that named a thing, where it was answered; else ""."""
        named = (one for one in reversed(self._asked_for) if names_thing(*one[:2]))
        question, _, answered = next(named, ("", self._language, False))
        return question if answered else ""

    def _temperature(self, asked: str) -> list[Fact]:
        """Returns what the patient knows of its temperature, where that is asked for: that is taken at home as well."""
        if not is_open(asked, self._language) or not asks_temperature(asked, self._language):
            return []
        told = recall(asked, self._story, self._lexicons[self._language]).told
        return [fact for fact in told if fact.of_temperature]

    def _tell(self, facts: list[Fact], absent: list[str], items: int = 1) -> str:
        # Of a list that is asked for, every item is answered.
        at_most = 1 if self._manner == "withholding" else max(AT_MOST, items)
        chosen = sorted(dict.fromkeys(facts), key=lambda f: f.number)[:at_most]
        denied = [f.text for f in chosen if f.denied]
        there = [
            first_person(f.text, self._language, self._voice_for(f), taken=f.section == "medications")
            for f in chosen
            if not f.denied
        ]
        return answer(there, denied + absent, self._language, self._voice)

    def _voice_for(self, fact: Fact) -> Voice:
        """Returns who tells something: of a schoolchild's earlier life and medicines the parent who is with it does."""
        age = self.role.presentation.age
        with_parent = age is not None and SPEAKS_FROM <= age < YOUNGEST_ADOLESCENT
        return "parent" if with_parent and fact.section in _PARENT_TELLS else self._voice


def voice_of(role: Patient) -> Voice:
    """Returns who speaks: the patient, or a parent for a child that is small or comes with one."""
    age = role.presentation.age
    return "parent" if (age is not None and age < SPEAKS_FROM) or _manner_of(role) == "parent" else "self"


def _manner_of(role: Patient) -> Manner:
    """Returns how the patient deals with the doctor."""
    return "plain" if role.persona is None else role.persona.manner
