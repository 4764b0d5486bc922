"""How an examiner reads recorded requests: examinations ordered and recorded are given, and nothing else is.

    found = read_requests_of([Path("dialogues.jsonl")], {case.id: case for case in cases})
    evaluation = recorded_requests(cases, found, labels=read_labels(Path("labels.jsonl"), found.requests, by_id))
    result = await evaluation.hold({"rules": Minds(examiner="rules", knowledge=read_knowledge(), seed=1)})
    print(result.given, result.ordered, result.beyond, result.false_normal)

Each request goes to an examiner of its own with the findings of a visit's examiner, results told in the history
included; it reports what is not recorded as normal, as with `--missing normal`. Labels by people say what is ordered;
without them it is what the recorded examiner gave, which is no gold standard.

Dialogues have AI Hospital's layout, one a line or an array of them; labels are JSON lines:

    {"patient_id": 1, "dialog_history": [{"role": "Patient", "content": "<对检查员讲> …"}, {"role": "Reporter", …}, …]}
    {"case": "1", "request": "…", "examinations": ["…", …], "also": ["…"]}

What a patient says to the examiner (its tag says so, or the examiner's reply after it) is a request, without the tag.
`examinations` are those that are ordered and recorded, by the record's names of them or of their items; what `also`
names may be given, and need not. A `request` may be given as `sha256:HEX` of its text (UTF-8, without tag and blanks at
its ends), so that labels can be passed on where the text cannot. Other fields are for the reader of the file.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from cyclopts import Parameter
from rich.console import Console

from polyclinic.cases.case import Case
from polyclinic.cases.loaders.reader import Element, read_elements
from polyclinic.cases.record import Finding
from polyclinic.errors import BadInput, PlayFailure
from polyclinic.evaluations.evaluation import Evaluation, Opened, Plan, Play, Plays, Setup, Work
from polyclinic.evaluations.measuring import Value, item_row
from polyclinic.evaluations.samples import ItemSample, UnderTest
from polyclinic.events import Role, Said
from polyclinic.files import split_place
from polyclinic.frames import Tabular
from polyclinic.knowledge.name_table import key_of
from polyclinic.knowledge.names import Names
from polyclinic.knowledge.orders.concepts import may_be_about, title_of
from polyclinic.players.minds import Minds
from polyclinic.players.player import EXAMINE, Results
from polyclinic.players.roles.examiner import Examiner
from polyclinic.protocols.papers import Settings
from polyclinic.results.folder import ItemMeasure, grouped
from polyclinic.run.options import FILE, BatchOption, CaseOptions, Cases, Layout
from polyclinic.run.options import Examiner as ExaminerOption
from polyclinic.run.output import Output
from polyclinic.statistics.uncertainty import share
from polyclinic.terminal.figures import NOTHING, part_of, with_ends
from polyclinic.terminal.screen import note, plain
from polyclinic.terminal.tables import counted, table
from polyclinic.visits.visit import held_by_examiner

MEASURES = [
    ItemMeasure(name="given", share=False),
    ItemMeasure(name="not_ordered", share=False, less_is_better=True),
    ItemMeasure(name="requests", percent=False, share=False),
]
"""Means over what is ordered and recorded, and over what was given, of all requests; and requests a case."""


_CLAUSE = re.compile(r"[，,。；;：:、\n]+")
_TELLING = 6  # Blanks between the words (or characters) of a clause of a result that stands in a reply by no chance.


_TAG = re.compile(r"<([^<>]{1,40})>")
_TO_EXAMINER = re.compile(r"(?:对|向|跟|问).*(?:检查员|检验员)|\bto\b.*(?:examiner|reporter)", re.IGNORECASE)
_HASH = "sha256:"


class _RecordedSaid(msgspec.Struct, frozen=True):
    role: str
    content: str


class _ExaminerDialogue(msgspec.Struct, frozen=True):
    patient_id: int | str
    dialog_history: tuple[_RecordedSaid, ...]


class RecordedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a patient asked an examiner for, and what the recorded examiner replied; "" where it did not."""

    case: str
    text: str
    reply: str = ""


