"""A pack from a clone of FmLAMA, with invented dishes and sentences; the message to its judge."""

from __future__ import annotations

import ast
import csv
import io
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tasks.evaluations.fmlama.judge import FURTHER_INPUTS, JudgedDish, judge_prompts, read_marks, rubric
from tasks.evaluations.fmlama.pack import PACK
from tasks.evaluations.fmlama.params import FmlamaParams
from tasks.evaluations.fmlama.study import build_study
from tasks.loop.prompts import Completion
from tasks.packs.files import read_csv
from tasks.papers.fmlama import message
from tasks.papers.fmlama.importer import IMPORTER
from tasks.papers.fmlama.raw import ingredients
from tasks.papers.importing import Pack, pack_from
from tests.evaluations.fmlama.conftest import dish_rows, template_rows

LANGUAGES = ("ar", "en", "he", "ko", "ru", "zh")
SENTENCES = {"hasParts": "Of [X] one eats [Y].", "country": "Of [X] in [C] one eats [Y]."}
DISHES = [
    ("Q1", "Italy", "pan", ["flour", "oil"]),
    ("Q2", "England", "pie", ["flour, dried"]),
    ("Q3", "Peru", "fry", ["corn"]),
]
GROUPS = "country_lang = {'Italy': 'Italy', \"People's Republic of China\": 'China', 'aggregated': 'ALL'}\n"


def dish(url: str, origin: str, name: str, names: Any, language: str = "en") -> str:
    row = {"url": url, "origin": origin, "origin_name": "", "lang": language, "sub_label": name}
    return json.dumps(row | {"obj_label": names}, ensure_ascii=False)


def clone(folder: Path) -> Path:
    """Write a clone: templates and aligned dishes of six languages, full dishes of English only."""
    files = {}
    for language in LANGUAGES:
        slots = {"[X]": "[1]", "[Y]": "[2]", "[C]": "[3]"} if language == "he" else {}
        lines = []
        for relation, text in SENTENCES.items():
            for variant in range(1, 6):
                own = "[Y] is of [X] [C]." if (language, variant) == ("ko", 4) else text
                for ours, theirs in slots.items():
                    own = own.replace(ours, theirs)
                lines.append(json.dumps({"relation": f"{relation}_{variant}", "template": own, "avg": 9.1}))
        lines.append(json.dumps({"relation": "country_2-1", "template": SENTENCES["country"]}))
        files[f"data/templates/{language}_templates.jsonl"] = "\n".join(lines)
        files[f"data/data_filter/{language}/{language}_dishes.jsonl"] = dish(*DISHES[0], language)
        files[f"data/data_lang/{language}/{language}_dishes.jsonl"] = ""
    full = [dish(*each) for each in DISHES] + ["not JSON", dish("Q4", "Italy", "", ["x"])]
    files["data/data_lang/en/en_dishes.jsonl"] = "\n".join(full)
    files["data/Dishes.csv"] = (
        "url,origin,name,lang,hasParts,materia,image\n"
        "Q1,Italy,pan,en,\"{'flour, oil'}\",{''},\nQ1,Italy,сковорода,ru,\"{'мука, масло'}\",{''},\n"
        "Q5,Italy,two,en,{'x'},{''},\nQ5,Peru,two,en,{'x'},{''},\nQ6,Italy,none,en,{''},{''},\n"
    )
    files["results/code/get_mAP_table.py"] = "import os\n" + GROUPS
    files["analysis/04-gpt4o-evaluation/prompt/prompt.txt"] = "Say of {each} what it is.\n"
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    return pack_from(IMPORTER, clone(tmp_path_factory.mktemp("clone")), {})


def rows(pack: Pack, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(pack.files[f"fmlama/{name}.csv"])))


def read(pack: Pack) -> dict[str, list[dict[str, Any]]]:
    """Return the rows as a study gets them; there are no faults."""
    by_file = {}
    for file in PACK.files:
        if (name := f"fmlama/{file.path}") in pack.files and file.path.endswith(".csv"):
            placed, faults = read_csv(pack.files[name].encode(), name, file)
            assert faults == []
            by_file[file.name] = [row for *_, row in placed]
    return by_file | {"replaces": [tomllib.loads(pack.files["fmlama/replaces.toml"])]}


