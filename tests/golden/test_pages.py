"""The page of every net's run: whole, safe, and for three evaluations equal to the recorded one.

``<evaluation>_page.txt`` has what a page shows, as ``tests.report.pages.outline`` writes it. The pages of the
other evaluations are recorded in tests/report/outlines, from made runs of more models.
"""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup

from deployments.show.report import page
from tests.golden.conftest import Homes
from tests.golden.harness import EVALUATIONS, FOLDER
from tests.report.pages import check_downloads, check_page, outline
from warehouse import Warehouse

RECORDED = ("culturall", "explication", "whence")


@pytest.mark.slow
@pytest.mark.nets(2)
@pytest.mark.parametrize("evaluation", [*RECORDED, *(each for each in EVALUATIONS if each not in RECORDED)])
def test_a_page_of_a_run_is_whole(
    undisturbed: Homes, evaluation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = undisturbed(evaluation)
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))  # where a pack's evaluation is
    shown = BeautifulSoup(page(Warehouse.open(home), evaluation, links={}), "lxml")
    for meta in shown.select("meta[http-equiv]"):
        meta.extract()  # the policy, which other tests check
    check_page(shown)
    check_downloads(shown)
    if evaluation in RECORDED:
        recorded = (FOLDER / f"{evaluation}_page.txt").read_text(encoding="utf-8")
        assert outline(shown).splitlines() == recorded.splitlines()
