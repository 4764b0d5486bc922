"""How near the rules nurse comes to the right level, over the visits of the default town, and whom she gets wrong."""

import asyncio
from collections import Counter

from polyclinic.hospital.care.triage import TriageStation
from polyclinic.hospital.plan.file import read_hospital
from polyclinic.hospital.record.figures import agreement
from polyclinic.hospital.record.happenings import Acuity
from polyclinic.hospital.town.residents import Residents
from polyclinic.hospital.town.town import Town
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.players.minds import Minds
from polyclinic.players.player import URGENCY
from polyclinic.players.roles.staff import MAX_QUESTIONS

SEED = 20_611  # used for nothing else
VISITS = 2_000
OFTEN = 4  # a disease is named from so many wrong ones on


def run():
    asyncio.run(_measure())


async def _measure():
    knowledge = read_knowledge()
    hospital = read_hospital(None, knowledge)
    town = Town(hospital, knowledge, Residents(hospital.residents, SEED), seed=SEED)
    minds, station = Minds(knowledge=knowledge, seed=SEED), TriageStation(knowledge)
    judged = Counter()
    steps, over, under, seen = Counter(), Counter(), Counter(), Counter()
    day = asked = sent = 0
    while seen.total() < VISITS:
        for onset in town.onsets(day):
            case = town.case_for(onset)
            triage, at_door = await station.receive(
                case, minds, key=case.id, departments=hospital.departments, max_questions=MAX_QUESTIONS
            )
            right, given = (Acuity(URGENCY[level]) for level in (case.truth.acuity, triage.level))
            apart = list(Acuity).index(given) - list(Acuity).index(right)
            steps["right" if not apart else "over" if apart < 0 else "under"] += 1
            seen[onset.disease] += 1
            if apart:
                (over if apart < 0 else under)[onset.disease] += 1
            asked += len(at_door.told)
            sent += triage.department == town.department(onset)
            judged[case.truth.acuity, triage.level] += 1
        day += 1
    levels, n = agreement(judged), seen.total()
    shares = ", ".join(f"{name} {100 * steps[name] / n:.1f} %" for name in ("right", "over", "under"))
    print(f"{n} visits, seed {SEED}, {asked / n:.1f} questions each; {100 * sent / n:.1f} % to the right department")
    print(f"  emergency, urgent, routine: {shares}")
    of_five = ((name, getattr(levels, name).percent) for name in ("right", "over", "under"))
    print(f"  five levels: {', '.join(f'{name} {percent:.1f} %' for name, percent in of_five)}")
    print(f"  weighted kappa {levels.kappa:.2f} ({levels.low:.2f}-{levels.high:.2f})")
    for name, wrong in (("too late", under), ("too soon", over)):
        often = [f"{disease} {count} of {seen[disease]}" for disease, count in wrong.most_common() if count >= OFTEN]
        print(f"  {name}: {'; '.join(often)}")
