"""Tree-of-Reasoning as an evaluation: methods choose the diagnoses that a whole record shows."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from polyclinic import __version__
from polyclinic.cases.shipped import shipped_path
from polyclinic.errors import UserError
from polyclinic.evaluations.evaluation import (
    Evaluation,
    Opened,
    Plan,
    Play,
    Setup,
    Work,
    check_judge,
    check_looks_up,
    judge_failure,
)
from polyclinic.evaluations.protocol import as_paper, mind_kind, say
from polyclinic.evaluations.tor.evaluation import (
    RULES,
    RecordPlay,
    RecordsAndMinds,
    Results,
    check_ratings,
    entrants,
    records,
    with_ratings,
)
from polyclinic.evaluations.tor.inpatients import read_inpatients
from polyclinic.evaluations.tor.tables import outcome_names, records_output
from polyclinic.judging.explanations import read_ratings
from polyclinic.judging.people import figures
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.methods.table import ChosenMethod, choose
from polyclinic.players.rules.specialists import RulesDoctors
from polyclinic.protocols.following import FollowedProtocol, follow
from polyclinic.protocols.papers import TorSettings
from polyclinic.retrieval.retriever import PASSAGES
from polyclinic.run.case_files import note_share
from polyclinic.run.options import (
    FILE,
    LIBRARY,
    POSITIVE,
    BatchOption,
    Cases,
    Layout,
    Library,
    Limit,
    ProtocolOption,
    Several,
    StrictSetting,
)
from polyclinic.run.output import Output
from polyclinic.settings import setting
from polyclinic.terminal.tables import counted


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TorOptions(BatchOption, ProtocolOption):
    """The options of Tree-of-Reasoning."""

    cases: Cases
    layout: Layout = None
    strict: StrictSetting = False
    limit: Limit = None
    model: Annotated[list[str] | None, Several, Parameter(metavar="MODEL")] = None
    """local, direct/NAME (with --base-url), or a name that Inspect knows; several share one table."""
    doctor: Annotated[str | None, Parameter(metavar="rules")] = None
    """The doctors by rules, in place of a model: rules."""
    method: Annotated[list[str] | None, Several, Parameter(metavar="NAME...")] = None
    """A method by name, or FILE.py:NAME; settings may follow the name: 'tree_of_reasoning tree=true|false'."""
    settings: Annotated[list[str] | None, setting(""), Parameter(name="--method-settings")] = None
    """Settings of the methods, KEY=VALUE, or METHOD.KEY=VALUE of one."""
    judge: Annotated[str | None, Parameter(metavar="MODEL")] = None
    """A model that marks the relevance and completeness of explanations."""
    ratings: Annotated[Path | None, FILE, setting("tor")] = None
    """People's marks as JSON lines, which count before the judge's: case, method, rater, relevance, completeness."""
    verdicts: Annotated[list[Path] | None, Several, Parameter(metavar="FILE...")] = None
    """People's verdicts of the form 'explanations', shown beside the judge's marks."""
    answer_tokens: Annotated[int | None, POSITIVE, setting("tor")] = None
    """The longest answer to a call; by default the server's."""
    library: Library = LIBRARY

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
    models = setup.run.config.models
    library = options.library
    rules = follow(TorSettings, options.protocol)
    if options.doctor is not None:
        rules.check_mind("doctors", "--doctor", options.doctor, mind_kind(options.doctor))
    if library.corpus is not None:
        rules.check_value("--by", library.by, rules.settings.by)
        rules.check_value("--passages", library.passages, rules.settings.passages)
    chosen = _methods(options, rules, models.temperature)
    patients, share = read_inpatients(
        options.cases, read_knowledge(), layout=options.layout, limit=options.limit, strict=options.strict
    )
    note_share(share)
    setup.run.case_shares.append(share)
    here: list[str] = []
    if rules.side == "paper":
        here.append(f"records ({rules.settings.records.paper}; here {len(patients)})")
        if library.corpus is None:
            here.append(f"nothing looked up ({', '.join(rules.settings.corpora.paper)}; here no --corpus)")
        here += rules.changed
    say(rules, here)
    minds = options.minds()
    called = outcome_names({mind: [one.label for one in chosen] for mind in minds})
    known = {(patient.id, name): None for patient in patients for name in called.values()}
    said = setup.verdicts(options.verdicts, lambda: {"explanations": known})
    people = read_ratings(options.ratings) if options.ratings is not None else {}
    check_ratings(people, {patient.id for patient in patients}, [one.label for one in chosen])
    about = {
        "cases": options.cases,
        "cases_sha256": hashlib.sha256(shipped_path(options.cases).read_bytes()).hexdigest(),
        "layout": options.layout,
        "limit": options.limit,
        "records": len(patients),
        "models": minds,
        "seed": setup.seed,
        "temperature": models.temperature,
        "answer_tokens": options.answer_tokens,
        "corpus": library.corpus,
        **({"by": library.by, "passages": library.passages or PASSAGES} if library.corpus is not None else {}),
        "version": __version__,
        "methods": {one.label: {"method": one.name, "settings": one.settings} for one in chosen},
        "judge": options.judge,
        "protocol": options.protocol,
        "departures": here,
        "ratings": None if options.ratings is None else str(options.ratings),
    }

    def report(results: Results) -> Output:
        title = f"tor, {counted(len(patients), 'record')}"
        means = figures(said, "explanations", seed=setup.seed)
        output = records_output(results, patients, title, about, chosen=chosen, people=means, seed=setup.seed)
        return replace(output, departures=here)

    async def prepare(opened: Opened) -> Work:
        judge = None if options.judge is None else opened.judge(options.judge)
        doctors = RulesDoctors(opened.knowledge)
        given = RecordsAndMinds(
            patients, opened.knowledge, looking_up=opened.looking_up, temperature=models.temperature, seed=setup.seed
        )
        players = {}
        for mind in minds:
            of_model = opened.episodes(mind, max_tokens=options.answer_tokens)
            own = given._replace(doctors=doctors) if mind == RULES else given._replace(models=of_model)
            for one in entrants(own, chosen, mind=mind):
                players[one.label if len(minds) == 1 else f"{mind}: {one.label}"] = one
        plays: Work = records(given)

        async def summarise(played: Mapping[str, Sequence[Play[Any, Any, Any, RecordPlay]]]) -> Results:
            return {
                mind: await with_ratings(result, patients, judge=judge, people=people, seed=setup.seed)
                for mind, result in (await plays.summarise(played)).items()
            }

        several = len(minds) > 1
        return replace(plays, players=players, summarise=summarise, report=report, goes_on_without=several)

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
    for name in options.model or ():
        check_judge(name, option="--model")
    check_judge(options.judge)
    chosen = choose(options.method or ["tree_of_reasoning"], options.settings or [])
    corpus, by_rules = options.library.corpus, options.doctor is not None
    of_models = {"tor.answer-tokens": options.answer_tokens, "--temperature": temperature, f"--corpus {corpus}": corpus}
    if by_rules and (idle := [name for name, value in of_models.items() if value is not None]):
        raise UserError(f"{idle[0]} has no effect on --doctor rules; it needs --model MODEL, or leave it out")
    check_looks_up(chosen, corpus)
    idle_settings = {"passages": corpus is None, "retrieval": corpus is None, "form": by_rules, "top_p": by_rules}
    for one in chosen:
        given = [name for name in one.settings if one.name == "tree_of_reasoning" and idle_settings.get(name)]
        if given:
            needed = "--model in the place of --doctor" if given[0] in ("form", "top_p") else "--corpus NAME beside it"
            raise UserError(f"setting {one.name}.{given[0]} has no effect here; it needs {needed}, or leave it out")
    return [_as_paper(one, rules) for one in chosen]


TOR: Evaluation[TorOptions, TorSettings] = Evaluation(
    name="tor",
    options=TorOptions,
    plan=plan,
)
