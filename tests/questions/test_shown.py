"""How a question looks to a model."""

from polyclinic.cases.presentation import Question
from polyclinic.questions.shown import show


def test_context_stem_and_options_in_their_order():
    question = Question(id="secret-id", stem=" Which? ", options={"C": "third", "A": "first"}, context="A cough.\n")
    assert show(question) == "Context:\nA cough.\n\nQuestion:\nWhich?\n\nOptions:\nC. third\nA. first"
    assert show(question, options=False) == "Context:\nA cough.\n\nQuestion:\nWhich?"


def test_without_context_and_with_several():
    question = Question(id="q", stem="Which?", options={"A": "first"}, context=" ", several=True)
    assert (
        show(question) == "Question:\nWhich?\n\nOptions (one or more are right; all of them are asked for):\nA. first"
    )


def test_chinese():
    question = Question(id="q", stem="哪一项？", options={"A": "甲"}, context="咳嗽。", language="zh")
    assert show(question) == "背景：\n咳嗽。\n\n问题：\n哪一项？\n\n选项：\nA. 甲"
