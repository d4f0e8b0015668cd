"""How often a random model counts as beyond its null, by the rule that tests/warehouse has in SQL."""

from __future__ import annotations

import pytest

from benchmarks.beyond_null import levels


@pytest.mark.heavy
def test_random_model_is_beyond_its_null_at_most_at_the_level() -> None:
    lines = levels(200)["lines"]
    assert max(rule for *_, shares in lines for _, _, rule in shares) <= 0.05
    alone = {headline: shares[-1][1] for headline, _, shares in lines}
    assert min(alone["macro_f1"], alone["rank_spearman"]) > 0.3  # the verdict of the interval alone
