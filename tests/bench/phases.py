"""What is measured, one function a kind of figure. Each runs in a tenant of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from time import perf_counter, sleep
from urllib.parse import quote

import orjson

from tests.bench import chat
from tests.bench.clients import Client, Request, Timings, drive
from tests.bench.figures import Figure, of_requests, of_work
from tests.bench.processors import Meter
from tests.bench.stack import Stack

SESSION_TURNS = 16
LARGEST_BATCH = 100
POLL_SECONDS = 0.2
SHORT_POLL_SECONDS = 0.005
# Work that makes no progress for so long will make none.
STUCK_SECONDS = 120.0
CONTEXT_TOKENS = 2_000
ENOUGH = 0.97
# A turn leaves its episode, and every second one a statement or so.
TURNS_A_MEMORY = 0.6
USER = "customer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    stack: Stack
    meter: Meter
    key: str

    def client(self) -> Client:
        return Client(port=self.stack.port, key=self.key)


def accepted(bench: Bench, *, clients: int, requests: int, batch: int, when: str) -> Figure:
    """`requests` of `batch` turns each; every client writes to sessions of its own, one after the other."""
    share = requests // clients
    shares = [
        list(posts(f"a{batch}.{clients}.{client}", count=share * batch, batch=batch, seed=client))
        for client in range(clients)
    ]
    with bench.meter.measured() as split:
        timings = drive(shares, port=bench.stack.port, key=bench.key)
    name = f"accept, {batch} turn{'s' if batch > 1 else ''} a request, {when}"
    return of_requests(name, timings, split=split, clients=clients, each=(batch, "turns/s"))


def done(bench: Bench, *, clients: int, count: int) -> Figure:
    """From the first post until the last turn is done. Every session is flushed at its end, as a backend does
    that closes it; else the last turns of each would be waiting for their session to be idle."""
    share = count // clients
    shares = [
        list(posts(f"d{client}", count=share, batch=1, seed=client, flush=True)) for client in range(clients)
    ]
    begun = perf_counter()
    with bench.meter.measured() as split:
        drive(shares, port=bench.stack.port, key=bench.key)
        wait_until_done(bench)
        seconds = perf_counter() - begun
    return of_work("done, end to end", count=share * clients, seconds=seconds, split=split, clients=clients)


def lag(bench: Bench, *, times: int) -> Figure:
    """From the answer to a flush until the turn before it is done, with nothing else to do."""
    client = bench.client()
    latencies: list[float] = []
    with bench.meter.measured() as split:
        for number in range(times):
            post, flush = posts(f"l{number}", count=1, batch=1, seed=number, flush=True)
            turn_id = orjson.loads(client.post(post))["accepted"][0]["turn_id"]
            client.post(flush)
            begun = perf_counter()
            while client.get(f"/v1/sessions/l{number}.0/turns/{turn_id}")["state"] != "done":
                sleep(SHORT_POLL_SECONDS)
            latencies.append(perf_counter() - begun)
    client.close()
    timings = Timings(latencies=latencies, elapsed=sum(latencies))
    name = "from a flush to done, alone"
    return of_requests(name, timings, split=split, clients=1, each=(1, "turns/s"))


def filled(bench: Bench, *, memories: int) -> int:
    """Post turns of one user until about so many memories of them are indexed; returns how many there are."""
    found = memories_of(bench)
    while found < ENOUGH * memories:
        count = max(LARGEST_BATCH // 2, int((memories - found) * TURNS_A_MEMORY))
        requests = posts(f"f{found}", count=count, batch=LARGEST_BATCH, seed=found, flush=True, user=USER)
        drive([list(requests)], port=bench.stack.port, key=bench.key)
        wait_until_done(bench, indexed=True)
        found = memories_of(bench)
    return found


def memories_of(bench: Bench) -> int:
    client = bench.client()
    told = client.get("/v1/stats")["memories"]
    client.close()
    if not isinstance(told, dict):
        raise TypeError("stats without memories")
    return int(told["hot"]) + int(told["warm"])


def contexts(bench: Bench, *, clients: int, requests: int, memories: int) -> Figure:
    share = requests // clients
    shares = [
        [context_request(query) for query in chat.questions(share, seed=client)] for client in range(clients)
    ]
    with bench.meter.measured() as split:
        timings = drive(shares, port=bench.stack.port, key=bench.key)
    return of_requests(f"context, {memories:,} memories", timings, split=split, clients=clients)


def searches(bench: Bench, *, clients: int, requests: int, memories: int) -> Figure:
    share = requests // clients
    shares = [
        [search_request(query) for query in chat.questions(share, seed=client)] for client in range(clients)
    ]
    with bench.meter.measured() as split:
        timings = drive(shares, port=bench.stack.port, key=bench.key)
    return of_requests(f"search, {memories:,} memories", timings, split=split, clients=clients)


def context_request(query: str) -> Request:
    body = {"user_id": USER, "query": query, "max_tokens": CONTEXT_TOKENS, "format": "text"}
    return Request(path=f"/v1/sessions/{quote('f0.0', safe='')}/context", body=orjson.dumps(body))


def search_request(query: str) -> Request:
    return Request(path="/v1/memories/search", body=orjson.dumps({"user_id": USER, "query": query}))


def posts(
    name: str, *, count: int, batch: int, seed: int, flush: bool = False, user: str | None = None
) -> Iterator[Request]:
    """`count` turns in sessions of about SESSION_TURNS, each of whole batches."""
    size = ceil(SESSION_TURNS / batch) * batch
    for place in range(0, count, size):
        session = f"{name}.{place // size}"
        turns = chat.turns(min(size, count - place), seed=seed + place // size)
        for first in range(0, len(turns), batch):
            body = {"user_id": user or session, "turns": turns[first : first + batch]}
            yield Request(path=f"/v1/sessions/{session}/turns", body=orjson.dumps(body))
        if flush:
            yield Request(path=f"/v1/sessions/{session}/flush")


def wait_until_done(bench: Bench, *, indexed: bool = False) -> None:
    """Raises RuntimeError when turns died, or nothing moves any more."""
    client = bench.client()
    last: tuple[object, ...] = ()
    moved = perf_counter()
    while True:
        told = client.get("/v1/stats")
        turns = told["turns"]
        if not isinstance(turns, dict) or turns["dead"]:
            raise RuntimeError(f"turns died: {told}")
        owed = (turns["pending"], told["index_owed"] if indexed else 0)
        if not any(owed):
            break
        moved = perf_counter() if owed != last else moved
        last = owed
        if perf_counter() - moved > STUCK_SECONDS:
            raise RuntimeError(f"nothing was done for {STUCK_SECONDS:.0f} s: {told}")
        sleep(POLL_SECONDS)
    client.close()
