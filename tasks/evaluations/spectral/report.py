"""Declares what the spectral page shows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl
from markupsafe import Markup

from tasks.evaluations.spectral.panel import CHOICES
from tasks.evaluations.spectral.sampling import MIN_DOMAINS, counted, order_agreement
from tasks.evaluations.spectral.study import ENGLISH, SAMPLED
from tasks.report import Badge, Frames, Row, in_order_of, value_of, view
from tasks.report.bars import Bars, Legend, bar_of
from tasks.report.cache import digest
from tasks.report.cells import cell, col, isolated, left, name, names, put, small, td, th, words
from tasks.report.clusters import MOST_LABELS, Clusters, Matrix, cluster, matrix_of, neighbours
from tasks.report.forest import Chart, is_clear, picture
from tasks.report.page import Report
from tasks.report.parts import Box, Figure, Fold, Page, Part, Section, Text, bullets, prose, say
from tasks.report.ranks import best, nulls, scored
from tasks.report.sentences import cohort_of_page
from tasks.report.spectra import Ranks, Spectrum
from tasks.report.tables import Column, Numbers, is_null, table
from tasks.report.text import compact, listed, number, percent, plural, short

LOOK_UP = "null:list-frequency"
SHUFFLED = "null:shuffled("
MOST_MODELS = 8
"""Number of models that get maps, best macro-F1 first; nobody could compare the 450 maps of fifty models."""
CHOICE_NAMES = {
    "sum": "sum over an item’s tokens", "per_token": "mean over its tokens", "per_byte": "mean over its bytes",
    "pmi": "corrected by the item’s mean over countries", "half_list": "half of each item list",
}  # fmt: skip
"""Choice of the panel -> its words; of "without MODEL" they are its own."""
_PROBABILITIES = {"sum": "sum over its tokens", "per_token": "mean over its tokens", "per_byte": "mean over its bytes"}
_PANELS = {
    "macro_f1": "Macro-F1\nmean of the four", "f1_LH": "LH\nfew patterns, shared", "f1_HL": "HL\nmany, not shared",
    "f1_HH": "HH\nmany, shared core", "f1_LL": "LL\nfew, in blocks",
}  # fmt: skip
_F1 = Legend(("model",), "what guessing scores on average", end=1.0)
_NEARLY_ALIKE = 0.999


@dataclass(frozen=True, kw_only=True)
class SpectralData(Frames):
    """The frames of one configuration. SR may be infinite."""

    by_question: pl.DataFrame = view("spectral_by_domain")
    similarity: pl.DataFrame = view("spectral_similarity")
    domains: pl.DataFrame = view("spectral_domain")
    cohort: pl.DataFrame = view("report_cohort")
    doubts: pl.DataFrame = view("report_doubt")
    calibration: pl.DataFrame = view("spectral_calibration")
    languages: pl.DataFrame = view("spectral_language")
    own_language: pl.DataFrame = view("spectral_own_language")

    @property
    def is_sampled(self) -> bool:
        """Whether the distributions are shares of written answers."""
        return self.params.get("elicit") in SAMPLED

    @cached_property
    def competence(self) -> dict[tuple[str, str], dict[str, float | None]]:
        """Return (model, domain) -> country -> its loading on the pattern that all countries share."""
        own = self.values.filter(~pl.col("is_null"), metric="competence", slice_kind="domain_country")
        loadings: dict[tuple[str, str], dict[str, float | None]] = {}
        for model, where, value in own.select("model", "slice", "value").iter_rows():
            domain, country = where.split("/")
            loadings.setdefault((model, domain), {})[country] = value
        return loadings

    @cached_property
    def run_countries(self) -> pl.DataFrame:
        """Return the countries of the questions: country, name, region."""
        codes = {country for loadings in self.competence.values() for country in loadings}
        return self.countries.filter(pl.col("country").is_in(codes))

    @cached_property
    def verdicts(self) -> dict[str, Doubts]:
        """Return a verdict on every model except null models.

        A model's shuffled copy is not compared with it: both have the same categories by construction
        (``shuffled_copies``).
        """
        rows = self.leaderboard.to_dicts()
        look_up = next((row["macro_f1"] for row in rows if row["model"] == LOOK_UP), None)
        doubts = self.doubts.filter(metric="macro_f1")
        return {row["model"]: _verdict(row, doubts.filter(model=row["model"])["reason"].to_list(), look_up) for row in rows if not row["is_null"]}

    @cached_property
    def choices(self) -> dict[str, dict[str, float | None]]:
        """Return choice -> model -> macro-F1, None: unscored; the headline's choice is among them."""
        rows = self.values.filter(~pl.col("is_null"), metric="macro_f1_under", slice_kind="choice")
        choices: dict[str, dict[str, float | None]] = {}
        for model, choice, value in rows.select("model", "slice", "value").iter_rows():
            choices.setdefault(choice, {})[model] = value
        first = [choice for choice in CHOICES if choice in choices]
        return {choice: choices[choice] for choice in (*first, *sorted(choices.keys() - set(first)))}

    @cached_property
    def reversals(self) -> dict[str, int]:
        """Return choice -> number of pairs of models that change places against the headline, if any."""
        own = {m: value for m in self.models if (value := self.value(m, "macro_f1")) is not None}
        counts = {}
        for choice, values in self.choices.items():
            known = [m for m in own if values.get(m) is not None]
            counts[choice] = sum(own[a] > own[b] and (values[a] or 0) < (values[b] or 0) for a in known for b in known)
        return {choice: n for choice, n in counts.items() if n}


