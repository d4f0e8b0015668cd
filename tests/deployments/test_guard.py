"""Who may use a server that is started here: its owner's clients and its own pages, nobody else."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from deployments import server
from tests.conftest import prefect_post

pytestmark = pytest.mark.slow
EVIL = {"Origin": "http://evil.example"}
SHELL = {"name": "x", "flow_id": "x", "pull_steps": [{"prefect.deployments.steps.run_shell_script": {}}]}


@pytest.fixture(name="served", scope="module")
def _served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A home and the address of its server."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PREFECT_HOME", str(home / "prefect"))
        with server.started(home, server.free_port()) as url:
            yield home, url


def owner(home: Path) -> tuple[str, str]:
    name, _, password = server.login(home).partition(":")
    return name, password


def test_nobody_gets_in_without_the_login(served: tuple[Path, str]) -> None:
    home, url = served
    for auth in (None, ("culturescope", "guessed")):
        assert httpx.get(f"{url}/flows/paginate", auth=auth).status_code == 401
        assert httpx.get(f"{url}/csrf-token?client=a", auth=auth).status_code == 401
        # Without a CSRF token it does not get as far as to be asked for a login.
        assert httpx.post(f"{url}/deployments/", json=SHELL, auth=auth).status_code == 403
    assert prefect_post(url, "/flows/filter", {}, server.login(home)) == []
    assert httpx.get(f"{url}/health").status_code == 200


def test_the_login_is_the_homes_own_and_no_other_user_can_read_it(
    served: tuple[Path, str], tmp_path: Path
) -> None:
    home, _ = served
    assert server.login(home) == server.login(home) != server.login(tmp_path)
    assert len(owner(home)[1]) >= 32
    assert stat.S_IMODE((home / "prefect" / "login").stat().st_mode) == 0o600
    assert os.environ["PREFECT_API_AUTH_STRING"] == server.login(home)  # of the processes started from here


def test_a_page_of_another_site_can_neither_ask_nor_act(served: tuple[Path, str]) -> None:
    home, url = served
    for method in ("POST", "GET"):
        asked = {**EVIL, "Access-Control-Request-Method": method}
        assert httpx.options(f"{url}/deployments/", headers=asked).status_code == 400
    # A form needs no leave to be sent; browsers add what the user has logged in with.
    simple = {**EVIL, "Content-Type": "text/plain"}
    sent = httpx.post(f"{url}/deployments/", content="{}", headers=simple, auth=owner(home))
    assert sent.status_code == 403
    read = httpx.get(f"{url}/admin/version", headers=EVIL, auth=owner(home))
    assert "access-control-allow-origin" not in read.headers
    own = {"Origin": url.removesuffix("/api"), "Access-Control-Request-Method": "POST"}
    assert httpx.options(f"{url}/deployments/", headers=own).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:4200", "127.0.0.1.evil.example", ""])
def test_a_name_that_was_made_to_point_here_is_refused(served: tuple[Path, str], host: str) -> None:
    home, url = served
    for path in ("/health", "/admin/version"):
        assert httpx.get(f"{url}{path}", headers={"Host": host}, auth=owner(home)).status_code == 400
    page = httpx.get(url.removesuffix("/api"), headers={"Host": host})
    assert page.status_code == 400
    assert httpx.get(url.removesuffix("/api")).status_code == 200


def test_reports_ask_for_the_login_too(served: tuple[Path, str]) -> None:
    home, url = served
    address = f"{url.removesuffix('/api')}/reports/spectral/abc"
    stranger = httpx.get(address, timeout=60)
    assert (stranger.status_code, stranger.headers["www-authenticate"][:6]) == (401, "Basic ")
    missing = httpx.get(address, auth=owner(home), timeout=60)
    assert (missing.status_code, missing.text[:15]) == (404, "no finished run")


def test_home_is_the_users_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PREFECT_HOME", "PREFECT_LOGGING_LEVEL", "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL"):
        monkeypatch.setenv(name, "x")
    tmp_path.chmod(0o755)
    server.configure(tmp_path)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
