"""What is public can be imported from the package or one room below, and costs nothing until it is asked for."""

import asyncio
import importlib
import os
import subprocess
import sys
from types import ModuleType

import pytest
from tests.tables import each_row

import polyclinic
from polyclinic import consult, read_cases, read_knowledge, see
from polyclinic.cases import check_cases, find_case, write_cases
from polyclinic.errors import UserError
from polyclinic.events import Trace
from polyclinic.hospital import read_hospital
from polyclinic.hospital.plan.file import DEFAULT
from polyclinic.players import Minds
from polyclinic.questions import ExamQuestion, Question, read_exam, write_exam

ROOMS = (
    "polyclinic",
    "polyclinic.evaluations.exams",
    "polyclinic.evaluations.patient_simulator",
    "polyclinic.cases",
    "polyclinic.evidence_tree",
    "polyclinic.hospital",
    "polyclinic.methods",
    "polyclinic.models",
    "polyclinic.players",
    "polyclinic.questions",
    "polyclinic.retrieval",
    "polyclinic.testing",
    "polyclinic.visits",
)


@each_row("room", ROOMS)
def test_every_public_name_is_there_and_is_no_module(room):
    module = importlib.import_module(room)
    assert len(set(module.__all__)) == len(module.__all__) > 0
    for name in module.__all__:
        assert not isinstance(getattr(module, name), ModuleType), name
    # As a star import does, in a process where nothing has been imported before.
    exec(f"from {room} import *", {})
    with pytest.raises(AttributeError, match="no attribute 'dragons'"):
        module.dragons  # noqa: B018


@pytest.mark.slow
def test_names_are_those_of_a_fresh_process():
    named = "; ".join(f"from {room} import {', '.join(importlib.import_module(room).__all__)}" for room in ROOMS)
    said = "from polyclinic.methods import medagents; assert callable(medagents)"
    done = subprocess.run([sys.executable, "-c", f"{named}; {said}"], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def least_seconds(*command):
    """Returns the seconds of a processor that a program takes: others who use the machine hardly change them."""

    def used():
        of_children = os.times()
        return of_children.children_user + of_children.children_system

    seconds = []
    for _ in range(4):
        begin = used()
        subprocess.run([sys.executable, *command], check=True, capture_output=True)
        seconds.append(used() - begin)
    return min(seconds)


@pytest.mark.slow
def test_import_and_help_are_quick():
    # As a multiple of the bare interpreter's start, so that a busy machine is no slow program.
    bare = least_seconds("-c", "pass")
    assert least_seconds("-c", "import polyclinic") < bare * 2 + 0.1
    assert least_seconds("-m", "polyclinic", "--help") < bare * 10 + 0.3
    heavy = "import sys, polyclinic; print({'numpy', 'aiohttp', 'msgspec', 'cyclopts', 'rich'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", heavy], check=True, capture_output=True, text=True).stdout
    assert shown.strip() == "set()"


def test_one_call_is_a_visit():
    case = next(read_cases("shipped"))
    visit = consult(case, doctor="rules", seed=1)
    assert visit == asyncio.run(see(case, Minds(knowledge=read_knowledge(), seed=1)))
    with pytest.raises(UserError, match="no mind 'nobody'"):
        consult(case, doctor="nobody")


async def test_it_works_under_a_running_loop_too():
    assert consult(next(read_cases("shipped"))).report is not None


def test_the_root_is_small():
    assert "see" in polyclinic.__all__
    assert len(polyclinic.__all__) <= 12


def test_a_path_may_be_a_string(tmp_path):
    names = iter(f"{tmp_path}/{n}" for n in range(9))
    cases, exam, trace = next(names), next(names), next(names)
    assert check_cases("shipped").n == 48
    shipped = list(read_cases("shipped-zh"))
    write_cases(cases, shipped[:2])
    assert list(read_cases(cases)) == shipped[:2]
    assert find_case(cases, shipped[1].id) == shipped[1]
    questions = [ExamQuestion(question=Question(id="1", stem="Which?", options={"A": "a", "B": "b"}), key=("B",))]
    write_exam(exam, questions)
    assert list(read_exam(exam)) == questions
    visit = consult(shipped[0], max_turns=1, journal=next(names))
    visit.trace.write(trace)
    assert Trace.read(trace) == [visit.trace]
    knowledge = read_knowledge()
    assert read_hospital(str(DEFAULT), knowledge) == read_hospital(None, knowledge)
