"""The six metrics of simulated patients, and agreement on labels."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import each_row

from polyclinic.events import State
from polyclinic.language.language import LANGUAGES
from polyclinic.metrics.patient_replies import (
    PATIENT_METRICS,
    PATIENT_SECOND,
    PatientReply,
    read_keywords,
    says,
    score_reply,
    summarise_replies,
)
from polyclinic.statistics.agreement import agreement


def reply(state, text, *, language="en", heard=None, answer=None, turn=0, case="a"):
    information = "A cough for three days. A fever of 39 degrees." if language == "en" else "咳嗽三天，发热39度。"
    return PatientReply(
        case=case,
        turn=turn,
        state=State(state),
        text=text,
        language=language,
        information=information,
        answer=answer,
        heard=heard,
    )


@pytest.mark.usefixtures("words")
def test_effective_by_hand():
    said = score_reply(reply("A-A-A", "a cough and a fever", answer="a fever of 39"))
    # Of a, cough, and, a, fever: all but "and" stand in the record, "a fever" in what was asked.
    assert said == {
        "ACCURACY": 50,
        "PASSIVE": pytest.approx(60),
        "PASSIVE_LEAK": pytest.approx(40),
        "CAUTIOUS_LEAK": 80,
    }
    exact = score_reply(reply("B-A-A", "发热39度", language="zh", answer="发热39度"))
    assert (exact["ACCURACY"], exact["PASSIVE"]) == (100, 100)


@pytest.mark.usefixtures("words")
def test_other_states_by_hand():
    assert score_reply(reply("A-A-B", "no"))["HONEST"] == 100
    assert score_reply(reply("A-A-B", "a cough"))["CAUTIOUS"] == 0
    assert score_reply(reply("B-A-B", "no"))["HONEST"] == 0
    assert score_reply(reply("B-A-B", "no"))["HONEST_DENIAL"] == 100
    assert score_reply(reply("B-A-B", "I will have it done"))["HONEST"] == 100
    assert score_reply(reply("A-B", "Could you be more specific?"))["GUIDANCE"] == 100
    assert score_reply(reply("C", "You can't see me, this is online"))["FOCUS"] == 100
    assert score_reply(reply("O", "a cough")) == {}
    assert score_reply(reply("E", "bye")) == {}


@each_row(
    ("kind", "language", "yes", "no"),
    [
        ("denial", "en", "I don’t know", "Knotted nothingness aside, yes"),
        ("denial", "zh", "没有", "是的"),
        ("compliance", "en", "Okay, doctor", "I had it"),
        ("compliance", "zh", "好的，医生", "做过"),
        ("focus", "en", "Back to my health, please", "I like tennis"),
        ("focus", "zh", "我们还是回到病情上", "我喜欢网球"),
        ("guidance", "en", "Which test?", "Thank you"),
        ("guidance", "zh", "能具体一点吗", "谢谢"),
    ],
)
def test_keywords(kind, language, yes, no):
    assert says(kind, yes, language)
    assert not says(kind, no, language)


@pytest.mark.usefixtures("words")
def test_a_summary_counts_what_it_lacks():
    replies = [
        reply("A-A-A", "a cough", answer="a cough", heard=State.EFFECTIVE_INQUIRY),
        reply("A-A-A", "a cough", heard=State.AMBIGUOUS_INQUIRY, turn=1),
        reply("A-B", "what exactly?", heard=None, turn=1, case="b"),
    ]
    summary = summarise_replies(replies)
    assert list(summary.metrics) == list(PATIENT_METRICS)
    assert list(summary.second) == list(PATIENT_SECOND)
    assert summary.without_answer == 1
    assert summary.metrics["ACCURACY"].n == 1
    assert summary.metrics["FOCUS"].mean is None
    assert summary.by_turn[1]["GUIDANCE"].mean == 100
    assert summary.states.percent == pytest.approx(100 / 3)
    assert sum(summary.states.unreadable) == 1


def test_kappa_by_hand():
    # 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: 0.7 agreed, 0.5 by chance.
    pairs = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15
    found = agreement(*zip(*pairs, strict=True), labels=("y", "n"))
    assert found.kappa == pytest.approx(0.4)
    assert found.percent == 70
    assert found.confusion == ((20, 5), (10, 15))
    assert agreement([], [], labels=("y",)).percent is None
    assert agreement(["y"], ["y"], labels=("y",)).kappa is None
    with pytest.raises(ValueError, match="zip"):
        agreement(["y"], [], labels=("y",))
    with pytest.raises(ValueError, match="no such label: z"):
        agreement(["z"], ["y"], labels=("y",))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=40))
def test_agreement_is_bounded_and_alike_both_ways(pairs):
    one, other = zip(*pairs, strict=True)
    found, turned = agreement(one, other, labels="abc"), agreement(other, one, labels="abc")
    assert 0 <= found.low <= found.percent <= found.high <= 100
    assert sum(map(sum, found.confusion)) == found.n
    assert found.kappa == turned.kappa
    assert found.kappa is None or -1 <= found.kappa <= 1


def test_the_kinds_of_words_are_the_same_in_every_language():
    kinds = [sorted(read_keywords(language)) for language in LANGUAGES]
    assert kinds[0] == kinds[1] == ["compliance", "denial", "focus", "guidance"]
