"""``culturemeter export``: results in the formats of other programs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deployments.cli.browse import Model, export_inspect, runs_of
from deployments.cli.common import Occasion, check_evaluation, errors
from deployments.cli.options import validated
from deployments.cli.suggest import Suggesting
from deployments.cli.which import Config, Profile, evaluations
from deployments.serve.server import configure
from deployments.show.display import out, say, working
from warehouse import Warehouse, WarehouseError
from warehouse.storage import written_whole

if TYPE_CHECKING:
    from flows.runs import FinishedRun
    from tasks.exchange.eee_out import ExportedRun, ExportedSample

app = typer.Typer(
    cls=Suggesting, no_args_is_help=True, help="Write results in the formats of other programs."
)
app.command("inspect")(export_inspect)

_ROWS = """
SELECT m.metric, v.slice_kind, v.slice, v.value, v.unscored_reason, v.n_scored, v.n_unscored, v.ci_low,
    v.ci_high, v.null_value, m.label, m.direction, m.unit, m.range_low, m.range_high,
    m.description, m.is_headline
FROM metric_value AS v JOIN run AS r USING (run_id)
JOIN metric AS m ON m.evaluation = r.evaluation AND m.metric = v.metric
WHERE run_id = ? ORDER BY NOT m.is_headline, m.rowid, v.slice_kind, v.slice
"""
_HASHES = "SELECT model_hash FROM run WHERE run_id = ?"

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="folder to write to: its data/ gets the files")]


@app.command("eee")
def export_eee(
    folder: Folder,
    evaluation: Annotated[
        str | None, typer.Option("--evaluation", "-e", help="default: all with runs")
    ] = None,
    profile: Profile = None,
    config: Config = None,
    model: Model = None,
    occasion: Occasion = None,
) -> None:
    """Write runs as files of Every Eval Ever 0.3.0: every number, and the samples behind the headlines.

    Nulls, counts and reasons of lost answers are in `details`; a sample without a score has `error`.

    Examples:

    - `culturemeter export eee out`

    - `culturemeter export eee out --evaluation cure --model gemma3-270m`
    """
    with errors("run again to continue; finished files are kept"):
        warehouse = Warehouse.existing()
        if evaluation not in evaluations(warehouse):
            check_evaluation(evaluation)
        configure(warehouse.home)  # before Prefect is imported
        from flows.stored import samples

        for run in runs_of(warehouse, evaluation, (profile, config), model, occasion):
            with working(f"{run.evaluation}, {run.model}: writing"):
                out(written(warehouse, run, folder, samples), "file")


@app.command("hub")
def export_hub(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="new folder to write to")],
    dataset: Annotated[str, typer.Option(metavar="OWNER/NAME", help="id of the data set on the hub")],
    title: Annotated[str, typer.Option(help="title of the data set")] = "Culturemeter",
    licence: Annotated[str | None, typer.Option(help="licence of your numbers, such as CC-BY-4.0")] = None,
    by: Annotated[str | None, typer.Option(help="publisher, for the citation")] = None,
    answers: Annotated[bool, typer.Option("--answers", help="also write models' stored answers")] = False,
) -> None:
    """Write a data set for the Hugging Face hub: numbers as Parquet, card, Croissant, models' results.

    Nothing is sent: push it with the hub's own command, such as `hf upload`.

    Examples:

    - `culturemeter export hub out --dataset our-lab/culturemeter --licence CC-BY-4.0 --by "Our lab"`
    """
    with errors("the folder holds a part: delete it, and run again"):
        from deployments.publish.data import SiteAbout
        from deployments.publish.hub import write_hub

        warehouse = Warehouse.existing()
        about = SiteAbout(title, licence, by)
        with working("writing") as status:
            files = write_hub(warehouse, folder, dataset, about, answers, status.update)
        for path in files:
            out(path, "file")


@app.command("lm-eval")
def export_lm_eval(
    evaluation: Annotated[str, typer.Argument(help="cure, culturall, fmlama, or a recipe's name")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="new folder to write to")],
    profile: Annotated[str | None, typer.Option(help="items of this profile; default: all items")] = None,
    pack: Annotated[list[str] | None, typer.Option(help="pack whose items are used too")] = None,
    data: Annotated[str | None, typer.Option(help="folder of the items of a published benchmark")] = None,
) -> None:
    """Write items as tasks of lm-evaluation-harness: YAML and JSON Lines without code, and a README.

    What the harness cannot score as we do is left out, and the README says why. No model is needed.

    Examples:

    - `culturemeter export lm-eval culturall out`

    - `culturemeter export lm-eval cure out --profile demo`
    """
    with errors("the folder holds a part: delete it, and run again"):
        check_evaluation(evaluation)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise WarehouseError(f"{folder} is not empty: name a new folder")
        configure(Warehouse.open().home)  # before Prefect is imported
        from deployments import evaluations as known
        from flows.harness_tasks import exported
        from tasks.exchange.lm_eval_out import files

        kind = known.params(evaluation)
        values = known.profile(evaluation, profile, []) if profile else {}
        values = values | {k: v for k, v in (("pack", pack), ("data", data)) if v} | {"models": ["none"]}
        if "judges" in kind.model_fields:
            values["judges"] = []
        with working(f"{evaluation}: writing"):
            texts = [*files(exported(known.evaluation(evaluation), validated(kind, values)))]
            for name, text in texts:
                with written_whole(folder / name, len(text)) as temporary:
                    temporary.write_text(text, encoding="utf-8")
        for name, _ in texts:
            out(folder / name, "file")


def written(warehouse: Warehouse, run: FinishedRun, folder: Path, samples_of: Any) -> Path:
    """Write a run's aggregate and its samples; return the path of the aggregate.

    Raises:
        WarehouseError: the run has no number, or the disk is full.
    """
    from tasks.exchange import eee, eee_out

    rows = warehouse.query(_ROWS, [run.run_id]).to_dicts()
    own = _exported(warehouse, run)
    place = folder / eee_out.folder_of(own)
    path = place / f"{eee_out.name_of(own)}.json"
    headlines = {
        row["metric"]: 1.0 if row["range_high"] is None else row["range_high"]
        for row in rows
        if row["slice_kind"] == "overall" and row["is_headline"]
    }
    if not any(row["value"] is not None for row in rows):
        raise WarehouseError(f"{run.evaluation}, {run.model}: the run has no number to write")
    lines = eee_out.lines_of(own, _samples(run, samples_of), headlines)
    file = place / f"{eee_out.name_of(own)}{eee.SUFFIX}"
    n, sha = 0, hashlib.sha256()
    with written_whole(file, 0) as temporary, temporary.open("w", encoding="utf-8") as stream:
        for line in lines:
            stream.write(f"{line}\n")
            sha.update(f"{line}\n".encode())
            n += 1
    if not n:
        file.unlink()
    text = json.dumps(
        eee_out.aggregate(own, rows, (n, sha.hexdigest()) if n else None),
        ensure_ascii=False,
        indent=1,
        allow_nan=False,
    )
    with written_whole(path, len(text)) as temporary:
        temporary.write_text(f"{text}\n", encoding="utf-8")
    return path


def _exported(warehouse: Warehouse, run: FinishedRun) -> ExportedRun:
    from tasks.exchange.eee_out import ExportedRun

    ((model_hash,),) = warehouse.query(_HASHES, [run.run_id]).rows()
    params, engine = run.params, run.engine
    is_imported = bool(params.get("harness"))
    made_by = (
        (params["harness"], params.get("harness_version", ""))
        if is_imported
        else ("culturemeter", run.code_version)
    )
    return ExportedRun(
        run_id=run.run_id,
        evaluation=run.evaluation,
        task=str(params["task"] if is_imported else run.evaluation),
        config_hash=run.config_hash,
        model=run.model,
        model_id=str(engine.get("model") or run.model),
        kind=run.kind,
        revision=str(engine.get("revision") or ""),
        occasion=run.occasion,
        code_version=run.code_version,
        finished_at=run.finished_at,
        made_by=made_by,
        engine_hash=run.engine_hash,
        model_hash=str(model_hash),
    )


def _samples(run: FinishedRun, samples_of: Any) -> Iterator[ExportedSample]:
    """Yield a run's samples; none if none are stored."""
    from tasks.exchange.eee_out import ExportedSample

    try:
        for sample in samples_of(run):
            numbers = {
                name: score for name, score in sample.scores.items() if not isinstance(score.value, str)
            }
            yield ExportedSample(
                id=sample.id,
                messages=sample.input,
                output=sample.output,
                target=[sample.target] if isinstance(sample.target, str) else list(sample.target),
                choices=sample.choices,
                answer=next((s.answer for s in sample.scores.values() if s.answer), None),
                scores={name: score.value for name, score in numbers.items()},
                reasons={name: score.explanation or "" for name, score in numbers.items()},
                tokens=sample.tokens,
                transcript=sample.transcript,
                metadata=_flat(sample.metadata),
            )
    except WarehouseError as error:
        say(f"{run.evaluation}, {run.model}: without samples: {error}", style="")


def _flat(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {str(name): value for name, value in metadata.items() if value not in (None, "")}
