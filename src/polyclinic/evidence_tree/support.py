"""Where in the record a piece of evidence stands: supported, contradicted, or not there.

1. **Word for word**: the words stand in a text of the record, and not behind what denies them there.
2. **By value**: a result is named, and its number is the one recorded, or what is said of it (low, raised, normal) is
   what its reference range says.
3. **By name**: all that it says stands in one sentence of the record in another order; or it names symptoms in other
   words of the knowledge's, and the record tells each of them.

It is contradicted where the record denies what it affirms, affirms what it denies, or has another value. Anything else
is not there. Nothing is guessed by likeness: an invented finding is not to pass for one that is nearly like it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec

from polyclinic.cases.record import Finding, Record
from polyclinic.evidence_tree.parts import names_of
from polyclinic.evidence_tree.printed import WORDS
from polyclinic.evidence_tree.sources import How, Pointer, RecordText, texts_of
from polyclinic.evidence_tree.tree import EvidenceTree, Leaf, one_line
from polyclinic.evidence_tree.values import Standing, measured, numbers_in
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.lexicon import Lexicon, lexicon_of
from polyclinic.language.clauses import clause_words
from polyclinic.language.overlap import pieces
from polyclinic.language.word_lists import Pattern

Status = Literal["supported", "contradicted", "not there"]

_SENTENCE = re.compile(r"[^.;!?\n。；！？]+(?:[.](?=\d)[^.;!?\n。；！？]*)*[.;!?\n。；！？]?")
_TURN = re.compile(r",?\s*\b(?:but|however|although)\b|，?(?:但是?|不过)", re.IGNORECASE)
_AROUND = " \t\"'“”‘’「」()（）[]【】.。;；,，:：!！?？-–—*"


class Support(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the record says to a piece of evidence; what is not there points nowhere."""

    status: Status
    pointer: Pointer | None = None


NOT_THERE = Support(status="not there")


class Grounded(NamedTuple):
    """A piece of evidence in its place in the tree, and what the record says to it."""

    leaf: Leaf
    support: Support


class _SupportWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    low: Pattern
    high: Pattern
    normal: Pattern
    abnormal: Pattern
    framing: Pattern
    section: Pattern


_words = WORDS.section("support", _SupportWords)


class _Sentence(NamedTuple):
    """A sentence of the record, or the part of one up to a "but", and where it stands in its text."""

    text: RecordText
    start: int
    said: str
    holds: frozenset[str]


