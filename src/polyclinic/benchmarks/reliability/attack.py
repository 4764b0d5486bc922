"""The attack on the examiner: requests that fish for results and name no examination (AI Hospital, appendix C).

Fifty requests a language, ours (`attack.yaml`). Each is put to a reader once and looked up in every case's record; one
that brings a finding of any case is disclosed. Beside the reader that is tried stand two: `rules`, and `worst case`, a
reader that has given in: it returns as items the request, its every part and word, what stands for everything, and
every name, code and result of the record that it attacks.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.record import Finding
from polyclinic.errors import PlayFailure
from polyclinic.events import Role, Said
from polyclinic.knowledge.names import Names
from polyclinic.language.language import Language
from polyclinic.players.player import EXAMINE, Ask, Mind, Request
from polyclinic.players.roles.examiner import Examiner
from polyclinic.players.rules.examiner import RulesExaminer
from polyclinic.yaml_files import read_yaml

REQUESTS = Path(__file__).with_suffix(".yaml")

WORST = "worst case"

_EVERYTHING = (
    *(
        "all",
        "*",
        ".*",
        "%",
        "everything",
        "all results",
        "results",
        "findings",
        "examinations",
        "tests",
        "any",
        "none",
    ),
    *("laboratory", "imaging", "全部", "所有", "一切", "所有结果", "结果", "检查", "化验", "影像", "任何", ""),
)
_PARTS = re.compile(r"[,;.:，。；：、\n]")


class Attacked(msgspec.Struct, frozen=True, kw_only=True):
    """How one reader stood up to the requests of one language.

    Attributes:
        reader: the mind that read the requests.
        language: of the requests.
        requests: those that were read; what each brought was looked up in every case.
        disclosed: those that brought a finding of at least one case.
        unread: requests that the reader gave no usable answer to, by error; outside.
        dropped: names that the reader returned and no request asks for, over all cases.
        examples: some of what was disclosed: request and finding.
    """

    reader: str
    language: Language
    requests: int
    disclosed: int
    unread: dict[str, int]
    dropped: int
    examples: tuple[tuple[str, str], ...] = ()


class WorstReader:
    """A reader that has given in: asks for everything by every name it can think of.

    Args:
        findings: those of the record that it attacks.
    """

    def __init__(self, findings: Sequence[Finding]) -> None:
        names = [name for finding in findings for name in (finding.examination, finding.item, finding.value_text)]
        codes = [finding.code.code for finding in findings if finding.code is not None]
        self._names = tuple(dict.fromkeys([*_EVERYTHING, *names, *codes]))

    @property
    def name(self) -> str:
        """How it is called in results."""
        return WORST

    async def answer(self, ask: Ask[Any], role: Examiner) -> object:
        """Returns every name there is, and every word of the request."""
        del ask
        request = role.request()
        words = re.findall(r"[^\W_]+", request)
        return Request(tuple(dict.fromkeys([request, *_PARTS.split(request), *words, *self._names])))


class _Reading:
    """Asks a mind once, and then keeps to what it answered: what is read depends on the request alone."""

    def __init__(self, mind: Mind[Examiner]) -> None:
        self._mind = mind
        self.kept: object = None

    @property
    def name(self) -> str:
        return self._mind.name

    async def answer(self, ask: Ask[Any], role: Examiner) -> object:
        if self.kept is None:
            self.kept = await self._mind.answer(ask, role)
        return self.kept


@functools.cache
def read_requests(path: Path = REQUESTS) -> Mapping[Language, Mapping[str, tuple[str, ...]]]:
    """Reads the requests, by language and by kind."""
    return read_yaml(path, dict[Language, dict[str, tuple[str, ...]]])


async def attack(
    cases: Sequence[Case],
    names: Names,
    *,
    reader: Mind[Examiner] | None = None,
    advance: Callable[[], None] = lambda: None,
) -> tuple[Attacked, ...]:
    """Puts every request to `rules`, to the worst case, and to a reader.

    Args:
        cases: whose records are attacked.
        names: the names of examinations and items.
        reader: a further reader, such as a model; each request is put to it once.
        advance: called after each request of each language and reader.

    Raises:
        WrongKey: the reader's endpoint wants another key.
        BudgetSpent: the run has cost what it may cost.
    """
    results = []
    tried = None if reader is None else _Reading(reader)
    for name in ("rules", WORST, *([] if tried is None else [tried.name])):
        examiners = [Examiner(_mind(name, case, tried), case.record, names) for case in cases]
        for language, by_kind in read_requests().items():
            came = _Count()
            for text in (text for texts in by_kind.values() for text in texts):
                if tried is not None:
                    tried.kept = None
                await came.put(text, examiners)
                advance()
            results.append(
                Attacked(
                    reader=name,
                    language=language,
                    requests=came.requests,
                    disclosed=came.disclosed,
                    unread=came.unread,
                    dropped=came.dropped,
                    examples=tuple(came.examples[:5]),
                )
            )
    return tuple(results)


class _Count:
    def __init__(self) -> None:
        self.requests = self.disclosed = self.dropped = 0
        self.unread: dict[str, int] = {}
        self.examples: list[tuple[str, str]] = []

    async def put(self, text: str, examiners: Sequence[Examiner]) -> None:
        brought: list[Finding] = []
        for examiner in examiners:
            examiner.observe(Said(seq=0, turn=1, who=Role.PATIENT, to=Role.EXAMINER, text=text))
            before = len(examiner.unasked)
            try:
                brought += (await examiner.act(EXAMINE)).findings[:1]
            except PlayFailure as failure:
                error = type(failure).__name__
                self.unread[error] = self.unread.get(error, 0) + 1
                return
            self.dropped += len(examiner.unasked) - before
        self.requests += 1
        self.disclosed += bool(brought)
        self.examples += [(text, finding.text()) for finding in brought[:1]]


def _mind(name: str, case: Case, tried: _Reading | None) -> Mind[Examiner]:
    if name == WORST:
        return WorstReader(case.record.findings)
    return RulesExaminer() if tried is None or name != tried.name else tried
