"""The Bayesian reader, against what can be computed by hand and what must hold for any knowledge."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import each_row

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Finding
from polyclinic.errors import BadInput
from polyclinic.generation.ceiling import measure, wilson
from polyclinic.generation.draw import generate
from polyclinic.knowledge.bayes import NumberLikelihoods, Reader, WordingLikelihoods, normalise
from polyclinic.knowledge.data import SEVERITIES
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.lexicon import read_days, say_days


@pytest.fixture(scope="module")
def knowledge():
    return read_knowledge().select("respiratory")


@pytest.fixture(scope="module")
def reader(knowledge):
    return Reader(knowledge)


def test_the_prior_is_balanced_and_leaves_room_for_something_else(knowledge):
    prior = np.exp(Reader(knowledge, something_else=0.2).prior())
    assert prior.sum() == pytest.approx(1)
    assert prior[-1] == pytest.approx(0.2)
    assert len(set(prior[:-1].round(12))) == 1
    assert np.exp(Reader(knowledge).prior())[-1] == 0


def test_one_symptom_by_hand(knowledge, reader):
    fever = knowledge.symptoms["fever"]
    shares = [d.share(fever, s) for d in knowledge.diseases.values() for s in SEVERITIES]
    expected = np.array(shares) / sum(shares)
    posterior = normalise(reader.prior() + reader.symptom("fever", present=True))
    assert posterior[:-1] == pytest.approx(expected, abs=1e-3)


def test_information_by_hand(knowledge, reader):
    posterior = np.exp(reader.prior())
    information = reader.question_information(posterior)
    fever = list(knowledge.symptoms).index("fever")
    by_disease = [
        sum(d.share(knowledge.symptoms["fever"], s) for s in SEVERITIES) / 3 for d in knowledge.diseases.values()
    ]

    def h(p):
        return -sum(q * math.log(q) for q in (p, 1 - p) if q > 0)

    expected = h(sum(by_disease) / len(by_disease)) - sum(map(h, by_disease)) / len(by_disease)
    assert information[fever] == pytest.approx(expected, abs=2e-3)


@given(st.lists(st.floats(0, 1), min_size=25, max_size=25).filter(lambda w: sum(w[:-1]) > 0.1))
def test_information_is_never_negative_and_never_more_than_there_is_to_know(weights):
    reader = Reader(read_knowledge().select("respiratory"), something_else=0.1)
    # As a doctor plans: "something else" never has more than half of what the known diseases have.
    weights[-1] = min(weights[-1], sum(weights[:-1]) / 2)
    posterior = np.array(weights) / sum(weights)
    by_disease = reader.members @ posterior
    entropy = -sum(p * math.log(p) for p in by_disease if p > 0)
    questions = reader.question_information(posterior)
    assert questions.min() >= -1e-9
    assert questions.max() <= entropy + 1e-9
    # What is drawn under the known diseases only is an estimate; it may miss by the share of something else.
    for value in reader.examination_information(posterior, ["blood-test", "nucleic-acid-amplification"]).values():
        assert -0.05 <= value <= entropy + 0.05


def test_the_information_of_what_can_be_asked_for_is_the_same_to_the_last_bit_and_the_others_have_none(
    knowledge, reader
):
    weights = np.arange(1.0, reader.members.shape[1] + 1)
    posterior, some = weights / weights.sum(), np.arange(len(knowledge.symptoms)) % 3 != 1
    every = reader.question_information(posterior)
    assert np.array_equal(reader.question_information(posterior, some), np.where(some, every, 0.0))


def test_the_information_of_examinations_by_hand(knowledge):
    """Each sample of each hypothesis changes the belief; how sure one is then, on average, is what it brings."""
    reader = Reader(knowledge.select("influenza-a, covid-19"))
    prior, diseases, names = np.exp(reader.prior())[:-1], reader.diseases, ["blood-test", "nucleic-acid-amplification"]

    def h(ps):
        return -sum(p * math.log(p) for p in ps if p > 0)

    information = reader.examination_information(np.exp(reader.prior()), names)
    for name in names:
        log = 0.0
        for item in knowledge.examinations[name].items:
            table = NumberLikelihoods if item.numeric else WordingLikelihoods
            of = table(item, [d.distribution(name, item, s) for d in diseases for s in SEVERITIES])
            log = log + of.quantiles(8, np.arange(len(prior)))
        left = []
        for sample in np.exp(log)[..., :-1].reshape(-1, len(prior)) * prior:
            by_disease = sample.reshape(len(diseases), -1).sum(axis=1) / sample.sum()
            left.append(h(by_disease))
        assert information[name] == pytest.approx(h([0.5, 0.5]) - sum(left) / len(left), abs=1e-4)


def test_a_typing_test_separates_what_symptoms_do_not(knowledge):
    two = Reader(knowledge.select("influenza-a, influenza-b"))
    even = np.exp(two.prior())
    information = two.examination_information(even, knowledge.examinations)
    assert max(information, key=information.get) in ("nucleic-acid-amplification", "viral-antigen-detection")
    assert max(two.question_information(even)) < 0.1 * max(information.values())


def test_findings_are_read_by_name_synonym_and_unit_only(reader):
    named = Finding(examination="blood test", item="white blood cell count", value=6.5, unit="10*9/L")
    synonym = Finding(examination="血常规", item="WBC", value="6.5", unit="10*9/L")
    assert reader.finding(named)[2] == pytest.approx(reader.finding(synonym)[2])
    assert (
        reader.finding(Finding(examination="blood test", item="white blood cell count", value=6500, unit="/uL")) is None
    )
    assert reader.finding(Finding(examination="blood test", item="white blood cell count", value="high")) is None
    assert reader.finding(Finding(examination="horoscope", value="good")) is None


def test_a_result_in_unknown_words_speaks_for_something_else(knowledge):
    reader = Reader(knowledge, something_else=0.2)
    odd = reader.finding(Finding(examination="chest X-ray", item=_first_item(knowledge), value="a swallowed coin"))
    assert normalise(reader.prior() + odd[2])[-1] > 0.5


def _first_item(knowledge):
    return knowledge.examinations["chest-x-ray"].items[0].name.en


def test_age_and_sex_that_are_unknown_say_nothing(reader):
    assert not reader.person(Presentation(complaint="x")).any()
    assert reader.person(Presentation(complaint="x", age=40, sex="female")).any()


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_ceiling_is_neither_trivial_nor_impossible(knowledge, language):
    ceiling = measure(list(generate(knowledge, n=200, seed=31, language=language)), knowledge)
    assert 88 <= ceiling.percent <= 97
    assert ceiling.n == 200
    assert sum(map(sum, ceiling.confusion)) == 200
    steps = {step.read: step.percent for step in ceiling.steps}
    assert steps["history alone"] < steps["history and nucleic acid amplification test"] < ceiling.percent


def test_the_ceiling_needs_cases_of_the_knowledge(knowledge):
    cases = list(generate(knowledge.select("covid-19"), n=3, seed=1))
    assert measure([*cases], knowledge).n == 3
    with pytest.raises(BadInput, match="none of the 3 cases"):
        measure(cases, knowledge.select("influenza-a"))


def test_wilson():
    # Newcombe (1998), Statistics in Medicine 17, table I, method 3: 81 of 263.
    assert wilson(81, 263) == pytest.approx((25.53, 36.62), abs=0.01)


@each_row(
    ("text", "language", "days"),
    [
        ("cough for 3 days", "en", 3),
        ("cough for two weeks", "en", 14),
        ("a 35-year-old woman with a cough", "en", None),
        ("a 6-week history", "en", 42),
        ("咳嗽3天", "zh", 3),
        ("咳嗽两周", "zh", 14),
        ("咳嗽", "zh", None),
    ],
)
def test_durations_are_read(text, language, days):
    assert read_days(text, language) == days


@given(st.floats(0.5, 9000), st.sampled_from(["en", "zh"]))
def test_durations_said_are_read_back(days, language):
    read = read_days(say_days(days, language), language)
    assert read == pytest.approx(max(days, 1), rel=0.35)
