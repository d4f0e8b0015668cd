"""Nine dishes of three origins in two languages, with and without the country and code-switched; a judge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from tests.golden.harness import Net
from warehouse import Warehouse, replace_dish_set

# origin, English name, English ingredients, Chinese name, Chinese ingredients
DISHES = (
    ("Italy", "pizza", "flour cheese tomato", "披萨", "面粉 奶酪 番茄"),
    ("Italy", "pasta", "flour egg", "意面", "面粉 鸡蛋"),
    ("Italy", "risotto", "rice cheese butter", "烩饭", "米 奶酪 黄油"),
    ("Italy", "focaccia", "flour oil salt", "佛卡夏", "面粉 油 盐"),
    ("Japan", "sushi", "rice fish", "寿司", "米 鱼"),
    ("Japan", "onigiri", "rice salt", "饭团", "米 盐"),
    ("Japan", "okonomiyaki", "flour cabbage egg", "大阪烧", "面粉 卷心菜 鸡蛋"),
    ("Mexico", "quesadilla", "cheese tortilla", "油炸玉米饼", "奶酪 玉米饼"),
    ("Mexico", "ceviche", "fish onion salt", "酸橘汁腌鱼", "鱼 洋葱 盐"),
)
ORIGINS = {"Italy": "意大利", "Japan": "日本", "Mexico": "墨西哥"}


def prepare(home: Path, files: Path) -> None:
    """Write a dish set, and a vector for each ingredient except salt."""
    rows: list[dict[str, Any]] = [
        {"url": f"golden/{n}", "language": language, "name": name, "origin": origin, "image": None}
        | {"origin_name": origin_name, "ingredients": ingredients.split(), "materials": []}
        for n, (origin, english, of_english, chinese, of_chinese) in enumerate(DISHES)
        for language, name, ingredients, origin_name in (
            ("en", english, of_english, origin),
            ("zh", chinese, of_chinese, ORIGINS[origin]),
        )
    ]
    replace_dish_set(Warehouse.open(home), "golden", pl.DataFrame(rows), "a test", {})
    words = sorted({word for dish in DISHES for word in f"{dish[2]} {dish[4]}".split()} - {"salt"})
    vectors = [f"{word} {1 + n % 5} {n % 7 - 3} {n % 3}" for n, word in enumerate(words)]
    (files / "words.vec").write_text("\n".join([f"{len(words)} 3", *vectors]) + "\n")


NET = Net(
    params={
        "models": ["fake-a", "fake-b"],
        "dish_set": "golden",
        "languages": ["en", "zh"],
        "code_switching": True,
        "mention_country": "both",
        "variants": [1, 2],
        "word_vectors": "{files}/words.vec",
        "baseline_top": 3,
        "judges": ["fake-j"],
        "judged_dishes_per_origin": 2,
    },
    other={"dishes_per_part": 4},
    keys={"candidate_score": ("request_hash", "prompt", "candidate"), "response": ("request_hash", "item")},
    kills=(("candidate_score", ""), ("response", "fake-j")),
    prepare=prepare,
    judged=r"^(mes|judge_)",
    budget=1_000,
)
