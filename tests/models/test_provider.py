"""A model of one's own: a name and one method, or only the verb."""

import msgspec

from polyclinic.models.answers import Completion
from polyclinic.models.journal import Journal
from polyclinic.models.ledger import Ledger
from polyclinic.models.model import Reply
from polyclinic.models.provider import Provider


class Loud(Provider):
    name = "loud"

    async def complete(self, said, form, options):
        return Completion(said[-1][1].upper() if form is None else '{"answer": "no"}')


class Bare:
    name = "bare"

    async def ask(self, messages, *, answer=None, **options):
        return Reply(f"{messages} {sorted(options)}", "yes")


async def test_a_door_reads_and_asks_again_by_itself():
    async with Loud() as model:
        assert (await model.ask("Fever?", temperature=0)).text == "FEVER?"
        assert (await model.ask("Fever?", answer=("yes", "no"))).value == "no"
        choosy = await model.ask([("user", "x")], answer=bool | str, purpose="p")
        assert choosy.value == "no"


class Struct(msgspec.Struct):
    number: int


async def test_what_wraps_a_model_hands_on_what_it_is_given(tmp_path):
    ledger = Ledger()
    async with Journal(tmp_path / "j") as journal:
        model = ledger.meter(journal.wrap(Bare(), episode="e"), "doctor")
        reply = await model.ask("x", answer=Struct, seed=1, purpose="ask")
    assert reply.text == "x ['purpose', 'seed']"
    assert list(ledger.lines) == [("doctor", "ask")]
