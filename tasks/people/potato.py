"""Studies as projects of Potato (Pei et al. 2022), and its output as answers, without importing Potato.

Potato puts every field of an item into the page, so its items hold only what is shown, under the person's
code and a place. Potato cannot shuffle an item's own list, so entries come in the person's order and each
person has separate items. Entries are numbered, because Potato's names of buttons drop all letters that are
not Latin.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tasks.parsing import parse_json
from tasks.people.elsewhere import Form, PersonForm, Response, SurveyProgram
from tasks.people.study import (
    WITH_ENTRIES,
    FormField,
    FormPage,
    PeopleStudy,
    StudyError,
    in_language,
    text_of,
)

CONFIG, ITEMS, CONSENT, OUTPUT = "config.yaml", "items.jsonl", "consent.json", "output"
_TRANSLATED = ("en", "zh", "ar", "ko", "ru")
"""Our languages in which Potato's own interface exists."""
_ORDERED = re.compile(r"(\d+)\. ")


def _project(study: PeopleStudy, form: Form, agree: str) -> dict[str, str]:
    """Return the files of a project, name -> text. The YAML files are JSON, which is valid YAML."""
    consent = {
        "name": "consent",
        "annotation_type": "radio",
        "description": in_language(study.consent, form.language),
        "labels": [agree],
        "label_requirement": {"required": True},
    }
    rows = [
        {"id": task.name, "text": form.intro()} | form.data(task, lambda n, text: f"{n}. {text}")
        for task in form.tasks
    ]
    return {
        CONFIG: json.dumps(_config(study, form), indent=2, ensure_ascii=False) + "\n",
        ITEMS: "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows),
        CONSENT: json.dumps([consent], ensure_ascii=False) + "\n",
    }


def _config(study: PeopleStudy, form: Form) -> dict[str, Any]:
    groups = [
        {"name": annotator, "annotators": [annotator], "instances": names}
        for annotator, names in _by_person(form).items()
    ]
    labels = {part.name: in_language(part.label, form.language) for page in form.pages for part in page.shows}
    display = [{"key": f"shown_{name}", "type": "text", "label": label} for name, label in labels.items()]
    first = {"key": "text", "type": "text", "label": in_language(study.title, form.language)}
    config: dict[str, Any] = {
        "annotation_task_name": in_language(study.title, form.language),
        "task_dir": ".",
        "output_annotation_dir": OUTPUT,
        "data_files": [ITEMS],
        "item_properties": {"id_key": "id", "text_key": "text"},
        # Only these codes may register; the first person under a code chooses its password.
        "user_config": {"allow_all_users": False, "users": [group["name"] for group in groups]},
        "require_password": True,
        "authentication": {"method": "in_memory", "user_config_path": "users.jsonl"},
        "assignment_strategy": "batch",
        "max_annotations_per_item": 1,
        "batch_assignment": {"groups": groups},
        "phases": {"order": ["consent", "annotation"], "consent": {"type": "consent", "file": CONSENT}},
        "annotation_instructions": in_language(study.guidelines, form.language),
        "instance_display": {"fields": [first, *display]},
        "annotation_schemes": [s for page in form.pages for s in _schemes(form, page)],
        "ui_language": form.language if form.language in _TRANSLATED else "en",
        # Do not record keystrokes and clicks.
        "interaction_tracking": {"enabled": False},
    }
    return config | ({"completion_code": study.completion_code} if study.completion_code else {})


def _by_person(form: Form) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for task in form.tasks:
        names.setdefault(task.annotator, []).append(task.name)
    return names


def _schemes(form: Form, page: FormPage) -> Iterator[dict[str, Any]]:
    """Yield the questions of a page; several pages get one heading each."""
    if len(form.pages) > 1:
        title, text = (in_language(each, form.language) for each in (page.title, page.text))
        heading = {"description": title, "labels": [text] if text else []}
        yield {"annotation_type": "pure_display", "name": f"page_{page.name}", **heading}
    for field in page.fields:
        label, note = in_language(field.label, form.language), in_language(field.help, form.language)
        scheme: dict[str, Any] = {"name": field.name, "description": f"{label} – {note}" if note else label}
        scheme["label_requirement"] = {"required": field.is_required}
        yield scheme | _kind(form, page, field)


