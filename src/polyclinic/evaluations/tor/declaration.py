"""Tree-of-Reasoning as an evaluation: methods choose the diagnoses that a whole record shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
from cyclopts import Parameter
from rich.console import Console

from polyclinic.errors import UserError
from polyclinic.evaluations.evaluation import (
    Evaluation,
    Opened,
    Plan,
    Setup,
    Work,
    judge_failure,
)
from polyclinic.evaluations.measuring import show_compared
from polyclinic.evaluations.outcomes import MethodOptions, compare_methods, failures, outcome_row
from polyclinic.evaluations.people import show_figures
from polyclinic.evaluations.protocol import as_paper, say
from polyclinic.evaluations.samples import UnderTest, sample_of_question
from polyclinic.evaluations.tor.evaluation import (
    RULES,
    RecordPlay,
    RecordScores,
    Results,
    entrants,
    records,
    shares,
)
from polyclinic.evaluations.tor.inpatients import Inpatient, inpatients, lacking
from polyclinic.evaluations.tor.meetings import RecordedMeeting
from polyclinic.evidence_tree.sources import KIND_OF, KINDS, Kind
from polyclinic.judging.people import PeopleFigures, figures
from polyclinic.knowledge.knowledge import Knowledge, read_knowledge
from polyclinic.knowledge.pathology import with_pathology
from polyclinic.methods.table import ChosenMethod
from polyclinic.methods.tree_of_reasoning import MeetingOutcome
from polyclinic.players.rules.specialists import RulesDoctors
from polyclinic.protocols.following import FollowedProtocol, follow
from polyclinic.protocols.papers import TorSettings
from polyclinic.results.folder import ItemMeasure
from polyclinic.retrieval.retriever import PASSAGES
from polyclinic.run.case_files import read_case_file
from polyclinic.run.options import (
    POSITIVE,
    Cases,
    Layout,
    Limit,
    Several,
    StrictSetting,
)
from polyclinic.run.output import Output, json_line, safe_name
from polyclinic.settings import setting
from polyclinic.statistics.comparison import Against, Compared, compare_values, of_means
from polyclinic.statistics.uncertainty import Estimate
from polyclinic.terminal.figures import part_of
from polyclinic.terminal.screen import plain
from polyclinic.terminal.tables import Column, chart, counted, few_line, interval, table_of

MEASURES = [
    *(ItemMeasure(name=f"{name}_of_a_record", share=False) for name in ("f1", "precision", "recall")),
    *(ItemMeasure(name=name, percent=False, share=False) for name in ("relevance", "completeness")),
]
"""The means over records; precision, recall and F1 of the table are of all options of all records together."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TorOptions(MethodOptions):
    """The options of Tree-of-Reasoning."""

    cases: Cases
    layout: Layout = None
    strict: StrictSetting = False
    limit: Limit = None
    model: Annotated[list[str] | None, Several, Parameter(metavar="MODEL")] = None
    """local, direct/NAME (with --base-url), or a name that Inspect knows; several share one table."""
    doctor: Annotated[str | None, Parameter(metavar="rules")] = None
    """The doctors by rules, in place of a model: rules."""
    judge: Annotated[str | None, Parameter(metavar="MODEL")] = None
    """A model that marks the relevance and completeness of explanations."""
    verdicts: Annotated[list[Path] | None, Several, Parameter(metavar="FILE...")] = None
    """People's verdicts of the form 'explanations', shown beside the judge's marks."""
    answer_tokens: Annotated[int | None, POSITIVE, setting("tor")] = None
    """The longest answer to a call; by default the server's."""

    def minds(self) -> list[str]:
        """Returns the models, or the doctors by rules."""
        if self.model is None and self.doctor is None:
            raise UserError("name who thinks: --model MODEL, or --doctor rules")
        if self.model is not None and self.doctor is not None:
            raise UserError("--model and --doctor are both named; leave one of them out")
        if self.doctor not in (None, RULES):
            raise UserError(f"--doctor {self.doctor!r}; by itself there is rules, and a model is named with --model")
        return list(dict.fromkeys(self.model or [RULES]))


