"""Doors that users bring, from a file (`my_door.py:Loud`): a class made of `Door`, or an object of one.

    class Loud(Door):
        async def complete(self, said, form, options):
            return Completion(said[-1][1].upper())

It is called what the file and the class are called, whatever its own name. A changed file is another model to a
journal: what the old one answered is asked again. What the file imports is not looked at.
"""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from typing import Any, Self

import msgspec

from polyclinic import doors
from polyclinic.errors import EndpointError, PolyclinicError, TimedOut, UserError, in_short
from polyclinic.fingerprints import of_file
from polyclinic.models.answers import Completion
from polyclinic.models.door import Door, Said
from polyclinic.models.limits import Limit
from polyclinic.models.model import AskOptions, Price
from polyclinic.models.schema import Form

AT_ONCE = 64
"""Questions at a time that are put to a door of the user's, unless another number is given."""

_SECONDS = 300.0
_WANTED = "a door is a class made of polyclinic.models.door.Door, with a method 'complete' of its own"


class BrokenDoor(EndpointError):
    """A door of the user's raised an error, or gave nothing that a model can have said."""


def names_door(name: str) -> bool:
    """Whether a name says where a door stands in a Python file, and not a mind or something else.

    Raises:
        UserError: the file cannot be used, or holds nothing of that name.
    """
    return doors.names_file(name) and _is_door(doors.find(name, "minds"))


class OwnDoor(Door):
    """A door that a user brought, under the name by which it was found.

    Args:
        name: `path/to/file.py:name`.
        seed: given to the class where it takes one.
        concurrency: as in `open_model`.
        timeout: seconds that one call may take, 300 unless given.
        repairs: as the door itself has it, unless given.
        price: what tokens cost, for those of which the door says no cost.

    Raises:
        UserError: the file cannot be used, or what stands there is no door.
    """

    def __init__(
        self,
        name: str,
        *,
        seed: int = 0,
        concurrency: int | Limit | None = None,
        timeout: float = _SECONDS,
        repairs: int | None = None,
        price: Price | None = None,
    ) -> None:
        self.name, self._timeout, self._price = name, timeout, price
        self._door = _made(doors.find(name, "minds"), name, seed)
        self.repairs = self._door.repairs if repairs is None else repairs
        self.variant = f"file {of_file(Path(name.rpartition(':')[0]).expanduser())}"
        # There is nobody to adapt to: the code of the file says itself when it has enough.
        given = concurrency.most if isinstance(concurrency, Limit) and not concurrency.adaptive else concurrency
        self.limit = Limit(given if isinstance(given, int) else AT_ONCE)

    async def __aenter__(self) -> Self:
        try:
            await self._door.__aenter__()
        except PolyclinicError:
            raise
        except (Exception, SystemExit) as error:
            raise UserError(f"the model {self.name!r} cannot be opened: {self._at(error)}") from error
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self._door.__aexit__(*problem)

    async def complete(self, said: Said, form: Form | None, options: AskOptions) -> Completion:
        """Asks the user's door once; see `Door.complete`. What it raises of its own is `BrokenDoor`, with its line."""
        async with self.limit:
            try:
                async with asyncio.timeout(self._timeout) as waiting:
                    made: Any = self._door.complete(said, form, options)
                    made = await made if inspect.isawaitable(made) else made
            except PolyclinicError:
                raise
            except asyncio.CancelledError as error:
                if doors.stopped_from_outside():
                    raise
                raise BrokenDoor(self._at(error)) from error
            except (Exception, SystemExit) as error:
                if isinstance(error, TimeoutError) and waiting.expired():
                    raise TimedOut(f"{self.name} gave no answer within {self._timeout:g} seconds") from None
                raise BrokenDoor(self._at(error)) from error
        completion = Completion(made) if isinstance(made, str) else made
        if not isinstance(completion, Completion) or not isinstance(completion.text, str):
            came = "None (a forgotten return)" if made is None else f"a {type(made).__name__}"
            raise BrokenDoor(f"{self.name} answered with {came}; needed: a Completion, or a text")
        if self._price is None or completion.usage.cost is not None:
            return completion
        return msgspec.structs.replace(completion, usage=self._price.of(completion.usage))

    def _at(self, error: BaseException) -> str:
        return f"{doors.raised_at(error, __file__) or self.name}: {in_short(error)}"


def _is_door(thing: object) -> bool:
    return isinstance(thing, Door) or (isinstance(thing, type) and issubclass(thing, Door))


def _made(thing: object, name: str, seed: int) -> Door:
    """Returns the door that stands behind a name, made where it is a class.

    Raises:
        UserError: it is none, or cannot be made.
    """
    if not _is_door(thing):
        came = "a class" if isinstance(thing, type) else "None" if thing is None else f"a {type(thing).__name__}"
        raise UserError(f"{name!r} is no model but {came}; {_WANTED}")
    kind = thing if isinstance(thing, type) else type(thing)
    if kind.complete is Door.complete:  # type: ignore[attr-defined]
        raise UserError(f"{name!r} has no method 'complete'; {_WANTED}")
    if isinstance(thing, Door):
        return thing
    try:
        made = kind(**({"seed": seed} if "seed" in doors.parameters(kind) else {}))
    except (Exception, SystemExit) as error:
        raise UserError(f"{name!r} cannot be made: {in_short(error)}; it may take 'seed', or nothing") from error
    assert isinstance(made, Door)  # noqa: S101
    return made
