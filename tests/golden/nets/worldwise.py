"""Three cultures and none, twelve scenarios of six dimensions, two repetitions; vectors of words."""

from __future__ import annotations

from pathlib import Path

from tests.golden.harness import SERVED, Net, write_csv

DIMENSIONS = {
    "power_distance": "chief",
    "individualism": "alone",
    "masculinity": "contest",
    "uncertainty_avoidance": "rule",
    "long_term_orientation": "saving",
    "indulgence": "feast",
}
"""Dimension -> a word for its high pole."""
CATEGORIES = ("family", "work", "money")
CULTURES = ("IN", "JP", "US")


def prepare(home: Path, files: Path) -> None:
    """Write scenarios, exemplars and targets, and vectors for their words and some words of answers."""
    scenarios = [
        {"scenario": f"golden-{dimension}-{n}", "framework": "hofstede", "dimension": dimension}
        | {"category": CATEGORIES[(row + n) % 3], "text": f"It is day {n} and the {word} is near."}
        | {"option_a": f"Take the {word} now.", "option_b": f"Leave it on day {n}."}
        for row, (dimension, word) in enumerate(DIMENSIONS.items())
        for n in range(2)
    ]
    exemplars = [
        {"framework": "hofstede", "dimension": dimension, "pole": pole, "number": n}
        | {"text": f"{word if pole == 'high' else 'no-' + word} of kind {n}"}
        for dimension, word in DIMENSIONS.items()
        for pole in ("high", "low")
        for n in (1, 2)
    ]
    profiles = [
        {"profile": "golden", "country": country, "dimension": dimension, "framework": "hofstede"}
        | {"score": (7 * row + 4 * column) % 9 / 2 - 2}
        for row, country in enumerate(CULTURES)
        for column, dimension in enumerate(DIMENSIONS)
    ]
    folder = home / "packs" / "golden" / "worldwise"
    folder.mkdir(parents=True)
    (folder.parent / "pack.toml").write_text('title = "Twelve scenarios"\n')
    (folder / "replaces.toml").write_text('files = ["scenario", "exemplar"]\n')
    write_csv(folder / "scenario.csv", scenarios)
    write_csv(folder / "exemplar.csv", exemplars)
    write_csv(folder / "culture_profile.csv", profiles)
    texts = [str(cell) for table in (scenarios, exemplars) for row in table for cell in row.values()]
    answers = ["text", "Harmony,", "Harmony.", "Honesty", "Loyalty.", "&", "A", *map(str, range(1000))]
    words = sorted({word for text in [*texts, *answers] for word in text.split()})
    vectors = [
        f"{w} {' '.join(str((n * k) % 11 - 4) for k in (1, 3, 4, 5, 7, 9))}" for n, w in enumerate(words)
    ]
    (files / "words.vec").write_text("\n".join([f"{len(words)} 6", *vectors]) + "\n")


NET = Net(
    params={
        "models": ["fake-a", SERVED],
        "cultures": list(CULTURES),
        "targets": "golden",
        "repetitions": 2,
        "embedder": "{files}/words.vec",
        "pack": ["golden"],
        "max_tokens": 64,
        "half_samples": 20,
        "batch": 24,
    },
    other={"batch": 11},
    keys={"response": ("request_hash", "item"), "embedding": ("request_hash", "text_hash")},
    kills=(("response", ""), ("embedding", "")),
    prepare=prepare,
    compared=r"^(model_|variance_)",
    budget=12_000,
)