@dataclass(frozen=True)
class Doubts:
    """Reasons to doubt one model's macro-F1; empty lists: none. is_below: whether its whole interval lies
    below what guessing scores.
    """

    guessing: list[str]
    look_up: list[str]
    is_below: bool = False

    @property
    def badges(self) -> list[Badge]:
        """Return the badges beside the model’s name."""
        doubts: list[Badge] = [("warn", "scores less than guessing" if self.is_below else "not shown to beat guessing")] if self.guessing else []
        doubts += [("warn", "no better than a list look-up")] if self.look_up else []
        return doubts or [("good", "better than guessing")]


def _verdict(row: Row, doubts: list[str], look_up: float | None) -> Doubts:
    """Judge one model. doubts: reasons from the warehouse other than the interval; look_up: macro-F1 of the
    reference list.
    """
    own, low, high, expected = (row[side] for side in ("macro_f1", "ci_low", "ci_high", "null_macro_f1"))
    if own is None:
        return Doubts(["it has no macro-F1"], [])
    guessing = [*doubts]
    if low is None:
        guessing.insert(0, "its macro-F1 has no interval")
    elif expected is not None and low <= expected:
        guessing.insert(0, f"its 95 % interval is {low:.2f} to {high:.2f}; guessing scores {expected:.2f} on average")
    above = look_up is not None and look_up >= own
    better = [f"{LOOK_UP} scores {look_up:.2f}, the model {own:.2f}"] if above else []
    return Doubts(guessing, better, None not in (high, expected) and high < expected)


def shuffled_copies(leaderboard: pl.DataFrame) -> list[str]:
    """Return the models whose shuffled copy has at least the same macro-F1."""
    value = dict(leaderboard.select("model", "macro_f1").rows())
    copies = {model: value.get(f"{SHUFFLED}{model})") for model in value}
    return [model for model, own in value.items() if own is not None and (copy := copies[model]) is not None and copy >= own]


def own_items(data: SpectralData) -> Row | None:
    """Return the reference mass on a domain of the model with most probability on countries' own items: the one
    that is farthest beyond its null, the mass under another country's answer. None if unscored.
    """
    rows = data.values.filter(
        ~pl.col("is_null"), pl.col("value").is_not_null(), pl.col("null_value").is_not_null(), metric="reference_mass", slice_kind="domain",
    )  # fmt: skip
    overall = {m: data.value(m, "reference_mass") for m in data.models}
    known = [row for row in rows.to_dicts() if overall.get(row["model"]) is not None]
    if not known:
        return None
    model = max(sorted({row["model"] for row in known}), key=lambda m: overall[m] or 0.0)
    of_model = [row for row in known if row["model"] == model]
    own = [row for row in of_model if row["ci_low"] is not None] or of_model  # one country shows little
    own = [row for row in own if is_clear(row)] or own
    return max(own, key=lambda row: (row["value"] - row["null_value"], row["slice"]))


def _picture(data: SpectralData, model: str) -> Chart | None:
    """Return the probability on a country's own items by domain, next to that of another country's answer."""
    lines = [(d["label"], "", data.find(model, "reference_mass", "domain", d["domain"])) for d in data.domains.to_dicts()]
    scored = sorted((line for line in lines if value_of(line[2]) is not None), key=lambda line: -(value_of(line[2]) or 0.0))
    return picture(f"{short(model)}: probability on the country’s own items, by domain", scored, "The null model’s answer is another country’s.")


def _words_of(choice: str) -> Markup:
    return put("{}", CHOICE_NAMES[choice]) if choice in CHOICE_NAMES else put("medians without {}", isolated(choice.removeprefix("without ")))


