"""``run`` shows which key goes to which host, and remembers what the user allows."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from deployments.cli.run import confirm
from tasks.engines import specs
from tasks.engines.served.keys import FILE
from tasks.engines.specs import load_spec
from tests.deployments.commands import call, one_line, refused

LINE = (
    "run",
    "cure",
    "--profile",
    "smoke",
    "--benchmarks",
    "normad",
    "--items-per-benchmark",
    "2",
    "-m",
    "far",
    "--judges",
    "fake-a",
)
PAIR = "FAR_API_KEY@llm.example.org"


@pytest.fixture
def far(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))
    monkeypatch.setenv("FAR_API_KEY", "sk-0123456789abcdef")
    monkeypatch.setenv(specs.TRUST, "")
    text = (
        'kind = "openai"\nmodel = "m"\nbase_url = "https://llm.example.org/v1"\napi_key_env = "FAR_API_KEY"\n'
        "options = { max_retries = 0 }\n"
    )
    (home / "engines" / "far.toml").write_text(text)
    return home


def test_nothing_is_sent_to_a_new_host_without_the_flag_that_the_error_names(far: Path) -> None:
    error = refused(*LINE, "--no-server")
    assert f"allow it once with --trust-key {PAIR}" in error
    assert "sk-0123456789abcdef" not in error
    assert not (far / FILE).exists()


def test_the_plan_names_key_and_host_and_the_home_remembers_the_pair(far: Path) -> None:
    before = one_line(call(*LINE, "--dry-run").stdout)
    assert f"goes to llm.example.org only with --trust-key {PAIR}" in before
    assert f"keys sent, if they are set: {PAIR} (far)" in before
    call(*LINE, "--dry-run", "--trust-key", PAIR)
    assert (far / FILE).read_text() == f"{PAIR}\n"
    after = one_line(call(*LINE, "--dry-run").stdout)
    assert "--trust-key" not in after
    assert f"keys sent, if they are set: {PAIR} (far)" in after


class Terminal(io.StringIO):
    """A text that says that it is a terminal, such as what a user types or sees."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("reply", "is_kept"), [("y", True), ("n", False), ("", False)])
def test_on_a_terminal_the_pair_is_asked_for_once(
    far: Path, monkeypatch: pytest.MonkeyPatch, reply: str, is_kept: bool
) -> None:
    seen, spec = Terminal(), load_spec("far", far / "engines")
    monkeypatch.setattr(sys, "stderr", seen)
    monkeypatch.setattr(sys, "stdin", Terminal(f"{reply}\n"))
    confirm(far, [spec, spec, None], is_dry=False)
    asked = "Send the key in FAR_API_KEY to llm.example.org, now and later? [y/N]"
    assert seen.getvalue().count(asked) == 1
    assert ("goes to llm.example.org only with --trust-key" in seen.getvalue()) is not is_kept
    assert (far / FILE).exists() is is_kept
    confirm(far, [load_spec("far", far / "engines")], is_dry=is_kept is False)
    assert seen.getvalue().count(asked) == 1, "it is remembered, and a dry run asks nothing"


def test_ctrl_c_at_the_question_sends_nothing(far: Path) -> None:
    import pexpect

    command = [sys.executable, "-m", "deployments.cli.app", *LINE, "--no-server"]
    terminal = pexpect.spawn(command[0], command[1:], timeout=90, encoding="utf-8", dimensions=(40, 400))
    terminal.expect(r"Send the key in FAR_API_KEY to llm\.example\.org, now and later\? \[y/N\]")
    terminal.sendintr()
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert "sk-0123456789abcdef" not in terminal.before
    assert "Traceback" not in terminal.before
    assert not (far / FILE).exists()


def test_a_flag_that_names_no_pair_is_refused(far: Path) -> None:
    assert "write VARIABLE@HOST" in refused(*LINE, "--dry-run", "--trust-key", "PGPASSWORD@llm.example.org")
