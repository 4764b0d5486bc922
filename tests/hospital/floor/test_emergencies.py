"""Emergencies are with a doctor at once, whoever that is, and whoever is left for them loses none of its time."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyclinic.hospital.floor.clock import Clock
from polyclinic.hospital.floor.lines import Gone, Server
from polyclinic.hospital.floor.queues import Floor
from polyclinic.hospital.record.account import Log
from polyclinic.hospital.record.happenings import Acuity, Interrupted, Resumed


class House:
    """Doctors of departments, and what became of those who came."""

    def __init__(self, clock, doctors, *, places=9, resuscitation=0):
        self.clock, self.log, self.served, self.gone = clock, [], {}, {}
        rooms = {"rooms": places, **({"resus": resuscitation} if resuscitation else {})}
        self.floor = Floor(clock, Log(self), places=rooms, resuscitation="resus" if resuscitation else "")
        for id, department in doctors.items():
            covers = 0 if department == "emergency" else 1
            self.floor.employ(Server(id, "rooms", covers=covers), [department])
        for queue in self.floor.queues.values():
            for server in queue.servers:
                self.floor.begin(server)
        self.with_whom = {}

    def add(self, happening, account):
        self.log.append(happening)

    def come(self, who, department, *, at=0, lasts=100, acuity=Acuity.ROUTINE):
        self.clock.start(self._one(who, department, at, lasts, acuity))

    def _one(self, who, department, at, lasts, acuity):
        yield self.clock.at(at)
        emergency = acuity is Acuity.EMERGENCY
        ticket = self.floor.join(department, acuity, alarms=emergency)
        server = yield ticket.called
        if isinstance(server, Gone):
            self.gone[who] = server
            return
        called = self.clock.now
        yield self.floor.work(server, lasts, who, emergency=emergency)
        self.served[who] = (server.id, ticket.area, called, self.clock.now)
        self.floor.release(server, ticket.area)

    def pauses(self, who):
        began = [h.t for h in self.log if h.who == who and isinstance(h.what, Interrupted)]
        ended = [h.t for h in self.log if h.who == who and isinstance(h.what, Resumed)]
        return list(zip(began, ended, strict=True))


async def test_a_consultation_is_interrupted_and_goes_on_for_the_rest_of_its_time():
    async with Clock() as clock:
        house = House(clock, {"d1": "heart"})
        house.come("calm", "heart", lasts=100)
        house.come("later", "heart", at=5, lasts=10)
        house.come("dire", "heart", at=30, lasts=40, acuity=Acuity.EMERGENCY)
        await clock.run()
    assert house.served["dire"] == ("d1", "rooms", 30, 70)
    assert house.served["calm"] == ("d1", "rooms", 0, 140)  # 100 seconds and a pause of 40
    assert house.served["later"] == ("d1", "rooms", 140, 150)
    assert house.pauses("calm") == [(30, 70)]


@pytest.mark.parametrize(
    ("busy", "by"),
    [
        ({}, "d1"),  # its own, who is free
        ({"heart": 100}, "d3"),  # a free doctor of emergencies before its own is interrupted
        ({"heart": 100, "emergency": 90}, "d1"),  # its own is interrupted
    ],
)
async def test_who_comes_to_an_emergency(busy, by):
    async with Clock() as clock:
        house = House(clock, {"d1": "heart", "d2": "eyes", "d3": "emergency"})
        for department, lasts in busy.items():
            house.come(department, department, lasts=lasts)
        house.come("dire", "heart", at=10, acuity=Acuity.EMERGENCY)
        await clock.run()
    assert house.served["dire"][0] == by
    assert house.served["dire"][2] == 10


async def test_where_all_who_should_are_with_emergencies_any_doctor_comes():
    async with Clock() as clock:
        house = House(clock, {"d1": "heart", "d2": "eyes", "d3": "emergency"})
        house.come("calm", "eyes", lasts=500)
        for number in range(4):
            house.come(f"dire {number}", "heart", at=10 + number, lasts=50, acuity=Acuity.EMERGENCY)
        await clock.run()
    assert [house.served[f"dire {number}"][0] for number in range(4)] == ["d1", "d3", "d2", "d1"]
    assert house.served["dire 3"][2] == 60  # no emergency is left for another
    assert house.pauses("calm") == [(12, 62)]


@pytest.mark.parametrize(
    ("acuity", "hour", "expected"),
    [
        (Acuity.URGENT, 2, "d2"),  # at night
        (Acuity.ROUTINE, 2, "d1"),  # waits until the department is there
        (Acuity.URGENT, 7.5, "d1"),  # which is soon
        (Acuity.ROUTINE, 20, Gone.NOT_ADMITTED),
        (Acuity.URGENT, 20, "d2"),
    ],
)
async def test_doctors_of_emergencies_stand_in_for_a_department_that_has_nobody(acuity, hour, expected):
    async with Clock() as clock:
        floor = Floor(clock, Log(), places={"rooms": 9})
        floor.employ(heart := Server("d1", "rooms", begins=[8 * 3600], covers=1), ["heart"])
        floor.employ(emergency := Server("d2", "rooms", covers=0), ["emergency"])
        floor.open("heart")
        floor.begin(emergency)
        clock.at(8 * 3600).then = [lambda _: floor.begin(heart)]
        clock.at(16 * 3600).then = [lambda _: floor.end(heart)]
        called = []

        def comes():
            yield clock.at(int(hour * 3600))
            called.append((yield floor.join("heart", acuity).called))

        clock.start(comes())
        await clock.run()
    assert [getattr(who, "id", who) for who in called] == [expected]


async def test_at_the_end_of_a_department_s_day_those_who_press_are_seen_and_the_others_told():
    async with Clock() as clock:
        house = House(clock, {"d1": "heart", "d3": "emergency"})
        house.floor.open("heart")
        house.come("one", "heart", lasts=900)
        house.come("busy", "emergency", lasts=2000)
        house.come("calm", "heart", at=10)
        house.come("pressing", "heart", at=20, acuity=Acuity.URGENT)
        (heart,) = house.floor.queues["heart"].servers
        clock.at(800).then = [lambda _: house.floor.end(heart)]
        await clock.run()
    assert house.gone == {"calm": Gone.CLOSED}
    assert house.served["pressing"][0] == "d3"


async def test_emergencies_are_seen_in_the_room_for_them_while_it_has_a_place():
    async with Clock() as clock:
        house = House(clock, {"d1": "heart", "d2": "heart"}, places=2, resuscitation=1)
        house.come("one", "heart", acuity=Acuity.EMERGENCY)
        house.come("other", "heart", acuity=Acuity.EMERGENCY)
        await clock.run()
    assert sorted(area for _, area, _, _ in house.served.values()) == ["resus", "rooms"]


comers = st.lists(
    st.tuples(
        st.integers(0, 200),
        st.integers(1, 60),
        st.sampled_from(["heart", "eyes", "emergency"]),
        st.sampled_from(list(Acuity)),
    ),
    max_size=20,
)


@given(comers=comers, places=st.integers(1, 3), resuscitation=st.integers(0, 2))
async def test_time_is_conserved_and_everybody_is_served_once(comers, places, resuscitation):
    async with Clock() as clock:
        house = House(
            clock, {"d1": "heart", "d2": "eyes", "d3": "emergency"}, places=places, resuscitation=resuscitation
        )
        for number, (at, lasts, department, acuity) in enumerate(comers):
            house.come(str(number), department, at=at, lasts=lasts, acuity=acuity)
        await clock.run()
    assert len(house.served) == len(comers)
    spans = {}
    for number, (_, lasts, _, acuity) in enumerate(comers):
        doctor, _, called, ended = house.served[str(number)]
        pauses = house.pauses(str(number))
        assert ended - called == lasts + sum(end - begin for begin, end in pauses)
        assert not (pauses and acuity is Acuity.EMERGENCY)
        edges = [called, *(t for pause in pauses for t in pause), ended]
        spans.setdefault(doctor, []).extend(zip(edges[::2], edges[1::2], strict=True))
    for times in spans.values():
        # A doctor is with one at a time.
        times.sort()
        assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(times))
