"""The pharmacist: what is withheld and why, by rules and by a model."""

import pytest
from tests.tables import each_row

from polyclinic.cases.presentation import Presentation
from polyclinic.cases.record import History
from polyclinic.errors import ScriptError, UnreadableReply
from polyclinic.hospital.care.clinic import prescribed
from polyclinic.knowledge.data import Name
from polyclinic.knowledge.entries import Drug
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.safety import Known, read_cautions, told_at_the_counter
from polyclinic.language.clauses import told
from polyclinic.models.scripted import Scripted
from polyclinic.players.minds import Minds
from polyclinic.players.own_mind import ScriptedMind
from polyclinic.players.player import REPORT, WrongAnswer, dispense
from polyclinic.players.roles.staff import Pharmacist
from polyclinic.players.rules.staff import RulesPharmacist

ATC = {
    "paracetamol": "N02BE01",
    "ibuprofen": "M01AE01",
    "diclofenac": "M01AB05",
    "aspirin": "B01AC06",
    "amoxicillin": "J01CA04",
    "amoxicillin-clavulanate": "J01CR02",
    "ceftriaxone": "J01DD04",
    "doxycycline": "J01AA02",
    "levofloxacin": "J01MA12",
    "nirmatrelvir-ritonavir": "J05AE30",
    "glyceryl-trinitrate": "C01DA02",
    "atorvastatin": "C10AA05",
    "apixaban": "B01AF02",
}
ZH = {"amoxicillin": "阿莫西林", "paracetamol": "对乙酰氨基酚", "ibuprofen": "布洛芬"}


def drug(name):
    return Drug(id=name, name=Name(en=name, zh=ZH.get(name, name)), atc=ATC[name])


async def withheld(*drugs, age=40.0, language="en", mind=None, **known):
    presentation = Presentation(complaint="cough", age=age, language=language)
    pharmacist = Pharmacist(mind or RulesPharmacist(), presentation, map(drug, drugs), Known(**known))
    dispensing = await pharmacist.act(dispense(drugs))
    return {one.drug: one.reason for one in dispensing.withheld}


@each_row(
    ("drugs", "known", "kept_back", "why"),
    [
        (["paracetamol", "ibuprofen"], {}, [], ""),
        (["amoxicillin"], {"allergies": "Allergic to penicillin."}, ["amoxicillin"], "allergic to penicillins"),
        (
            ["amoxicillin-clavulanate"],
            {"allergies": "a rash after ampicillin"},
            ["amoxicillin-clavulanate"],
            "allergic",
        ),
        (["paracetamol"], {"allergies": "Paracetamol: hives"}, ["paracetamol"], "allergic to paracetamol"),
        (["amoxicillin"], {"allergies": "No allergy to penicillin or sulfa."}, [], ""),
        (["amoxicillin"], {"allergies": "An allergy to pollen."}, [], ""),
        (["ceftriaxone"], {"allergies": "penicillin"}, [], ""),
        (["aspirin", "paracetamol"], {"age": 9}, ["aspirin"], "Reye's syndrome in children (not below 16 years)"),
        (["doxycycline"], {"age": 7.9}, ["doxycycline"], "teeth"),
        (["doxycycline"], {"age": 8}, [], ""),
        (["levofloxacin"], {"age": 17}, ["levofloxacin"], "cartilage"),
        (["doxycycline", "paracetamol"], {"pregnant": True}, ["doxycycline"], "pregnant"),
        (["ibuprofen"], {"medications": "warfarin for the heart"}, ["ibuprofen"], "takes warfarin: bleeding"),
        (["ibuprofen"], {"medications": "stopped warfarin a year ago"}, [], ""),
        (
            ["glyceryl-trinitrate"],
            {"medications": "sildenafil now and then"},
            ["glyceryl-trinitrate"],
            "blood pressure",
        ),
        (["ibuprofen", "paracetamol", "diclofenac"], {}, ["diclofenac"], "ibuprofen is prescribed already"),
        (["apixaban", "diclofenac"], {}, ["diclofenac"], "takes apixaban"),
        (["aspirin"], {"age": None}, [], ""),
    ],
)
async def test_what_is_withheld_and_why(drugs, known, kept_back, why):
    came = await withheld(*drugs, **known)
    assert list(came) == kept_back
    assert all(why in reason for reason in came.values())


async def test_a_drug_that_is_withheld_makes_no_duplicate():
    came = await withheld("ibuprofen", "diclofenac", allergies="ibuprofen")
    assert "allergic" in came["ibuprofen"]
    assert "allergic" in came["diclofenac"]
    assert list(await withheld("aspirin", "ibuprofen", age=10)) == ["aspirin"]


