"""The API's own description works without the internet."""

from __future__ import annotations

import re

import httpx2


def test_the_documentation_page_loads_nothing_from_elsewhere(api: httpx2.Client) -> None:
    page = api.get("/docs").raise_for_status().text
    parts = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert any(part.endswith(".js") for part in parts)
    assert [part for part in parts if "//" in part] == []
    assert all(api.get(part).status_code == 200 for part in parts)


def test_the_description_names_every_call(api: httpx2.Client) -> None:
    paths = api.get("/openapi.json").raise_for_status().json()["paths"]
    assert {"/v1/sessions/{session_id}/turns", "/v1/memories/search", "/v1/stats", "/readyz"} <= set(paths)


def test_the_description_says_how_to_authenticate_and_what_errors_look_like(api: httpx2.Client) -> None:
    described = api.get("/openapi.json").raise_for_status().json()
    assert described["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"
    call = described["paths"]["/v1/sessions/{session_id}/turns"]["post"]
    assert call["security"] == [{"HTTPBearer": []}]
    assert {"401", "403", "404", "409", "413", "422", "503"} <= set(call["responses"])
    assert list(call["responses"]["422"]["content"]) == ["application/problem+json"]
