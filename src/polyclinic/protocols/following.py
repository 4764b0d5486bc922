"""Which protocol a run follows: what its settings are, and what of a user's choices contradicts it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, cast

import msgspec

from polyclinic.errors import BadInput, UserError, meant
from polyclinic.files import in_plain_words
from polyclinic.opened_files import read_at_once
from polyclinic.players.mind_names import KINDS, kind_of
from polyclinic.protocols.papers import PAPERS, PaperProtocol, PaperRole, PaperSetting, Settings, Side
from polyclinic.yaml_files import read_yaml


class SettingRow(NamedTuple):
    """One setting; `ours` is empty where it is as the paper's."""

    name: str
    paper: str
    ours: str
    section: str
    why: str


def setting_rows(protocol: PaperProtocol[Any]) -> list[SettingRow]:
    """Returns all settings of a protocol, those of its roles first."""
    return [
        *(row for name, role in protocol.roles.items() for row in _rows(name, role)),
        *_rows("", protocol.settings),
    ]


def changes(own: PaperProtocol[Any], paper: PaperProtocol[Any]) -> list[str]:
    """Returns what a protocol of one's own sets in place of the paper's, each with both, and the paper's section."""
    rows, theirs = ({row.name: row for row in setting_rows(one)} for one in (own, paper))
    found = [
        f"{name} ({told_paper.paper}, {told_paper.section}; here {rows[name].paper if name in rows else 'left out'})"
        for name, told_paper in theirs.items()
        if name not in rows or rows[name].paper != told_paper.paper
    ]
    return found + [f"{name} (not set; here {row.paper})" for name, row in rows.items() if name not in theirs]


def _rows(name: str, value: object) -> Iterator[SettingRow]:
    """Yields the settings that stand in something, named by their way there."""
    if isinstance(value, PaperSetting):
        ours = told(value.of("ours")) if value.differs else ""
        yield SettingRow(name, told(value.paper), ours, value.section, value.why)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _rows(f"{name}.{key}", one)
    elif isinstance(value, msgspec.Struct):
        for key in value.__struct_fields__:
            yield from _rows(f"{name}.{key}".lstrip("."), getattr(value, key))


def told(value: object) -> str:
    """Returns a value as a line says it: `zh 10, en 15`."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {told(one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(told, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else "not set" if value is None else str(value)


S = TypeVar("S", bound=Settings)
T = TypeVar("T")

_FOLDER = Path(__file__).parent
_ENDINGS = (".yaml", ".yml")


def read_protocol(kind: type[S], path: Path | None = None) -> PaperProtocol[S]:
    """Reads the protocol of a kind of settings, the one that is shipped unless another file is named."""
    typed = cast("type[PaperProtocol[S]]", PaperProtocol[kind])  # type: ignore[valid-type]
    shipped = read_yaml(_FOLDER / f"{kind.paper}.yaml", typed)
    if path is None:
        return shipped
    try:
        found = read_yaml(path, typed)
    except BadInput as error:
        raise BadInput(in_plain_words(error.problem), path=path, line=error.line, field=error.field) from None
    if unknown := next((role for role in found.roles if role not in shipped.roles), None):
        there = f"{meant(unknown, shipped.roles)}; there are: {', '.join(shipped.roles)}"
        raise BadInput(f"no role {unknown!r} in {kind.paper}{there}", path=path, field="$.roles")
    for role, played in found.roles.items():
        if played.temperature is not None and role not in kind.tuned:
            which = f"it sets that of: {', '.join(kind.tuned)}" if kind.tuned else "it sets that of no role"
            raise BadInput(f"{kind.paper} cannot set the temperature of {role!r}; {which}", path=path, field="$.roles")
    return found


def named_protocol(name: str) -> PaperProtocol[Any]:
    """Returns a protocol by its name, or from a file, which says by its name whose settings it has."""
    if name in PAPERS:
        return read_protocol(PAPERS[name])
    if not name.endswith(_ENDINGS):
        raise UserError(
            f"no protocol {name!r}{meant(name, PAPERS)}; there are: {', '.join(PAPERS)}, or a file: FILE.yaml"
        )
    of = read_yaml(Path(name), _ProtocolName).name
    if of not in PAPERS:
        raise UserError(
            f"{name}: name {of!r}; a protocol has the name of the paper whose settings it says: {', '.join(PAPERS)}"
        )
    return read_protocol(PAPERS[of], Path(name))


def changes_in(name: str) -> list[str]:
    """Returns what the protocol of a file sets in place of the paper's; nothing of the sides that are shipped."""
    if not name.endswith(_ENDINGS):
        return []
    own = named_protocol(name)
    return changes(own, read_protocol(PAPERS[own.name]))


