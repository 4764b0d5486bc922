"""The folder of a practice: begun with its options, or taken up as it was begun; and its patients."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import msgspec

from polyclinic.benchmarks.evolution.patients import PracticePatient, lacks, practice_patients
from polyclinic.cases.case import Case
from polyclinic.cases.shipped import shipped_path
from polyclinic.cli.as_agent_hospital import check_practice, say_practice
from polyclinic.cli.case_files import read_case_file
from polyclinic.cli.evolve_options import FILE_ORDER, RECALL, SHUFFLED, PracticeConfiguration, PracticeOptions, Tested
from polyclinic.cli.evolve_resuming import check_made_of, check_options, endpoint, made_of
from polyclinic.cli.options import Models
from polyclinic.errors import BadInput, UserError
from polyclinic.files import make_empty_folder, write_text
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.memory.embedding import asked_for, check_memory_embedder
from polyclinic.players.mind_names import model_of
from polyclinic.results.folder import decoded, seal_files
from polyclinic.seeds import derive
from polyclinic.terminal.screen import note

CONFIGURATION, RESULTS, PAGE, ANSWERS = "evolve.json", "summary.json", "report.html", "answers.sqlite"
"""Files of the folder: what it is made of, what came of it, the same as a page, and what models answered."""
OF_REPLICAS = "replicas.json"
"""What came of several, in the folder that holds theirs."""

_RECALLED = ("k", "k_records", "k_experience")
_DISEASES = "respiratory"
"""The paper's eight, among which a doctor of the practice chooses."""

Patients = tuple[list[PracticePatient], list[PracticePatient]]
"""To practise on, and of the test."""


def begin_or_take_up(
    options: PracticeOptions,
    out: Path | None,
    resume: Path | None,
    ablations: Tested | None,
    models: Models,
    *,
    strict: bool,
) -> tuple[Path, PracticeConfiguration, Patients]:
    """Makes the folder of a new practice, or reads that of one to go on with; returns it, what it is made of, and whom.

    Raises:
        UserError: an option is missing, or has no effect.
        BadInput: a file or a folder cannot be used, or is that of another practice.
    """
    if (out is None) == (resume is None):
        raise UserError("name a new folder with --out DIR, or one to go on with by --resume DIR; one of them")
    if resume is not None:
        path = resume / CONFIGURATION
        if not path.is_file():
            raise BadInput(f"holds no {CONFIGURATION}; 'polyclinic evolve --out DIR' makes one", path=resume)
        begun = decoded(path, PracticeConfiguration, "how a practice was begun")
        check_options(msgspec.structs.asdict(begun), dataclasses.asdict(options), resume)
        check_made_of(begun.made_of, _made_of(begun), resume)
        return resume, begun, _patients(begun, strict=strict)
    assert out is not None  # noqa: S101
    if options.train is None or options.test is None:
        raise UserError("a practice needs --train FILE and --test FILE; polyclinic cases generate --preset makes both")
    if options.records_only and options.experience_only:
        raise UserError("--records-only and --experience-only leave nothing to remember; at most one of them")
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
    patients = _patients(made, strict=strict)  # before anything is written
    made = msgspec.structs.replace(made, made_of=_made_of(made))
    say_practice(rules, train=len(patients[0]), test=len(patients[1]))
    make_empty_folder(out, beside=out / ANSWERS)
    write_text(out / CONFIGURATION, msgspec.json.encode(made).decode() + "\n")
    seal_files(out, [CONFIGURATION])
    return out, made, patients


def made_here(folder: Path, files: Mapping[str, str | None]) -> None:
    """Names the files of a practice that was made elsewhere as this machine does; None for one that there is not."""
    path = folder / CONFIGURATION
    if not path.is_file():
        return
    made = decoded(path, PracticeConfiguration, "how a practice was begun")
    named = {name: str(file) for name, file in files.items() if name != "model_file"}
    asked = made.endpoint
    if asked is not None and (file := files["model_file"]) is not None:
        asked = {**asked, "model_file": str(Path(file).resolve())}
    write_text(path, msgspec.json.encode(msgspec.structs.replace(made, endpoint=asked, **named)).decode() + "\n")
    seal_files(folder, [CONFIGURATION])


def _made_of(configuration: PracticeConfiguration) -> dict[str, str]:
    files = {f"--{name}": Path(shipped_path(getattr(configuration, name))) for name in ("train", "test")}
    file = (configuration.endpoint or {}).get("model_file")
    asks = model_of(configuration.doctor) is not None or bool(asked_for(configuration.embedder))
    return made_of(files, model_file=None if file is None else Path(str(file)), asks=asks)


def _patients(configuration: PracticeConfiguration, *, strict: bool) -> Patients:
    files = configuration.train, configuration.test
    every = {name: read_case_file(name, strict=strict, needs=lacks) for name in files}
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
