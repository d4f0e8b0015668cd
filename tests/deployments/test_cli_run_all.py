"""``culturemeter run all`` without Prefect, on fake models: one occasion, a sum, failures at the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from deployments.cli.choices import AllParams
from deployments.packs.folders import write_new
from deployments.serve.served import run_all
from tasks.engines import load
from tasks.engines.fake import FakeEngine
from tasks.engines.local import memory
from tests.deployments.commands import call, one_line
from warehouse import Warehouse

ALL = ("run", "all", "--no-server", "--no-probe", "-m", "fake-a", "--profile", "smoke")


def run(*arguments: str, code: int = 0) -> str:
    result = call(*ALL, *arguments, code=code, COLUMNS="160")
    return one_line(result.stdout if "--dry-run" in arguments and not code else result.stderr)


def test_dry_run_of_all_prints_every_plan_and_their_sum(warehouse: Warehouse) -> None:
    text = run("--evaluations", "spectral,cure", "--judges", "fake-b", "--dry-run")
    assert text.index("spectral, profile smoke") < text.index("cure, profile smoke")
    assert "in all: 1,566 log-probabilities, 18 completions, 52 later completions at most; " in text
    assert warehouse.query("SELECT count(*) AS n FROM run")["n"][0] == 0


def test_failed_evaluation_does_not_stop_the_others(warehouse: Warehouse) -> None:
    """The judge is unknown, so cure cannot be planned."""
    text = run("--evaluations", "cure,spectral", "--judges", "nobody", "--occasion", "{week}", code=1)
    assert "error: cure: unknown model 'nobody'" in text
    done = warehouse.query("SELECT DISTINCT evaluation, occasion FROM run WHERE status = 'finished'").rows()
    ((evaluation, occasion),) = done
    assert evaluation == "spectral"
    assert occasion.startswith("20")
    again = run("--evaluations", "spectral", "--occasion", occasion)
    assert again.endswith("nothing to do")
    assert "in all: nothing" in again


def test_pack_is_used_by_the_evaluations_it_has_files_for(warehouse: Warehouse, home: Path) -> None:
    write_new(home / "packs" / "sports", ["spectral"])
    asked = ("--evaluations", "cure,spectral", "--pack", "sports", "--judges", "fake-b")
    text = run(*asked, "--dry-run")
    assert "cure, profile smoke, config" in text
    assert "spectral, profile sports/smoke + pack sports, config" in text
    assert "pack sports: spectral without a pack: cure in all:" in text
    assert "nothing of pack" not in text
    one = ("--evaluations", "spectral")
    run(*one, "--pack", "sports")
    profiles = dict(warehouse.query("SELECT DISTINCT evaluation, profile FROM run WHERE NOT is_null").rows())
    assert profiles == {"spectral": "sports/smoke + pack sports"}
    assert run(*one, "--profile", "sports/smoke").endswith("nothing to do")
    nobody = run("--evaluations", "cure", "--pack", "sports", code=1)
    assert nobody == "error: --pack: the pack 'sports' adds nothing to cure: it has files for spectral"


def test_plan_notes_options_that_use_nothing_of_the_pack(warehouse: Warehouse, home: Path) -> None:
    write_new(home / "packs" / "sports", ["cure"])
    note = "note: these options use nothing of pack sports: name its content, or choose its profile"
    one = ("--evaluations", "cure", "--pack", "sports", "--judges", "fake-b", "--dry-run")
    assert f"{note} sports/smoke" in run(*one, "--profile", "demo")
    assert note not in run(*one)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--evaluations", "spectrum"), "error: --evaluations: expected 'culturall'"),
        (("--profile", "huge"), "error: --profile: unknown profile 'huge'; known: smoke, demo, full, "),
        (("--occasion", "{month}"), "error: occasion '{month}': "),
        (("--max-usd", "0"), "error: --max-usd: expected more than 0"),
    ],
)
def test_wrong_options_of_run_all_are_refused(
    warehouse: Warehouse, arguments: tuple[str, ...], message: str
) -> None:
    assert message in run(*arguments, code=1)


def test_flow_with_an_unused_pack_runs_nothing(warehouse: Warehouse, home: Path) -> None:
    write_new(home / "packs" / "sports", ["spectral"])
    asked = {"models": ["fake-a"], "profile": "smoke", "pack": ["sports"]}
    with pytest.raises(ValueError, match="adds nothing to cure: it has files for spectral"):
        run_all(AllParams(**asked, evaluations=["cure"]))
    assert warehouse.query("SELECT count(*) AS n FROM run")["n"][0] == 0
    assert run_all(AllParams(**asked, evaluations=["spectral"])) == ["spectral"]


@pytest.mark.heavy
def test_two_engines_with_the_same_weights_are_one_model_across_evaluations(
    warehouse: Warehouse, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One engine scores, another generates; views join them by model_hash."""
    monkeypatch.setattr(load, "_build", lambda spec, source: FakeEngine(spec))
    monkeypatch.setattr(memory, "of_engine", lambda spec, source: memory.Claim("cpu", 0))
    models = {
        "smollm2-135m": ("packed_trie", "weights of one"),
        "gemma3-270m": ("packed_trie", "weights of another"),
        "smollm2-135m-vllm": ("vllm", "weights of one"),
    }
    for name, (kind, weights) in models.items():
        folder = home / "weights" / name
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}")
        (folder / "model.safetensors").write_text(weights)
        spec = f'kind = "{kind}"\nmodel = "{folder}"\ndtype = "float32"\nprompt_style = "base"\n'
        (home / "engines" / f"{name}.toml").write_text(spec)
    chosen = ("run", "all", "--no-server", "--no-probe", "--profile", "smoke")
    call(*chosen, "--evaluations", "spectral,culturall,explication")
    runs = warehouse.query("SELECT DISTINCT model_hash, engine_hash FROM run WHERE NOT is_null")
    assert (runs["model_hash"].n_unique(), runs["engine_hash"].n_unique()) == (2, 3)
    pairs = warehouse.query("SELECT * FROM evaluation_agreement WHERE other_evaluation = 'spectral'")
    of_pair = {(row["evaluation"], row["metric"]): row["n_models"] for row in pairs.to_dicts()}
    assert of_pair["culturall", "accuracy"] == 1
    assert of_pair["explication", "apr"] == 0, "talks of three turns have no grades, and the row says so"
    meta = warehouse.query("FROM meta_explication WHERE other_evaluation = 'spectral'")
    assert set(meta.select("metric", "n_models").rows()) == {("facts_elicited", 1)}
