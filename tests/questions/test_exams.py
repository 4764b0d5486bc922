"""Exam questions: every published file whole, the right letters right, and nothing that gives an answer away."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import each_row

from polyclinic.cases.presentation import Question
from polyclinic.errors import BadInput
from polyclinic.questions.exam import ExamQuestion
from polyclinic.questions.examples import Example, read_examples, shipped_examples
from polyclinic.questions.layouts import (
    LAYOUTS,
    parse_fields,
    read_exam,
    sample,
    shuffled,
    write_exam,
)
from polyclinic.questions.shuffle import shuffle_options

MEDQA = {"question": "Why?", "options": {"A": "Iron", "B": "Zinc"}, "answer_idx": "B", "answer": "Zinc"}
MEDMCQA = {
    "id": "m1",
    "question": "Why?",
    "opa": "Iron",
    "opb": "Zinc",
    "opc": "Gold",
    "opd": "Tin",
    "cop": 2,
    "exp": "Because zinc is what it is.",
    "choice_type": "multi",
    "subject_name": "Physiology",
}
ARTICLE = {"QUESTION": "Why?", "CONTEXTS": ["First.", "Second."], "final_decision": "no", "LONG_ANSWER": "It was not."}
OWN = {"question": {"id": "o1", "stem": "Why?", "options": {"A": "Iron", "B": "Zinc"}}, "key": ["B"]}


@pytest.fixture
def exam(tmp_path):
    """Writes records as a file of lines, and returns its path."""

    def exam(*records, name="exam.jsonl"):
        path = tmp_path / name
        lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return path

    return exam


PUBLISHED = {
    "medqa/phrases_no_exclude_test.jsonl": 1273,
    "medmcqa/dev.json": 4183,
    "pubmedqa/ori_pqal.json": 500,
    "mmlu": 1089,
}
GOLD = [
    ("medqa/phrases_no_exclude_test.jsonl", "medqa-0001", "B", "Tell the attending that he cannot fail to disclose"),
    ("medqa/phrases_no_exclude_test.jsonl", "medqa-0008", "C", "Clopidogrel"),
    ("medqa/phrases_no_exclude_test.jsonl", "medqa-1273", "C", "Chronic obstructive pulmonary disease (COPD)"),
    ("medmcqa/dev.json", "45258d3d-b974-44dd-a161-c3fccbdadd88", "A", "Impulse through myelinated fibers is slower"),
    ("medmcqa/dev.json", "ce49098b-cc48-4168-859e-936e3e0c7459", "B", "Anterior ethmoidal"),
    ("medmcqa/dev.json", "e7f023ea-2147-47d3-9f2a-61fb60a900be", "A", "Epsilon aminocaproic acid"),
    ("pubmedqa/ori_pqal.json", "12377809", "yes", "yes"),
    ("pubmedqa/ori_pqal.json", "26134053", "maybe", "maybe"),
    ("mmlu", "mmlu-anatomy-0001", "A", "paralysis of the facial muscles."),
    ("mmlu", "mmlu-anatomy-0008", "B", "Mucous membranes"),
    ("mmlu", "mmlu-medical_genetics-0004", "C", "thymine."),
    ("mmlu", "mmlu-professional_medicine-0272", "B", "Increases nitric oxide concentration"),
]


def records_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


@pytest.fixture(scope="module")
def published(shared_data):
    return {name: read_exam(shared_data / "qa" / name) for name in PUBLISHED}


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_published_question_is_read(published, shared_data, name):
    questions = published[name]
    assert len(questions) == PUBLISHED[name]
    assert len({question.question.id for question in questions}) == len(questions)
    assert read_exam(shared_data / "qa" / name) == questions
    assert all(len(question.key) == 1 and not question.question.several for question in questions)
    assert {question.question.language for question in questions} == {"en"}


@each_row(("name", "id", "key", "text"), GOLD)
def test_the_right_letters_are_right(published, name, id, key, text):
    [question] = [question for question in published[name] if question.question.id == id]
    assert question.key == (key,)
    assert question.question.options[key].startswith(text)


def test_published_letters_are_counted_as_their_files_have_them(published):
    counted = {name: Counter(question.key[0] for question in questions) for name, questions in published.items()}
    assert counted["medmcqa/dev.json"] == {"A": 1348, "B": 1085, "C": 925, "D": 825}
    assert counted["pubmedqa/ori_pqal.json"] == {"yes": 276, "no": 169, "maybe": 55}
    assert Counter(question.subject for question in published["mmlu"]) == {
        "anatomy": 135,
        "clinical knowledge": 265,
        "college biology": 144,
        "college medicine": 173,
        "medical genetics": 100,
        "professional medicine": 272,
    }


def test_options_stand_in_the_order_of_the_file(published, shared_data):
    records = records_of(shared_data / "qa" / "medmcqa" / "dev.json")
    for record, question in zip(records, published["medmcqa/dev.json"], strict=True):
        assert list(question.question.options) == list("ABCD")
        assert list(question.question.options.values()) == [record[f"op{letter}"].strip() for letter in "abcd"]


def test_what_gives_the_answer_away_reaches_no_question(published, shared_data):
    """Walks everything that a question shows, of all of them."""
    qa = shared_data / "qa"
    medmcqa = records_of(qa / "medmcqa" / "dev.json")
    articles = json.loads((qa / "pubmedqa" / "ori_pqal.json").read_text(encoding="utf-8"))
    medqa = records_of(qa / "medqa" / "phrases_no_exclude_test.jsonl")
    allowed = {
        "medqa/phrases_no_exclude_test.jsonl": [
            {r["question"].strip(), *r["options"], *map(str.strip, r["options"].values())} for r in medqa
        ],
        "medmcqa/dev.json": [{r["question"].strip(), *"ABCD", *(r[f"op{c}"].strip() for c in "abcd")} for r in medmcqa],
        "pubmedqa/ori_pqal.json": [
            {
                articles[q.question.id]["QUESTION"].strip(),
                "yes",
                "no",
                "maybe",
                "\n\n".join(map(str.strip, articles[q.question.id]["CONTEXTS"])),
            }
            for q in published["pubmedqa/ori_pqal.json"]
        ],
    }
    for name, expected in allowed.items():
        for question, texts in zip(published[name], expected, strict=True):
            shown = question.question
            visible = {shown.stem, *shown.options, *shown.options.values()} | (
                {shown.context} if shown.context else set()
            )
            assert visible <= texts, shown.id
    for question in published["pubmedqa/ori_pqal.json"]:
        conclusion = articles[question.question.id]["LONG_ANSWER"].strip()
        assert conclusion not in question.question.context
        assert conclusion not in question.question.stem
    for record, question in zip(medmcqa, published["medmcqa/dev.json"], strict=True):
        explanation = (record["exp"] or "").strip()
        assert len(explanation) < 12 or explanation not in question.question.stem + question.question.context


def test_samples_are_the_same_for_a_seed_and_mmlu_is_whole(published):
    questions = published["medmcqa/dev.json"]
    drawn = sample(questions, seed=3)
    assert len(drawn) == 300
    assert drawn == sample(questions, seed=3)
    assert drawn != sample(questions, seed=4)
    assert drawn == [question for question in questions if question in set_of(drawn)]
    assert sample(questions[:20], seed=3) == questions[:20]
    assert sample(published["mmlu"], seed=3) == published["mmlu"]


def set_of(questions):
    ids = {question.question.id for question in questions}

    class ById:
        def __contains__(self, question):
            return question.question.id in ids

    return ById()


def test_shuffled_options_are_the_same_options(published):
    moved = 0
    for name in PUBLISHED:
        for question in published[name][:200]:
            other = shuffled(question, seed=5)
            assert other == shuffled(question, seed=5)
            assert {other.original[key] for key in other.question.key} == set(question.key)
            old, new = question.question.options, other.question.question.options
            assert sorted(old.items()) == sorted((other.original[key], text) for key, text in new.items())
            moved += other.question.question.options != old
    assert moved > 300


OPTIONS = st.lists(
    st.text(st.characters(categories=["L"]), min_size=3, max_size=8), min_size=2, max_size=12, unique=True
)


@given(OPTIONS, st.integers(0, 9), st.data())
def test_shuffling_is_undone(texts, seed, data):
    options = {str(number): text for number, text in enumerate(texts, 1)}
    key = data.draw(st.sampled_from(list(options)))
    question = ExamQuestion(question=Question(id="q", stem="?", options=options), key=(key,))
    other = shuffled(question, seed=seed)
    assert list(other.question.question.options) == list(options)
    assert other.question.question.options[other.question.key[0]] == options[key]
    assert {other.original[new]: text for new, text in other.question.question.options.items()} == options


def test_options_that_speak_of_others_stay():
    above = Question(id="q", stem="?", options={"A": "Iron", "B": "Zinc", "C": "Gold", "D": "None of the above"})
    orders = {tuple(shuffle_options(above, seed=seed)[0].options.values()) for seed in range(30)}
    assert len(orders) > 3
    assert {order[-1] for order in orders} == {"None of the above"}
    letters = Question(id="q", stem="?", options={"A": "Iron", "B": "Zinc", "C": "Both A and B", "D": "Tin"})
    assert all(shuffle_options(letters, seed=seed)[0] == letters for seed in range(30))
    decision = Question(id="q", stem="?", options={"yes": "yes", "no": "no", "maybe": "maybe"})
    for seed in range(10):
        other, original = shuffle_options(decision, seed=seed)
        assert all(key == text == original[key] for key, text in other.options.items())


def test_each_layout_is_recognised(exam, tmp_path):
    assert read_exam(exam(MEDQA))[0].key == ("B",)
    assert read_exam(exam(MEDMCQA))[0] == ExamQuestion(
        question=Question(id="m1", stem="Why?", options={"A": "Iron", "B": "Zinc", "C": "Gold", "D": "Tin"}),
        key=("B",),
        subject="Physiology",
    )
    [article] = read_exam(exam({"77": ARTICLE}))
    assert (article.question.id, article.key, article.question.context) == ("77", ("no",), "First.\n\nSecond.")
    assert read_exam(exam(OWN))[0].question.id == "o1"
    (tmp_path / "anatomy_test.csv").write_text(
        '"Why,\nso?",Iron,Zinc,B\n\nWhere?,Here,There,"In ""it""",C\n', encoding="utf-8"
    )
    assert [(q.question.id, q.key, q.subject) for q in read_exam(tmp_path / "anatomy_test.csv")] == [
        ("mmlu-anatomy-0001", ("B",), "anatomy"),
        ("mmlu-anatomy-0002", ("C",), "anatomy"),
    ]


