"""What can go wrong, by whose fault it is; those that one room alone raises stand there.

    PolyclinicError
    ├── UserError            the input is wrong; the command line ends with exit code 2
    │   ├── BadInput         a file or record that cannot be used, with its place
    │   ├── UnknownMind      no such mind for that role
    │   ├── UnknownModel     no such provider of models, or the endpoint has no model of that name
    │   ├── NoAddress        nobody said where a model is asked
    │   ├── MissingExtra     a part of polyclinic that is not installed; says the pip line
    │   ├── WrongKey         the endpoint wants another key; every further call would fail too, so the run ends
    │   ├── CannotResume     hospital: a run does not come out as it did before
    │   └── RequestRefused   web: a request that is not answered, with the status that says so
    │       ├── NotFound         what was asked for is not there
    │       └── NotNow           what cannot be done as things stand
    │           └── PracticeTaken    another server keeps what is played in this folder
    ├── RunStopped           the run ended before its end, and can be taken up again
    │   ├── BudgetSpent      it has cost what it may cost
    │   ├── StoppedByHand    somebody stopped it
    │   ├── AccessLost       an endpoint refuses the key, or has no such model, when something is over already
    │   └── StoppedEarly     an evaluation ended so; holds the summary of what was over
    ├── DryRunOver           models: a dry run has come to its end; holds the estimate
    ├── PersonLeft           a person who plays has left; what was typed is kept
    ├── LineTakenBack        players: a person takes back the last line; the visit is held once more
    ├── NotStored            hospital: what happened could not be written; the run ends, and can be taken up again
    │   └── DiskFull         hospital: no room is left
    ├── WorkerLost           parallel: a worker ended with the items that it had; others compute them
    ├── ClusterLost          parallel: the cluster ended, and nobody is left to compute the items
    ├── BrokenMetric         metrics: a metric of the user's made a mistake on every dialogue
    ├── DueInThePast         hospital: a decision was to take effect before it was launched; our mistake
    ├── BrokenPrompt         prompts: a prompt file lacks a section or a blank; our mistake
    └── PlayFailure          a player gave no usable answer; the episode ends as failed, the run goes on
        ├── ScriptError      a script does not hold what was asked of it
        ├── BrokenMethod     methods: a method of the user's made a mistake
        ├── BrokenMind       players: a mind of the user's raised an exception
        ├── WrongAnswer      players: a mind answered with something else than it was asked for
        ├── NotAsked         judges: the run ended before the judge was asked
        ├── LeakingPersona   cli: a persona that was made names the diagnosis, or a result
        └── CallFailure      a call to a model failed
            ├── ModelError       the model misbehaved: it answered, and the answer cannot be used
            │   ├── UnreadableReply   not what was asked for, also when asked again
            │   │   ├── CutOff        the answer ended before its end: it was longer than max_tokens allows
            │   │   └── NamesDisease  hospital: a life that a model wrote names a disease
            │   └── Refused           the model, or its provider's filter, will not answer
            └── EndpointError    the endpoint gave no answer at all
                ├── Unreachable       nobody listens there
                ├── TimedOut          no answer within the time-out
                ├── RateLimited       too many requests, for longer than we wait
                ├── BrokenProvider        models: a provider of the user's raised an error, or gave no answer
                ├── Rejected          it takes no such request (400, 403, 413, 422 ...); sent again, it would fail again
                └── Broken            an error of the server, or something that is no answer
                    └── TooLarge      an answer beyond all bounds, cut off

A failure is counted under its class name and is never turned into an answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any


def meant(came: str, there: Iterable[str]) -> str:
    """Returns the name that may be meant, to stand behind the one that came: " (did you mean X?)", "" where none is."""
    names = {name: name for name in there if name != came}
    folded = {_folded(name): name for name in reversed(names)}
    for wanted, known in ((came, names), (_folded(came), folded)):
        if near := get_close_matches(wanted, known, n=1, cutoff=_NEAR):
            return f" (did you mean {known[near[0]]}?)"
    return ""


_NEAR = 0.7


def _folded(name: str) -> str:
    return name.strip().casefold().replace("-", "_").replace(" ", "_")


class PolyclinicError(Exception):
    """Base of every error that polyclinic raises on purpose."""


def in_one_line(text: str) -> str:
    """Returns a text of somebody else's as one line that any file can hold."""
    return " ".join(text.encode(errors="backslashreplace").decode().split())


