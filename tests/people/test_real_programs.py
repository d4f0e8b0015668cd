"""Studies asked by the real Potato and the real Label Studio, as processes of their own, answered by HTTP.

Each is installed into a virtual environment of its own (Potato 471 MB); POTATO_VENV and LABELSTUDIO_VENV name
existing environments.
"""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from deployments.people.results import export, take
from tasks.people import labelstudio, potato
from tasks.people.answers import exclusions, latest
from tasks.people.elsewhere import Form, PersonForm, forms
from tasks.people.study import ANSWERS, PeopleAnswer, StudyFolder, read_folder, read_rows
from tests.people.conftest import SECRETS
from tests.ports import free_port

pytestmark = pytest.mark.heavy

NOTE = 'Good.\n"Really", <b>good</b> ‏جيد'


def environment(package: str, folder: Path) -> Path:
    """Return a virtual environment with the package; skip the test if it cannot be installed."""
    known = os.environ.get(f"{package.split('-annotation')[0].replace('-', '').upper()}_VENV")
    if known:
        return Path(known)
    try:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=120)
        programs = {"potato-annotation": potato.PROGRAM, "label-studio": labelstudio.PROGRAM}
        install = [folder / "bin" / "pip", "install", "--quiet", f"{package}=={programs[package].version}"]
        subprocess.run(install, check=True, timeout=900, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"{package} cannot be installed: {(error.stderr or '').strip().splitlines()[-1:]}")
    except subprocess.TimeoutExpired:
        pytest.skip(f"{package} was not installed after 15 minutes")
    return folder


@contextmanager
def served(command: list[Any], port: int, folder: Path, **variables: str) -> Iterator[str]:
    """Yield the address of the running program, once it answers."""
    with (folder / "program.log").open("w") as log:
        process = subprocess.Popen(
            [str(word) for word in command], cwd=folder, stdout=log, stderr=log, env=os.environ | variables
        )
        address = f"http://127.0.0.1:{port}"
        try:
            for _ in range(600):
                try:
                    httpx.get(address, timeout=5)
                    break
                except httpx.TransportError:
                    assert process.poll() is None, (folder / "program.log").read_text()[-2000:]
                    time.sleep(0.5)
            yield address
        finally:
            process.terminate()
            process.wait(30)


def values_of(form: Form, task: PersonForm) -> dict[str, Any]:
    """Return a person's values: the last on each menu, ranks in the order of the page, a note."""
    values: dict[str, Any] = {}
    for page, field in form.fields:
        menu = list(form.menu(page, field))
        slots = (
            [entry for entry, _ in task.slots(page, field, form.language)] if field.of or field.rows else []
        )
        match field.kind:
            case "ranking":
                values[field.name] = {entry: str(n) for n, entry in enumerate(slots, start=1)}
            case "marks":
                values[field.name] = dict.fromkeys(slots, menu[-1])
            case "likert":
                values[field.name] = "4"
            case "choice":
                values[field.name] = menu[-1]
            case "edit":
                values[field.name] = task.text(page, field.of) + " Then serve it."
            case _:
                values[field.name] = NOTE
    return values


def compare(
    path: Path, out: Path, tool: str, expected: dict[tuple[str, str, str], Any]
) -> list[PeopleAnswer]:
    """Assert that imported answers are the expected ones, and that importing again adds none."""
    start = time.time() - 900
    assert take(path, out) == len(expected)
    answers = read_rows(path / ANSWERS, PeopleAnswer)
    assert {key: answer.value for key, answer in latest(answers).items()} == expected
    assert {answer.status for answer in answers} == {"complete"}
    assert {answer.tool for answer in answers} == {tool}
    for answer in answers:
        assert start < answer.started.timestamp() <= answer.saved.timestamp() <= time.time()
    text = (path / ANSWERS).read_text()
    assert not re.search(r"127\.0\.0\.1|httpx|python|@", text)
    assert take(path, out) == 0
    return answers


def shown_by(folder: StudyFolder, answers: list[PeopleAnswer]) -> None:
    """Assert that entries were shown in the assigned order."""
    orders = {(a.annotator, a.item): a.shown for a in folder.assignments}
    for answer in answers:
        if isinstance(answer.value, dict):
            assert answer.shown == orders[answer.annotator, answer.item][answer.field]


