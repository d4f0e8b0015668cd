"""Stage 4 at the border of warehouse and engines: label, check, queue, read reviews, publish."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.builders import steps as generation
from tasks.builders.culturall import prompts, review
from tasks.builders.culturall.drafts import item_of
from tasks.builders.culturall.params import ReleaseParams
from tasks.builders.culturall.release import version
from tasks.builders.culturall.steps import NAME, STATES, Desk, desk, language_names, timed
from tasks.evaluations.culturall.items import Item, Texts
from tasks.identity import digest
from tasks.loop import steps as shared
from tasks.loop.budget import Budget, Meter
from tasks.loop.plan import Plan, Wanted, lay_out
from tasks.loop.prompts import Completion, Prompt
from tasks.loop.replies import json_fields
from tasks.loop.texts import Texts as EmbeddedTexts
from tasks.people.review_file import Decided
from warehouse import Warehouse, culturall_build, now

OPEN = """
status IN ('drafted', 'review_waits', 'accepted', 'revised', 'rejected_by_checks', 'too_easy')
AND len(faults) = 0
"""
"""Drafts that may be published as far as their own texts and people's decisions go."""

REGIONS = "SELECT region FROM culturall_region"
SPOKEN = "SELECT country, list(language ORDER BY language) FROM country_language GROUP BY country"
STATUSES = "SELECT status, count(*) FROM culturall_draft_state GROUP BY status"
DOUBTS = """
SELECT draft, list(reason || ': ' || detail ORDER BY reason) FROM culturall_check WHERE is_doubt GROUP BY
draft
"""
# Of a revision they are those of what was revised.
ORIGINS = """
SELECT d.draft, coalesce(p.origin, d.origin) AS origin, coalesce(p.source, d.source) AS source,
    coalesce(p.author, d.author) AS author
FROM culturall_draft AS d
LEFT JOIN culturall_draft AS p ON p.draft = d.parent AND d.origin = 'revision'
"""

Row = dict[str, Any]
Exchange = tuple[Prompt, Completion]


def unlabelled() -> list[Item]:
    """Drafts that may be published and have no label yet; what people revised is labelled by them."""
    rows = Warehouse.open().query(
        f"{STATES} ANTI JOIN culturall_label USING (draft) WHERE {OPEN} ORDER BY draft"
    )
    return [item_of(row) for row in rows.to_dicts() if row["origin"] != "revision"]


def left(params: ReleaseParams) -> Plan:
    """What of the labels has no stored answer; translations come in later rounds."""
    if params.model is None:
        return Plan(())
    clerk = desk("label", params, params.model)
    return clerk.left([prompt for _, prompt in _label_prompts(unlabelled())])


def label(params: ReleaseParams, meter: Meter) -> None:
    """Have region, topic and content of every draft named, and its texts translated to English and back."""
    items = unlabelled()
    if params.model is None or not items:
        return
    clerk = desk("label", params, params.model, meter)
    said = _asked(clerk, dict(_label_prompts(items)))
    names = language_names()
    foreign = {item.item: item for item in items if item.language != "en"}
    named = {draft: names.get(item.language, item.language) for draft, item in foreign.items()}
    english = _asked(
        clerk,
        {
            draft: prompts.translation(item.native, named[draft], "English")
            for draft, item in foreign.items()
            if not item.english
        },
    )
    translated = {draft: item.english or _texts(english[draft][1]) for draft, item in foreign.items()}
    back = _asked(
        clerk,
        {
            draft: prompts.translation(texts, "English", named[draft])
            for draft, texts in translated.items()
            if all(texts[:3])
        },
    )
    rows = []
    for item in items:
        exchanges = [each[item.item] for each in (said, english, back) if item.item in each]
        replies = [each[item.item][1] if item.item in each else None for each in (english, back)]
        cells = version.label_row(item.item, said[item.item][1], *replies)
        rows.append(cells | {"response_items": [prompt.id for prompt, _ in exchanges]})
    own = {name: value for name, value in clerk.origin.items() if name != "author_kind"}
    culturall_build.add(
        Warehouse.open(), "culturall_label", timed([row | own for row in rows], "labelled_at")
    )
    clerk.finish()


def check(params: ReleaseParams) -> None:
    """Check every draft that may be published; what the checks said before is replaced."""
    warehouse = Warehouse.open()
    rows, labels = _labelled(OPEN)
    texts = [version.english_text(item_of(row)) for row in rows]
    vectors = _vectors(params, texts) if params.embedder and any(texts) else None
    regions = warehouse.query(REGIONS)["region"].to_list()
    spoken = dict(warehouse.query(SPOKEN).rows())
    faults = version.check(rows, labels, regions, spoken, vectors, params)
    culturall_build.replace_checks(warehouse, timed(version.check_rows(faults), "checked_at"))


def queue(params: ReleaseParams) -> int:
    """Write what waits for a review, if anything does; returns how many drafts."""
    lines = waiting()
    if lines:
        review.QUEUE.write(Path(params.queue), lines)
    return len(lines)


