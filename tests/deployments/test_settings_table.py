"""The printed table of a run's settings beside its paper's."""

from __future__ import annotations

import pytest

from deployments.show.display import print_table
from deployments.show.settings import COLUMNS


def test_long_file_names_do_not_widen_the_settings_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    name = "results/analysis_report_results_20251122_172747_" + "x" * 60 + ".txt"
    rows = [("scenarios", name, name, "config.py", "NO")]
    print_table(COLUMNS, rows, stderr=True, breaks_words=True)
    lines = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) <= 80
    print_table(COLUMNS, rows, stderr=True)
    assert max(map(len, capsys.readouterr().err.splitlines())) > 80
