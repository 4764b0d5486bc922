"""Who is called when: acuity, arrival, rooms, shifts. How long they wait, test_theory.py asks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyclinic.hospital.floor.clock import Clock
from polyclinic.hospital.floor.lines import Gone, Server
from polyclinic.hospital.floor.queues import Floor
from polyclinic.hospital.record.account import Log
from polyclinic.hospital.record.happenings import DAY, Acuity

HOUR = 3600


class World:
    """A floor with doctors of one queue, and what became of those who waited."""

    def __init__(self, clock, *, doctors=1, places=9, always=True, alone=True, stays_for=None):
        self.clock, self.log = clock, []
        self.floor = Floor(clock, Log(self), places={"room": places})
        self.doctors = [
            Server(f"d{n}", "room", begins=(8 * HOUR,), alone=alone, stays_for=stays_for) for n in range(doctors)
        ]
        for doctor in self.doctors:
            self.floor.employ(doctor, ["q"])
            if always:
                self.floor.begin(doctor)
        self.calls = []

    def add(self, happening, account):
        self.log.append(happening)

    def come(self, name, *, at=0, lasts=10, acuity=Acuity.ROUTINE, care=0, **more):
        self.clock.start(self._one(name, at, lasts, acuity, care, more))

    def _one(self, name, at, lasts, acuity, care, more):
        yield self.clock.at(at)
        ticket = self.floor.join("q", acuity, **more)
        came = yield ticket.called
        if isinstance(came, Gone):
            self.calls.append((self.clock.now, name, came.value))
        else:
            self.calls.append((self.clock.now, name, came.id))
            yield self.clock.wait(lasts)
            self.floor.release(came)
        if care:
            self.floor.discharge(care)


async def test_emergencies_go_first_then_who_comes_back_then_acuity_then_arrival():
    async with Clock() as clock:
        world = World(clock)
        world.come("first")
        world.come("routine", at=1)
        world.come("emergency", at=2, acuity=Acuity.EMERGENCY)
        world.come("urgent", at=3, acuity=Acuity.URGENT)
        world.come("emergency, later", at=4, acuity=Acuity.EMERGENCY)
        world.come("back with results", at=5, again=True)
        await clock.run()
    order = ["first", "emergency", "emergency, later", "back with results", "urgent", "routine"]
    assert [name for _, name, _ in world.calls] == order
    assert [t for t, _, _ in world.calls] == [0, 10, 20, 30, 40, 50]


async def test_who_comes_back_waits_for_the_same_doctor():
    async with Clock() as clock:
        world = World(clock, doctors=2)
        world.come("long", lasts=100)  # with d0
        world.come("back", at=20, again=True, back_to=world.doctors[0])  # d1 is free all the time
        await clock.run()
    assert world.calls == [(0, "long", "d0"), (100, "back", "d0")]


async def test_who_waits_for_one_doctor_is_taken_over_by_a_colleague_after_a_while():
    async with Clock() as clock:
        world = World(clock, doctors=3)
        d0, d1, d2 = world.doctors
        for doctor in world.doctors:
            world.come(f"of {doctor.id}", lasts=100 if doctor is d0 else 5, back_to=doctor)
        world.come("new", at=10, back_to=d0, only_for=30)
        world.come("again", at=10, back_to=d0, again=True)
        world.come("emergency", at=12, back_to=d0, only_for=30)
        # Somebody who gets worse waits for nobody in particular any more.
        clock.start(moved_up(world, d0))
        await clock.run()
    called = {name: (t, who) for t, name, who in world.calls if not name.startswith("of ")}
    assert called["new"][0] == 40
    assert called["new"][1] in (d1.id, d2.id)
    assert called["emergency"] == (42, d2.id if called["new"][1] == d1.id else d1.id)
    assert called["again"] == (100, d0.id)
    assert called["worse"][0] == 20
    assert called["worse"][1] != d0.id


def moved_up(world, doctor):
    yield world.clock.at(15)
    ticket = world.floor.join("q", Acuity.ROUTINE, back_to=doctor, only_for=60)
    yield world.clock.at(20)
    world.floor.move_up(ticket, Acuity.URGENT)
    came = yield ticket.called
    world.calls.append((world.clock.now, "worse", came.id))
    yield world.clock.wait(5)
    world.floor.release(came)


async def test_who_waits_for_a_doctor_whose_shift_ends_is_a_colleagues():
    async with Clock() as clock:
        world = World(clock, doctors=2)
        first, second = world.doctors
        world.come("of first", lasts=100, back_to=first)
        world.come("of second", lasts=5, back_to=second)
        world.come("new", at=10, back_to=first, only_for=1000)
        clock.call(30, lambda: world.floor.end(first))
        await clock.run()
    assert (30, "new", second.id) in world.calls


async def test_rooms_limit_how_many_are_served():
    async with Clock() as clock:
        world = World(clock, doctors=3, places=2)
        for name in "abcd":
            world.come(name)
        await clock.run()
    assert [(t, who) for t, _, who in world.calls] == [(0, "d0"), (0, "d1"), (10, "d2"), (10, "d0")]


async def test_a_technician_looks_after_as_many_as_there_is_place_for():
    async with Clock() as clock:
        world = World(clock, places=3, alone=False)
        for name in "abcd":
            world.come(name)
        await clock.run()
    assert [t for t, _, _ in world.calls] == [0, 0, 0, 10]


async def test_patience_ends():
    async with Clock() as clock:
        world = World(clock)
        world.come("long", lasts=100)
        world.come("impatient", at=5, patience=30)
        world.come("patient", at=6, patience=300)
        await clock.run()
    assert world.calls == [(0, "long", "d0"), (35, "impatient", "waited too long"), (100, "patient", "d0")]


async def shift(world, begin, end):
    def works():
        for doctor in world.doctors:
            yield world.clock.at(begin)
            world.floor.begin(doctor)
        yield world.clock.at(end)
        for doctor in world.doctors:
            world.floor.end(doctor)

    world.clock.start(works())


async def test_those_who_wait_at_the_end_of_the_last_shift_are_told_that_it_is_closed():
    async with Clock() as clock:
        world = World(clock, always=False)
        await shift(world, 8 * HOUR, 16 * HOUR)
        world.come("before the shift", at=7 * HOUR)
        world.come("until after the end", at=15 * HOUR, lasts=2 * HOUR)
        world.come("waits", at=15 * HOUR + 1)
        world.come("comes after the end", at=16 * HOUR + 1)
        world.come("comes on a day without a shift", at=DAY + 7 * HOUR)
        await clock.run(2 * DAY)
    assert world.calls == [
        (8 * HOUR, "before the shift", "d0"),
        (15 * HOUR, "until after the end", "d0"),
        (16 * HOUR, "waits", "closed"),
        (16 * HOUR + 1, "comes after the end", "not admitted"),
        (DAY + 7 * HOUR, "comes on a day without a shift", "not admitted"),
    ]
    ended = [h.t for h in world.log if type(h.what).__name__ == "ShiftEnded"]
    assert ended == [17 * HOUR]  # with the patient


@pytest.mark.parametrize(("stays_for", "stays"), [(None, True), (("q",), True), (("other",), False), ((), False)])
async def test_the_last_stays_for_those_under_care(stays_for, stays):
    async with Clock() as clock:
        world = World(clock, always=False, stays_for=stays_for)
        await shift(world, 8 * HOUR, 16 * HOUR)
        number = world.floor.take("q", world.doctors[0])
        world.come("new", at=15 * HOUR, lasts=HOUR)
        world.come("new too", at=15 * HOUR + 1)
        world.come("back with results", at=17 * HOUR, again=True, care=number, lasts=HOUR)
        await clock.run(DAY)
    assert (17 * HOUR, "back with results", "d0" if stays else "closed") in world.calls
    assert (16 * HOUR, "new too", "closed") in world.calls
    ended = [h.t for h in world.log if type(h.what).__name__ == "ShiftEnded"]
    assert ended == [18 * HOUR if stays else 16 * HOUR]


async def test_whoever_stays_calls_nobody_who_is_new():
    async with Clock() as clock:
        world = World(clock, always=False)
        world.doctors[0].begins = (8 * HOUR, 18 * HOUR)
        await shift(world, 8 * HOUR, 16 * HOUR)
        await shift(world, 18 * HOUR, 20 * HOUR)
        number = world.floor.take("q", world.doctors[0])
        world.come("new", at=16 * HOUR + 60)  # there is a shift to come
        world.come("back with results", at=17 * HOUR, again=True, care=number)
        await clock.run(DAY)
    assert world.calls == [(17 * HOUR, "back with results", "d0"), (18 * HOUR, "new", "d0")]


async def test_a_change_of_shifts_turns_nobody_away():
    async with Clock() as clock:
        world = World(clock, doctors=2, always=False)
        early, late = world.doctors
        late.begins = (12 * HOUR,)

        def works(doctor, begin, end):
            yield clock.at(begin)
            world.floor.begin(doctor)
            yield clock.at(end)
            world.floor.end(doctor)

        clock.start(works(early, 8 * HOUR, 12 * HOUR))
        clock.start(works(late, 12 * HOUR, 16 * HOUR))
        world.come("long", at=11 * HOUR, lasts=2 * HOUR)
        world.come("waits over noon", at=11 * HOUR + 1)
        await clock.run(DAY)
    assert world.calls == [(11 * HOUR, "long", "d0"), (12 * HOUR, "waits over noon", "d1")]


comers = st.lists(
    st.tuples(
        st.integers(0, 300),
        st.integers(1, 60),
        st.sampled_from(list(Acuity)),
        st.booleans(),
        st.none() | st.integers(1, 90),
    ),
    max_size=25,
)


@given(comers=comers, doctors=st.integers(1, 4), places=st.integers(1, 4))
async def test_whoever_waits_is_called_in_order_by_somebody_free(comers, doctors, places):
    async with Clock() as clock:
        world = World(clock, doctors=doctors, places=places)
        waits, serving = [], {}

        def one(at, lasts, acuity, again, patience):
            yield clock.at(at)
            first = 0 if acuity is Acuity.EMERGENCY else 1 if again else 2
            rank = (first, list(Acuity).index(acuity), at)
            came = yield world.floor.join("q", acuity, again=again, patience=patience).called
            waits.append((rank, at, clock.now, isinstance(came, Server)))
            if isinstance(came, Gone):
                assert clock.now == at + patience
                return
            assert came.id not in serving
            serving[came.id] = True
            assert len(serving) <= min(doctors, places)
            yield clock.wait(lasts)
            del serving[came.id]
            world.floor.release(came)

        for comer in comers:
            clock.start(one(*comer))
        await clock.run()
    assert len(waits) == len(comers)
    for rank, _, called, served in waits:
        for other, since, until, _ in waits:
            if served and since < called < until:  # somebody else was waiting at that moment, and went on waiting
                assert rank <= other