def test_answers_to_a_study_in_potato_are_imported(
    folder_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = read_folder(folder_path)
    home = tmp_path_factory.mktemp("potato")
    program = environment("potato-annotation", home / "venv") / "bin" / "potato"
    out = home / "projects"
    names = export(folder_path, "potato", out)
    expected: dict[tuple[str, str, str], Any] = {}
    for form in forms(folder):
        assert form.name in names
        port = free_port()
        command = [program, "start", potato.CONFIG, "-p", port, "--host", "127.0.0.1"]
        with served(command, port, out / form.name) as address:
            for annotator in sorted({task.annotator for task in form.tasks})[:2]:
                _answer_potato(address, form, annotator, expected)
            with httpx.Client(base_url=address, follow_redirects=True) as stranger:
                page = stranger.post(
                    "/register", data={"action": "signup", "email": "x9", "pass": "a-word-1"}
                )
                assert "annotation-form" not in page.text
            time.sleep(2)
    answers = compare(folder_path, out, "potato", expected)
    shown_by(folder, answers)
    regions = [answer for answer in answers if answer.field == "region"]
    assert regions
    assert all(sorted(answer.shown) == ["africa", "asia"] for answer in regions)
    assert "unfinished" not in str(exclusions(folder, answers))


def _answer_potato(
    address: str, form: Form, annotator: str, expected: dict[tuple[str, str, str], Any]
) -> None:
    """Send consent, then every page in Potato's order, as the page's script does."""
    tasks = {task.name: task for task in form.tasks if task.annotator == annotator}
    order = []
    with httpx.Client(base_url=address, follow_redirects=True, timeout=30) as browser:
        page = browser.post("/register", data={"action": "signup", "email": annotator, "pass": "a-word-1"})
        assert "You may stop at any time" in page.text
        agreed = {"consent": "I agree and want to take part"}
        browser.post("/updateinstance", json={"instance_id": "__phase_page__", "annotations": agreed})
        browser.post("/", data=agreed)
        for _ in tasks:
            page = browser.get("/annotate")
            assert not [secret for secret in SECRETS if secret in page.text]
            name = re.search(r'id="instance_id"[^>]*value="([^"]+)"', page.text)
            assert name, page.text[:3000]
            task = tasks[name[1]]
            order.append(task.name)
            browser.post("/api/track_interactions", json={"instance_id": task.name, "events": []})
            values = values_of(form, task)
            sent: dict[str, str] = {}
            for form_page, field in form.fields:
                item = task.of(form_page)[1].item
                value = expected[annotator, item, field.name] = values[field.name]
                menu = form.menu(form_page, field)
                if isinstance(value, dict):
                    slots = [entry for entry, _ in task.slots(form_page, field, form.language)]
                    for entry, chosen in value.items():
                        label = f"{slots.index(entry) + 1}. {entry}"
                        assert label in html.unescape(page.text)
                        sent[f"{field.name}:{label}"] = menu[chosen]
                elif field.kind == "edit":
                    blob = {"edited_text": value, "original": task.text(form_page, field.of)}
                    sent[f"{field.name}:{field.name}"] = json.dumps(blob)
                elif menu:
                    sent[f"{field.name}:{menu[value]}"] = menu[value]
                else:
                    sent[f"{field.name}:text_box"] = value
            saved = browser.post("/updateinstance", json={"instance_id": task.name, "annotations": sent})
            assert saved.json()["status"] == "success", saved.text
            browser.post("/annotate", json={"action": "next_instance", "instance_id": task.name})
    assert order == list(tasks)


def test_answers_to_a_study_in_label_studio_are_imported(
    folder_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = read_folder(folder_path)
    home = tmp_path_factory.mktemp("labelstudio")
    program = environment("label-studio", home / "venv") / "bin" / "label-studio"
    out = home / "projects"
    export(folder_path, "labelstudio", out)
    port, token = free_port(), "0123456789abcdef" * 2 + "01234567"
    login = ["--username", "lead@example.org", "--password", "a-word-12", "--user-token", token]
    where = ["--data-dir", home, "-p", port, "--internal-host", "127.0.0.1"]
    command = [program, "start", "-b", "--enable-legacy-api-token", *login, *where]
    expected: dict[tuple[str, str, str], Any] = {}
    with served(command, port, home, COLLECT_ANALYTICS="0") as address:
        headers = {"Authorization": f"Token {token}"}
        with httpx.Client(base_url=address, headers=headers, timeout=60) as lead:
            for form in forms(folder):
                _answer_label_studio(lead, out / form.name, form, expected)
    answers = compare(folder_path, out, "labelstudio", expected)
    shown_by(folder, answers)
    assert all((a.saved - a.started).total_seconds() == pytest.approx(30, abs=0.1) for a in answers)
    assert exclusions(folder, answers) == {}


def _answer_label_studio(
    lead: httpx.Client, project: Path, form: Form, expected: dict[tuple[str, str, str], Any]
) -> None:
    """Import the written project, answer every task as the interface does, and save the export."""
    config = (project / labelstudio.CONFIG).read_text()
    created = lead.post("/api/projects", json={"title": form.name, "label_config": config})
    assert created.status_code == 201, created.text
    number = created.json()["id"]
    tasks = json.loads((project / labelstudio.TASKS).read_text())
    assert lead.post(f"/api/projects/{number}/import", json=tasks).status_code == 201
    by_name = {task.name: task for task in form.tasks}
    for row in lead.get(f"/api/projects/{number}/tasks", params={"page_size": 100}).json():
        task = by_name[row["data"]["task"]]
        assert not [secret for secret in SECRETS if secret in json.dumps(row)]
        result = []
        values = values_of(form, task)
        for page, field in form.fields:
            value = expected[task.annotator, task.of(page)[1].item, field.name] = values[field.name]
            if isinstance(value, dict):
                for n, (entry, _) in enumerate(task.slots(page, field, form.language)):
                    about = {"from_name": f"{field.name}.{n}", "to_name": f"entry.{field.name}.{n}"}
                    result.append(about | {"type": "choices", "value": {"choices": [value[entry]]}})
            else:
                kind = ("choices", "choices") if form.menu(page, field) else ("textarea", "text")
                about = {"from_name": field.name, "to_name": "page"}
                result.append(about | {"type": kind[0], "value": {kind[1]: [value]}})
        answer = {"result": result, "lead_time": 30.0}
        assert lead.post(f"/api/tasks/{row['id']}/annotations", json=answer).status_code == 201
    exported = lead.get(f"/api/projects/{number}/export", params={"exportType": "JSON"})
    (project / labelstudio.EXPORT).write_text(exported.text)