def _lead(data: SpectralData, known: Row | None) -> list[Part]:
    parts: list[Part] = []
    if data.reversals:
        changes = Markup("; ").join(put("{} ({})", _words_of(choice), plural(n, "pair")) for choice, n in data.reversals.items())
        parts += prose("**The order of models by macro-F1 depends on choices that are not about culture.** It changes under {changes}: see [the panel](#robustness).", "lead", changes=changes)
    if known:
        label = data.domains.filter(domain=known["slice"])["label"].first() or known["slice"]
        parts += prose("**Asked about {domain}, {model} puts {own} of its probability on the country’s own items; answers given for other countries put {other} on them"
                       + (".**" if is_clear(known) else ", and the difference may be chance.**"), "lead verdict",
                       domain=str(label).lower(), model=isolated(known["model"]), own=number(known["value"]), other=number(known["null_value"]))
    rows = scored(data, "macro_f1")
    shown, n = [m for m, verdict in data.verdicts.items() if not verdict.guessing + verdict.look_up], len(data.models)
    if rows:
        claim = (
            "Every model is shown to beat guessing and a list look-up." if len(shown) == n
            else f"{len(shown)} of {n} models {'is' if len(shown) == 1 else 'are'} shown to beat guessing and a list look-up: {{shown}}." if shown
            else f"**No model is shown to beat both guessing and a list look-up{', so the order of models is not a finding' if n > 1 else ''}.**")  # fmt: skip
        text = f"Macro-F1 says how well a model sorts the domains as people do. {{best}}; guessing scores {{null}} on average. {claim}"
        values = {"best": best(data, "macro_f1", "macro-F1"), "null": nulls(rows) or "–", "shown": ", ".join(shown)}
    else:
        text, values = "No model has a macro-F1 yet: see [what is unscored](#unscored).", {}
    return parts + prose(f"{plural(n, 'model')}, {data.run_countries.height} countries, {data.domains.height} domains. " + text, "lead", **values)


def _board(data: SpectralData) -> Part:
    of, rows = Numbers(data), {row["model"]: row for row in data.leaderboard.to_dicts()}

    def people(m: str) -> Markup:
        low, high = rows[m]["with_people_low"], rows[m]["with_people_high"]
        return td(small("–" if low is None else f"{number(low)} to {number(high)}"))

    return table("Null models are below the line. ↑: higher is better; ↓: lower is better; –: not scored. The end of the page has counts and reasons for every number.", [
        (left("Model"), lambda m: name(m) if rows[m]["is_null"] else name(m, *data.verdicts[m].badges)), *of.ranks(), of("macro_f1", "Macro-F1 ↑", "95 % interval", strong=True),
        of.axis("macro_f1", 0, 1, below="orange: guessing"), of.null("macro_f1", "Guessing", "on average"), (col("With people", "95 % interval"), people),
        *((data.head(f"f1_{each}", f"{each} ↑", "F1"), lambda m, each=each: td(number(rows[m][f"f1_{each.lower()}"]))) for each in ("LH", "HL", "HH", "LL")),
        of("rank_spearman", "ρ ↑", "people’s order", sign=True), of("rank_kendall", "τ ↑", "people’s order", sign=True), of("er_sr_correlation", "ER–SR ↓", "correlation", sign=True),
        of("reference_mass", "Own items ↑", "probability", digits=3, null=True), (col("Coverage", "scored"), lambda m: td(percent(rows[m]["coverage"]))),
    ], rows, id="board", kind="leaderboard", line=is_null)  # fmt: skip


