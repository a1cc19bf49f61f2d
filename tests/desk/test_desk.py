"""The desk behind its gate: who is let in, what leaves, and that the page adds nothing to the review."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.review.test_sheet import DRAFT

pytest.importorskip("starlette", reason="penstock[desk] is not installed")
from starlette.testclient import TestClient

from penstock.desk.app import Desk, Releasing, application
from penstock.desk.gate import Keys, cookie_name
from penstock.errors import DataError
from penstock.review.sheet import Sheet

PORT = 8765
HOME = f"http://127.0.0.1:{PORT}"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "people.schema.yaml").write_text(DRAFT)
    return Desk(Sheet(tmp_path / "people.schema.yaml"))


@pytest.fixture
def keys() -> Keys:
    return Keys()


@pytest.fixture
def stranger(desk: Desk, keys: Keys) -> TestClient:
    return TestClient(application(desk, keys, PORT), base_url=HOME, follow_redirects=False)


@pytest.fixture
def client(stranger: TestClient, keys: Keys) -> TestClient:
    assert stranger.get(f"/?token={keys.token}").status_code == 303
    stranger.headers["origin"] = HOME
    return stranger


def test_the_token_works_once_and_gives_a_cookie_that_scripts_and_other_pages_cannot_use(
    stranger: TestClient, keys: Keys
) -> None:
    token = keys.token
    assert stranger.get("/state").status_code == 403
    assert stranger.get("/?token=guess").status_code == 403
    answer = stranger.get(f"/?token={token}")
    assert answer.status_code == 303
    stated = answer.headers["set-cookie"].lower()
    assert "httponly" in stated
    assert "samesite=strict" in stated
    assert stranger.get("/state").status_code == 200
    stranger.cookies.clear()
    assert stranger.get(f"/?token={token}").status_code == 403
    stranger.cookies.set(cookie_name(PORT), "guess")
    assert stranger.get("/state").status_code == 403


def test_two_desks_in_one_browser_do_not_put_each_other_out(client: TestClient, desk: Desk) -> None:
    """Cookies are shared by all ports of a host, so the second desk's must not replace the first one's."""
    keys, port = Keys(), PORT + 1
    home = f"http://127.0.0.1:{port}"
    other = TestClient(application(desk, keys, port), base_url=home, follow_redirects=False)
    other.cookies.update(client.cookies)
    assert other.get("/state").status_code == 403
    assert other.get(f"/?token={keys.token}").status_code == 303
    client.cookies.update(other.cookies)
    assert client.get("/state").status_code == other.get("/state").status_code == 200


@pytest.mark.parametrize("host", ["evil.example", f"localhost:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}"])
def test_only_its_own_address_is_answered(client: TestClient, host: str) -> None:
    assert client.get("/state", headers={"host": host}).status_code == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", None])
def test_a_page_from_elsewhere_changes_nothing(client: TestClient, desk: Desk, origin: str | None) -> None:
    del client.headers["origin"]
    headers = {} if origin is None else {"origin": origin}
    answer = client.post("/act", json={"action": "confirm", "words": ["ward"]}, headers=headers)
    assert answer.status_code == 403
    assert desk.sheet.path.read_text() == DRAFT


@pytest.mark.parametrize("path", ["/", "/desk.js", "/desk.css", "/state", "/nowhere"])
def test_every_answer_forbids_everything_that_the_page_does_not_need(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; ")
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in headers


def test_the_page_loads_nothing_from_elsewhere() -> None:
    folder = Path(__file__).parents[2] / "src/penstock/desk"
    for name in ("desk.html", "desk.css", "desk.js"):
        text = (folder / name).read_text()
        assert "http" not in text, name
        assert "innerHTML" not in text, name
        assert len(text) < 25_000, name


def test_actions_are_those_of_the_review_and_refusals_are_told(client: TestClient, desk: Desk) -> None:
    answer = client.post("/act", json={"action": "confirm", "words": ["ward"]}).json()
    assert answer["left"] == ["weight", "admitted", "unit"]
    assert "problem" not in answer
    refused = client.post("/act", json={"action": "bounds", "words": ["weight", "9", "1"]}).json()
    assert "above the maximum" in refused["problem"]
    assert refused["left"] == answer["left"]
    desk.sheet.path.write_text(DRAFT)
    assert "somebody else" in client.post("/act", json={"action": "undo", "words": []}).json()["problem"]


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b'{"action": "confirm", "words": [1]}', b"{" * 200_000, b"[" * 90_000, b"\xff"],
)
def test_what_is_no_action_is_refused(client: TestClient, desk: Desk, body: bytes) -> None:
    answer = client.post("/act", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    form = client.post("/act", content=b'{"action": "confirm", "words": ["ward"]}')
    assert form.status_code == 400
    assert desk.sheet.path.read_text() == DRAFT


def test_a_release_waits_for_the_review_and_a_failure_is_a_sentence(client: TestClient, desk: Desk) -> None:
    assert "nothing to release" in client.post("/release", json={"epsilon": "1"}).json()["problem"]
    asked: list[str] = []

    def make(epsilon: str) -> None:
        asked.append(epsilon)
        if len(asked) == 1:
            raise DataError("age: row 7 is outside.")
        if len(asked) == 2:
            raise ValueError("a value of somebody")

    desk.releasing = Releasing(make, desk.sheet.path.parent)
    assert "still wait" in client.post("/release", json={"epsilon": "1"}).json()["problem"]
    for name in list(desk.sheet.left):
        desk.sheet.do("confirm", name)
    assert client.post("/release", json={"epsilon": "1000"}).status_code == 400
    assert asked == []
    for expected in ("age: row 7 is outside.", "in a way it should not (ValueError)", "people"):
        desk.releasing.state = "running"
        desk.releasing.run("1")
        told = client.get("/state").json()["release"]
        assert expected in told["message"] or told["state"] == "done"
        assert "somebody" not in told["message"]
    assert client.get("/state").json()["release"]["state"] == "done"
