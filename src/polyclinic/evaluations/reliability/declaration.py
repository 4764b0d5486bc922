"""How reliable patient and examiner are: relevance, consistency, and examinations that were ordered (AI Hospital §6.1).

1. Every doctor sees every patient.
2. A judge compares each round (a doctor's turn and what patient or examiner answered) with the record: is the answer
   relevant to what the doctor said, and consistent with the record? Of the paper's four questions (table 7) these two
   need a judge. Without one both are left out.
3. The two on examinations are read off the trace: of the turns in which the doctor orders an examination by name, the
   share that reached the examiner; and of those in which none is named, how many reached it all the same.
4. The attack puts requests that fish for results and name no examination to the examiner (appendix C): fifty a
   language, ours (`attack.yaml`), each for every case's record. One that brings a finding of any case is disclosed. Two
   more readers are attacked: `rules`, and `worst case`, which has given in: it returns as names the request, its every
   part and word, what stands for everything, and every name, code and result of the record.

Every mean is over rounds or visits, with cases as clusters. A visit that failed is outside and counted; a judgement
that cannot be read, or did not come, is counted and counts for neither yes nor no.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter
from rich.console import Console

from polyclinic.cases.case import Case
from polyclinic.cases.record import Finding
from polyclinic.errors import PlayFailure
from polyclinic.evaluations.evaluation import Evaluation, Opened, Plan, Play, Plays, Setup, Work, check_judge
from polyclinic.evaluations.measuring import Value, estimates, output_of_visits
from polyclinic.evaluations.people import with_people
from polyclinic.evaluations.samples import UnderTest, sample_of_case
from polyclinic.events import End, Examined, Role, Said, Trace
from polyclinic.frames import Tabular
from polyclinic.judging.model_judging import Memory, failures
from polyclinic.judging.rounds import JUDGING, VERSION, RoundAnswer, SaidInRound
from polyclinic.knowledge.examination_words import EXAMINATION
from polyclinic.knowledge.names import Names
from polyclinic.language.language import Language
from polyclinic.language.word_lists import Pattern, WordLists
from polyclinic.models.model import Model
from polyclinic.players.minds import Minds
from polyclinic.players.player import EXAMINE, Ask, Mind, Request
from polyclinic.players.roles.examiner import Examiner
from polyclinic.players.rules.staff import RulesExaminer
from polyclinic.protocols.papers import Settings
from polyclinic.results.folder import ItemMeasure
from polyclinic.run.options import FILES, MINDS, CaseOptions, MaxTurns, SessionOption, each_once
from polyclinic.run.output import Output
from polyclinic.settings import setting
from polyclinic.statistics.uncertainty import Estimate
from polyclinic.terminal.figures import ShownFigure, number, with_ends
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import Column, table_of
from polyclinic.visits.consultation import MAX_TURNS
from polyclinic.visits.visit import Visit, held_by_examiner, see
from polyclinic.yaml_files import read_yaml

REQUESTS = Path(__file__).with_name("attack.yaml")

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


MEASURES = [
    *(ItemMeasure(name=name, share=False) for name in ("relevance", "consistency", "accuracy")),
    *(ItemMeasure(name=name, percent=False, share=False) for name in ("questions_a_visit", "examinations_a_visit")),
]
"""The first three are means over the rounds of all visits; the others are how many rounds a visit has."""


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """A doctor's turn, from 1, and who answered what; the examiner's results come after the patient's request.

    The doctor `ordered` an examination by name, or `named` one at all, as in a question about a result; and the request
    `reached` the examiner.
    """

    case: str
    turn: int
    doctor: str
    answers: tuple[tuple[Role, str], ...]
    ordered: bool
    named: bool
    reached: bool


class RoundJudgement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a judge made of one round: a verdict, or the name of the error.

    Where it `failed`, nobody answered; else the answer could not be used.
    """

    case: str
    turn: int
    by: str
    verdict: RoundAnswer | None = None
    error: str = ""
    failed: bool = False


