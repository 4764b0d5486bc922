"""How an examiner does on recorded requests: what is ordered and recorded is given, and nothing else is.

    found = read_requests_of([Path("dialogues.jsonl")], {case.id: case for case in cases})
    benchmark = recorded_requests(cases, found, labels=read_labels(Path("labels.jsonl"), found.requests, by_id))
    result = await benchmark.hold({"rules": Minds(examiner="rules", knowledge=read_knowledge(), seed=1)})
    print(result.given, result.ordered, result.beyond, result.false_normal)

Each request is put to an examiner of its own, who holds what the examiner of a visit holds, results that the history
tells included, and says of what is not recorded that it is normal, as with `--missing normal`. What is ordered is what
people say, or, without their labels, what the recorded examiner gave. That one is no gold standard: it passes one kind
of examination off as another, and gives what nobody ordered.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from polyclinic.cases.case import Case
from polyclinic.cases.record import Finding
from polyclinic.errors import PlayFailure
from polyclinic.evaluations.evaluation import Play, Plays
from polyclinic.evaluations.examiner.dialogues import RecordedRequest, RecordedRequests, RequestLabel
from polyclinic.events import Role, Said
from polyclinic.frames import Tabular
from polyclinic.knowledge.name_table import key_of
from polyclinic.knowledge.names import Names
from polyclinic.knowledge.orders.meaning import may_be_about, title_of
from polyclinic.players.minds import Minds
from polyclinic.players.player import EXAMINE, Results
from polyclinic.players.roles.examiner import Examiner
from polyclinic.visits.visit import held_by_examiner

_CLAUSE = re.compile(r"[，,。；;：:、\n]+")
_TELLING = 6  # Blanks between the words (or characters) of a clause of a result that stands in a reply by no chance.


class RequestRow(msgspec.Struct, frozen=True, kw_only=True):
    """One request and what came of it.

    Attributes:
        ordered: what it orders of what is recorded, by the record's names.
        given: what of that was given.
        beyond: examinations that were given and that nobody says were ordered.
        false_normal: what is ordered and recorded, was not given, and was told as normal.
        told_as_normal: everything that was told as normal, in the request's words.
        not_recorded: everything that was not found, in the request's words.
        unknown: names of its label by which nothing is recorded; nothing is made of them.
        error: the name of the failure; "" where there was none. A request that failed is outside all figures.
    """

    case: str
    request: str
    ordered: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()
    false_normal: tuple[str, ...] = ()
    told_as_normal: tuple[str, ...] = ()
    not_recorded: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    error: str = ""


class ExaminerResult(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """How an examiner did.

    Attributes:
        requests: how many were put and answered; of labelled ones, where there are labels.
        left_out: dialogues without a case.
        unlabelled: requests without a label, where others have one; they were not put.
        empty: turns to the examiner that ask for nothing; they are no requests.
        unknown: names of labels by which nothing is recorded; nothing is made of them.
        ordered: pairs of a request and a recorded examination that it orders.
        given: those of them that were given.
        beyond: examinations given that were not ordered.
        false_normal: ordered and recorded examinations that would be told as normal with `--missing normal`.
        failed: requests that brought no answer, by the name of the failure.
    """

    rows: tuple[RequestRow, ...]
    requests: int
    left_out: int
    unlabelled: int
    empty: int
    unknown: int
    ordered: int
    given: int
    beyond: int
    false_normal: int
    failed: dict[str, int]


Answered = Results | PlayFailure

RequestPlay = Play[tuple[int, RecordedRequest], Minds, Answered, RequestRow]


def recorded_requests(
    cases: Iterable[Case],
    recorded: RecordedRequests,
    *,
    labels: Mapping[tuple[str, str], RequestLabel] | None = None,
) -> Plays[tuple[int, RecordedRequest], Minds, Answered, RequestRow, ExaminerResult]:
    """Returns the evaluation of one examiner, whose minds are its player.

    With `labels`, by case and request, only labelled requests are put.
    """
    by_id = {case.id: case for case in cases}
    asked = [one for one in recorded.requests if labels is None or (one.case, one.text) in labels]

    async def play(item: tuple[int, RecordedRequest], minds: Minds) -> Answered:
        number, request = item
        mind = minds.examiner(f"{request.case}/request {number}")
        examiner = Examiner(mind, held_by_examiner(by_id[request.case]), minds.examination_names, missing="normal")
        examiner.observe(Said(seq=0, turn=1, who=Role.PATIENT, to=Role.EXAMINER, text=request.text))
        try:
            return await examiner.act(EXAMINE)
        except PlayFailure as failure:
            return failure

    async def score(item: tuple[int, RecordedRequest], minds: Minds, came: Answered) -> RequestRow:
        _, request = item
        if isinstance(came, PlayFailure):
            return RequestRow(case=request.case, request=request.text, error=type(came).__name__)
        label = None if labels is None else labels[request.case, request.text]
        case = by_id[request.case]
        held = held_by_examiner(case).findings
        moved = frozenset(held) - frozenset(case.record.findings)
        return beside_label(request, label, held, came, minds.examination_names, moved=moved)

    async def summarise(plays: Mapping[str, Sequence[RequestPlay]]) -> ExaminerResult:
        rows = tuple(play.scored for theirs in plays.values() for play in theirs)
        return ExaminerResult(
            rows=rows,
            requests=sum(not row.error for row in rows),
            left_out=recorded.left_out,
            unlabelled=len(recorded.requests) - len(asked),
            empty=recorded.empty,
            unknown=sum(len(row.unknown) for row in rows),
            ordered=sum(len(row.ordered) for row in rows),
            given=sum(len(row.given) for row in rows),
            beyond=sum(len(row.beyond) for row in rows),
            false_normal=sum(len(row.false_normal) for row in rows),
            failed=dict(Counter(row.error for row in rows if row.error)),
        )

    return Plays(items=list(enumerate(asked, start=1)), play=play, score=score, summarise=summarise, sums_up_parts=True)


def beside_label(
    request: RecordedRequest,
    label: RequestLabel | None,
    findings: Sequence[Finding],
    came: Results,
    names: Names,
    *,
    moved: frozenset[Finding] = frozenset(),
) -> RequestRow:
    """Returns what came of a request beside its label, or, without one, beside what the recorded examiner gave.

    Of the `findings`, those `moved` were told in the history and are the examiner's to give; where no label names them,
    nothing is made of them, as who labels a record's findings does not see them.
    """
    if label is None:
        recorded = [finding for finding in findings if finding not in moved]
        ordered, also = _replied(request.reply, recorded), frozenset[Finding]()
    else:
        ordered = {name: _called(name, findings, names) for name in label.examinations}
        also = frozenset[Finding]().union(*(_called(name, findings, names) for name in label.also))
    known = {name: theirs for name, theirs in ordered.items() if theirs}
    given = {name for name, theirs in known.items() if not theirs.isdisjoint(came.findings)}
    named = also.union(*known.values())
    examinations = dict.fromkeys(finding.examination for finding in came.findings)
    within = {finding.examination for finding in came.findings if finding in named or finding in moved}
    return RequestRow(
        case=request.case,
        request=request.text,
        ordered=tuple(known),
        given=tuple(name for name in known if name in given),
        beyond=tuple(name for name in examinations if name not in within),
        false_normal=tuple(
            name for name, theirs in known.items() if name not in given and _told(theirs, came.told_as_normal)
        ),
        told_as_normal=came.told_as_normal,
        not_recorded=came.not_recorded,
        unknown=tuple(name for name in ordered if name not in known),
    )


def _called(name: str, findings: Sequence[Finding], names: Names) -> frozenset[Finding]:
    """Returns what a label's name is a name of: an examination, an item, or both; else what it asks for."""
    key = key_of(name.replace("_", " "))

    def goes_by(finding: Finding) -> bool:
        called = (finding.examination, finding.item, f"{finding.examination} {finding.item}")
        return key in map(key_of, (*called, *finding.item.split(",")))

    return frozenset(filter(goes_by, findings)) or frozenset(names.of(findings).look_up(name.replace("_", " "))[0])


def _replied(reply: str, findings: Sequence[Finding]) -> dict[str, frozenset[Finding]]:
    """Returns what a recorded reply gives of what is recorded, by examination: what it says the result of."""
    lines = [key_of(line) for line in reply.splitlines()]
    given: dict[str, None] = {}
    for finding in findings:
        clauses = [key for clause in _CLAUSE.split(finding.value_text) if (key := key_of(clause))]
        called = [key_of(name) for name in (finding.item, finding.examination) if name]
        for line in lines:
            by_name = any(name in line for name in called)
            if any(clause in line and (by_name or clause.count(" ") >= _TELLING) for clause in clauses):
                given[finding.examination] = None
    return {name: frozenset(f for f in findings if f.examination == name) for name in given}


def _told(findings: Iterable[Finding], normal: Sequence[str]) -> bool:
    """Whether one of these names that were told as normal may have been about one of these findings."""
    titles = [title_of(finding.examination, finding.item) for finding in findings]
    return any(may_be_about(name, title) for name in normal for title in titles)
