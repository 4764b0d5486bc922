"""Where in the record a piece of evidence stands: supported, contradicted, or not there.

What stands in the record as it is, is supported. Anything else is cut into its claims, and each is looked up:

1. **Word for word**: the words stand in a text of the record, and neither before nor behind what denies them there.
2. **By value**: a result is named, and every number is the one recorded, in its unit or another, or lies where it is
   said to lie; or what is said of it (low, raised, normal) is what its reference range says; or a standard term says
   where it lies ("leukocytosis"). A range is no value.
3. **By name**: all that it says stands in one sentence of the record in another order; or it names symptoms in other
   words of the knowledge's, and the record tells each of them; or it is the patient's age and sex.

A claim is contradicted where the record denies what it affirms, affirms what it denies, or has another value. The whole
is supported where all claims are, contradicted where any is, and else not there. What the family has says nothing
of the patient. Nothing is guessed by likeness: an invented finding is not to pass for one that is nearly like it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec

from polyclinic.cases.record import Record
from polyclinic.evidence_tree.claims import (
    AROUND,
    NO_CLAIM,
    Claim,
    HeldAgainst,
    NumbersHeld,
    Result,
    bare,
    claim_words,
    claims_of,
    denial_in,
    denial_in_front,
    language_in,
    person_in,
    plainly,
    ranges_said,
    terms_held,
    told_from_behind,
)
from polyclinic.evidence_tree.sources import How, Pointer, RecordText, texts_of
from polyclinic.evidence_tree.tree import Leaf, one_line
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.lexicon import Lexicon, lexicon_of
from polyclinic.language.content_words import pieces

Status = Literal["supported", "contradicted", "not there"]

_SENTENCE = re.compile(r"[^.;!?\n。；！？]+(?:[.](?=\d)[^.;!?\n。；！？]*)*[.;!?\n。；！？]?")
_TURN = re.compile(r",?\s*\b(?:but|however|although)\b|，?(?:但是?|不过)", re.IGNORECASE)


class Support(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the record says to a piece of evidence; what is not there points nowhere."""

    status: Status
    pointer: Pointer | None = None


NOT_THERE = Support(status="not there")


class _Sentence(NamedTuple):
    """A sentence of the record, or the part of one up to a "but", and where it stands in its text."""

    text: RecordText
    start: int
    said: str
    holds: frozenset[str]
    told: str = ""  # "denied" or "there", where its end says so
    turned: int = 0  # where in the text that end begins
    of_relatives: bool = False