class RecordedRequests(NamedTuple):
    """The requests of dialogues whose case is in the case file."""

    requests: tuple[RecordedRequest, ...]
    left_out: int  # dialogues of other cases
    empty: int = 0  # turns to the examiner that ask for nothing


class RequestLabel(msgspec.Struct, frozen=True, kw_only=True):
    """What a person says that a request orders of what is recorded, and what may be given beside."""

    case: int | str
    request: str
    examinations: tuple[str, ...]
    also: tuple[str, ...] = ()


def read_requests_of(paths: Iterable[Path], cases: Mapping[str, Case]) -> RecordedRequests:
    """Reads the requests in recorded dialogues of these cases, by their ids; dialogues of others are left out."""
    found: list[RecordedRequest] = []
    left_out = empty = 0
    for path in paths:
        dialogues = [_typed(element, _ExaminerDialogue, _ALLOWED) for element in read_elements(path)]
        requests = [(str(one.patient_id), tuple(_requests(one))) for one in dialogues]
        if not any(request.text for _, theirs in requests for request in theirs):
            raise BadInput(
                "no request to an examiner stands in it; one is what a patient says behind the tag <对检查员讲> or "
                "<To the examiner>, or before a turn of the role 'Reporter'",
                path=path,
            )
        known = [theirs for case, theirs in requests if case in cases]
        if not known:
            named = ", ".join(dict.fromkeys(case for case, _ in requests[:5]))
            raise BadInput(
                f"none of its {len(requests)} dialogues is of a case in the case file (theirs begin with {named})",
                path=path,
            )
        left_out += len(requests) - len(known)
        turns = [request for theirs in known for request in theirs]
        found += [request for request in turns if request.text]
        empty += sum(not request.text for request in turns)
    if not found:
        raise BadInput("no dialogue of a case in the case file has a request to an examiner")
    return RecordedRequests(tuple(found), left_out, empty)


_ALLOWED = "a dialogue has 'patient_id' and 'dialog_history', turns with 'role' and 'content'"


def _requests(dialogue: _ExaminerDialogue) -> Iterable[RecordedRequest]:
    """Yields what a patient says to the examiner, with no text where it says nothing."""
    turns = dialogue.dialog_history
    for place, turn in enumerate(turns):
        if turn.role.casefold() != "patient":
            continue
        following = turns[place + 1] if place + 1 < len(turns) else None
        reply = following.content if following is not None and following.role.casefold() == "reporter" else ""
        text = _to_examiner(turn.content)
        if text is None and reply:
            text = _TAG.sub("", turn.content).strip()
        if text is not None:
            yield RecordedRequest(case=str(dialogue.patient_id), text=text, reply=reply)


def _to_examiner(content: str) -> str | None:
    """Returns what is said behind tags to the examiner, "" where nothing is; None without such a tag."""
    parts = _TAG.split(content)
    # Text before the first tag, then each tag with the text behind it.
    tagged = [text for tag, text in zip(parts[1::2], parts[2::2], strict=True) if _TO_EXAMINER.search(tag)]
    return "\n".join(part.strip() for part in tagged).strip() if tagged else None


def read_labels(
    path: Path, requests: Sequence[RecordedRequest], cases: Mapping[str, Case]
) -> dict[tuple[str, str], RequestLabel]:
    """Reads what people say that requests order, by case and text."""
    texts: dict[tuple[str, str], str] = {}
    for one in requests:
        for written in (one.text, f"{_HASH}{hashlib.sha256(one.text.encode()).hexdigest()}"):
            texts[one.case, written] = one.text
    labels: dict[tuple[str, str], RequestLabel] = {}
    for element in read_elements(path):
        label = _typed(element, RequestLabel, "a label has 'case', 'request' and 'examinations', a list of names")
        case, request = str(label.case), label.request.strip()
        request = _to_examiner(request) or request  # A label may keep the tag.
        if case not in cases:
            raise element.bad(f"the case {case!r} is not in the case file", "case")
        text = texts.get((case, request.lower() if request.startswith(_HASH) else request))
        if text is None:
            raise element.bad(
                f"no dialogue of the case {case} holds this request ({_short(request)}); a label is of a request word "
                f"for word, or as {_HASH}HEX of it",
                "request",
            )
        if (case, text) in labels:
            raise element.bad(f"this request of the case {case} is labelled twice ({_short(text)})", "request")
        labels[case, text] = msgspec.structs.replace(label, case=case, request=text)
    return labels


