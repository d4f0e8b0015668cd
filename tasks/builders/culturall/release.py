"""A published version from drafts, labels and decisions: its items, hash, counts and card. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Template
from numpy.typing import NDArray

from tasks.builders.culturall.checks import ItemFault, Labels, near_duplicates, release_faults
from tasks.builders.culturall.drafts import TEXTS, item_of
from tasks.builders.culturall.params import PAPER, PAPER_ITEMS, ReleaseParams
from tasks.evaluations.culturall.items import TOPICS, CulturallItem
from tasks.evaluations.culturall.rows import LEVELS, levels
from tasks.identity import digest
from tasks.loop.prompts import Completion
from tasks.loop.replies import on_menu, read_fields

_CARD = Path(__file__).with_name("card.md")

KINDS = ("language", "region", "topic", "form", "origin", "difficulty")
"""Fields by which items are counted."""
DECIDED = ("accepted", "revised", "rejected")
"""Statuses of drafts that people have decided on."""


def label_row(draft: str, replies: Mapping[str, Completion]) -> dict[str, Any]:
    """Return a row of culturall_label, with NULL for unreadable cells.

    Args:
        replies: completions by step: label, english and back.
    """
    names = ("scenario", "question", "answer", "explanation")
    wanted = {"label": ("region", "topic", "content"), "english": names, "back": names}
    fields = {step: read_fields(reply.text, wanted[step]) or {} for step, reply in replies.items()}
    label, english, back = (fields.get(step, {}) for step in ("label", "english", "back"))
    region = str(label.get("region") or "").strip().upper()
    cells = {
        "region": {"UK": "GB"}.get(region, region)[:8] or None,
        "topic": on_menu(label.get("topic"), TOPICS),
        "content": label.get("content"),
        **{f"{name}_en": english.get(name) for name in names},
        **{f"{name}_back": back.get(name) for name in names[:3]},
    }
    return {
        "draft": draft,
        **{name: value if isinstance(value, str) else None for name, value in cells.items()},
    }


def with_labels(row: Mapping[str, Any], label: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a row of culturall_draft, its missing region, topic and English texts filled in from its label.

    The English texts of a draft in English are its own.
    """
    english = (
        dict(zip(TEXTS[4:], (row[name] for name in TEXTS[:4]), strict=True))
        if row["language"] == "en"
        else {}
    )
    names = ("region", "topic", *TEXTS[4:])
    return {**row, **{name: row[name] or english.get(name) or (label or {}).get(name) for name in names}}


def labels_of(label: Mapping[str, Any] | None) -> Labels:
    """Return the parts of a row of culturall_label that the checks need."""
    if label is None:
        return Labels()
    back = tuple(label[f"{name}_back"] or "" for name in ("scenario", "question", "answer"))
    return Labels(
        label["region"], label["topic"], label["content"], (back[0], back[1], back[2]) if all(back) else None
    )


def check(
    rows: Sequence[Mapping[str, Any]],
    labels: Mapping[str, Mapping[str, Any]],
    regions: Sequence[str],
    spoken: Mapping[str, Sequence[str]],
    vectors: NDArray[np.float32] | None,
    params: ReleaseParams,
) -> dict[str, list[ItemFault]]:
    """Return faults and doubts by draft.

    Near-duplicates are sought among drafts without another fault. Of two, the fault goes to the later one in
    this order: drafts with a decision, then by time.

    Args:
        rows: results of ``with_labels``, with decision, n_right, n_models (of culturall_draft_state) and
            made_at.
        labels: rows of culturall_label by draft.
        spoken: languages of each region.
        vectors: embeddings of the English texts, in the order of ``rows``.
    """
    items = [item_of(row) for row in rows]
    codes = frozenset(regions)
    faults = {
        item.item: release_faults(item, labels_of(labels.get(item.item)), codes, spoken) for item in items
    }
    for row in rows:
        faults[row["draft"]] += easy(row["n_right"], row["n_models"], params)
    faultless = [n for n, item in enumerate(items) if all(fault.is_doubt for fault in faults[item.item])]
    faultless.sort(key=lambda n: (rows[n]["decision"] is None, rows[n]["made_at"], rows[n]["draft"]))
    compared = None if vectors is None else vectors[faultless]
    twins = near_duplicates([items[n] for n in faultless], compared, params.same_wording, params.same_meaning)
    for n, twin in zip(faultless, twins, strict=True):
        if twin:
            faults[items[n].item].append(twin)
    return faults


def easy(n_right: int, n_models: int, params: ReleaseParams) -> list[ItemFault]:
    """Return a fault if enough settings answered a draft and it is too easy by the params' rule."""
    is_easy = {"solved_by_all": n_right == n_models, "easy": 3 * n_right >= 2 * n_models, "nothing": False}
    if n_models < params.settings or not is_easy[params.leave_out]:
        return []
    return [ItemFault("too_easy", f"{n_right} of {n_models} settings solve it")]