def test_pubmedqa_is_its_test_set_where_that_is_told(exam):
    path = exam({"1": ARTICLE, "2": ARTICLE, "3": ARTICLE}, name="ori_pqal.json")
    assert [question.question.id for question in read_exam(path)] == ["1", "2", "3"]
    truth = exam({"3": "no", "1": "no"}, name="test_ground_truth.json")
    assert [question.question.id for question in read_exam(path)] == ["3", "1"]
    truth.write_text('{"3": "no", "9": "no"}')
    with pytest.raises(BadInput, match="names 2 articles, of which 9"):
        read_exam(path)
    truth.write_text('{"3": "yes"}')
    with pytest.raises(BadInput, match=r"\$\.3\.final_decision: it says no, and"):
        read_exam(path)
    truth.write_text('{"7": "yes"}')  # another split of the set
    assert len(read_exam(path)) == 3


@given(st.lists(st.builds(lambda n: n, st.integers(0, 99)), min_size=1, max_size=5, unique=True), st.booleans())
def test_our_own_layout_is_read_back(tmp_path_factory, numbers, several):
    questions = [
        ExamQuestion(
            question=Question(
                id=f"q{number}", stem="Why?", options={"甲": "Iron", "乙": "Zinc"}, context="Read.", several=several
            ),
            key=("甲", "乙") if several else ("乙",),
            subject="metals",
        )
        for number in numbers
    ]
    path = tmp_path_factory.mktemp("own") / "exam.jsonl"
    write_exam(path, questions)
    assert read_exam(path) == questions
    assert read_exam(path, layout="polyclinic") == questions


