"""Pages run and load nothing but what their templates have, whatever a model's text holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.report import policy
from tasks.report.policy import with_policy
from tests.deployments.browser import CHROMIUM, browser
from tests.http_server import Answer, Request, serving

SORTS = (Path(policy.__file__).parent / "templates" / "overview.js").read_text(encoding="utf-8")
EVIL = """<script>document.title = "ran"</script>
<img src="/x.png" onerror="document.title = 'ran'">
<style>body { color: rgb(9, 9, 9) }</style>
<a href="javascript:document.title='ran'" id="link">x</a>
<iframe src="/other.html"></iframe><object data="/other.html"></object>"""
PAGE = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Page</title>
<style>
body {{ color: rgb(1, 2, 3) }}
</style>
</head>
<body>
<div class="controls" hidden><input id="only"><input type="checkbox" id="beyond"></div>
<table id="tiles"><thead><tr><th>model</th></tr></thead><tbody><tr><td>a</td></tr></tbody></table>
<i id="mark" style="left:7px;position:absolute">o</i>
{EVIL}
<script>
{SORTS.rstrip()}
</script>
</body>
</html>
"""


def test_policy_has_hashes_of_the_templates_parts_only() -> None:
    page = with_policy(PAGE)
    assert page.count("<meta http-equiv") == 1
    assert page.index("<meta http-equiv") < page.index("<style>")
    said = policy.policy(PAGE)
    assert "default-src 'none'" in said
    assert said.count("'sha256-") == 2
    assert "script-src 'none'" in policy.policy(PAGE.replace(SORTS.rstrip(), "alert(1)"))
    assert "script-src" not in policy.policy(PAGE, "worker-src blob:")


def test_scripts_of_the_templates_are_found_as_jinja_writes_them() -> None:
    from tasks.report.page import environment

    text = environment({}, "tasks.report").from_string('<script>\n{% include "kit/overview.js" %}\n</script>')
    assert "'sha256-" in policy.policy(text.render()).partition("script-src")[2]


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")
def test_a_browser_runs_the_templates_script_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "page.html").write_text(with_policy(PAGE), encoding="utf-8")
    (tmp_path / "site" / "other.html").write_text("<script>parent.document.title = 'ran'</script>")

    def page(request: Request) -> Answer:
        file = tmp_path / "site" / request.path[1:]
        return Answer(file.read_bytes(), headers={"Content-Type": "text/html"})

    with (
        serving(page) as server,
        browser(tmp_path / "profile", "MAP * 127.0.0.1:1, EXCLUDE 127.0.0.1") as tab,
    ):
        tab.open(f"{server.address}/page.html")
        tab.run("document.getElementById('link').click()")
        assert tab.run("document.title") == "Page"
        assert tab.run("document.querySelector('.controls').hidden") is False
        assert tab.run("document.querySelector('th button') !== null") is True
        assert tab.run("getComputedStyle(document.body).color") == "rgb(1, 2, 3)"
        assert tab.run("getComputedStyle(document.getElementById('mark')).left") == "7px"
