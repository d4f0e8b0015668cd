"""Only the owner's clients and the server's own pages may use a server started here."""

from __future__ import annotations

import base64
import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from string import Template

import httpx
import pytest

from deployments.serve import server
from tests.conftest import prefect_post
from tests.deployments.browser import CHROMIUM, Browser, browser
from tests.http_server import Answer, serving

pytestmark = pytest.mark.slow
EVIL = {"Origin": "http://evil.example"}
SHELL = {"name": "x", "flow_id": "x", "pull_steps": [{"prefect.deployments.steps.run_shell_script": {}}]}


@pytest.fixture(scope="module")
def served(prefect_api: str) -> tuple[Path, str]:
    """The home and the address of the tests' own server."""
    return Path(os.environ["PREFECT_HOME"]).parent, prefect_api


def flows(home: Path, url: str) -> set[str]:
    """Return the names of the server's flows; other tests add some."""
    return {flow["name"] for flow in prefect_post(url, "/flows/filter", {}, server.login(home))}


def owner(home: Path) -> tuple[str, str]:
    name, _, password = server.login(home).partition(":")
    return name, password


def test_requests_without_the_login_are_refused(served: tuple[Path, str]) -> None:
    home, url = served
    for auth in (None, ("culturemeter", "guessed")):
        assert httpx.get(f"{url}/flows/paginate", auth=auth).status_code == 401
        assert httpx.get(f"{url}/csrf-token?client=a", auth=auth).status_code == 401
        # The missing CSRF token is refused before the login is checked.
        assert httpx.post(f"{url}/deployments/", json=SHELL, auth=auth).status_code == 403
    assert not {"x", "evil"} & flows(home, url)
    assert httpx.get(f"{url}/health").status_code == 200


def test_login_belongs_to_the_home_and_only_its_owner_can_read_it(
    served: tuple[Path, str], tmp_path: Path
) -> None:
    home, _ = served
    assert server.login(home) == server.login(home) != server.login(tmp_path)
    assert len(owner(home)[1]) >= 32
    assert stat.S_IMODE((home / "prefect" / "login").stat().st_mode) == 0o600
    # Processes that this one starts use the login.
    assert os.environ["PREFECT_API_AUTH_STRING"] == server.login(home)


def test_requests_from_another_origin_are_refused(served: tuple[Path, str]) -> None:
    home, url = served
    for method in ("POST", "GET"):
        asked = {**EVIL, "Access-Control-Request-Method": method}
        assert httpx.options(f"{url}/deployments/", headers=asked).status_code == 400
    # A form is sent without a preflight request, and browsers add the user's login.
    simple = {**EVIL, "Content-Type": "text/plain"}
    sent = httpx.post(f"{url}/deployments/", content="{}", headers=simple, auth=owner(home))
    assert sent.status_code == 403
    read = httpx.get(f"{url}/admin/version", headers=EVIL, auth=owner(home))
    assert "access-control-allow-origin" not in read.headers
    own = {"Origin": url.removesuffix("/api"), "Access-Control-Request-Method": "POST"}
    assert httpx.options(f"{url}/deployments/", headers=own).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:4200", "127.0.0.1.evil.example", ""])
def test_foreign_host_name_is_refused(served: tuple[Path, str], host: str) -> None:
    home, url = served
    for path in ("/health", "/admin/version"):
        assert httpx.get(f"{url}{path}", headers={"Host": host}, auth=owner(home)).status_code == 400
    page = httpx.get(url.removesuffix("/api"), headers={"Host": host})
    assert page.status_code == 400
    assert httpx.get(url.removesuffix("/api")).status_code == 200


def test_reports_require_the_login(served: tuple[Path, str]) -> None:
    home, url = served
    address = f"{url.removesuffix('/api')}/reports/spectral/abc"
    stranger = httpx.get(address, timeout=300)
    assert (stranger.status_code, stranger.headers["www-authenticate"][:6]) == (401, "Basic ")
    missing = httpx.get(address, auth=owner(home), timeout=300)
    assert (missing.status_code, missing.text[:15]) == (404, "no finished run")