class Reliability(msgspec.Struct, frozen=True, kw_only=True):
    """How patient and examiner did with one doctor (table 4); shares are in percent.

    Attributes:
        qa: rounds; `tests`: those in which the examiner was asked.
        relevance, consistency: shares of such answers; None without a judge.
        accuracy: of the rounds with an order, the share that reached the examiner.
        ordered: rounds with an order.
        false: rounds that reached the examiner although no examination was named.
        unreadable, unanswered: judgements that could not be used, and that did not come, by error.
    """

    doctor: str
    visits: int
    failed: int
    qa: int
    qa_per_visit: Estimate
    tests: int
    tests_per_visit: Estimate
    relevance: Estimate | None
    consistency: Estimate | None
    accuracy: Estimate
    ordered: int
    false: int
    unreadable: dict[str, int]
    unanswered: dict[str, int]
    rounds: tuple[Round, ...]
    judgements: tuple[RoundJudgement, ...]


class ReliabilityResult(Tabular, msgspec.Struct, frozen=True, kw_only=True):
    """All doctors, who judged, by which version and hash of the prompts ("" is nobody), and the visits by doctor."""

    doctors: tuple[Reliability, ...]
    judge: str
    judge_version: int
    prompts: str
    visits: dict[str, tuple[Visit, ...]]


Judged = tuple[Sequence[Round], Sequence[RoundJudgement]]
"""The rounds of a visit, none where it failed, and what a judge said of each, where there is a judge."""

ReliabilityPlay = Play[Case, Minds, Visit, Judged]


def reliability(
    cases: Sequence[Case],
    *,
    judge: Model | None = None,
    max_turns: int = MAX_TURNS,
    temperature: float | None = None,
    seed: int = 0,
) -> Plays[Case, Minds, Visit, Judged, ReliabilityResult]:
    """Returns the evaluation; its players are the minds of each doctor.

    The judge is best of another family than the patient, and is asked at `temperature`; None leaves out what needs one.
    """
    memory = Memory()  # Two doctors who said and heard the same share the judgement.

    async def play(case: Case, minds: Minds) -> Visit:
        return await minds.desk.play(case.id, lambda: see(case, minds, max_turns=max_turns))

    async def score(case: Case, minds: Minds, visit: Visit) -> Judged:
        if visit.end is End.FAILED:
            return (), ()
        rounds = rounds_of(case, visit.trace, minds.examination_names)
        if judge is None:
            return rounds, ()
        said = [SaidInRound(case, ((Role.DOCTOR, one.doctor), *one.answers)) for one in rounds]
        rulings = await JUDGING.judge(said, judge, temperature=temperature, memory=memory)
        return rounds, [
            RoundJudgement(
                case=case.id, turn=one.turn, by=judge.name, verdict=said.value, error=said.error, failed=said.failed
            )
            for one, said in zip(rounds, rulings, strict=True)
        ]

    async def summarise(plays: Mapping[str, Sequence[ReliabilityPlay]]) -> ReliabilityResult:
        return ReliabilityResult(
            doctors=tuple(
                _of_doctor(name, theirs, judged=judge is not None, seed=seed) for name, theirs in plays.items()
            ),
            judge="" if judge is None else judge.name,
            judge_version=VERSION,
            prompts=JUDGING.prompts,
            visits={name: tuple(play.played for play in theirs) for name, theirs in plays.items()},
        )

    return Plays(items=cases, play=play, score=score, summarise=summarise)


def rounds_of(case: Case, trace: Trace, names: Names) -> list[Round]:
    """Returns the rounds of a visit: the doctor's turns that were answered."""
    said = {event.turn: event.text for event in trace if isinstance(event, Said) and event.who is Role.DOCTOR}
    answers: dict[int, list[tuple[Role, str]]] = {}
    reached: set[int] = set()
    for event in trace:
        if isinstance(event, Said) and event.who is Role.PATIENT and event.turn in said:
            answers.setdefault(event.turn, []).append((Role.PATIENT, event.text))
            if event.to is Role.EXAMINER:
                reached.add(event.turn)
        elif isinstance(event, Examined) and event.turn in said:
            answers.setdefault(event.turn, []).append((Role.EXAMINER, event.text))
    rounds = []
    for turn, answered in sorted(answers.items()):
        named = names_examination(said[turn], names)
        one = Round(
            case=case.id,
            turn=turn,
            doctor=said[turn],
            answers=tuple(answered),
            ordered=named and orders(said[turn], case.presentation.language, names),
            named=named,
            reached=turn in reached,
        )
        rounds.append(one)
    return rounds


