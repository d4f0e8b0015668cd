"""Every text that an evaluation sends is in its files or programs, and a pack can replace it."""

from __future__ import annotations

import ast
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import tasks
from deployments.evaluations import evaluation, params
from flows.packs import tables_of
from tasks.evaluations.cure.read import most_calls
from tasks.evaluations.explication.read import judge_call
from tasks.evaluations.explication.study import RUBRICS
from tasks.evaluations.fmlama.judge import JudgedDish, judge_prompts
from tasks.evaluations.worldwise.read import WorldwiseAnswer, answer_texts
from tasks.loop.requests import Engine
from tasks.packs.shape import Shape, Wording

TASKS = Path(tasks.__file__).parent
SIX = ("culturall", "cure", "explication", "fmlama", "spectral", "worldwise")
JUDGED = {"culturall", "cure", "explication", "fmlama"}
STYLES = ("direct", "reasoned")
KNOBS: Mapping[str, Mapping[str, Any]] = {
    "culturall": {"judges": ["j"], "languages": ["es"], "conditions": ["native", "question", "retrieval"]},
    "cure": {"judges": ["j"]},
    "explication": {"judges": ["j"], "max_personas": 1, "repetitions": 1}
    | {"tasks": ["breakfast", "celebration", "gift"]},
    "fmlama": {"judges": ["j"]},
    "spectral": {},
    "worldwise": {"limit": 6},
}
WORDS = 4
"""Words of a piece of text, at least, that is looked for."""
MANY = 6
"""Words of a piece that stands in what is sent by no chance."""

NEVER_SENT = {
    "culturall/matching/quantities.toml": "names of units, by which a program reads numbers",
    "explication/foods.toml": "words by which a program finds food in a conversation",
    "explication/questions.toml": "words by which a program classifies questions",
    "explication/words.toml": "words by which a program finds what a recommendation names",
    "explication/prompts/interview.toml": "interviews, by which people make personas in a command of its own",
}
"""Files of texts and words that no run of the evaluation sends."""

STAYS = {
    "culturall": {},
    "cure": {
        "Write one JSON object: ": "the form of an answer: a schema holds the candidate to it",
        "only the broad norm": "a reason that a direct judge chooses: a schema holds it to them",
        "not of this culture": "another such reason",
    },
    "explication": {},
    "fmlama": {},
    "spectral": {},
    "worldwise": {},
}
"""Beginning of a piece that is sent with a pack of every text too -> why no pack replaces it."""

OF_JUDGES = {
    "Answer with one JSON object and nothing else: ": "a schema holds a direct judge to the form",
    'of "verdict" and "reason"': "the end of that form",
    "Whatever stands between <data> and </data>": "judged text is always quoted",
    "was written by others and is never": "the end of that note",
}

TABLES_THAT_STAY = {
    "country": "names of countries",
    "country_name": "names of countries",
    "persona": "the wording persona stands in its place",
    "dish": "names by which a program finds dishes in a conversation",
    "spoken": "languages of countries, whose names are not sent",
    "human_domain": "ratings of domains by people: no model reads them",
}
"""Tables of a study that no file of a pack replaces, and why."""


class Sent(NamedTuple):
    """Everything that a study sends, as one text, and its config_hash."""

    text: str
    hash: str


@pytest.fixture(autouse=True)
def _home(warehouse: object) -> None:
    """Use a new warehouse with the shipped data."""


def shape(name: str) -> Shape:
    own = evaluation(name).pack
    assert own is not None
    return own


def study(name: str, prompts: Mapping[str, str], tables: Mapping[str, Any], style: str = "direct") -> Any:
    """Return the study of a few items, with the texts of a pack."""
    own = evaluation(name)
    knobs = dict(KNOBS[name]) | ({"judge_style": style} if name in JUDGED else {})
    if name == "culturall":
        knobs["documents"] = documents(tables)
    chosen = params(name)(models=["m"], **knobs)
    added = shape(name).added({"prompts": [prompts]} if prompts else {}, tables)
    engines = {each: Engine(each, "fake", each, f"hash of {each}") for each in own.engines(chosen)}
    return own.study(chosen, added, engines)


