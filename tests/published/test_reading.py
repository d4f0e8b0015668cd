"""Benchmarks read from files in their format, from odd files, and from the published ones if at hand."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deployments.evaluations import evaluation
from tasks.evaluations.recipe.files import Files, fields, listed, records
from tasks.registry import benchmarks
from tests.published import invented

REAL = Path("/work/shared/data")
NAMES = sorted(benchmarks())
SIZES = {
    "arab_culture": 2, "blend": 9, "camel": 4, "click": 5, "culturalbench_easy": 2, "culturalbench_hard": 8,
    "dlama": 8, "global_mmlu": 2, "include": 3, "kobbq": 24,
}  # fmt: skip


def study(name: str, data: Path, **knobs: Any) -> Any:
    """Return the study of a benchmark with these files."""
    chosen = evaluation(name)
    return chosen.study(chosen.params(models=["m"], data=str(data), **knobs), {}, {})


def left_out(study: Any) -> dict[str, int]:
    """Return reason -> how often, of all units together."""
    return {out.reason: count for out, count in study.loaded.left_out.items()}


@pytest.fixture
def clone(tmp_path: Path) -> Callable[[str], Path]:
    """Writes the invented files of a benchmark into a folder."""

    def make(name: str) -> Path:
        getattr(invented, name)(tmp_path / name)
        return tmp_path / name

    return make


@pytest.mark.parametrize("name", NAMES)
def test_format_is_read_from_any_folder(name: str, clone: Callable[[str], Path], tmp_path: Path) -> None:
    root = clone(name)
    made = study(name, root)
    assert len(made.items) == SIZES[name]
    (root / ".git").mkdir()
    (root / ".git" / "Junk_data.json").write_text("no JSON")
    shutil.move(root, tmp_path / "deeper" / "elsewhere")
    again = study(name, tmp_path / "deeper")
    assert again.config_hash() == made.config_hash()
    assert [item.fields for item in again.items] == [item.fields for item in made.items]


@pytest.mark.parametrize("name", NAMES)
def test_storage_format_and_further_columns_change_nothing(name: str, clone: Callable[[str], Path]) -> None:
    root = clone(name)
    before = study(name, root).config_hash()
    own = evaluation(name).about
    assert own is not None
    assert {"Source", "Licence", "Citation"} <= own.page["facts"].keys()
    assert list(own.profiles)[:2] == ["smoke", "demo"]
    for path in invented.texts(root):
        text = path.read_bytes().decode()
        for stored in ("\ufeff" + text, text.replace("\n", "\r\n")):
            path.write_bytes(stored.encode())
            assert study(name, root).config_hash() == before
        rows = [{**record.cells, "Written by": "x\u2028y"} for record in records(path)]
        invented.write(path, rows)
        if path.suffix == ".json":  # lines, as files of the hub have under this name
            text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            path.write_text(text, encoding="utf-8")
    assert study(name, root).config_hash() == before


@pytest.mark.parametrize("mark", ["\t", ";"])
def test_tables_with_tabs_or_semicolons_are_read(mark: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"id{mark}text\n1{mark}rice, fried\n")
    (record,) = records(tmp_path / "a.csv")
    assert record.cells == {"id": "1", "text": "rice, fried"}


@pytest.mark.parametrize("name", NAMES)
def test_folder_without_the_benchmark_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    invented.write(tmp_path / "Odd_data.json", [{"weather": "fine"}] * 3)
    for data in (tmp_path, tmp_path / "none"):
        with pytest.raises(ValueError, match=r"--data|has no annotations|no cultural_") as caught:
            study(name, data)
        assert "\n" not in str(caught.value)
    chosen = evaluation(name)
    with pytest.raises(ValueError, match="--data: name the file or folder"):
        chosen.study(chosen.params(models=["m"]), {}, {})


def test_blend_has_both_languages_and_the_published_exclusions(
    clone: Callable[[str], Path],
) -> None:
    made = study("blend", clone("blend"))
    assert Counter((i.fields["place"], i.fields["language"]) for i in made.items) == {
        ("mexico", "es"): 3, ("mexico", "en"): 3, ("uk", "en"): 3,
    }  # fmt: skip
    assert {i.cluster for i in made.items} == {"Aa-01", "Aa-02", "Aa-03"}
    first = next(i.fields for i in made.items if i.name == "mexico/Aa-01/es")
    assert (first["topic"], first["accepted"]) == ("food", "té | café")
    assert "¿Qué se bebe?" in first["asked"]
    assert left_out(made) == {"without enough annotators who answered, as in the published evaluation": 2}


def test_blend_reads_prompts_places_and_lemmas_or_refuses_them(clone: Callable[[str], Path]) -> None:
    data = clone("blend") / "data"
    (data / "annotations" / "UK_data.json").unlink()
    made = study("blend", data, prompts=["inst-9", "own"])
    asked = {i.name: i.fields["asked"] for i in made.items}
    assert asked["mexico/Aa-01/es/inst-9"] == "Di: ¿Qué se bebe?"
    assert asked["mexico/Aa-01/en/inst-9"] == "Say it: What is drunk?"
    assert len(asked) == 12
    with pytest.raises(ValueError, match="--prompts pers-3: mexico has no such prompt"):
        study("blend", data, prompts=["pers-3"])
    with pytest.raises(ValueError, match="Spanish has no lemmatiser that is a package") as caught:
        study("blend", data, lemmas="published")
    assert "--lemmas words" in str(caught.value)
    entry = invented.blend_question("Mitä?", "What?", invented.group(1, ["tee"], ["tea"]))
    invented.write(data / "annotations" / "Finland_data.json", {"Aa-01": entry})
    assert {i.fields["language"] for i in study("blend", data).items} == {"es", "unknown", "en"}


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ({"question": "q", "en_question": "q"}, "has no annotations and idks"),
        (invented.blend_question("q", "q", {"answers": "tea", "en_answers": [], "count": 1}), "has no lists"),
        (invented.blend_question("q", "q", invented.group(0, ["t"], ["t"])), "has the count 0"),
        (invented.blend_question("q", "q", {**invented.group(1, ["t"], ["t"]), "count": "2.5"}),
         "is not a count"),
        (invented.blend_question("q", "q") | {"idks": {"idk": 0, "no_answer": 0}},
         "not-applicable 'None' is not a count"),
    ],
)  # fmt: skip
def test_malformed_blend_entry_is_refused_by_key(
    tmp_path: Path, entry: dict[str, Any], complaint: str
) -> None:
    invented.write(tmp_path / "Spain_data.json", {"Aa-01": entry})
    with pytest.raises(ValueError, match=complaint) as caught:
        study("blend", tmp_path)
    assert "Spain_data.json, key Aa-01" in str(caught.value)


def test_click_has_passages_categories_and_dropped_items(clone: Callable[[str], Path]) -> None:
    made = study("click", clone("click"))
    assert left_out(made) == {"two options are the same": 1}
    of_text = [i for i in made.items if i.fields["exam"] == "CSAT"]
    assert len({i.cluster for i in of_text}) == 1
    assert {i.fields["category"] for i in of_text} == {"language"}
    assert [made.right(i) for i in of_text] == [4, 4]


def test_camel_prefers_files_of_causal_models(clone: Callable[[str], Path]) -> None:
    made = study("camel", clone("camel"))
    assert sorted(i.fields["sentence"] for i in made.items) == [
        "After prayer, [MASK] is good", "Her name is [MASK]", "I drink [MASK]", "Now [MASK]",
    ]  # fmt: skip
    drinks = {m.text for m in made.loaded.members if m.kind == "beverage" and m.group == "Arab"}
    assert drinks == {"qahwa", "karak"}
    assert sum(m.group == "Arab" for m in made.loaded.members) == 4
    assert sum(made.loaded.left_out.values()) == 4
    few = study("camel", Path(made.params.data), entities=1)
    assert Counter((m.kind, m.group) for m in few.loaded.members).most_common(1)[0][1] == 1
    assert few.config_hash() != made.config_hash()


def test_broken_file_of_camel_is_replaced_by_its_twin(clone: Callable[[str], Path]) -> None:
    root = clone("camel")
    (root / "prompts/camel-co/camelco-prompts-causal-lm.xlsx").write_bytes(b"")
    made = study("camel", root)
    assert {i.fields["set"] for i in made.items} == {"ag", "co"}
    assert left_out(made)["cannot be read (camelco-prompts-causal-lm.xlsx)"] == 1
    (root / "prompts/camel-co/camelco-prompts-masked-lm.xlsx").write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"masked-lm\.xlsx"):
        study("camel", root)


def test_kobbq_has_three_contexts(clone: Callable[[str], Path]) -> None:
    made = study("kobbq", clone("kobbq"))
    assert Counter(i.fields["context"] for i in made.items) == {
        "ambiguous": 12, "towards the stereotype": 6, "against the stereotype": 6,
    }  # fmt: skip
    assert {i.cluster for i in made.items} == {"age-001"}
    assert not any("whole set" in i.fields["question"] for i in made.items)


def test_samples_of_kobbq_are_asked_in_the_three_orders_of_the_authors(clone: Callable[[str], Path]) -> None:
    made = study("kobbq", clone("kobbq"))
    of_one = [i for i in made.items if i.name.startswith("age-001a-001-amb-bsd/")]
    old, young, unknown = "the old one", "the young one", "not known"
    assert [made.options(i) for i in of_one] == [
        (old, unknown, young), (unknown, young, old), (young, old, unknown),
    ]  # fmt: skip
    assert [made.options(i)[made.right(i)] for i in of_one] == [unknown] * 3
    given = study("kobbq", made.params.data, orders="given")
    assert (len(given.items), given.config_hash() == made.config_hash()) == (8, False)
    assert len(study("kobbq", made.params.data, limit=2).items) == 6  # two samples


def test_sentences_of_camel_for_causal_models_have_the_masked_ones_sentiment(
    clone: Callable[[str], Path],
) -> None:
    root = clone("camel")
    (root / "prompts/camel-ag/camelag-prompts-masked-lms.xlsx").unlink()
    invented.sheet(
        root / "prompts/camel-ag/camelag-prompts-masked.xlsx",
        {
            "Entity Type": ["Beverage", "Names-Female", "Names-Female", "Beverage"],
            "Prompt": ["I  drink [MASK] daily", "Her name is [MASK]!", "Her name is [MASK]?", "[MASK] it is"],
            "Sentiment": ["Negative", "positive", "negative", "negative"],
        },
    )
    of = {i.fields["sentence"]: i.fields["sentiment"] for i in study("camel", root).items}
    assert of["I drink [MASK]"] == "negative"
    assert of["Her name is [MASK]"] == of["Now [MASK]"] == "unknown"


def test_sets_of_dlama_have_facts_of_their_own(clone: Callable[[str], Path], tmp_path: Path) -> None:
    for name in ("arab-west", "asia-west"):
        shutil.copytree(clone("dlama"), tmp_path / "clone" / name / "dlama", dirs_exist_ok=True)
    made = study("dlama", tmp_path / "clone")
    assert Counter(i.fields["set"] for i in made.items) == {"arab-west": 8, "asia-west": 8}
    assert {i.fields["set"] for i in study("dlama", clone("dlama")).items} == {"unknown"}


def test_global_mmlu_has_only_culturally_sensitive_items(
    clone: Callable[[str], Path], tmp_path: Path
) -> None:
    made = study("global_mmlu", clone("global_mmlu"))
    assert {(i.fields["language"], i.cluster) for i in made.items} == {
        ("en", "history/1"), ("sw", "history/1"),
    }  # fmt: skip
    assert {(i.fields["region"], i.fields["country"]) for i in made.items} == {("Asia", "unknown")}
    invented.write(tmp_path / "other" / "test.jsonl", [{"question": "Q?", "option_a": "x", "answer": "A"}])
    with pytest.raises(ValueError, match="no cultural_sensitivity_label"):
        study("global_mmlu", tmp_path / "other")


def test_options_and_languages_of_multiple_choice_benchmarks(clone: Callable[[str], Path]) -> None:
    easy = study("culturalbench_easy", clone("culturalbench_easy"))  # options look like letters
    assert [easy.right(i) for i in easy.items] == [1, 2]
    hard = study("culturalbench_hard", clone("culturalbench_hard"), questions=1)  # drawn whole
    assert (len(hard.items), len({i.cluster for i in hard.items})) == (4, 1)
    include = study("include", clone("include"))
    assert {i.fields["language"] for i in include.items} == {"Greek", "Basque"}
    assert sorted(include.right(i) for i in include.items) == [0, 1, 3]
    arab = study("arab_culture", clone("arab_culture"))
    assert [arab.right(i) for i in arab.items] == [1, 1]
    assert left_out(arab) == {"discarded by its authors": 1}
    dlama = study("dlama", clone("dlama"), options=3)
    assert left_out(dlama) == {"no words for P36 in ja": 4}
    for item in dlama.items:
        options = [option.lower() for option in dlama.options(item)]
        assert len(options) == len(set(options)) == 3
    assert {i.fields["region"] for i in dlama.items} == {"arab", "western"}
    arabic = [i for i in dlama.items if i.fields["language"] == "ar"]
    assert all(i.fields["question"].startswith("____ : land") for i in arabic)


def test_repeated_items_are_one_and_contradicting_ones_refused(clone: Callable[[str], Path]) -> None:
    root = clone("culturalbench_easy")
    text = (root / "CulturalBench-Easy.csv").read_text()
    (root / "CulturalBench-Easy (1).csv").write_text(text)
    assert left_out(study("culturalbench_easy", root)) == {"there twice": 2}
    (root / "CulturalBench-Easy (1).csv").write_text(text.replace("Q0?", "Another?"))
    with pytest.raises(ValueError, match="two different items are named 0"):
        study("culturalbench_easy", root)


def change(root: Path, name: str, cells: Any) -> None:
    """Replace cells of a file's first row, or every row by a function's result for it."""
    (path,) = root.rglob(name)
    rows = [dict(record.cells) for record in records(path)]
    rows = [rows[0] | cells, *rows[1:]] if isinstance(cells, dict) else [row | cells(row) for row in rows]
    invented.write(path, rows)


@pytest.mark.parametrize(
    ("name", "file", "cells", "why"),
    [
        ("kobbq", "*test_samples.tsv", {"biasedanswer": "x"}, "the biased answer is not one of its options"),
        ("kobbq", "*test_samples.tsv", {"answer": "the old one"}, "an ambiguous context with a group"),
        ("kobbq", "*test_samples.tsv", {"sampleid": "age-001z-1-amb-bsd"}, "a sample_id that says"),
        ("culturalbench_hard", "*.csv", {"answer": "False"}, "of a question without 4 statements"),
        ("culturalbench_hard", "*.csv", {"promptoption": ""}, "without a statement or its question"),
        ("culturalbench_easy", "*.csv", {"answer": "E"}, "the right answer is not one of its options"),
        ("click", "Society_KIIP.json", {"question": float("nan")}, "without a question or a name"),
        ("click", "Society_KIIP.json", {"choices": ["ga", None, "da", "ra"]}, "an option is empty"),
        ("include", "more.jsonl", {"answer": 4}, "the right answer is not one of its options"),
        ("arab_culture", "*.parquet", {"answerkey": {"arabic_answer_key": "ب", "english_answer_key": "A"}},
         "the right answer is not one of its options"),
    ],
)  # fmt: skip
def test_malformed_item_is_left_out_with_its_reason(
    name: str, file: str, cells: dict[str, Any], why: str, clone: Callable[[str], Path]
) -> None:
    root = clone(name)
    before = study(name, root)
    change(root, file, cells)
    made = study(name, root)
    assert any(reason.startswith(why) for reason in left_out(made))
    assert {item.name for item in made.items} < {item.name for item in before.items}


@pytest.mark.parametrize(
    ("name", "file", "cells"),
    [
        ("include", "more.jsonl", lambda row: {"answer": f"{row['answer']}.0"}),
        ("culturalbench_hard", "*.csv", lambda row: {"answer": str(float(row["answer"] == "True"))}),
        ("blend", "UK_data.json", lambda row: {"annotations": [
            g | {"count": f"{g['count']}.0"} for g in reversed(row["annotations"])]}),
        ("arab_culture", "*.parquet", lambda row: {"answerkey": {"arabic_answer_key": " ب"}}),
        ("global_mmlu", "sw/test*", lambda row: {"culturalsensitivitylabel":
                                                 row["culturalsensitivitylabel"].lower()}),
    ],
)  # fmt: skip
def test_another_form_changes_nothing(name: str, file: str, cells: Any, clone: Callable[[str], Path]) -> None:
    root = clone(name)
    before = study(name, root)
    change(root, file, cells)
    assert study(name, root).config_hash() == before.config_hash()


@pytest.mark.parametrize(
    ("content", "why"), [("", "it is empty"), ("{}", "no rows"), ("version https://git-lfs", "LFS")]
)
def test_file_without_content_is_refused(content: str, why: str, clone: Callable[[str], Path]) -> None:
    root = clone("blend")
    (root / "data/annotations/UK_data.json").write_text(content)
    with pytest.raises(ValueError, match=f"UK_data.json: .*{why}"):
        study("blend", root)


def test_click_reads_copies_and_the_file_of_the_hub(clone: Callable[[str], Path], tmp_path: Path) -> None:
    root = clone("click")
    before = study("click", root).config_hash()
    file = next(root.rglob("Society_KIIP.json"))
    shutil.copy(file, file.with_name("Society_KIIP_new.json"))
    made = study("click", root)
    assert (made.config_hash(), left_out(made)["there twice"]) == (before, 3)
    change(root, "Society_KIIP_new.json", {"answer": "da"})
    assert left_out(study("click", root))["there twice, with different answers"] == 1
    row = {"paragraph": "", "question": "Q?", "choices": ["ga", "na"], "answer": "na"}
    names = ("KIIP_society_1", "CSAT_korean_22_16", "TK_2016_5", "Kedu_16_3", "KHB_3", "odd")
    invented.write(tmp_path / "hub/train-00000.parquet", [{"id": name, **row} for name in names])
    found = {i.name.partition("/")[2]: i.fields for i in study("click", tmp_path / "hub").items}
    assert [(found[name]["category"], found[name]["subject"]) for name in names] == [
        ("culture", "society"), ("language", "unknown"), ("language", "unknown"), ("language", "unknown"),
        ("culture", "history"), ("unknown", "unknown"),
    ]  # fmt: skip


def test_split_and_set_are_read_from_folders_of_the_hub(clone: Callable[[str], Path]) -> None:
    for name, column in (("global_mmlu", "language"), ("include", "language")):
        root = clone(name)
        before = [item.fields for item in study(name, root).items]
        for path in sorted(root.rglob("*.parquet")):
            (folder := path.parent / path.name.partition("-")[0]).mkdir()
            path.rename(folder / "0000.parquet")
        assert [item.fields for item in study(name, root).items] == before
        assert {fields[column] for fields in before} & {"sw", "Greek"}
    root = clone("culturalbench_easy")
    rows = [dict(record.cells) for record in records(root / "CulturalBench-Easy.csv")]
    invented.write(root / "CulturalBench-Easy/test/0000.parquet", rows)
    (root / "CulturalBench-Easy.csv").unlink()
    assert len(study("culturalbench_easy", root).items) == 2


def test_camel_needs_entities_of_both_cultures(clone: Callable[[str], Path]) -> None:
    root = clone("camel")
    file = root / "entities/beverage.xlsx"
    file.unlink()
    invented.write(file.with_suffix(".csv"), [{"Entity": "qahwa", "Culture": "Arab"}])
    assert left_out(study("camel", root))["of a kind without the other culture"] == 1
    (root / "entities/names-female.xlsx").unlink()
    with pytest.raises(ValueError, match="no entities of Arab and of Western culture"):
        study("camel", root)


def test_odd_spellings_are_read_and_broken_files_refused(tmp_path: Path) -> None:
    bom = tmp_path / "a.csv"
    bom.write_text("\ufeffData IDX,Prompt_Question \n1,what\u202e is\x07 it\n", encoding="utf-8")
    (record,) = records(bom)
    assert (record.text("data_idx"), record.text("prompt question")) == ("1", "what is it")
    for name, content in {"b.json": "[1]", "c.json": "[" * 5000, "d.parquet": "x", "e.xlsx": "x"}.items():
        (tmp_path / name).write_text(content)
        with pytest.raises(ValueError, match=f"^{name}[:,] ") as caught:
            list(records(tmp_path / name))
        assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="hf:OWNER/NAME@COMMIT"):
        Files.at("hf:someone")
    assert listed("['it''s', \"b\"]") == ["its", "b"]
    assert listed('["a"]') == ["a"]
    assert listed("__import__('os')") == listed("[x]") == []
    assert fields('{"text": ["x"]}') == {"text": ["x"]}
    assert json.dumps(fields("{'a': 1}")) == '{"a": 1}'


def test_data_of_the_hub_are_pinned(clone: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[tuple[str, str]] = []
    root, commit = clone("include"), "0" * 40

    def snapshot(name: str, *, repo_type: str, revision: str, allow_patterns: list[str]) -> str:
        assert "*.parquet" in allow_patterns
        fetched.append((repo_type, f"{name}@{revision}"))
        if name == "no/where":
            raise OSError("offline\nnow")
        return str(root)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    chosen = evaluation("include")
    made = chosen.study(chosen.params(models=["m"], data=f"hf:some/data@{commit}"), {}, {})
    assert made.config_hash() == study("include", root).config_hash()
    assert fetched == [("dataset", f"some/data@{commit}")]
    with pytest.raises(ValueError, match=r"it cannot be fetched .*offline now\)"):
        Files.at(f"hf:no/where@{commit}")


@pytest.mark.skipif(not REAL.is_dir(), reason="the published files are not at hand")
@pytest.mark.parametrize(
    ("name", "n", "left_out"), [("blend", 3307, 119), ("click", 370, 1), ("camel", 242, 387)]
)
def test_published_files_are_read(name: str, n: int, left_out: int) -> None:
    made = study(name, REAL / name)
    assert (len(made.items), sum(made.loaded.left_out.values())) == (n, left_out)


@pytest.mark.parametrize(
    ("benchmark", "packed"),
    [("dlama", "data/raw/dlama-v1.tar.gz"), ("blend", "blend.7z"), ("click", "d.tar.xz")],
)
def test_packed_data_are_named(tmp_path: Path, benchmark: str, packed: str) -> None:
    (tmp_path / packed).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / packed).write_bytes(b"x")
    made = evaluation(benchmark)
    for data in (tmp_path, tmp_path / packed):
        with pytest.raises(
            ValueError, match=f"Unpack {packed if data == tmp_path else Path(packed).name} first"
        ):
            made.study(made.params(models=["m"], data=str(data)), {}, {})