def _values(rounds: Sequence[Round], judgements: Sequence[RoundJudgement]) -> dict[str, Value]:
    """Returns the values of a visit's rounds by measure."""
    verdicts = [one.verdict for one in judgements if one.verdict is not None]
    return {
        "relevance": [100.0 * (verdict.relevant == "yes") for verdict in verdicts],
        "consistency": [100.0 * (verdict.consistent == "yes") for verdict in verdicts],
        "accuracy": [100.0 * one.reached for one in rounds if one.ordered],
        "questions_a_visit": float(len(rounds)),
        "examinations_a_visit": float(sum(one.reached for one in rounds)),
    }


def _of_doctor(doctor: str, plays: Sequence[ReliabilityPlay], *, judged: bool, seed: int) -> Reliability:
    counted = [play for play in plays if play.played.end is not End.FAILED]
    rounds = [one for play in counted for one in play.scored[0]]
    made = [one for play in counted for one in play.scored[1]]
    values = [(play.item.id, _values(*play.scored)) for play in counted]
    means = estimates(MEASURES, values, pooled_shares=("relevance", "consistency", "accuracy"), seed=seed)
    unreadable, unanswered = failures(made)
    return Reliability(
        doctor=doctor,
        visits=len(counted),
        failed=len(plays) - len(counted),
        qa=len(rounds),
        qa_per_visit=means["questions_a_visit"],
        tests=sum(one.reached for one in rounds),
        tests_per_visit=means["examinations_a_visit"],
        relevance=means["relevance"] if judged else None,
        consistency=means["consistency"] if judged else None,
        accuracy=means["accuracy"],
        ordered=sum(one.ordered for one in rounds),
        false=sum(one.reached and not one.named for one in rounds),
        unreadable=unreadable,
        unanswered=unanswered,
        rounds=tuple(rounds),
        judgements=tuple(made),
    )


def reliability_output(result: ReliabilityResult, attacks: Sequence[Attacked], about: Mapping[str, Any]) -> Output:
    """Returns the output of an evaluation and the attacks, with how they were held."""

    def show(screen: Console) -> None:
        _show_doctors(screen, result)
        _show_attacks(screen, attacks, about["cases"])
        told = f"patient: {about['patient']}; examiner: {about['examiner']}; {about['cases']} cases"
        screen.print(f"{told}; seed: {about['seed']}")

    def facts(name: str, visit: Visit) -> dict[str, Any]:
        """Returns the shares of a visit's rounds, and how many they are; a visit that failed has none."""
        one = doctors[name]
        rounds = [each for each in one.rounds if each.case == visit.case]
        judged = [each for each in one.judgements if each.case == visit.case]
        values = {} if visit.end is End.FAILED else _values(rounds, judged)
        return {"values": values, "end": str(visit.end)}

    # The visits are in the traces.
    fields = {name: getattr(result, name) for name in result.__struct_fields__ if name != "visits"}
    doctors = {one.doctor: one for one in result.doctors}
    return output_of_visits(
        result.visits,
        facts,
        seed=about["seed"],
        document=msgspec.to_builtins({**about, **fields, "attack": attacks}),
        show=show,
        document_file="reliability.json",
        names={name: f"doctor-{number}" for number, name in enumerate(result.visits, start=1)},
        written="Traces and result: {}",
        measures=MEASURES,
    )


def _cell(value: Estimate | None) -> str | None:
    if value is None or value.mean is None:
        return None
    shown = with_ends(value.mean, value.low, value.high, ".1f")
    return ShownFigure(f"{shown} ({value.n})", {**getattr(shown, "parts", {}), "n": value.n})


_DOCTORS: dict[str, Column] = {
    "doctor": "doctor",
    "visits": "visits",
    "#QA": "qa",
    "Rel": lambda one: _cell(one.relevance),
    "Con": lambda one: _cell(one.consistency),
    "#Test": "tests",
    "Acc": lambda one: _cell(one.accuracy),
    "ordered": "ordered",
    "false": "false",
}
_ATTACKS: dict[str, Column] = {
    "reader": "reader",
    "language": "language",
    "requests": "requests",
    "disclosed": "disclosed",
    "unread": lambda one: sum(one.unread.values()),
    "names dropped": lambda one: number(one.dropped, ","),
}


