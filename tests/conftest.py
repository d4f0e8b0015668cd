"""Fixtures and helpers of several folders."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from traceback import format_exception
from types import SimpleNamespace
from typing import Any, NamedTuple

import httpx
import hypothesis
import pytest
from typer.testing import CliRunner

from deployments.serve import server
from tasks.engines.local import embedded
from tests.ports import free_port
from tests.shared_store import (  # noqa: F401 - fixtures, of every test
    postgres_server_url,
    postgres_url,
    s3_endpoint,
    s3_parts,
    shared_environment,
)
from tests.waiting import until
from warehouse import Warehouse, connection, published
from warehouse.storage import folder_signs

pytest_plugins = ["tests.reporting", "tests.untouched", "tests.workers"]
REPOSITORY = Path(__file__).parent.parent
Command = Callable[..., "subprocess.CompletedProcess[str]"]
"""Takes the words of a command line, and ``check=False`` if it is expected to fail."""


@pytest.fixture(scope="session")
def models_cache() -> Path:
    """The folder in which embedded models are prepared once and kept between runs."""
    home = os.environ.get("CULTUREMETER_HOME") or REPOSITORY / ".culturemeter"
    return Path(home) / "models"


@pytest.fixture(scope="session")
def smollm2_folder(models_cache: Path) -> Path:
    """SmolLM2-135M-Instruct, a chat model."""
    return embedded.prepare("smollm2-135m", models_cache)


@pytest.fixture(scope="session")
def gemma3_folder(models_cache: Path) -> Path:
    """Gemma 3 270M, a base model without chat template."""
    return embedded.prepare("gemma3-270m", models_cache)


@pytest.fixture(scope="session")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with a new warehouse and nothing else, which takes seconds to create.

    A test that writes takes a copy.
    """
    folder = tmp_path_factory.mktemp("blank") / "home"
    Warehouse.open(folder)
    there = sorted(path.name for path in folder.iterdir())
    yield folder
    assert sorted(path.name for path in folder.iterdir()) == there, "a test has written to the blank home"


@pytest.fixture(scope="session")
def copied_home(blank: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """A function that returns a home with a new warehouse, for fixtures that several tests share."""

    def copy() -> Path:
        return Path(shutil.copytree(blank, tmp_path_factory.mktemp("home"), dirs_exist_ok=True))

    return copy


class Template(NamedTuple):
    """A blank home whose warehouse is current at the place ``here`` beside it.

    Views name the folder of parts, so a copy at another place creates them again, which takes longer than
    most tests. So the homes of tests use one place, one after the other. Their files are links to the
    template's, which a writer replaces: `Warehouse` need not read them again to know that they are current.
    """

    folder: Path
    here: Path
    known: tuple[object, object]
    """The state that ``warehouse.connection`` keeps of a current warehouse, for the template's files."""
    signs: frozenset[object]
    """The signs of the template's files (``folder_signs``): others mean that a test has changed one."""


def made_in_place(blank: Path, folder: Path) -> Template:
    """Return a template in a folder."""
    here = folder / "here"
    shutil.copytree(blank, here)
    Warehouse.open(here)
    template = here.rename(folder / "blank")
    return Template(template, here, connection._current[here], folder_signs([template]))


@pytest.fixture(scope="session")
def in_place(blank: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Template]:
    """A function that returns a template that no test has changed."""
    made: list[Template] = []

    def template() -> Template:
        if not made or folder_signs([made[-1].folder]) != made[-1].signs:
            made.append(made_in_place(blank, tmp_path_factory.mktemp("homes")))
        return made[-1]

    return template


@pytest.fixture
def new_home(in_place: Callable[[], Template], tmp_path: Path) -> Iterator[Path]:
    """A home with a new warehouse for one test; afterwards it is moved to the test's own folder."""
    template = in_place()
    here = template.here
    shutil.copytree(template.folder, here, copy_function=os.link)
    connection._current[here] = template.known
    if (version := published._shared._version) and version._n_waiting:  # registrations of an earlier test
        published._shared._release_version()
    yield here
    if here.exists():  # a test may have moved it
        here.rename(tmp_path / "home-of-the-test")


@pytest.fixture
def home(new_home: Path) -> Path:
    """A CULTUREMETER_HOME with a new warehouse and two fake models, fake-a and fake-b, and a slow one."""
    engines = new_home / "engines"
    engines.mkdir()
    for name, delay in (("fake-a", 0.0), ("fake-b", 0.0), ("slow", 0.25)):
        (engines / f"{name}.toml").write_text(
            f'kind = "fake"\nmodel = "{name}"\noptions = {{ delay = {delay} }}\n'
        )
    return new_home


@pytest.fixture
def warehouse(home: Path, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """The warehouse that commands and steps of this process open."""
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))
    return Warehouse.open()


