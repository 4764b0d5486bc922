"""Everything that a run of the hospital comes from."""

from __future__ import annotations

import hashlib

import msgspec
from msgspec.structs import replace

from polyclinic.hospital.care.setup import Setup
from polyclinic.hospital.plan.events import Incident
from polyclinic.hospital.plan.plan import Hospital
from polyclinic.hospital.simulation import LOOKAHEAD
from polyclinic.language.language import Language

MOST_A_DAY = 0.5
"""Nobody's chance to fall ill on a day is above it, however small the town."""


_NO_OTHER_RUN = frozenset(
    "api_key_env base_url concurrency cost_budget dry_run journal model_file price requests_per_minute run shared "
    "timeout token_budget tokens_per_minute traces wait_for_server".split()
)
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

    @property
    def shared_as(self) -> str:
        """Names the run in a database that several machines share: another run never has the same."""
        said = msgspec.to_builtins(self, str_keys=True)
        # What made it says no more than its questions do, which are known by what they ask.
        del said["made_of"]
        said["setup"] = {name: value for name, value in said["setup"].items() if name not in _NO_OTHER_RUN}
        for name in ("longest_answer", "hooks"):  # as before there were such settings
            if said["setup"][name] is None:
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
