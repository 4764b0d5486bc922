"""The director: chairs a discussion of doctors (AI Hospital §4).

It knows the presentation, what the doctors report, and what patient and examiner answer it; it has not seen the patient
and never knows the truth. (The director who grades reports with the truth at hand is a judge, and stands elsewhere.)
"""

from __future__ import annotations

from dataclasses import dataclass, field

from polyclinic.cases.presentation import Presentation
from polyclinic.events import Established, Revised, Shared
from polyclinic.players.player import Mind, PlayedRole


@dataclass(eq=False)
class Director(PlayedRole):
    """The director of one discussion; `may_ask` says whether patient and examiner can be asked again.

    With `ai_hospital` it is told what AI Hospital's is (ai-hospital, Table 16).
    """

    mind: Mind[Director]
    presentation: Presentation
    may_ask: bool = field(default=True, kw_only=True)
    ai_hospital: bool = field(default=False, kw_only=True)

    def shared(self) -> list[Shared]:
        """Returns the facts that the doctors brought, in the order of their numbers."""
        return [event for event in self.seen if isinstance(event, Shared)]

    def established(self) -> Established | None:
        """Returns the summary of the facts; None before there is one."""
        return next((event for event in reversed(self.seen) if isinstance(event, Established)), None)

    def standing(self) -> list[Revised]:
        """Returns every doctor's report as it stands now, in the order of their numbers."""
        last = {event.doctor: event for event in self.seen if isinstance(event, Revised)}
        return [last[number] for number in sorted(last)]
