"""An answer that broke is asked for anew; what would fail again is not."""

import pytest

from polyclinic.errors import Rejected, TooLarge
from polyclinic.models.persistent import Persistent
from polyclinic.models.scripted import Scripted


async def test_what_broke_is_asked_for_anew_a_few_times():
    model = Persistent(Scripted([TooLarge("4 MiB"), TooLarge("4 MiB"), "here"]))
    assert (await model.ask("Which?")).text == "here"
    with pytest.raises(TooLarge):
        await Persistent(Scripted([TooLarge("4 MiB")] * 4)).ask("Which?")
    with pytest.raises(Rejected):
        await Persistent(Scripted([Rejected("no"), "here"])).ask("Which?")
