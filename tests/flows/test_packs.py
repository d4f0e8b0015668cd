"""Every evaluation's example pack is valid and runs; packs keep their numbers apart, old numbers stay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from deployments.evaluations import evaluation, params, profile, with_items
from deployments.packs.folders import faults_of, shapes, write_new
from deployments.show.report import read_data, write_report
from flows.evaluation import evaluate
from flows.session import build, prepare
from flows.stored import finished_runs, samples
from tasks.evaluations.contract import comparable
from tasks.packs.folder import folder_of
from tasks.packs.shape import PackError
from tests.golden.harness import write_engine
from warehouse import Warehouse, WarehouseError, run_checks

pytestmark = pytest.mark.usefixtures("warehouse")

SMALL = {"models": ["fake-a"], "countries": ["BR", "DE", "JP", "US"], "domains": ["currency"], "max_items": 5}
VECTORS = ("embedder", "word_vectors")
METRICS = {"normad": "coverage", "casa": "connotation", "culturebank": "coherence", "specnorm": "specificity"}
"""Cure's benchmarks and their metrics; a pack may copy each of them."""
RUN = [
    name if name in ("cure", "spectral") else pytest.param(name, marks=pytest.mark.heavy) for name in shapes()
]
"""A judged evaluation and a scoring one are quick tests; the others use the same code."""


def new(home: Path, name: str, *names: str) -> Path:
    """Write a new pack with the examples of these evaluations."""
    write_new(home / "packs" / name, names)
    return home / "packs" / name


def vectors(home: Path) -> str:
    """Write a file with a vector for every word of the warehouse's scenarios and of the pack."""
    texts = " ".join(path.read_text() for path in (home / "packs").rglob("*.csv"))
    rows = Warehouse.open(home).query("SELECT text, option_a, option_b FROM scenario").rows()
    rows += Warehouse.open(home).query("SELECT text FROM exemplar").rows()
    words = sorted({*" ".join(f"{text} {' '.join(map(' '.join, rows))}" for text in [texts]).split()})
    lines = [f"{word} {n % 7 - 3} {n % 5 - 2} {n % 3 + 1}" for n, word in enumerate(words)]
    (home / "words.vec").write_text("\n".join([f"{len(words)} 3", *lines]) + "\n")
    return str(home / "words.vec")


def example(home: Path, name: str) -> dict[str, object]:
    """Return parameters of the example's profile, with fake models in every role."""
    write_engine(home, "fake-j")
    new(home, "mine", name)
    chosen = {"models": ["fake-a"]} | profile(name, "mine/smoke", ["fake-a"])
    known = params(name).model_fields
    chosen |= {"half_samples": 20} if "half_samples" in known else {}
    chosen |= {knob: vectors(home) for knob in VECTORS if knob in known}
    chosen |= {"judges": ["fake-j"]} if "judges" in known else {}
    chosen |= {"simulator": "fake-j"} if "simulator" in known else {}
    return chosen


def test_every_evaluation_accepts_packs() -> None:
    assert set(shapes()) == set(with_items())


@pytest.mark.parametrize("name", list(shapes()))
def test_example_pack_is_valid_and_describes_every_column(home: Path, name: str) -> None:
    folder = new(home, "mine", name)
    assert faults_of(folder_of("mine", home)) == []
    for file in shapes()[name].files:
        paths = sorted((folder / name).glob(file.path))
        for path in paths if not file.is_folder else ():
            text = path.read_text()
            for column, field in file.row.model_fields.items():
                assert field.description, (file.path, column)
                assert f"# {column}: " in text, (path, column)
        for path in paths if file.is_folder else ():  # its fields are explained beside them
            assert path.read_text().count("#") >= len(file.row.model_fields) // 2