@pytest.mark.parametrize(
    ("allergies", "kept_back"),
    [("青霉素过敏", ["amoxicillin"]), ("否认青霉素、头孢过敏", []), ("青霉素不过敏", []), ("对花粉过敏", [])],
)
async def test_in_chinese(allergies, kept_back):
    came = await withheld("amoxicillin", "paracetamol", language="zh", allergies=allergies)
    assert list(came) == kept_back
    assert all("过敏" in reason for reason in came.values())


def test_words_are_whole_words():
    assert told("aspirin", "Aspirin, daily")
    assert not told("aspirin", "aspirinlike")
    assert not told("penicillin", "never had penicillin")
    assert told("penicillin", "no asthma, allergic to penicillin")


def test_the_cautions_speak_of_drugs_that_there_are():
    cautions, known = read_cautions(), read_knowledge().drugs.values()
    assert cautions.sources
    groups = [*cautions.allergies, *cautions.ages, *cautions.pregnancy, *cautions.interactions, *cautions.duplicates]
    codes = {code for group in groups for code in group.drugs}
    used = {code for code in codes if any(d.atc.startswith(code) for d in known)}
    assert {"J01C", "J01AA", "J01MA", "M01A", "J05AE30", "J05AX25"} <= used


def test_what_is_told_at_the_counter():
    presentation = Presentation(complaint="Cough", age=30, sex="female", about="teacher")
    expecting = History(personal="She is in the third month of pregnancy.", allergies="penicillin", medications="iron")
    known = told_at_the_counter(presentation, expecting)
    assert known == Known(allergies="penicillin", medications="iron", pregnant=True)
    for text in ("Not pregnant.", "Two earlier pregnancies.", "否认怀孕", "既往妊娠2次"):
        assert not told_at_the_counter(presentation, History(personal=text)).pregnant


async def test_only_what_is_prescribed_can_be_withheld():
    with pytest.raises(WrongAnswer, match="'aspirin'; the options are ibuprofen"):
        await withheld("ibuprofen", mind=ScriptedMind([{"withheld": [{"drug": "aspirin", "reason": "no"}]}]))
    twice = [{"drug": "ibuprofen", "reason": "a"}, {"drug": "ibuprofen", "reason": "b"}]
    with pytest.raises(WrongAnswer, match="twice"):
        await withheld("ibuprofen", mind=ScriptedMind([{"withheld": twice}]))


async def test_the_rules_pharmacist_does_nothing_else():
    with pytest.raises(ScriptError, match="dispenses"):
        await Pharmacist(RulesPharmacist(), Presentation(complaint="cough"), (), Known()).act(REPORT)


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_model_is_told_the_prescription_and_the_patient(language):
    heard = []

    def answer(messages):
        heard.append("\n".join(text for _, text in messages))
        return {"withheld": [{"drug": "amoxicillin", "reason": "an allergy"}]}

    minds = Minds(pharmacist="direct/m", knowledge=read_knowledge(), seed=1, models={"direct/m": Scripted(answer)})
    mind = minds.pharmacist("a case")
    came = await withheld("amoxicillin", "paracetamol", language=language, mind=mind, allergies="penicillin!")
    assert came == {"amoxicillin": "an allergy"}
    assert "penicillin!" in heard[0]
    assert "- paracetamol: " + drug("paracetamol").name.get(language) in heard[0]
    assert {"en": "not known", "zh": "不详"}[language] in heard[0]


async def test_a_model_that_names_another_drug_is_unreadable():
    said = {"withheld": [{"drug": "aspirin", "reason": "no"}]}
    minds = Minds(pharmacist="direct/m", knowledge=read_knowledge(), seed=1, models={"direct/m": Scripted([said])})
    with pytest.raises(UnreadableReply):
        await withheld("ibuprofen", mind=minds.pharmacist("a case"))


def test_drugs_are_read_out_of_a_report():
    known = [drug(name) for name in ATC]
    items = ("amoxicillin-clavulanate for a week", "Paracetamol for fever and no aspirin", "rest")
    assert [d.id for d in prescribed(items, known, "en")] == ["amoxicillin-clavulanate", "paracetamol"]
    assert [d.id for d in prescribed(("口服阿莫西林", "不用布洛芬，无需阿莫西林以外的药"), known, "zh")] == [
        "amoxicillin"
    ]