def test_home_is_readable_by_its_owner_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PREFECT_HOME", "PREFECT_LOGGING_LEVEL", "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL"):
        monkeypatch.setenv(name, "x")
    tmp_path.chmod(0o755)
    server.configure(tmp_path)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


# --- a page of another site, in a browser that the user has logged in with ------------------------------

ATTEMPTS = Template("""(async () => {
  const api = "$api", body = JSON.stringify($shell), outcomes = {};
  const attempt = async (what, path, options) => {
    try {
      const answer = await fetch(api + path, {credentials: "include", ...options});
      outcomes[what] = answer.type === "opaque" ? "opaque" : answer.status;
    } catch (error) { outcomes[what] = "refused"; }
  };
  const json = {"Content-Type": "application/json"}, plain = {"Content-Type": "text/plain"};
  await attempt("read", "/admin/version", {});
  await attempt("read with login", "/admin/version", {headers: {$login}});
  await attempt("token", "/csrf-token?client=evil", {headers: {$login}});
  await attempt("upsert", "/deployments/", {method: "POST", headers: json, body});
  await attempt("ask with login", "/flows/filter", {method: "POST", headers: {...json, $login}, body: "{}"});
  const form = {method: "POST", headers: plain, mode: "no-cors", body: '{"name": "evil"}'};
  await attempt("form", "/flows/", form);
  await attempt("delete", "/flows/$id", {method: "DELETE"});
  for (const path of ["/events/in", "/events/out", "/logs/out"]) {
    outcomes[path] = await new Promise(done => {
      const socket = new WebSocket(api.replace("http", "ws") + path, "prefect");
      socket.onopen = () => socket.send('{"type": "auth", "token": "guessed"}');
      socket.onmessage = message => done(message.data);
      socket.onclose = () => done("closed");
    });
  }
  return outcomes;
})()""")
SUBMIT = Template("""(() => {
  const form = document.createElement("form"), input = document.createElement("input");
  Object.assign(form, {method: "post", action: "$api/flows/", enctype: "text/plain"});
  Object.assign(input, {name: '{"name": "evil", "x": "', value: '"}'});
  form.append(input);
  document.body.append(form);
  form.submit();
})()""")
NO_ID = "00000000-0000-0000-0000-000000000000"


@pytest.fixture(scope="module")
def evil() -> Iterator[str]:
    """Serve a foreign site with one page and yield its address."""
    page = Answer(b"<title>hello</title><body>hello", headers={"Content-Type": "text/html"})
    with serving(lambda _: page) as site:
        yield site.address.replace("127.0.0.1", "evil.example")


