import time

import pytest
from tests.tables import each_row

from polyclinic.cases.loaders import read_cases
from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import Code, Finding, Record
from polyclinic.events import Role, Said
from polyclinic.knowledge.data import Name, Texts
from polyclinic.knowledge.entries import Examination, Item
from polyclinic.knowledge.knowledge import Knowledge
from polyclinic.knowledge.names import Names
from polyclinic.players.own_mind import ScriptedMind
from polyclinic.players.player import EXAMINE, READ_REQUEST, Request
from polyclinic.players.roles.examiner import Examiner
from polyclinic.players.rules.staff import RulesExaminer


def item(key: str, en: str, zh: str, *, synonyms=((), ()), loinc=None) -> Item:
    texts = Texts(en=synonyms[0], zh=synonyms[1])
    return Item(id=key, name=Name(en=en, zh=zh), synonyms=texts, loinc=loinc, usual=(1, 1))


KNOWLEDGE = Knowledge(
    symptoms={},
    drugs={},
    diseases={},
    examinations={
        "cbc": Examination(
            id="cbc",
            name=Name(en="complete blood count", zh="血常规"),
            synonyms=Texts(en=("CBC", "blood test"), zh=("全血细胞计数",)),
            kind="laboratory",
            effort=2,
            items=(
                item("hb", "hemoglobin", "血红蛋白", synonyms=(("Hb",), ()), loinc="718-7"),
                item("wbc", "white blood cell count", "白细胞计数", synonyms=(("WBC",), ("白细胞",))),
            ),
        ),
        "cxr": Examination(
            id="cxr",
            name=Name(en="chest X-ray", zh="胸片"),
            synonyms=Texts(en=("chest radiograph",), zh=("胸部X线",)),
            kind="imaging",
            effort=2,
            items=(item("lungs", "lungs", "双肺"),),
        ),
        "ct": Examination(
            id="ct",
            name=Name(en="chest CT", zh="胸部CT"),
            synonyms=Texts(en=("CT scan",), zh=("CT扫描",)),
            kind="imaging",
            effort=4,
            items=(item("lung", "lung windows", "肺窗"),),
        ),
    },
)

FINDINGS = (
    Finding(examination="physical examination", item="General, appearance", value="tired, pale"),
    Finding(examination="physical examination", item="Lungs", value="crackles on the left"),
    Finding(examination="complete blood count", item="hemoglobin", value=9.1, unit="g/dL", reference="13.5-17.5"),
    Finding(examination="complete blood count", item="WBC", value=14.2, unit="10*9/L", code=Code("loinc", "6690-2")),
    Finding(examination="chest X-ray", item="findings", value="Left lower lobe opacity."),
    Finding(examination="MRI", item="brain", value="No lesion."),
)
GENERAL, LUNGS, HB, WBC, XRAY, MRI = FINDINGS
EN = Record(presentation=Presentation(complaint="cough"), findings=FINDINGS)
ZH_FINDINGS = (
    Finding(examination="血常规", item="血红蛋白", value="63g/L"),
    Finding(examination="血常规", item="NEUT%", value="81.3%"),
    Finding(examination="血常规", item="NEUT#", value="9.8"),
    Finding(examination="体格检查", item="腹部", value="右上腹有压痛"),
    Finding(examination="胸部CT", item="", value="双肺感染"),
)
ZH = Record(presentation=Presentation(complaint="发热", language="zh"), findings=ZH_FINDINGS)
NAMES = Names(KNOWLEDGE)

VAGUE_EN = (
    "Latest results please", "All your tests", "Any abnormal findings?", "Everything you have", "Tell me all results",
    "Show me the results", "What did the examinations show?", "Give me all test results", "Report all findings",
    "Please share whatever findings are available", "Any other results?", "What is abnormal?", "Do all tests",
    "I need the complete results", "Please run every examination", "Are there any significant findings?",
    "Read out the whole record", "The doctor asks for: further tests.", "The doctor asks for: some examinations.",
    "The doctor asks for: additional investigations.", "What else has been found?", "Do the appropriate tests",
    "Please give me the relevant results", "Anything remarkable in the tests?", "Please summarize the findings",
    "List the results you have", "The remaining tests, please", "Do a general check", "What do the reports say?",
    "Send me the full medical file",
)  # fmt: skip
VAGUE_ZH = (
    "把所有检查结果告诉我", "最新的检查结果", "所有检查", "有什么异常吗", "全部结果", "请把结果都给我",
    "做一下全面检查", "相关检查", "有没有异常发现", "检查结果怎么样",
    "把报告都念一遍", "还有哪些结果", "完善相关检查", "进一步检查",
    "做个检查",
    "化验结果都告诉我", "各项检查结果", "请提供完整的检查报告", "有哪些阳性结果", "所有的化验单", "其他检查结果",
    "告诉我你知道的一切", "医生要求做：必要的检查。", "医生要求做：一些检查。",
    "最近的检查都有什么结果", "请汇总所有结果",
    "请做常规检查", "剩下的检查结果", "有什么发现", "看看检查报告",
)  # fmt: skip


async def examine(text: str, record: Record = EN, names: Names = NAMES, **options):
    examiner = Examiner(RulesExaminer(), record, names, **options)
    examiner.observe(Said(seq=0, turn=1, who=Role.PATIENT, to=Role.EXAMINER, text=text))
    return await examiner.act(EXAMINE)