@pytest.fixture
def own_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Warehouse], Warehouse]:
    """A function that copies a shared warehouse for writing; this process then opens the copy."""
    number = count()

    def copy(warehouse: Warehouse) -> Warehouse:
        home = Path(shutil.copytree(warehouse.home, tmp_path / f"copy-{next(number)}"))
        monkeypatch.setenv("CULTUREMETER_HOME", str(home))
        return Warehouse.open(home)

    return copy


@pytest.fixture(scope="session")
def prefect_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Prefect server for all tests that run flows; the environment has its login."""
    folder = tmp_path_factory.mktemp("prefect")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PREFECT_HOME", str(folder / "prefect"))
        with server.started(folder, free_port()) as url:
            yield url


@pytest.fixture
def culturemeter(home: Path, prefect_api: str) -> Command:
    """Run the command line in this process, with the environment of a separate process."""
    return checked(lambda arguments: in_process(arguments, environment(home, prefect_api)))


@pytest.fixture
def culturemeter_process(home: Path, prefect_api: str) -> Command:
    """Run the command line in its own process, as users do; one test per command does this."""

    def run(arguments: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        env = environment(home, prefect_api)
        return subprocess.run(command(*arguments), env=env, capture_output=True, text=True)

    return checked(run)


def checked(run: Callable[[tuple[str, ...]], subprocess.CompletedProcess[str]]) -> Command:
    """Return a command that must succeed unless ``check=False``."""

    def run_checked(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = run(arguments)
        if check:
            assert done.returncode == 0, done.stdout + done.stderr
        return done

    return run_checked


def in_process(arguments: tuple[str, ...], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command line in this process and return its output; the process's state is restored.

    Its exit handlers run at its end, and an unexpected error is a traceback on its standard error.
    """
    from deployments.cli.app import app

    log = logging.getLogger("culturemeter")
    level, propagates, at_exit = log.level, log.propagate, ExitStack()
    before = dict(os.environ)
    with pytest.MonkeyPatch.context() as patch, at_exit:
        at_exit.callback(lambda: (os.environ.clear(), os.environ.update(before)))
        patch.setattr(server, "atexit", SimpleNamespace(register=at_exit.callback))
        os.environ.clear()
        os.environ.update(env)
        done = CliRunner().invoke(app, list(arguments))
    log.setLevel(level)
    log.propagate = propagates
    trace = "" if isinstance(done.exception, SystemExit | None) else "".join(format_exception(done.exception))
    return subprocess.CompletedProcess(list(arguments), done.exit_code, done.stdout, done.stderr + trace)


def command(*arguments: str) -> list[str]:
    """Return the command that starts the command line in a process."""
    return [sys.executable, "-m", "deployments.cli.app", *arguments]


def environment(home: Path, api: str | None) -> dict[str, str]:
    """Return a clean environment for a subprocess with this home and this Prefect server."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "CULTUREMETER_"))}
    own = {"CULTUREMETER_HOME": str(home), "PYTHONPATH": str(REPOSITORY)}
    login = "PREFECT_API_AUTH_STRING"
    return kept | own | ({"PREFECT_API_URL": api, login: os.environ[login]} if api else {})


def prefect_post(api: str, path: str, body: object, login: str | None = None, method: str = "POST") -> Any:
    """Return a Prefect API's answer to an authorised request; login: by default the environment's."""
    name, _, password = (login or os.environ["PREFECT_API_AUTH_STRING"]).partition(":")
    with httpx.Client(auth=(name, password), timeout=60) as client:
        token = client.get(f"{api}/csrf-token", params={"client": "test"}).raise_for_status().json()["token"]
        headers = {"Prefect-Csrf-Token": token, "Prefect-Csrf-Client": "test"}

        def answer() -> httpx.Response | None:
            response = client.request(method, f"{api}{path}", json=body, headers=headers)
            return None if response.status_code == 503 else response  # its database is busy

        answered = until(answer, every=0.2)
        assert answered is not None
        return answered.raise_for_status().json() if answered.content else None


# Examples of property tests may take long on a busy machine.
# The same examples in every run of CI, so that it fails only for what was changed; others elsewhere.
hypothesis.settings.register_profile("patient", deadline=None, derandomize="CI" in os.environ)
hypothesis.settings.load_profile("patient")