def in_short(error: BaseException) -> str:
    """Returns an exception of somebody else's code as `in_one_line` would."""
    return in_one_line(f"{type(error).__name__}: {error}").removesuffix(":")


class UserError(PolyclinicError):
    """The user's input is wrong. The text says what came, what was allowed, and what to do."""


class BadInput(UserError):
    """A file, or a record in it, cannot be used.

    Args:
        problem: what came and what was allowed, in one line.
        line: the line in the file, from 1; where `part` says so, the element of its array.
        part: what `line` counts, "line" or "element".
        field: where in the record, as a JSON path such as `$.presentation.complaint`.
    """

    def __init__(
        self,
        problem: str,
        *,
        path: Path | str | None = None,
        line: int | None = None,
        part: str = "line",
        field: str = "",
    ) -> None:
        self.problem, self.path, self.line, self.part, self.field = problem, path, line, part, field
        where = [str(path)] if path is not None else []
        where += [f"{part} {line}"] if line is not None else []
        where += [field] if field else []
        super().__init__(f"{', '.join(where)}: {problem}" if where else problem)


class UnknownMind(UserError):
    """No such mind for that role."""


class PlayFailure(PolyclinicError):
    """A player gave no usable answer."""


class ScriptError(PlayFailure):
    """A script does not hold what was asked of it."""


class UnknownModel(UserError):
    """No such provider of models, or no model of that name behind it."""


class NoAddress(UserError):
    """Nobody said at which address a model is asked. The text says where to say so."""


class MissingExtra(UserError):
    """A part of polyclinic that is not installed. The text says the pip line that installs it."""


class WrongKey(UserError):
    """The endpoint refuses the key, or wants one. The text says which environment variable it is read from."""


class RunStopped(PolyclinicError):
    """The run ended before its end. It can be taken up again."""


class StoppedEarly(RunStopped):
    """The evaluation ended before its end; with a summary of the plays that were over, and what ended it."""

    def __init__(self, why: RunStopped, over: str = "", *, summary: Any = None) -> None:
        self.summary = summary
        self.why: RunStopped = why.why if isinstance(why, StoppedEarly) else why
        super().__init__(f"{why}; {over}" if over else str(why))


class BudgetSpent(RunStopped):
    """The run has cost what it may cost, in money or tokens."""


class StoppedByHand(RunStopped):
    """Somebody stopped the run, as with Ctrl-C."""


class AccessLost(RunStopped):
    """An endpoint refuses the key, or has no model of that name (any more), when something of the run is over."""


class PersonLeft(PolyclinicError):
    """A person who plays has left the terminal. The text says how to go on."""


class CallFailure(PlayFailure):
    """A call to a model failed.

    Args:
        text: what the model said.
        usage: what its answers cost (a `polyclinic.models.model.Usage`), None where that is unknown.
        attempts: requests that were made, retries and repairs included.

    Attributes:
        replayed: it comes from a journal, and costs nothing now.
    """

    def __init__(self, problem: str, *, text: str = "", usage: Any = None, attempts: int = 1) -> None:
        self.problem, self.text, self.usage, self.attempts = problem, text, usage, attempts
        self.replayed = False
        super().__init__(problem)


class ModelError(CallFailure):
    """The model answered, and the answer cannot be used."""


class UnreadableReply(ModelError):
    """The answer is not what was asked for, also when asked again."""


class CutOff(UnreadableReply):
    """The answer ended before its end."""


class Refused(ModelError):
    """The model, or its provider's filter, will not answer."""


class EndpointError(CallFailure):
    """The endpoint gave no answer; `usage` is what earlier answers to the same question cost."""


class Unreachable(EndpointError):
    """Nobody listens at the address, or it does not exist."""


class TimedOut(EndpointError):
    """No answer came within the time-out."""


class RateLimited(EndpointError):
    """Too many requests, for longer than we wait."""


class Rejected(EndpointError):
    """The endpoint takes no such request. Sent again, it would fail again."""


class Broken(EndpointError):
    """An error of the server, a connection that broke, or something that is no answer."""


class TooLarge(Broken):
    """An answer beyond all bounds. It was cut off and thrown away."""
