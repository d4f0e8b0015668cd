"""From what all models of a configuration answered to their rows of ``metric_value``. Pure.

Slices: ("benchmark", "normad"), ("benchmark_mode", "normad:thin"), ("benchmark_mode_country",
"normad:thin:IN"), ("benchmark_country", "normad:IN"), of SpecNorm the same with "cue" ("specnorm:age") and
"specificity" ("specnorm:low"), ("benchmark_judge", "normad:judge"), ("null", "normad:shuffled"),
("metric_pair", "coverage:specificity"), ("benchmark_reason", "normad:thin:why", where "judged" stands for the
explanation), ("overall", "all") of headlines: over the items of all benchmarks that have the metric. Every
row that a scored slice would have is made for an unscored one too, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping

from tasks.evaluations.cure.judged_rows import coherence_kept, judged_rows
from tasks.evaluations.cure.label_rows import label_rows, majority_rows, prior_rows
from tasks.evaluations.cure.requests import Study
from tasks.evaluations.cure.scores import Scored, equal_lengths
from tasks.loop.rows import Metric

MAJORITY, PRIOR = "null:majority", "null:prior"


def model_rows(
    study: Study, models: Mapping[str, Scored], against: Mapping[str, Scored], candidates: Mapping[str, str]
) -> dict[str, list[Metric]]:
    """Model -> its rows. Coherence is compared at the length that the models ``against`` share.

    Args:
        candidates: model -> its name in the engine's spec.
    """
    return {
        model: [
            *label_rows(study, answers),
            *judged_rows(study, answers, candidates[model]),
        ]
        for model, answers in equal_lengths(models, against, coherence_kept(study)).items()
    }


def null_rows(study: Study) -> dict[str, list[Metric]]:
    """The models that know nothing: always the commonest label, and random labels at the prior."""
    return {MAJORITY: list(majority_rows(study)), PRIOR: list(prior_rows(study))}
