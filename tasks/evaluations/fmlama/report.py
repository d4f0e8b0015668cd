"""Declares what the FmLAMA page shows; figures 2, 3 and 4 of Zhou et al. 2025 have intervals, chance and baselines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import Any

import polars as pl
from markupsafe import Markup

from tasks.evaluations.fmlama.frames import (
    POOLINGS,
    ConditionGroup,
    FmlamaData,
    ModelLine,
    in_order,
    language,
)
from tasks.report import Row, gain_sign, in_order_of, value_of
from tasks.report.bars import Bar, Bars, Legend, bar_of
from tasks.report.cells import (
    BREAK,
    axis,
    cell,
    col,
    counts,
    isolated,
    left,
    name,
    names,
    null,
    put,
    small,
    td,
    words,
)
from tasks.report.forest import picture
from tasks.report.heatmaps import Cell, Matrix
from tasks.report.page import Report
from tasks.report.parts import Box, Figure, Fold, Page, Part, Section, Text, bullets, prose, say
from tasks.report.ranks import best, nulls, scored
from tasks.report.tables import Column, Numbers, is_null, table
from tasks.report.text import number, percent, plural

_OF_TOKENS = {
    "mean_probability": "mean of its tokens’ probabilities", "sum_logprob": "sum of its tokens’ log-probabilities",
    "mean_logprob": "mean of its tokens’ log-probabilities",
}  # fmt: skip
ALL = "all dishes"
_KEY = Legend(
    ("country not named", "country named"), "chance", digits=None, other="baseline of common ingredients",
    notes=("* p < 0.1,  ** p < 0.05,  *** p < 0.01",),
)  # fmt: skip


def stars(p: float | None) -> str:
    """Return the marks of Zhou et al. 2025: * below 0.1, ** below 0.05, *** below 0.01, else none."""
    return "" if p is None else "*" * sum(p < limit for limit in (0.1, 0.05, 0.01))


def _bar(line: ModelLine, origin: str | None, baseline: ModelLine | None, row: str) -> Bar:
    country = line.condition.country
    mark = stars(value_of(line.cell("country_gain_p", origin))) if country else ""
    other = value_of(baseline.cell("map", origin)) if baseline else None
    return bar_of(line.model, row, line.cell("map", origin), mark, series=int(country), other=other)


def _by_origin(data: FmlamaData, pair: list[ConditionGroup]) -> Bars:
    """Return mAP by origin in one language. pair: its conditions without and with the country, or one."""
    origins = data.origins(pair[0].condition.main)
    bars = [_bar(line, origin, group.best_baseline, origin or ALL) for group in pair for line in group.models for origin in (None, *origins)]
    return Bars(bars, {ALL: "ALL"} | {o: f"{o} ({n or '–'})" for o, n in origins.items()}, _KEY)


def _by_language(data: FmlamaData) -> Bars:
    """Return mAP over all dishes, by prompt language."""
    bars = [_bar(line, None, group.best_baseline, group.condition.main) for group in data.plain for line in group.models]
    return Bars(bars, {code: language(code) for code in in_order(bar.row for bar in bars)}, _KEY)


def _origin_matrix(data: FmlamaData, country: bool) -> Matrix:
    """Return mAP of every origin in every prompt language; baselines have their own panels."""
    cells = [
        Cell(line.model, origin, group.condition.main, value_of(row), is_null=line.is_null)
        for group in data.plain if group.condition.country == country for line in group.lines
        for origin in data.origins(group.condition.main) if (row := line.cell("map", origin))
    ]  # fmt: skip
    counts = {o: n or 0 for code in reversed(data.languages) for o, n in data.origins(code).items()}
    rows = {o: o for o in sorted(counts, key=lambda o: (-counts[o], o))}
    return Matrix(cells, rows, {code: language(code) for code in in_order(cell.column for cell in cells)})


def _switching_matrix(data: FmlamaData) -> Matrix:
    """Return mAP by main and subject language; one language is framed, notes are changes from it."""
    cells = []
    for row in in_order_of(data.switching, list(dict.fromkeys(line.model for g in data.groups for line in g.lines))).to_dicts():
        main, subject = row["main_language"], row["subject_language"]
        note = "" if main == subject or row["change"] is None else number(row["change"], 3, True)
        cells.append(Cell(row["model"], main, subject, row["map"], note, main == subject, row["is_null"]))
    rows, columns = ({code: language(code) for code in in_order(codes)} for codes in ([c.row for c in cells], [c.column for c in cells]))
    return Matrix(cells, rows, columns)


Key = tuple[ConditionGroup, ModelLine]
"""Key of a row."""


def _model(is_marked: bool = True) -> Column:
    return left("Model"), lambda key: name(key[1].model, *([key[1].badge] if is_marked or key[1].is_null else []))


def _of(data: FmlamaData, metric: str, label: str, below: str = "", **options: Any) -> Column:
    return data.head(metric, label, below), lambda key: cell(key[1].cell(metric), **options)


def _null_of(metric: str, below: str = "", digits: int = 2, label: str = "Chance") -> Column:
    return col(label, below), lambda key: null(key[1].cell(metric), digits)


def _gained(line: ModelLine, origin: str | None = None) -> Markup:
    """Return the cell with the gain from naming the country, its p-value and number of dishes."""
    gain, p = line.cell("country_gain", origin), line.cell("country_gain_p", origin)
    text = number(value_of(p), 3)
    note = f"p {text if text[0] in '–<' else f'= {text}'}, n {gain['n_scored']}" if gain else ""
    return cell(gain, 3, sign=True, note=note, hint=f"p: {p['unscored_reason']}" if p and p["unscored_reason"] else "")


def _rows(groups: Iterable[ConditionGroup]) -> list[Key]:
    return [(group, line) for group in groups for line in group.lines]


def _is_null(key: Key) -> str:
    return "null" if key[1].is_null else ""


def _precision(data: FmlamaData) -> Column:
    return data.head("map", "mAP ↑", "± sd over wordings"), lambda key: cell(key[1].cell("map"), 3, strong=True, sd=key[1].cell("map_sd"), n=True)


def _similarity(data: FmlamaData) -> list[Column]:
    return [_of(data, "mws", "mWS ↑", "similarity", digits=3, n=True), _null_of("mws", "of mWS", 3)]


def _board(data: FmlamaData) -> Part:
    rows = _rows(data.plain)
    cells = [row for _, line in rows if (row := line.cell("map")) and row["value"] is not None]
    largest = max((row["ci_high"] or row["value"] for row in cells), default=1.0) or 1.0
    mes: list[Column] = [_of(data, "mes", "MES ↑", "judged", n=True), _null_of("mes", "of MES", label="Baseline")] if _judged(data) else []

    def coverage(key: Key) -> Markup:
        row = key[1].cell("map")
        n = row["n_scored"] + row["n_unscored"] if row else 0
        return td(percent(row["n_scored"] / n if row and n else None))

    def unspellable(key: Key) -> Markup:
        n = value_of(key[1].cell("unspellable_candidates"))
        return td(None if n is None else int(n))

    return table("Compare models within one block only, since another language has other candidates. Baselines, which know no dish, come last. Under a number are its 95 % interval and n: pairs of dish and wording for mAP and mWS, dishes for gains, origins for CV. ↑: higher is better; ↓: lower is better; –: not scored. The end of the page has counts and reasons for every number.", [
        _model(), *Numbers(data, lambda key: (key[1].model,)).ranks(), _precision(data), (left(f"0 to {number(largest, 2)}", "orange: chance"), lambda key: axis(key[1].cell("map"), 0, largest, key[1].is_null)),
        _null_of("map", "random ranking", 3), _of(data, "map_gain", "Gain ↑", "over best baseline", digits=3, sign=True, strong=True, n=True), *_similarity(data),
        _of(data, "map_cv", "CV ↓", "over origins", n=True), (data.head("country_gain", "Country", "gain if named, p"), lambda key: _gained(key[1])), *mes,
        (col("Coverage", "scored"), coverage), (data.head("unspellable_candidates", "Unspellable ↓", "candidates"), unspellable),
    ], rows, id="board", kind="leaderboard", line=_is_null, block_of=lambda key: key[0].heading)  # fmt: skip


def _judged(data: FmlamaData) -> list[ConditionGroup]:
    return [group for group in data.plain if any(line.cell("mes") for line in group.lines)]


def _reading(data: FmlamaData) -> list[Part]:
    plain, doubtful = data.plain, _doubtful(data)
    worse = Counter(line.model for g in data.plain for line in g.models if line.map is not None and gain_sign(line.cell("map_gain")) < 0)
    lines = []
    for model, conditions in doubtful.items():
        all_of_them = {1: "the only condition", 2: "either condition"}.get(len(plain), f"any of the {len(plain)} conditions")
        under = all_of_them if len(conditions) == len(plain) else "; ".join(conditions)
        below = f" The interval is wholly below 0 {'there' if worse[model] == len(conditions) else f'under {worse[model]} of them'}, so naming common ingredients scores more."
        lines.append(say("**{model}** is not shown to beat the best baseline under {under}: the 95 % interval of its gain is not wholly above 0." + (below if model in worse else ""), model=isolated(model), under=under))
    warning = [Box("warning", [Text(say("**What these numbers do not show**"), tag="div"), bullets(lines)])] if lines else []
    return [*warning, *prose("""
