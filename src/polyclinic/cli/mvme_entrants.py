"""Who takes part in `polyclinic eval mvme`: doctors, teams by name, and doctors who read the whole record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from cyclopts import Parameter

from polyclinic.benchmarks.mvme.results import Entrant
from polyclinic.cli import options
from polyclinic.errors import UserError
from polyclinic.players.minds import Minds

_TEAM = Parameter(metavar="[NAME=]MIND,MIND...", consume_multiple=1)


@Parameter(name="*", group=options.TEAM_GROUP)
@dataclass(frozen=True, kw_only=True)
class TeamsOptions:
    """Further entrants of the same table."""

    team: Annotated[list[str] | None, _TEAM] = None
    """A team that settles its disputes, with a name for the table: "2 doctors=A,B"; several may be named."""
    team_without_dr: Annotated[list[str] | None, _TEAM] = None
    """The same without dispute resolution, the paper's ablation."""
    in_one_step: Annotated[list[str] | None, options.MINDS] = None
    """A doctor who reads the whole record beside the others, the paper's upper bound; several may be named."""


TEAMS = TeamsOptions()


class NamedEntrant(NamedTuple):
    """An entrant by the names of its minds, before anything is opened."""

    name: str
    minds: tuple[str, ...]
    one_step: bool = False
    disputes: bool = True

    def playing(self, minds: Mapping[str, Minds]) -> Entrant:
        """Returns it with those who play."""
        return Entrant(self.name, tuple(minds[mind] for mind in self.minds), self.one_step, self.disputes)


def entrants_of(
    doctors: Sequence[str], together: options.TeamOptions, teams: TeamsOptions, *, one_step: bool
) -> list[NamedEntrant]:
    """Returns everybody who takes part, in the order of the paper's table: alone, as a team, in one step.

    Raises:
        UserError: there is nobody, a team has one doctor, or two entrants have one name.
    """
    options.each_once("doctor", list(doctors))
    found = [NamedEntrant(name, (name,), one_step) for name in doctors]
    disputes = not together.no_dispute_resolution
    if members := together.named:
        if len(members) == 1:
            raise UserError(f"--doctors needs two or more; {members[0]!r} alone is --doctor {members[0]}")
        found.append(NamedEntrant(" + ".join(members), tuple(members), one_step, disputes))
    found += [_team("--team", text, one_step, True) for text in teams.team or ()]
    found += [_team("--team-without-dr", text, one_step, False) for text in teams.team_without_dr or ()]
    taken = {one.name for one in found}
    for name in teams.in_one_step or ():
        if one_step:
            raise UserError("with --one-step everybody reads the whole record; leave out --in-one-step")
        found.append(NamedEntrant(f"{name}, one step" if name in taken else name, (name,), one_step=True))
    if not found:
        raise UserError(
            "nobody to evaluate; give --doctor MIND, or --doctors MIND MIND; --team and --in-one-step name more"
        )
    for name in (one.name for one in found):
        if [one.name for one in found].count(name) > 1:
            raise UserError(
                f"two entrants are named {name!r} (--doctors makes a team, too); leave one out, or name a team: "
                "--team NAME=MIND,MIND"
            )
    return found


def _team(option: str, text: str, one_step: bool, disputes: bool) -> NamedEntrant:
    name, given, listed = text.partition("=")
    members = tuple(one.strip() for one in (listed if given else text).split(",") if one.strip())
    if len(members) < 2:
        raise UserError(f"{option} {text!r} names {len(members)} doctors; a team has two or more: [NAME=]MIND,MIND")
    own = " + ".join(members) + ("" if disputes else ", without DR")
    return NamedEntrant(name.strip() if given and name.strip() else own, members, one_step, disputes)