def _short(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= 40 else f"{line[:39]}…")


T = TypeVar("T")


def _typed(element: Element, kind: type[T], allowed: str) -> T:
    try:
        return msgspec.convert(element.fields(), kind)
    except msgspec.ValidationError as error:
        problem, field = split_place(str(error))
        raise element.bad(f"{problem}; {allowed}", field) from None


class RequestRow(msgspec.Struct, frozen=True, kw_only=True):
    """One request and what came of it; a request that failed is outside all figures."""

    case: str
    request: str
    ordered: tuple[str, ...] = ()  # recorded examinations that it orders, by the record's names
    given: tuple[str, ...] = ()  # those of them that were given
    beyond: tuple[str, ...] = ()  # examinations given that were not ordered
    false_normal: tuple[str, ...] = ()  # ordered and recorded, and yet reported as normal
    told_as_normal: tuple[str, ...] = ()  # everything reported as normal, in the request's words
    not_recorded: tuple[str, ...] = ()  # everything not found, in the request's words
    unknown: tuple[str, ...] = ()  # names of its label by which nothing is recorded; they are ignored
    error: str = ""  # the name of the failure


class ExaminerResult(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """How an examiner did: requests that were answered, and sums over their rows."""

    rows: tuple[RequestRow, ...]
    requests: int
    left_out: int  # dialogues without a case
    unlabelled: int  # requests without a label if others have one; they were not put
    empty: int  # turns to the examiner that ask for nothing
    unknown: int
    ordered: int
    given: int
    beyond: int
    false_normal: int
    failed: dict[str, int]  # by the name of the failure


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
        summed = ("unknown", "ordered", "given", "beyond", "false_normal")
        return ExaminerResult(
            rows=rows,
            requests=sum(not row.error for row in rows),
            left_out=recorded.left_out,
            unlabelled=len(recorded.requests) - len(asked),
            empty=recorded.empty,
            failed=dict(Counter(row.error for row in rows if row.error)),
            **{name: sum(len(getattr(row, name)) for row in rows) for name in summed},
        )

    return Plays(items=list(enumerate(asked, start=1)), play=play, score=score, summarise=summarise)


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


def examiner_output(result: ExaminerResult, about: Mapping[str, Any]) -> Output:
    """Returns the output of the requests, with how they were put."""
    figures = {name: getattr(result, name) for name in result.__struct_fields__ if name != "rows"}
    rows = []
    for case, theirs in grouped(result.rows, lambda row: row.case).items():
        put = [row for row in theirs if not row.error]
        values: dict[str, Value] = {
            "given": [100.0 * (name in row.given) for row in put for name in row.ordered],
            "not_ordered": [mark for row in put for mark in [0.0] * len(row.given) + [100.0] * len(row.beyond)],
        }
        if put:
            values["requests"] = float(len(put))
        end = "" if put else theirs[0].error
        rows.append(item_row(values, item=case, model=about["examiner"], seed=about["seed"], end=end))
    return Output(
        document={**figures, **about, "missing": "normal", "rows": result.rows},
        show=lambda screen: _show(screen, result, about),
        written="Summary: {}",
        rows=rows,
        measures=MEASURES,
        asked_for=lambda call: (about["examiner"], "", call.item.rpartition("/")[0]),
    )


def _show(screen: Console, result: ExaminerResult, about: Mapping[str, Any]) -> None:
    rows = (
        ("ordered and recorded: given", part_of(result.given, result.ordered), _share(result.given, result.ordered)),
        ("of what was given: not ordered", result.beyond, _share(result.beyond, result.given + result.beyond)),
        ("ordered and recorded: would be told as normal with --missing normal", result.false_normal, ""),
    )
    title = f"{counted(result.requests, 'request')} to the examiner {about['examiner']}"
    screen.print(table(plain(title), ("", "n", "% [95 % interval]"), rows))
    by = "as a person labelled them" if about["labels"] else "as the recorded examiner's reply does; it is no standard"
    screen.print(f"what is ordered: {by}", style="dim", soft_wrap=True)
    outside = {
        "dialogues without a case": result.left_out,
        "requests without a label": result.unlabelled,
        "turns to the examiner without a request": result.empty,
        "names of labels by which nothing is recorded": result.unknown,
        **{f"requests failed ({name})": n for name, n in result.failed.items()},
    }
    if told := "; ".join(f"{name}: {n}" for name, n in outside.items() if n):
        screen.print(f"left out: {told}", style="yellow", soft_wrap=True)
    for row in result.rows:
        kinds = {
            "not given": [name for name in row.ordered if name not in (*row.given, *row.false_normal)],
            "would be told as normal with --missing normal": row.false_normal,
            "not ordered": row.beyond,
            "not recorded by this name": row.unknown,
        }
        if any(kinds.values()):
            screen.print("", plain(f"{row.case}: {' '.join(row.request.split())}"), sep="\n", soft_wrap=True)
        for kind, names in kinds.items():
            if names:
                screen.print(plain(f"  {kind}: {', '.join(names)}"), style="red", soft_wrap=True)


def _share(part: int, whole: int) -> str:
    return with_ends(*share(part, whole), ".1f") if whole else NOTHING


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ExaminerOptions(BatchOption):
    """The options of the evaluation of examiners."""

    cases: Cases
    dialogues: Annotated[list[Path], Parameter(metavar="FILE...", consume_multiple=1)]
    """Recorded dialogues in AI Hospital's layout; the patient's words to the examiner are put to ours."""
    labels: Annotated[Path | None, FILE] = None
    """The examinations that each request orders, as JSON lines: case, request (or sha256:HEX of it), examinations;
    by default those that the recorded examiner gave."""
    examiner: ExaminerOption = "rules"
    layout: Layout = None


def plan(options: ExaminerOptions, setup: Setup[Settings]) -> Plan:
    """Reads cases, dialogues and labels."""
    if len(set(options.dialogues)) < len(options.dialogues):
        twice = next(file for file in options.dialogues if options.dialogues.count(file) > 1)
        raise BadInput("the file is named twice", path=twice)
    visits = CaseOptions(cases=options.cases, layout=options.layout, examiner=options.examiner)
    known = {case.id: case for case in setup.run.cases(visits)}
    found = read_requests_of(options.dialogues, known)
    labels = None if options.labels is None else read_labels(options.labels, found.requests, known)
    about: dict[str, Any] = {"examiner": options.examiner, "labels": options.labels and str(options.labels)}

    async def prepare(opened: Opened) -> Work:
        plays = recorded_requests(known.values(), found, labels=labels)
        return plays.by(
            {options.examiner: opened.minds["rules"]},
            lambda result: examiner_output(result, about | {"seed": setup.seed}),
        )

    return Plan(prepare=prepare, visits=visits, in_person=False, doing="asking", check=_check)


def _check(result: ExaminerResult) -> None:
    """Notes labels of nothing recorded; raises a PlayFailure if no request was answered."""
    if result.unknown:
        case, name = next((row.case, name) for row in result.rows for name in row.unknown)
        count = sum(len(row.unknown) for row in result.rows)
        note(f"{count} names of labels are of nothing recorded, and not counted; the first: {name!r} of case {case}")
    if not result.requests:
        raise PlayFailure(f"no request was answered; the first: {result.rows[0].error}")


def _sample(item: tuple[int, RecordedRequest]) -> ItemSample:
    _, request = item
    return ItemSample(request.case, request.text)


EXAMINER: Evaluation[ExaminerOptions, Settings] = Evaluation(
    name="examiner",
    options=ExaminerOptions,
    plan=plan,
    tested=UnderTest(option="examiner", sample=_sample),
)
