"""Taking up a practice as it was begun: with the same options, endpoint, patients, knowledge and prompts."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polyclinic import __version__
from polyclinic.cli.command_words import is_given, said_again
from polyclinic.errors import BadInput
from polyclinic.fingerprints import of_file, of_package, others
from polyclinic.models.session import ModelOptions

_ENDPOINT = ("base_url", "model_file", "temperature")


def go_on(folder: Path) -> str:
    """Returns the command that takes a practice up."""
    return f"polyclinic evolve --resume {shlex.quote(str(folder))}{said_again()}"


def endpoint(models: ModelOptions) -> dict[str, Any]:
    """Returns what is kept of where and how models are asked: no key, and nothing that holds for one command alone."""
    kept = {name: getattr(models, name) for name in _ENDPOINT}
    kept["model_file"] = None if models.model_file is None else str(models.model_file.resolve())
    return {name: value for name, value in kept.items() if value is not None}


def asked_as_before(models: ModelOptions, before: Mapping[str, Any] | None, folder: Path) -> ModelOptions:
    """Returns how models are asked by a command that goes on: as when the practice was begun, where that is known.

    Raises:
        BadInput: this command says that they are asked elsewhere, or otherwise.
    """
    if before is None:
        return models
    now = endpoint(models)
    for name in _ENDPOINT:
        if is_given(_option(name)) and now.get(name) != before.get(name):
            raise _other(name, before.get(name), folder)
    kept: dict[str, Any] = {name: Path(value) if name == "model_file" else value for name, value in before.items()}
    return dataclasses.replace(models, **kept)


def made_of(files: Mapping[str, Path], *, model_file: Path | None, asks: bool) -> dict[str, str]:
    """Returns the fingerprints of what a practice is made of: package, patients, and the file that says who is asked.

    Args:
        files: by option.
        model_file: of the models, where there is one.
        asks: a model is asked, so that prompts count.
    """
    prints = {"polyclinic": __version__, **of_package()}
    if not asks:
        del prints["prompts"]
    named = dict(files) if model_file is None else {**files, "--model-file": model_file}
    return prints | {option: of_file(path) for option, path in named.items()}


def check_made_of(before: Mapping[str, str], now: Mapping[str, str], folder: Path) -> None:
    """Refuses to go on with another version, knowledge, prompts, words or files than a practice was begun with.

    Raises:
        BadInput: something is another; names it.
    """
    if changed := others(before, now):
        was = f"; it was polyclinic {before['polyclinic']}" if "polyclinic" in changed else ""
        raise BadInput(
            f"was begun with another {' and another '.join(changed)}{was}; begin anew with --out", path=folder
        )


def check_options(begun: Mapping[str, Any], given: Mapping[str, Any], folder: Path) -> None:
    """Refuses an option that says something else than that with which a practice was begun.

    Raises:
        BadInput: one does; names it.
    """
    for name, value in given.items():
        if name not in begun or not is_given(_option(name)) or value == begun[name]:
            continue
        if name == "embedder":
            anew = f"make its vectors anew: polyclinic memory rebuild {folder} --embedder {value} --out NEW"
            raise BadInput(f"was made with embedder {begun[name]}, and is asked for with {value}; {anew}", path=folder)
        raise _other(name, begun[name], folder)


def _other(name: str, before: object, folder: Path) -> BadInput:
    option = _option(name)
    how = f"without {option}" if before in (None, False) else f"with {option} {before}"
    return BadInput(f"was begun {how}; leave {option} out, or begin anew with --out", path=folder)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
