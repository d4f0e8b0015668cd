"""Wrong inputs of single evaluations: each is one error that says what is right, and changes nothing.

A line for each way in; what a table, a file or a study refuses is in the tests of each.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.deployments.commands import refused
from warehouse import Warehouse

FILES = {
    "other.csv": "land,tale\nindia,A story.\n",
    "casa_s1_adhere_forum.json": json.dumps(
        [{"index": "Japan_4", "user_query": "No.", "violated_norm": "Norm.", "refined_user_query": "Yes."}]
    ),
    "words.vec": "2 2\nrice 1 0\nsalt 0 1\n",
}
VECTORS = {"fmlama": "--word-vectors {home}/words.vec", "worldwise": "--embedder {home}/words.vec"}
WRONG = {
    "cure": {
        "-m no-such-model": "unknown model 'no-such-model'",
        "--profile huge": "smoke, demo, full",
        "--benchmarks normad,culturbank": "'normad', 'casa', 'culturebank' or 'specnorm'",
        "--files {home}/other.csv": "--files {home}/other.csv: write it as",
        "--files normda={home}/other.csv": "'normad', 'casa', 'culturebank' or 'specnorm'",
        "--files normad={home}/none.csv": "{home}/none.csv: cannot be read (No such file",
        "--files casa={home}/casa_s1_adhere_forum.json": "no file is of the violate side",
    },
    "fmlama": {
        "--origins Itly": "near: Italy",
        "--languages zh": "no dish of these origins for zh: the shipped set is English only",
        "--dish-set fmalma": "there is no dish set 'fmalma'",
        "--mention-country maybe": "--mention-country: expected 'no', 'yes' or 'both'",
    },
    "worldwise": {
        "--cultures Jpan": "near: Japan",
        "--targets seed_bucketd": "seed_bucketed",
        "--persona-language ja": "--persona-language: expected 'en' or 'own'",
        "--embedder MiniLM": "unknown embedder 'MiniLM'",
    },
}
"""Evaluation -> options -> part of the error."""


@pytest.mark.parametrize("evaluation", WRONG)
def test_wrong_input_is_one_error_and_changes_nothing(
    home: Path, evaluation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))
    for name, content in FILES.items():
        (home / name).write_text(content)
    tables = "SELECT table_name, estimated_size FROM duckdb_tables() ORDER BY ALL"
    before = Warehouse.open(home).query(tables)
    usual = f"run {evaluation} --profile smoke -m fake-a {VECTORS.get(evaluation, '')}"
    for options, message in WRONG[evaluation].items():
        error = refused(*f"{usual} {options}".format(home=home).split())
        assert error.count("error:") == 1, options
        assert message.format(home=home) in error, options
    assert Warehouse.open(home).query(tables).equals(before)
    assert not list(home.glob("parts/*/[!_]*"))
