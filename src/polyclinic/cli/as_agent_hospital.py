"""`--protocol` where Agent Hospital's paper is followed: in a run, in a practice, and on its exam."""

from __future__ import annotations

from typing import NamedTuple

from polyclinic.cli.evolve_options import PracticeOptions
from polyclinic.errors import UserError
from polyclinic.evaluations.protocol import followed, say
from polyclinic.hospital.plan.file import PRESETS
from polyclinic.players.mind_names import model_of
from polyclinic.protocols.following import FollowedProtocol
from polyclinic.protocols.papers import AgentHospitalSettings
from polyclinic.settings import name_of

Rules = FollowedProtocol[AgentHospitalSettings]


class PaperTown(NamedTuple):
    """What a protocol decides about a run where the user did not."""

    hospital: str | None
    examinations: int | None
    profiles: str
    course: str


def town_of(protocol: str, given: PaperTown, *, doctor: str, patient: str, nurse: str) -> PaperTown:
    """Returns what a run is made of, after a look at what contradicts the protocol; says what is still other.

    Where no model is named that writes residents and courses, it is the patient's.
    """
    rules = followed(AgentHospitalSettings, protocol, doctor=doctor, patient=patient, nurse=nurse)
    if rules.side == "ours":
        return given
    settings, model = rules.settings, model_of(patient) or ""
    own_hospital = given.hospital is not None and given.hospital not in PRESETS
    rules.check_switch("--hospital", own_hospital, "has a hospital of its own", settings.hospital.section)
    rules.check_value("run.examinations", given.examinations, settings.examinations)
    hospital, examinations = rules.of(settings.hospital), rules.of(settings.examinations)
    say(rules)
    return PaperTown(
        hospital if hospital in PRESETS else given.hospital,
        examinations if isinstance(examinations, int) else None,
        given.profiles or (model if rules.of(settings.profiles) == "model" else ""),
        given.course or (model if rules.of(settings.course) == "model" else ""),
    )


def check_practice(options: PracticeOptions) -> Rules:
    """Returns the protocol that a practice follows, and refuses options that contradict it."""
    rules = followed(AgentHospitalSettings, options.protocol, doctor=options.doctor)
    for option in ("batch", "test_every", "feedback", "k", "k_records", "k_experience"):
        name = "recalled" if option.startswith("k") else option
        rules.check_value(name_of(PracticeOptions, option), getattr(options, option), getattr(rules.settings, name))
    if rules.side == "paper" and model_of(options.embedder) is None:
        wanted = rules.settings.embeddings
        raise UserError(
            f"--protocol {options.protocol} has {wanted.paper} for embedder ({wanted.section}); --embedder is "
            f"{options.embedder}. Name an embedding model, --embedder direct/NAME, or take --protocol ours"
        )
    return rules


def say_practice(rules: Rules, *, train: int, test: int) -> None:
    """Notes how a practice differs from the paper that it follows."""
    wanted, here = (rules.settings.train.paper, rules.settings.test.paper), []
    if rules.side == "paper" and (train, test) != wanted:
        theirs, ours = (f"{a:,} to practise on and {b:,} of the test" for a, b in (wanted, (train, test)))
        here = [f"patients ({theirs}; here {ours})"]
    say(rules, here)