def test_templates_of_all_languages_are_read_with_equal_slots(pack: Pack) -> None:
    read_rows = rows(pack, "template")
    assert {row["language"] for row in read_rows} == set(LANGUAGES)
    assert len(read_rows) == 6 * 10 - 2
    assert {row["text"] for row in read_rows} == set(SENTENCES.values())  # slots are the same in Hebrew
    left_out = [line for line in pack.left_out if "ko_templates" in line and "before" in line]
    assert [line.split(": ")[1] for line in left_out] == ["hasParts_4", "country_4"]
    assert sum("country_2-1: a further wording" in line for line in pack.left_out) == 6


def test_full_aligned_and_all_dishes_are_separate_sets(pack: Pack) -> None:
    sets = [(row["dish_set"], row["language"], row["url"]) for row in rows(pack, "dish_set")]
    assert [s[1:] for s in sets if s[0] == "fmlama-full"] == [("en", "Q1"), ("en", "Q2"), ("en", "Q3")]
    assert [s[1:] for s in sets if s[0] == "fmlama-aligned"] == [(code, "Q1") for code in LANGUAGES]
    assert [s[1:] for s in sets if s[0] == "fmlama-all"] == [("en", "Q1"), ("ru", "Q1"), ("en", "Q5")]
    assert [row["url"] for row in rows(pack, "dish")] == ["Q1", "Q2", "Q3"]  # the full file's dishes
    assert rows(pack, "dish")[1]["ingredients"] == "flour, dried"
    assert any(line.startswith("fmlama-all: 1 dishes: several origins") for line in pack.left_out)


def test_a_study_uses_the_dishes_templates_and_groups_of_the_pack(pack: Pack) -> None:
    """The study has only the pack's dishes, or only the named set, with the pack's wordings and groups."""
    shipped: dict[str, Any] = {"dish": dish_rows(), "template": template_rows(), "origin_group": []}
    tables = PACK.added(read(pack), shipped)
    assert tables["origin_group"] == [
        {"origin": "Italy", "origin_group": "Italy"},
        {"origin": "People's Republic of China", "origin_group": "China"},
    ]

    def dishes(**params: Any) -> dict[str, list[str]]:
        chosen = FmlamaParams(models=["m"], **params)
        study = build_study(chosen, tables["dish"], tables["template"], tables["origin_group"])
        assert {t.text for probe in study.probes for t in probe.templates} <= set(SENTENCES.values())
        return {p.condition.slug: [d.url for d in p.dishes] for p in study.probes}

    assert dishes() == {"en:en:no": ["Q1", "Q2", "Q3"], "en:en:yes": ["Q1", "Q2", "Q3"]}
    aligned = dishes(dish_set="fmlama-aligned", languages=["he", "ko"], mention_country="no")
    assert aligned == {"he:he:no": ["Q1"], "ko:ko:no": ["Q1"]}
    assert dishes(dish_set="fmlama-all", mention_country="no") == {"en:en:no": ["Q1", "Q5"]}


def test_the_judge_has_the_rules_of_the_pack(pack: Pack) -> None:
    prompts = tomllib.loads(pack.files["fmlama/prompts.toml"])
    own = build_study(FmlamaParams(models=["m"]), dish_rows(), template_rows(), [], own=prompts)
    assert own.rubric.system == "Say of {each} what it is."


@pytest.mark.parametrize(
    ("cell", "names"),
    [
        (["a", "b, c", "a", ""], ["a", "b, c"]),
        ("{'a, b'}", ["a", "b"]),
        ('{"crème d\'or, b"}', ["crème d'or", "b"]),
        ("{''}", []),
        ("a, b", ["a", "b"]),
        ("{'a, b", ["a", "b"]),
        ("{__import__('os')}", ["__import__('os')"]),
        ("[" * 9999, []),
        (None, []),
        (7, None),
    ],
)
def test_ingredients_are_read_from_every_published_form(cell: Any, names: list[str] | None) -> None:
    if names is None:
        with pytest.raises(TypeError):
            ingredients(cell)
    else:
        assert ingredients(cell) == names


