"""Studies as projects of Label Studio, and its export as answers. Nothing of Label Studio is imported.

Everybody in a project of Label Studio's free edition can read all tasks and answers, so it is for experts
who are trusted. A task is one person's and says so by code; who is logged in, which is an e-mail address, is
not read.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tasks.people.elsewhere import Form, Given, Task, answers, forms, read_json, write_manifest
from tasks.people.files import Answer, Folder, StudyError
from tasks.people.study import WITH_ENTRIES, FormField, Page, in_language

TOOL, VERSION = "labelstudio", "1.23.2"
"""The version that the projects were tried with."""
CONFIG, TASKS, INSTRUCTIONS, EXPORT = "config.xml", "tasks.json", "instructions.html", "export.json"
_SLOT = "{{n}}"
_ENTRY = re.compile(r"(?P<field>[^.]+)\.(?P<n>\d+)")


def write_labelstudio(folder: Folder, out: Path) -> list[str]:
    """Write a project for each form below an empty folder; returns their names.

    config.xml is the labelling interface, tasks.json is to be imported, instructions.html are consent and
    guidelines. Raises StudyError: see `forms`.
    """
    written = forms(folder)
    projects = [(form, _config(form), [_task(form, task) for task in form.tasks]) for form in written]
    for form, config, tasks in projects:
        own = out / form.name
        own.mkdir()
        (own / CONFIG).write_text(config, encoding="utf-8")
        (own / TASKS).write_text(json.dumps(tasks, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        texts = [in_language(each, form.language) for each in (folder.study.consent, folder.study.guidelines)]
        pieces = [piece.strip() for text in texts for piece in text.split("\n\n") if piece.strip()]
        lines = "".join(f"<p>{html.escape(piece)}</p>\n" for piece in pieces)
        (own / INSTRUCTIONS).write_text(lines, encoding="utf-8")
    write_manifest(folder, out, TOOL)
    return [form.name for form in written]


def read_labelstudio(folder: Folder, out: Path) -> list[Answer]:
    """What people gave, each as revision 1, from the JSON export that was put into a form's folder.

    Started is the last change less the time that was spent on the task. Skipped tasks have no answer.

    Raises:
        StudyError: no export at all, one that cannot be read, two answers to a task, or a value that the form
            does not offer.
    """
    given: list[Given] = []
    written = forms(folder)
    paths = {form.name: out / form.name / EXPORT for form in written}
    if not any(path.exists() for path in paths.values()):
        raise StudyError(f"no {EXPORT} in {out}/{written[0].name}: export as JSON from Label Studio into it")
    for form in written:
        if paths[form.name].exists():
            rows = read_json(paths[form.name])
            try:
                given += _of_form(form, rows)
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
                said = error if isinstance(error, StudyError) else f"not an export of Label Studio: {error!r}"
                raise StudyError(f"{paths[form.name]}: {said}") from error
    return answers(given, folder, TOOL, VERSION)


def _config(form: Form) -> str:
    view = Element("View")
    SubElement(view, "Text", name="page", value="$page")
    for page in form.pages:
        if len(form.pages) > 1:
            SubElement(view, "Header", value=in_language(page.title, form.language))
        for part in page.shows:
            SubElement(view, "Header", value=in_language(part.label, form.language), size="5")
            SubElement(view, "Text", name=f"shown.{part.name}", value=f"$shown_{part.name}")
        for field in page.fields:
            _ask(view, form, page, field)
    indent(view)
    return tostring(view, encoding="unicode") + "\n"


def _ask(view: Element, form: Form, page: Page, field: FormField) -> None:
    label, note = in_language(field.label, form.language), in_language(field.help, form.language)
    ends = " – ".join(in_language(end, form.language) for end in field.ends or ())
    texts = [text for text in (label, note, ends) if text]
    SubElement(view, "Header", value=" · ".join(texts), size="5")
    required = str(field.is_required).lower()
    if menu := form.menu(page, field):
        about, name, place = "page", field.name, view
        if field.kind in WITH_ENTRIES:
            about, name = f"entry.{field.name}.{_SLOT}", f"{field.name}.{_SLOT}"
            place = SubElement(view, "Repeater", on=f"$of_{field.name}", indexFlag=_SLOT)
            SubElement(place, "Text", name=about, value=f"$of_{field.name}[{_SLOT}].text")
        asked = {"name": name, "toName": about, "choice": "single", "required": required}
        choices = SubElement(place, "Choices", asked, showInline="true")
        for value, text in menu.items():
            SubElement(choices, "Choice", value=text, alias=value)
    else:
        source = {"value": f"$of_{field.name}"} if field.kind == "edit" else {}
        asked = {"name": field.name, "toName": "page", "required": required, "maxSubmissions": "1"}
        SubElement(view, "TextArea", asked | source, rows="4", editable="true")


def _task(form: Form, task: Task) -> dict[str, Any]:
    data: dict[str, Any] = {"task": task.name, "person": task.annotator, "page": form.intro()}
    for page in form.pages:
        data |= {f"shown_{part.name}": task.text(page, part.name) for part in page.shows}
        for field in page.fields:
            if field.kind in WITH_ENTRIES:
                slots = task.slots(page, field, form.language)
                data[f"of_{field.name}"] = [{"text": text} for _, text in slots]
            elif field.kind == "edit":
                data[f"of_{field.name}"] = task.text(page, field.of)
    return {"data": data}


def _of_form(form: Form, rows: Any) -> Iterator[Given]:
    tasks = {task.name: task for task in form.tasks}
    seen: set[str] = set()
    for row in rows:
        name = row["data"]["task"]
        if name not in tasks:
            raise StudyError(f"there is no task {name} in this study")
        for annotation in row["annotations"]:
            if annotation["was_cancelled"]:
                continue
            if name in seen:
                raise StudyError(f"task {name} has two answers: delete one in Label Studio and export again")
            seen.add(name)
            yield from _of_task(form, tasks[name], annotation)


def _of_task(form: Form, task: Task, annotation: Any) -> Iterator[Given]:
    saved = datetime.fromisoformat(annotation["updated_at"]).astimezone(UTC)
    started = saved - timedelta(seconds=float(annotation["lead_time"] or 0))
    said: dict[str, dict[int, str]] = {}
    for result in annotation["result"]:
        slot = _ENTRY.fullmatch(result["from_name"])
        field, n = (slot["field"], int(slot["n"])) if slot else (result["from_name"], 0)
        choices, texts = (result["value"].get(kind, ()) for kind in ("choices", "text"))
        said.setdefault(field, {})[n] = "\n".join([*choices, *texts])
    for page, field in form.fields:
        if own := said.get(field.name):
            value: Any = own.get(0, "")
            if field.kind in WITH_ENTRIES:
                slots = task.slots(page, field, form.language)
                value = {slots[n][0]: chosen for n, chosen in own.items()}
            yield Given(task, page, field, value, started, saved)