def _reading(data: SpectralData) -> list[Part]:
    lines = []
    for model, verdict in data.verdicts.items():
        if verdict.guessing or verdict.look_up:
            text = (f" {'scores less than guessing' if verdict.is_below else 'is not shown to beat guessing'}: {'; '.join(verdict.guessing)}." if verdict.guessing else "") + (
                f" {'It is' if verdict.guessing else 'is'} no better than looking the answers up in the reference list: {'; '.join(verdict.look_up)}." if verdict.look_up else "")  # fmt: skip
            lines.append(put("<strong>{}</strong>{}", isolated(model), text))
    warning = [Box("warning", [Text(say("**What these numbers do not show**"), tag="div"), bullets(lines)])] if lines else []
    cohort, shuffled = cohort_of_page(data.cohort), shuffled_copies(data.leaderboard)
    score = "all models score" if len(shuffled) == len(data.models) else ", ".join(shuffled) + (" scores" if len(shuffled) == 1 else " score")
    return [*warning, *prose("""
Each model is asked the same questions about every country (“The currency used in … is”), and gives a probability to every item of a list. Two numbers describe how the answers to a domain differ between countries. The **effective rank (ER)** counts patterns: it is 1 if all countries get the same answer, and {countries} if no two countries share an item. The **spectral gap ratio (SR)** says how far the strongest pattern outweighs the second: it is 1 if both are equally strong, as for two groups of countries of the same size, and ∞ if all countries get the same answer.
Each number is High above the median and Low below it, and the two letters give a category. **LH**: few patterns, shared by all countries (house numbers). **HL**: many patterns, not shared (currency). **HH**: many patterns around a shared core (food). **LL**: few patterns that divide countries into blocks (religion). **Macro-F1** compares these categories with those that people expect; 1 is full agreement.
The medians are those of a cohort, by default the models of the first finished run; `--cohort` names another. A cohort is frozen, so a later model changes no category; another cohort has its own leaderboard.{cohort} The interval covers the choice of countries; the one *with people* also covers the choice of the people whose mean ranks give the second letter of the expected categories (the first letter was agreed by a few annotators). Neither covers other wordings or other domains, and {domains} domains are few.
The **null models** know nothing about countries. *uniform-by-domain* draws the category of each domain at random (its interval holds 95 % of the draws). *always-LH* gives every domain the category LH. *list-frequency* looks each country up in the reference lists and uses no model. *shuffled* assigns a model’s answers to countries at random. A model that beats the first two is better than guessing; one that also beats the third knows more than the lists.""",
        countries=data.run_countries.height, domains=data.domains.height, cohort=say(" **Here: {cohort}.**", cohort=isolated(cohort)) if cohort else ""),
        *(prose("**Macro-F1 does not show whether a model knows which country is which.** If answers are assigned to countries at random (null:shuffled), {score} as much or more. So read macro-F1 together with the probability on a country’s own items, whose null is the probability under another country’s answer.", score=score) if shuffled else []),
    ]  # fmt: skip


def _ranked_by(data: SpectralData) -> str | None:
    """Return the number of people who ranked the domains, in words; None if nobody did."""
    known = sorted(set(data.domains["human_n"].drop_nulls()))
    return f"{' to '.join(map(str, dict.fromkeys((known[0], known[-1]))))} participants" if known else None


def figures(data: SpectralData) -> list[Part]:
    """Return the figures without shuffled copies, whose ER, SR and categories equal their model's."""
    copies = pl.col("model").str.starts_with(SHUFFLED)
    shown = data.leaderboard.filter(~copies)
    lines = shown.select("model", "is_null").rows()
    bars = [bar_of(title, m, row, is_null=null) for metric, title in _PANELS.items() for m, null in lines if (row := data.find(m, metric))]
    f1 = Bars(bars, {m: short(m) for m, _ in lines}, _F1, per_row=len(_PANELS))
    n_questions, n_countries, ranked = data.by_question["question"].n_unique(), data.run_countries.height, _ranked_by(data)
    parts: list[Part] = [Figure("category-f1", "F1 of each category: a longer bar is better if it passes the orange mark", f1, say("n = {n} questions. The first letter is effective rank, the second is spectral gap ratio; H is High, L is Low. Shuffled copies of the models are left out here and below, since their ER, SR and categories equal their model’s.", n=n_questions), about=f"F1 of each category for {len(lines)} models and null models")]
    by_question = in_order_of(data.by_question.filter(~copies), data.leaderboard["model"].to_list())
    own = by_question.filter(~pl.col("is_null"))
    if own.is_empty():
        return parts
    of = f"of {by_question['model'].n_unique()} models and {n_questions} questions"
    random = data.doubts.filter(metric="rank_spearman").to_dicts()
    doubt = " Not shown to differ from a random order: {models} ({reason})." if random else ""
    hatched = "; a hatched ∞ means that all countries get the same answer" if data.by_question["spectral_gap_ratio"].is_infinite().any() else ""
    return [*parts,
        Figure("effective-rank", "Effective rank: number of patterns in a model’s answers", Spectrum(by_question, "effective_rank"), say("Each cell has 1 to {n} patterns (n = {n} countries). A cell agrees with people if its letter is the first letter of people’s category: H for many patterns, L for few. Domains are in people’s order from common to unique; Q1 to Q3 are wordings. × is not scored.", n=n_countries), about=f"Effective rank {of}"),
        Figure("spectral-gap-ratio", "Spectral gap ratio: lead of the strongest pattern", Spectrum(by_question, "spectral_gap_ratio"), say(f"Ratio of the two largest eigenvalues, at least 1{hatched}. A cell agrees with people if its letter is the second letter of people’s category."), about=f"Spectral gap ratio {of}"),
        Figure("ranks", "Order of domains from common to unique: full agreement is the dashed diagonal", Ranks(own, data.leaderboard.filter(~pl.col("is_null"))), say("From top to bottom: people’s order, with their mean rank ({low}). From left to right: the model’s order by descending SR. Small dots are wordings; the large dot is their mean and the line their range. ρ and τ are means over wordings; their intervals are over countries, not domains." + doubt,
               low=f"{ranked}; low is common" if ranked else "low is common", models=names(row["model"] for row in random), reason=random[0]["reason"] if random else ""), about="Rank of each domain by people and by each model"),
    ]  # fmt: skip


