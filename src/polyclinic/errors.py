"""What can go wrong, by whose fault it is.

    PolyclinicError
    ├── UserError            the input is wrong; the command line ends with exit code 2
    │   ├── BadInput         a file or record that cannot be used, with its place
    │   └── UnknownMind      no such mind for that role
    └── PlayFailure          a player gave no usable answer; the episode ends as failed, the run goes on
        ├── ScriptError      a script does not hold what was asked of it
        ├── ModelError       the model misbehaved: it answered, and the answer cannot be used
        └── EndpointError    the endpoint gave no answer at all

A failure is counted under its class name and is never turned into an answer.
"""

from __future__ import annotations

from pathlib import Path


class PolyclinicError(Exception):
    """Base of every error that polyclinic raises on purpose."""


class UserError(PolyclinicError):
    """The user's input is wrong. The text says what came, what was allowed, and what to do."""


class BadInput(UserError):
    """A file, or a record in it, cannot be used.

    Args:
        problem: what came and what was allowed, in one line.
        path: the file.
        line: the line in the file, from 1; for a JSON array, the number of the element.
        field: where in the record, as a JSON path such as `$.presentation.complaint`.
    """

    def __init__(
        self, problem: str, *, path: Path | str | None = None, line: int | None = None, field: str = ""
    ) -> None:
        self.problem, self.path, self.line, self.field = problem, path, line, field
        where = [str(path)] if path is not None else []
        where += [f"line {line}"] if line is not None else []
        where += [field] if field else []
        super().__init__(f"{', '.join(where)}: {problem}" if where else problem)


class UnknownMind(UserError):
    """No such mind for that role."""


class PlayFailure(PolyclinicError):
    """A player gave no usable answer."""


class ScriptError(PlayFailure):
    """A script does not hold what was asked of it."""


class ModelError(PlayFailure):
    """The model answered, and the answer cannot be used."""


class EndpointError(PlayFailure):
    """The endpoint gave no answer."""
