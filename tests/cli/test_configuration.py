"""Options and settings from files, from `--set`, and what `config show` prints."""

import json

import pytest

CONSULT = ("consult", "shipped#p1-00001", "--json")


def written(folder, name, text):
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_a_later_source_overrides_an_earlier_one(run, tmp_path):
    first = written(tmp_path, "a.toml", "seed = 1\nmax-turns = 1\n")
    second = written(tmp_path, "b.toml", "max-turns = 2\n")
    two = json.loads(run(*CONSULT, "--seed", 1, "--max-turns", 2).stdout)
    one = json.loads(run(*CONSULT, "--seed", 1, "--max-turns", 1).stdout)
    assert one != two
    assert json.loads(run(*CONSULT, "--config", first, "--config", second).stdout) == two
    assert json.loads(run(*CONSULT, "--config", first, "--set", "max-turns=2").stdout) == two
    assert json.loads(run(*CONSULT, "--config", second, "--config", first, "--max-turns", 2).stdout) == two


def test_a_section_holds_settings(complaint, tmp_path):
    bad = written(tmp_path, "a.toml", "seed = 1\n\n[run]\nmax_failures = 101\n")
    told = complaint(*CONSULT, "--config", bad)
    assert "a.toml:4: run.max-failures 101; allowed: 0 to 100" in told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("seed = 'x'\n", "a.toml:1: --seed x; allowed: a whole number"),
        ("seed = 1\n[models]\ntimeuot = 3\n", "a.toml:3: no key models.timeuot (did you mean models.timeout?)"),
        ("sed = 1\n", "a.toml:1: no key sed (did you mean seed?)"),
        ("seed = [1, 2]\n", "a.toml:1: seed takes one value, and 2 came"),
        ("config = 'b.toml'\n", "a.toml:1: config is for the command line only"),
        ("seed = \n", "a.toml, line 1: not TOML"),
    ],
)
def test_wrong_keys_are_refused_with_their_line(complaint, tmp_path, text, told):
    assert told in complaint(*CONSULT, "--config", written(tmp_path, "a.toml", text))


def test_a_setting_is_not_an_option(complaint):
    told = complaint(*CONSULT, "--timeout", 3)
    assert "--timeout is a setting now: --set models.timeout=VALUE, or 'timeout' under [models] in a --config" in told
    assert "needs SECTION.KEY=VALUE" in complaint(*CONSULT, "--set", "models.timeout")
    assert "no key models.timeuot (did you mean models.timeout?)" in complaint(*CONSULT, "--set", "models.timeuot=3")


def test_other_keys_are_of_the_methods(complaint, tmp_path):
    file = written(tmp_path, "a.toml", "questions = 'shipped'\n\n[medagents]\nmax_rounds = 'many'\n")
    command = ("eval", "exam", "medqa", "--config", file, "--model", "made-up", "--method", "medagents")
    assert "setting medagents.max_rounds='many'" in complaint(*command)
    plain = ("eval", "exam", "medqa", "shipped", *command[5:])
    assert "setting 'depth' belongs to none of the methods" in complaint(*plain, "--set", "depth=1")


def test_every_key_is_shown(run):
    shown = run("config", "show", "eval aie").stdout
    assert "\n[models]\n" in shown and "# timeout = " in shown and "# seed = 0" in shown
    keys = {one["key"]: one for one in json.loads(run("config", "show", "eval aie", "--json").stdout)}
    assert keys["models.api-key-env"]["default"] == "OPENAI_API_KEY" and not keys["models.api-key-env"]["option"]
    assert keys["seed"]["option"] and all(one["help"] for one in keys.values())


def test_the_configuration_of_a_run_that_was_kept_is_one(run, tmp_path):
    words = ("--cases", "shipped", "--limit", 2, "--doctor", "rules", "--max-turns", 2, "--seed", 3)
    run("eval", "aie", *words, "--set", "run.max-failures=9", "--out", tmp_path / "one")
    run("eval", "aie", "--config", tmp_path / "one", "--out", tmp_path / "two")
    one, two = (json.loads((tmp_path / name / "results.json").read_bytes()) for name in ("one", "two"))
    apart = {name for name, value in one["configuration"].items() if two["configuration"][name] != value}
    assert apart == {"out", "config", "sets"}
    assert (tmp_path / "one" / "items.jsonl").read_bytes() == (tmp_path / "two" / "items.jsonl").read_bytes()


def test_the_name_of_a_command_needs_no_quotation_marks(run):
    assert run("config", "show", "eval", "aie").stdout == run("config", "show", "eval aie").stdout
