"""Three items in each of six regions in a file of the published form, three conditions, a judge."""

from __future__ import annotations

from pathlib import Path

from tests.golden.harness import SERVED, Net, write_csv

REGIONS = ("BD", "JP", "KZ", "MX", "SG", "uk")
TOPICS = ("Food", "Heritage", "Pets")
OPTIONS = "A. tea B. coffee C. cocoa D. water"


def prepare(home: Path, files: Path) -> None:
    """Write items: two of three ask for a number, one for a letter; each region has one language."""
    rows = [
        {"language": ("en", "es")[place % 2], "region": region, "topic": topic}
        | {"scenario": f"It is day {n} in town {place}.", "explanation": f"Rule {n}."}
        | {"question": f"Which one on day {n}? {OPTIONS}" if n == 2 else f"How many on day {n}?"}
        | {"answer": "ABCD"[place % 4] if n == 2 else f"{place % 3}", "eval_sum": 5 * place % 14}
        | {"scenario_en": f"Day {n}, town {place}."}
        | {"question_en": f"Which? {OPTIONS}" if n == 2 else "How many?"}
        | {"answer_en": "ABCD"[place % 4] if n == 2 else f"{place % 3}", "explanation_en": f"Rule {n}!"}
        for place, region in enumerate(REGIONS)
        for n, topic in enumerate(TOPICS)
    ]
    write_csv(files / "items.csv", rows)


NET = Net(
    params={
        "models": ["fake-a", SERVED],
        "judges": ["fake-j"],
        "file": "{files}/items.csv",
        "conditions": ["native", "english", "question"],
        "judge_max_tokens": 32,
        "max_tokens": 32,
        "batch": 16,
    },
    other={"batch": 7},
    keys={"response": ("request_hash", "item")},
    kills=(("response", ""), ("response", "fake-j")),
    prepare=prepare,
    judged=r"^(judge_|english_gain|scenario_gain)|^accuracy(_answered|_english|_question)? ",
    compared=r" difficulty ",
    budget=4_000,
)
