"""Hospitals of papers: what they are, and what is said where something of them is missing."""

import asyncio

import msgspec
import pytest

from polyclinic.errors import BadInput
from polyclinic.hospital.care.clinic import Clinic
from polyclinic.hospital.care.registry import Registry
from polyclinic.hospital.care.setup import Setup
from polyclinic.hospital.plan.file import read_hospital
from polyclinic.hospital.plan.plan import Job
from polyclinic.hospital.town.residents import Residents
from polyclinic.hospital.town.town import Town
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.players.minds import Minds

EIGHT = {
    "acute-nasopharyngitis", "acute-rhinitis", "bronchial-asthma", "chronic-bronchitis", "covid-19", "influenza-a",
    "influenza-b", "mycoplasma-infection",
}  # fmt: skip


def visits(hospital, n, **options):
    """Episodes of the first who fall ill, by rules, as a run makes them."""
    knowledge = read_knowledge().select(hospital.illness.diseases)
    town = Town(hospital, read_knowledge(), Residents(2000, 1), seed=1)
    setup = Setup(
        seed=1, max_examinations=hospital.examinations, free_examinations=hospital.free_examinations, **options
    )
    clinic = Clinic(Minds(knowledge=knowledge, seed=1), knowledge, setup)
    registry = Registry(hospital, seed=1)
    onsets = [onset for day in range(9) for onset in town.onsets(day)][:n]
    assert len(onsets) == n

    async def compute():
        requests = [
            registry.request(town.name(o.resident), town.case_for(o), 1, arrives=sum(town.times(o))) for o in onsets
        ]
        return [await clinic.compute(request) for request in requests]

    return knowledge, asyncio.run(compute())


@pytest.mark.slow
def test_the_papers_hospital():
    hospital = read_hospital("agent-hospital", read_knowledge())
    doctors = [member for member in hospital.staff.values() if member.job is Job.DOCTOR]
    assert len(doctors) == 14
    assert all(doctor.departments == ("respiratory",) for doctor in doctors)
    assert sum(member.job is Job.NURSE for member in hospital.staff.values()) == 8
    assert (hospital.examinations, hospital.candidates, hospital.deaths) == (1, True, False)
    knowledge, episodes = visits(hospital, 18)
    assert {*knowledge.diseases} == EIGHT
    paid = [e for e in knowledge.examinations if e not in hospital.free_examinations]
    assert len(paid) == 16
    for episode in episodes:
        (held,) = episode.seen
        assert sum(e in paid for e in held.examinations) <= 1
        assert held.doctor in hospital.staff
    # The physical examination takes nobody's place.
    both = [e for e in episodes if len(e.seen[0].examinations) > 1]
    assert both
    assert sum(any(e in paid for e in episode.seen[0].examinations) for episode in episodes) > 0.6 * len(episodes)


@pytest.mark.slow
def test_staff_of_one_department_refer_nobody_to_others():
    ours = read_hospital(None, read_knowledge())
    hospital = msgspec.structs.replace(ours, illness=msgspec.structs.replace(ours.illness, diseases="respiratory"))
    _, episodes = visits(hospital, 24)
    assert {held.department for episode in episodes for held in episode.seen} == {"respiratory"}
    assert all(held.step != "refer" for episode in episodes for held in episode.seen)


def test_a_preset_whose_disease_is_missing_is_one_clear_line():
    known = read_knowledge()
    without = {id: disease for id, disease in known.diseases.items() if id != "covid-19"}
    with pytest.raises(
        BadInput, match=r"agent-hospital\.yaml.*illness\.diseases.*no disease or department 'covid-19'"
    ) as wrong:
        read_hospital("agent-hospital", msgspec.structs.replace(known, diseases=without))
    assert "\n" not in str(wrong.value)


def test_a_free_examination_must_be_known():
    hospital = read_hospital("agent-hospital", read_knowledge())
    assert hospital.free_examinations == ("physical-examination",)
    known = read_knowledge()
    examinations = {id: e for id, e in known.examinations.items() if id != "physical-examination"}
    with pytest.raises(BadInput, match="no examination 'physical-examination'"):
        read_hospital("agent-hospital", msgspec.structs.replace(known, examinations=examinations))
