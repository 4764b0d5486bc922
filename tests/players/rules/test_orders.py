"""What is ordered in a doctor's turn, as the patient passes it on."""

from tests.tables import each_row

from polyclinic.players.rules.patient import hear, ordered, request


@each_row(
    ("said", "language", "passed_on"),
    [
        ("I'd like you to have a chest X-ray to rule out pneumonia.", "en", "chest X-ray"),
        ("I would recommend an ultrasound of the neck, please.", "en", "ultrasound of the neck"),
        ("Let me listen to your lungs.", "en", "listen to your lungs"),
        ("I would like to examine your abdomen.", "en", "examine your abdomen"),
        ("May I look into your ears?", "en", "look into your ears"),
        ("Let me check your reflexes.", "en", "check your reflexes"),
        ("Please do a flu test.", "en", "flu test"),
        ("建议您做胸部CT检查，以便明确诊断。", "zh", "胸部CT检查"),
        ("根据您的情况，我建议您查一下血糖。", "zh", "血糖"),
        ("让我看看您的嗓子。", "zh", "让我看看您的嗓子"),
    ],
)
def test_an_order_is_passed_on_without_its_reasons(said, language, passed_on):
    heard = hear(said, language)
    assert (heard.kind, heard.definite, heard.examining) == ("advice", True, True)
    assert ordered(heard.focus, language) == passed_on
    assert passed_on in request(heard.focus, language)