A model sees a sentence about a dish with a blank for an ingredient, and ranks all ingredients of the dish set. **mAP** is 1 if the dish’s own ingredients always come first; the column “chance” is the score of a random ranking. A model that always names common ingredients scores far more than chance without knowing a single dish. So read the **gain** first: the model knows more than common ingredients only if its whole interval is above 0.
**mWS** is less strict: how close in meaning are the top predictions to the ingredients? **CV** says how unevenly the model knows the origins (0: equally well). **Country** is the gain from naming the country of origin, with the p-value of a paired test.
Intervals cover the choice of dishes. They do not cover other wordings, whose standard deviation is the ± beside mAP.""")]


def _doubtful(data: FmlamaData) -> dict[str, list[str]]:
    """Return model -> the conditions under which it is not shown to beat the best baseline."""
    doubtful: dict[str, list[str]] = {}
    for line in (line for group in data.plain for line in group.models if line.map is not None and not line.beats_baseline):
        doubtful.setdefault(line.model, []).append(line.condition.label)
    return doubtful


def _poolings(data: FmlamaData) -> list[Section]:
    pooled = [group for group in data.plain if group.has_poolings]
    if not pooled:
        return []
    lines = []
    for group in pooled:
        verdict = say("**the verdict changes** for {models}", models=names(group.turned)) if group.turned else "every verdict holds"
        order = f"; the order of models {'is the same' if group.has_one_order else 'changes'}" if len(group.models) > 1 else ""
        lines.append(put("{}: {}{}.", group.condition.label, verdict, order))
    return [Section("poolings", "Does the verdict depend on the score of a candidate?", [
        *prose("There are three ways to combine the scores of a candidate’s tokens; `--pooling` chooses the one for the leaderboard."), bullets(lines),
        table("mAP and its gain over the best baseline under each score of a candidate", [
            (left("Condition"), lambda key: name(key[0].condition.label)), (left("Model"), lambda key: words(isolated(key[1].model))),
            *((col(label, below), lambda key, pooling=pooling, metric=metric, more=more: cell(key[1].under(pooling, metric), 3, **more))
              for pooling, text in POOLINGS.items() for metric, label, below, more in (("map", "mAP ↑", text, {"n": True}), ("map_gain", "Gain ↑", "", {"sign": True}))),
        ], [(group, line) for group in pooled for line in group.models], is_long=True),
    ])]  # fmt: skip


def _country(data: FmlamaData) -> list[Part]:
    parts: list[Part] = []
    if len({group.condition.country for group in data.plain}) < 2:
        parts += prose("This run has only sentences {which} the country. To compare both, run with `--mention-country both`.", "warning", which="with" if data.plain[0].condition.country else "without")
    parts += prose("mAP by origin; the number of dishes is in brackets. Stars mark a difference between the two bars by a Wilcoxon signed-rank test over dishes. The p-values of origins are Holm-adjusted together; ALL is a single test. Fewer than six dishes allow no test and get no star. A star may mark a loss: see which bar is longer.", "note")
    for at, code in enumerate(data.languages):
        pair = [group for group in data.plain if group.condition.main == code]
        best = pair[0].best_baseline
        diamond = put(' <span class="small">diamond: {}, the better baseline over all origins</span>', best.model) if best else ""
        of_models = [[ModelLine(data, group.condition, line.model, line.is_null) for group in pair] for line in pair[0].lines]

        def of(of_pair: int, metric: str, key: Any) -> Row | None:
            origin, lines = key
            row: Row | None = lines[of_pair].cell(metric, origin)
            return row

        columns: list[Column] = [
            column for i, group in enumerate(pair) for column in (
                (col("mAP ↑", group.condition.named), lambda key, i=i, of=of: cell(of(i, "map", key), 3, n=True)), (col("sd", "over wordings"), lambda key, i=i, of=of: td(number(value_of(of(i, "map_sd", key)), 3))),
                (col("Chance"), lambda key, i=i, of=of: null(of(i, "map", key), 3)), (col("mWS ↑", group.condition.named), lambda key, i=i, of=of: cell(of(i, "mws", key), 3, n=True)), (col("Chance"), lambda key, i=i, of=of: null(of(i, "mws", key), 3)),
            )
        ]  # fmt: skip
        numbers = table(f"mAP and mWS by origin and model in {language(code)}", [
            (left("Origin"), lambda key: name(key[0])), (left("Model"), lambda key: words(isolated(key[1][0].model))), *columns, (col("Country", "gain, p by Holm"), lambda key: _gained(key[1][-1], key[0])),
        ], [(origin, lines) for origin in data.origins(code) for lines in of_models], is_long=True, line=lambda key: "null" if key[1][0].is_null else "")  # fmt: skip
        figure = Figure(f"origins-{code}", "", _by_origin(data, pair), about=f"mAP by origin in {language(code)}")
        parts.append(Fold(language(code) + diamond, [figure, Fold("The numbers, with baselines", [numbers])], is_open=not at))
    return parts


def _languages(data: FmlamaData) -> list[Part]:
    if len(data.languages) == 1:
        return prose("This run is in {language} only. To compare languages, run with `--languages en,zh`.", language=language(data.languages[0]))
    bars = _by_language(data)
    country = all(group.condition.country for group in data.plain)  # only then the matrix of origins names it
    note = prose("The dish set was aligned: every dish has its name and ingredients in {languages}, so all languages have the same {n} dishes. The number of candidates still differs, and so does chance: compare how far each bar passes its orange mark and its diamond.", "note",
                 languages=", ".join(map(language, data.languages)), n=data.n_dishes(data.languages[0])) if data.params.get("aligned") else prose(
        "**Do not compare bars of different languages here.** The dish set was not aligned: each language has its own dishes and candidates, and more candidates make a harder task (the paper’s footnote 2). Compare models within a language, or run with `--aligned`.", "warning")  # fmt: skip
    return [*note,
        Figure("languages", "mAP over all dishes, by prompt language", bars, say("Stars as above, each a single test. The numbers are in the leaderboard."), about=f"mAP of {len({bar.panel for bar in bars.bars})} models by prompt language"),
        Figure("origin-languages", f"mAP by origin and prompt language, country {'named' if country else 'not named'}", _origin_matrix(data, country), say("Baselines have their own panels: a pattern that they share does not show knowledge of a model. × is not scored. The tables by origin above have intervals."), about="mAP by origin and prompt language"),
    ]  # fmt: skip


def _switching(data: FmlamaData) -> list[Part]:
    if data.switching.filter(pl.col("main_language") != pl.col("subject_language")).is_empty():
        return prose("This run has no code-switching. To add it, run with two languages and `--code-switching`.")
    title = "mAP by language of the sentence (rows) and of the dish’s name (columns)"
    switched = [group for group in data.groups if group.condition.main != group.condition.subject]
    return [
        Figure("switching", title, _switching_matrix(data), say("A frame means that both languages are the same. Under the other numbers is the change from the framed number of the row. Compare within a row only, since the sentence’s language decides the candidates. The country is not named. Baselines ignore the dish’s name, so their rows are constant.")),
        Fold("The numbers, with baselines", [table("Every pair of languages; compare models within one block only", [
            _model(), _precision(data), _null_of("map", digits=3), _of(data, "map_gain", "Gain ↑", "over best baseline", digits=3, sign=True, n=True), *_similarity(data), _of(data, "map_cv", "CV ↓", "over origins", n=True),
        ], _rows(switched), kind="leaderboard", is_long=True, line=_is_null, block_of=lambda key: key[0].condition.label)]),
    ]  # fmt: skip


def _errors(data: FmlamaData) -> list[Part]:
    parts: list[Part] = prose('For a dish with R ingredients, the top R predictions are checked under every wording. A false prediction is {local} if other dishes of the same origin contain it (a fine confusion), and **foreign** otherwise (a coarse one). An origin with few dishes has few local ingredients, so compare with chance: the foreign share of random errors. Inconsistency is 0 if all wordings have the same errors, and 1 if no error occurs twice. An ingredient may be listed twice: as local, and as foreign for the only dish of the origin that contains it.', "note", local=put('<strong class="local">local</strong>'))
    for at, group in enumerate(data.plain):
        condition = {"main_language": group.condition.main, "country_mentioned": group.condition.country}
        predicted = data.predicted.filter(**condition).partition_by("model", as_dict=True)
        errors = data.errors.filter(**condition).partition_by("origin", "model", as_dict=True)

        def most(key: Key, predicted: Any = predicted) -> Markup:
            rows = predicted[key[1].model,].to_dicts() if (key[1].model,) in predicted else []
            return words(Markup(" · ").join(put('{} <small title="{} times">{}, right {}</small>', _candidate(row), row["times"], percent(row["share"]), percent(row["correct"])) for row in rows))

        def of_origin(line: ModelLine, origin: str, errors: Any = errors) -> Markup:
            rows, foreign = errors[origin, line.model].to_dicts() if (origin, line.model) in errors else [], line.cell("error_foreign", origin)
            listed = [put('<li title="{} times">{} <small>{} <span class="{}">{}</span></small></li>', row["times"], _candidate(row), percent(row["share"]), row["outcome"], row["outcome"]) for row in rows]
            text = put('<ol class="frequent">{}</ol>', Markup("").join(listed)) if listed else small("no false prediction stored")
            if foreign:
                between = f" ({percent(foreign['ci_low'])} to {percent(foreign['ci_high'])})" if foreign["ci_low"] is not None else ""
                hover = foreign["unscored_reason"] or f"{foreign['n_scored']} dishes with errors, {foreign['n_unscored']} without"
                text += put('<small title="{}">foreign {}{}{}chance {}, n {}</small>', hover, percent(foreign["value"]), between, BREAK, percent(foreign["null_value"]), foreign["n_scored"])
            return words(text)

        origins = data.origins(group.condition.main)

        def named(origin: str, origins: Any = origins) -> Markup:
            return name(origin, ("plain", f"{'–' if origins[origin] is None else origins[origin]} dishes"))

        parts.append(Fold(group.condition.label, [
            table(f"Kinds of false predictions, and what is predicted most often: {group.condition.label}", [
                _model(False), _of(data, "error_foreign", "Foreign", "of false predictions", digits=3, n=True), _null_of("error_foreign", digits=3), _of(data, "error_inconsistency", "Inconsistent ↓", "over wordings", digits=3, n=True),
                (left("Predicted most often, all origins", "share of all predictions, share of these that is right"), most),
            ], _rows([group]), line=_is_null),
            Fold("Most frequent false predictions by origin", [table("Shares are of the origin’s false predictions. Under them: the share that is foreign, and that share by chance.", [
                (left("Origin"), named),
                *((left(isolated(line.model), "baseline" if line.is_null else ""), lambda origin, line=line, of_origin=of_origin: of_origin(line, origin)) for line in group.lines),
            ], origins, kind="errors", is_long=True)], is_open=not at),
        ], is_open=not at))  # fmt: skip
    return parts


def _candidate(row: Row) -> Markup:
    return put('<bdi dir="auto" lang="{}">{}</bdi>', row["main_language"], row["candidate"])


def _mes(data: FmlamaData) -> list[Part]:
    parts: list[Part] = []
    for group in _judged(data):
        judges = [say("**{judge}** (rubric `{rubric}`; {n} predictions, {lost} without a readable verdict)", judge=isolated(row["judge"]), rubric=row["rubric"], n=row["n_verdicts"], lost=row["n_unscored"]) for row in data.judged.to_dicts()]
        own = [line.model for line in group.models if line.model in data.judged["judge"].to_list()]
        parts += prose("The judge {judges} marked top predictions Correct, Maybe or Incorrect: {condition}, first wording, at most {most} dishes of each origin. MES is the share of Correct; the small number below it is the share of Maybe.", judges=Markup(", ").join(judges), condition=group.condition.label, most=data.params.get("judged_dishes_per_origin", "–"))
        parts += prose("**A judge that was not validated against people proves little.** It may accept anything edible as an ingredient. So compare with the baselines, which the same judge marked: only a higher MES is evidence for the model." + (" {own} judged its own predictions." if own else ""), "warning", own=isolated(", ".join(own)))

        def score(line: ModelLine, origin: str | None) -> Markup:
            row = line.cell("mes", origin)
            return cell(row, note=f"Maybe {number(value_of(line.cell('mes_maybe', origin)))}, {counts(row)}" if row else "")

        parts.append(table(f"Manual evaluation score by origin: {group.condition.label}", [
            (left("Origin"), lambda origin: name(origin or "ALL")),
            *((col(isolated(line.model), ("baseline: " if line.is_null else "") + "MES ↑"), lambda origin, line=line, score=score: score(line, origin)) for line in group.lines),
        ], [None, *data.origins(group.condition.main)]))  # fmt: skip
    return parts or prose("This run has no judge. For the manual evaluation score (MES), run with `--judges MODEL`.")


def _lead(data: FmlamaData) -> list[Part]:
    lines = [line for group in data.plain for line in group.models if line.map is not None]
    beating, first = sum(line.beats_baseline for line in lines), data.plain[0]
    n, turned = len(first.models), sorted({model for group in data.plain for model in group.turned})
    claim = (
        "**No model has an average precision, so none is compared with naming common ingredients.**" if not lines
        else "**Under every condition, every model is shown to know more than which ingredients are common.**" if beating == len(lines)
        else f"**No model is shown to know more than which ingredients are common{', so the order of models is not a finding' if n > 1 else ''}.**" if not beating
        else f"**In {beating} of {len(lines)} combinations of model and condition, the model is shown to know more than which ingredients are common.**")  # fmt: skip
    depends = " This depends on the [score of a candidate](#poolings): under another one, the verdict changes for {turned}." if turned else ""
    shown = partial(number, digits=3)
    own = {model: value for model in data.overall["model"] if is_null(model) and (value := data.value(model, "map")) is not None}
    base = max(own, key=lambda model: own[model], default="")
    text = "{models}, {origins} origins, {languages}."
    if rows := scored(data, "map"):
        text += " {best}. A random ranking scores {chance}" + (", and the baseline {base}, which knows no dish, scores {own}." if base else ".")
    facts = prose(
        text, "lead", models=plural(n, "model"), origins=data.dishes["origin"].n_unique(), languages=", ".join(map(language, data.languages)),
        best=best(data, "map", "mAP over all conditions", shown), chance=nulls(rows, shown) or "–", base=base, own=shown(own.get(base)),
    )  # fmt: skip
    return [Text(say(claim + depends, turned=names(turned)), "lead verdict"), *facts]


def _page(data: FmlamaData) -> Page:
    params = data.params
    worst = [value_of(line.cell("unspellable_candidates")) for group in data.plain for line in group.models]
    n_worst = max((int(n) for n in worst if n is not None), default=0)
    dishes = ", ".join(f"{data.n_dishes(code)} in {language(code)}" for code in data.languages)
    pooling = params.get("pooling", "")
    score = f"the {_OF_TOKENS[pooling]}{' (equation 2)' if pooling == 'mean_probability' else ''}" if pooling in _OF_TOKENS else "not recorded"
    long = "; a long and predictable rest of the sentence makes all means similar, so these scores say less than those of models that fill a blank"
    return Page(
        title="what dishes are made of", heading="Do language models know what the world’s dishes are made of?", resampled="dishes",
        differing="dishes, languages, wordings or arithmetic",
        made_from="the views leaderboard_fmlama, report_value, fmlama_code_switching, fmlama_frequent_error and fmlama_frequent_prediction. Task, metrics and figures follow Zhou et al. 2025, “Does Mapo Tofu Contain Coffee?”; baselines, intervals and tests are added.",
        lead=_lead(data),
        picture=picture("Gain in mAP over the best baseline, which knows no dish", [(line.model, group.condition.label, line.cell("map_gain")) for group in data.plain for line in group.models],
                        "The best baseline is the best of a random ranking and two that name common ingredients."),
        facts={
            "Dishes": f"{dishes} (set {params.get('dish_set', '–')})", "Wordings": f"{len(params.get('variants', []))} of each template",
            "Score of a candidate": _OF_TOKENS.get(params.get("pooling", ""), "–"),
        },
        board=[_board(data)],
        sections=[
            Section("reading", "How to read this", _reading(data)), *_poolings(data),
            Section("country", "Does naming the country help?", _country(data)),
            Section("languages", "Which language does it know dishes in?", _languages(data)),
            Section("switching", "Does it know a dish’s name in another language?", _switching(data)),
            Section("errors", "What does it get wrong?", _errors(data)), Section("mes", "What does a judge say?", _mes(data)),
            Section("spread", "Which numbers are correlated over origins?", [
                *prose("Do origins with a high mAP have a high mWS? Do origins with many dishes have higher scores?", "note"),
                Fold("Correlations", [table("Pearson’s r over origins (0: unrelated)", [
                    _model(False), *(_of(data, f"{metric}_correlation", label, "r", sign=True, n=True) for metric, label in (("map_mws", "mAP and mWS"), ("map_count", "mAP and dishes"), ("mws_count", "mWS and dishes"))),
                ], _rows(data.plain), line=_is_null, block_of=lambda key: key[0].condition.label)]),
            ]),
        ],
        made=prose(_MADE, score=score, long=long if params.get("pooling") == "mean_probability" else "", worst=f" (at most {n_worst} here)" if n_worst else "",
                   top=params.get("baseline_top", "k"), vectors=params.get("word_vectors", "–")),
    )  # fmt: skip


_MADE = """
### Ranking
Each sentence has a blank, and every ingredient of the dish set is a candidate for it. A candidate’s score is {score}. For decoder-only models this includes the tokens after the blank{long}. Candidates that a model cannot spell rank last{worst}.
### Average precision
Equation 4: at the rank of each of the dish’s R reference ingredients, take the share of references among all candidates up to that rank; average precision is the sum of these shares divided by R. **Ties** count as the mean over all orders of the tied candidates (McSherry and Najork 2008), so the order of the input changes nothing, and a model with equal scores for all candidates scores exactly chance. A dish’s value is the mean over its wordings, and mAP is the mean over dishes; ± is the standard deviation (ddof 1) over the wordings’ mAP.
### Chance and baselines
Chance is the exact expectation for a random ranking of the same candidates. `null:common` names the {top} most common ingredients of all other dishes, `null:common-of-origin` those of the other dishes of the same origin; all other ingredients are tied behind them. The dish itself is left out of the counts, and equation 4 applies as for models. The gain is the difference, dish by dish, from the best of the three by mAP in that condition.
**The column “dumb” of Zhou et al. 2025, table 1, is not such a baseline.** It does not follow their equation 4: it divides by the number of hits instead of the number of ingredients, and gives 1/874 to a dish without a hit. On the shipped dishes of the paper’s groups, that rule gives 32.1 % and equation 4 gives 15.8 %. By equation 4, the comparison with BERT is reversed.
### Word similarity
Equations 6 to 8: for each reference ingredient, the cosine to the most similar of the top R predictions (R: number of references); then the mean over ingredients, and over dishes. Vectors: `{vectors}`. A pair with a zero or missing vector is unscored and counted.
### Unevenness
CV is the standard deviation (ddof 1) over the mean of the origins’ mAP. Zhou et al. 2025 print 100 times this number, and count their row ALL as a fifteenth origin, which usually lowers the CV. With few dishes the origins’ mAP differ more by chance, so the lower end of the interval is lowered by the jackknife’s estimate of that bias.
### Naming the country
The country gain is the difference of a dish’s average precision with and without the country in the sentence. The test is a two-sided Wilcoxon signed-rank test over at least six dishes, with Pratt’s rule for equal pairs. The origins’ p-values are Holm-adjusted together; that of all dishes is a single test.
### False predictions
The paper names the patterns without formulas; these are ours. Foreign share: mean over dishes with errors. Inconsistency: 1 minus the mean Jaccard similarity of a dish’s false predictions over pairs of wordings.
### Judged predictions
MES (equations 9 and 10) is the share of a dish’s top predictions that the judge marks Correct, mean over dishes. A prediction counts once, even if the judge gives two reasons; one without a readable verdict is unscored.
### Intervals
Intervals are at 95 %, over dishes. With fewer than five dishes there is no interval; a correlation over origins has one if origins have at least 100 dishes on average.
"""

REPORT = Report("report-fmlama.html", FmlamaData, _page)
