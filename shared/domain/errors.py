"""The error tree. Each branch is a decision that whoever catches it takes:

TurnkeepError
├── Refused                 tell the caller, change nothing
│   ├── Invalid             the request can never be accepted as it stands
│   ├── TooLarge            the request is over a documented limit
│   ├── Conflict            the request meets something that is there or in flight
│   ├── Missing             unknown, or somebody else's: the same answer for both
│   ├── Unauthorized        no key, a wrong key, a revoked key
│   ├── Forbidden           the key lacks the scope
│   └── Stale               the precondition (If-Match) no longer holds
├── RetryLater              nothing is wrong with the work: try again, count no attempt
│   ├── ModelUnavailable    with `retry_after` seconds when the server named them
│   ├── EmbedderUnavailable
│   ├── IndexUnavailable
│   └── StoreUnavailable
├── ModelAnswerUnusable     the model answered nonsense: the rules take over
├── TextRefused             the embedder will never take this text: a failure of the work that holds it
├── ClaimLost               another worker owns the step now, or its subject was erased: drop the result
└── SettingsError           stop the start with this sentence
"""

from __future__ import annotations


class TurnkeepError(Exception):
    pass


class Refused(TurnkeepError):
    """`code` is stable and machine-readable, the message says what to do."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


class Invalid(Refused):
    pass


class TooLarge(Refused):
    pass


class Conflict(Refused):
    pass


class Missing(Refused):
    pass


class Unauthorized(Refused):
    pass


class Forbidden(Refused):
    pass


class Stale(Refused):
    pass


class RetryLater(TurnkeepError):
    pass


class ModelUnavailable(RetryLater):
    def __init__(self, detail: str, *, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class EmbedderUnavailable(RetryLater):
    pass


class IndexUnavailable(RetryLater):
    pass


class StoreUnavailable(RetryLater):
    pass


class ModelAnswerUnusable(TurnkeepError):
    pass


class TextRefused(TurnkeepError):
    pass


class ClaimLost(TurnkeepError):
    pass


class SettingsError(TurnkeepError):
    pass
