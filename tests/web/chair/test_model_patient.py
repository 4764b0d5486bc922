"""Models beside a person: what a patient said stands, and a judge who gives no answer is no end."""

from itertools import count

import pytest
from tests.web.chair.conftest import Client

from polyclinic.models.settings import ModelSettings
from polyclinic.web.application import application
from polyclinic.web.chair.staff import OfferedPlayers
from polyclinic.web.serving import Serving

MIND = "direct/patient"


async def test_what_a_model_said_stands(tmp_path, folder, serving):
    numbers = count(1)
    with serving(lambda _: {"say": f"answer {next(numbers)}", "to": "doctor", "leave": False}) as endpoint:
        players = OfferedPlayers(patients=(MIND,), models=ModelSettings(base_url=endpoint.url))
        first = Serving([tmp_path], practice=folder, players=players)
        client = Client(application(first))
        await client.begin(patient=MIND)
        for text in ("One?", "Two?"):
            await client.move("say", text=text)
        said = (await client.move("say", text="Three?")).document["lines"]
        undone = (await client.move("undo")).document
        assert undone["lines"] == said[:-2]
        # Asked the same again, it says the same; asked something else, something else.
        assert (await client.move("say", text="Three?")).document["lines"] == said
        await client.move("undo")
        other = (await client.move("say", text="Four?")).document
        assert other["lines"][-1]["text"] == "answer 5" and other["lines"][:-2] == said[:-2]
        asked = next(numbers)
        await first.end()
        second = Serving([tmp_path], practice=folder, players=players)
        again = Client(application(second))
        again.at, again.moves = client.at, client.moves
        assert (await again.get(again.at)).document == other
        assert next(numbers) == asked + 1  # nobody was asked anew
        await second.end()


@pytest.mark.slow
async def test_where_the_judge_gives_no_answer_rules_grade(tmp_path, folder, serving):
    with serving(lambda _: "no grades at all") as endpoint:
        players = OfferedPlayers(judge="direct/judge", models=ModelSettings(base_url=endpoint.url))
        served = Serving([tmp_path], practice=folder, players=players)
        client = Client(application(served))
        await client.begin()
        await client.hand_in()
        own = (await client.get(f"{client.at}/score")).document["own"]
        assert {one["aspect"]: one["grade"] for one in own["aspects"]}["diagnosis"] == "A"
        assert own["judge"] == "rules" and "rules graded in its place" in own["without"][-1]
        await served.end()
