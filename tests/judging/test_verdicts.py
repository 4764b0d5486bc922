"""People's verdicts: how files are read and checked, how far people agree, and what they come to."""

import csv
import json

import pytest

from polyclinic.cases.presentation import Question
from polyclinic.errors import BadInput, UserError
from polyclinic.judging.error_categories import ErrorCategory
from polyclinic.judging.people import accepted, agreed, disputed, figures, people_words
from polyclinic.judging.sheets import Material, rows_to_fill, sheet_of
from polyclinic.judging.verdicts import forms, read_verdicts, table_text, write_verdicts
from polyclinic.questions.exam import ExamQuestion


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def a_round(turn, who, relevant="yes", consistent="yes", suggested="no", examined="no", case="c1"):
    answers = {"relevant": relevant, "consistent": consistent, "suggested": suggested, "examined": examined}
    return {"form": "rounds", "case": case, "doctor": "d", "turn": turn, "who": who, **answers}


def pair(first, second, who, **answers):
    return {"form": "pairs patient", "case": "c1", "first": first, "second": second, "who": who, **answers}


def test_a_table_and_json_lines_say_the_same(tmp_path):
    path = lines(tmp_path / "all.jsonl", [a_round(1, "anna"), {**a_round(2, "anna"), "consistent": None}])
    verdicts = read_verdicts([path])
    for ending in (".csv", ".tsv", ".jsonl"):
        written = tmp_path / f"again{ending}"
        written.write_text(write_verdicts(verdicts, ending), "utf-8")
        assert read_verdicts([written]) == verdicts, ending
    # As a spreadsheet in another country writes it, with words of one's own and Chinese ones.
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(
        "\ufeffcase;doctor;turn;who;relevant;consistent;suggested;examined;said\nc1;d;1;anna;Y;是;No;否;x\n", "utf-8"
    )
    assert read_verdicts([sheet], form="rounds") == verdicts[:1]


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl"])
def test_a_written_file_is_read_as_it_was_or_is_named(tmp_path, ending):
    rows = [{**a_round(n, "anna"), "comment": "first\n\n then =1 "} for n in (1, 2, 3)]
    verdicts = read_verdicts([lines(tmp_path / "all.jsonl", rows)])
    written = tmp_path / f"written{ending}"
    written.write_text(write_verdicts(verdicts, ending), "utf-8")
    read = read_verdicts([written])
    assert [one.answers for one in read] == [one.answers for one in verdicts]
    whole = written.read_text("utf-8")
    kept = whole.splitlines(keepends=True)
    for text in (whole.replace("yes", "no", 1), whole.replace("anna", "anne", 1), "".join(kept[:-1])):
        assert text != whole
        written.write_text(text, "utf-8")
        with pytest.raises(BadInput, match="not what was written: a row is missing or changed"):
            read_verdicts([written])
        bad = []
        assert read_verdicts([written], bad=bad) == [] and len(bad) == 1


def test_what_cannot_be_used_is_said_in_one_line(tmp_path):
    known = {"rounds": {("c1", "d", "1"): None}}
    for rows, problem in [
        (
            [a_round(1, "anna"), a_round(1, "anna", "no")],
            "line 2: anna's verdict on case c1, doctor d, turn 1 stands in line 1",
        ),
        ([a_round(1, "anna", case="c7")], "line 1: no case 'c7' to speak of; there are: c1"),
        ([a_round(4, "anna")], "no turn '4' to speak of; there are: 1"),
        ([a_round(1, "anna", "perhaps")], "'perhaps' is no answer to 'relevant'; allowed: yes | no"),
        ([a_round(1, "")], "'who' is empty"),
        ([{**a_round(1, "anna"), "relevance": "yes"}], "'relevance' is no field of 'rounds'"),
        ([{**a_round(1, "anna"), "form": "turns"}], "no form 'turns'; there are: pairs doctor, pairs patient, rounds"),
        ([{"case": "c1", "who": "anna"}], "no 'form'"),
        ([{"form": "rounds", "case": "c1", "who": "anna"}], "no 'doctor'; an item of 'rounds' has case, doctor, turn"),
        ([{"form": "explanations", "case": "c1", "method": "m", "who": "a", "relevance": 5.5}], "allowed: 0 to 5"),
        # The same two doctors the other way round are the same item.
        (
            [pair("x", "y", "anna", total="first"), pair("y", "x", "anna", total="first")],
            "case c1, first x, second y stands",
        ),
    ]:
        with pytest.raises(BadInput) as caught:
            read_verdicts([lines(tmp_path / "bad.jsonl", rows)], known=known)
        assert problem in str(caught.value) and "\n" not in str(caught.value), problem
    with pytest.raises(BadInput, match="two columns are named 'who'"):
        (tmp_path / "bad.csv").write_text("form,case,who,who\n", "utf-8")
        read_verdicts([tmp_path / "bad.csv"])


def test_a_row_that_nobody_has_filled_in_is_left_out(tmp_path):
    assert read_verdicts([lines(tmp_path / "a.jsonl", [a_round(1, "", "", "", "", "")])]) == []