@pytest.mark.nets(2)
@pytest.mark.slow
@pytest.mark.parametrize("name", RUN)
def test_example_pack_runs_to_its_own_leaderboard(home: Path, name: str) -> None:
    config = evaluate(evaluation(name), params(name)(**example(home, name)))
    warehouse = Warehouse.open()
    board = warehouse.query(f"SELECT * FROM leaderboard_{name} WHERE config_hash = ?", [config])
    assert "fake-a" in board["model"].to_list()
    assert set(board["profile"]) == {"mine/smoke + pack mine"}
    stored = warehouse.query(
        "SELECT DISTINCT file FROM run_pack JOIN pack USING (pack_hash) JOIN pack_row USING (pack_hash)"
    )
    assert set(stored["file"]) <= {file.name for file in shapes()[name].files}
    assert not stored.is_empty()
    page = write_report(warehouse, home / "page.html", config, name).read_text()
    assert "mine/smoke + pack mine" in page
    checks = run_checks(warehouse)
    assert checks.filter(checks["n_violations"] > 0).rows() == []


def config(**values: object) -> str:
    """Return the configuration of a small spectral run."""
    return comparable(build(evaluation("spectral"), params("spectral")(**SMALL | values))[0])


def test_only_the_content_of_a_pack_changes_the_configuration(home: Path) -> None:
    own = config()
    folder = new(home, "mine", "spectral")
    assert config() == own
    used, unused = config(pack=["mine"], domains=["currency", "national_sports"]), config(pack=["mine"])
    assert len({own, used, unused}) == 3  # even if the pack's content is not used
    folder.rename(home / "packs" / "renamed")
    (home / "packs" / "renamed" / "pack.toml").write_text('title = "Another"\n')
    assert config(pack=["renamed"]) == unused
    assert config(pack=["renamed"], cohort="other") not in (own, used, unused)
    question = home / "packs" / "renamed" / "spectral" / "question.csv"
    question.write_text(question.read_text().replace("most popular", "commonest"))
    assert config(pack=["renamed"]) != unused


@pytest.mark.heavy
def test_edited_pack_is_another_configuration_and_the_old_one_remains(home: Path) -> None:
    folder = new(home, "mine", "spectral")
    asked = SMALL | {"pack": ["mine"], "domains": ["national_sports", "currency"], "half_samples": 20}
    spectral, kind = evaluation("spectral"), params("spectral")
    first = evaluate(spectral, kind(**asked))
    view = "SELECT * EXCLUDE (place) FROM spectral_by_domain WHERE config_hash = ? ORDER BY ALL"
    before = Warehouse.open().query(view, [first])
    assert "The sport that most people in {country} follow is" in before["template"].to_list()
    assert set(before["domain"]) == {"national_sports", "currency"}
    question = folder / "spectral" / "question.csv"
    question.write_text(question.read_text().replace("follow is", "love is"))
    second = evaluate(spectral, kind(**asked))
    assert second != first
    assert Warehouse.open().query(view, [first]).equals(before)
    after = Warehouse.open().query(view, [second])["template"].to_list()
    assert "The sport that most people in {country} love is" in after
    assert "The sport that most people in {country} follow is" not in after
    pinned = Warehouse.open().query("SELECT params FROM run WHERE config_hash = ? AND NOT is_null", [first])
    (named,) = json.loads(pinned["params"][0])["pack"]
    session = prepare(spectral, kind(**asked | {"pack": [named]}))  # the stored content
    assert comparable(session.study) == first
    assert session.is_done()
    with pytest.raises(WarehouseError, match="no run has stored that content"):
        build(spectral, kind(**asked | {"pack": ["mine@0123456789abcdef"]}))


def test_two_packs_with_one_name_are_refused(home: Path) -> None:
    new(home, "one", "spectral")
    new(home, "two", "spectral")
    with pytest.raises(PackError, match="'national_sports' is shipped already, or in another pack; rename"):
        config(pack=["one", "two"])
    other = home / "packs" / "two" / "spectral"
    for path in other.iterdir():
        path.write_text(path.read_text().replace("national_sports", "sports"))
    both = config(pack=["one", "two"], domains=["national_sports", "sports"])
    assert both == config(pack=["two", "one"], domains=["sports", "national_sports"])


def test_pack_for_another_evaluation_is_refused(home: Path) -> None:
    new(home, "mine", "spectral")
    kind = params("worldwise")
    with pytest.raises(ValueError, match="the pack 'mine' has no folder worldwise/"):
        build(evaluation("worldwise"), kind(models=["fake-a"], pack=["mine"]))
    with pytest.raises(ValueError, match="unknown pack 'yours'; known: mine"):
        config(pack=["yours"])
    with pytest.raises(ValueError, match="should match pattern"):
        kind(models=["fake-a"], pack=["../mine"])


