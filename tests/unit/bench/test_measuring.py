from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console
from typer import BadParameter

from tests.bench.clients import Timings
from tests.bench.figures import Figure, of_requests, report, table
from tests.bench.load import numbers
from tests.bench.processors import OTHERS, Meter, Reading, Split, bound, used


def figure() -> Figure:
    timings = Timings(latencies=[0.010] * 50, elapsed=0.25)
    split = Split(cores={"gateway": 0.5, OTHERS: 0.3})
    return of_requests("accept", timings, split=split, clients=1, each=(10, "turns/s"))


def test_a_percentile_is_interpolated_between_the_two_around_it() -> None:
    timings = Timings(latencies=[0.4, 0.1, 0.3, 0.2], elapsed=1.0)
    assert timings.percentile(0.5) == pytest.approx(0.25)
    assert timings.percentile(1.0) == pytest.approx(0.4)
    assert timings.percentile(0.0) == pytest.approx(0.1)


def test_the_rate_counts_what_a_request_carries() -> None:
    assert figure().rate == pytest.approx(2_000)
    assert figure().p95 == pytest.approx(10)


def test_costs_are_processor_time_of_our_own_parts() -> None:
    assert figure().costs == {"gateway": pytest.approx(0.25)}


def test_what_no_part_used_was_used_by_others() -> None:
    before = Reading(at=10.0, busy=100.0, parts={"gateway": 5.0, "client": 1.0})
    after = Reading(at=12.0, busy=103.0, parts={"gateway": 6.0, "client": 1.5})
    assert used(before, after) == {"gateway": 0.5, "client": 0.25, OTHERS: 0.75}


def test_a_meter_sees_its_own_process_work() -> None:
    with Meter({}).measured() as split:
        sum(range(3_000_000))
    assert split.cores["client"] > 0


@pytest.mark.parametrize(
    ("cores", "clients", "told"),
    [
        ({"gateway": 0.9, "postgres": 0.9}, 16, "all 2 cores"),
        ({"gateway": 0.5, OTHERS: 1.4}, 16, "all 2 cores, 1.4 of them by other programs"),
        ({"gateway": 0.9, "postgres": 0.4}, 16, "the core of the gateway"),
        ({"gateway": 0.4, "postgres": 0.2}, 1, "one request at a time"),
        ({"gateway": 0.4, OTHERS: 0.9}, 16, "waiting, not processors"),
    ],
)
def test_the_bound_is_told_from_who_was_busy(cores: dict[str, float], clients: int, told: str) -> None:
    assert bound(cores, count=2, clients=clients) == told


def test_a_report_holds_the_settings_and_every_figure() -> None:
    made = report([figure()], settings={"embedder": "hashing"})
    assert made["settings"] == {"embedder": "hashing"}
    assert made.keys() == {"settings", "machine", "versions", "figures"}
    assert made["figures"] == [
        {
            "name": "accept",
            "clients": 1,
            "rate": pytest.approx(2_000),
            "unit": "turns/s",
            "p50": pytest.approx(10),
            "p95": pytest.approx(10),
            "p99": pytest.approx(10),
            "cores": {"gateway": 0.5, OTHERS: 0.3},
            "bound": figure().bound,
            "costs": {"gateway": pytest.approx(0.25)},
        }
    ]


def test_a_table_shows_rate_latency_and_cost() -> None:
    console = Console(width=150, file=StringIO())
    with console.capture() as capture:
        console.print(table([figure()], title="hashing"))
    shown = capture.get()
    assert "2,000 turns/s" in shown
    assert "10.0" in shown
    assert "gateway 0.2" in shown


def test_how_many_clients_is_a_list_of_numbers() -> None:
    assert numbers("1,16") == [1, 16]
    for wrong in ("", "0", "one", "1,"):
        with pytest.raises(BadParameter):
            numbers(wrong)
