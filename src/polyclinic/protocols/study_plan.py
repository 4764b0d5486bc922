"""A study as a file: which commands are run, with which options, and what is published beside; TOML.

    title = "Two methods on two sets"
    models = ["direct/qwen3-8b"]      # --model goes before
    seeds = [0, 1]

    [options]                         # of every run, as on the command line
    method = ["zero_shot", "medagents"]

    [[run]]
    name = "medqa"
    command = "eval exam"
    exam = "medqa"                    # a run's own options
    questions = "medqa.jsonl"

    [published]
    columns = ["model", "method", "measure", "medqa"]
    rows = [["GPT-4", "medagents", "right", 83.7]]

A list for an option that takes one value is a sweep: a run for each value, such as `max_turns = [2, 10]`. Settings of
methods are swept in their names: `method = ["medagents stages=analysis|summary"]`.

`[small]` holds what is set otherwise where it is only tried out, `[small.offline]` where no model is named besides.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec

from polyclinic.errors import BadInput, meant
from polyclinic.files import read_toml, split_place

SHIPPED_PLANS = Path(__file__).parent / "plans"
"""The plans of the papers."""

_NAMED = ("model", "method", "measure")
_EXAMS = ("medqa", "medmcqa", "pubmedqa", "mmlu")
_RENAMED = {"sample": "limit", "all": "limit"}


class PlannedRun(msgspec.Struct, frozen=True, kw_only=True):
    """One command for each seed: its name, and its own options."""

    name: str
    command: str
    options: dict[str, Any] = {}


class PublishedValue(msgspec.Struct, frozen=True, kw_only=True):
    """A figure that a paper prints."""

    model: str
    method: str
    measure: str
    set: str
    value: float


class _PlanHead(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    paper: str = ""
    models: tuple[str, ...] = ()
    seeds: Annotated[tuple[int, ...], msgspec.Meta(min_length=1)] = (0,)
    offline: str = ""


class StudyPlan(_PlanHead, frozen=True, kw_only=True):
    """A study. `offline` plays where no model is named; `small` are the options of a trial run."""

    runs: tuple[PlannedRun, ...]
    small: dict[str, Any] = {}
    small_offline: dict[str, Any] = {}
    published: tuple[PublishedValue, ...] = ()


class _Published(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    columns: list[str] = []
    rows: list[list[str | float]] = []


class _WrittenPlan(_PlanHead, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The file as it is written."""

    options: dict[str, Any] = {}
    small: dict[str, Any] = {}
    run: Annotated[list[dict[str, Any]], msgspec.Meta(min_length=1)]
    published: _Published = _Published()


def find_plan(name: Path) -> Path:
    """Returns the file of a plan: as it is named, or the one of that name that comes with polyclinic."""
    if name.is_file():
        return name
    shipped = {one.name: one for one in sorted(SHIPPED_PLANS.glob("*.toml"))}
    wanted = name.name if name.suffix == ".toml" else f"{name.name}.toml"
    if wanted in shipped:
        return shipped[wanted]
    papers = ", ".join(f"papers/{one}" for one in shipped)
    raise BadInput(f"no such plan{meant(wanted, shipped)}; with polyclinic come {papers}", path=name)


def read_plan(path: Path) -> StudyPlan:
    """Reads a plan."""
    try:
        written = msgspec.convert(read_toml(path), _WrittenPlan)
    except msgspec.ValidationError as error:
        problem, field = split_place(str(error))
        raise BadInput(f"no plan of a study: {problem}", path=path, field=field) from None
    small = dict(written.small)
    offline = small.pop("offline", {})
    return StudyPlan(
        **{name: getattr(written, name) for name in _PlanHead.__struct_fields__},
        runs=tuple(_run(path, number, one, written.options) for number, one in enumerate(written.run, 1)),
        small=small,
        small_offline=offline if isinstance(offline, dict) else {},
        published=tuple(_published(path, written.published)),
    )


def _run(path: Path, number: int, entry: dict[str, Any], options: dict[str, Any]) -> PlannedRun:
    own = dict(entry)
    command, name = own.pop("command", ""), own.pop("name", "")
    if not isinstance(command, str) or not command:
        raise BadInput('a run needs its command, such as command = "eval exam"', path=path, line=number, part="run")
    own = {**options, **own}
    if (exam := command.removeprefix("eval ")) in _EXAMS:  # plans of before exams were one command
        command, own = "eval exam", {"exam": exam, **own}
        own = {_RENAMED.get(key, key): "all" if key == "all" else value for key, value in own.items()}
    return PlannedRun(name=str(name or f"{number}"), command=command, options=own)


def _published(path: Path, table: _Published) -> list[PublishedValue]:
    sets = table.columns[len(_NAMED) :]
    if table.columns and tuple(table.columns[: len(_NAMED)]) != _NAMED:
        raise BadInput(f"the columns begin with {', '.join(_NAMED)}; the others are sets", path=path, field="published")
    found = []
    for number, row in enumerate(table.rows, 1):
        values = row[len(_NAMED) :]
        if len(values) != len(sets) or any(isinstance(one, str) for one in values):
            problem = f"needs a number for each set: {', '.join(sets)}"
            raise BadInput(problem, path=path, line=number, part="row", field="published")
        model, method, measure = map(str, row[: len(_NAMED)])
        found += [
            PublishedValue(model=model, method=method, measure=measure, set=name, value=float(value))
            for name, value in zip(sets, values, strict=True)
        ]
    return found