def as_toml(value: object) -> str:
    """Return a JSON value as TOML in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {as_toml(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def test_persona_of_a_pack_is_validated_and_used(home: Path) -> None:
    folder = new(home, "mine", "explication")
    rows = Warehouse.open().query("SELECT profile FROM explication_persona ORDER BY persona LIMIT 1")
    profile = json.loads(rows["profile"][0])
    (folder / "explication" / "personas").mkdir()
    file = folder / "explication" / "personas" / "somebody.toml"

    def write(**changed: object) -> None:
        lines = [f"{name} = {as_toml(part)}" for name, part in (profile | changed).items()]
        file.write_text("\n".join(lines), encoding="utf-8")

    write()
    (fault,) = faults_of(folder_of("mine", home))
    assert f"'{profile['persona']}' is shipped already, or in another pack; rename it" in str(fault)
    write(persona="somebody-else", country="XX", age=7)
    assert {fault.column for fault in faults_of(folder_of("mine", home))} == {"age"}
    write(persona="somebody-else", country="XX")
    assert {fault.column for fault in faults_of(folder_of("mine", home))} == {"country"}
    write(persona="somebody-else")
    asked = {"models": ["fake-a"], "simulator": "fake-a", "tasks": ["packed_lunch"], "pack": ["mine"]}
    study, *_ = build(evaluation("explication"), params("explication")(**asked, personas=["somebody-else"]))
    assert list(study.personas) == ["somebody-else"]  # type: ignore[attr-defined]
    assert list(study.tasks) == ["packed_lunch"]  # type: ignore[attr-defined]


def test_pack_adds_dimensions_targets_and_values(home: Path) -> None:
    folder = new(home, "mine", "worldwise") / "worldwise"
    (folder / "scenario.csv").write_text(
        "scenario,framework,dimension,category,text,option_a,option_b\nx-1,mine,pace,work,Hurry?,Yes.,No.\n"
    )
    (folder / "exemplar.csv").write_text(
        "framework,dimension,pole,number,text\nmine,pace,high,1,I hurry.\nmine,pace,low,1,I wait.\n"
    )
    (folder / "culture_profile.csv").write_text(
        "profile,country,framework,dimension,score\nwalks,IN,mine,pace,-1\nwalks,US,mine,pace,2\n"
    )
    (folder / "guiding_value.csv").write_text("value,label\nslowness,Slowness\n")
    (folder / "profiles.toml").write_text('[walks]\ntargets = "walks"\n')
    assert faults_of(folder_of("mine", home)) == []
    asked = {"models": ["fake-a"], "embedder": vectors(home)} | profile("worldwise", "mine/walks", ["fake-a"])
    study, *_ = build(evaluation("worldwise"), params("worldwise")(**asked))
    material = study.content  # type: ignore[attr-defined]
    assert [scenario.scenario for scenario in material.scenarios] == ["x-1"]
    assert [culture.target for culture in material.cultures] == [{}, {"pace": -1.0}, {"pace": 2.0}]
    assert "Slowness" in material.labels
    (folder / "exemplar.csv").unlink()
    assert {fault.column for fault in faults_of(folder_of("mine", home))} == {"dimension"}


def names_on_page(home: Path, config: str) -> set[str]:
    """Return row headers and texts of figures on a configuration's page of worldwise."""
    page = write_report(Warehouse.open(), home / "page.html", config, "worldwise").read_text()
    cells = BeautifulSoup(page, "html.parser").select("th[scope=row], svg text")
    return {" ".join(cell.get_text().split()) for cell in cells}


