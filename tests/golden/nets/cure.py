"""Six items of each benchmark in files of the published form, both modes, a judge with two votes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.golden.harness import SERVED, Net

COUNTRIES = ("Brazil", "Germany", "Japan", "Kenya", "Mexico", "Turkey")
LABELS = ("yes", "no", "neutral")


def prepare(home: Path, files: Path) -> None:
    """Write items that differ only in their numbers."""
    numbered = list(enumerate(COUNTRIES))
    write(files / "normad.json", [
        {"country": country, "story": f"Story {n} of a guest in {country}.", "gold_label": LABELS[n % 3]}
        | {"explanation": f"In {country} guests keep rule {n}.", "subaxis": ("visiting", "eating")[n % 2]}
        | {"rule_of_thumb": f"Keep rule {n}."}
        for n, country in numbered
    ])  # fmt: skip
    queries = [
        {"index": f"{country}_{n}", "user_query": f"May I bring gift {n} to {country}?"}
        | {"violated_norm": f"Gift {n} means bad luck."}
        for n, country in numbered[:3]
    ]
    write(files / "casa_s1_violate_forum.json", queries)
    write(files / "casa_s1_adhere_forum.json", [
        query | {"refined_user_query": f"May I bring a gift other than {n}?"}
        for n, query in enumerate(queries)
    ])  # fmt: skip
    write(files / "culturebank.json", [
        {"cultural_group": country, "actor_behavior": f"greet in way {n}", "agreement": (0.9, 0.1)[n % 2]}
        | {"eval_whole_desc": f"In {country} people greet in way {n}.", "eval_persona": f"Traveller {n}"}
        | {"eval_question": f"How do I greet person {n}?", "eval_scenario": f"A meeting in {country}."}
        for n, country in numbered
    ])  # fmt: skip
    write(files / "specnorm.json", [
        {"country": country, "persona": f"Person {n}", "situation": f"Somebody does thing {n} at work."}
        | {"question": "Is it fitting?", "label": LABELS[n % 2], "norm": f"Bakers there do thing {n}."}
        | {"cues": ["occupation: baker", f"region: North {n}"][: 1 + n % 2]}
        for n, country in numbered
    ])  # fmt: skip


def write(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write a JSON file of these rows."""
    path.write_text(json.dumps(rows))


NET = Net(
    params={
        "models": ["fake-a", SERVED],
        "judges": ["fake-j"],
        "files": {
            "normad": ["{files}/normad.json"],
            "casa": ["{files}/casa_s1_adhere_forum.json", "{files}/casa_s1_violate_forum.json"],
            "culturebank": ["{files}/culturebank.json"],
            "specnorm": ["{files}/specnorm.json"],
        },
        "judge_samples": 2,
        "max_tokens": 32,
        "judge_max_tokens": 32,
        "batch": 48,
    },
    other={"batch": 11},
    keys={"response": ("request_hash", "item")},
    kills=(("response", ""), ("response", "fake-j")),
    prepare=prepare,
    judged=r"^(coverage|specificity|connotation|coherence|explanation_gain|tells_real|judge_|metric_corr)"
    r"|:judged[: ]",
    compared=r" culturebank|coherence",
    budget=14_000,
)