def protocol_text(name: str) -> str:
    """Returns the text of a protocol's file, by its name or its path; see `named_protocol`."""
    path = _FOLDER / f"{name}.yaml" if name in PAPERS else Path(name)
    return read_at_once(path).decode()


class _ProtocolName(msgspec.Struct):
    name: str


@dataclass(frozen=True)
class FollowedProtocol(Generic[S]):
    """A protocol, and which side of it a run takes; `given` is what the user named it by."""

    protocol: PaperProtocol[S]
    side: Side
    given: str

    @property
    def settings(self) -> S:
        """The settings, each with both sides; `of` says which holds."""
        return self.protocol.settings

    def of(self, setting: PaperSetting[T]) -> T:
        """Returns what holds of a setting."""
        return setting.of(self.side)

    def prompts(self, role: str) -> Side:
        """Returns the variant of a role's prompts; ours where the protocol has no such role, or names none."""
        played = self.protocol.roles.get(role)
        return "ours" if played is None or played.prompts is None else played.prompts.of(self.side)

    def temperature(self, role: str) -> float | None:
        """Returns at which temperature the paper that is followed asks a role; None where it sets none."""
        played = self.protocol.roles.get(role)
        if self.side == "ours" or played is None or played.temperature is None:
            return None
        return played.temperature.paper

    def check_temperature(self, role: str, given: float | None, said: str) -> None:
        """Refuses a temperature of a role that is not the paper's; `said` is where it stands."""
        wanted = self.temperature(role)
        if wanted is not None and given not in (None, wanted):
            played = self.protocol.roles[role].temperature
            section = f" ({played.section})" if played is not None else ""
            raise UserError(
                f"{self._paper} asks the {role} at temperature {told(wanted)}{section}; {said} is {told(given)}. "
                "Leave it out, or take --protocol ours"
            )

    def check_value(self, option: str, given: T | None, setting: PaperSetting[T] | PaperSetting[dict[Any, T]]) -> None:
        """Refuses a value that is not the paper's, or not all of several, as by language; None is not given."""
        wanted = setting.paper.values() if isinstance(setting.paper, dict) else [setting.paper]
        if self.side == "paper" and given is not None and any(given != one for one in wanted):
            name = option.removeprefix("--").rpartition(".")[2].replace("-", " ")
            raise UserError(
                f"{self._paper} has {told(setting.paper)} for {name} ({setting.section}); {option} is {told(given)}. "
                "Leave it out, or take --protocol ours"
            )

    def check_switch(self, option: str, given: bool, why: str, section: str) -> None:
        """Refuses a switch that the paper has no such thing as."""
        if self.side == "paper" and given:
            raise UserError(f"{self._paper} {why} ({section}); leave out {option}, or take --protocol ours")

    def check_mind(self, role: str, option: str, name: str) -> None:
        """Refuses a mind that may not play a role in the paper's experiment."""
        kind, played = kind_of(name).name, self.protocol.roles.get(role)
        if self.side == "ours" or played is None:
            return
        allowed = played.minds.of(self.side)
        if "any" in allowed or kind in allowed:
            return
        has = f"{_minds(played)} for the {role} ({played.minds.section})"
        raise UserError(f"{self._paper} has {has}; {option} is {name!r}. Name one, or take --protocol ours")

    @property
    def remarks(self) -> list[str]:
        """What still differs in a run that follows a paper, whatever a file of one's own says; nothing of ours."""
        shipped = read_protocol(type(self.settings)).differs
        every = dict.fromkeys(one.what for one in (*shipped, *self.protocol.differs))
        return [*every] if self.side == "paper" else []

    @property
    def changed(self) -> list[str]:
        """What a file of one's own sets in place of the paper's; nothing where none is followed."""
        return changes_in(self.given)

    @property
    def _paper(self) -> str:
        return f"--protocol {self.given}"


def follow(kind: type[S], given: str = "ours") -> FollowedProtocol[S]:
    """Returns what a run follows: "ours", "paper", or a file whose `paper` side is followed."""
    if given in ("ours", "paper"):
        return FollowedProtocol(read_protocol(kind), "paper" if given == "paper" else "ours", given)
    if not given.endswith(_ENDINGS):
        near = meant(given, ("ours", "paper"))
        raise UserError(f"--protocol {given!r}{near}; allowed: ours, paper, or a protocol's file: FILE.yaml")
    named = read_yaml(Path(given), _ProtocolName).name
    if named != kind.paper:
        raise UserError(f"--protocol {given}: it is a protocol of {named!r}; this needs one whose name is {kind.paper}")
    return FollowedProtocol(read_protocol(kind, Path(given)), "paper", given)


def _minds(played: PaperRole) -> str:
    return " or ".join(KINDS[kind].pattern if kind in KINDS else f"a {kind}" for kind in played.minds.paper)