@pytest.fixture(scope="module")
def tab(served: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser tab in which the user has logged in to look at a report."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    home, url = served
    with browser(tmp_path_factory.mktemp("profile"), "MAP evil.example 127.0.0.1") as tab:
        report = f"{url.removesuffix('/api')}/reports/spectral/abc"
        assert "no finished run" in tab.open(report.replace("//", f"//{server.login(home)}@", 1))
        assert "no finished run" in tab.open(report)  # the browser remembers the login
        yield tab


def attempts(url: str, login: str = "") -> str:
    shell = (
        '{"name": "x", "flow_id": "x", "pull_steps": [{"prefect.deployments.steps.run_shell_script": {}}]}'
    )
    return ATTEMPTS.substitute(api=url, shell=shell, login=login, id=NO_ID)


def test_page_of_another_site_in_a_browser_can_do_nothing(
    served: tuple[Path, str], tab: Browser, evil: str
) -> None:
    home, url = served
    assert tab.open(evil) == "hello"
    sockets = dict.fromkeys(["/events/in", "/events/out", "/logs/out"], "closed")
    asked = ["read", "read with login", "token", "upsert", "ask with login", "delete"]
    outcomes = tab.run(attempts(url, '"Authorization": "Basic eDp5"'))
    for path in sockets:  # the server sends the reason and closes the connection
        assert outcomes.pop(path) == "closed" or "auth" in outcomes.get(path, "auth")
    assert outcomes == dict.fromkeys(asked, "refused") | {"form": "opaque"}  # sent, like the form below
    tab.run(SUBMIT.substitute(api=url))
    assert "CSRF" in tab.text(url)
    assert not {"x", "evil"} & flows(home, url)


def test_own_page_with_the_login_may_read(served: tuple[Path, str], tab: Browser) -> None:
    """The attempts work with the login, and the browser's remembered login does not open the API."""
    home, url = served
    tab.open(f"{url.removesuffix('/api')}/reports/spectral/abc")
    header = base64.b64encode(server.login(home).encode()).decode()
    outcomes = tab.run(attempts(url, f'"Authorization": "Basic {header}"'))
    assert [outcomes[what] for what in ("read", "read with login", "token")] == [401, 200, 200]
    assert {outcomes[what] for what in ("upsert", "ask with login", "delete", "form")} == {403}  # no token


def test_browser_with_a_rebound_host_name_is_refused(served: tuple[Path, str], tab: Browser) -> None:
    """The foreign name resolves to the server, so the browser treats its pages as same-origin."""
    _, url = served
    rebound = url.replace("127.0.0.1", "evil.example")
    assert tab.open(rebound.removesuffix("/api")) == "Invalid host header"
    outcomes = tab.run(attempts(rebound, '"Authorization": "Basic eDp5"'))
    assert {outcomes.pop(path) for path in ("/events/in", "/events/out", "/logs/out")} == {"closed"}
    assert set(outcomes.values()) == {400}


# --- another user of the machine -------------------------------------------------------------------------


def as_nobody(*command: str) -> tuple[int, str]:
    """Run a command as a user without rights; return exit status and output.

    Uses ``setpriv``: Python forks to change the user, which takes seconds in a large process.
    """
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command],
        cwd="/",
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def beside(served: tuple[Path, str]) -> Iterator[Path]:
    """A world-readable file beside the home: only the home's own mode keeps other users out."""
    file = served[0].parent / "open"
    modes = {above: above.stat().st_mode for above in file.parents}
    closed = [above for above, mode in modes.items() if not mode & stat.S_IXOTH]
    file.touch()
    for path, mode in [(file, 0o644), *((above, modes[above] | 0o011) for above in closed)]:
        path.chmod(mode)
    yield file
    for above in closed:
        above.chmod(modes[above])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_of_the_machine_can_neither_read_nor_start(
    served: tuple[Path, str], beside: Path
) -> None:
    home, url = served
    assert as_nobody("cat", str(beside)) == (0, "")
    files = [path for path in home.rglob("*") if path.is_file()]
    assert {"login", "prefect.db", "server.log"} <= {path.name for path in files}
    secret = owner(home)[1]
    status, output = as_nobody("ls", str(home))
    assert status != 0
    assert "Permission denied" in output
    # One shell for all: a process of this size takes long to fork.
    reads = 'for file; do cat "$file" > /dev/null 2>&1 && echo "$file"; done; true'
    assert as_nobody("bash", "-c", reads, "bash", *map(str, files)) == (0, "")
    assert as_nobody("bash", "-c", reads, "bash", str(beside)) == (0, f"{beside}\n")
    listening = f":{httpx.URL(url).port}"
    processes = [p for p in Path("/proc").glob("[0-9]*") if _command_line(p).count(listening[1:])]
    assert processes
    for process in processes:
        assert secret not in _command_line(process)
        assert secret not in as_nobody("cat", str(process / "cmdline"))[1]
        assert as_nobody("cat", str(process / "environ"))[0] != 0
    ask = (
        'exec 3<>/dev/tcp/127.0.0.1/$0; printf "%s HTTP/1.0\\r\\nHost: 127.0.0.1\\r\\n'
        'Content-Type: application/json\\r\\nContent-Length: 2\\r\\n\\r\\n{}" "$1" >&3; head -1 <&3'
    )
    for request, expected in (
        ("GET /api/health", "200"),
        ("GET /api/flows/paginate", "401"),
        ("GET /reports/spectral/abc", "401"),
        ("POST /api/deployments/", "403"),
        ("POST /api/flows/filter", "403"),
    ):
        _, output = as_nobody("bash", "-c", ask, listening[1:], request)
        assert output.split()[1] == expected, request


def _command_line(process: Path) -> str:
    try:
        return (process / "cmdline").read_text()
    except OSError:  # the process has ended
        return ""
