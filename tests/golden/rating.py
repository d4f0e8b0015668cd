"""Simulated people who rate judged answers, in the app's own database."""

from __future__ import annotations

from deployments.people.draw import Wishes, page_of
from deployments.people.results import pull
from deployments.people.store import StudyStore
from deployments.people.studies import new_study
from tasks.people.study import Entry, read_folder
from warehouse import Warehouse


def rate(
    warehouse: Warehouse, name: str, place: int, n: int = 100_000, seed: int = 0, disliked: str = ""
) -> int:
    """Draw n answers and null texts, and give all the verdict at this place of their menu, best first; the
    last one to the answers of the model that is disliked.
    """
    folder = warehouse.home / "people" / name
    new_study(warehouse, Wishes(name, "judge-ratings", n, 1, 1, ("en",), seed, None, (), True), folder)
    (folder / "study.toml").write_text((folder / "study.toml").read_text().replace("min_seconds = 5", ""))
    study, store = read_folder(folder), StudyStore(folder)
    fields = {field.name: field for field in study.study.fields}
    store.invite("p001", "annotator", "en")
    store.mark("p001", "consented")
    for each in study.assignments:
        hidden = study.private[each.item]
        values = dict(hidden.expected)
        if not values:
            options = [option.value for option in fields[page_of(hidden.condition)].options]
            values = {page_of(hidden.condition): options[-1 if hidden.model == disliked else place]}
        for field, value in values.items():
            store.save("p001", each.item, field, Entry(value=value))
    store.close()
    pull(warehouse, folder)
    return len(study.items)
