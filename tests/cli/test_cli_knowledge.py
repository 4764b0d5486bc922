"""`polyclinic knowledge` and `polyclinic cases show`: pages and charts that people read."""

import io
import json

import msgspec
import pytest
from rich.console import Console

from polyclinic.cases.loaders import write_cases
from polyclinic.cases.record import Finding, flag_of
from polyclinic.cli.cases import show as show_case
from polyclinic.cli.chart import show_chart
from polyclinic.cli.knowledge import DiseasePage, check, disease_meant, show
from polyclinic.errors import BadInput, UserError
from polyclinic.generation.draw import generate
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.language.language import is_chinese


@pytest.fixture(scope="module")
def knowledge():
    return read_knowledge()


@pytest.fixture(scope="module")
def case(knowledge):
    return next(generate(knowledge.select("acute-appendicitis"), n=1, seed=4))


def drawn(what, width=100):
    screen = Console(width=width, force_terminal=False, color_system=None, highlight=False)
    with screen.capture() as captured:
        what(screen)
    return captured.get()


def squeezed(text):
    return "".join(text.split())


@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("acute-appendicitis", "acute-appendicitis"),
        (" Acute  appendicitis ", "acute-appendicitis"),
        ("急性阑尾炎", "acute-appendicitis"),
        ("阑尾炎", "acute-appendicitis"),
        ("inflamed appendix", "acute-appendicitis"),
        ("k35.8", "acute-appendicitis"),
        ("K35", "acute-appendicitis"),
    ],
)
def test_a_disease_is_found_by_id_name_synonym_and_code(text, id, knowledge):
    assert disease_meant(text, knowledge).id == id


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("appendicitus", "no disease 'appendicitus'; near are: acute-appendicitis"),
        ("flu", "influenza-a, influenza-b"),
        ("xyzzy", "takes an id, a name or a code"),
        ("J00", "the code of 2 diseases; name one: acute-nasopharyngitis, acute-rhinitis"),
    ],
)
def test_an_unknown_disease_is_one_line_with_those_near(text, told, knowledge):
    with pytest.raises(BadInput) as raised:
        disease_meant(text, knowledge)
    assert told in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.slow
@pytest.mark.parametrize(("language", "width", "every"), [("en", 80, 3), ("zh", 120, 4)])
def test_diseases_are_pages_in_both_languages(language, width, every, knowledge):
    for disease in list(knowledge.diseases.values())[::every]:
        page = drawn(DiseasePage(disease, knowledge, language).show, width)
        named = [disease.name.get(language), disease.icd10, disease.sources[0].title[:20], disease.name.get("zh")]
        assert all(squeezed(part) in squeezed(page) for part in named), disease.id
        assert "{" not in page and "None" not in page, disease.id
        assert max(map(len, page.splitlines())) <= width, disease.id
        if language == "zh":
            assert is_chinese(page.splitlines()[1])


def test_a_page_says_definition_looks_examinations_and_plans(knowledge, capsys):
    show("acute appendicitis")
    page = capsys.readouterr().out
    for part in ("definition", "pain in the right lower belly", "white blood cell count", "needed", "not indicated",
                 "complications", "looks like", "prevention", "sources", "severe"):  # fmt: skip
        assert part in page, part
    assert "pregnancy test (serum beta-hCG) (1, women alone, aged 12 to 55)" in " ".join(page.split())
    show("acute appendicitis", json=True)
    assert json.loads(capsys.readouterr().out)["id"] == "acute-appendicitis"


