"""Invented items in the format of each published benchmark, in the folders of its clone."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from tests.data.workbooks import write_xlsx

Rows = Sequence[Mapping[str, Any]]

NONE = {"idk": 0, "no-answer": 0, "not-applicable": 0}


def write(path: Path, rows: Rows | Mapping[str, Any]) -> None:
    """Write a file in the format of its suffix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    match path.suffix:
        case ".json":
            path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
        case ".jsonl":
            path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        case ".parquet":
            pl.DataFrame(rows).write_parquet(path)
        case kind:
            with path.open("w", encoding="utf-8", newline="") as file:
                names = list(dict.fromkeys(name for row in rows for name in row))  # type: ignore[attr-defined]
                writer = csv.DictWriter(file, names, delimiter="\t" if kind == ".tsv" else ",")
                writer.writeheader()
                writer.writerows(rows)  # type: ignore[arg-type]


def rows_of(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


def texts(root: Path) -> list[Path]:
    """Return the files below a folder that are texts."""
    return sorted(path for path in root.rglob("*.*") if path.suffix in (".csv", ".tsv", ".json", ".jsonl"))


def group(count: int, local: Sequence[str], english: Sequence[str]) -> dict[str, Any]:
    """Return one of BLEnD's annotations."""
    return {"answers": list(local), "en_answers": list(english), "count": count}


def blend_question(local: str, english: str, *groups: Mapping[str, Any], **idks: int) -> dict[str, Any]:
    """Return one of BLEnD's entries."""
    counts = NONE | {name.replace("_", "-"): n for name, n in idks.items()}
    return {"question": local, "en_question": english, "annotations": groups, "idks": counts}


def blend(root: Path) -> None:
    """Write BLEnD's files: two places, four questions (three are usable), topics and prompts."""
    entries = {
        "Aa-01": blend_question(
            "¿Qué se bebe?", "What is drunk?", group(3, ["té"], ["tea"]), group(1, ["café"], ["coffee"])
        ),
        "Aa-02": blend_question(
            "¿Qué se come?", "What is eaten?", group(2, ["pan de maíz"], ["corn bread", "bread"])
        ),
        "Aa-03": blend_question("¿Cuándo?", "When?", group(2, ["en mayo"], ["May"]), idk=4, no_answer=2),
        "Aa-04": blend_question("¿Dónde?", "Where?", group(1, ["aquí"], ["here"]), not_applicable=3),
    }
    write(root / "data/annotations/Mexico_data.json", entries)
    write(root / "data/annotations/UK_data.json", {k: _in_english(v) for k, v in entries.items()})
    topics = [{"": 0, "ID": "Aa-01", "Topic": "Food", "Source": "English (US)", "Question": "x"}]
    write(root / "data/questions/Mexico_questions.csv", topics)
    prompts = [{"id": "inst-9", "English": "Say it: {q}", "Translation": "Di: {q}"}]
    write(root / "data/prompts/Mexico_prompts.csv", prompts)


def _in_english(entry: Mapping[str, Any]) -> dict[str, Any]:
    groups = [group(g["count"], g["en_answers"], g["en_answers"]) for g in entry["annotations"]]
    return {**entry, "question": entry["en_question"], "annotations": groups}


def click(root: Path) -> None:
    """Write five questions of two exams; two share a passage, and one repeats an option."""
    four = ["ga", "na", "da", "ra"]
    rows = [
        {"id": f"K_{n}", "paragraph": "", "question": f"Q{n}?", "choices": four, "answer": four[n]}
        for n in range(3)
    ]
    rows.append({**rows[0], "id": "K_9", "choices": ["ga", "ga", "da", "ra"]})
    write(root / "Dataset/Culture/Korean Society/Society_KIIP.json", rows)
    read = [
        {"id": f"T_{n}", "paragraph": "One.", "question": f"T{n}?", "choices": [*four, "ma"], "answer": "ma"}
        for n in range(2)
    ]
    write(root / "Dataset/Language/Textual/Textual_CSAT.json", read)


def camel(root: Path) -> None:
    """Write drinks, names, and sentences of both sets, also for masked models and with the blank first."""
    cultures = ["Arab", "Arab", "Western", "Western", None]
    drinks = {"Entity": ["qahwa", "karak", "wine", "cider", "water"], "Culture": cultures}
    names = {"Entity": ["Abir", "Su'ad", "Ann", "Eve"], "Culture": ["Arab", " arab", "Western", "Western"]}
    sheet(root / "entities/beverage.xlsx", drinks)
    sheet(root / "entities/names-female.xlsx", names)
    ag = {"Entity Type": ["Beverage", "Names-Female", "Beverage", "Authors", "Beverage"],
          "Prompt": ["I drink [MASK]", "Her name is [MASK]", "I drink [MASK]", "I read [MASK]",
                     "Now [MASK]"]}  # fmt: skip
    co = {"Entity Type": ["Beverage", "Beverage"], "Sentiment": ["positive", "NA"],
          "Prompt": ["After prayer, [MASK] is good", "[MASK] is good"]}  # fmt: skip
    sheet(root / "prompts/camel-ag/camelag-prompts-causal-lms.xlsx", ag)
    sheet(root / "prompts/camel-ag/camelag-prompts-masked-lms.xlsx", co)
    sheet(root / "prompts/camel-co/camelco-prompts-masked-lm.xlsx", co)


def sheet(path: Path, columns: Mapping[str, Sequence[str | None]]) -> None:
    """Write an Excel file of these columns; None: an empty cell."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = zip(*columns.values(), strict=True)
    write_xlsx(path, [list(columns), *([text or "" for text in row] for row in rows)])


def kobbq(root: Path) -> None:
    """Write one template in its four versions of context and question."""
    three = ["the old one", "the young one", "not known"]
    rows = [
        {
            "sample_id": f"age-001{version}-001-{context}-{question}", "label_annotation": "NC",
            "context": f"They met {version}.", "question": f"Who {question}?", "choices": str(three),
            "biased_answer": three[question == "cnt"], "prediction": "",
            "answer": three[2] if context == "amb" else three[(version == "a") == (question == "bsd")],
        }
        for version in "ab" for context in ("amb", "dis") for question in ("bsd", "cnt")
    ]  # fmt: skip
    write(root / "data/KoBBQ_test_samples.tsv", rows)
    write(root / "data/KoBBQ_all_samples.tsv", [{**row, "question": "of the whole set?"} for row in rows])


def culturalbench_easy(root: Path) -> None:
    """Write two questions; an option looks like a letter."""
    rows = [
        {"data_idx": n, "question_idx": n, "prompt_question": f"Q{n}?", "prompt_option_a": "A, and B",
         "prompt_option_b": "A", "prompt_option_c": "x", "prompt_option_d": "y", "answer": "BC"[n],
         "country": "Peru"}
        for n in range(2)
    ]  # fmt: skip
    write(root / "CulturalBench-Easy.csv", rows)


def culturalbench_hard(root: Path) -> None:
    """Write two questions of four statements."""
    rows = [
        {"data_idx": 4 * q + n, "question_idx": q, "prompt_question": f"Q{q}?", "prompt_option": f"s{n}",
         "answer": str(n == q), "country": "Peru"}
        for q in range(2) for n in range(4)
    ]  # fmt: skip
    write(root / "CulturalBench-Hard.csv", rows)


def include(root: Path) -> None:
    """Write a language named by its folder, another by a column, and a validation file."""
    row = {"question": "Q?", "option_a": "1", "option_b": "2", "option_c": "3", "option_d": "4", "answer": 1,
           "domain": "Humanities", "regional_feature": "region explicit"}  # fmt: skip
    write(root / "Greek/test-00000.parquet", [row, {**row, "question": "P?", "answer": 3}])
    write(root / "Greek/validation-00000.parquet", [row])
    choices = {"question": "R?", "choices": ["u", "v", "w", "x"], "answer": 0}
    write(root / "more.jsonl", [choices | {"language": "Basque", "country": "Spain"}])


def global_mmlu(root: Path) -> None:
    """Write two questions in two languages; one question is culturally sensitive."""
    row = {"sample_id": "history/1", "subject": "history", "subject_category": "Humanities", "question": "Q?",
           "option_a": "u", "option_b": "v", "option_c": "w", "option_d": "x", "answer": "D",
           "region": "['Asia', 'Asia', 'Europe']", "country": "-",
           "cultural_sensitivity_label": "CS"}  # fmt: skip
    agnostic = {**row, "sample_id": "maths/2", "cultural_sensitivity_label": "CA"}
    for language in ("en", "sw"):
        write(root / language / "test-00000.parquet", [row, agnostic])
        write(root / language / "dev-00000.parquet", [{**row, "sample_id": "dev/1"}])


def arab_culture(root: Path) -> None:
    """Write two situations and a discarded one."""
    options = {"arabic_keys": ["ا", "ب", "ج"], "english_keys": ["A", "B", "C"], "text": ["x", " y", "z"]}
    row = {"sample_id": "1 | Tea", "sub_topic": "Tea", "first_statement": "A guest comes.",
           "country": "Egypt", "options": options,
           "answer_key": {"arabic_answer_key": "ب", "english_answer_key": "B"}, "region": "Nile Valley",
           "relevant_to_other_countries": "No", "should_discard": "No"}  # fmt: skip
    rows = [row, {**row, "first_statement": "A guest goes."}, {**row, "should_discard": "Yes"}]
    write(root / "Egypt/test-00000.parquet", rows)


def dlama(root: Path) -> None:
    """Write facts of one predicate on two regions, in English and, with a user's template, in Arabic."""
    for language in ("en", "ar", "ja"):
        for region, places in {"ARAB": ("Amman", "Tunis"), "WESTERN": ("Oslo", "Lima")}.items():
            rows = [
                {"uuid": f"P36_{n}", "sub_uri": f"Q{region}{n}", "sub_label": f"land {n} {region}",
                 "obj_label": [place, place.upper()] if n else place, "obj_uri": "Q1"}
                for n, place in enumerate(places)
            ]  # fmt: skip
            write(root / language / f"P36_geography_{region}.jsonl", rows)
    write(root / "ar/templates.jsonl", [{"relation": "P36", "template": "[Y] : [X] ."}])
