"""Regular expressions in YAML; what else a file can hold is tested with the plan of a hospital."""

import re

import msgspec
import pytest

from polyclinic import yaml_files
from polyclinic.errors import BadInput
from polyclinic.yaml_files import read_yaml


class Rules(msgspec.Struct):
    one: re.Pattern[str]
    pairs: list[tuple[re.Pattern[str], str]] = []


def read(tmp_path, text):
    path = tmp_path / "rules.yaml"
    path.write_text(text, encoding="utf-8")
    return read_yaml(path, Rules)


def test_a_regular_expression_and_a_list_of_them(tmp_path):
    rules = read(tmp_path, "one: [a+, '^b']\npairs:\n  - ['(?<!心)房颤', 心房颤动]\n")
    assert rules.one.findall("bcaab") == ["b", "aa"]
    ((pattern, term),) = rules.pairs
    assert pattern.sub(term, "房颤、心房颤") == "心房颤动、心房颤"


@pytest.mark.parametrize(("text", "problem"), [("one: '('", "not a regular expression"), ("one: 3", "Expected")])
def test_what_is_none(tmp_path, text, problem):
    with pytest.raises(BadInput, match=problem) as raised:
        read(tmp_path, text)
    assert raised.value.path.name == "rules.yaml"


@pytest.mark.slow
def test_the_compiled_files_are_the_files():
    """`make docs` writes them again where this fails."""
    assert yaml_files.COMPILED.read_bytes() == yaml_files.compile_shipped()


def test_a_shipped_file_that_was_changed_is_read_as_it_is(tmp_path, monkeypatch):
    (tmp_path / "a.yaml").write_text("x: 1")
    monkeypatch.setattr(yaml_files, "_PACKAGE", tmp_path)
    compiled = yaml_files.compile_shipped()
    of_type = dict[str, yaml_files._Compiled]
    monkeypatch.setattr(yaml_files, "_compiled", lambda: msgspec.json.decode(compiled, type=of_type))
    with monkeypatch.context() as without:
        without.setattr(yaml_files, "parse_yaml", lambda text: pytest.fail("is compiled"))
        assert yaml_files.read_yaml(tmp_path / "a.yaml", dict[str, int]) == {"x": 1}
    (tmp_path / "a.yaml").write_text("x: 2")
    assert yaml_files.read_yaml(tmp_path / "a.yaml", dict[str, int]) == {"x": 2}
