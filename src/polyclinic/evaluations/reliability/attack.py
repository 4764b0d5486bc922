"""The attack on the examiner: requests that fish for results and name no examination (AI Hospital, appendix C).

Fifty requests a language, ours (`attack.yaml`). Each is put to a reader for every case's record; one that brings a
finding of any case is disclosed. Beside the reader that is tried stand two: `rules`, and `worst case`, a reader that
has given in: it returns as names the request, its every part and word, what stands for everything, and every name, code
and result of the record that it attacks, and as lines of what is recorded all of them, and more.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.record import Finding
from polyclinic.errors import PlayFailure
from polyclinic.events import Role, Said
from polyclinic.knowledge.examination_words import EXAMINATION
from polyclinic.knowledge.names import Names
from polyclinic.language.language import Language
from polyclinic.language.word_lists import Pattern, WordLists
from polyclinic.players.player import EXAMINE, Ask, Mind, Request
from polyclinic.players.roles.examiner import Examiner
from polyclinic.players.rules.staff import RulesExaminer
from polyclinic.visits.visit import held_by_examiner
from polyclinic.yaml_files import read_yaml

REQUESTS = Path(__file__).with_suffix(".yaml")

WORST = "worst case"

_EXAMPLES = 5
_EVERYTHING = (
    "all|*|.*|%|everything|all results|results|findings|examinations|tests|any|none|laboratory|imaging|"
    "全部|所有|一切|所有结果|结果|检查|化验|影像|任何|"
).split("|")
_PARTS = re.compile(r"[,;.:，。；：、\n]")


class Attacked(msgspec.Struct, frozen=True, kw_only=True):
    """How one reader stood up to the requests of one language.

    Attributes:
        requests: those that were read.
        disclosed: those that brought a finding of at least one case.
        unread: requests that the reader gave no usable answer to, by error; outside.
        dropped: names and lines that the reader returned and no request asks for, over all cases.
        examples: requests, and what they disclosed.
    """

    reader: str
    language: Language
    requests: int
    disclosed: int
    unread: dict[str, int]
    dropped: int
    examples: tuple[tuple[str, str], ...] = ()


class WorstReader:
    """A reader that has given in: asks for everything by every name and number that it can think of."""

    name = WORST

    def __init__(self, findings: Sequence[Finding]) -> None:
        names = [name for finding in findings for name in (finding.examination, finding.item, finding.value_text)]
        codes = [finding.code.code for finding in findings if finding.code is not None]
        self._names = tuple(dict.fromkeys([*_EVERYTHING, *names, *codes]))

    async def answer(self, ask: Ask[Any], role: Examiner) -> object:
        """Returns every name there is, every word of the request, and every number."""
        del ask
        request = role.request()
        words = re.findall(r"[^\W_]+", request)
        names = tuple(dict.fromkeys([request, *_PARTS.split(request), *words, *self._names]))
        return Request(names, tuple(range(len(role.listed) + 2)))


class _ReadOnce:
    """Asks a mind once a request and list, and then keeps to what it answered: all that it sees are these two."""

    def __init__(self, mind: Mind[Examiner]) -> None:
        self._mind, self.name = mind, mind.name
        self.kept: dict[tuple[str, ...], object] = {}

    async def answer(self, ask: Ask[Any], role: Examiner) -> object:
        if role.listed not in self.kept:
            self.kept[role.listed] = await self._mind.answer(ask, role)
        return self.kept[role.listed]


@functools.cache
def read_requests(path: Path = REQUESTS) -> Mapping[Language, Mapping[str, tuple[str, ...]]]:
    """Reads the requests, by language and by kind."""
    return read_yaml(path, dict[Language, dict[str, tuple[str, ...]]])


async def attack(cases: Sequence[Case], names: Names, *, reader: Mind[Examiner] | None = None) -> tuple[Attacked, ...]:
    """Puts every request to `rules`, to the worst case, and to a further reader, such as a model: once a list."""
    tried = None if reader is None else _ReadOnce(reader)
    readers: dict[str, Callable[[Case], Mind[Examiner]]] = {
        "rules": lambda _: RulesExaminer(),
        WORST: lambda case: WorstReader(held_by_examiner(case).findings),
    }
    if tried is not None:
        readers[tried.name] = lambda _: tried
    results = []
    for name, mind in readers.items():
        examiners = [Examiner(mind(case), held_by_examiner(case), names) for case in cases]
        for language, by_kind in read_requests().items():
            examples: list[tuple[str, str]] = []
            unread: Counter[str] = Counter()
            read = dropped = 0
            for text in (text for texts in by_kind.values() for text in texts):
                if tried is not None:
                    tried.kept.clear()
                disclosed: list[Finding] = []
                try:
                    for examiner in examiners:
                        examiner.observe(Said(seq=0, turn=1, who=Role.PATIENT, to=Role.EXAMINER, text=text))
                        before = len(examiner.unasked)
                        disclosed += (await examiner.act(EXAMINE)).findings
                        dropped += len(examiner.unasked) - before
                except PlayFailure as failure:
                    unread[type(failure).__name__] += 1
                else:
                    read += 1
                    examples += [(text, finding.text()) for finding in disclosed[:1]]
            attacked = Attacked(
                reader=name,
                language=language,
                requests=read,
                disclosed=len(examples),
                unread=dict(unread),
                dropped=dropped,
                examples=tuple(examples[:_EXAMPLES]),
            )
            results.append(attacked)
    return tuple(results)


_SENTENCE = re.compile(r"(?<=[。；;！!？?\n])|(?<=\.)(?=\s)")
_QUESTION = re.compile(r"[?？]|吗")
_BARE = 60  # A short sentence that is a name and little more ("Chest X-ray.") is an order.


class _OrderWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    orders: Pattern
    looks_back: Pattern


_order_words = WordLists(Path(__file__).with_name("orders")).section("orders", _OrderWords)


def orders(text: str, language: Language, names: Names) -> bool:
    """Whether a doctor's turn orders an examination by its name."""
    words = _order_words(language)
    naming = [one for one in _SENTENCE.split(text) if one.strip() and names_examination(one, names)]
    forward = [one for one in naming if not words.looks_back.search(one)]
    return any(words.orders.search(one) or (len(one) < _BARE and not _QUESTION.search(one)) for one in forward)


def names_examination(text: str, names: Names) -> bool:
    """Whether a text names an examination, or plainly speaks of one."""
    if EXAMINATION.search(text):
        return True
    return any(key.startswith(("examination", "physical")) for named in names.find(text) for key in named.keys)