@each_row(
    ("record", "fields", "base", "key"),
    [
        (
            {"stem": "Why?", "choices": ["Iron", "Zinc"], "gold": "B"},
            "question=stem,options=choices,answer=gold",
            None,
            "B",
        ),
        ({"stem": "Why?", "choices": ["Iron", "Zinc"], "gold": 1}, "question=stem,options=choices,answer=gold", 0, "B"),
        ({"stem": "Why?", "choices": ["Iron", "Zinc"], "gold": 1}, "question=stem,options=choices,answer=gold", 1, "A"),
        (
            {"stem": "Why?", "choices": ["Iron", "Zinc"], "gold": "1"},
            "question=stem,options=choices,answer=gold",
            0,
            "B",
        ),
        (
            {"stem": "Why?", "choices": ["Iron", "Zinc"], "gold": "Zinc"},
            "question=stem,options=choices,answer=gold",
            None,
            "B",
        ),
        (
            {"stem": "Why?", "choices": {"1": "Iron", "2": "Zinc"}, "gold": "2"},
            "question=stem,options=choices,answer=gold",
            None,
            "2",
        ),
        (
            {"q": {"stem": "Why?"}, "a": "Iron", "b": "Zinc", "gold": 0},
            "question=q.stem,options=a+b,answer=gold",
            0,
            "A",
        ),
    ],
)
def test_any_records_are_read_with_a_field_map(exam, record, fields, base, key):
    [question] = read_exam(exam(record), fields=parse_fields(fields), answer_base=base)
    assert (question.question.stem, list(question.question.options.values())) == ("Why?", ["Iron", "Zinc"])
    assert (question.question.id, question.key) == ("question-0001", (key,))


