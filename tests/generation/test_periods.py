"""When the last period of a drawn woman was: by the illness, a pregnancy, her age; and that she tells it."""

import random
import re

import pytest

from polyclinic.generation.draw import draw_patients, last_period
from polyclinic.knowledge.knowledge import read_knowledge

SAYS = {
    "en": {"when": r"(\d+) (day|week)s ago", "none": "no more periods", "day": "day"},
    "zh": {"when": r"(\d+)(天|周)前", "none": "绝经|没有月经", "day": "天"},
}
DAYS = {"day": 1, "天": 1, "week": 7, "周": 7}


def told(language, seed=1, **of):
    woman = {"age": 30, "sex": "female", "present": (), "severity": "mild", "past": "", **of}
    return last_period(rng=random.Random(seed), language=language, **woman)


def days(text, language):
    number, unit = re.search(SAYS[language]["when"], text).groups()
    return int(number) * DAYS[unit]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_it_is_of_the_illness_the_pregnancy_and_the_age(language):
    pregnant = {"en": "Pregnant, 16 weeks. Asthma.", "zh": "怀孕16周。"}[language]
    womb = {"en": "Had the womb removed for fibroids.", "zh": "因肌瘤切除子宫。"}[language]
    for seed in range(40):
        assert 0 < days(told(language, seed), language) < 28
        assert 35 <= days(told(language, seed, present=("missed_period",)), language) <= 56
        for more in ((), ("missed_period",), ("vaginal_bleeding",)):
            late = told(language, seed, present=("ectopic-pregnancy", *more), severity="severe")
            assert 42 <= days(late, language) <= 63
        assert days(told(language, seed, past=pregnant), language) == 16 * 7
    assert re.search(SAYS[language]["none"], told(language, age=67))
    assert re.search(SAYS[language]["none"], told(language, past=womb))
    assert told(language, sex="male") == told(language, age=9) == ""


def test_it_goes_on_with_the_illness():
    first, later = (told("en", present=("ectopic-pregnancy",), days=passed) for passed in (0, 7))
    assert days(later, "en") == days(first, "en") + 7


def test_every_drawn_woman_knows_it_and_nobody_else():
    knowledge = read_knowledge().select("ectopic-pregnancy, acute-appendicitis")
    cases = [drawn.case for drawn in draw_patients(knowledge, n=60, seed=3)]
    for case in cases:
        person, text = case.presentation, case.record.history.personal
        assert bool(re.search(r"\bperiods?\b", text)) == (person.sex == "female" and person.age >= 13), text
    assert {case.presentation.sex for case in cases} == {"male", "female"}


@pytest.mark.slow
def test_hcg_goes_with_the_weeks_and_the_belly_is_not_irradiated():
    knowledge = read_knowledge().select("migraine, acute-appendicitis")
    values, of_belly = {}, {}
    for drawn in draw_patients(knowledge, n=3000, seed=2):
        weeks = re.search(r"Pregnant, (\d+) weeks", drawn.case.record.history.past)
        found = {f.examination for f in drawn.case.record.findings}
        of_belly.setdefault((drawn.disease.id, weeks is not None), set()).update(found & {"abdominal CT"})
        if weeks:
            values.setdefault(min(int(weeks[1]), 16), []).append(drawn.body.shown["beta_hcg"])
    mean = {weeks: sorted(of)[len(of) // 2] for weeks, of in values.items()}
    assert mean[11] > 1.5 * mean[7]
    assert mean[16] < mean[11] / 2
    assert of_belly[("migraine", True)] == set()
    assert of_belly[("migraine", False)] == {"abdominal CT"} == of_belly[("acute-appendicitis", True)]
