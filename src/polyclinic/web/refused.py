"""Requests that are refused, each with the HTTP status that says why."""

from __future__ import annotations

from polyclinic.errors import UserError


class RequestRefused(UserError):
    """A request that is not answered."""

    status = 400

    def __init__(self, problem: str, status: int | None = None) -> None:
        super().__init__(problem)
        self.status = status or self.status


class NotFound(RequestRefused):
    """The thing asked for does not exist."""

    status = 404


class NotNow(RequestRefused):
    """Something that is not possible at the moment; the text says what is."""

    status = 409
