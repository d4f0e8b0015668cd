"""A pack from the files of CURE's benchmarks; tests/evaluations/test_settings.py has a run's settings."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from pathlib import Path
from typing import Any

from tasks.evaluations.cure.pack import PACK
from tasks.evaluations.cure.params import CureParams
from tasks.evaluations.cure.study import build_study
from tasks.packs.files import read_csv
from tasks.papers.cure.importer import IMPORTER
from tasks.papers.importing import Pack, pack_from

COUNTRIES = {"Japan": "JP", "Kenya": "KE"}
CASA = {"index": "Japan_1", "user_query": "May I bring a clock?", "violated_norm": "No clocks."}


def clone(folder: Path, *benchmarks: str) -> Path:
    """Return files of some benchmarks with invented rows, beside files of no benchmark."""
    files = {
        "normad": {
            "normad_etiquette.csv": "ID,Country,Story,Explanation,Gold Label\n"
            "1,Japan,Ana stands up.,One stands up.,yes\n2,Kenya,Bo sits.,\"One sits, there.\",neutral\n"
            "3,Atlantis,Cy swims.,One swims.,no\n"
        },
        "casa": {
            "s1_adhere_data/online_shopping.json": json.dumps([CASA | {"refined_user_query": "May I come?"}]),
            "s1_violate_data/online_shopping.json": json.dumps([CASA]),
            "s2_data/online_shopping.json": "not JSON",
        },
        "culturebank": {
            "culturebank_reddit.csv": "cultural group,actor_behavior,agreement,eval_whole_desc,eval_persona,"
            "eval_question\nJapanese,bow,0.9,They bow.,A guest,What should I do?\n"
        },
        "specnorm": {
            "specnorm.csv": "country,persona,situation,question,label,norm,cues\n"
            "Kenya,Ada,At the door.,Is it right?,no,Shoes come off.,ethnicity: Luo; age: old\n"
        },
    }  # fmt: skip
    for name in benchmarks or files:
        for path, text in files[name].items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
    return folder


def rows(pack: Pack) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(pack.files["cure/item.csv"])))


def test_a_clone_gives_the_items_of_every_benchmark(tmp_path: Path) -> None:
    pack = pack_from(IMPORTER, clone(tmp_path), COUNTRIES)
    items = [(row["benchmark"], row["country"], row["label"], row["gold"]) for row in rows(pack)]
    assert items == [
        ("normad", "JP", "yes", "One stands up."), ("normad", "KE", "neutral", "One sits, there."),
        ("casa", "JP", "yes", "No clocks."), ("casa", "JP", "no", "No clocks."),
        ("culturebank", "JP", "yes", "They bow."), ("specnorm", "KE", "no", "Shoes come off."),
    ]  # fmt: skip
    # Nothing says what the symbols of an adhering query mean
    assert [row["judged"] for row in rows(pack)] == ["", "", "no", "", "", ""]
    replaces = tomllib.loads(pack.files["cure/replaces.toml"])
    assert (replaces["files"], list(replaces["made"])) == (["item"], ["item"])
    assert "normad: 1 items without a country of the warehouse" in pack.left_out
    assert any(line.startswith("prompts and rubrics: no file has them") for line in pack.left_out)


def test_items_of_a_pack_give_the_prompts_of_the_files(tmp_path: Path) -> None:
    """Prompts, pairs and families are those of ``--files``."""
    from tasks.packs.published import read_rows

    clone(tmp_path)
    pack = pack_from(IMPORTER, tmp_path, COUNTRIES)
    placed, faults = read_csv(pack.files["cure/item.csv"].encode(), "cure/item.csv", PACK.files[0])
    assert faults == []
    country = [{"country": code, "name": name} for name, code in COUNTRIES.items()]
    shipped: dict[str, Any] = {"cure_item": [], "country": country}
    of_pack = PACK.added({"item": [row for *_, row in placed]}, shipped)
    files = {
        "normad": ["normad_etiquette.csv"],
        "casa": ["s1_adhere_data/online_shopping.json", "s1_violate_data/online_shopping.json"],
        "specnorm": ["specnorm.csv"],
    }
    published = {name: {p: read_rows(tmp_path / p) for p in of} for name, of in files.items()}
    chosen = CureParams(models=["m"], benchmarks=list(files))
    ours, theirs = build_study(chosen, of_pack, {}, {}), build_study(chosen, shipped, published, {})
    for name in files:
        own, expected = (
            {s.prompts[name, "thick", i.item].id for i in s.items(name) if i.country in COUNTRIES.values()}
            for s in (ours, theirs)
        )
        assert own == expected
    own, expected = (sorted(item.not_judged for item in study.items("casa")) for study in (ours, theirs))
    assert own == expected
    assert ours.clusters("casa").tolist()[0] == ours.clusters("casa").tolist()[1]


def test_a_pack_of_one_benchmark_keeps_the_shipped_others(tmp_path: Path) -> None:
    pack = pack_from(IMPORTER, clone(tmp_path, "casa"), COUNTRIES)
    assert {row["benchmark"] for row in rows(pack)} == {"casa"}
    assert "cure/replaces.toml" not in pack.files
    assert "shipped samples stay for normad, culturebank, specnorm" in pack.left_out


def test_broken_files_lose_their_own_benchmark_only(tmp_path: Path) -> None:
    clone(tmp_path)
    (tmp_path / "normad_etiquette.csv").write_bytes("Country,Story\nj,\xe9\n".encode("latin-1"))
    (tmp_path / "culturebank_reddit.csv").write_text("a,b\n1,2\n")
    pack = pack_from(IMPORTER, tmp_path, COUNTRIES)
    assert {row["benchmark"] for row in rows(pack)} == {"casa", "specnorm"}
    left_out = "\n".join(pack.left_out)
    assert "not UTF-8" in left_out
    assert "culturebank: " in left_out
