"""Bad input is refused and changes nothing; odd input is taken and comes back whole; nothing answers 5xx."""

from __future__ import annotations

import gzip
import json
import socket
from urllib.parse import quote, urlsplit

import httpx2
import pytest

from tests.integration.door import GOOD, TURNS, Door
from tests.integration.talking import accepted, post, read, stats, turn
from tests.running import GatewayProcess

HEAD = b"POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\nContent-Type: application/json\r\n%s\r\n\r\n"


def _with(fields: bytes) -> bytes:
    return b'{"role":"user","content":"x",%s}' % fields


TOOL_CALL = b'{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f",%s}}]}'
REFUSED_TURNS = {
    "NUL": b'{"role":"user","content":"a\\u0000b"}',
    "raw control": b'{"role":"user","content":"a\x00b"}',
    "half a pair": b'{"role":"user","content":"\\ud800"}',
    "a pair the wrong way round": b'{"role":"user","content":"\\ude00\\ud83d"}',
    "half a pair in an id": _with(b'"id":"\\udfff"'),
    "half a pair in an unknown field": _with(b'"x":["\\ud800"]'),
    "half a pair as a key": _with(b'"metadata":{"\\ud800":1}'),
    "NUL as a key": _with(b'"metadata":{"a\\u0000":1}'),
    "invalid UTF-8": b'{"role":"user","content":"\xff\xfe"}',
    "a surrogate in UTF-8": b'{"role":"user","content":"\xed\xa0\x80"}',
    "an overlong form": b'{"role":"user","content":"\xc0\xaf"}',
    "an integer beyond 64 bits": _with(b'"metadata":{"a":18446744073709551616}'),
    "a negative one": _with(b'"metadata":{"a":-9223372036854775809}'),
    "one of 5,000 digits": _with(b'"metadata":{"a":%s}' % (b"9" * 5_000)),
    "one in arguments": TOOL_CALL % b'"arguments":{"a":[123456789012345678901234567890]}',
    "a float beyond all": _with(b'"metadata":{"a":1e400}'),
    "NaN": _with(b'"metadata":{"a":NaN}'),
    "Infinity": _with(b'"metadata":{"a":-Infinity}'),
    "metadata that is a list": _with(b'"metadata":[1]'),
    "nesting": _with(b'"metadata":{"a":%s}' % (b"[" * 40 + b"]" * 40)),
    "nesting without end": _with(b'"metadata":{"a":%s}' % (b"[" * 100_000 + b"]" * 100_000)),
    "a naive time": _with(b'"created_at":"2024-01-01T00:00:00"'),
    "a date": _with(b'"created_at":"2024-01-01"'),
    "the year 1": _with(b'"created_at":"0001-01-01T00:00:00+14:00"'),
    "the year 9999": _with(b'"created_at":"9999-12-31T23:59:59-14:00"'),
    "a leap second": _with(b'"created_at":"2016-12-31T23:59:60Z"'),
    "an offset of 99 hours": _with(b'"created_at":"2024-01-01T00:00:00+99:99"'),
    "a time as a huge number": _with(b'"created_at":999999999999999999'),
    "a time as a float beyond all": _with(b'"created_at":1e308'),
    "a time that is true": _with(b'"created_at":true'),
    "an empty id": _with(b'"id":""'),
    "a long id": _with(b'"id":"%s"' % (b"x" * 257)),
    "an id that is a number": _with(b'"id":5'),
    "an unknown role": b'{"role":"robot","content":"x"}',
    "an unknown speaker": _with(b'"speaker":"cat"'),
    "no content": b'{"role":"user"}',
    "content of spaces": b'{"role":"user","content":" \\n "}',
    "content that is a number": b'{"role":"user","content":5}',
    "an empty list of parts": b'{"role":"user","content":[]}',
    "a part without a type": b'{"role":"user","content":[{"text":"x"}]}',
    "a part whose type is a list": b'{"role":"user","content":[{"type":["text"],"text":"x"}]}',
    "a part of an unknown type": b'{"role":"user","content":[{"type":"audio","text":"x"}]}',
    "an image that is a string": b'{"role":"user","content":[{"type":"image_url","image_url":"x"}]}',
    "a tool's result without its call": b'{"role":"tool","content":"x"}',
    "tool calls of a user": _with(b'"tool_calls":[{"id":"1","function":{"name":"f"}}]'),
    "a tool call without a function": b'{"role":"assistant","tool_calls":[{"id":"1"}]}',
    "a tool call of an unknown type": TOOL_CALL.replace(b"function", b"x", 1) % b'"arguments":{}',
    "arguments that are a list": TOOL_CALL % b'"arguments":[1]',
    "the last of two contents": b'{"role":"user","content":"x","content":null}',
    "no turn": b"5",
}
REFUSED_BODIES = {
    "nothing": b"",
    "spaces": b"  ",
    "null": b"null",
    "a list": b"[]",
    "half of it": b'{"user_id":"u","turns":[{"role":"us',
    "two of it": GOOD + b"{}",
    "a byte order mark": b"\xef\xbb\xbf" + GOOD,
    "UTF-16": GOOD.decode().encode("utf-16"),
    "no turns": b'{"user_id":"u","turns":[]}',
    "no user": b'{"turns":[{"role":"user","content":"x"}]}',
    "a user without a name": b'{"user_id":"","turns":[{"role":"user","content":"x"}]}',
    "half a pair as the user": b'{"user_id":"\\ud800","turns":[{"role":"user","content":"x"}]}',
}
TAKEN = {
    "emoji": "👨‍👩‍👧‍👦 🏳️‍🌈",
    "bidi": "\u202eabc\u2066\u200b\ufeff",
    "noncharacters": "\ufffe\uffff\ufdd0\U0010ffff",
    "control characters": "\x01\x08\x1f\x7f\x85\u2028",
    "a composed and a decomposed letter": "é e\u0301",
    "what tokenizers use": "<|endoftext|><|im_start|>",
    "what SQL uses": "'; drop table turns; -- %s :x $1 \\",
    "what markup uses": "</memory><system>&lt;]]>",
}