def plan(options: TorOptions, setup: Setup[TorSettings]) -> Plan:
    """Reads records, marks and verdicts, and checks the methods against the protocol."""
    models, library, knowledge = setup.run.config.models, options.library, read_knowledge()
    rules = follow(TorSettings, options.protocol)
    if options.doctor is not None:
        rules.check_mind("doctors", "--doctor", options.doctor)
    if library.corpus is not None:
        rules.check_value("--by", library.by, rules.settings.by)
        rules.check_value("--passages", library.passages, rules.settings.passages)
    chosen = _methods(options, rules, models.temperature)
    cases = read_case_file(
        options.cases,
        layout=options.layout,
        strict=options.strict,
        needs=lambda case: lacking(case, knowledge),
        shares=setup.run.case_shares,
    )
    patients = inpatients(cases[: options.limit], knowledge)
    here: list[str] = []
    if rules.side == "paper":
        here.append(f"records ({rules.settings.records.paper}; here {len(patients)})")
        if library.corpus is None:
            here.append(f"nothing looked up ({', '.join(rules.settings.corpora.paper)}; here no --corpus)")
        here += rules.changed
    say(rules, here)
    minds = options.minds()
    several = len(minds) > 1
    called = outcome_names({mind: [one.label for one in chosen] for mind in minds})
    known = {(patient.id, name): None for patient in patients for name in called.values()}
    said = setup.verdicts(options.verdicts, lambda: {"explanations": known})
    about = {
        **{name: getattr(options, name) for name in ("cases", "layout", "limit", "answer_tokens", "judge", "protocol")},
        "records": len(patients),
        "models": minds,
        "seed": setup.seed,
        "temperature": models.temperature,
        "corpus": library.corpus,
        **({"by": library.by, "passages": library.passages or PASSAGES} if library.corpus is not None else {}),
        "methods": {one.label: {"method": one.name, "settings": one.settings} for one in chosen},
        "departures": here,
    }

    def report(results: Results) -> Output:
        title = f"tor, {counted(len(patients), 'record')}"
        means = figures(said, "explanations", seed=setup.seed)
        output = records_output(results, patients, title, about, chosen=chosen, people=means, seed=setup.seed)
        return replace(output, departures=here)

    async def prepare(opened: Opened) -> Work:
        judge = None if options.judge is None else opened.judge(options.judge)
        given: dict[str, Any] = {"looking_up": opened.looking_up, "temperature": models.temperature, "seed": setup.seed}
        players = {}
        for mind in minds:
            thinking: dict[str, Any] = {"doctors": RulesDoctors(opened.knowledge)}
            if mind != RULES:
                thinking = {"models": opened.episodes(mind, max_tokens=options.answer_tokens)}
            for one in entrants(chosen, patients, mind=mind, **thinking, **given):
                players[f"{mind}: {one.label}" if several else one.label] = one
        plays: Work = records(patients, opened.knowledge, looking_up=opened.looking_up, judge=judge, seed=setup.seed)
        return replace(plays, players=players, report=report, goes_on_without=several)

    def failure(results: Results) -> str:
        every = [one for methods in results.values() for one in methods.values()]
        lost = sum((Counter(one.unjudged) for one in every), Counter[str]())
        asked = lost.total() + sum(one.judged for one in every)
        problem = "explanations have no marks of the judge's"
        return judge_failure(lost, asked, problem, setup.run.config.max_failures)

    return Plan(
        prepare=prepare,
        models=[*(mind for mind in minds if mind != RULES), options.judge],
        methods=chosen,
        people=said,
        named=f"tor {Path(options.cases).name}",
        doing="diagnosing",
        purposes=False,
        failure=failure,
    )


def _as_paper(chosen: ChosenMethod, rules: FollowedProtocol[TorSettings]) -> ChosenMethod:
    """Returns Tree-of-Reasoning with the paper's settings where those are followed, and any other method as it is."""
    if chosen.name != "tree_of_reasoning":
        return chosen
    own = {key: getattr(rules.settings, key) for key in ("rounds", "turns", "form", "update_from", "targets")}
    # What the ablation leaves out has no form, and no doctor to be said to.
    idle = {"form"} if chosen.settings.get("tree") is False else set()
    idle |= {*own} - {"form"} if chosen.settings.get("cross_verification") is False else set()
    return as_paper(chosen, {key: one for key, one in own.items() if key not in idle}, rules)


