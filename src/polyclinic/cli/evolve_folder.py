"""The folder of a practice: begun with its options, or taken up as it was begun; and its patients."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import msgspec

from polyclinic import __version__
from polyclinic.cases.case import Case
from polyclinic.cases.case_share import CaseShare
from polyclinic.cases.shipped import shipped_path
from polyclinic.cli.as_agent_hospital import check_practice, say_practice
from polyclinic.cli.evolve_options import FILE_ORDER, RECALL, SHUFFLED, PracticeConfiguration, PracticeOptions, Tested
from polyclinic.errors import BadInput, UserError
from polyclinic.evaluations.evolution.patients import PracticePatient, lacks, practice_patients
from polyclinic.files import check_new_folder, make_folder, write_text
from polyclinic.fingerprints import of_file, of_package, others
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.memory.library import asked_for, check_memory_embedder
from polyclinic.models.session import ModelSettings
from polyclinic.players.mind_names import model_of
from polyclinic.results.folder import decoded
from polyclinic.run.case_files import read_case_file
from polyclinic.run.options import PRIVATE, Models
from polyclinic.seeds import derive
from polyclinic.settings import name_of
from polyclinic.terminal.screen import note

_ENDPOINT = ("base_url", "model_file", "temperature")


def endpoint(models: ModelSettings) -> dict[str, Any]:
    """Returns what is kept of where and how models are asked: no key, and nothing that holds for one command alone."""
    kept = {name: getattr(models, name) for name in _ENDPOINT}
    kept["model_file"] = None if models.model_file is None else str(models.model_file.resolve())
    return {name: value for name, value in kept.items() if value is not None}


CONFIGURATION, RESULTS, PAGE = "evolve.json", "summary.json", "report.html"
"""Files of the folder: what it is made of, what came of it, and the same as a page."""
OF_REPLICAS = "replicas.json"  # What came of several, in the folder that holds theirs

_RECALLED = ("k", "k_records", "k_experience")
_DISEASES = "respiratory"  # The paper's eight, among which a doctor of the practice chooses

Patients = tuple[list[PracticePatient], list[PracticePatient]]  # To practise on, and of the test


def practice_in(
    folder: Path,
    options: PracticeOptions,
    ablations: Tested | None,
    models: Models,
    *,
    strict: bool,
    shares: list[CaseShare],
) -> tuple[PracticeConfiguration, Patients]:
    """Returns what a practice is made of, and its patients: a new one, or the one that was begun in its folder."""
    path = folder / CONFIGURATION
    if not path.is_file():
        check_new_folder(folder if folder.parent.is_dir() else folder.parent, besides=[PRIVATE])
        return _new_practice(options, ablations, models, strict=strict, shares=shares)
    begun = decoded(path, PracticeConfiguration, "how a practice was begun")
    before = {**msgspec.structs.asdict(begun), **dict.fromkeys(_ENDPOINT), **(begun.endpoint or {})}
    now = {**dataclasses.asdict(options), "order": options.order or begun.order}
    if begun.endpoint is not None:
        now |= {**dict.fromkeys(_ENDPOINT), **endpoint(models)}
    for name, value in now.items():
        if name not in before or value == before[name]:
            continue
        if name == "embedder":
            anew = f"make its vectors anew: polyclinic memory build {folder} --embedder {value} --out NEW"
            raise BadInput(f"was made with embedder {before[name]}, and is asked for with {value}; {anew}", path=folder)
        option = name_of(ModelSettings if name in _ENDPOINT else PracticeOptions, name)
        how = f"without {option}" if before[name] in (None, False) else f"with {option} {before[name]}"
        raise BadInput(f"was begun {how}; leave {option} out, or name another --out", path=folder)
    if changed := others(begun.made_of, _made_of(begun)):
        was = f"; it was polyclinic {begun.made_of['polyclinic']}" if "polyclinic" in changed else ""
        raise BadInput(f"was begun with another {' and another '.join(changed)}{was}; name another --out", path=folder)
    return begun, patients_of(begun, strict=strict, shares=shares)


def begin(folder: Path, configuration: PracticeConfiguration) -> None:
    """Makes the folder of a practice, and says there what it is made of; nothing where that is said already."""
    make_folder(folder, parents=True)
    if not (folder / CONFIGURATION).is_file():
        write_text(folder / CONFIGURATION, msgspec.json.encode(configuration).decode() + "\n")


def _new_practice(
    options: PracticeOptions, ablations: Tested | None, models: Models, *, strict: bool, shares: list[CaseShare]
) -> tuple[PracticeConfiguration, Patients]:
    if options.train is None or options.test is None:
        raise UserError("a practice needs --train FILE and --test FILE; polyclinic cases generate --preset makes both")
    if options.records_only and options.experience_only:
        raise UserError(
            "practice.records-only and practice.experience-only leave nothing to remember; at most one of them"
        )
    if options.feedback == "outcome" and options.experience_only:
        raise UserError("--feedback outcome never says what would have been right, so that there is no experience")
    check_memory_embedder(options.embedder)
    if options.doctor != RECALL and model_of(options.doctor) is None:
        raise UserError(f"--doctor {options.doctor!r} does not learn; allowed: {RECALL}, or a model: direct/NAME")
    asked = {name: getattr(options, name) for name in ("batch", "test_every", "feedback", *_RECALLED)}
    rules = check_practice(options.protocol, doctor=options.doctor, embedder=options.embedder, given=asked)
    said = {name: getattr(options, name) for name in PracticeConfiguration.__struct_fields__ if hasattr(options, name)}
    said["order"] = options.order or FILE_ORDER
    made = PracticeConfiguration(**said, ablations=ablations, endpoint=endpoint(models))
    patients = patients_of(made, strict=strict, shares=shares)
    made = msgspec.structs.replace(made, made_of=_made_of(made))
    say_practice(rules, train=len(patients[0]), test=len(patients[1]))
    return made, patients


def _made_of(configuration: PracticeConfiguration) -> dict[str, str]:
    """Returns the fingerprints of the package, the patients, and the file that says which models are asked."""
    prints = {"polyclinic": __version__, **of_package()}
    if model_of(configuration.doctor) is None and not asked_for(configuration.embedder):
        del prints["prompts"]
    files = {f"--{name}": Path(shipped_path(getattr(configuration, name))) for name in ("train", "test")}
    if (models := (configuration.endpoint or {}).get("model_file")) is not None:
        files["models.model-file"] = Path(str(models))
    return prints | {option: of_file(path) for option, path in files.items()}


def patients_of(
    configuration: PracticeConfiguration, *, strict: bool, shares: list[CaseShare] | None = None
) -> Patients:
    """Returns the patients of a practice: to practise on and of the test."""
    files = configuration.train, configuration.test
    every = {name: read_case_file(name, strict=strict, needs=lacks, shares=shares) for name in files}
    knowledge, patients = read_knowledge().select(_DISEASES), {}
    for name, cases in every.items():
        try:
            patients[name] = practice_patients(cases, knowledge)
        except BadInput as problem:
            raise BadInput(str(problem), path=Path(name)) from None
    train, test = patients[configuration.train], patients[configuration.test]
    here, there = train[0].choices.language, test[0].choices.language
    if here != there:
        raise BadInput(f"is in {there!r}, and {configuration.train} in {here!r}", path=Path(configuration.test))
    known_by = {_content(one.case) for one in train} | {one.case.id for one in train}
    met = [one.case.id for one in test if one.case.id in known_by or _content(one.case) in known_by]
    if met:
        shared = f"shares {len(met):,} patient{'s'[: len(met) > 1]} with {configuration.train}: {', '.join(met[:3])}"
        raise BadInput(shared, path=Path(configuration.test))
    if untaught := sorted({one.disease.id for one in test} - {one.disease.id for one in train}):
        note(f"nobody in {configuration.train} has what some in {configuration.test} have: {', '.join(untaught)}")
    if configuration.order == SHUFFLED:
        derive(configuration.seed, "order").shuffle(train)
        # How far a practice has come, and what its memory was then, is counted in the order in which they come.
        train = [one._replace(number=number) for number, one in enumerate(train, start=1)]
    return train, test


def _content(case: Case) -> str:
    """Returns what is known of a patient, whoever it is said to be; no two have the same results to the digit."""
    record, came = case.record, case.presentation
    door = () if record.findings else (came.complaint, came.age, came.sex)
    return msgspec.json.encode((door, record.history, record.findings)).decode()
