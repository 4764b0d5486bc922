"""A type to ask for, and the doors opened so that pauses are short."""

from typing import Annotated

import msgspec
import pytest

from polyclinic.models.direct import Direct


class Echo(msgspec.Struct, forbid_unknown_fields=True):
    """What the endpoint's function below answers with."""

    number: int
    word: Annotated[str, msgspec.Meta(max_length=40, pattern="^w[0-9]+$")]


@pytest.fixture
def echo():
    """The type, and the function for an endpoint that answers the question "number N" with it."""

    def answer(body):
        for message in body["messages"]:
            if message["role"] == "user" and message["content"].startswith("number "):
                number = int(message["content"].removeprefix("number ").split()[0])
                return {"number": number, "word": f"w{number}"}
        return {"number": -1, "word": "w0"}

    return Echo, answer


@pytest.fixture
def opened():
    """Opens `direct/test` at an endpoint, with short pauses."""

    def open_at(url, **options):
        return Direct("test", base_url=str(url), **{"pause": 0.001, "timeout": 20.0, "seed": 1, **options})

    return open_at