def test_a_field_map_reads_several_answers_context_subject_and_id(exam):
    record = {"q": "Why?", "o": ["Iron", "Zinc", "Tin"], "a": ["A", "C"], "c": "Read.", "s": "metals", "uid": 7}
    fields = parse_fields("question=q,options=o,answer=a,context=c,subject=s,id=uid")
    [question] = read_exam(exam(record), fields=fields)
    assert question.question.several
    assert (question.key, question.question.context, question.subject) == (("A", "C"), "Read.", "metals")
    assert question.question.id == "7"


WRONG = [
    ([{**MEDQA, "options": {}}], {}, r"line 1, \$\.options: nothing is here"),
    ([{**MEDQA, "options": {"A": "Iron"}}], {}, r"line 1, \$\.options: two or more options"),
    ([{**MEDQA, "options": {"A": "Iron", "B": " "}, "answer": None}], {}, r"line 1, \$\.options: option 'B' is empty"),
    (
        [MEDQA, {**MEDQA, "answer_idx": "E"}],
        {},
        r"line 2, \$\.answer_idx: the right answer is 'E'; the options are A, B",
    ),
    ([{**MEDQA, "answer": "Iron"}], {}, r"line 1, \$\.answer_idx: answer_idx is B, and answer is not the text"),
    ([{**MEDQA, "question": ""}], {}, r"line 1, \$\.question: nothing is here"),
    ([MEDMCQA, {**MEDMCQA, "question": "Where?"}], {}, r"line 2, \$\.id: the id 'm1' stands in line 1 already"),
    (
        [MEDMCQA, {**MEDMCQA, "id": "m2", "cop": 0}],
        {},
        r"line 2, \$\.cop: the right answer is number 0; they go from 1",
    ),
    ([{**MEDMCQA, "cop": "two"}], {}, r"\$\.cop: the right answer is 'two'"),
    ([{**MEDMCQA, "opc": None}], {}, r"\$\.opc: nothing is here"),
    ([{"7": {**ARTICLE, "final_decision": "perhaps"}}], {}, r"\$\.7\.final_decision: the decision is 'perhaps'"),
    ([{"7": {**ARTICLE, "CONTEXTS": "text"}}], {}, r"\$\.7\.CONTEXTS: a list of paragraphs"),
    ([{**OWN, "key": []}], {}, r"\$\.answer: a question needs its right answer"),
    ([{**OWN, "key": ["A", "B"]}], {}, r"\$\.answer: 2 right answers, and the question asks for one"),
    ([{**OWN, "key": ["C"]}], {}, r"the right answer is 'C'; the options are A, B"),
    ([{**OWN, "exp": "B"}], {}, r"unknown field `exp`"),
    (['{"question": '], {}, r"line 1: the JSON is cut off"),
    ([MEDQA, "no JSON"], {}, r"line 2: not JSON"),
    ([{"stem": "Why?"}], {}, r"line 1: the layout is not recognised by the keys that came: 'stem'"),
    ([MEDMCQA], {"layout": "medqa"}, r"this is read as medqa, and looks like medmcqa"),
    ([MEDQA], {"layout": "usmle"}, r"no layout of exam questions is called 'usmle'; there are polyclinic, medqa"),
    ([MEDQA], {"layout": "medqa", "fields": {}}, r"both given"),
    ([MEDQA], {"answer_base": 1}, r"answer_base belongs to a field map"),
    ([MEDQA], {"fields": {"question": "question"}}, r"the field map lacks options, answer"),
    ([MEDQA], {"fields": {"stem": "question"}}, r"the field map names 'stem'; there are question, options"),
]


@each_row(("records", "arguments", "problem"), WRONG)
def test_what_is_wrong_is_named_with_its_place(exam, records, arguments, problem):
    path = exam(*records)
    with pytest.raises(BadInput, match=problem) as error:
        read_exam(path, **arguments)
    assert "line" not in problem or error.value.path == path


