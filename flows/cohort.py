"""The rule by which cohorts freeze: whose rows are made, and against whose answers. Pure.

Some numbers compare models: medians, ranks, votes. The models that they are taken over are a *cohort*. It is
frozen by the first run that ends without a failure, and no row changes afterwards because somebody else ran:

- No cohort is frozen yet: it is the models of this run and those that finished before. The rows of all of
  them are made, since each of them changes what the others are compared with.
- A cohort is frozen: it stays as it is. Rows are made of those models of this run about which something is
  new; a model that is not of the cohort is compared with it, and never becomes part of it.
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
    """Whose rows are made, and against whom.

    Attributes:
        rows: model -> its run, whose rows are made.
        against: models that the rows are made against.
        earlier: runs whose stored answers are read for that, beside the answers of this run.
        is_frozen: the cohort was frozen before; else the models of ``rows`` are what there is to freeze.
    """

    rows: Mapping[str, str]
    against: Collection[str]
    earlier: Sequence[FinishedRun]
    is_frozen: bool

    def cohort(
        self, answers: Mapping[str, Any], earlier: Mapping[str, Any], engines: Mapping[str, Engine]
    ) -> Cohort[Any]:
        """The cohort that ``Evaluation.rows`` takes, by name of model.

        A model that runs again on another occasion has rows of its new answers, made against its old ones.

        Args:
            answers: model of this run -> what was read of it; earlier: model of ``self.earlier`` -> likewise.
            engines: of the models of this run.
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
    """Select whose rows a run makes, and against whom.

    Args:
        own: model of this run that has answers -> its run.
        frozen: the runs of the cohort; none: it is not frozen yet.
        others: the newest finished run of every model that this run leaves out.
        new: models of this run that have no rows yet, or about which something was answered since.
        compares: whether a row depends on other models; else nobody's stored answers are read.
    """
    if not frozen:
        earlier = [run for run in others if run.run_id not in own.values()]
        rows = {run.model: run.run_id for run in earlier} | dict(own)
        return Selection(rows, set(rows), earlier, is_frozen=False)
    members = {run.run_id for run in frozen}
    earlier = [run for run in frozen if compares and run.run_id not in own.values()]
    against = {run.model for run in earlier} | {model for model, run in own.items() if run in members}
    return Selection({model: own[model] for model in own if model in new}, against, earlier, is_frozen=True)
