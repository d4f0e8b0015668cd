"""Does a model know what sayings mean? Invented, to show that an evaluation is one definition."""

from tasks.evaluations.recipe import SHARE, Metric, judged

EVALUATION = judged(
    "idioms",
    title="Does a model know what sayings mean?",
    items="items.csv",
    prompt="What does this saying mean? {{ text }}",
    rubric="meaning.toml",
    gold="meaning",
    metric=Metric("accuracy", bounds=SHARE, null="best"),
    cluster="item",
    slices="language",
    profiles={"smoke": {"limit": 10}, "demo": {}},
)
