"""From what all models of a configuration answered to their rows of ``metric_value``. Pure.

Slices: ("benchmark", "normad"), ("benchmark_mode", "normad:thin"), ("benchmark_mode_country",
"normad:thin:IN"), ("benchmark_country", "normad:IN"), ("null", "normad:shuffled"), ("metric_pair",
"coverage:specificity"), ("benchmark_reason", "normad:thin:why", where "judged" stands for the explanation),
("overall", "all"). Every row that a scored slice would have is made for an unscored one too, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping

from tasks.evaluations.cure.judged_rows import judged_rows
from tasks.evaluations.cure.label_rows import label_rows, majority_rows, prior_rows
from tasks.evaluations.cure.mode_rows import mode_rows
from tasks.evaluations.cure.requests import Study
from tasks.evaluations.cure.scores import Scored, equal_lengths
from tasks.metric_rows import Metric

MAJORITY, PRIOR = "null:majority", "null:prior"


def model_rows(
    study: Study, cohort: Mapping[str, Scored], candidates: Mapping[str, str]
) -> dict[str, list[Metric]]:
    """Model -> its rows. All models at once, because coherence is compared at the length that they share.

    Args:
        candidates: model -> its name in the engine's spec.
    """
    return {
        model: [
            *label_rows(study, found),
            *mode_rows(study, found),
            *judged_rows(study, found, candidates[model]),
        ]
        for model, found in equal_lengths(cohort).items()
    }


def null_rows(study: Study) -> dict[str, list[Metric]]:
    """The models that know nothing: always the commonest label, and random labels at the prior."""
    return {MAJORITY: list(majority_rows(study)), PRIOR: list(prior_rows(study))}