@pytest.mark.parametrize("name", REFUSED_TURNS)
def test_a_bad_turn_is_refused(door: Door, name: str) -> None:
    assert door.post_turn(REFUSED_TURNS[name]) == 422


@pytest.mark.parametrize("name", REFUSED_BODIES)
def test_a_bad_body_is_refused(door: Door, name: str) -> None:
    assert door.send("POST", TURNS, REFUSED_BODIES[name]) == 422


@pytest.mark.parametrize("name", TAKEN)
def test_odd_text_is_taken_and_comes_back_whole(door: Door, api: httpx2.Client, name: str) -> None:
    said = TAKEN[name]
    sent = turn(said, id=said, name=said, metadata={said: [said]})
    accepted(post(api, sent, session=quote(said, safe=""), user=said))
    (back,) = read(api, f"/v1/sessions/{quote(said, safe='')}/turns")["turns"]
    assert {field: back[field] for field in sent} == sent
    (session,) = read(api, f"/v1/users/{quote(said, safe='')}/sessions")["sessions"]
    assert (session["session_id"], session["user_id"]) == (said, said)
    assert door.send("DELETE", f"/v1/users/{quote(said, safe='')}".encode()) == 202


@pytest.mark.parametrize(
    "id_in_path", ["a/b", "/", "%", "%2F", "a%2Fb", "..", "a b", "a?b#c", "a;b,c", "+", "键"]
)
def test_every_id_that_can_be_posted_can_be_addressed(api: httpx2.Client, id_in_path: str) -> None:
    segment = quote(id_in_path, safe="").replace(".", "%2E")
    accepted(post(api, turn("hi"), session=segment, user=id_in_path))
    (session,) = read(api, f"/v1/users/{segment}/sessions")["sessions"]
    assert (session["session_id"], session["user_id"]) == (id_in_path, id_in_path)
    assert api.delete(f"/v1/users/{segment}").status_code == 202
    assert api.get(f"/v1/users/{segment}").status_code == 404


@pytest.mark.parametrize("segment", [b"%00", b"%ff", b"%ED%A0%80", b"%C0%AF", b"x" * 257], ids=repr)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_path_that_is_no_text_is_refused(door: Door, method: str, segment: bytes) -> None:
    """Decoded loosely, two such ids would be one."""
    body = GOOD if method == "POST" else None
    assert door.send(method, b"/v1/sessions/" + segment + b"/turns", body) == 422


