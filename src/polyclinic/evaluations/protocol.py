"""The option `--protocol`: what a command follows, what of its options contradicts that, and what is said of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from rich.console import Console

from polyclinic.errors import UserError
from polyclinic.methods.table import ChosenMethod, settable
from polyclinic.models.settings import ModelSettings
from polyclinic.players.mind_names import MODEL, kind_of, model_of
from polyclinic.players.staging import Staging
from polyclinic.protocols.following import FollowedProtocol, follow, told
from polyclinic.protocols.papers import MedAgentsSettings, MvmeSettings, PaperSetting, Settings
from polyclinic.terminal.screen import note, plain
from polyclinic.terminal.tables import counted

S = TypeVar("S", bound=Settings)
M = TypeVar("M", bound=ModelSettings)

WhoPlays = Mapping[str, Iterable[str | None]]
"""The minds of each role, by name; None is nobody."""


def followed(kind: type[S], given: str, **minds: str | None) -> FollowedProtocol[S]:
    """Returns what a command follows; a UserError if there is no such protocol, or a mind may not play its role."""
    rules = follow(kind, given)
    for role, name in minds.items():
        if name is not None:
            rules.check_mind(role, f"--{role}", name)
    return rules


class ByProtocol(NamedTuple, Generic[M]):
    """How an evaluation is held, by a protocol.

    Attributes:
        models: how models are asked, each role at the temperature that the protocol sets.
        temperatures: at which each role is asked whose temperature the protocol or the file of models sets, and which.
        departures: what of this run is not the paper's that is followed, beside what never is.
    """

    models: M
    temperatures: dict[str, str]
    departures: list[str]

    def show(self, screen: Console) -> None:
        """Prints what is shown of all this below the tables."""
        lines = [f"temperature of the {role}: {value}" for role, value in self.temperatures.items()]
        lines += [f"other than in the paper: {one}" for one in self.departures]
        if lines:
            screen.print(plain("\n".join(lines)), style="dim", soft_wrap=True)


def held_by(rules: FollowedProtocol[Any], models: M, minds: WhoPlays, *, cases: int) -> ByProtocol[M]:
    """Returns how so many cases are held by these minds, by role; notes what still differs from the paper."""
    departures = []
    if rules.side == "paper":
        departures = [f"cases ({rules.settings.cases.paper}; here {cases})"]
        others = [name for name in minds.get("doctor", ()) if name is not None and kind_of(name) != MODEL]
        departures += [f"doctor {name} (no model, as all of the paper's are)" for name in others]
        departures += rules.changed
    tuned, temperatures = with_temperatures(rules, models, minds)
    say(rules, departures)
    return ByProtocol(tuned, temperatures, departures)


def with_temperatures(rules: FollowedProtocol[Any], models: M, minds: WhoPlays) -> tuple[M, dict[str, str]]:
    """Returns how models are asked, and where the temperature of each role comes from.

    Raises:
        UserError: --temperature, or the file of models, contradicts the protocol.
    """
    found: dict[str, float] = {}
    sources: dict[str, dict[str, None]] = {}
    every = ((role, model_of(name)) for role, names in minds.items() for name in names if name is not None)
    for role, name in ((role, name) for role, name in every if name is not None):
        by_paper, by_file = rules.temperature(role), models.said.temperature(name, role)
        if by_paper is not None:
            given, where = models.temperature, "--temperature"
            if by_file is not None:
                given, where = by_file[1], f"temperature in {models.model_file}, [{by_file[0]}]"
            rules.check_temperature(role, given, where)
            found[role] = by_paper
            sources.setdefault(role, {})[f"{told(by_paper)}, by the protocol"] = None
        elif by_file is not None:
            sources.setdefault(role, {})[f"{told(by_file[1])}, by [{by_file[0]}] in {models.model_file}"] = None
    told_sources = {role: "; ".join(values) for role, values in sources.items()}
    return models.at_temperatures(found) if found else models, told_sources


def as_paper(
    chosen: ChosenMethod,
    wanted: Mapping[str, PaperSetting[Any] | None],
    rules: FollowedProtocol[Any],
    *,
    temperature: float | None = None,
    varied: Collection[str] = (),
) -> ChosenMethod:
    """Returns a method with the settings of the paper that is followed; a UserError if one was set otherwise.

    The `temperature` is the one for all methods; a study varies the `varied` settings itself.
    """
    if rules.side == "ours":
        return chosen
    settings = dict(chosen.settings)
    for name, setting in wanted.items():
        if setting is None or name not in settable(chosen.named):
            continue
        given = settings.get(name, temperature if name == "temperature" else None)
        if name not in varied and given not in (None, setting.paper):
            option = "--temperature" if name == "temperature" and name not in settings else f"--set {name}"
            had = f"{name} {told(setting.paper)} for {chosen.name} ({setting.section})"
            problem = f"--protocol {rules.given} has {had}; {option} is {told(given)}"
            raise UserError(f"{problem}. Leave it out, or take --protocol ours")
        settings.setdefault(name, setting.paper)
    return msgspec.structs.replace(chosen, settings=settings)


def staging_of(rules: FollowedProtocol[Any], *, thinks: bool = False) -> Staging:
    """Returns how visits are held by a protocol, which has settings with the names of a staging."""
    settings = rules.settings
    held = {name: rules.of(getattr(settings, name)) for name in Staging.__struct_fields__ if hasattr(settings, name)}
    ai_hospital = isinstance(settings, MvmeSettings) and rules.prompts("doctor") == "paper"
    return Staging(**held, thinks=thinks, ai_hospital=ai_hospital)


def check_methods(
    rules: FollowedProtocol[MedAgentsSettings], chosen: Sequence[ChosenMethod], names: Iterable[str], at: ModelSettings
) -> None:
    """Raises a UserError if the file of models contradicts the temperature that the paper has for a method."""
    if rules.side == "ours":
        return
    for said in filter(None, (at.said.temperature(name) for name in names)):
        for one in chosen:
            drawing, wanted = rules.settings.methods.get(one.name), one.settings.get("temperature")
            if drawing is not None and wanted not in (None, said[1]):
                raise UserError(
                    f"--protocol {rules.given} asks {one.name} at temperature {wanted:g} "
                    f"({drawing.temperature.section}); temperature in {at.model_file}, [{said[0]}] is {said[1]:g}. "
                    "Leave it out, or take --protocol ours"
                )


def say(rules: FollowedProtocol[Any], here: Iterable[str] = ()) -> None:
    """Notes on stderr, in one line, what is other than in the paper that is followed; `here` is of this run alone."""
    if rules.side == "ours":
        return
    name = rules.protocol.name if rules.given == "paper" else rules.given
    always = f"{counted(len(rules.remarks), 'point')} of every run ('polyclinic config show {name}')"
    differs = dict.fromkeys([*here, *rules.changed, always])
    note(f"--protocol {rules.given}, other than in the paper: {'; '.join(differs)}")