def test_a_third_decides_where_two_differ(tmp_path):
    """Appendix E of AI Hospital: two agree on all but one of a question; the third's word is the majority."""
    rows = [a_round(turn, who) for turn in range(1, 11) for who in ("anna", "bea")]
    rows[1]["consistent"] = "no"
    two = read_verdicts([lines(tmp_path / "two.jsonl", rows)])
    assert disputed(two, "rounds") == [("c1", "d", "1")]
    by_question = {one.question: one for one in agreed(two, "rounds")}
    assert (by_question["consistent"].alike, by_question["consistent"].undecided) == (90.0, 1)
    assert by_question["relevant"].alike == 100
    third = read_verdicts(
        [tmp_path / "two.jsonl", lines(tmp_path / "third.jsonl", [a_round(1, "cleo", consistent="no")])]
    )
    assert disputed(third, "rounds") == []
    assert accepted(third, "rounds")["c1", "d", "1"]["consistent"] == "no"
    # The third saw nothing but the quarrel, and changes neither share nor alpha.
    after = {one.question: one for one in agreed(third, "rounds")}["consistent"]
    assert (after.alike, after.alpha.alpha) == (90.0, by_question["consistent"].alpha.alpha)


def test_the_accuracy_of_examinations_in_both_readings(tmp_path):
    asked = [("yes", "yes"), ("yes", "yes"), ("yes", "no"), ("no", "no"), ("no", "yes")]
    rows = [a_round(n, "anna", suggested=s, examined=e) for n, (s, e) in enumerate(asked, 1)]
    found = figures(read_verdicts([lines(tmp_path / "a.jsonl", rows)]), "rounds")["d"]
    assert (found.n, found.counts) == (5, {"#Test": 3})
    arrived, as_printed = found.shares["asked, examined"], found.shares["not asked, not examined"]
    assert (arrived.percent, arrived.n) == (pytest.approx(100 * 2 / 3), 3)
    assert (as_printed.percent, as_printed.n) == (50.0, 2)


def test_a_record_is_right_where_all_three_parts_are(tmp_path):
    parts = [("yes", "yes", "yes"), ("yes", "no", "yes"), ("yes", "yes", None), ("no", None, None)]
    rows = [
        {"form": "records", "case": str(n), "who": "anna", "diagnosis": d, "rationale": r, "treatment": t}
        for n, (d, r, t) in enumerate(parts)
    ]
    shares = figures(read_verdicts([lines(tmp_path / "a.jsonl", rows)]), "records")[""].shares
    # The third has no verdict on a part, and may be either.
    assert (shares["all right"].percent, shares["all right"].n) == (pytest.approx(100 / 3), 3)
    assert shares["diagnosis"].percent == 75


def test_votes_on_two_doctors(tmp_path):
    rows = [
        pair("x", "y", "anna", total="first", clear="tie"),
        pair("y", "x", "bea", total="second", clear="first"),
        pair("x", "y", "cleo", total="second", clear="second"),
    ]
    found = figures(read_verdicts([lines(tmp_path / "a.jsonl", rows)]), "pairs patient")[""].criteria
    assert found["total"].win_rates["x"].wins == 1  # two of three
    assert found["clear"].win_rates["y"].wins == 1


def test_marks_and_grades_are_means_and_categories_counts(tmp_path):
    rows = [
        {"form": "explanations", "case": "c", "method": "m", "who": who, "relevance": mark}
        for who, mark in zip("abc", (4, 3.5, 4.5), strict=True)
    ]
    rows += [
        {"form": "grades", "case": "c", "doctor": "d", "who": who, "diagnosis": g}
        for who, g in zip("ab", "BC", strict=True)
    ]
    rows += [{"form": "failures", "case": "c", "doctor": "d", "who": "a", "reason": "omission"}]
    rows += [{"form": "errors", "question": "q", "method": "m", "who": "a", "category": "cot"}]
    verdicts = read_verdicts([lines(tmp_path / "a.jsonl", rows)])
    assert figures(verdicts, "explanations")["m"].means["relevance"].mean == 4
    assert figures(verdicts, "grades")["d"].means["diagnosis"].mean == 2.5
    assert figures(verdicts, "failures")["d"].counts == {"omission": 1, "complications": 0, "erroneous": 0}
    assert figures(verdicts, "errors")["m"].counts["cot"] == 1


def test_what_most_say_of_an_error_is_the_word_and_the_sheet_shows_the_question(tmp_path):
    question = Question(id="q1", stem="Which?", options={"A": "one", "B": "two"})
    outcomes = lines(
        tmp_path / "zero_shot.jsonl",
        [{"id": "q1", "outcome": {"answers": ["B"], "rationale": "So.", "trace": [{"purpose": "ask", "text": "B."}]}}],
    )
    asked = {"q1": ExamQuestion(question=question, key=("A",))}
    items = sheet_of("errors", Material(files=[outcomes], questions=asked))
    (shown,) = items.values()
    assert "Which?" in shown["asked"] and (shown["key"], shown["answer"]) == ("A. one", "B. two")
    assert shown["said"] == "ask: B.\n\nSo."
    with pytest.raises(UserError, match="question 'q1'"):
        sheet_of("errors", Material(files=[outcomes]))
    rows = [
        {**rows_to_fill("errors", items, who)[0], "category": what}
        for who, what in (("a", "cot"), ("b", "cot"), ("c", "consistency"))
    ]
    verdicts = read_verdicts([lines(tmp_path / "e.jsonl", rows)])
    assert people_words(verdicts, "errors", ErrorCategory) == {("q1", "zero_shot"): (ErrorCategory.COT, "people")}


def test_tables_hold_what_every_spreadsheet_can_read():
    text = table_text([{"a": 'a "b", c\nd', "b": None}, {"a": "中"}])
    assert text.startswith("\ufeff")
    assert next(csv.DictReader(text[1:].splitlines(keepends=True))) == {"a": 'a "b", c\nd', "b": ""}


def test_every_form_has_kinds_and_both_languages():
    for name, form in forms().items():
        for question, asked in form.questions.items():
            assert asked.answers.answers or asked.answers.scale, (name, question)
            assert asked.en.isascii() and not asked.zh.isascii(), (name, question)