def _robustness(data: SpectralData) -> list[Section]:
    def choice(key: str) -> Markup:
        shown = put("<strong>{}</strong>", _words_of(key)) if key in data.reversals else _words_of(key)
        return th(shown + (put(" <small>(the headline)</small>") if key == data.params["normalisation"] else ""))

    shown = table("Macro-F1 from the same stored scores under other choices. In bold: a choice under which two models change places. Corrected by the mean over countries: the item’s probability for a country over its probability for all countries (pointwise mutual information); a score of the items without any country is not stored. Without a model: the medians are those of the cohort’s other models.", [
        (left("Choice"), choice), *((col(isolated(m)), lambda key, m=m: td(number(data.choices[key].get(m)))) for m in data.models),
    ], data.choices, id="panel")  # fmt: skip
    return [Section("robustness", "Does the order of models depend on choices?", [shown])] if data.choices else []


def _sampled(data: SpectralData) -> list[Section]:
    """Return what sampled numbers can say, and how far they agree with log-probabilities of the same models."""
    if not data.is_sampled:
        return []
    on_list = data.values.filter(~pl.col("is_null"), metric="answers_on_list")
    domain_of = dict(data.by_question.select("question", "domain").unique().rows())

    def agreement(m: str, sampled: str, exact: str) -> Markup:
        pairs = data.calibration.filter(model=m)
        domains = [domain_of[question] for question in pairs["question"]]
        found = order_agreement(pairs[sampled].to_numpy(), pairs[exact].to_numpy(), domains)
        if found is None:
            return td("–")
        rho, ends = found
        interval = put("{} to {}", *(number(end, 2, True) for end in ends)) if ends else "no interval"
        return td(put("{} <small>{}</small>", number(rho, 2, True), interval))

    def named(m: str) -> Markup:
        shares = on_list.filter(model=m)["value"].mean()
        return td(percent(shares) if isinstance(shares, float) else "–")

    draws = data.params["draws"]
    constrained = " A schema let an answer be nothing but one item, so its distribution is not that of free text: an item whose beginning is likely gains, and a server may show the model the list. For two small models on record, the order of questions was not shown to agree with that by log-probabilities." if data.params["elicit"] == "constrained" else ""
    text = prose("**Distributions here are shares of written answers, not log-probabilities.** Each model wrote {draws} answers for every country and question, at temperature {temperature}; {counted} that name an item of the list count.{constrained} Fewer draws give more patterns, whatever the model knows, so effective rank and gap ratio compare only with numbers of as many draws, never with those of log-probabilities. Their null is what the same answers give if all countries share one distribution. Few draws change the order of questions too: the table says how far the order of questions agrees with that by log-probabilities, for models that were run both ways with the same countries and items.",
        draws=draws, counted=counted(draws), temperature=data.params["temperature"], constrained=constrained)  # fmt: skip
    shown = table(f"Rank correlation over questions between written answers and log-probabilities, with its 95 % interval over domains (none below {MIN_DOMAINS}, or if no domain changes it); –: the model was not run both ways, as no model of a server can be", [
        (left("Model"), lambda m: name(m)), (col("Answers on the list", "share"), named),
        (col("ER", "rank correlation"), lambda m: agreement(m, "sampled_er", "effective_rank")), (col("SR", "rank correlation"), lambda m: agreement(m, "sampled_sr", "spectral_gap_ratio")),
    ], data.models, id="calibration")  # fmt: skip
    return [Section("sampled", "What can written answers say?", [*text, shown])]