def _kind(form: Form, page: FormPage, field: FormField) -> dict[str, Any]:
    labels = list(form.menu(page, field).values())
    match field.kind:
        case "ranking" | "marks":
            return {"annotation_type": "multirate", "options_from_data": f"of_{field.name}", "labels": labels}
        case "likert":
            ends = [in_language(end, form.language) for end in field.ends or ()] or ["", ""]
            return {
                "annotation_type": "likert",
                "size": field.points,
                "min_label": ends[0],
                "max_label": ends[1],
            }
        case "choice" | "confidence":
            return {"annotation_type": "radio", "labels": labels, "randomize_order": field.is_shuffled}
        case "edit":
            return {"annotation_type": "text_edit", "source_field": f"of_{field.name}"}
    return {"annotation_type": "text", "textarea": {"on": True, "rows": 4, "cols": 60}}


def _changes(path: Path) -> dict[tuple[str, str], list[datetime]]:
    """Return when each value was set or changed: (task, field) -> times."""
    times: dict[tuple[str, str], list[datetime]] = {}
    if path.exists():
        for number, line in enumerate(text_of(path).splitlines(), start=1):
            try:
                row = parse_json(line)
                if row["old_value"] != row["new_value"]:
                    time = datetime.fromisoformat(row["timestamp"]).astimezone(UTC)
                    times.setdefault((row["instance_id"], row["schema_name"]), []).append(time)
            except (ValueError, KeyError, TypeError) as error:
                raise StudyError(f"{path}, line {number}: not in Potato's format: {error!r}") from error
    return times


def _read(form: Form, path: Path, state: Any) -> Iterator[Response]:
    """Yield last values with their order of options, and when the page was opened and the value last
    changed.

    Times without a zone are read in this machine's zone: Potato must have run here, or both in UTC.
    """
    tasks, changes = (
        {task.name: task for task in form.tasks},
        _changes(path.with_name("annotation_history.jsonl")),
    )
    for name, labels in state["instance_id_to_label_to_value"].items():
        task = tasks.get(name)
        # Potato accepts a value for another person's task from anyone who has finished their own.
        if task is None or task.annotator != state["user_id"]:
            continue
        values: dict[str, dict[str, Any]] = {}
        for label, value in labels:
            values.setdefault(label["schema"], {})[label["name"]] = value
        times = [time for (item, _), own in changes.items() if item == name for time in own]
        opened = state["instance_id_to_behavioral_data"].get(name, {}).get("session_start")
        started = datetime.fromtimestamp(opened, UTC) if opened else min(times)
        orders = state["instance_id_to_presentation_order"].get(name, {})
        for page, field in form.fields:
            if chosen := values.get(field.name):
                saved = max(changes.get((name, field.name), times))
                value, order = _value(form, task, page, field, chosen), None
                if field.kind in ("choice", "confidence"):
                    options = {text: option for option, text in form.menu(page, field).items()}
                    order = [options[text] for text in orders.get(field.name, []) if text in options]
                yield Response(task, page, field, value, started, saved, order)


def _value(form: Form, task: PersonForm, page: FormPage, field: FormField, chosen: Mapping[str, Any]) -> Any:
    """Return the value behind Potato's labels.

    Raises ValueError or KeyError for a value that is not offered.
    """
    values = {text: value for value, text in form.menu(page, field).items()}
    if field.kind in WITH_ENTRIES:
        slots = task.slots(page, field, form.language)
        numbers = {name: re.match(_ORDERED, name) for name in chosen}
        return {slots[int(n[1]) - 1][0]: values[chosen[name]] for name, n in numbers.items() if n}
    (value,) = list(chosen.values())[-1:]
    if field.kind == "edit":
        return parse_json(value)["edited_text"]
    return values[value] if values else value


PROGRAM = SurveyProgram("potato", "Potato", "2.12.1", _project, f"{OUTPUT}/*/user_state.json", _read)
