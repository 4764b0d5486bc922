"""The log of a run: numbered happenings, counted as they come."""

from __future__ import annotations

from typing import Protocol

from polyclinic.hospital.record.account import Account
from polyclinic.hospital.record.happenings import Happening, What


class Sink(Protocol):
    """Where happenings go, in order."""

    def add(self, happening: Happening, account: Account) -> None:
        """Takes the next one, which the account has taken before."""


class Log:
    """Numbers what happens, counts it, and hands it to each sink."""

    def __init__(self, *sinks: Sink) -> None:
        self.account = Account()  # what the log says so far
        self._sinks = sinks

    def add(self, t: int, who: str, what: What) -> None:
        """Writes down what happened, when and to whom."""
        happening = Happening(seq=len(self.account), t=t, who=who, what=what)
        self.account.add(happening)
        for sink in self._sinks:
            sink.add(happening, self.account)