def _methods(
    options: TorOptions, rules: FollowedProtocol[TorSettings], temperature: float | None
) -> list[ChosenMethod]:
    """Returns the methods; refuses settings that have no effect without a corpus, or if doctors by rules think."""
    chosen = options.chosen("tree_of_reasoning", models=options.model or (), judge=options.judge)
    corpus, by_rules = options.library.corpus, options.doctor is not None
    of_models = {"tor.answer-tokens": options.answer_tokens, "--temperature": temperature, f"--corpus {corpus}": corpus}
    if by_rules and (idle := [name for name, value in of_models.items() if value is not None]):
        raise UserError(f"{idle[0]} has no effect on --doctor rules; it needs --model MODEL, or leave it out")
    idle_settings = {"passages": corpus is None, "retrieval": corpus is None, "form": by_rules, "top_p": by_rules}
    for one in chosen:
        given = [name for name in one.settings if one.name == "tree_of_reasoning" and idle_settings.get(name)]
        if given:
            needed = "--model in the place of --doctor" if given[0] in ("form", "top_p") else "--corpus NAME beside it"
            raise UserError(f"setting {one.name}.{given[0]} has no effect here; it needs {needed}, or leave it out")
    return [_as_paper(one, rules) for one in chosen]


_ESTIMATES = ("precision", "recall", "f1", "f1_of_a_record", "unsupported", "relevance", "completeness")
_NUMBERS = ("calls", "round_trips", "unusable", "n", "failed", "unreadable")


def records_document(
    results: Results, about: Mapping[str, Any], against: Mapping[str, Sequence[Against]] = MappingProxyType({})
) -> dict[str, Any]:
    """Returns the document of one model, or of several under `models`: of each method its means, and their intervals.

    Shares are in percent, the rest a record, marks from 0 to 5.
    """
    documents = []
    for model, methods in results.items():
        one: dict[str, Any] = {"model": model, "methods": {}, "intervals": {}}
        for name, result in methods.items():
            means: dict[str, Estimate] = {key: getattr(result, key) for key in _ESTIMATES}
            judged = ("judged", "unjudged") if result.judged or result.unjudged else ()
            counts = (*_NUMBERS, *(("broken",) if result.broken else ()), *judged)
            one["methods"][name] = {key: mean.mean for key, mean in means.items()}
            one["methods"][name] |= {key: getattr(result, key) for key in counts}
            one["intervals"][name] = {key: [mean.low, mean.high] for key, mean in means.items() if mean.n}
        if against.get(model):
            one["comparisons"] = against[model]
        documents.append(one)
    return {**(documents[0] if len(documents) == 1 else {"models": documents}), "run": dict(about)}


def outcome_names(results: Mapping[str, Iterable[str]]) -> dict[tuple[str, str], str]:
    """Returns what the outcomes of each model's methods are called, as files are and in people's verdicts."""
    several = len(results) > 1
    return {
        (model, name): safe_name(f"{model} {name}" if several else name)
        for model, methods in results.items()
        for name in methods
    }


def records_output(
    results: Results,
    patients: Sequence[Inpatient],
    title: str,
    about: Mapping[str, Any] = MappingProxyType({}),
    *,
    chosen: Sequence[ChosenMethod] = (),
    people: Mapping[str, PeopleFigures] = MappingProxyType({}),
    seed: int = 0,
) -> Output:
    """Returns the output: document, tables, and of each method its outcomes and, if it met, its meetings."""
    called = outcome_names(results)
    against = {
        model: compare_methods({name: _f1_by_record(one) for name, one in methods.items()}, of_means(seed))
        for model, methods in results.items()
    }
    knowledge = read_knowledge()
    costs = {model: shown_by(methods, chosen, patients, knowledge, seed=seed) for model, methods in results.items()}
    withheld = {model: found for model, found in costs.items() if found}

    def show(screen: Console) -> None:
        for model, methods in results.items():
            _show_scores(screen, f"{title}, {model}", list(methods.values()))
            if against[model]:
                names: dict[str, Column] = {"method": "first", "less": "second"}
                show_compared(screen, "F1 a record, on the records of both", against[model], names, form="+.1f")
                screen.print()
            if model in withheld:
                show_withheld(screen, withheld[model])
        if len(results) > 1:  # the paper's Figure 4
            for name in dict.fromkeys(name for methods in results.values() for name in methods):
                screen.print(f"F1 of {plain(name)}", style="bold")
                rows = [(plain(model), methods[name].f1) for model, methods in results.items() if name in methods]
                screen.print(chart(rows), "")
        show_figures(screen, people)

    files: dict[str, Iterable[object]] = {}
    rows = []
    for model, methods in results.items():
        for name, result in methods.items():
            safe = called[model, name]
            files[f"{safe}.jsonl"] = map(json_line, result.chosen)
            if any(isinstance(one.outcome, MeetingOutcome) for one in result.chosen):
                files[f"{safe}.meetings.jsonl"] = _meetings(name, methods, patients)
            facts = {"model": model, "method": name, "seed": seed}
            rows += [
                outcome_row(one.outcome, one.values, item=one.id, at=f"{safe}.jsonl:{line}", **facts)
                for line, one in enumerate(result.chosen, 1)
            ]
    every = [one for methods in results.values() for one in methods.values()]
    meetings = any(name.endswith(".meetings.jsonl") for name in files)
    further = {"withheld": {model: withheld_document(one) for model, one in withheld.items()}, "people": people}
    return Output(
        document=records_document(results, about, against) | {name: one for name, one in further.items() if one},
        show=show,
        files=files,
        failed=sum(one.failed for one in every),
        n=sum(one.n + one.failed for one in every),
        plays="records",
        failures=failures(one.outcome for result in every for one in result.chosen),
        written="Outcomes, meetings and summary: {0}. Next: polyclinic replay {0}/…meetings.jsonl"
        if meetings
        else "Outcomes and summary: {}",
        rows=rows,
        measures=MEASURES,
    )


