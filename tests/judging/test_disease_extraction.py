"""A model reads the names of diseases out of a diagnosis; where it gives none that can be used, the rules' stand."""

from polyclinic.errors import TimedOut
from polyclinic.judging.disease_names import extract_diseases
from polyclinic.models.scripted import Scripted


async def test_names_are_read_once_a_text_and_by_rules_where_nothing_comes():
    asked = []

    def answer(messages):
        asked.append(messages)
        if "gout" in messages[-1][1]:
            raise TimedOut("nothing came")
        return {"analysis": "Two.", "diseases": ["肺炎", " 肺炎 ", "贫血", ""]}

    texts = ["肺炎伴贫血\n# 2", "肺炎伴贫血\n# 2", "  ", "Diagnosis: gout; anaemia"]
    found = await extract_diseases(texts, Scripted(answer))
    assert found.names == {texts[0]: ("肺炎", "贫血"), texts[3]: ("gout", "anaemia")}
    assert found.by_rules == {"TimedOut": 1}
    assert len(asked) == 2
    assert "列出其中提到的疾病" in asked[0][0][1] and "肺炎伴贫血\n# 2" in asked[0][1][1]