def _languages(data: SpectralData) -> list[Section]:
    """Return what the languages of the run share, model by model."""
    if data.languages.is_empty():
        foreign = set(data.params.get("languages") or ()) - {ENGLISH}
        return [Section("languages", "In which language?", prose("**The questions and names are in {language}, translated for this project and not checked by speakers.** Below, questions are shown in English.", language=", ".join(foreign)))] if foreign else []
    of = Numbers(data)
    shown = dict(data.languages.select("language", "language_name").unique().rows())
    codes = list(dict.fromkeys(data.languages["language"]))
    kept = {code: {row["slice"].partition("/")[2] for row in data.values.filter(slice_kind="language_domain").to_dicts() if row["slice"].startswith(f"{code}/")} for code in codes[1:]}
    absent: dict[str, list[str]] = {}
    for code in codes[1:]:
        labels = ", ".join(row["label"] for row in data.domains.to_dicts() if row["domain"] not in kept[code])
        absent.setdefault(labels, []).append(shown[code])
    lost = [put("{}: {}", listed(there), labels) for labels, there in absent.items() if labels]
    text = prose("""**Questions and names in other languages were translated for this project, translated back, and not checked by speakers.** All languages have the same countries and items; a domain whose items have no names in a language is left out there.{lost} The leaderboard above is that of {first}.
Do two languages agree on which countries are alike? The *agreement* is the rank correlation of the similarities between countries, mean over domains; 0 for shuffled countries, whose p is adjusted for all pairs of languages. Effective ranks and the order of domains agree for any model to some degree, because lists differ: their null keeps the lists and breaks the countries. **A model that translates the question first, or that has learnt one store of facts, agrees with itself: these numbers do not say which.** English questions are the paper’s, the others name the country first and end with a colon, so English differs from them by its form too.""",
        lost=say(" Left out in {lost}.", lost=Markup("; ").join(lost)) if lost else "", first=shown[codes[0]])  # fmt: skip
    summary = table("Agreement over all pairs of languages, with 95 % intervals over countries; p of shuffled countries", [
        (left("Model"), lambda m: name(m)), of("language_agreement", "Agreement ↑", "of maps", sign=True, strong=True, null=True), of("language_agreement_p", "p", digits=3),
        of("er_agreement", "Effective ranks", "agreement", sign=True, null=True), of("order_agreement", "Order of domains", "agreement", sign=True, null=True),
        of("own_language_advantage", "Own language", "own items against English", digits=3, sign=True, null=True),
    ], data.models, id="languages-all")  # fmt: skip
    folds = [Fold(isolated(m), [_of_languages(data, m, codes, shown)], is_open=len(data.models) == 1) for m in data.models]
    return [Section("languages", "Do languages agree?", [*text, summary, *folds, *_own_languages(data, shown)])]


def _of_languages(data: SpectralData, m: str, codes: list[str], shown: Mapping[str, str]) -> Part:
    """Return a model’s matrix of languages, beside its numbers in each."""
    def pair(row: str, column: str) -> Markup:
        first, second = sorted((row, column), key=codes.index)
        found, p = (data.find(m, metric, "language_pair", f"{first}/{second}") for metric in ("language_agreement", "language_agreement_p"))
        return td("") if row == column else cell(found, 2, sign=True, note="" if value_of(p) is None else f"p {number(value_of(p), 3)}")

    def own(metric: str, code: str) -> Row | None:
        return data.find(m, metric, *(("overall", "all") if code == codes[0] else ("language", code)))

    return table("Agreement of maps between two languages with its 95 % interval and p; macro-F1 and own items in each language, over the domains that it has", [
        (left("Language"), lambda code: th(shown[code])), *((col(shown[column]), lambda code, column=column: pair(code, column)) for column in codes),
        (col("Macro-F1"), lambda code: cell(own("macro_f1", code), null=True, n=True)), (col("Own items"), lambda code: cell(own("reference_mass", code), 3, null=True)),
    ], codes)  # fmt: skip


def _own_languages(data: SpectralData, shown: Mapping[str, str]) -> list[Part]:
    """Return the countries whose main language is in the run, those with the largest mean gain first."""
    gains = data.own_language.filter(~pl.col("is_null"), pl.col("advantage").is_not_null())
    if gains.is_empty():
        return []
    order = gains.group_by("country", "name", "language").agg(pl.col("advantage").mean()).sort("advantage", "country", descending=[True, False])
    p = {(row["model"], row["country"]): row["p_holm"] for row in gains.to_dicts()}

    def gain(m: str, country: str) -> Markup:
        adjusted = p.get((m, country))
        return cell(data.find(m, "own_language_advantage", "country", country), 3, sign=True, null=True, strong=adjusted is not None and adjusted < 0.05, note="" if adjusted is None else f"p {number(adjusted, 3)}")

    return [table("Own-language advantage: probability of a country’s own items when asked in its main language, less that in English, with a 95 % interval over wordings; null: what that language adds for the countries whose main language it is not. In bold: p below 0.05, by Holm for all these countries. The largest mean comes first.", [
        (left("Country"), lambda row: th(row["name"])), (left("Language"), lambda row: words(shown.get(row["language"], row["language"]))),
        *((col(isolated(m)), lambda row, m=m: gain(m, row["country"])) for m in data.models),
    ], order.to_dicts(), id="own-language", is_long=True)]  # fmt: skip