def _f1_by_record(result: RecordScores) -> dict[str, float]:
    return {one.id: one.values["f1_of_a_record"] for one in result.chosen if not one.outcome.failed}


def _meetings(name: str, methods: Mapping[str, RecordScores], patients: Sequence[Inpatient]) -> Iterator[str]:
    by_id = {patient.id: patient for patient in patients}
    in_order = {name: methods[name], **methods}
    answers = {other: {one.id: one.outcome.answers for one in of.chosen} for other, of in in_order.items()}
    for one in methods[name].chosen:
        if isinstance(one.outcome, MeetingOutcome):
            patient = by_id[one.id]
            meeting = RecordedMeeting(
                id=one.id,
                record=patient.record,
                options=patient.question.options,
                key=patient.key,
                log=one.outcome.log,
                chose={other: theirs[one.id] for other, theirs in answers.items() if one.id in theirs},
            )
            yield json_line(meeting)


def _judged(one: RecordScores) -> str | None:
    total = one.judged + sum(one.unjudged.values())
    return part_of(one.judged, total) if total else None


_COLUMNS: dict[str, Column] = {
    "method": "name",
    "P %": "precision.mean",
    "R %": "recall.mean",
    "F1 %": "f1.mean",
    "95 % interval": lambda one: interval(one.f1, ".1f"),
    "F1 a record": ("f1_of_a_record.mean", ".1f"),
    "unsupp. %": ("unsupported.mean", ".1f"),
    "relev.": "relevance.mean",
    "compl.": "completeness.mean",
    "judged": _judged,
    "calls": ("calls", ".1f"),
    "trips": ("round_trips", ".1f"),
    "unusable": ("unusable", ".1f"),
    "n": "n",
    "unread.": "unreadable",
    "broken": "broken",
    "failed": "failed",
}
_OPTIONAL = ("relev.", "compl.", "judged", "unusable", "broken")


def _show_scores(screen: Console, title: str, every: Sequence[RecordScores]) -> None:
    """Prints how methods did, the paper's columns first, and what the columns are."""
    screen.print(table_of(title, every, _COLUMNS, optional=_OPTIONAL))
    if few := few_line([one.n for one in every], "record"):
        screen.print(few, style="dim")
    if any(one.unusable for one in every):
        screen.print("unusable: replies that could not be used, a record; a method may go on without.", style="dim")
    screen.print(_LEGEND, style="dim")
    for one in every:
        if one.unjudged:
            lost = ", ".join(f"{n} {name}" for name, n in one.unjudged.items())
            total = one.judged + sum(one.unjudged.values())
            told = f"{one.name}: the judge gave marks for {one.judged} of {total} explanations; no marks: {lost}"
            screen.print(plain(told), style="yellow", soft_wrap=True)
    screen.print()


_LEGEND = """\
P, R, F1: over the options of all records; F1 a record: mean of each record's own (f1_of_a_record);
unsupp.: pieces of evidence, in all trees that were written, that the record does not bear; calls, trips
(calls in a row): a record; unread.: answered, and without an answer that can be read: in n, chooses nothing;
failed: no endpoint answered, outside of everything."""


