"""Pictures of cases: shown to models that see, read from beside the case file alone, and named where nobody sees."""

import base64
import hashlib
import json

import pytest

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
ELSEWHERE = "https://user:secret@example.org/ring.jpg?key=hidden"


@pytest.fixture
def asked(run, serving, tmp_path):
    """Puts one record with a picture to a model; returns what was printed, and what the endpoint got."""
    (tmp_path / "sees.toml").write_text('[models."direct/a"]\nsees = true\n', "utf-8")
    folder = tmp_path / "cases"
    folder.mkdir()
    (folder / "ring.png").write_bytes(PNG)
    (tmp_path / "out.png").write_bytes(PNG)
    (folder / "link.png").symlink_to(tmp_path / "out.png")
    (folder / "text.png").write_text("no picture", "utf-8")
    (folder / "large.png").write_bytes(PNG + bytes(5 * 2**20))

    with serving() as endpoint:

        def ask(image, *words, code=0, sees=True):
            answers = [{"text": "Psoriasis", "correct": False}, {"text": "Lyme disease", "correct": True}]
            record = {"patient_info": "A 32-year-old man has a ring.", "question": "What is it?", "answers": answers}
            record |= {"image_url": image, "physical_exams": "A ring.", "type": "image"}
            (folder / "c.jsonl").write_text(json.dumps(record) + "\n", "utf-8")
            seeing = ("--set", f"models.model-file={tmp_path / 'sees.toml'}") if sees else ()
            before = endpoint.requests
            done = run(
                *("consult", folder / "c.jsonl", "--doctor", "direct/a", "--one-step", "--json"),
                *("--base-url", endpoint.url, *seeing, *words),
                code=code,
            )
            return done, [body["messages"] for body in endpoint.bodies[before:]]

        yield ask


def pictures(bodies):
    content = bodies[0][1]["content"]
    return [] if isinstance(content, str) else [part["image_url"]["url"] for part in content[1:]]


def test_a_model_that_sees_is_shown_the_picture_itself(asked, tmp_path):
    journal = ("--out", tmp_path / "j")
    done, bodies = asked("ring.png", *journal)
    assert pictures(bodies) == [f"data:image/png;base64,{base64.b64encode(PNG).decode()}"]
    assert bodies[0][1]["content"][0]["text"].endswith("What you see of the patient:")
    (opened, *_) = json.loads(done.stdout)[0]["trace"]
    assert opened["pictures"] == [{"name": "ring.png", "sha256": hashlib.sha256(PNG).hexdigest()}]
    assert not asked("ring.png", *journal)[1]
    (tmp_path / "cases" / "ring.png").write_bytes(PNG + b"other")
    assert len(asked("ring.png", *journal)[1]) == 1  # another picture is another question
    assert not pictures(asked("ring.png", "--set", "cases.pictures=none")[1])
    inside = f"data:image/gif;base64,{base64.b64encode(b'GIF89a').decode()}"
    assert pictures(asked(inside)[1]) == [inside]


def test_who_does_not_see_is_named(asked):
    done, bodies = asked("ring.png", sees=False)
    assert not pictures(bodies)
    assert "1 case of 1 has pictures; direct/a has the text alone, as nobody says that it sees" in done.stderr
    done, bodies = asked("ring.png", "--set", "cases.pictures=local", sees=False, code=2)
    assert not bodies and "nobody says that direct/a sees; write sees = true" in done.stderr


def test_nothing_is_fetched_and_an_address_is_told_only_where_that_is_wanted(asked):
    done, bodies = asked(ELSEWHERE)
    assert not pictures(bodies) and "1 picture on the network: not shown; nothing is fetched" in done.stderr
    done, bodies = asked(ELSEWHERE, "--set", "cases.pictures=addresses")
    assert pictures(bodies) == [ELSEWHERE]
    assert json.loads(done.stdout)[0]["trace"][0]["pictures"] == [{"name": "https://example.org/ring.jpg"}]
    assert "secret" not in done.stdout and "hidden" not in done.stdout


def test_an_address_that_names_the_diagnosis_is_sent_to_nobody(asked):
    for place in ("lyme-disease.jpg", "a/LymeDisease/1.jpg", "1.jpg?about=lyme_disease", "%6Cyme%20disease.jpg"):
        done, bodies = asked(f"https://example.org/{place}", "--set", "cases.pictures=addresses")
        assert not pictures(bodies) and "lyme" not in json.dumps(bodies).lower(), place
        assert "not shown, as the address names the diagnosis" in done.stderr


