"""Requests that are refused, each with the HTTP status that says why."""

from __future__ import annotations

from pathlib import Path

from polyclinic.errors import BadInput, PolyclinicError, UserError


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


def without_folders(error: PolyclinicError) -> str:
    """Returns the text of an error, with the name of a file but not its folder."""
    if isinstance(error, BadInput) and error.path is not None:
        return f"{Path(error.path).name}: {error.problem}"
    return str(error)
