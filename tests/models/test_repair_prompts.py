"""A model is asked to answer in a form, and to answer again, in the language of the conversation."""

import pytest

from polyclinic.errors import UnreadableReply
from polyclinic.models.schema import form_of
from polyclinic.models.scripted import Scripted
from polyclinic.models.wire import in_words

ASKED = {
    "en": [("system", "You are a doctor."), ("user", "Which one?")],
    "zh": [("system", "你是一名医生。"), ("user", "是哪一个？CT")],
}
AGAIN = {"en": "cannot be used", "zh": "这个回答无法使用"}
FORM = {"en": "Answer with nothing but JSON", "zh": "只用JSON作答"}


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_repair_is_in_the_language_of_the_conversation(language):
    told = []

    def answer(messages):
        told.append([text for _, text in messages])
        return "" if len(told) == 1 else "neither"

    with pytest.raises(UnreadableReply):
        await Scripted(answer, repairs=1).ask(ASKED[language], answer=("A", "B"))
    *_, nothing, again = told[1]
    assert AGAIN[language] in again
    assert nothing == {"en": "(nothing)", "zh": "（无）"}[language]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_schema_in_words_is_in_the_language_of_the_conversation(language):
    messages = [{"role": role, "content": text} for role, text in ASKED[language]]
    said = in_words(messages, form_of(("A", "B")))[-1]["content"]
    assert said.startswith(ASKED[language][-1][1])
    assert FORM[language] in said
