"""Draw blinded items for people from the warehouse: dishes, judged answers, drafts of norms."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import NamedTuple

from deployments.show import judged
from tasks.identity import digest
from tasks.judging.audit import annotation_rows, random_sample
from tasks.judging.rubric import Rubric
from tasks.people.assignment import item_code, stratified
from tasks.people.study import PeopleItem, Private
from warehouse import Warehouse, WarehouseError

Drawn = list[tuple[PeopleItem, Private]]

# People judge as many predictions as the dish has reference ingredients. One wording is drawn, with dish and
# sentence in the same language.
_PREDICTIONS = """
SELECT p.model, p.dish, any_value(p.dish_name) AS name, p.origin, p.main_language AS language,
    list(p.candidate ORDER BY p.rank) AS predicted, any_value(d.ingredients) AS reference
FROM prediction AS p
JOIN latest_run AS r USING (run_id)
JOIN (
    SELECT url, language, any_value(ingredients) AS ingredients FROM fmlama_dish GROUP BY url, language
) AS d ON d.url = p.dish AND d.language = p.main_language
WHERE r.evaluation = 'fmlama' AND NOT r.is_null AND p.main_language = p.subject_language
    AND list_contains($languages, p.main_language) AND p.rank <= len(d.ingredients)
    AND r.config_hash = coalesce($config, (
        SELECT config_hash FROM latest_run WHERE evaluation = 'fmlama' AND NOT is_null
        ORDER BY finished_at DESC LIMIT 1
    ))
GROUP BY p.model, p.dish, p.origin, p.main_language, p.condition, p.template
QUALIFY row_number() OVER (PARTITION BY p.model, p.dish, p.main_language ORDER BY p.condition, p.template) = 1
"""
_DRAFTS = "SELECT * FROM specnorm_draft WHERE status = 'queued' ORDER BY draft"
_CHECK_ENTRIES = {
    "en": ("To show that you read this, mark everything here as Maybe.", ["first", "second"]),
    "zh": ("为表明您已阅读，请将此处所有项标为“可能”。", ["一", "二"]),
    "ar": ("لإظهار أنك قرأت هذا، اختر «ربما» لكل ما هنا.", ["الأول", "الثاني"]),
    "ko": ("읽었음을 보이기 위해 여기서는 모두 ‘아마도’를 고르세요.", ["첫째", "둘째"]),
    "ru": ("Чтобы показать, что вы это прочли, отметьте здесь всё как «Возможно».", ["первое", "второе"]),
    "he": ("כדי להראות שקראתם, סמנו כאן הכול כ״אולי״.", ["ראשון", "שני"]),
}


class Wishes(NamedTuple):
    """The size of a new study.

    n_items, people: per language; codes: of the people; () for p001, p002 …; nulls: also draw null texts; of:
    labels of the requests to draw prompts of; () for the first.
    """

    name: str
    kind: str
    n_items: int
    people: int
    per_item: int
    languages: tuple[str, ...]
    seed: int
    config: str | None = None
    codes: tuple[str, ...] = ()
    nulls: bool = False
    of: tuple[str, ...] = ()


def nothing(warehouse: Warehouse, wishes: Wishes) -> Drawn:
    """Return no items: every page of such a study is shown once to everyone."""
    return []


def dishes(warehouse: Warehouse, wishes: Wishes) -> Drawn:
    """Draw dishes with one model's predictions, evenly over models and origins; one check per language."""
    rows = warehouse.query(_PREDICTIONS, {"languages": list(wishes.languages), "config": wishes.config})
    if rows.is_empty():
        raise WarehouseError(
            f"no model has predictions in {', '.join(wishes.languages)}; start with: culturemeter run fmlama"
        )
    drawn: Drawn = []
    for language in wishes.languages:
        things = {}
        for row in rows.filter(language=language).iter_rows(named=True):
            code = item_code("fmlama", wishes.name, row["model"], row["dish"], language)
            parts = {
                "dish": row["name"],
                "reference": sorted(row["reference"]),
                "predicted": row["predicted"],
            }
            item = PeopleItem(item=code, page="dish", language=language, content=parts)
            stratum = f"{row['model']} {row['origin']}"
            hidden = Private(
                item=code, stratum=stratum, model=row["model"], condition=language, code=row["dish"]
            )
            things[code] = (stratum, (item, hidden))
        drawn += stratified(things, wishes.n_items, wishes.seed)
        text, entries = _CHECK_ENTRIES.get(language, _CHECK_ENTRIES["en"])
        code = item_code("check", wishes.name, language)
        content: dict[str, str | list[str]] = {"dish": text, "predicted": entries}
        expected = Private(item=code, expected={"mark": dict.fromkeys(entries, "Maybe")})
        drawn.append((PeopleItem(item=code, page="dish", language=language, content=content), expected))
    return drawn


