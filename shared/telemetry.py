"""Logs as JSON lines, and the metrics. Names of metrics are a Literal: a typo does not type-check.

Never text or personal data: ids, counts and times only.
"""

from __future__ import annotations

import logging
import sys
from importlib.metadata import version
from typing import Literal

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

CounterName = Literal["turnkeep_turns_accepted_total", "turnkeep_bells_total"]
HistogramName = Literal[
    "http_server_request_duration_seconds",
    "turnkeep_context_duration_seconds",
    "turnkeep_context_tokens",
]
GaugeName = Literal[
    "turnkeep_stage_backlog",
    "turnkeep_stage_oldest_age_seconds",
    "turnkeep_index_owed",
    "turnkeep_turns_unpartitioned",
    "turnkeep_dependency_up",
    "turnkeep_build_info",
]
SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
TOKENS = (50, 100, 200, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000)


def configure_logs(*, service: str, level: str) -> None:
    """To standard error, one JSON object a line."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="timestamp"),
            structlog.processors.dict_tracebacks,
            structlog.processors.EventRenamer("event"),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level)),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.bind_contextvars(service=service, version=version("turnkeep"))


class Metrics:
    """One registry a process; a scrape of the gateway asks the database for what only it knows."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.accepted = self._counter("turnkeep_turns_accepted_total", "Turns by outcome", ["outcome"])
        self.bells = self._counter("turnkeep_bells_total", "Doorbells by outcome", ["outcome"])
        self.requests = self._histogram(
            "http_server_request_duration_seconds",
            "Requests by route",
            ["http_request_method", "http_route", "http_response_status_code"],
        )
        self.context_seconds = self._histogram(
            "turnkeep_context_duration_seconds", "Assembling a context", ["degraded"]
        )
        self.context_tokens = Histogram(
            "turnkeep_context_tokens",
            "Tokens of a context by section",
            ["section"],
            buckets=TOKENS,
            registry=self.registry,
        )
        self.backlog = self._gauge("turnkeep_stage_backlog", "Steps due or running", ["stage"])
        self.oldest = self._gauge("turnkeep_stage_oldest_age_seconds", "Age of the oldest step", ["stage"])
        self.index_owed = self._gauge("turnkeep_index_owed", "Memories the index still has to be told", [])
        self.unpartitioned = self._gauge("turnkeep_turns_unpartitioned", "Turns in the default partition", [])
        self.dependency_up = self._gauge("turnkeep_dependency_up", "1 when it answers", ["dependency"])
        self._gauge("turnkeep_build_info", "Always 1", ["version"]).labels(version("turnkeep")).set(1)

    def _counter(self, name: CounterName, help_text: str, labels: list[str]) -> Counter:
        return Counter(name, help_text, labels, registry=self.registry)

    def _histogram(self, name: HistogramName, help_text: str, labels: list[str]) -> Histogram:
        return Histogram(name, help_text, labels, buckets=SECONDS, registry=self.registry)

    def _gauge(self, name: GaugeName, help_text: str, labels: list[str]) -> Gauge:
        return Gauge(name, help_text, labels, registry=self.registry)