def waiting() -> list[dict[str, str]]:
    """What waits for a review before it is published, as lines of a queue, with the checks' doubts."""
    rows, _ = _labelled("status = 'review_waits'")
    doubts = dict(Warehouse.open().query(DOUBTS).rows())
    return [review.queue_row(row, "release", doubts.get(row["draft"], [])) for row in rows]


def publish(params: ReleaseParams) -> tuple[int, str, int] | None:
    """Store what people let through as a version, and write it to ``params.out``.

    Returns:
        number and hash of the version, and how many items it has; None if there is none.
    """
    warehouse = Warehouse.open()
    rows, _ = _labelled("status IN ('accepted', 'revised')")
    origins = {row["draft"]: row for row in warehouse.query(ORIGINS).to_dicts()}
    items = version.released([row | origins[row["draft"]] for row in rows])
    if not items:
        return None
    name, statuses = version.version(items), dict(warehouse.query(STATUSES).rows())
    card = version.card(items, name, statuses, params)
    row = {
        "version": name,
        "n_items": len(items),
        "counts": json.dumps(version.counts(items, statuses)),
        "card": card,
        "params": json.dumps(params.model_dump(exclude={"queue", "out"})),
        "released_at": now(),
    }
    number = culturall_build.save_release(warehouse, row, [{**item, "version": name} for item in items])
    if params.out:
        folder = Path(params.out)
        folder.mkdir(parents=True)
        (folder / "items.jsonl").write_text(version.published_lines(items), encoding="utf-8")
        (folder / "README.md").write_text(card, encoding="utf-8")
    return number, name, len(items)


def read_review(path: Path) -> tuple[review.Reviewed, int]:
    """Read a queue file back and store its decisions; returns what it says, and how many rows are open.

    Raises:
        ReviewError: the file breaks a rule, or is not of this warehouse; nothing is stored then.
    """
    read = review.QUEUE.read(path)
    return take(read.decided), read.n_pending


def lines() -> dict[tuple[str, str], dict[str, str]]:
    """(stage, draft) -> its line of a queue as it is now, of all that wait or are decided."""
    labelled, _ = _labelled("len(faults) = 0")
    raw = Warehouse.open().query(f"{STATES} WHERE len(faults) = 0 AND d.origin = 'elevation'").to_dicts()
    release = {("release", row["draft"]): review.queue_row(row, "release", []) for row in labelled}
    return release | {("elevate", row["draft"]): review.queue_row(row, "elevate", []) for row in raw}


def take(decided: Sequence[Decided]) -> review.Reviewed:
    """Hold decisions against what waits, and store them; raises as ``read_review``."""
    warehouse = Warehouse.open()
    with warehouse.locked("culturall"):
        reviewed = review.compare(decided, lines(), now())
        culturall_build.save_reviews(warehouse, reviewed.decisions, reviewed.revisions)
    return reviewed


def _labelled(where: str) -> tuple[list[Row], dict[str, Row]]:
    """Drafts with where they stand and with their labels filled in, by identifier; and the labels
    themselves."""
    warehouse = Warehouse.open()
    labels = {row["draft"]: row for row in warehouse.query("FROM culturall_label").to_dicts()}
    rows = warehouse.query(f"{STATES} WHERE {where} ORDER BY draft").to_dicts()
    return [version.with_labels(row, labels.get(row["draft"])) for row in rows], labels


def _label_prompts(items: Sequence[Item]) -> list[tuple[str, Prompt]]:
    names = language_names()
    return [(item.item, prompts.label(item, names.get(item.language, item.language))) for item in items]


def _asked(clerk: Desk, by_draft: Mapping[str, Prompt]) -> dict[str, Exchange]:
    """Draft -> what was asked about it, and what came back."""
    completions = clerk.complete(list(by_draft.values()))
    return {
        draft: (prompt, completion)
        for (draft, prompt), completion in zip(by_draft.items(), completions, strict=True)
    }


def _texts(completion: Completion) -> Texts:
    """The four texts of a translation, "" where there is none."""
    fields = json_fields(completion.text) or {}
    return Texts(*(text if isinstance(text := fields.get(name), str) else "" for name in Texts._fields))


def _vectors(params: ReleaseParams, texts: Sequence[str]) -> NDArray[np.float32]:
    """[texts, d] vectors, each text embedded once for ever; zeros where there is no text."""
    request = EmbeddedTexts(role="embedder", engine=params.embedder, texts=[text for text in texts if text])
    engine = shared.engine_of(params.embedder, "embedder")
    name = request.hash(engine)
    wanted = [Wanted("", request, engine)]
    run_id = digest([NAME, name])
    knobs = params.model_dump()
    asked = [(name, "culturall", "embed")]
    generation.start(run_id, NAME, engine, knobs, config_hash=name, materials={}, asked=asked)
    plan = lay_out(wanted, shared.unanswered(wanted))
    total = sum(line.left for line in plan.lines)
    for work in plan.work:
        shared.answer(work, (run_id, params.embedder), Meter(Budget()), "embed drafts", total)
    read = request.decode(shared.stored(request.kind, name, request.units, request.columns)).vectors
    vectors = np.zeros((len(texts), read.shape[1]), dtype=np.float32)
    vectors[[n for n, text in enumerate(texts) if text]] = read
    return vectors
