"""No prompt has a line that ends inside a sentence."""

import re
from itertools import pairwise
from pathlib import Path

import polyclinic
from polyclinic.prompts import read_prompts, unwrapped

ROOM = Path(polyclinic.__file__).parent
LONG = 100  # columns; a shorter line is one of a list or a form


def columns(text):
    return len(text) + sum(ord(letter) > 0x2E80 for letter in text)


def test_a_full_line_goes_on_in_the_next_sentence_part():
    words = " ".join(["word"] * 23)
    wrapped = f"{words}\nthe end of it.\nA new one: {{a}}\n{{b}}\n- {words}\n  goes on\n- second"
    assert unwrapped(wrapped).split("\n") == [
        f"{words} the end of it.",
        "A new one: {a}",
        "{b}",
        f"- {words} goes on",
        "- second",
    ]
    assert unwrapped("字" * 58 + "，\n字。") == "字" * 58 + "，字。"


def test_no_prompt_breaks_off_inside_a_sentence():
    wrong = []
    for path in sorted(ROOM.rglob("*.zh.md")):
        for language, prompts in read_prompts(path.with_name(f"{path.name.removesuffix('.zh.md')}.md")).items():
            for section, blanks in prompts.blanks.items():
                lines = prompts(section, **dict.fromkeys(blanks, "{0}")).split("\n")
                wrong += [
                    f"{path.parent.name}/{path.name} {language} {section}: …{line[-40:]}"
                    for line, after in pairwise(lines)
                    if columns(line) > LONG and after.strip() and re.search(r"[\w,，、]$", line)
                ]
    assert not wrong