class Shows(Compared, frozen=True, kw_only=True):
    """What withholding one doctor's data costs in the diseases that those data show.

    Tree-of-Reasoning's Table 2 gives the data of a doctor who is left out to the outpatient doctor; here they are
    withheld.

    Attributes:
        measure: the kind of data; the `difference` is of a record's F1, without less with the data.
        f1, without: in percent, of the whole team, and of the team without the data.
    """

    f1: Estimate
    without: Estimate


def shown_by(
    results: Mapping[str, RecordScores],
    chosen: Sequence[ChosenMethod],
    patients: Sequence[Inpatient],
    knowledge: Knowledge,
    *,
    seed: int = 0,
) -> list[Shows]:
    """Returns for each kind of data the cost of withholding it, if both methods are among the results by label."""
    by_settings = {(one.name, str(one.settings)): one.label for one in chosen if one.label in results}
    f1: dict[str, list[Estimate]] = {}
    values: dict[str, dict[str, dict[str, float]]] = {"without": {}, "with": {}}
    for less in chosen:
        left = {key: value for key, value in less.settings.items() if key not in ("without", "removed")}
        kinds: Sequence[Kind] = tuple(less.settings.get("without", ()))
        label = by_settings.get((less.name, str(left)))
        is_withheld = less.settings.get("removed") == "withheld" and len(kinds) == 1 and less.label in results
        if label is None or not is_withheld:
            continue
        keys = _keys_shown(kinds[0], patients, knowledge)
        sides = {
            side: {one.id: one for one in results[name].chosen if not one.outcome.failed}
            for side, name in (("without", less.label), ("with", label))
        }
        f1[kinds[0]] = [shares(some.values(), among=keys, seed=seed)[2] for some in sides.values()]
        asked = {
            one.id for some in sides.values() for one in some.values() if keys[one.id] & (one.key | one.outcome.answers)
        }
        for side, some in sides.items():
            for id in (id for id in some if id in asked):
                values[side].setdefault(id, {})[kinds[0]] = _f1(some[id], keys)
    in_order = [kind for kind in KINDS if kind in f1]
    compared = compare_values(Compared, values, in_order, [("without", "with")], lambda _: of_means(seed))
    return [Shows(**msgspec.structs.asdict(one), f1=f1[one.measure][1], without=f1[one.measure][0]) for one in compared]


def _f1(one: RecordPlay, among: Mapping[str, frozenset[str]]) -> float:
    given, wanted = one.outcome.answers & among[one.id], one.key & among[one.id]
    both = len(given) + len(wanted)
    return 200.0 * len(given & wanted) / both if both else 100.0


def withheld_document(shown: Sequence[Shows]) -> dict[str, Any]:
    """Returns what `--json` prints of the kinds of data, by kind."""
    return {
        one.measure: {
            "f1": one.f1.mean,
            "f1_withheld": one.without.mean,
            "difference": one.difference.mean,
            "interval": [one.difference.low, one.difference.high],
            "p": one.difference.p,
            "p_holm": one.p_holm,
            "n": one.difference.n,
        }
        for one in shown
    }


def show_withheld(screen: Console, shown: Sequence[Shows]) -> None:
    """Prints F1 in the diseases that each kind of data shows, with the data and without."""
    columns: dict[str, Column] = {
        "data withheld": "measure",
        "F1 % with": ("f1.mean", ".1f"),
        "without": ("without.mean", ".1f"),
    }
    show_compared(screen, "F1 in the diseases that the data show", shown, columns, form="+.1f")


def _keys_shown(kind: Kind, patients: Sequence[Inpatient], knowledge: Knowledge) -> dict[str, frozenset[str]]:
    """Returns for each record the options that are diseases which such data show.

    Data show a disease by an examination that is right for it, or by a specimen.
    """
    full = with_pathology(knowledge)
    shown = set()
    for disease in full.diseases.values():
        specimens = [name for name in disease.findings if full.examinations[name].kind == "pathology"]
        if kind in {KIND_OF[full.examinations[name].kind] for name in (*disease.examinations, *specimens)}:
            shown.add(disease.id)
    keys = {}
    for patient in patients:
        diseases = {key: full.disease_named(text) for key, text in patient.question.options.items()}
        keys[patient.id] = frozenset(key for key, one in diseases.items() if one is not None and one.id in shown)
    return keys


TOR: Evaluation[TorOptions, TorSettings] = Evaluation(
    name="tor",
    options=TorOptions,
    plan=plan,
    tested=UnderTest(option="model", sample=sample_of_question, defaults={"cases": "inpatients"}),
)