def _countries(data: SpectralData) -> list[Part]:
    def mass(m: str, domain: Row) -> Markup:
        row = data.find(m, "reference_mass", "domain", domain["domain"])
        return td(None if row is None or row["value"] is None else put("{} <small>({})</small>", number(row["value"], 3), number(row["null_value"], 3)))

    def wordings(m: str, domain: Row) -> Markup:
        row = data.find(m, "paraphrase_agreement", "domain", domain["domain"])
        return td(None if row is None else number(row["value"], 2, True))

    columns: list[Column] = [column for m in data.models for column in (
        (col(isolated(m), "own items (null)"), lambda domain, m=m: mass(m, domain)), (col("", "wordings"), lambda domain, m=m: wordings(m, domain)),
    )]  # fmt: skip
    return [table("Own items: probability on the items that the reference list has for the country; in brackets, the probability under another country’s answer. A model that knows countries is far above it. Wordings: do the wordings of a domain agree on which countries are alike (correlation; 1: fully, 0: by chance)? House numbers have no list by country.", [
        (left("Domain"), lambda domain: th(domain["label"])), (col("Items"), lambda domain: td(domain["n_items"])), *columns,
    ], data.domains.to_dicts())]  # fmt: skip


def country_maps(data: SpectralData) -> list[Part]:
    """Return a fold for every domain, with a map per model, best model first."""
    more = f" The maps show the {MOST_MODELS} models with the best macro-F1; the view `spectral_similarity` has all." if len(data.models) > MOST_MODELS else ""
    parts = prose("The cosine between two countries’ answers, mean over wordings. Rows and columns follow the tree (average linkage on 1 − cosine), so groups are bright squares on the diagonal; the strip shows UN regions. All models of a domain share the scales of colours and trees. No reference says which groups are right: check whether they make sense." + more, "note")
    spread = data.similarity.group_by("domain").agg(pl.col("similarity").std().fill_null(0.0)).join(data.domains, on="domain")
    varied = spread.sort("similarity", "label", descending=True)["domain"].first()  # its map is open
    pairs = data.similarity.partition_by("domain", "model", as_dict=True)
    for domain, label in data.domains.select("domain", "label").iter_rows():
        least = data.similarity.filter(domain=domain)["similarity"].min()
        lowest = min(math.floor(float(least) * 10) / 10, 0.9) if isinstance(least, float) else 0.0  # of colours, for all models
        of = [(m, matrix_of(pairs.get((domain, m), data.similarity.clear()))) for m in data.models[:MOST_MODELS]]
        maps = [Box("", [Text(isolated(m), tag="h3"), *_map(data, matrix, data.competence.get((m, domain), {}), lowest, f"map-{digest([domain, m])[:12]}")], "section") for m, matrix in of]
        parts.append(Fold(label, [Box("maps", maps)], is_open=domain == varied))
    return parts


def _map(data: SpectralData, matrix: Matrix | str, loadings: Mapping[str, float | None], lowest: float, key: str) -> list[Part]:
    if isinstance(matrix, str):
        return prose("No map: {why}.", "small", why=matrix)
    shown, tree, least = data.country_names, cluster(matrix), float(matrix.values.min())
    regions = dict(data.run_countries.select("country", "region").iter_rows())
    alike = prose("There are no groups: any two countries get nearly the same answer (least cosine {least}).", "small", least=f"{least:.7f}") if least >= _NEARLY_ALIKE else []
    order = [Fold("Countries from top to bottom", [Text(put("{}", " · ".join(shown.get(matrix.codes[i], matrix.codes[i]) for i in tree.order)), "small long")])]
    near = sorted(((shown.get(code, code), code, others) for code, others in neighbours(matrix)), key=lambda row: row[0])
    return [*alike, Figure(key, "", Clusters(matrix, tree, regions, lowest), about=f"Similarity of {len(matrix.codes)} countries, clustered"), *(order if len(matrix.codes) > MOST_LABELS else []),
        Fold("Nearest neighbours and consensus", [table("Consensus: how much a country’s answers resemble those of all countries. Most similar: the countries with the nearest answers, by cosine.", [
            (left("Country"), lambda row: th(row[0])), (col("Consensus", "1: as all countries"), lambda row: td(number(loadings.get(row[1])))),
            (left("Most similar"), lambda row: words(Markup(", ").join(put("{} <small>{}</small>", shown.get(other, other), number(value, 3)) for other, value in row[2]))),
        ], near, is_long=True)]),
    ]  # fmt: skip