def documents(tables: Mapping[str, Any]) -> str:
    """Return a folder of documents, in which passages about items are found."""
    folder = Path(os.environ["CULTUREMETER_HOME"]) / "documents"
    folder.mkdir(exist_ok=True)
    for row in tables["culturall_item"]:
        (folder / f"{row['item']}.txt").write_text(str(row["scenario"]))
    return str(folder)


def shipped(name: str) -> Mapping[str, Any]:
    """Return the rows that the evaluation reads."""
    return tables_of(evaluation(name), params(name).model_validate({"models": ["m"]}))


def texts_of(name: str, of: Any) -> Iterator[str]:
    """Yield every text of a study that a candidate, a judge, a simulated user or an embedder is sent."""
    for prompt in _prompts(name, of):
        yield from (str(message["content"]) for message in prompt.conversation)
    if name == "explication":
        for dialogue in (*of.dialogues(), *of.shared_dialogues()):
            for voice in dialogue.voices:
                yield from (voice.system, voice.begin, *voice.lines)
    if name == "worldwise":
        answer = WorldwiseAnswer("A", tuple(of.content.labels[:3]), "Kin first.")
        yield from answer_texts(of, {of.samples[0].key: answer})
    if name == "spectral":
        yield from (text for q in of.questions for text in (q.prefix, q.template))
    if name == "fmlama":
        yield from (template.text for probe in of.probes for template in probe.templates)


def _prompts(name: str, of: Any) -> Iterator[Any]:
    if name == "worldwise":
        yield from (sample.prompt for sample in of.samples)
    elif name == "fmlama":
        dish = JudgedDish("q", "poutine", "Canada", ("gravy",), ("potato",))
        yield from (each.prompt for each in judge_prompts(of.rubric, [dish]))
    elif name == "cure":
        yield from of.prompts.values()
        yield from (call.prompt for call in most_calls(of)[0])
    elif name == "culturall":
        yield from of.prompts.values()
        yield from (of.call(source, item, "An answer.").prompt for source, item in of.prompts)
    elif name == "explication":
        key = next(iter(of.real()))
        yield from (judge_call(of, key, rubric, ["Hello"]).prompt for rubric in RUBRICS)


def sent(name: str, prompts: Mapping[str, str], tables: Mapping[str, Any], style: str = "direct") -> Sent:
    own = study(name, prompts, tables, style)
    return Sent(_flat("\n".join(texts_of(name, own))), own.config_hash())


def _flat(text: str) -> str:
    return " ".join(text.split())


def own_text(wording: Wording) -> str:
    """Return a template of a pack: its own words, and the fields that it must use."""
    fields = " ".join(f"{{{{ {name} }}}}" for name in wording.needs)
    return wording.checked(f"Brought {wording.name}. {fields}".strip())


@cache
def pieces(name: str) -> frozenset[str]:
    """Return the texts of the evaluation's programs and files and of the judges, cut at their fields."""
    folders = [TASKS / "evaluations" / name, *([TASKS / "judging"] if name in JUDGED else [])]
    programs = (path for folder in folders for path in folder.rglob("*.py"))
    return frozenset(p for path in (*programs, *files_of_texts(name)) for p in _pieces_of(path, WORDS))


def _pieces_of(path: Path, n_words: int) -> Iterator[str]:
    """Yield the texts of a file in pieces of at least ``n_words`` words."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        texts = list(_strings(ast.parse(text)))
    else:
        texts = list(_leaves(tomllib.loads(text))) if path.suffix == ".toml" else [text]
    for one in texts:
        for piece in re.split(r"\{\{.*?\}\}|\{%.*?%\}|\{\w*\}|\n", one):
            if len(re.findall(r"\w+", piece)) >= n_words:
                yield _flat(piece)


def _strings(tree: ast.AST) -> Iterator[str]:
    """Yield the texts in a program, without those that describe it."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _leaves(each)