@pytest.mark.slow
@pytest.mark.heavy
def test_report_names_a_packs_content_from_the_warehouse(home: Path) -> None:
    """Scenarios, values and dimensions of the pack change after the run; the page keeps the stored ones."""
    folder = new(home, "mine", "worldwise") / "worldwise"
    tables = {
        "scenario": "scenario,framework,dimension,category,text,option_a,option_b\n"
        "x-1,mine,pace_of_life,public_places,Hurry?,Yes.,No.\nx-2,hofstede,individualism,own_time,Alone?,Yes.,No.\n",
        "exemplar": "framework,dimension,pole,number,text\n"
        "mine,pace_of_life,high,1,I hurry.\nmine,pace_of_life,low,1,I wait.\n",
        "culture_profile": "profile,country,framework,dimension,score\n"
        "walks,US,mine,pace_of_life,2\nwalks,IN,mine,pace_of_life,-1\n",
        "guiding_value": "value,label\nslowness,Taking one's time\n",
    }
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text)
    asked = {"models": ["fake-a"], "embedder": vectors(home), "half_samples": 20, "repetitions": 1}
    asked |= {"cultures": ["US"], "pack": ["mine"]}
    worldwise, kind = evaluation("worldwise"), params("worldwise")
    own, both = (evaluate(worldwise, kind(**asked, targets=t)) for t in ("walks", "hofstede_published"))
    alone = evaluate(worldwise, kind(**asked | {"pack": []}))
    for name, text in tables.items():
        changed = text.replace("public_places", "queues").replace("Taking", "Loving")
        (folder / f"{name}.csv").write_text(changed)
    assert "x-1 Pace of life, public places" in names_on_page(home, own)
    on_page = {config: names_on_page(home, config) for config in (both, alone)}
    assert "x-2 Individualism, own time" in on_page[both] - on_page[alone]
    for names in on_page.values():
        assert any(name.startswith("ww-idv-01 Individualism, ") for name in names)
    data = [read_data(Warehouse.open(), "worldwise", config) for config in (own, both, alone)]
    labels_of_value = [each.names["value"].get("slowness") for each in data]
    assert labels_of_value == ["Taking one's time", "Taking one's time", None]
    labels = "SELECT DISTINCT label FROM worldwise_values WHERE config_hash = ? AND value = 'slowness'"
    assert Warehouse.open().query(labels, [both]).rows() == [("Taking one's time",)]


@pytest.mark.slow
@pytest.mark.heavy
def test_packs_benchmark_is_judged_like_the_published_one_it_copies(home: Path) -> None:
    write_engine(home, "fake-j")
    file = new(home, "mine", "cure") / "cure" / "item.csv"
    columns = "benchmark,item,country,group_name,persona,situation,question,label,gold,cues\n"
    rows = [
        f"{kind}-mine,{n}-{code.lower()},{code},people,Ada,Thing {n} happens.,Right?,{label},Norm {n}.,a: b\n"
        for kind in METRICS
        for n, (code, label) in enumerate([("BR", "yes"), ("DE", "no"), ("JP", "yes")])
    ]
    file.write_text(columns + "".join(rows))
    asked = {"models": ["fake-a"], "judges": ["fake-j"], "pack": ["mine"]}
    few = asked | {"items_per_benchmark": 3}
    # Published benchmarks and their variants.
    names = [name for kind in METRICS for name in (kind, f"{kind}-mine")]
    config = evaluate(evaluation("cure"), params("cure")(**few, benchmarks=names))
    warehouse = Warehouse.open()
    board = warehouse.query("FROM leaderboard_cure WHERE config_hash = ? AND NOT is_null", [config])
    assert dict(board.select("benchmark", "metric").rows()) == {
        name: metric for kind, metric in METRICS.items() for name in (kind, f"{kind}-mine")
    }
    headlines = (
        "SELECT metric, n_scored + n_unscored FROM metric_value WHERE run_id = ? AND slice_kind = 'overall'"
    )
    counts = dict(warehouse.query(headlines, [board["run_id"][0]]).rows())
    # Three of the pack and three published items; published pairs and stories are drawn whole.
    assert all(6 <= counts[metric] <= 8 for metric in METRICS.values()), counts
    page = write_report(warehouse, home / "page.html", config, "cure").read_text()
    assert "NormAd mine" in page
    assert "Coherence (CultureBank mine)" in page
    (run,) = finished_runs("cure")
    shown = samples(run)  # as logs of Inspect have them
    choices = {str(each.metadata["benchmark"]): list(each.choices) for each in shown}
    assert choices["normad-mine"] == choices["normad"] != choices["casa-mine"] == choices["casa"]
    with pytest.raises(ValueError, match="there is no benchmark 'normad-yours'"):
        build(evaluation("cure"), params("cure")(**asked, benchmarks=["normad-yours"]))
