"""Inspect logs: hostile text stays text, a log is complete or absent, and is not written twice."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from importlib import metadata
from pathlib import Path

import polars as pl
import pytest

from deployments.show import inspect_logs
from deployments.show.inspect_logs import AT_ONCE, safe_id, write_log
from flows.runs import FinishedRun
from tasks.exchange.inspect import logs
from tasks.loop.samples import Sample, Score
from tests.deployments.commands import refused

inspect_log = pytest.importorskip("inspect_ai.log")

HOSTILE = (
    "<script>document.title='owned'</script> **bold** [link](javascript:alert(1)) <think>secret</think>\n"
    '\x1b[31mred \u202ereversed \x00 attachment://abc data:image/png;base64,AAAA {"a": 1} $x^2$'
)
RUN = FinishedRun(
    "0123456789abcdef", "cure", "c" * 16, HOSTILE, "e" * 16, "2026-w48", "custom", {"file": HOSTILE},
    {"kind": "fake"}, None, "none", "0.2.0", datetime(2026, 11, 22), datetime(2026, 11, 22, 1),
)  # fmt: skip
METRICS = pl.DataFrame(
    {
        "metric": ["exact_match", "exact_match", "coverage"],
        "label": [HOSTILE, HOSTILE, "Coverage"],
        "slice_kind": ["overall", "country", "overall"],
        "slice": ["all", HOSTILE, "all"],
        "value": [0.5, 0.25, None],
        "unscored_reason": [None, None, "no judge was named"],
        "n_scored": [2, 1, 0],
        "n_unscored": [0, 0, 2],
        "ci_low": [0.1, None, None],
        "ci_high": [0.9, None, None],
        "null_value": [0.3, 0.3, None],
        "is_headline": [True, True, True],
    }
)


def sample(name: str = "1") -> Sample:
    judged = [{"role": "user", "content": HOSTILE}, {"role": "assistant", "content": HOSTILE}]
    return Sample(
        name,
        [{"role": "system", "content": HOSTILE}, {"role": "user", "content": HOSTILE}],
        HOSTILE,
        target=HOSTILE,
        finish_reason="length",
        tokens=(5, 7),
        scores={
            "label": Score.of(True, answer=HOSTILE),
            "coverage (j)": Score(None, explanation=HOSTILE, judge="j", grading=judged),
        },
        metadata={"norm": HOSTILE},
        roles={"judge": ["j"]},
    )


def test_hostile_text_stays_text_and_names_no_file_outside(tmp_path: Path) -> None:
    path = write_log(tmp_path, RUN, METRICS, [sample("../../etc/passwd"), sample("..")])
    assert path is not None
    with zipfile.ZipFile(path) as archive:
        parts = [Path(name).parts for name in archive.namelist()]
    assert not [name for name in parts if ".." in name or Path(*name).is_absolute()]
    log = inspect_log.read_eval_log(str(path))
    assert log.eval.viewer.trust_content is False
    assert log.eval.model == HOSTILE
    for read in log.samples:
        assert [message.content for message in read.messages] == [HOSTILE] * 3
        assert [message.role for message in read.messages] == ["system", "user", "assistant"]
        assert (read.output.completion, read.output.stop_reason) == (HOSTILE, "max_tokens")
        assert (read.target, read.metadata["norm"]) == (HOSTILE, HOSTILE)
        assert read.scores["label"].value == 1
        verdict = read.scores["coverage (j)"]
        assert verdict.value != verdict.value, "unscored"
        assert verdict.explanation == HOSTILE
        assert [message["content"] for message in verdict.metadata["grading"]] == [HOSTILE] * 2
    assert {read.metadata["sample"] for read in log.samples} == {"../../etc/passwd", ".."}


def test_log_has_interval_null_and_unscored_reason(tmp_path: Path) -> None:
    path = write_log(tmp_path, RUN, METRICS, [sample()])
    log = inspect_log.read_eval_log(str(path), header_only=True)
    first, second = log.results.scores
    numbers = {name: metric.value for name, metric in first.metrics.items()}
    assert numbers == {"value": 0.5, "ci_low": 0.1, "ci_high": 0.9, "null": 0.3}
    assert (first.scored_samples, second.metrics) == (2, {})
    assert second.metadata["unscored_reason"] == "no judge was named"
    assert [row["slice"] for row in log.results.metadata["metric_rows"]] == ["all", HOSTILE, "all"]
    about = {name: log.eval.metadata[name] for name in ("config_hash", "engine_hash", "occasion")}
    assert about == {"config_hash": "c" * 16, "engine_hash": "e" * 16, "occasion": "2026-w48"}
    assert log.stats.model_usage[HOSTILE].total_tokens == 12


def test_a_log_of_ours_is_read_by_import(tmp_path: Path) -> None:
    """Its header lists no samples, because they are written as a stream."""
    path = write_log(tmp_path, RUN, METRICS, [sample(), sample("2"), sample("a/b")])
    assert path is not None
    assert inspect_log.read_eval_log(str(path), header_only=True).eval.dataset.sample_ids is None
    (log,) = logs(path)
    assert log.samples is not None
    assert len({each.id for each in log.samples()}) == 3


def test_log_is_written_once_and_again_for_new_answers_or_damage(tmp_path: Path) -> None:
    assert write_log(tmp_path, RUN, METRICS, [sample()])
    assert write_log(tmp_path, RUN, METRICS, _never()) is None
    later = replace(RUN, finished_at=datetime(2026, 11, 23), started_at=datetime(2026, 11, 23))
    written = write_log(tmp_path, later, METRICS, [sample(), sample("2")])
    assert [*tmp_path.iterdir()] == [written], "the older log of the same run is gone"
    assert written is not None
    written.write_bytes(written.read_bytes()[:-100])
    assert write_log(tmp_path, later, METRICS, [sample()]) == written, "a damaged one is written again"


def test_failed_write_leaves_no_log(tmp_path: Path) -> None:
    def breaks() -> Iterator[Sample]:
        yield from (sample(str(n)) for n in range(AT_ONCE + 1))
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        write_log(tmp_path, RUN, METRICS, breaks())
    assert not [*tmp_path.iterdir()]


def test_few_samples_are_in_memory_at_once(tmp_path: Path) -> None:
    alive: set[int] = set()
    most = 0

    class Counted(Sample):
        def __del__(self) -> None:
            alive.discard(id(self))

    def many() -> Iterator[Sample]:
        nonlocal most
        for n in range(3 * AT_ONCE):
            one = Counted(str(n), [], "", metadata={"n": n})
            alive.add(id(one))
            most = max(most, len(alive))
            yield one

    path = write_log(tmp_path, RUN, METRICS, many())
    assert most <= 2 * AT_ONCE
    assert len(inspect_log.read_eval_log_sample_summaries(str(path))) == 3 * AT_ONCE


def test_safe_sample_ids_stay_distinct() -> None:
    names = ["a/b", "a\\b", "a b", "..", "", "é:1", "x" * 500, "x" * 501]
    safe = [safe_id(name) for name in names]
    assert len(set(safe)) == len(names)
    assert safe[5] == "é:1"
    assert not [name for name in safe if "/" in name or "\\" in name or name.startswith(".")]


def test_missing_inspect_ai_is_one_error_with_the_install_command(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(inspect_logs, "version", missing)
    for command in (("export", "inspect"), ("browse",)):
        error = refused(*command, CULTUREMETER_HOME=str(home))
        assert error.startswith("error: answers need inspect-ai: pip install")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["nonsense"], "unknown evaluation 'nonsense'"),
        ([], "no finished run"),
        (["cure", "--model", "x"], "no finished run of evaluation 'cure', model 'x'"),
    ],
)
def test_export_without_a_matching_run_is_refused(home: Path, options: list[str], message: str) -> None:
    assert message in refused("export", "inspect", *options, CULTUREMETER_HOME=str(home))
    assert not (home / "inspect").exists()


def _never() -> Iterator[Sample]:
    raise AssertionError("samples were read")
    yield