class Supporter:
    """Looks evidence up in one record."""

    def __init__(self, record: Record, knowledge: Knowledge, lexicon: Lexicon | None = None) -> None:
        self.language = record.presentation.language
        self.texts = texts_of(record)
        self._who = record.presentation
        self._results = NumbersHeld(record, self.texts, knowledge)
        self._symptoms = knowledge.symptoms
        self._lexicons = {self.language: lexicon or lexicon_of(knowledge, self.language)}
        self._sentences = [sentence for text in self.texts for sentence in _sentences(text)]
        self._tells: list[tuple[_Sentence, list[tuple[str, bool]]]] = []
        for one in self._sentences:
            if one.text.finding is None and not one.of_relatives:
                said = denial_in_front(one.said) if one.told else one.said
                self._tells.append((one, self._lexicon(said).mentions(said)))
        self._known: dict[str, Support] = {}

    def _lexicon(self, text: str) -> Lexicon:
        language = language_in(text)
        if language not in self._lexicons:
            self._lexicons[language] = Lexicon(self._symptoms.values(), language)
        return self._lexicons[language]

    def support(self, evidence: str) -> Support:
        """Returns what the record says to a piece of evidence."""
        if evidence not in self._known:
            self._known[evidence] = self._look_up(bare(one_line(evidence)))
        return self._known[evidence]

    def supported(self, leaf: Leaf) -> bool:
        """Whether the record bears a piece of evidence, for `EvidenceTree.pruned`."""
        return self.support(leaf.evidence).status == "supported"

    def quote(self, pointer: Pointer) -> str:
        """Returns the stretch of the record that a pointer points at."""
        text = next(text for text in self.texts if text.field == pointer.field)
        return text.text[pointer.start : pointer.end]

    def _look_up(self, evidence: str) -> Support:
        if not evidence:
            return NOT_THERE
        # "Present illness: hoarseness", as the paper's form has it, says where, and then what.
        label, _, behind = evidence.replace("：", ":").partition(":")
        named = {text.label.casefold() for text in self.texts if text.finding is None}
        inside = bare(behind)
        section = claim_words(label).section.fullmatch(label.strip()) is not None
        section = section or label.strip().casefold() in named
        said = inside if inside and section else evidence
        of_person = person_in(evidence if section and _is_general(inside) else said, self._who)
        if _is_general(said) and of_person is None:
            return NOT_THERE
        family = claim_words(evidence).relative.search(evidence) is not None
        for wording in dict.fromkeys((evidence, said)):
            found = self._word_for_word(wording, family)
            if found.status == "supported":
                return found
        # A symptom's own name may hold what divides claims ("contact with ...").
        if any(said.casefold() == name.casefold() for one in self._symptoms.values() for name in one.names()):
            found = self._by_symptoms(said, family)
            return self._by_terms(said, family) if found is NOT_THERE else found
        parts = [(part, claim) for claim in claims_of(said) for part in self._results.apart(claim.text)]
        held: dict[str, HeldAgainst] = {}
        before: tuple[Result, ...] = ()
        for part, _ in parts:  # a part that names nothing speaks of what was named before it
            held[part] = self._results.hold(part, before)
            before = held[part].spoken_of or (before if held[part].by else ())
        if not any(one.verdict in {"contradicted", "not there"} for one in held.values()):
            for wording in dict.fromkeys((evidence, said)):
                found = self._by_words(wording, family, plain=True)
                if found.status == "supported" and of_person is None and not any(h.by for h in held.values()):
                    return found
        answers = [self._claim(part, claim, held[part], family) for part, claim in parts]
        return _worst([one for one in answers if one is not None])

    def _claim(self, part: str, claim: Claim, held: HeldAgainst, family: bool) -> Support | None:
        """Returns what the record says to one claim; None where it only says of what another one is said."""
        if held.by is not None:
            return _found(held.by.text, held.by.start, held.by.end, "by value", held.verdict)  # type: ignore[arg-type]
        if held.verdict == "not there":
            return self._by_terms(part, family)
        of_person = person_in(part, self._who)
        if of_person is not None:
            text = next(t for t in self.texts if t.field == f"$.presentation.{of_person.section}")
            found = _found(text, 0, len(text.text), "by name", "supported" if of_person.agrees else "contradicted")
            left = claim_words(part).framing.sub(" ", of_person.rest)
            if not of_person.agrees or not any(ch.isalnum() for ch in left):
                return found
            part = of_person.rest
        wanted = pieces(part)
        if any(wanted <= pieces(text.label) for text in self.texts if text.finding is not None):
            return None
        no = claim_words(part).no
        wordings = [f"{no}{part}"] if claim.bound else [part, f"{no}{part}"] if claim.carried else [part]
        contradicted = NOT_THERE
        for wording in dict.fromkeys((*wordings, *map(plainly, wordings))):
            for way in (self._word_for_word, self._by_words, self._by_symptoms):
                found = way(wording, family)
                if found.status == "supported":
                    return found
                if found.status == "contradicted" and contradicted is NOT_THERE:
                    contradicted = found
        if contradicted is not NOT_THERE:
            return contradicted
        # What the record says in words goes before what was measured.
        answers = [self._by_terms(wording, family) for wording in wordings]
        return next((one for one in answers if one.status == "supported"), answers[0])

    def _word_for_word(self, evidence: str, family: bool) -> Support:
        words = r"\s+".join(map(re.escape, evidence.split()))
        before, behind = _edge(evidence[0], r"(?<!\w)"), _edge(evidence[-1], r"(?!\w|\.\d)")
        wanted = re.compile(before + words + behind, re.IGNORECASE)
        came = NOT_THERE
        for text in self.texts:
            for match in wanted.finditer(text.text):
                if match.end() <= text.begins:
                    continue  # a name alone is no result
                around = [s for s in self._sentences if s.text is text and s.start <= match.start()]
                sentence = around[-1] if around else None
                if sentence is not None and sentence.of_relatives and not family:
                    continue
                lead = text.text[sentence.start : match.start()] if sentence is not None else ""
                denied = denial_in(lead) is not None
                if sentence is not None and sentence.told:
                    denied = sentence.told == "denied" and match.end() <= sentence.turned
                status: Status = "contradicted" if denied else "supported"
                found = _found(text, match.start(), match.end(), "word for word", status)
                if status == "supported":
                    return found
                came = found
        return came

    def _by_words(self, evidence: str, family: bool, *, plain: bool = False) -> Support:
        """Returns what one sentence says that has all the words; with `plain`, only where nothing of it is denied."""
        wanted = pieces(evidence)
        denying = denial_in(evidence) is not None or (told_from_behind(evidence) or ("",))[0] == "denied"
        if not wanted or (plain and denying):
            return NOT_THERE
        came = NOT_THERE
        for sentence in self._sentences:
            if not wanted <= sentence.holds or wanted <= pieces(sentence.text.label):
                continue
            denial = denial_in(sentence.said)
            if (sentence.of_relatives and not family) or (plain and (sentence.told or denial)):
                continue
            denied = sentence.told == "denied"
            if denial is not None and not sentence.told:
                denied = not wanted <= pieces(sentence.said[: denial.start()]) | pieces(sentence.text.label)
            found = _of_sentence(sentence, "supported" if denied == denying else "contradicted")
            if found.status == "supported":
                return found
            came = came if came is not NOT_THERE else found
        return came

    def _by_symptoms(self, evidence: str, _family: bool) -> Support:
        lexicon = self._lexicon(evidence)
        said = dict(lexicon.mentions(evidence))
        left = claim_words(evidence).framing.sub(" ", lexicon.unread(evidence))
        if not said or any(ch.isalnum() for ch in left):
            return NOT_THERE
        return _worst([self._symptom(symptom, there) for symptom, there in said.items()])

    def _by_terms(self, evidence: str, family: bool) -> Support:
        held = NO_CLAIM if family else terms_held(evidence, self._results)
        if held.by is None:
            return NOT_THERE
        return _found(held.by.text, held.by.start, held.by.end, "by value", held.verdict)  # type: ignore[arg-type]

    def _symptom(self, symptom: str, affirmed: bool) -> Support:
        denied, lexicon = NOT_THERE, self._lexicons[self.language]
        for sentence, mentions in self._tells:
            for told, there in mentions:
                # Who has a dry cough has a cough; who has no cough has no dry one.
                line = (symptom, *lexicon.ancestors(symptom)) if not there else ()
                brought = there and symptom in lexicon.ancestors(told)
                if told == symptom or brought or told in line:
                    if there == affirmed:
                        return _of_sentence(sentence, "supported")
                    denied = _of_sentence(sentence, "contradicted")
        return denied


