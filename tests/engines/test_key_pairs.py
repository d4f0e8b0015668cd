"""A spec chooses neither any variable of the environment nor, unasked, the server that gets a key."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tasks.engines import load, specs
from tasks.engines.protocols import EngineError
from tasks.engines.served import keys
from tasks.engines.specs import EngineSpec, load_spec, may_send_key

FAR = "https://LLM.example.org:8443/v1"
PAIR = "FAR_API_KEY@llm.example.org:8443"


@pytest.fixture(autouse=True)
def nothing_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(specs.TRUST, "")
    monkeypatch.setenv("FAR_API_KEY", "sk-0123456789abcdef")


def spec(
    base_url: str | None = FAR, variable: str | None = "FAR_API_KEY", kind: str = "openai"
) -> EngineSpec:
    fields = {"api_key_env": variable} if variable else {}
    return EngineSpec(name="far", kind=kind, model="m", base_url=base_url, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "variable",
    [
        "PGPASSWORD",
        "AWS_SECRET_ACCESS_KEY",
        "HOME",
        "PREFECT_API_AUTH_STRING",
        "API_KEY_X",
        "A_API_KEY ",
        "",
        "x_token",
    ],
)
def test_a_spec_names_only_variables_that_hold_keys(variable: str) -> None:
    with pytest.raises(ValueError, match="_API_KEY or _TOKEN, or CULTUREMETER_SERVER_KEY"):
        spec(variable=variable or "_")


@pytest.mark.parametrize("kind", ["openai", "anthropic", "google"])
def test_a_key_goes_to_a_new_server_only_with_permission(kind: str) -> None:
    with pytest.raises(
        EngineError, match=rf"FAR_API_KEY to llm.example.org: .*--trust-key {PAIR}, or"
    ) as error:
        load._class(spec(kind=kind))(spec(kind=kind))
    assert "sk-0123" not in str(error.value)
    assert "\n" not in str(error.value)
    specs.allow(key_pairs=[PAIR])
    assert load._class(spec(kind=kind))(spec(kind=kind)).key == "sk-0123456789abcdef"


@pytest.mark.parametrize(
    "other",
    [
        spec("https://llm.example.org/v1"),
        spec("http://llm.example.org:8443/v1"),
        spec("https://llm.example.org.evil.org:8443/v1"),
        spec(variable="OTHER_API_KEY"),
        spec("https://openrouter.ai/api/v1", "OPENAI_API_KEY"),
        spec("http://api.openai.com/v1", "OPENAI_API_KEY"),
        spec("https://host/v1", "CULTUREMETER_SERVER_KEY"),
    ],
    ids=["port", "not encrypted", "longer host", "variable", "another's key", "own in clear", "our variable"],
)
def test_a_permission_is_for_one_pair(other: EngineSpec) -> None:
    specs.allow(key_pairs=[PAIR])
    assert may_send_key(spec())
    assert not may_send_key(other)


@pytest.mark.parametrize(
    "own",
    [
        spec(None, None),
        spec(None, None, "anthropic"),
        spec(None, None, "google"),
        spec("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
        spec("http://127.0.0.1:8000/v1", "LOCAL_TOKEN"),
        spec("http://localhost:8000/v1", "CULTUREMETER_SERVER_KEY"),
    ],
    ids=["openai", "anthropic", "google", "openrouter", "this machine", "this machine by name"],
)
def test_providers_and_this_machine_need_no_permission(own: EngineSpec) -> None:
    assert may_send_key(own)


def test_a_home_remembers_the_pair_and_no_key(tmp_path: Path) -> None:
    (tmp_path / "engines").mkdir()
    file = tmp_path / "engines" / "far.toml"
    file.write_text(f'kind = "openai"\nmodel = "m"\nbase_url = "{FAR}"\napi_key_env = "FAR_API_KEY"\n')
    assert not may_send_key(load_spec("far", tmp_path / "engines"))
    keys.remember(tmp_path, [PAIR, PAIR])
    keys.remember(tmp_path, [PAIR])
    assert (tmp_path / keys.FILE).read_text() == f"{PAIR}\n"
    assert may_send_key(load_spec("far", tmp_path / "engines"))


def test_a_damaged_file_of_pairs_allows_no_more(tmp_path: Path) -> None:
    (tmp_path / keys.FILE).write_bytes(
        b"remote-code\npickle,remote-code\n\xff\nPGPASSWORD@x.org\n" + PAIR.encode()
    )
    specs.allow(key_pairs=keys.remembered(tmp_path))
    assert os.environ[specs.TRUST] == PAIR


@pytest.mark.parametrize(
    "text", ["FAR_API_KEY", "PGPASSWORD@x.org", "FAR_API_KEY@x.org,remote-code", "A_TOKEN@x/y"]
)
def test_a_flag_that_names_no_pair_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="write VARIABLE@HOST"):
        keys.checked_pair(text)
