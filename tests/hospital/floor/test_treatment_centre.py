"""Nelson's treatment centre on our queues, beside `treat-sim`, whose table is stored with the command that made it."""

import pytest
from tests.hospital.floor.treatment_centre import apart, replications


async def test_a_few_days_agree_with_treat_sim():
    assert not apart(await replications(20))


@pytest.mark.slow
async def test_200_days_agree_with_treat_sim():
    ours = await replications(200)
    assert not apart(ours)
    ours["03a_examination_wait"] = [wait + 6 for wait in ours["03a_examination_wait"]]
    assert len(apart(ours)) == 1
