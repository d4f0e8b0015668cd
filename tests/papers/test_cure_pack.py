"""A pack from the files of CURE's benchmarks, and the settings of a run beside the paper's."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from deployments.evaluations import params, shipped_profiles
from tasks.evaluations.cure.pack import PACK
from tasks.evaluations.cure.params import BENCHMARKS, CureParams
from tasks.evaluations.cure.study import build_study
from tasks.evaluations.settings import OwnPack, compared, differing, settings
from tasks.packs.files import read_csv
from tasks.packs.shape import content_hash
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


def paper(**more: Any) -> CureParams:
    """Return the params of the profile ``paper``."""
    return CureParams(**{**shipped_profiles("cure")["paper"], "models": ["m"], **more})


def test_profile_paper_has_the_settings_of_the_paper() -> None:
    """1,000 items of four benchmarks, thin and thick; GPT-5 reasons and scores from 0 to 1."""
    assert params("cure") is CureParams
    table = compared(settings("cure"), paper(judges=["gpt-5"]))
    own = {row.setting: row.is_equal for row in table}
    for name in ("benchmarks", "items of each benchmark", "modes", "judges", "style of judging"):
        assert own[name], name


def test_content_of_a_pack_counts_as_the_papers_setting() -> None:
    texts = {
        row.pack.partition(".")[2]: "Respond YES or NO."
        for row in settings("cure")
        if row.pack.startswith("prompts.")
    }
    items = [{"benchmark": name} for name in BENCHMARKS] * 1000
    made = {"files": ["item"], "made": {"item": content_hash(items)}}
    pack = OwnPack("own", {"prompts": [texts], "item": items, "replaces": [made]})
    printed = {row.setting for row in settings("cure") if row.words}
    with_pack = compared(settings("cure"), paper(), [pack])
    differ = {row.setting for row in with_pack if not row.may_be_equal}
    assert differ - printed == {
        "models", "which 1,000 items", "form of answers", "judges", "what a judge is given", "coherence"
    }  # fmt: skip
    assert {row.setting for row in differing(with_pack, "exact_match") if not row.is_open} - printed == {
        "which 1,000 items", "form of answers"
    }  # fmt: skip
    assert printed <= differ  # they are not the words of appendices A and B


@pytest.mark.parametrize("row", [row for row in settings("cure") if row.pack])
def test_settings_name_a_file_or_text_of_packs(row: Any) -> None:
    file, _, text = row.pack.partition(".")
    assert file in {each.name for each in PACK.files}
    assert not text or text in {each.name for each in PACK.wordings}
