"""What FmLAMA (Zhou et al. 2025) leaves open, with its program's choices first: the flags of the command."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tasks.papers.reproduction import TRIED, Options, tried

POOLED = "pooled"


class FmlamaReproduced(Options):
    """How published files become numbers. Lists are tried in their order, until a cell's digits are met."""

    files: list[str] = Field(
        [],
        json_schema_extra=TRIED,
        description="which of a language's files of dishes: 1, 2, … in the order of their paths, or pooled: "
        "all together; empty: each, then pooled",
    )
    england: Literal["apart", "uk"] = Field(
        "apart", description="dishes of England, Scotland and Wales: in no group, or in that of the U.K."
    )
    dishes: list[Literal["groups", "all"]] = tried(
        ["groups", "all"],
        "dishes that ALL, candidates and common ingredients are taken from: those of the 14 "
        "groups, or all in the file",
    )
    baseline: list[Literal["hits", "top-ten", "equation-4"]] = tried(
        ["hits", "top-ten", "equation-4"],
        "rule of Dumb Base: hits: precisions at the hits divided by the hits, without one "
        "1 / (candidates + 1); top-ten: equation 4 on the ten alone; equation-4: on all candidates, others "
        "tied",
    )
    top: int = Field(10, ge=1, description="how many ingredients the baseline names")
    ties: list[Literal["file", "name"]] = tried(
        ["file", "name"],
        "which of equally common ingredients comes first: the one that the file names first, or "
        "the first in code-point order",
    )
    own_dish: Literal["counted", "left-out"] = Field(
        "counted", description="whether a dish counts in how common its own ingredients are"
    )
    denominator: list[Literal["ranked", "listed"]] = tried(
        ["ranked", "listed"],
        "what models' precisions are divided by: ingredients among the candidates, or all of the dish",
    )
    rounding: list[Literal["none", "templates"]] = tried(
        ["none", "templates"],
        "whether each template's mAP in percent is rounded to two digits before the mean",
    )
    relation: str = Field(
        "hasParts",
        description="folders of rankings that are read: hasParts, or country, where templates name it",
    )
    template: list[str] = tried(
        ["2", "1", "3", "4", "5"], "template whose ranks Table 14 shows: the paper does not say"
    )
    mes: list[Literal["types", "correct"]] = tried(
        ["types", "correct"],
        "what MES counts: types: each of the three types that a mark Correct names, none, one or "
        "more; correct: each mark Correct once",
    )
    cv: list[Literal["with-all", "origins"]] = tried(
        ["with-all", "origins"],
        "coefficient of variation with the row ALL as one more origin, or over the origins",
    )
    names: dict[str, str] = Field(
        {}, description="folder of a model's rankings = model in the paper; the authors' folders are known"
    )
    word_vectors: str | None = Field(
        None, description="for mWS: a fastText .vec or .bin file; {language} in its path stands for en, zh …"
    )
    bert_vectors: str | None = Field(
        None, description="for Table 8: the folder or id of a sentence-transformers model, or a .vec file"
    )
    seed: int = Field(0, ge=0, description="of the random rankings behind the null of Dumb Base")
