"""A tenant's backend talking to a gateway over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import httpx2

from tests.running import eventually

Body = dict[str, Any]


def turn(content: str, *, role: str = "user", **fields: object) -> Body:
    return {"role": role, "content": content} | fields


def post(
    client: httpx2.Client,
    *turns: Body,
    session: str = "s",
    user: str = "u",
    headers: Mapping[str, str] | None = None,
) -> httpx2.Response:
    body = {"user_id": user, "turns": turns}
    return client.post(f"/v1/sessions/{session}/turns", json=body, headers=headers)


def accepted(answer: httpx2.Response) -> list[Body]:
    assert answer.status_code == 202, answer.text
    receipts: list[Body] = answer.json()["accepted"]
    return receipts


def add(client: httpx2.Client, text: str, *, user: str = "u", **fields: object) -> str:
    """The new memory's id."""
    answer = client.post("/v1/memories", json={"user_id": user, "text": text} | fields)
    assert answer.status_code == 202, answer.text
    return str(UUID(answer.json()["id"]))


def read(client: httpx2.Client, path: str, **params: object) -> Body:
    answer = client.get(path, params={name: str(value) for name, value in params.items()})
    assert answer.status_code == 200, answer.text
    body: Body = answer.json()
    return body


def stats(client: httpx2.Client) -> Body:
    """Without the one figure that moves by itself."""
    found = read(client, "/v1/stats")
    del found["oldest_pending_seconds"]
    return found


def await_done(client: httpx2.Client) -> Body:
    """Returns the statistics once nothing is pending and nothing is owed to the index."""
    eventually(lambda: (found := stats(client))["turns"]["pending"] == 0 == found["index_owed"], seconds=60)
    return stats(client)


def await_live(client: httpx2.Client, *memory_ids: str) -> None:
    """Returns once the memories have been merged and the index has been told."""
    paths = [f"/v1/memories/{memory_id}" for memory_id in memory_ids]
    eventually(lambda: "pending" not in [read(client, path)["state"] for path in paths])
    eventually(lambda: stats(client)["index_owed"] == 0)


def problem(answer: httpx2.Response, *, status: int, code: str) -> Body:
    """The answer's body, an error in the one form that errors have."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body: Body = answer.json()
    assert (body["code"], body["status"]) == (code, status)
    assert body["request_id"] == answer.headers["x-request-id"]
    assert body.keys() >= {"type", "title", "detail", "instance"}
    return body


def raw(
    url: str,
    method: str,
    target: bytes,
    *,
    headers: Mapping[str, bytes],
    body: bytes | None = None,
) -> tuple[int, bytes]:
    """Bytes as they are, which a well-behaved client refuses to send: status and body."""
    connection = HTTPConnection(urlsplit(url).netloc, timeout=30)
    try:
        connection.putrequest(method, target.decode("latin-1"), skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