def judged_answers(warehouse: Warehouse, wishes: Wishes) -> Drawn:
    """Draw judged answers at random within strata of model, dimension, source and language.

    Each item keeps the chance with which it was drawn, so that the judge's mean can be rectified. With
    several languages, as many are drawn of the answers in each, for the people of that language; with one, of
    all answers. Only the headline's answers are drawn, and null texts if they are wished for.
    """
    chosen = judged.choose(warehouse, None, wishes.config)
    verdicts, answers = judged.verdicts(warehouse, chosen, wishes.nulls)
    rubrics = judged.rubrics(chosen.evaluation, verdicts)
    drawn: Drawn = []
    for language in wishes.languages:
        strata = judged.strata(verdicts, answers, language if len(wishes.languages) > 1 else None)
        if not strata:
            raise WarehouseError(f"no judged answer of {chosen.evaluation} is in the language {language}")
        sample = random_sample(strata, wishes.n_items, wishes.seed)
        texts = [each.answer for each in sample]
        criteria = {a.dimension: r.rules if (r := rubrics.get(a.dimension)) else a.dimension for a in texts}
        for one, row in zip(sample, annotation_rows(texts, criteria), strict=True):
            model, dimension = one.answer.model, one.answer.dimension
            code = item_code("judged", wishes.name, one.answer.code)
            content: dict[str, str | list[str]] = {p: row[p] for p in ("question", "answer", "criteria")}
            item = PeopleItem(item=code, page=page_of(dimension), language=language, content=content)
            hidden = Private(
                item=code, stratum=one.stratum, model=model, condition=dimension, code=one.answer.code,
                chance=one.chance, population=one.population,
            )  # fmt: skip
            drawn.append((item, hidden))
        menus = {answer.dimension: menu_of(rubrics.get(answer.dimension)) for answer in texts}
        drawn += _rating_checks(wishes, language, menus)
    return drawn


def page_of(dimension: str) -> str:
    """Return the name of a dimension's page and of its field."""
    name = f"rating_{dimension}".lower()
    return name if re.fullmatch(r"[a-z][a-z0-9_-]{0,31}", name) else f"rating_{digest(dimension, 12)}"


def menu_of(rubric: Rubric | None) -> list[str]:
    """Return the possible ratings: the rubric's verdicts, or yes and no if the rubric is unknown."""
    return list(rubric.verdicts) if rubric else ["YES", "NO"]


def judged_pages(warehouse: Warehouse, wishes: Wishes, items: Sequence[PeopleItem], kind: str) -> str:
    """Return the kind's text with one page per drawn dimension, whose menu is that of its rubric.

    kind: TOML with one page and the placeholders ``@name@``, ``@options@`` and ``@is_ordered@``.
    """
    head, page = kind.split("[[pages]]", 1)
    chosen = judged.choose(warehouse, None, wishes.config)
    verdicts, _ = judged.verdicts(warehouse, chosen)
    rubrics = judged.rubrics(chosen.evaluation, verdicts)
    drawn, pages = {item.page for item in items}, []
    for dimension in sorted(set(verdicts["dimension"])):
        if (name := page_of(dimension)) in drawn:
            rubric = rubrics.get(dimension)
            values = [choice.value for choice in rubric.verdicts.values()] if rubric else [1.0, 0.0]
            words = (json.dumps(verdict, ensure_ascii=False) for verdict in menu_of(rubric))
            options = ", ".join(f"{{ value = {word}, label = {word} }}" for word in words)
            is_ordered = values in (sorted(values), sorted(values, reverse=True))
            filled = page.replace("@name@", name).replace("@options@", f"[{options}]")
            pages.append(filled.replace("@is_ordered@", json.dumps(is_ordered)))
    return "[[pages]]".join([head, *pages])


def _rating_checks(wishes: Wishes, language: str, menus: Mapping[str, Sequence[str]]) -> Drawn:
    """Return three checks over the dimensions that ask for the first and the last verdict in turn."""
    checks: Drawn = []
    for n, dimension in zip(range(3), cycle(sorted(menus))):
        verdict, page = menus[dimension][-(n % 2)], page_of(dimension)
        code = item_code("check", wishes.name, *([language] if len(wishes.languages) > 1 else []), str(n))
        text = f"To show that you read this, choose “{verdict}”."
        content: dict[str, str | list[str]] = {"question": text, "answer": "–", "criteria": "–"}
        item = PeopleItem(item=code, page=page, language=language, content=content)
        checks.append((item, Private(item=code, expected={page: verdict})))
    return checks


def norm_drafts(warehouse: Warehouse, wishes: Wishes) -> Drawn:
    """Draw drafts that wait for a review, evenly over countries."""
    things = {}
    for row in warehouse.query(_DRAFTS).iter_rows(named=True):
        code = item_code("specnorm", wishes.name, row["draft"])
        parts = ("cues", "statement", "persona", "situation", "question", "norm")
        content = {part: row[part] for part in parts} | {"country": row["country_name"]}
        item = PeopleItem(item=code, page="draft", language=wishes.languages[0], content=content)
        hidden = Private(item=code, stratum=row["country_name"], model=row["model"], code=row["draft"])
        things[code] = (row["country_name"], (item, hidden))
    if not things:
        raise WarehouseError("no draft waits for a review; start with: culturemeter specnorm build")
    return stratified(things, wishes.n_items, wishes.seed)