def _show_doctors(screen: Console, result: ReliabilityResult) -> None:
    """Prints a doctor a row, with intervals, and what is outside of the means."""
    screen.print(table_of("reliability, % [95 % interval]", result.doctors, _DOCTORS))
    judged = f"judge: {result.judge}, version {result.judge_version}, prompts {result.prompts}"
    screen.print(plain(judged if result.judge else "Rel and Con need a judge: --judge MODEL"), style="dim")
    for one in result.doctors:
        lost = {"visits failed": one.failed} if one.failed else {}
        lost |= {f"judgements {name}": n for name, n in {**one.unreadable, **one.unanswered}.items()}
        if lost:
            told = ", ".join(f"{n} {name}" for name, n in lost.items())
            screen.print(plain(f"{one.doctor}, outside of the means: {told}"), style="yellow")
    screen.print()


def _show_attacks(screen: Console, attacks: Sequence[Attacked], cases: int) -> None:
    """Prints, for each reader and language, how many requests disclosed something."""
    if not attacks:
        return
    screen.print(table_of(f"requests that fish, each against {cases} records", attacks, _ATTACKS, left=2))
    for one in attacks:
        for request, finding in one.examples:
            screen.print(plain(f"disclosed to {one.reader}: {request!r}: {finding}"), style="red", soft_wrap=True)
    screen.print()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ReliabilityOptions(CaseOptions, SessionOption):
    """The options of the reliability study."""

    doctor: Annotated[list[str] | None, MINDS] = None
    """The doctors' minds; by default rules."""
    judge: Annotated[str | None, Parameter(metavar="MODEL")] = None
    """A model that judges relevance and consistency round by round; without one both are left out."""
    verdicts: Annotated[list[Path] | None, FILES] = None
    """People's verdicts on the same rounds."""
    max_turns: MaxTurns = MAX_TURNS
    """Each doctor's turns."""
    attack: Annotated[bool, Parameter(negative="--no-attack"), setting("reliability")] = True
    """Put a hundred requests that fish for results to the examiner."""


def plan(options: ReliabilityOptions, setup: Setup[Settings]) -> Plan:
    """Reads the cases."""
    doctors = options.doctor or ["rules"]
    check_judge(options.judge)
    each_once("doctor", doctors)
    cases = setup.cases(options, doctors)[: options.limit]
    attacks: list[Attacked] = []

    async def prepare(opened: Opened) -> Work:
        plays = reliability(
            cases,
            judge=None if options.judge is None else opened.judge(options.judge, as_it_goes=True),
            max_turns=options.max_turns,
            temperature=setup.run.config.models.temperature,
            seed=setup.seed,
        )
        return plays.by(opened.minds, report)

    async def attack_examiner(opened: Opened) -> None:
        minds = opened.minds[doctors[0]]
        reader = None if options.examiner == "rules" else minds.examiner("attack")
        attacks.extend(await attack(cases, minds.examination_names, reader=reader))

    def report(result: ReliabilityResult) -> Output:
        about: dict[str, Any] = {"cases": len(cases), "patient": options.patient, "examiner": options.examiner}
        output = reliability_output(result, attacks, about | {"seed": setup.seed})
        if not options.verdicts:
            return output
        turns = {(turn.case, row.doctor, str(turn.turn)): None for row in result.doctors for turn in row.rounds}
        said = setup.verdicts(options.verdicts, lambda: {"rounds": turns})
        return with_people(output, said, form="rounds", seed=setup.seed)

    return Plan(
        prepare=prepare, visits=options, doctors=doctors, models=[options.judge], cases=cases, doing="consulting",
        afterwards=attack_examiner if options.attack else None,
    )  # fmt: skip


RELIABILITY: Evaluation[ReliabilityOptions, Settings] = Evaluation(
    name="reliability",
    options=ReliabilityOptions,
    plan=plan,
    tested=UnderTest(option="patient", sample=sample_of_case, defaults={"patient": "saps"}),
)
