"""The rule that freezes cohorts: which models get rows, and which they are compared with. Pure.

Some numbers compare models: medians, ranks, votes. The models that they are computed over are a *cohort*. The
first run that ends without a failure freezes it, and afterwards no other run changes a model's rows:

- Before a cohort is frozen, it consists of this run's models and of those that finished before. All of them
  get new rows, because each one changes the numbers of the others.
- A frozen cohort stays the same. Models of this run get rows if their answers are new; a model outside the
  cohort is compared with it, and never joins it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flows.runs import FinishedRun
from tasks.evaluations.contract import Cohort
from tasks.loop.requests import Engine


@dataclass(frozen=True)
class Selection:
    """The models that get rows, and the cohort that they are compared with.

    Attributes:
        rows: model that gets rows -> its run.
        against: models of the cohort.
        earlier: earlier runs whose stored answers are needed beside those of this run.
        is_frozen: whether the cohort was frozen before; if not, the models of ``rows`` become the cohort.
    """

    rows: Mapping[str, str]
    against: Collection[str]
    earlier: Sequence[FinishedRun]
    is_frozen: bool

    def cohort(
        self, answers: Mapping[str, Any], earlier: Mapping[str, Any], engines: Mapping[str, Engine]
    ) -> Cohort[Any]:
        """Return the cohort for ``Evaluation.rows``.

        A model that runs on another occasion gets rows from its new answers, compared with the cohort's, in
        which its old answers stay.

        Args:
            answers: model of this run -> its answers. earlier: model of ``self.earlier`` -> its answers.
            engines: model of this run -> its engine.
        """
        models, against = {**earlier, **answers}, {**answers, **earlier}
        return Cohort(
            {name: models[name] for name in sorted(self.rows)},
            {name: against[name] for name in sorted(self.against)},
            {**{run.model: run.candidate for run in self.earlier}, **engines},
        )


def cohort_of(
    own: Mapping[str, str],
    frozen: Sequence[FinishedRun],
    others: Sequence[FinishedRun],
    new: Collection[str],
    compares: bool = True,
) -> Selection:
    """Select the models that get rows, and the cohort that they are compared with.

    Args:
        own: model of this run with answers -> its run.
        frozen: the runs of the frozen cohort; empty if it is not frozen.
        others: the newest finished run of every model that is not in this run.
        new: models of this run that have no rows yet, or new answers since.
        compares: whether rows depend on other models; if not, no answers of earlier runs are read.
    """
    if not frozen:
        earlier = [run for run in others if run.run_id not in own.values()]
        rows = {run.model: run.run_id for run in earlier} | dict(own)
        return Selection(rows, set(rows), earlier, is_frozen=False)
    members = {run.run_id for run in frozen}
    earlier = [run for run in frozen if compares and run.run_id not in own.values()]
    against = {run.model for run in earlier} | {model for model, run in own.items() if run in members}
    return Selection({model: own[model] for model in own if model in new}, against, earlier, is_frozen=True)