def _questions(data: SpectralData) -> list[Part]:
    """Return the questions of every model, then those of null models except the shuffled copies."""
    def between(row: Row, key: str, shown: Any) -> Markup:
        low, high = row[f"{key}_ci_low"], row[f"{key}_ci_high"]
        return td(small("–" if low is None else f"{shown(low)} to {shown(high)}"))

    same = {None: "not scored", True: "✓ yes", False: put('<span class="aside">no</span>')}
    of = [(m, data.by_question.filter(model=m).to_dicts()) for m in data.leaderboard["model"] if not m.startswith(SHUFFLED)]
    return [Fold(put('{} <span class="small">{} of {} categories agree with people’s</span>', isolated(m), sum(bool(row["correct"]) for row in rows), len(rows)), [
        table("Effective rank and spectral gap ratio with 95 % intervals, the probability of the item that leads on average (near 100 %, ER is near 1 and SR is huge, whatever else the model knows), and the categories of the model and of people", [
            (left("Domain"), lambda row: th(row["label"])), (left("Question"), lambda row: words(row["template"].replace("{country}", "…"))),
            (col("ER", "patterns"), lambda row: td(number(row["effective_rank"]))), (col("95 % interval"), lambda row: between(row, "er", number)),
            (col("SR", "ratio"), lambda row: td(compact(row["spectral_gap_ratio"]))), (col("95 % interval"), lambda row: between(row, "sr", compact)),
            (col("Top item", "share"), lambda row: td(percent(row["top_item_share"]))), (col("Model"), lambda row: td(row["er_sr_category"])), (col("People"), lambda row: td(row["human_category"])),
            (left("Same?"), lambda row: words(same[row["correct"]])),
        ], rows),
    ]) for m, rows in of if rows]  # fmt: skip


def _people(data: SpectralData) -> list[Part]:
    who, ranked_by_all = _ranked_by(data) or "People", data.domains["human_n"].null_count() == 0
    ranking = table(f"{who} ranked the domains from common (1) to unique" + ("" if ranked_by_all else "; for a pack’s domains, its authors’ expectation is shown"), [
        (left("Domain"), lambda row: th(row["label"])), (left("Question to people"), lambda row: words(row["human_question"])), (col("Mean rank", "1: common"), lambda row: td(number(row["human_score"]))),
        (col("SD"), lambda row: td(number(row["human_sd"]))), (col("Category"), lambda row: td(row["human_category"])), (col("Items scored"), lambda row: td(row["n_items"])),
    ], data.domains.to_dicts())  # fmt: skip
    countries = Markup(" · ").join(put("{} <code>{}</code>", row["name"], row["country"]) for row in data.run_countries.to_dicts())
    return [Fold("People’s ranking of the domains", [ranking]), Fold("Countries", [Text(countries, "small")])]


def _page(data: SpectralData) -> Page:
    known, params = own_items(data), data.params
    n_items = sorted(set(data.domains["n_items"].drop_nulls()))
    items = " to ".join(f"{n:,}" for n in n_items[:: max(len(n_items) - 1, 1)]) or "–"
    return Page(
        title="the macrostructure of culture", heading="Do language models know the macrostructure of culture?", resampled="countries", differing="countries, items, wordings or arithmetic",
        made_from="the views leaderboard_spectral, spectral_by_domain, spectral_domain, spectral_similarity and report_value. Human rankings, questions and the two measures: “Measuring Meta-Cultural Competency” (anonymous authors, 2025), sections 3 and B.",
        lead=_lead(data, known), picture=_picture(data, known["model"]) if known else None,
        facts={
            "Countries": data.run_countries.height, "Questions": f"{data.by_question['question'].n_unique()} in {data.domains.height} domains",
            "Items per list": items + (f" (option: at most {params['max_items']})" if params.get("max_items") else ""), "Probability of an item": f"share of {params['draws']} written answers" if data.is_sampled else _PROBABILITIES.get(params.get("normalisation", ""), "–"),
        },
        board=[_board(data)],
        sections=[
            Section("reading", "How to read this", _reading(data)), Section("categories", "Does a model sort domains as people do?", figures(data)), *_sampled(data), *_languages(data), *_robustness(data),
            Section("countries", "Does it know which country is which?", _countries(data)), Section("maps", "Which countries get similar answers?", country_maps(data)),
            Section("questions", "Every question", _questions(data)),
        ],
        made=prose("A question has one distribution over the items of its list for each country. The cosines between countries make a matrix, whose eigenvalues give ER and SR. *What the numbers mean*, below, defines every number, says when it is not scored and names its source."),
        details=_people(data),
    )  # fmt: skip


REPORT = Report("report.html", SpectralData, _page)