def check_rows(faults: Mapping[str, Sequence[ItemFault]]) -> list[dict[str, Any]]:
    """Return rows of culturall_check; details of faults with the same name are joined."""
    rows = []
    for draft, draft_faults in faults.items():
        rows.append({"draft": draft, "reason": "", "is_doubt": False, "detail": ""})
        for reason in dict.fromkeys(fault.reason for fault in draft_faults):
            matching = [fault for fault in draft_faults if fault.reason == reason]
            detail = "; ".join(fault.detail for fault in matching)
            rows.append(
                {"draft": draft, "reason": reason, "is_doubt": matching[0].is_doubt, "detail": detail}
            )
    return rows


def released(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows of culturall_release_item, without the version, for accepted and revised drafts.

    Args:
        rows: results of ``with_labels``, with status, reviewer, n_right and n_models of
            culturall_draft_state; a revision has the origin of the revised draft.
    """
    accepted = sorted(
        (row for row in rows if row["status"] in ("accepted", "revised")), key=lambda row: row["draft"]
    )
    difficulties = dict(zip((row["draft"] for row in accepted), _levels(accepted), strict=True))
    items = []
    for row in accepted:
        item = item_of(row)
        texts = dict(zip(TEXTS, (*item.native, *(item.english or ("",) * 4)), strict=True))
        items.append(
            {
                **texts,
                "item": f"{item.language}-{digest([item.language, *item.native])}",
                "draft": row["draft"],
                "language": item.language,
                "region": item.region,
                "topic": item.topic,
                "form": item.form,
                "variants": row["variants"],
                "difficulty": difficulties[row["draft"]] or None,
                "n_right": row["n_right"] if row["n_models"] else None,
                "n_models": row["n_models"] or None,
                "origin": row["origin"],
                "source": row["source"],
                "author": row["author"],
                "decision": "accept" if row["status"] == "accepted" else "revise",
                "reviewer": row["reviewer"],
            }
        )
    return items


def version(items: Iterable[Mapping[str, Any]]) -> str:
    """Return a hash of the published items; their order, authors and reviewers do not change it."""
    names = ("item", "language", "region", "topic", "form", *TEXTS, "variants")
    return digest(sorted([item[name] or "" for name in names] for item in items))


def counts(items: Sequence[Mapping[str, Any]], statuses: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Return the number of items by each of ``KINDS``, and the number of drafts by status."""
    by_kind = {kind: Counter(str(item[kind] or "not measured") for item in items) for kind in KINDS}
    return {kind: dict(sorted(n.items())) for kind, n in by_kind.items()} | {
        "drafts": dict(sorted(statuses.items()))
    }


def figures(
    items: Sequence[Mapping[str, Any]], statuses: Mapping[str, int]
) -> list[tuple[str, int, float | None, float]]:
    """Return (name, n, share, share in the paper) of drafts by decision, then of items by difficulty.

    The share is None if nothing was decided or measured.
    """
    parts = [
        {name: statuses.get(name, 0) for name in DECIDED},
        {level: sum(item["difficulty"] == level for item in items) for level in LEVELS},
    ]
    return [
        (name, n, n / sum(part.values()) if sum(part.values()) else None, PAPER[name])
        for part in parts
        for name, n in part.items()
    ]


def card(
    items: Sequence[Mapping[str, Any]], name: str, statuses: Mapping[str, int], params: ReleaseParams
) -> str:
    """Return the dataset card, in Markdown."""
    authors = Counter(item["author"] for item in items)
    reviewers = {item["reviewer"] for item in items}
    text: str = Template(_CARD.read_text(encoding="utf-8"), trim_blocks=True, lstrip_blocks=True).render(
        version=name,
        n=len(items),
        paper_items=PAPER_ITEMS,
        counts=counts(items, statuses),
        kinds=KINDS,
        figures=figures(items, statuses),
        authors=sorted(authors.items()),
        n_reviewers=len(reviewers),
        solvers=sorted({item["n_models"] or 0 for item in items}),
        params=params,
    )
    return text


def published_lines(items: Sequence[Mapping[str, Any]]) -> str:
    """Return the items as JSON lines, which the evaluation reads with ``--file``."""
    names = ("item", "language", "region", "topic", "form", *TEXTS, "variants", "difficulty", "source")
    lines = [{name: item[name] for name in names} | {"status": "checked by people"} for item in items]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def english_text(item: CulturallItem) -> str:
    """Return the English text to embed (scenario, question and answer); "" without a translation."""
    return " ".join(item.english[:3]) if item.english else ""


def _levels(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the difficulty of each draft, "" where too few models answered it."""
    max_models = max((row["n_models"] for row in rows), default=0)
    solved = np.full((max_models, len(rows)), np.nan)
    for column, row in enumerate(rows):
        solved[: row["n_models"], column] = 0
        solved[: row["n_right"], column] = 1
    return [str(level) for level in levels(solved)] if max_models else [""] * len(rows)
