"""Requests that are refused, each with the HTTP status that says why."""

from __future__ import annotations

from polyclinic.errors import UserError


class RequestRefused(UserError):
    """A request that is not answered."""

    def __init__(self, problem: str, status: int = 400) -> None:
        super().__init__(problem)
        self.status = status


class NotFound(RequestRefused):
    """What was asked for is not there."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem, 404)


class NotNow(RequestRefused):
    """What cannot be done as things stand; the text says what can."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem, 409)