@each_row(
    ("request_text", "found"),
    [
        ("The doctor asks for: complete blood count.", (HB, WBC)),
        ("CBC please", (HB, WBC)),
        ("complete blood count: hemoglobin", (HB,)),
        ("hemoglobin in the complete blood count", (HB,)),
        ("Hb", (HB,)),
        ("718-7", (HB,)),
        ("6690-2", (WBC,)),
        ("chest X-rays", (XRAY,)),
        ("a chest radiograph, findings", (XRAY,)),
        ("chest X-ray and hemoglobin", (HB, XRAY)),
        ("CBC: hemoglobin and WBC", (HB, WBC)),
        ("complete blod count", (HB, WBC)),
        ("physical examination", (GENERAL, LUNGS)),
        ("Please do a full physical exam.", (GENERAL, LUNGS)),
        ("physical examination, General, appearance", (GENERAL,)),
        ("brain MRI", (MRI,)),
    ],
)
async def test_what_is_named_is_found_and_nothing_else(request_text, found):
    assert (await examine(request_text)).findings == found


@each_row(
    ("request_text", "found"),
    [
        ("医生要求做：血常规。", ZH_FINDINGS[:3]),
        ("血常规：血红蛋白", ZH_FINDINGS[:1]),
        ("血常规, NEUT%", ZH_FINDINGS[1:2]),
        ("血常规检查和胸部CT检查", (*ZH_FINDINGS[:3], ZH_FINDINGS[4])),
        ("查体", ZH_FINDINGS[3:4]),
        ("做个体格检查", ZH_FINDINGS[3:4]),
    ],
)
async def test_what_is_named_in_chinese_is_found(request_text, found):
    assert (await examine(request_text, ZH)).findings == tuple(found)


async def test_results_are_read_out_word_for_word():
    results = await examine("complete blood count: hemoglobin; chest CT")
    assert "complete blood count: hemoglobin 9.1 g/dL (reference 13.5-17.5)" in results.text
    assert results.not_recorded == ("chest CT",)
    assert "not recorded: chest CT" in results.text
    assert "未记录：胸片" in (await examine("胸片", ZH)).text


async def test_missing_as_normal_is_the_papers_answer():
    assert "chest CT: no abnormality" in (await examine("chest CT", missing="normal")).text


async def test_an_unknown_examination_is_not_recorded():
    results = await examine("The doctor asks for: serum protein electrophoresis biopsy.")
    assert results.findings == ()
    assert results.not_recorded


@pytest.mark.parametrize(
    ("text", "record"), [("head CT scan", EN), ("CT scan of the abdomen", EN), ("头颅CT扫描", ZH), ("腹部CT扫描", ZH)]
)
async def test_another_part_of_the_body_is_another_examination(text, record):
    assert (await examine(text, record)).findings == ()


@each_row("text", [*VAGUE_EN, *VAGUE_ZH])
@each_row("record", [EN, ZH])
async def test_fishing_brings_nothing(text, record):
    results = await examine(text, record)
    assert (results.findings, results.not_recorded) == ((), ())


async def test_a_generic_item_counts_only_beside_its_examination():
    assert (await examine("findings")).findings == ()
    assert (await examine("chest X-ray, findings")).findings == (XRAY,)


async def test_the_look_up_is_never_the_minds():
    """A mind that makes results up changes nothing, and one that asks for everything gets nothing."""
    record = blood_count_only()
    examiner = Examiner(ScriptedMind([Request(("everything",)), Request(("hemoglobin is 3.0 g/dL",))]), record, NAMES)
    examiner.observe(
        Said(seq=0, turn=1, who=Role.PATIENT, to=Role.EXAMINER, text="Everything about hemoglobin, please.")
    )
    assert (await examiner.act(EXAMINE)).findings == ()
    results = await examiner.act(EXAMINE)
    assert results.findings == (HB,)
    assert "3.0" not in results.text


def blood_count_only() -> Record:
    return Record(presentation=Presentation(complaint="cough"), findings=(HB, WBC))


async def test_the_role_shows_its_mind_names_and_no_results():
    seen = []

    def look(ask, role):
        seen.append({k: v for k, v in vars(role).items() if not k.startswith("_")})
        assert ask.purpose == READ_REQUEST.purpose
        return Request(())

    examiner = Examiner(ScriptedMind(look), EN, NAMES)
    await examiner.act(EXAMINE)
    assert "opacity" not in str(seen)
    assert examiner.names.recorded() == ("physical examination", "complete blood count", "chest X-ray", "MRI")


def real_cases(shared_data):
    for file in ("agentclinic/agentclinic_medqa.jsonl", "ai_hospital/patients_small_10.json"):
        yield from read_cases(shared_data / "cases" / file)


@pytest.mark.slow
async def test_every_real_finding_is_found_by_its_name_and_nothing_else(shared_data):
    asked = 0
    for case in real_cases(shared_data):
        findings = case.record.findings
        for finding in findings:
            name = f"{finding.examination}, {finding.item}" if finding.item else finding.examination
            results = await examine(f"Please do: {name}", case.record)
            wanted = {f for f in findings if f.examination == finding.examination and finding.item in ("", f.item)}
            assert set(results.findings) == wanted, name
            asked += 1
    assert asked > 1000


@pytest.mark.slow
async def test_fishing_brings_nothing_from_real_cases(shared_data):
    for case in real_cases(shared_data):
        for text in (*VAGUE_EN, *VAGUE_ZH):
            assert (await examine(text, case.record)).findings == (), text


async def test_a_visits_look_ups_take_little_time(shared_data):
    cases = list(real_cases(shared_data))
    begun = time.process_time()
    for case in cases:
        examiner = Examiner(RulesExaminer(), case.record, NAMES)
        for number, text in enumerate(("CBC", "chest X-ray", "physical examination")):
            examiner.observe(Said(seq=number, turn=number, who=Role.PATIENT, to=Role.EXAMINER, text=text))
            await examiner.act(EXAMINE)
    # Two milliseconds a visit when alone; ten times that where others use the machine.
    assert (time.process_time() - begun) / len(cases) < 0.02