@each_row(
    ("record", "base", "problem"),
    [
        ({"a": 1}, None, "the number 1; say whether it counts from 0 or 1"),
        ({"a": 2}, 0, "number 2; they go from 0 to 1"),
        ({"a": 0}, 1, "number 0; they go from 1 to 2"),
        ({"a": "Gold"}, None, "the right answer is 'Gold'; the options are A, B"),
        ({"a": None}, None, "nothing is here; the fields that came are 'q', 'o', 'a'"),
        ({"o": ["Iron", "Iron"], "a": "Iron"}, None, "the text of the options A, B alike"),
        ({"o": ["x"] * 27, "a": "A"}, None, "27 options came"),
    ],
)
def test_a_field_map_guesses_nothing(exam, record, base, problem):
    path = exam({"q": "Why?", "o": ["Iron", "Zinc"], **record})
    with pytest.raises(BadInput, match=problem):
        read_exam(path, fields=parse_fields("question=q,options=o,answer=a"), answer_base=base)


@pytest.mark.parametrize("text", ["", "question", "question=", "stem=question", "question=q,options=o"])
def test_a_field_map_that_is_none_is_refused(text):
    with pytest.raises(BadInput, match="field map"):
        parse_fields(text)


@each_row(
    ("text", "problem"),
    [
        ("", "the file is empty"),
        ("\n\n", "blank lines only"),
        ("Why?,Iron,Zinc,E\n", "line 1: the last column is 'E'"),
        ("question,A,B,answer\n", "line 1: the last column is 'answer'.* no header"),
        ("Why?,Iron,Zinc,A\nWhy?,A\n", "line 2: 2 columns came"),
        ('Why?,Iron,Zinc,A\n"Why?,Iron', "line 2: no table"),
        ("Why?,Iron,,A\n", r"line 1, \$\.options: option 'B' is empty"),
    ],
)
def test_a_wrong_csv_is_named_with_its_line(tmp_path, text, problem):
    path = tmp_path / "anatomy_test.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=problem):
        read_exam(path)


def test_a_folder_without_files_and_a_file_that_is_not_there(tmp_path):
    with pytest.raises(BadInput, match="holds no CSV file"):
        read_exam(tmp_path)
    with pytest.raises(BadInput, match="no such file"):
        read_exam(tmp_path / "none.jsonl")
    assert "mmlu" in LAYOUTS


@pytest.mark.parametrize(
    ("language", "kind", "n"), [("en", "choice", 5), ("zh", "choice", 5), ("en", "decision", 3), ("zh", "decision", 3)]
)
def test_shipped_examples_are_whole(language, kind, n):
    examples = shipped_examples(language, kind)
    assert len(examples) == n
    for example in examples:
        assert example.question.language == language
        assert example.reasoning
        assert list(example.question.options) == (list("ABCD") if kind == "choice" else ["yes", "no", "maybe"])
        assert bool(example.question.context) == (kind == "decision")
    # A model that is shown one letter again and again learns the letter.
    assert Counter(example.key[0] for example in examples).most_common(1)[0][1] <= 2
    assert len({example.key for example in examples}) >= min(n, 4)


def test_shipped_examples_are_of_no_test_set(published):
    stems = {question.question.stem for questions in published.values() for question in questions}
    for language, kind in (("en", "choice"), ("en", "decision")):
        assert not stems & {example.question.stem for example in shipped_examples(language, kind)}


def test_a_training_split_of_ones_own_is_read(exam):
    own = {**OWN, "reasoning": "Zinc it is."}
    assert read_examples(exam(own)) == (
        Example(
            question=Question(id="o1", stem="Why?", options={"A": "Iron", "B": "Zinc"}),
            reasoning="Zinc it is.",
            key=("B",),
        ),
    )


@each_row(
    ("records", "problem"),
    [
        ([{**OWN, "key": []}], r"line 1, \$\.key: an example needs its right answer"),
        ([{**OWN, "key": ["E"]}], r"line 1, \$\.key: the right answer is 'E'"),
        ([{**OWN, "key": ["A", "B"]}], r"line 1, \$\.key: 2 right answers"),
        ([OWN, OWN], r"line 2, \$\.question\.id: the id 'o1' stands in line 1 already"),
        ([{"question": OWN["question"]}], r"line 1: not an example: Object missing required field `key`"),
        (["{"], r"line 1: not JSON \(Input data was truncated"),
    ],
)
def test_a_wrong_training_split_is_named_with_its_place(exam, records, problem):
    with pytest.raises(BadInput, match=problem):
        read_examples(exam(*records))
