"""The floor's queues against what theory says of them: M/M/c, M/G/1, two priorities and a Jackson network.

Times are whole seconds, which are small beside a mean service of a thousand.
"""

import math

import pytest
from tests.hospital.floor.stations import interval, live

from polyclinic.hospital.record.happenings import Acuity
from polyclinic.seeds import derive

SERVICE = 1000


def all_wait(arrivals, service, c):
    """Erlang's C (1917): the share of those who wait in an M/M/c queue, from rates."""
    load = arrivals / service
    last = load**c / math.factorial(c) * c / (c - load)
    return last / (sum(load**k / math.factorial(k) for k in range(c)) + last)


def erlang(arrivals, service, c):
    """Mean wait in an M/M/c queue."""
    return all_wait(arrivals, service, c) / (c * service - arrivals)


def pollaczek_khinchine(arrivals, mean, variance):
    """Mean wait in an M/G/1 queue (Pollaczek 1930, Khinchine 1932)."""
    return arrivals * (variance + mean**2) / (2 * (1 - arrivals * mean))


def cobham(urgent, routine, service, c):
    """Mean waits of two classes of an M/M/c queue whose service is not interrupted (Cobham 1954)."""
    waits = all_wait(urgent + routine, service, c) / (c * service)
    first, both = urgent / (c * service), (urgent + routine) / (c * service)
    return waits / (1 - first), waits / ((1 - first) * (1 - both))


async def waits_of(servers, rate, customer, *, seed, n, warm_up):
    """Mean waits of one replication, by name; `customer` is a generator that notes them with `note(name, waited)`."""
    sums, counts, number = {}, {}, 0

    def arrivals(stations, clock):
        nonlocal number
        rng = derive(seed, "arrivals")
        for number in range(n):
            yield clock.wait(round(rng.expovariate(rate)))
            clock.start(customer(stations, derive(seed, "customer", number), note))

    def note(name, waited):
        if number >= warm_up:
            sums[name] = sums.get(name, 0) + waited
            counts[name] = counts.get(name, 0) + 1

    await live(servers, arrivals)
    return {name: sums[name] / counts[name] for name in sums}


def m_m_c(c, rho):
    def customer(stations, rng, note):
        note("wait", (yield from stations.serve("q", round(rng.expovariate(1 / SERVICE)))))

    rate = rho * c / SERVICE
    return {"q": c}, rate, customer, {"wait": erlang(rate, 1 / SERVICE, c)}


def m_g_1(rho, spread=0.5):
    median = SERVICE / math.exp(spread**2 / 2)

    def customer(stations, rng, note):
        seconds = max(1, round(median * math.exp(spread * rng.gauss(0, 1))))
        note("wait", (yield from stations.serve("q", seconds)))

    rate = rho / SERVICE
    variance = SERVICE**2 * (math.exp(spread**2) - 1)
    return {"q": 1}, rate, customer, {"wait": pollaczek_khinchine(rate, SERVICE, variance)}


def two_priorities(c, rho, share=0.3):
    def customer(stations, rng, note):
        acuity = Acuity.URGENT if rng.random() < share else Acuity.ROUTINE
        note(str(acuity), (yield from stations.serve("q", round(rng.expovariate(1 / SERVICE)), acuity=acuity)))

    rate = rho * c / SERVICE
    urgent, routine = cobham(share * rate, (1 - share) * rate, 1 / SERVICE, c)
    return {"q": c}, rate, customer, {"urgent": urgent, "routine": routine}


def jackson(again=0.25, on=0.6):
    """Two doctors, one laboratory: some are sent on to it, some of these come back (Jackson 1957)."""
    rate = 0.75 / SERVICE

    def customer(stations, rng, note):
        while True:
            note("doctors", (yield from stations.serve("doctors", round(rng.expovariate(1 / SERVICE)))))
            if rng.random() >= on:
                return
            note("laboratory", (yield from stations.serve("laboratory", round(rng.expovariate(1.25 / SERVICE)))))
            if rng.random() >= again:
                return

    doctors = rate / (1 - on * again)
    expected = {
        "doctors": erlang(doctors, 1 / SERVICE, 2),
        "laboratory": erlang(on * doctors, 1.25 / SERVICE, 1),
    }
    return {"doctors": 2, "laboratory": 1}, rate, customer, expected


MODELS = {
    "M/M/1": m_m_c(1, 0.6),
    "M/M/2": m_m_c(2, 0.7),
    "M/M/4": m_m_c(4, 0.8),
    "M/G/1": m_g_1(0.7),
    "M/M/2 with two priorities": two_priorities(2, 0.7),
    "Jackson network": jackson(),
}


async def outside(model, *, replications, n, warm_up, within=None):
    """Which mean waits the 95 % intervals of replications do not hold."""
    servers, rate, customer, expected = MODELS[model]
    came = [await waits_of(servers, rate, customer, seed=seed, n=n, warm_up=warm_up) for seed in range(replications)]
    wrong = []
    for name, theory in expected.items():
        mean, half = interval([one[name] for one in came])
        if abs(mean - theory) > half or (within is not None and half > within * theory):
            wrong.append(f"{model}, {name}: {mean:.0f} ± {half:.0f} s, theory {theory:.0f} s")
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize("model", ["M/M/2", "M/G/1", "M/M/2 with two priorities", "Jackson network"])
async def test_mean_waits_are_those_of_theory_in_short_runs(model):
    assert not await outside(model, replications=8, n=2000, warm_up=400)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
async def test_mean_waits_are_those_of_theory(model):
    assert not await outside(model, replications=10, n=4000, warm_up=500, within=0.25)


@pytest.mark.slow
async def test_theory_finds_out_who_is_called_in_another_order(monkeypatch):
    """Without priorities the urgent would wait as all do."""
    *model, _ = MODELS["M/M/2 with two priorities"]
    everybody = erlang(1.4 / SERVICE, 1 / SERVICE, 2)
    monkeypatch.setitem(MODELS, "no priorities", (*model, {"urgent": everybody, "routine": everybody}))
    wrong = await outside("no priorities", replications=8, n=2000, warm_up=400)
    assert any("urgent" in line for line in wrong)
