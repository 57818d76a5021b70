"""Bytes sent to a gateway, and what must hold for every answer."""

from __future__ import annotations

import json

import httpx2

from tests.integration.talking import raw, stats
from tests.running import GatewayProcess

TURNS = b"/v1/sessions/s/turns"
GOOD = b'{"user_id":"u","turns":[{"role":"user","content":"x"}]}'


class Door:
    def __init__(self, gateway: GatewayProcess, api: httpx2.Client) -> None:
        self._url = gateway.url
        self._api = api
        self._headers = {
            "Authorization": api.headers["authorization"].encode(),
            "Content-Type": b"application/json",
        }

    def send(
        self,
        method: str,
        target: bytes,
        body: bytes | None = None,
        **headers: bytes,
    ) -> int:
        """The status. A refusal is a problem, and leaves everything as it was."""
        before = stats(self._api)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        status, answer = raw(self._url, method, target, headers=self._headers | named, body=body)
        assert status < 500, answer
        if status >= 400:
            assert json.loads(answer)["status"] == status
            assert stats(self._api) == before
        return status

    def post_turn(self, turn_json: bytes) -> int:
        return self.send("POST", TURNS, b'{"user_id":"u","turns":[%s]}' % turn_json)