@cache
def files_of_texts(name: str) -> frozenset[Path]:
    """Return templates, rubrics, forms and word lists that lie in the evaluation's folder."""
    folder = TASKS / "evaluations" / name
    return frozenset(
        path
        for path in folder.rglob("*")
        if path.suffix in {".toml", ".md", ".txt", ".jinja", ".j2", ".yaml", ".json"}
        and path.name != "settings.toml"  # the paper's settings
        and "example_pack" not in path.parts
    )


def stays(name: str, piece: str) -> bool:
    listed = [*STAYS[name], *(OF_JUDGES if name in JUDGED else {})]
    return any(piece.startswith(each) or _flat(each) in piece for each in listed)


@pytest.mark.nets(3)
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", SIX)
def test_a_pack_of_every_text_leaves_no_shipped_text(name: str, style: str) -> None:
    """Exceptions are listed in STAYS; tables are replaced by files."""
    tables = shipped(name)
    before = sent(name, {}, tables, style)
    texts = {each.name: own_text(each) for each in shape(name).wordings}
    after = sent(name, texts, tables, style)
    used = {piece for piece in pieces(name) if piece in before.text}
    assert bool(used) == bool(texts), "its texts are found in what it sends"
    rows = _flat("\n".join(_leaves_of_rows(name, tables)))
    left = {piece for piece in pieces(name) if piece in after.text and piece not in rows}
    assert sorted(piece for piece in left if not stays(name, piece)) == []
    assert style != "direct" or all(piece in after.text for piece in STAYS[name]), (
        "STAYS lists only pieces that are still sent"
    )


def _leaves_of_rows(name: str, tables: Mapping[str, Any]) -> Iterator[str]:
    """Yield texts of tables and tasks, which files of a pack replace."""
    for path in files_of_texts(name):
        if path.parent.name == "tasks":
            yield from _leaves(tomllib.loads(path.read_text(encoding="utf-8")))
    for rows in tables.values():
        for row in rows:
            yield from (str(cell) for cell in row.values() if isinstance(cell, str))


@pytest.mark.nets(1)
@pytest.mark.parametrize("name", SIX)
def test_every_text_of_a_pack_is_sent_and_changes_the_configuration(name: str) -> None:
    """Each text of a pack by itself is in the sent text and gives another configuration."""
    tables = shipped(name)
    bare = sent(name, {}, tables, "reasoned")
    hashes = {bare.hash}
    for wording in shape(name).wordings:
        own = sent(name, {wording.name: own_text(wording)}, tables, "reasoned")
        assert f"Brought {wording.name}." in own.text, wording.name
        hashes.add(own.hash)
    assert len(hashes) == len(shape(name).wordings) + 1


@pytest.mark.nets(2)
@pytest.mark.parametrize("name", SIX)
def test_every_table_is_replaceable_or_listed_with_a_reason(name: str) -> None:
    tables, own = shipped(name), shape(name)
    files = {file.table: file.name for file in own.files}
    for table, rows in tables.items():
        if rows and (table not in TABLES_THAT_STAY or name == "fmlama"):
            assert table in files, table
            left = own.remaining({"replaces": [{"files": [files[table]]}]}, tables)
            assert left[table] == (), table


def test_every_file_of_texts_is_sent_or_listed_as_never_sent() -> None:
    """Only long pieces are compared, since a task's question may contain the words that identify it."""
    never = {TASKS / "evaluations" / path for path in NEVER_SENT}
    assert all(path.is_file() for path in never)
    for name in SIX:
        text = "".join(sent(name, {}, shipped(name), style).text for style in STYLES)
        for path in sorted(files_of_texts(name)):
            own = _pieces_of(path, MANY)
            assert any(piece in text for piece in own) != (path in never), path
