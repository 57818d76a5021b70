"""A programmable OpenAI-compatible server on loopback: real HTTP, scripted answers and faults."""

from __future__ import annotations

import json
import socket
from collections import defaultdict, deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from shared.inference.embedders.hashing import HashingEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

CHAT = "/v1/chat/completions"
EMBEDDINGS = "/v1/embeddings"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """`delay` seconds pass before anything is sent; then the body drips, `drip` seconds a byte.

    With `drip_headers` the headers drip instead and never end; with `hang_up` nothing is answered at all.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b"{}"
    delay: float = 0.0
    drip: float = 0.0
    drip_headers: bool = False
    hang_up: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    path: str
    body: dict[str, Any]
    authorization: str
    at: float


def chat_reply(content: str | None, *, finish_reason: str = "stop") -> Reply:
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return Reply(body=json.dumps({"object": "chat.completion", "choices": [choice]}).encode())


def json_reply(value: object) -> Reply:
    """A completion whose content is `value` as JSON."""
    return chat_reply(json.dumps(value, ensure_ascii=False))


def embeddings_reply(vectors: Sequence[Sequence[float]]) -> Reply:
    rows = [{"object": "embedding", "index": i, "embedding": list(v)} for i, v in enumerate(vectors)]
    return Reply(body=json.dumps({"object": "list", "data": rows}).encode())


def status_reply(status: int, *, message: str = "no", retry_after: str | None = None) -> Reply:
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return Reply(status=status, headers=headers, body=json.dumps({"error": {"message": message}}).encode())


class ModelServer:
    """Scripted replies are given once each, in order, a path apart; then the path's responder answers.

    Unless told otherwise, chat answers `{"ok": true}` and embeddings are those of the hashing embedder.
    """

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.stopping = Event()
        self._scripts: defaultdict[str, deque[Reply]] = defaultdict(deque)
        self._responders: dict[str, Callable[[dict[str, Any]], Reply]] = {
            CHAT: lambda _: json_reply({"ok": True}),
            EMBEDDINGS: lambda body: embeddings_reply(HashingEmbedder().passages(body["input"])),
        }
        self._http = _Server(("127.0.0.1", 0), _Conversation)
        self._http.model = self
        self._thread = Thread(target=self._http.serve_forever, args=(0.02,), name="model-server")

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def script(self, path: str, *replies: Reply) -> None:
        self._scripts[path].extend(replies)

    def respond(self, path: str, responder: Callable[[dict[str, Any]], Reply]) -> None:
        self._responders[path] = responder

    def bodies(self, path: str) -> list[dict[str, Any]]:
        return [each.body for each in self.received if each.path == path]

    def reply_to(self, request: Received) -> Reply:
        self.received.append(request)
        script = self._scripts[request.path]
        if script:
            return script.popleft()
        responder = self._responders.get(request.path)
        return responder(request.body) if responder else status_reply(404, message="no such path")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    model: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are what the tests are about."""


class _Conversation(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        authorization = self.headers.get("Authorization", "")
        request = Received(path=self.path, body=body, authorization=authorization, at=monotonic())
        reply = self.server.model.reply_to(request)
        self._pause(reply.delay)
        if reply.hang_up:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif reply.drip_headers:
            self._drip_headers(reply)
        else:
            self._answer(reply)

    def _answer(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        if not reply.drip:
            self.wfile.write(reply.body)
            return
        for byte in reply.body:
            self.wfile.write(bytes([byte]))
            self._pause(reply.drip)

    def _drip_headers(self, reply: Reply) -> None:
        self.close_connection = True
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not self.server.model.stopping.is_set():
            self.wfile.write(b"x")
            self._pause(reply.drip)

    def _pause(self, seconds: float) -> None:
        self.server.model.stopping.wait(seconds)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the name it overrides
        """Tests print nothing."""
