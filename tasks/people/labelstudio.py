"""Studies as projects of Label Studio, and its export as answers, without importing Label Studio.

Everybody in a project of Label Studio's free edition can read all tasks and answers, so it is only for
trusted experts. A task belongs to one person and carries their code; the login, an e-mail address, is not
read. A project's folder holds config.xml (the labelling interface), tasks.json (to import), instructions.html
(consent and guidelines) and, once people have answered, export.json.
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

from tasks.people.elsewhere import Form, PersonForm, Response, SurveyProgram
from tasks.people.study import WITH_ENTRIES, FormField, FormPage, PeopleStudy, StudyError, in_language

CONFIG, TASKS, INSTRUCTIONS, EXPORT = "config.xml", "tasks.json", "instructions.html", "export.json"
_SLOT = "{{n}}"
_ENTRY = re.compile(r"(?P<field>[^.]+)\.(?P<n>\d+)")


def _project(study: PeopleStudy, form: Form, agree: str) -> dict[str, str]:
    rows = [{"data": _data(form, task)} for task in form.tasks]
    texts = [in_language(each, form.language) for each in (study.consent, study.guidelines)]
    pieces = [piece.strip() for text in texts for piece in text.split("\n\n") if piece.strip()]
    return {
        CONFIG: _config(form),
        TASKS: json.dumps(rows, indent=1, ensure_ascii=False) + "\n",
        INSTRUCTIONS: "".join(f"<p>{html.escape(piece)}</p>\n" for piece in pieces),
    }


def _data(form: Form, task: PersonForm) -> dict[str, Any]:
    about = {"task": task.name, "person": task.annotator, "page": form.intro()}
    return about | form.data(task, lambda _, text: {"text": text})


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


def _ask(view: Element, form: Form, page: FormPage, field: FormField) -> None:
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
        attributes = {"name": name, "toName": about, "choice": "single", "required": required}
        choices = SubElement(place, "Choices", attributes, showInline="true")
        for value, text in menu.items():
            SubElement(choices, "Choice", value=text, alias=value)
    else:
        source = {"value": f"$of_{field.name}"} if field.kind == "edit" else {}
        attributes = {"name": field.name, "toName": "page", "required": required, "maxSubmissions": "1"}
        SubElement(view, "TextArea", attributes | source, rows="4", editable="true")


def _read(form: Form, path: Path, rows: Any) -> Iterator[Response]:
    """Yield the responses in an export. A task starts at its last change less the time spent on it.

    Skipped tasks have no answer.
    """
    tasks = {task.name: task for task in form.tasks}
    seen: set[str] = set()
    for row in rows:
        name = row["data"]["task"]
        if name not in tasks:
            raise StudyError(f"{path}: this study has no task {name}")
        for annotation in row["annotations"]:
            if annotation["was_cancelled"]:
                continue
            if name in seen:
                raise StudyError(
                    f"{path}: task {name} has two answers: delete one in Label Studio and export again"
                )
            seen.add(name)
            yield from _responses(form, tasks[name], annotation)


def _responses(form: Form, task: PersonForm, annotation: Any) -> Iterator[Response]:
    saved = datetime.fromisoformat(annotation["updated_at"]).astimezone(UTC)
    started = saved - timedelta(seconds=float(annotation["lead_time"] or 0))
    values: dict[str, dict[int, str]] = {}
    for result in annotation["result"]:
        slot = _ENTRY.fullmatch(result["from_name"])
        field, n = (slot["field"], int(slot["n"])) if slot else (result["from_name"], 0)
        choices, texts = (result["value"].get(kind, ()) for kind in ("choices", "text"))
        values.setdefault(field, {})[n] = "\n".join([*choices, *texts])
    for page, field in form.fields:
        if own := values.get(field.name):
            value: Any = own.get(0, "")
            if field.kind in WITH_ENTRIES:
                slots = task.slots(page, field, form.language)
                value = {slots[n][0]: chosen for n, chosen in own.items()}
            yield Response(task, page, field, value, started, saved)


PROGRAM = SurveyProgram(
    "labelstudio",
    "Label Studio",
    "1.23.2",
    _project,
    EXPORT,
    _read,
    "export as JSON from Label Studio into it",
)
