"""A seed and a draft without fault, in which tests plant faults."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tasks.builders.specnorm.drafting import SpecnormDraft, Written
from tasks.builders.specnorm.seeds import Seed
from tasks.evaluations.cure.published.cues import Cue

SEED = Seed(
    "seed-1",
    "Young people stand up when an elder enters the room.",
    "RU",
    "Russia",
    (Cue("region", "Chechnya"), Cue("ethnicity", "Chechen"), Cue("age", "young")),
    "greeting",
)
WRITTEN = {
    "persona": "Adam is a young Chechen who studies in Chechnya.",
    "situation": "His neighbour of eighty comes in, and Adam gets up from the sofa.",
    "question": "Would the neighbour find Adam's conduct acceptable?",
    "label": "yes",
    "norm": "Among Chechens in Chechnya the young stand up when an elder comes in.",
}
DRAFT = SpecnormDraft(
    SEED.seed, SEED.country_name, SEED.statement, SEED.cues, "yes", Written.model_validate(WRITTEN)
)


def spoilt(**changes: Any) -> SpecnormDraft:
    """Return the draft with other texts."""
    return replace(DRAFT, written=DRAFT.written.model_copy(update=changes))