@pytest.mark.slow
def test_what_is_no_picture_of_the_folder_ends_it_before_anybody_is_asked(asked):
    bad = {
        "../out.png": "lies outside of the folder",
        "link.png": "lies outside of the folder",
        "/etc/hostname": "lies outside of the folder",
        "missing.png": "no such file",
        "text.png": "no picture that models take",
        "large.png": "a picture of 5.0 MiB; at most 5 MiB",
        "data:text/plain;base64,AAAA": "begins with data:image/KIND;base64",
        "data:image/png;base64,=A": "is no base64",
        "file:///etc/hostname": "no such file",
    }
    for image, told in bad.items():
        done, bodies = asked(image, code=2)
        assert not bodies, image
        assert "case '1': " in done.stderr and told in done.stderr and "cases.pictures none" in done.stderr, image


CASES_OF = {
    "consult": ("consult", "{}", "--max-turns", 1, "--set", "run.max-failures=100"),
    "aie": ("eval", "aie", "--cases", "{}", "--max-turns", 1),
    "mvme": ("eval", "mvme", "--cases", "{}", "--max-turns", 1),
    "reliability": ("eval", "reliability", "--cases", "{}", "--max-turns", 1, "--set", "reliability.attack=false"),
}


@pytest.fixture
def six(tmp_path):
    """Six records, of which the third has a picture that is missing, and the sixth one that is none."""
    folder = tmp_path / "six"
    folder.mkdir()
    lines = []
    for name in ("1.png", "2.png", "missing.png", "4.png", "5.png", "text.png"):
        if name != "missing.png":
            (folder / name).write_bytes(b"no picture" if name == "text.png" else PNG)
        answers = [{"text": "Psoriasis", "correct": False}, {"text": "Lyme disease", "correct": True}]
        record = {"patient_info": "A 32-year-old man has a ring.", "question": "What is it?", "answers": answers}
        lines.append(json.dumps(record | {"image_url": name, "physical_exams": "A ring.", "type": "image"}) + "\n")
    (folder / "c.jsonl").write_text("".join(lines), "utf-8")
    (folder / "sees.toml").write_text('[models."direct/a"]\nsees = true\n', "utf-8")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("command", CASES_OF)
def test_a_case_whose_picture_cannot_be_shown_is_left_out_and_the_others_are_played(command, run, serving, six):
    words = [six / "c.jsonl" if word == "{}" else word for word in CASES_OF[command]]
    with serving() as endpoint:
        seeing = ("--doctor", "direct/a", "--base-url", endpoint.url, "--set", f"models.model-file={six / 'sees.toml'}")
        done = run(*words, *seeing, "--json")
        assert endpoint.requests
        shown = {image for body in endpoint.bodies for image in pictures([body["messages"]])}
        assert shown == {f"data:image/png;base64,{base64.b64encode(PNG).decode()}"}
        before = endpoint.requests
        assert (
            "c.jsonl, line 3: case '3': missing.png: no such file"
            in run(*words, *seeing, "--set", "cases.strict=true", code=2).stderr
        )
        assert endpoint.requests == before
        printed = json.loads(done.stdout)
        if command == "consult":
            assert [visit["case"] for visit in printed] == ["1", "2", "4", "5"]
        else:
            (share,) = printed["cases_used"]
            assert (share["records"], share["used"]) == (6, 4)
    for line, told in ((3, "case '3': missing.png: no such file"), (6, "case '6': text.png: no picture that models")):
        assert f"left out: c.jsonl, line {line}: {told}" in done.stderr
    assert "2 cases of 6 left out of c.jsonl; cases.strict stops instead" in done.stderr


def test_who_sees_nothing_plays_all_cases(run, six):
    done = run("consult", six / "c.jsonl", "--json", "--max-turns", 1, "--set", "run.max-failures=100")
    assert len(json.loads(done.stdout)) == 6 and "left out" not in done.stderr


def test_a_named_case_whose_picture_cannot_be_shown_is_an_error(run, serving, six):
    with serving() as endpoint:
        seeing = ("--doctor", "direct/a", "--base-url", endpoint.url, "--set", f"models.model-file={six / 'sees.toml'}")
        done = run("consult", f"{six / 'c.jsonl'}#3", *seeing, code=2)
        assert "case '3': missing.png: no such file" in done.stderr and not endpoint.requests


def test_a_file_that_is_named_by_the_diagnosis_tells_nobody(asked, run, tmp_path):
    folder, wrong = tmp_path / "cases", {}
    for name, told in {
        "lyme_disease-2.png": "picture 1", "LymeDisease.png": "picture 1", "lyme/ring.png": "lyme/ring.png",
        "Lyme-Disease/ring.png": "picture 1", "ring.png": "ring.png",
    }.items():  # fmt: skip
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(PNG)
        done, _ = asked(name)
        shown = [one for one in (name, "picture 1") if f'"name": "{one}"' in done.stdout]
        named = "name of a picture" in run("cases", "check", folder / "c.jsonl", "--json").stdout
        if shown != [told] or named != (told != name):
            wrong[name] = (shown, named)
    assert wrong == {}