@pytest.mark.parametrize("memory_id", [b"x", b"%00", b"%ff", b"1" * 33, b"%D9%A3" * 32])
@pytest.mark.parametrize("call", ["GET ", "GET /history", "DELETE ", "PATCH "])
def test_a_memory_id_that_is_none_is_refused(door: Door, call: str, memory_id: bytes) -> None:
    method, rest = call.split(" ")
    body = b'{"pinned":true}' if method == "PATCH" else None
    assert door.send(method, b"/v1/memories/" + memory_id + rest.encode(), body) == 422


def test_bodies_over_the_limit_are_refused(door: Door) -> None:
    large = b'{"user_id":"u","turns":[%s]}' % b",".join(
        [b'{"role":"user","content":"%s"}' % (b"x" * 30_000)] * 9
    )
    assert door.send("POST", TURNS, large) == 413
    assert door.post_turn(b'{"role":"user","content":"%s"}' % (b"x" * 33_000)) == 413


def _connect(gateway: GatewayProcess) -> socket.socket:
    place = urlsplit(gateway.url)
    return socket.create_connection((place.hostname or "", place.port or 0), timeout=30)


def test_a_body_without_a_length_is_measured_as_it_comes(
    quiet_gateway: GatewayProcess, api: httpx2.Client
) -> None:
    before = stats(api)
    key = api.headers["authorization"].encode()
    with _connect(quiet_gateway) as connection:
        connection.sendall(HEAD % (TURNS, key, b"Transfer-Encoding: chunked"))
        for _ in range(9):
            connection.sendall(b"%x\r\n%s\r\n" % (30_000, b" " * 30_000))
        assert connection.recv(64).startswith(b"HTTP/1.1 413 ")
    assert stats(api) == before


def test_a_body_that_breaks_off_is_never_taken_for_a_whole_one(
    quiet_gateway: GatewayProcess, api: httpx2.Client
) -> None:
    key = api.headers["authorization"].encode()
    with _connect(quiet_gateway) as connection:
        connection.sendall(HEAD % (TURNS, key, b"Content-Length: %d" % (len(GOOD) + 9)) + GOOD)
    accepted(post(api, turn("after")))
    assert stats(api)["turns"]["accepted"] == 1


@pytest.mark.parametrize("encoding", [b"gzip", b"GZIP", b"br", b"identity, gzip", b"x"])
def test_a_compressed_body_is_refused(door: Door, encoding: bytes) -> None:
    bomb = gzip.compress(b" " * 10_000_000)
    assert door.send("POST", TURNS, bomb, Content_Encoding=encoding) == 422


@pytest.mark.parametrize(
    "kind", [b"text/plain", b"application/x-www-form-urlencoded", b"multipart/form-data", b"", b"\xff/\xff"]
)
def test_a_body_that_says_it_is_something_else_is_refused(door: Door, kind: bytes) -> None:
    assert door.send("POST", TURNS, GOOD, Content_Type=kind) == 422


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (b"", 422),
        (b'""', 422),
        (b'"', 422),
        (b"x" * 256, 422),
        (b"\xff\xfe", 202),
        ("键".encode(), 202),
        (b"a\tb", 202),
    ],
)
def test_odd_idempotency_keys(door: Door, header: bytes, status: int) -> None:
    for _ in range(2):
        assert door.send("POST", TURNS, GOOD, Idempotency_Key=header) == status


@pytest.mark.parametrize(
    "token",
    [
        b"tk_\xff_\xff",
        b"tk_" + b"a" * 50_000 + b"_b",
        b"tk__",
        b"tk_a_",
        b"tk_%_%",
        b"tk_a'--_b",
        "tk_键_键".encode(),
    ],
)
def test_an_odd_key_is_unauthorized(door: Door, token: bytes) -> None:
    assert door.send("GET", b"/v1/stats", Authorization=b"Bearer " + token) == 401


@pytest.mark.parametrize("model", ["gpt2", "text-davinci-003", "code-davinci-002"])
def test_a_model_whose_tokens_cannot_be_counted_here_is_refused(door: Door, model: str) -> None:
    body = json.dumps({"max_tokens": 100, "model": model}).encode()
    assert door.send("POST", b"/v1/sessions/s/context", body) == 422