def test_broken_files_leave_the_rest_of_the_pack(tmp_path: Path) -> None:
    folder = clone(tmp_path)
    (folder / "data/Dishes.csv").write_bytes(b"PK\x03\x04 not a table")
    (folder / "data/templates/ru_templates.jsonl").write_text("nothing")
    (folder / "results/code/get_mAP_table.py").write_text("def (")
    pack = pack_from(IMPORTER, folder, {})
    left_out = "\n".join(pack.left_out)
    assert "Dishes.csv, line 1: the header lacks the columns hasparts, lang, name, origin, url" in left_out
    assert "ru_templates.jsonl: 1 lines left out, the first: line 1: not JSON" in left_out
    assert "get_mAP_table.py" in left_out
    assert tomllib.loads(pack.files["fmlama/replaces.toml"])["files"] == ["dish"]


PROGRAM = """
import json
with open(path) as files:
    instruction_prompt = "".join(files.readlines())
for country, data_list in dataset.items():
    for data in data_list:
        d = {}
        d['Dish'] = data['dish']
        d['Gold_ingredients'] = data['gold_ingredient']
        head = 'D: ' + d['Dish']
        gold = 'Known: ' + ', '.join(d['Gold_ingredients'])
        found = 'Guessed: ' + ', '.join(d['Predicted_ingredient'])
        final_promts = instruction_prompt + "\\n\\n### In {:\\n" + '\\n'.join([head, gold, found])
        dirct_match = list(set(d['Gold_ingredients']) & set(d['Predicted_ingredient']))
        difference = list(set(d['Predicted_ingredient']) - set(dirct_match))
        if len(dirct_match) > 0:
            more_prompt = 'At once ' + ', '.join(dirct_match) + '. Now: ' + ', '.join(difference)
        else:
            more_prompt = 'At once none. Now: ' + ', '.join(difference)
        final_promts = final_promts + '\\n\\n' + more_prompt
        try:
            completion = client.create(messages=[{"role": "user", "content": final_promts}])
        except Exception as e:
            pass
"""
RULES = "Return a Python dictionary: {'ingredient': ('Correct', 'Direct Match')}, or Maybe or Incorrect."


def test_message_is_a_template_of_the_programs_words() -> None:
    assert message.question(ast.parse(PROGRAM)) == (
        "### In {:\nD: {{ dish }}\nKnown: {{ reference }}\nGuessed: {{ predicted }}\n\n"
        "{% if matched %}At once {{ matched }}. Now: {{ remaining }}"
        "{% else %}At once none. Now: {{ remaining }}{% endif %}"
    )


@pytest.mark.parametrize("source", ["", "x = 1", "text = 'Dish: ' + d['Dish']", "f(1)(2).x[3] = 4"])
def test_other_programs_have_no_message(source: str) -> None:
    assert message.question(ast.parse(source)) is None


def test_direct_matches_are_named_and_given_and_tuples_are_read() -> None:
    text = message.question(ast.parse(PROGRAM))
    own = rubric().reworded(RULES, text, further=FURTHER_INPUTS)
    dish = JudgedDish("u", "poutine", "Canada", ("salt", "rice", "oil"), ("salt", "gravy", "tar"))
    (prompt,) = judge_prompts(own, [dish], "given")
    assert prompt.asked == ("gravy", "tar")
    sent = prompt.prompt.conversation[-1]["content"]
    assert 'Guessed: <data>["salt", "gravy", "tar"]</data>' in sent
    assert 'At once <data>["salt"]</data>. Now: <data>["gravy", "tar"]</data>' in sent
    reply = "```python\n{'gravy': ('Correct', 'Substitutability'),\n 'tar': ('Incorrect', 'Not used')}\n```"
    (marks,) = read_marks(own, [prompt], {prompt.prompt.id: Completion(reply, "stop", 1, 1)})
    assert [verdict.value for verdict in marks.verdicts] == [1.0, 1.0, 0.0]
    (alone,) = judge_prompts(own, [JudgedDish("u", "poutine", "Canada", ("oil",), ("tar",))], "given")
    assert "At once none. Now: <data>" in alone.prompt.conversation[-1]["content"]
