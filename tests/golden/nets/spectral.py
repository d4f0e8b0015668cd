"""Six countries, three domains with fixed lists, all wordings: 18 requests."""

from __future__ import annotations

from tests.golden.harness import Net

NET = Net(
    params={
        "models": ["fake-a", "fake-b"],
        "countries": ["BR", "DE", "JP", "NG", "TR", "US"],
        "domains": ["currency", "house_numbers", "religions"],
        "max_items": 15,
        "half_samples": 20,
        "countries_per_part": 6,
    },
    other={"countries_per_part": 4},
    keys={"item_logprob": ("request_hash", "country", "item")},
    kills=(("item_logprob", ""),),
)
