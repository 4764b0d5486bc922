"""What a page is sent of a run: its state at a time without what is so, and what is known of a person.

Of thousands who are ill at home the map shows the number alone; their names and houses are asked for afterwards, when
the map stands. Of a person it is who that is, the past, and the visits moment by moment; the truth if asked for.
"""

from __future__ import annotations

from typing import Any

import msgspec

from polyclinic.errors import UserError
from polyclinic.hospital.record.story import stories_of
from polyclinic.hospital.record.world import Duty, Place, StaffWalk, Visitor, World
from polyclinic.hospital.town.residents import Residents
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.web.town.runs import ShownRun, without_truth

_LONGEST_ID = 40


class NoSuchPerson(UserError):
    """The run knows nobody of that id."""

    status = 404


def person(run: ShownRun, who: str, *, truth: bool) -> dict[str, Any]:
    """Returns all that the log tells of somebody.

    Args:
        run: the run.
        who: a resident's id.
        truth: whether what is so stands beside: the disease, and what would have been right.

    Raises:
        NoSuchPerson: nobody of that id ever came or fell ill.
        BadInput: the run is damaged.
    """
    visits = stories_of(run.recorded, who) if 0 < len(who) <= _LONGEST_ID else []
    resident = _resident(run, who)
    if resident is None and not visits:
        raise NoSuchPerson("the run knows nobody of that name")
    told = msgspec.to_builtins(visits)
    for visit in told if not truth else ():
        visit["visit"] = without_truth(visit["visit"])
        for moment in visit["moments"]:
            moment["about"] = without_truth(moment["about"], moment["what"])
    return {"who": who, "resident": resident, "visits": told}


def words() -> dict[str, dict[str, dict[str, str]]]:
    """Returns the names of what a log names by ids, in both languages."""
    knowledge = read_knowledge()
    tables: dict[str, Any] = {
        "diseases": knowledge.diseases,
        "examinations": knowledge.examinations,
        "drugs": knowledge.drugs,
        "departments": knowledge.departments,
    }
    return {
        name: {id: {"en": one.name.en, "zh": one.name.zh} for id, one in table.items()}
        for name, table in tables.items()
    }


def _resident(run: ShownRun, who: str) -> dict[str, Any] | None:
    """Returns who somebody is. Of those whom a model wrote the log has the name alone."""
    configuration = run.recorded.configuration
    n = configuration.get("residents")
    number = int(who[1:]) if who[:1] == "r" and who[1:].isascii() and who[1:].isdigit() else 0
    if not isinstance(n, int) or not number > 0 or configuration.get("profiles"):
        return None
    seed, language = configuration.get("seed", 0), configuration.get("language", "en")
    # Those who come to a mass arrival stand behind the others.
    residents = Residents(max(n, number) if number <= n + 10_000 else n, seed, language=language)
    if number > len(residents):
        return None
    one = residents[number - 1]
    history = one.history
    return {
        "name": one.name,
        "age": one.age,
        "sex": str(one.sex),
        "occupation": one.occupation,
        "about": one.about,
        "past": history.past,
        "medications": history.medications,
        "allergies": history.allergies,
        "personal": history.personal,
    }


Neighbour = tuple[str, tuple[int, ...]]
"""Who is ill: the name, and the place of the home in metres from the entrance."""


class SentWorld(msgspec.Struct, frozen=True, kw_only=True):
    """A state; what the page can tell from the rest is left out."""

    t: int
    seq: int
    people: dict[str, Visitor]
    ill: int  # how many
    duty: dict[str, Duty]
    staff_walks: dict[str, StaffWalk]
    queues: dict[str, list[Place]]
    counts: dict[str, Any]


def sent(world: World) -> SentWorld:
    """Returns what is sent of a state."""
    counts = msgspec.to_builtins(world.counts)
    counts.pop("diagnosed_right", None)
    return SentWorld(
        t=world.t,
        seq=world.seq,
        people=world.people,
        ill=len(world.ill),
        duty=world.duty,
        staff_walks=world.staff_walks,
        queues=world.queues,
        counts=counts,
    )


def neighbours(world: World) -> dict[str, Neighbour]:
    """Returns those who are ill, by id."""
    return {who: (one.name, one.home) for who, one in world.ill.items()}