_CLAUSE = re.compile(r"[,，、]|\band\b", re.IGNORECASE)
_OF_ALL = re.compile(r"\b(?:are|were|have been)\b|均|都", re.IGNORECASE)


def _sentences(text: RecordText) -> Iterator[_Sentence]:
    label = pieces(text.label)
    of_family = text.field == "$.history.family"
    for match in _SENTENCE.finditer(text.text, text.begins):
        start = match.start()
        ends = [m.start() for m in _TURN.finditer(match[0])] + [len(match[0])]
        at = 0
        for end in ends:
            for first, last, told, turned in _told_apart(match[0][at:end]):
                said = match[0][at + first : at + last]
                lead = len(said) - len(said.lstrip())
                if said.strip(AROUND):
                    holds = pieces(said if text.finding is None else ranges_said(said)[0]) | label
                    yield _Sentence(
                        text=text,
                        start=start + at + first + lead,
                        said=said.strip(),
                        holds=holds,
                        told=told,
                        turned=start + at + turned,
                        of_relatives=of_family or claim_words(said).relative.search(said) is not None,
                    )
            at = end


def _told_apart(said: str) -> Iterator[tuple[int, int, str, int]]:
    """Yields the stretches of a sentence, those apart that their end denies or affirms: from, to, told, and where."""
    at, begun = 0, 0
    for end in [*(m.end() for m in _CLAUSE.finditer(said)), len(said)]:
        clause = re.sub(r"[\s,，、]*(?:\band\b)?$", "", said[at:end], flags=re.IGNORECASE)
        told = told_from_behind(clause)
        if told is not None:
            of_all = _OF_ALL.search(clause[told[1] :]) is not None
            first = begun if of_all else at
            if begun < first:
                yield begun, first, "", 0
            yield first, end, told[0], at + told[1]
            begun = end
        at = end
    if begun < len(said):
        yield begun, len(said), "", 0


def _worst(came: Sequence[Support]) -> Support:
    """Returns the worst of several answers: a contradiction, else that something is not there, else the first."""
    worst = next((one for one in came if one.status == "contradicted"), None)
    return worst or (NOT_THERE if not came or NOT_THERE in came else came[0])


def _is_general(evidence: str) -> bool:
    """Whether evidence is only numbers and words that name nothing by themselves ("84", "month", "normal")."""
    return not any(ch.isalpha() for ch in claim_words(evidence).general.sub(" ", evidence))


def _of_sentence(sentence: _Sentence, status: Status) -> Support:
    return _found(sentence.text, sentence.start, sentence.start + len(sentence.said), "by name", status)


def _found(text: RecordText, start: int, end: int, how: How, status: Status) -> Support:
    return Support(status=status, pointer=text.at(start, end, how))


def _edge(letter: str, edge: str) -> str:
    return edge if letter.isascii() and letter.isalnum() else ""