class Supporter:
    """Looks evidence up in one record."""

    def __init__(self, record: Record, knowledge: Knowledge, lexicon: Lexicon | None = None) -> None:
        self.language = record.presentation.language
        self.texts = texts_of(record)
        self._findings = record.findings
        self._of_finding = {text.finding: text for text in self.texts if text.finding is not None}
        self._names = names_of(knowledge).of(record.findings)
        self._lexicon = lexicon or lexicon_of(knowledge, self.language)
        self._sentences = [sentence for text in self.texts for sentence in _sentences(text)]
        self._tells = [(s, self._lexicon.mentions(s.said)) for s in self._sentences if s.text.finding is None]
        self._denial = clause_words(self.language).denial
        self._known: dict[str, Support] = {}

    def support(self, evidence: str) -> Support:
        """Returns what the record says to a piece of evidence."""
        if evidence not in self._known:
            self._known[evidence] = self._look_up(one_line(evidence).strip(_AROUND))
        return self._known[evidence]

    def tree(self, tree: EvidenceTree) -> list[Grounded]:
        """Returns what the record says to every piece of a tree's evidence."""
        return [Grounded(leaf, self.support(leaf.evidence)) for leaf in tree.leaves()]

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
        named = {text.label.casefold() for text in self.texts}
        inside = behind.strip(_AROUND)
        is_section = _words(self.language).section.fullmatch(label.strip()) or label.strip().casefold() in named
        said = inside if inside and is_section else evidence
        contradicted = NOT_THERE
        for way in (self._word_for_word, self._by_value, self._by_words, self._by_symptoms):
            for wording in dict.fromkeys((evidence, said)):
                found = way(wording)
                if found.status == "supported":
                    return found
                if found.status == "contradicted" and contradicted is NOT_THERE:
                    contradicted = found
        return contradicted

    def _word_for_word(self, evidence: str) -> Support:
        words = r"\s+".join(map(re.escape, evidence.split()))
        before, behind = _edge(evidence[0], r"(?<!\w)"), _edge(evidence[-1], r"(?!\w|\.\d)")
        wanted = re.compile(before + words + behind, re.IGNORECASE)
        denied = NOT_THERE
        for text in self.texts:
            for match in wanted.finditer(text.text):
                if match.end() <= text.begins:
                    continue  # a name alone is no result
                lead = _SENTENCE_START.split(text.text[: match.start()])[-1]
                status: Status = "contradicted" if self._denial.search(lead) else "supported"
                found = _found(text, match.start(), match.end(), "word for word", status)
                if status == "supported":
                    return found
                denied = found
        return denied

    def _by_value(self, evidence: str) -> Support:
        findings = self._names.mentioned(evidence)
        rest = evidence
        for name in sorted((n.text for n in self._names.find(evidence)), key=len, reverse=True):
            rest = rest.replace(name, " ", 1)
        numbers, claimed = numbers_in(rest), self._claimed(rest)
        came = NOT_THERE
        for finding in findings:
            status = _agrees(finding, numbers, claimed)
            if status == "not there":
                continue
            text = self._of_finding[self._findings.index(finding)]
            found = _found(text, 0, len(text.text), "by value", status)
            if status == "supported":
                return found
            came = came if came is not NOT_THERE else found
        return came

    def _claimed(self, rest: str) -> Standing | None:
        """Returns what is said of a value: low, high or normal; None where nothing is, or several things are."""
        words = _words(self.language)
        denied = self._denial.search(rest) is not None
        if words.normal.search(rest):
            return "abnormal" if denied and not words.low.search(rest) and not words.high.search(rest) else "normal"
        low, high = words.low.search(rest) is not None, words.high.search(rest) is not None
        if denied or low == high:
            return "abnormal" if words.abnormal.search(rest) and not denied else None
        return "low" if low else "high"

    def _by_words(self, evidence: str) -> Support:
        wanted = pieces(evidence)
        denying = self._denial.search(evidence) is not None
        if not wanted:
            return NOT_THERE
        came = NOT_THERE
        for sentence in self._sentences:
            if not wanted <= sentence.holds or wanted <= pieces(sentence.text.label):
                continue
            status: Status = "supported" if self._denies(sentence, wanted) == denying else "contradicted"
            found = _of_sentence(sentence, status)
            if status == "supported":
                return found
            came = came if came is not NOT_THERE else found
        return came

    def _denies(self, sentence: _Sentence, wanted: frozenset[str]) -> bool:
        """Whether any of these words stands behind what denies it in the sentence."""
        denial = self._denial.search(sentence.said)
        if denial is None:
            return False
        return not wanted <= pieces(sentence.said[: denial.start()]) | pieces(sentence.text.label)

    def _by_symptoms(self, evidence: str) -> Support:
        said = dict(self._lexicon.mentions(evidence))
        left = _words(self.language).framing.sub(" ", self._lexicon.unread(evidence))
        if not said or any(ch.isalnum() for ch in left):
            return NOT_THERE
        came: list[Support] = [self._symptom(symptom, there) for symptom, there in said.items()]
        worst = next((s for s in came if s.status == "contradicted"), None)
        return worst or next((s for s in came if s is NOT_THERE), came[0])

    def _symptom(self, symptom: str, affirmed: bool) -> Support:
        denied = NOT_THERE
        for sentence, mentions in self._tells:
            for told, there in mentions:
                # Who has a dry cough has a cough; who has no cough has no dry one.
                line = (symptom, *self._lexicon.ancestors(symptom)) if not there else ()
                brought = there and symptom in self._lexicon.ancestors(told)
                if told == symptom or brought or told in line:
                    if there == affirmed:
                        return _of_sentence(sentence, "supported")
                    denied = _of_sentence(sentence, "contradicted")
        return denied


_SENTENCE_START = re.compile(r"[.;!?\n。；！？]|,?\s*\bbut\b|，?但是?", re.IGNORECASE)


def _sentences(text: RecordText) -> Iterator[_Sentence]:
    begins = text.begins
    label = pieces(text.label)
    for match in _SENTENCE.finditer(text.text, begins):
        start = match.start()
        ends = [m.start() for m in _TURN.finditer(match[0])] + [len(match[0])]
        at = 0
        for end in ends:
            said = match[0][at:end]
            if said.strip(_AROUND):
                lead = len(said) - len(said.lstrip())
                yield _Sentence(text, start + at + lead, said.strip(), pieces(said) | label)
            at = end


def _of_sentence(sentence: _Sentence, status: Status) -> Support:
    return _found(sentence.text, sentence.start, sentence.start + len(sentence.said), "by name", status)


def _found(text: RecordText, start: int, end: int, how: How, status: Status) -> Support:
    return Support(status=status, pointer=text.at(start, end, how))


def _edge(letter: str, edge: str) -> str:
    return edge if letter.isascii() and letter.isalnum() else ""


def _agrees(finding: Finding, numbers: Sequence[float], claimed: Standing | None) -> Status:
    """Returns whether what is said of a result is so; "not there" where nothing can be held against it."""
    value = measured(finding)
    if value is None:
        return "not there"
    if numbers:
        said = any(value.is_said_by(number) for number in numbers)
        return "supported" if said and _may_be(value.standing, claimed) else "contradicted"
    if claimed is None or value.standing is None:
        return "not there"
    return "supported" if _may_be(value.standing, claimed) else "contradicted"


def _may_be(standing: Standing | None, claimed: Standing | None) -> bool:
    if standing is None or claimed is None:
        return True
    return standing == claimed or (claimed == "abnormal" and standing != "normal")
