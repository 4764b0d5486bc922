"""Everything that a run of the hospital comes from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import msgspec
from msgspec.structs import replace

from polyclinic.hospital.care.setup import Setup
from polyclinic.hospital.plan.events import Incident
from polyclinic.hospital.plan.plan import Hospital
from polyclinic.hospital.simulation import LOOKAHEAD
from polyclinic.language.language import Language
from polyclinic.models.model import Price
from polyclinic.models.settings import ModelSettings, options_with, read_price

MOST_A_DAY = 0.5
"""Nobody's chance to fall ill on a day is above it, however small the town."""


_SAME_RUN = options_with("same_run") | {"journal", "run", "shared", "traces"}
"""Of the setup: with what else a run stays the same. Where a model is asked, each question says."""


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a run comes from; what is stored of it is enough to take it up again."""

    hospital: Hospital  # the hospital, as its file describes it
    residents: int  # how many live in the town
    load: float = 1.0  # illnesses a day as a multiple of those of the hospital's file, however many live in the town
    days: int  # nobody falls ill after so many
    warm_up: int = 0  # days that are left out of the figures
    visits: int | None = None  # nobody sets out after so many; None for no limit
    seed: int = 0  # of everything
    events: tuple[Incident, ...] = ()  # what befalls the hospital and the town
    language: Language = "en"  # of the town
    lookahead: int = LOOKAHEAD  # minutes by which an episode is launched ahead
    profiles: str = ""  # a model that writes those who fall ill; "" for templates
    course: str = ""  # a model that says how illnesses go on; "" for the knowledge's courses
    made_of: dict[str, str] = {}  # fingerprints of the package's version, knowledge, prompts and words, and of files
    setup: Setup  # who plays and how models are asked; its journal is the run's own

    def kept(self) -> dict[str, Any]:
        """Returns the configuration as a run keeps it: the options of models are among those of the setup."""
        kept: dict[str, Any] = msgspec.to_builtins(self, str_keys=True, enc_hook=str)
        del kept["setup"]["models"]
        kept["setup"] |= _options_kept(self.setup.models)
        return kept

    @property
    def shared_as(self) -> str:
        """Names the run in a database that several machines share: another run never has the same."""
        said = self.kept()
        # What made it says no more than its questions do, which are known by what they ask.
        del said["made_of"]
        # An option that is not set does not count, so that a run keeps its name when there is a new option. The
        # temperature always counts, as it does in the names of runs that are there.
        not_set = {name: value for name, value in _options_kept(ModelSettings()).items() if name != "temperature"}
        for name, value in self.kept()["setup"].items():
            if name in _SAME_RUN or (name in not_set and value == not_set[name]):
                del said["setup"][name]
        digest = hashlib.blake2b(msgspec.json.encode(said, order="sorted"), digest_size=16).hexdigest()
        return f"run seed={self.seed} {digest}"

    @property
    def at_work(self) -> Hospital:
        """The hospital as it works in this run: its illnesses a day spread over those who live in the town.

        The file names a town that fills its house. Where fewer live, they fall ill more often, so that as many come;
        where more live, less often.
        """
        illness = self.hospital.illness
        per_day = illness.per_day * self.load * self.hospital.residents / self.residents
        illness = replace(illness, per_day=min(MOST_A_DAY, per_day))
        return replace(self.hospital, illness=illness)


def _options_kept(models: ModelSettings) -> dict[str, Any]:
    """Returns how models are asked as a run keeps it; its `max_tokens` was once the budget."""
    kept: dict[str, Any] = msgspec.to_builtins(models, enc_hook=str)
    kept["longest_answer"] = kept.pop("max_tokens")
    kept["price"] = msgspec.to_builtins(read_price(models.price))
    return kept


def read_configuration(kept: Mapping[str, Any]) -> Configuration:
    """Reads the configuration that a run keeps; a `msgspec.ValidationError` if it is none.

    Its model file is left out: it may be gone, and `made_of` has its fingerprint.
    """
    setup = {**kept.get("setup", {}), "model_file": None}
    setup["max_tokens"] = setup.pop("longest_answer", None)
    if setup.get("price") is not None:
        setup["price"] = str(msgspec.convert(setup["price"], Price, strict=False))
    setup["models"] = {option.name: setup.pop(option.name) for option in fields(ModelSettings) if option.name in setup}
    return msgspec.convert({**kept, "setup": setup}, Configuration, strict=False)
