"""Trees: what is one, how it is printed, read back and merged."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import each_row

from polyclinic.errors import UnreadableReply
from polyclinic.evidence_tree import EvidenceTree, merge, parse_tree, print_tree
from polyclinic.evidence_tree.tree import Leaf, Reasoning, Suspected

# Letters, signs that the printed form itself uses, other languages, and white space of every kind.
TEXTS = st.one_of(
    st.text(min_size=1, max_size=30),
    st.sampled_from(
        ["Analysis: x", "Evidence 1: y", "```", "# head", "- dash", ".2 tree.", "分析：甲", "证据2：乙", "A\u2028B"]
    ),
).filter(lambda text: bool(text.split()))


def trees(texts=TEXTS):
    reasonings = st.builds(Reasoning, texts, st.lists(texts, min_size=1, max_size=3).map(tuple))
    suspected = st.builds(Suspected, texts, st.lists(reasonings, min_size=1, max_size=3).map(tuple))
    return st.builds(EvidenceTree, st.lists(suspected, max_size=4).map(tuple))


TREE = EvidenceTree(
    (
        Suspected("Iron deficiency anaemia", (Reasoning("Empty stores.", ("hemoglobin 84 g/L", "ferritin 6 ug/L")),)),
        Suspected("Kidney cyst", (Reasoning("Seen on CT.", ("a cyst of 2 cm",)),)),
    )
)
PRINTED = """\
Reasoning pathway
  Iron deficiency anaemia
    Analysis: Empty stores.
      Evidence 1: hemoglobin 84 g/L
      Evidence 2: ferritin 6 ug/L
  Kidney cyst
    Analysis: Seen on CT.
      Evidence 1: a cyst of 2 cm"""


def test_a_tree_is_printed_in_the_indented_form():
    assert print_tree(TREE) == PRINTED
    assert print_tree(EvidenceTree()) == "Reasoning pathway"
    assert "\n    分析：Empty stores.\n      证据1：hemoglobin" in print_tree(TREE, "zh")


@given(trees(), st.sampled_from(["en", "zh"]))
def test_printing_and_parsing_are_inverse(tree, language):
    assert parse_tree(print_tree(tree, language)) == tree


@given(trees())
def test_a_tree_goes_through_json(tree):
    assert msgspec.json.decode(msgspec.json.encode(tree), type=EvidenceTree) == tree


DRAWN = [
    r"\dirtree{% .1 Pathway. .2 X".replace(" .2 X", "")
    + "\n.2 Iron deficiency anaemia.\n.3 Analysis: Empty stores.\n.4 Evidence 1: hemoglobin 84 g/L.\n"
    ".4 Evidence 2: ferritin 6 ug/L.\n.2 Kidney cyst.\n.3 Analysis: Seen on CT.\n.4 Evidence 1: a cyst of 2 cm.\n}",
    "Pathway\n├── Iron deficiency anaemia\n│   └── Analysis: Empty stores\n│       ├── Evidence 1: hemoglobin 84 g/L\n"
    "│       └── Evidence 2: ferritin 6 ug/L\n└── Kidney cyst\n    └── Analysis: Seen on CT\n        └── Evidence: "
    "a cyst of 2 cm",
    "```markdown\n# Pathway\n\n## 1. Iron deficiency anaemia\n### Analysis: Empty stores\n- **Evidence 1:** hemoglobin "
    "84 g/L\n- Evidence 2: ferritin 6 ug/L\n\n## 2. Kidney cyst\n### Reasoning process: Seen on CT\n- Evidence: a cyst "
    "of 2 cm\n```",
]


@pytest.mark.parametrize("text", DRAWN)
def test_trees_drawn_in_other_ways_are_read(text):
    read = [Leaf(*(part.rstrip(".") for part in leaf)) for leaf in parse_tree(text).leaves()]
    assert read == [Leaf(*(part.rstrip(".") for part in leaf)) for leaf in TREE.leaves()]


@each_row(
    "text",
    [
        "",
        " \n ",
        "Pathway\n  Anaemia",
        "Pathway\n  Anaemia\n    Analysis: pale",
        "Pathway\n  Anaemia\n      Evidence 1: pale",
        "Pathway\n    Analysis: pale\n      Evidence 1: pale",
        "Pathway\n  Anaemia\n    Analysis: pale\n      Evidence 1: ",
        "Pathway\n  Anaemia\n    Analysis: pale\n      Evidence 1: pale\n  Gout",
        PRINTED + "\n    Analysis: and more",
        "I think that the patient has anaemia.\nShe is pale.",
        "Analysis: pale\nEvidence 1: pale",
    ],
)
def test_what_is_no_whole_tree_is_unreadable(text):
    with pytest.raises(UnreadableReply, match="no evidence tree"):
        parse_tree(text)


@given(trees(), st.data())
def test_a_printed_tree_that_breaks_off_is_never_a_tree_with_an_empty_branch(tree, data):
    lines = print_tree(tree).split("\n")
    kept = data.draw(st.integers(1, len(lines)))
    try:
        read = parse_tree("\n".join(lines[:kept]))
    except UnreadableReply:
        return
    assert all(reasoning.evidence for one in read.suspected for reasoning in one.reasonings)
    assert all(one.reasonings for one in read.suspected)


@pytest.mark.parametrize(
    "wrong",
    [
        {"suspected": [{"diagnosis": " ", "reasonings": [{"analysis": "a", "evidence": ["e"]}]}]},
        {"suspected": [{"diagnosis": "d", "reasonings": []}]},
        {"suspected": [{"diagnosis": "d", "reasonings": [{"analysis": "a", "evidence": []}]}]},
        {"suspected": [{"diagnosis": "d", "reasonings": [{"analysis": "\n", "evidence": ["e"]}]}]},
        {"suspected": [{"diagnosis": "d", "reasonings": [{"analysis": "a", "evidence": ["\t"]}]}]},
    ],
)
def test_half_a_tree_is_none(wrong):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(wrong, EvidenceTree)


def test_merging_says_everything_once():
    other = EvidenceTree(
        (
            Suspected("iron-deficiency anaemia", (Reasoning("empty stores", ("Ferritin 6 ug/L", "pale skin")),)),
            Suspected("Gout", (Reasoning("A red toe.", ("a red toe",)),)),
        )
    )
    merged = merge([TREE, other])
    assert [one.diagnosis for one in merged.suspected] == ["Iron deficiency anaemia", "Kidney cyst", "Gout"]
    (reasoning,) = merged.suspected[0].reasonings
    assert reasoning == Reasoning("Empty stores.", ("hemoglobin 84 g/L", "ferritin 6 ug/L", "pale skin"))
    assert merge([]) == EvidenceTree()


@given(st.lists(trees(), max_size=3))
def test_merging_again_changes_nothing(several):
    merged = merge(several)
    assert merge([merged]) == merged == merge([merged, *several])
    assert {leaf.evidence for leaf in merged.leaves()} <= {leaf.evidence for tree in several for leaf in tree.leaves()}


def test_what_is_borne_by_nothing_falls():
    pruned = TREE.pruned(lambda leaf: "ferritin" in leaf.evidence)
    assert pruned == EvidenceTree(
        (Suspected("Iron deficiency anaemia", (Reasoning("Empty stores.", ("ferritin 6 ug/L",)),)),)
    )
    assert TREE.pruned(lambda _: False) == EvidenceTree()
    assert TREE.pruned(lambda _: True) == TREE
