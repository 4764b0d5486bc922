"""Protocols are read, and named by file and line where they are wrong; what contradicts one is refused."""

import inspect

import pytest
from msgspec.structs import replace

from polyclinic.errors import BadInput, UserError
from polyclinic.evaluations.protocol import staging_of
from polyclinic.methods.tree_of_reasoning import tree_of_reasoning
from polyclinic.players.staging import AI_HOSPITAL, OURS
from polyclinic.protocols.following import follow, named_protocol, protocol_text, setting_rows
from polyclinic.protocols.papers import PAPERS, AieSettings, MvmeSettings, TorSettings


def test_every_protocol_is_whole():
    """A setting has its section, and a reason wherever ours is other than the paper's prompts, minds or numbers."""
    for name in PAPERS:
        protocol = named_protocol(name)
        rows = setting_rows(protocol)
        assert protocol.name == name
        assert not [row for row in rows if not row.section], name
        assert not [row for row in rows if row.ours and not row.why and "prompts" not in row.name], name
        assert not [role for role, one in protocol.roles.items() if not one.section or not one.models], name
        assert protocol.differs, name


def own(tmp_path, was, now):
    text = protocol_text("aie")
    assert was in text
    path = tmp_path / "mine.yaml"
    path.write_text(text.replace(was, now, 1), encoding="utf-8")
    return path


def test_what_a_file_says_wrongly_is_named_with_its_line(tmp_path):
    lines = protocol_text("aie").splitlines()
    turns = lines.index("  turns:") + 1
    minds = lines.index('    minds: {paper: [any], section: "§4.1"}') + 1
    for was, now, line, field in (
        ("  turns:", "  temprature: {paper: 1, section: x}\n  turns:", turns, "$.settings.temprature"),
        ("  turns:\n", "  turns:\n    whose: x\n", turns + 1, "$.settings.turns.whose"),
        ("    minds: {", "    mind: {", minds, "$.roles[...].mind"),
        ("paper: {zh: 10", "paper: {de: 10", turns, "$.settings.turns.paper"),
        ("paper: {zh: 10", "paper: {zh: -3", turns, "$.settings.turns.paper"),
    ):
        path = own(tmp_path, was, now)
        with pytest.raises(BadInput) as raised:
            follow(AieSettings, str(path))
        assert (raised.value.path, raised.value.line) == (path, line + (was.startswith("paper"))), now
        assert raised.value.field.startswith(field), now


def test_a_value_of_another_kind_is_told_in_plain_words(tmp_path):
    path = tmp_path / "mine.yaml"
    for was, now, told in (
        ("paper: 0.0\n", "paper: hot\n", "a number or nothing is needed, and a text came"),
        ("  rounds: {paper: 4,", "  rounds: {paper: [4],", "a whole number is needed, and a list came"),
        ("  turns: {paper: 10,", "  turns: {paper: 0,", "a whole number >= 1 is needed"),
    ):
        text = protocol_text("mvme")
        assert was in text
        path.write_text(text.replace(was, now), "utf-8")
        with pytest.raises(BadInput, match=told) as raised:
            follow(MvmeSettings, str(path))
        assert raised.value.line == text[: text.index(was)].count("\n") + 1


def test_a_file_of_ones_own_is_followed_as_a_paper(tmp_path):
    rules = follow(AieSettings, str(own(tmp_path, "zh: 10", "zh: 12")))
    assert (rules.side, rules.of(rules.settings.turns)["zh"]) == ("paper", 12)
    with pytest.raises(UserError, match="whose name is mvme"):
        follow(MvmeSettings, str(tmp_path / "mine.yaml"))
    with pytest.raises(BadInput, match=r"no role 'docter' in aie \(did you mean doctor\?\)"):
        follow(AieSettings, str(own(tmp_path, "  doctor:", "  docter:")))
    nobody = '    temperature: {paper: 1.0, section: x}\n    section: "§5.2"\n'
    path = own(tmp_path, "name: aie", "name: tor")
    path.write_text(protocol_text("tor").replace('    section: "§3.1"\n', nobody), "utf-8")
    with pytest.raises(BadInput, match="tor cannot set the temperature of 'doctors'; it sets that of no role"):
        follow(TorSettings, str(path))
    path = own(tmp_path, "name: aie", "name: ours")
    with pytest.raises(UserError, match="the name of the paper"):
        named_protocol(str(path))


def test_what_contradicts_the_paper_is_refused_and_ours_takes_it():
    paper, ours = follow(MvmeSettings, "paper"), follow(MvmeSettings)
    for rules in (paper, ours):
        rules.check_mind("patient", "--patient", "direct/a")
        rules.check_value("--max-turns", 10, rules.settings.turns)
        rules.check_value("--max-turns", None, rules.settings.turns)
        rules.check_switch("--quick", False, "is slow", "§1")
    ours.check_mind("patient", "--patient", "rules")
    ours.check_value("--max-turns", 11, ours.settings.turns)
    for refused in (
        lambda: paper.check_mind("patient", "--patient", "rules"),
        lambda: paper.check_value("--max-turns", 11, paper.settings.turns),
        lambda: paper.check_switch("--quick", True, "is slow", "§1"),
    ):
        with pytest.raises(UserError, match=r"--protocol paper .*--protocol ours$"):
            refused()
    assert (paper.of(paper.settings.order), ours.of(ours.settings.order)) == ("sequential", "parallel")
    assert (paper.prompts("judge"), ours.prompts("judge"), paper.prompts("nobody")) == ("paper", "ours", "ours")
    assert paper.remarks and not ours.remarks


def test_a_judge_is_asked_at_the_papers_temperature_or_not_at_all():
    paper, ours = follow(MvmeSettings, "paper"), follow(MvmeSettings)
    assert (paper.temperature("judge"), paper.temperature("doctor"), ours.temperature("judge")) == (0, None, None)
    for rules, given in ((paper, None), (paper, 0), (ours, 0.9)):
        rules.check_temperature("judge", given, "--temperature")
    with pytest.raises(UserError, match=r"the judge at temperature 0 \(the authors' code\); --temperature is 0\.9\. "):
        paper.check_temperature("judge", 0.9, "--temperature")


def test_ours_of_tree_of_reasoning_is_what_it_does_by_itself():
    ours = follow(TorSettings)
    parameters = inspect.signature(tree_of_reasoning).parameters
    for name in ("rounds", "turns", "passages", "form", "update_from", "targets"):
        assert parameters[name].default == ours.of(getattr(ours.settings, name)), name


def test_visits_are_staged_as_the_protocol_of_ai_hospital_says(tmp_path):
    assert staging_of(follow(MvmeSettings, "paper")) == AI_HOSPITAL
    assert staging_of(follow(MvmeSettings)) == OURS
    path = tmp_path / "mine.yaml"
    text = protocol_text("mvme")
    path.write_text(text.replace("  retold:\n    paper: true", "  retold:\n    paper: false"), "utf-8")
    assert staging_of(follow(MvmeSettings, str(path))) == replace(AI_HOSPITAL, retold=False)


@pytest.mark.parametrize("name", ["mine", "none.yaml"])
def test_no_such_protocol(name):
    with pytest.raises(UserError, match=name):
        named_protocol(name)