@pytest.mark.parametrize(
    ("value", "reference", "flag"),
    [
        (3.0, "4-10", "L"),
        (4.0, "4-10", ""),
        (10.1, "4-10", "H"),
        (8.1, "< 8", "H"),
        (8.0, "< 8", ""),
        (94.0, "> 95", "L"),
        (94.0, "", ""),
        ("11.2", "3.5 - 9.5", "H"),
        ("positive", "negative", ""),
        (-3.0, "-2-2", "L"),
    ],
)
def test_what_lies_outside_its_reference_range_is_flagged(value, reference, flag):
    assert flag_of(Finding(examination="x", item="y", value=value, reference=reference)) == flag


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_chart_shows_everything_but_the_truth(language, knowledge):
    case = next(generate(knowledge.select("acute-appendicitis"), n=1, seed=4, language=language))
    chart = drawn(lambda screen: show_chart(screen, case, knowledge, truth=False), 200)
    assert case.presentation.complaint in chart and case.presentation.about in chart
    for finding in case.record.findings:
        assert squeezed(finding.value_text) in squeezed(chart)
    for hidden in (case.truth.diagnoses[0].name, "K35", case.truth.rationale[-1]):
        assert hidden not in chart
    whole = drawn(lambda screen: show_chart(screen, case, knowledge, truth=True), 200)
    assert case.truth.diagnoses[0].name in whole and case.truth.rationale[-1] in whole


def test_a_single_result_of_a_panel_has_its_name(knowledge):
    case = next(generate(knowledge, n=1, seed=4))
    one = Finding(examination="blood tests", item="acetylcholine receptor antibodies", value="present (elevated)")
    case = msgspec.structs.replace(case, record=msgspec.structs.replace(case.record, findings=(one,)))
    chart = drawn(lambda screen: show_chart(screen, case, knowledge, truth=False), 140)
    assert "Blood tests: acetylcholine receptor antibodies: present (elevated)" in chart


def test_vital_signs_stand_in_one_row_and_fit_narrow_screens(knowledge):
    case = next(generate(knowledge, n=1, seed=4))
    chart = drawn(lambda screen: show_chart(screen, case, knowledge, truth=True), 140)
    (row,) = [line for line in chart.splitlines() if line.startswith("vital signs")]
    assert all(part in row for part in ("°C", "HR", "RR", "BP", "mmHg", "SpO₂"))
    narrow = drawn(lambda screen: show_chart(screen, case, knowledge, truth=True), 80)
    assert max(map(len, narrow.splitlines())) <= 80


def test_cases_show_takes_a_file_and_an_id_and_hides_the_truth_from_json(case, tmp_path, capsys):
    file = tmp_path / "one.jsonl"
    write_cases(file, [case])
    show_case(f"{file}#{case.id}", json=True)
    shown = json.loads(capsys.readouterr().out)
    assert shown["id"] == case.id and "truth" not in shown and "department" not in shown
    show_case(f"{file}#{case.id}", truth=True, json=True)
    assert "truth" in json.loads(capsys.readouterr().out)
    show_case(str(file), json=True)
    (listed,) = json.loads(capsys.readouterr().out)
    assert listed["id"] == case.id and "diagnoses" not in listed
    with pytest.raises(UserError, match="--summary is of a whole file"):
        show_case(f"{file}#{case.id}", summary=True)


@pytest.mark.slow
def test_the_check_says_what_failed_and_its_exit_code_does(capsys):
    code = check(n=60, diseases="respiratory", seed=3, json=True)
    found = json.loads(capsys.readouterr().out)
    assert found["patients"] == 60
    assert set(found["checks"]["systolic above diastolic"]) == {"tried", "failed", "examples"}
    assert code == int(any(tally["failed"] for tally in found["checks"].values()))
    check(n=6, diseases="migraine")
    assert "systolic above diastolic" in capsys.readouterr().out


def test_the_truth_of_a_chart_says_how_soon_and_where_to():
    knowledge = read_knowledge()
    case = next(generate(knowledge, n=1, seed=6))
    disease = knowledge.disease_named(case.truth.diagnoses[0].name)
    screen = Console(width=140, file=io.StringIO())
    show_chart(screen, case, knowledge, truth=True)
    lines = {line.split("  ")[0]: line for line in screen.file.getvalue().splitlines()}
    assert f"{case.truth.acuity}, " in lines["acuity"]
    assert disease.plan(case.truth.severity).disposition in lines["treated"]


def test_an_appendix_that_is_slim_is_not_marked():
    scan = read_knowledge().examinations["abdominal-ultrasound"]
    assert scan.items[2].normal_texts() == ("not_seen", "slim")
