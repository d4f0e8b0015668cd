"""The typed knobs of the fmlama evaluation: the form in the Prefect UI and the options of the CLI."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field

from tasks.evaluations.contract import GenerationParams
from tasks.judging.rubric import JudgeStyle

SCORES_VERSION = 7
"""Part of config_hash; raise it whenever the arithmetic in ``scores`` or ``tasks.metrics`` changes a number.
"""

PAPER_GROUPS = "fmlama"
"""The word in ``origins`` that stands for the paper's 14 groups (table ``origin_group``)."""

MINILM = "embedded:all-minilm-l6-v2"

Pooling = Literal["mean_probability", "sum_logprob", "mean_logprob"]
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)
"""Ways to pool token scores into a candidate's score; all are computed from the stored scores."""

LANGUAGE = r"^[a-z]{2,3}(-[A-Za-z]{2,8})*$"
"""Pattern of the codes of languages (BCP 47)."""


class FmlamaParams(GenerationParams):
    """Models to probe, and the prompts. Fields that change a model's numbers are in config_hash."""

    dish_set: str = Field("shipped", description="collection of dishes: shipped, or one that was ingested")
    languages: list[Annotated[str, Field(pattern=LANGUAGE)]] = Field(
        ["en"],
        min_length=1,
        description="languages of templates and candidates: en, zh, ar, ko, ru, he, and those of packs",
    )
    aligned: bool = Field(
        True,
        description="only dishes that have labels in all the languages; otherwise each language has "
        "its own dishes",
    )
    code_switching: bool = Field(
        False,
        description="also code-switched pairs of languages: the sentence in one, the dish's name in the "
        "other",
    )
    mention_country: Literal["no", "yes", "both"] = Field(
        "both", description="whether templates name the country of origin"
    )
    variants: list[Literal[1, 2, 3, 4, 5]] = Field([1, 2, 3, 4, 5], description="wordings of each template")
    origins: list[str] | None = Field(
        None,
        description="dishes of these countries, named as in the set, or groups; the word fmlama: the paper's "
        "14 groups; empty: all",
    )
    max_dishes_per_origin: int | None = Field(
        None, ge=1, description="number of dishes per origin, in a fixed random choice; empty: all"
    )
    pooling: Pooling = Field(
        "mean_probability",
        description="score of a candidate: mean of its tokens' probabilities (the paper, equation 2), or the "
        "sum or mean of their log-probabilities; mAP and its gain are stored for all three",
    )
    cut_at_blank: bool = Field(
        False,
        description="whether decoder-only models score only the candidate, as the paper's program does, "
        "and not the rest of the sentence",
    )
    later_tokens: Literal["candidate", "own"] = Field(
        "candidate",
        description="candidate: decoder-only models score each token of a candidate after its tokens before "
        "it; own: after what the model itself writes from the blank on, as the paper's program does",
    )
    word_vectors: str = Field(
        MINILM,
        description="for mWS: embedded:all-minilm-l6-v2 (English only), a sentence-transformers model, or "
        "a fastText .vec file; {language} in its path stands for en, zh …",
    )
    baseline_top: int = Field(
        10, ge=1, description="number of the most common ingredients that the baselines name (the paper: 10)"
    )
    judges: list[str] = Field(
        [],
        description="models that judge the top predictions (MES); empty: none is judged. Several: their mean",
    )
    judge_style: JudgeStyle = Field(
        "direct",
        description="direct: judges give a verdict and its reason; reasoned: they weigh it in free text and "
        "then give a score from 0 to 1",
    )
    direct_matches: Literal["judged", "given"] = Field(
        "judged",
        description="predictions that the reference lists: marked by judges like the others, or, as in the "
        "paper's program, given as Correct without a judge",
    )
    judged_dishes_per_origin: int = Field(5, ge=1, description="number of dishes per origin that judges see")
    dishes_per_part: int = Field(
        64, ge=1, description="dishes stored together; a killed run loses at most this many"
    )
