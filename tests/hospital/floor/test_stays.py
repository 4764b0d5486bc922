"""Beds: who waits gets the first by acuity; theatre, stepping down, going home by day; nothing blocks for ever."""

from types import SimpleNamespace

import pytest

from polyclinic.hospital.floor.clock import Clock
from polyclinic.hospital.floor.stays import Beds, Stay
from polyclinic.hospital.plan.plan import Area, AreaKind
from polyclinic.hospital.record.happenings import (
    Acuity,
    Admitted,
    HarmCause,
    Operated,
)

HOUR, DAY = 3600, 24 * 3600


class InBedAs:
    """Somebody whose stay and turns are given."""

    disease, severity, recognised = SimpleNamespace(id="illness"), "mild", True

    def __init__(self, *stays, turns=()):
        self.stays, self.turns, self.levels = list(stays), list(turns), []

    def legs(self):
        return self.stays.pop(0)

    def gives(self, place):
        return {"observation": 1, "ward": 2, "intensive care": 3, "theatre": 3}[place]

    def next_turn(self, gives):
        self.levels.append(gives)
        return self.turns[0] if self.turns else None

    def spend(self, seconds, gives):
        if self.turns:
            self.turns[0] = (self.turns[0][0], self.turns[0][1] - seconds)

    def cause_of(self, gives, *, death):
        return HarmCause.ILLNESS

    def worsen(self):
        self.turns.pop(0)
        self.severity = "severe"


async def lie(beds, *patients, until=60 * DAY):
    """Lets patients be admitted at times; returns what happened to each, with its hour."""
    clock, story = Clock(), {}
    areas = {
        kind: Area(id=kind, name={}, kind=AreaKind(kind), beds=n) if isinstance(n, int) else n
        for kind, n in beds.items()
    }

    bed_of, lying = Beds(areas), set()

    def come(number, at, acuity, in_bed, department):
        yield clock.at(at)
        one = SimpleNamespace(who=number, department=department, acuity=acuity)

        def walk(_):
            yield clock.wait(0)

        def note(what):
            story[number].append((round(clock.now / HOUR, 1), what))

        lying.add(number)
        yield from Stay(bed_of, clock, note, walk, patient=one, inpatient=in_bed).run()
        lying.remove(number)

    for number, (at, acuity, in_bed, *department) in enumerate(patients):
        story[number] = []
        clock.start(come(number, at, acuity, in_bed, *(department or ["x"])))
    async with clock:
        await clock.run(until)
    assert not lying and bed_of.free == {id: area.beds for id, area in areas.items()}
    return story


def told(story):
    return [(hour, type(what).__name__, getattr(what, "care", "")) for hour, what in story]


async def test_intensive_care_then_the_ward_then_home_by_day():
    story = await lie(
        {"ward": 1, "intensive care": 1},
        (0, Acuity.EMERGENCY, InBedAs([("intensive care", 2 * DAY), ("ward", DAY + HOUR)])),
    )
    assert told(story[0]) == [
        (0, "Admitted", "intensive care"),
        (48, "Moved", "ward"),
        (81, "Discharged", ""),  # at nine in the morning, and not at one in the night
    ]
    assert story[0][-1][1].days == 3.375


async def test_who_waits_for_a_bed_gets_it_by_acuity_and_its_time_goes_on():
    first, later, urgent = (InBedAs([("ward", 30 * HOUR)]) for _ in range(3))
    story = await lie(
        {"ward": 1},
        (9 * HOUR, Acuity.ROUTINE, first),
        (10 * HOUR, Acuity.ROUTINE, later),
        (11 * HOUR, Acuity.EMERGENCY, urgent),
    )
    assert told(story[0])[-1][:2] == (39, "Discharged")
    assert told(story[2])[:2] == [(11, "Queued", ""), (39, "Admitted", "ward")]
    assert story[2][1][1].waited == 28 * HOUR
    # The other went home from where it waited: its stay was over before there was a bed.
    assert [what for _, what, _ in told(story[1])] == ["Queued"]
    assert urgent.levels[0] == 1 and urgent.levels[-1] == 2  # the care of an observation until it lies in the bed


async def test_an_operation_is_waited_for_and_the_table_is_kept_until_there_is_a_bed():
    operated = [InBedAs([("theatre", 2 * HOUR), ("ward", 20 * HOUR)]) for _ in range(2)]
    story = await lie({"ward": 1, "theatre": 1}, *((9 * HOUR, Acuity.EMERGENCY, one) for one in operated))
    assert told(story[0])[:3] == [(9, "Admitted", "theatre"), (11, "Operated", ""), (11, "Moved", "ward")]
    assert told(story[1])[:3] == [(9, "Queued", ""), (11, "Admitted", "theatre"), (13, "Operated", "")]
    assert set(operated[1].levels[:1]) == {1}


async def test_a_ward_and_intensive_care_that_wait_for_each_other_block_nobody_for_ever():
    up = InBedAs([("ward", 4 * DAY)], [("intensive care", 4 * DAY)], turns=[(False, HOUR)])
    down = InBedAs([("intensive care", HOUR), ("ward", 3 * DAY)])
    story = await lie(
        {"ward": 1, "intensive care": 1}, (9 * HOUR, Acuity.ROUTINE, up), (9 * HOUR, Acuity.ROUTINE, down)
    )
    assert [what for _, what, _ in told(story[0])][:3] == ["Admitted", "Worsened", "Queued"]
    assert all(told(one)[-1][1] == "Discharged" for one in story.values())


async def test_who_dies_leaves_its_bed_to_the_next():
    dying, next_one = InBedAs([("ward", 9 * DAY)], turns=[(True, 5 * HOUR)]), InBedAs([("ward", DAY)])
    story = await lie({"ward": 1}, (0, Acuity.ROUTINE, dying), (HOUR, Acuity.ROUTINE, next_one))
    assert told(story[0])[-1][:2] == (5, "Died") and story[0][-1][1].stayed == 5 * HOUR
    assert told(story[1])[1][:2] == (5, "Admitted")


async def test_without_a_theatre_nobody_is_operated_on_and_care_is_that_of_an_observation():
    one = InBedAs([("theatre", 2 * HOUR), ("ward", DAY)])
    story = await lie({"ward": 1}, (9 * HOUR, Acuity.URGENT, one))
    assert not any(isinstance(what, Operated) for _, what in story[0])
    assert set(one.levels) == {1}


@pytest.mark.parametrize(
    ("has", "place", "lies"),
    [
        (["ward"], "observation", "ward"),
        (["ward"], "intensive care", "ward"),
        (["observation"], "ward", "observation"),
        (["ward", "intensive care"], "intensive care", "intensive care"),
    ],
)
async def test_a_place_that_the_hospital_does_not_have_is_the_next_that_it_has(has, place, lies):
    story = await lie(dict.fromkeys(has, 1), (0, Acuity.ROUTINE, InBedAs([(place, HOUR)])))
    assert story[0][0][1].area == lies


async def test_the_ward_of_ones_department_comes_first_then_one_of_all():
    def ward(id, *departments):
        return Area(id=id, name={}, kind=AreaKind.WARD, beds=1, departments=departments)

    beds = {"men": ward("men", "urology"), "all": ward("all"), "hearts": ward("hearts", "cardiology")}
    stay = [("ward", 9 * HOUR)]
    story = await lie(beds, *((0, Acuity.ROUTINE, InBedAs(stay), "cardiology") for _ in range(3)))
    assert [what.area for one in story.values() for _, what in one if isinstance(what, Admitted)] == [
        "hearts",
        "all",
        "men",
    ]
