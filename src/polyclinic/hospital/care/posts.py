"""The post of the doctor who sees a visit."""

from __future__ import annotations

from polyclinic.hospital.care.setup import Setup
from polyclinic.hospital.record.episodes import EpisodeRequest
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.players.roles.post import Post


def departments_of(request: EpisodeRequest, setup: Setup) -> dict[str, str]:
    """Returns the departments of the hospital, id to name in the language of the visit."""
    language = request.case.presentation.language
    return {d: setup.departments.get(d, {}).get(language, d) for d in request.departments}


def post_of(request: EpisodeRequest, department: str, doctor: str, *, setup: Setup, knowledge: Knowledge) -> Post:
    """Returns the post of a doctor, by its id; of nobody in particular where that is ""."""
    person, member = request.case.presentation, setup.staff.get(doctor)
    language = person.language
    possible = [e for e in knowledge.examinations.values() if e.possible(person.sex, person.age)]
    diseases = knowledge.diseases.values() if setup.candidates else ()
    return Post(
        name="" if member is None else member.name[language],
        hospital=setup.hospital.get(language, ""),
        department=department,
        departments=departments_of(request, setup),
        skill="specialist" if member is None else member.skill,
        about="" if member is None else member.about.get(language, ""),
        orders=tuple(examination.name.get(language) for examination in possible),
        candidates=tuple(disease.name.get(language) for disease in diseases),
        memory=request.memories.get(doctor, ()),
    )
