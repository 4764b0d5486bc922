"""What is known of a person of a run: who it is, its past, its visits moment by moment; the truth where asked for."""

from __future__ import annotations

from typing import Any

import msgspec

from polyclinic.errors import UserError
from polyclinic.hospital.record.story import stories_of
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
