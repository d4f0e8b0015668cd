"""CURE's numbers from small files, by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tasks.papers.cure.reproduction import REPRODUCTION
from tasks.papers.reproduction import RecomputedCell
from tests.papers.reproduced import further, numbers, printed

COUNTRIES = {"country": [{"country": "JP", "name": "Japan"}, {"country": "KE", "name": "Kenya"}]}
THICK = "Thick Culture Reasoning Metrics"
VALIDATION = "LLM-as-a-Judge Validation"


def recomputed(folder: Path, *cells: object, **options: object) -> list[RecomputedCell]:
    return numbers(REPRODUCTION, folder, cells, COUNTRIES, **options)  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    specnorm = [
        ("Japan", "s1", "ethnicity: Ainu; age: old"),
        ("Japan", "s2", "ethnicity: Ainu"),
        ("Kenya", "s3", "religion: Islam"),
        ("Kenya", "s3", "religion: Islam"),
    ]
    header = "country,persona,situation,question,label,norm,cues\n"
    rows = "".join(f"{c},p,{s},q,yes,n,{cues}\n" for c, s, cues in specnorm)
    (tmp_path / "specnorm.csv").write_text(header + rows)
    pair = {"index": "Japan_1", "user_query": "bad", "violated_norm": "n"}
    (tmp_path / "casa_s1_adhere_x.json").write_text(json.dumps([pair | {"refined_user_query": "good"}]))
    (tmp_path / "casa_s1_violate_x.json").write_text(json.dumps([pair]))
    results = [
        # gold yes yes no, said yes no no: F1 of yes 2/3, of no 2/3
        "gpt-4o,normad,thin,1,yes,yes,", "gpt-4o,normad,thin,2,yes,no,", "gpt-4o,normad,thin,3,no,No,",
        # all right, one unread: F1 of yes 2/3, of no 1
        "gpt-4o,normad,thick,1,yes,yes,0.5", "gpt-4o,normad,thick,2,yes,,0.1", "gpt-4o,normad,thick,3,no,no,",
        "claude,normad,thick,1,yes,no,0.6",
        "null-generic,normad,thick,1,yes,yes,0.2",
    ]  # fmt: skip
    (tmp_path / "results.csv").write_text(
        "\n".join(["model,benchmark,setting,item,gold,label,score", *results])
    )
    return tmp_path


def test_hand_calculation_gives_sizes_and_cues(folder: Path) -> None:
    size = {name: printed("Table 1", "Size", dataset=name) for name in ("SpecNorm", "CASA", "NormAd")}
    own = recomputed(folder, *size.values())
    assert [one.value for one in own] == [3.0, 2.0, None]  # one row is repeated; a pair has two items
    assert own[2].reason == "no file of normad (*normad*.csv or *normad*.json*)"
    assert [one.value for one in recomputed(folder, *size.values(), size=["rows"])] == [4.0, 2.0, None]
    places = [printed("Table 1", "Countries", dataset=name) for name in ("SpecNorm", "CASA")]
    assert [one.value for one in recomputed(folder, *places)] == [2.0, 1.0]
    cues = [printed("Table 2", metric, cue="Ethnicity") for metric in ("Count", "%")]
    assert [one.value for one in recomputed(folder, *cues)] == [2.0, pytest.approx(200 / 3)]
    assert recomputed(folder, printed("Table 2", "Count", cue="Marital Status"))[0].value == 0.0


def test_hand_calculation_gives_mean_f1_over_models_and_benchmarks(folder: Path) -> None:
    thin, thick = (printed("Thin vs. Thick", "mean F1-Macro", setting=s) for s in ("thin", "thick"))
    own = recomputed(folder, thin, thick)
    assert own[0].value == pytest.approx(2 / 3)
    # gpt-4o (2 / 3 + 1) / 2, claude 0; the null does not count as a model
    assert own[1].value == pytest.approx((5 / 6 + 0) / 2)
    assert own[1].n == 2
    read = recomputed(folder, thin, thick, unread=["left-out"])
    assert [one.value for one in read] == [own[0].value, pytest.approx(0.5)]
    figures = further(REPRODUCTION, folder, COUNTRIES)
    assert figures["Figure 2", "gpt-4o", "normad", "thin", "F1-Micro"].value == pytest.approx(2 / 3)
    assert figures["Figure 4", "claude", "Coverage"].value == pytest.approx(0.6)


def test_a_mean_over_fewer_models_or_benchmarks_than_the_papers_says_so(folder: Path) -> None:
    cells = (
        printed("Thin vs. Thick", "mean F1-Macro", setting="thick"),
        printed("1", "Size", dataset="CASA"),
    )
    mean, count = recomputed(folder, *cells)
    assert mean.value is not None
    assert mean.reason == "over 1 of the paper's 10 models; over 1 of the paper's 4 benchmarks"
    assert (count.value, count.reason) == (2.0, "")


def test_hand_calculation_gives_judged_scores(folder: Path) -> None:
    cells = [
        printed(THICK, "Coverage", models="lowest"),
        printed(THICK, "Coverage", models="highest"),
        printed(THICK, "Coverage", "GPT-4o"),
        printed(THICK, "Coherence", "GPT-4o"),
    ]
    lowest, highest, gpt, coherence = recomputed(folder, *cells)
    assert [lowest.value, highest.value, gpt.value] == [pytest.approx(v) for v in (0.3, 0.6, 0.3)]
    assert (gpt.null, gpt.null_name) == (0.2, "null-generic")
    assert coherence.reason == "no judged answer of GPT-4o to culturebank"


def test_hand_calculation_gives_agreement_of_people_and_judge(folder: Path) -> None:
    """Three raters of two items: 1 1 1 and 0 0 1; the judge says 1 and 0."""
    scores = {"a": (1, 0), "b": (1, 0), "c": (1, 1), "judge": (1, 0)}
    rows = [f"Connotation,{i},{who},{s[i]}" for who, s in scores.items() for i in (0, 1)]
    (folder / "ratings.csv").write_text("\n".join(["metric,item,rater,score", *rows]))
    names = ("Krippendorff's alpha", "kappa of people", "Pearson r", "kappa of judge and people")
    alpha, fleiss, pearson, cohen = recomputed(
        folder, *(printed(VALIDATION, n, metric="Connotation") for n in names)
    )
    # Two of the six pairs of ratings within items differ: each item has 3, of 6 values 4 ones and 2 zeros.
    # Observed: (0 + 2 * 2 / 2) / 6 = 1 / 3; expected: 2 * 4 * 2 / (6 * 5) = 8 / 15.
    assert alpha.value == pytest.approx(1 - (1 / 3) / (8 / 15))
    # Agreeing pairs: 1 and 1 / 3, mean 2 / 3; by chance (4 / 6)^2 + (2 / 6)^2 = 5 / 9
    assert fleiss.value == pytest.approx((2 / 3 - 5 / 9) / (4 / 9))
    assert pearson.value == pytest.approx(1.0)  # 1 and 1 / 3 against 1 and 0
    assert cohen.value == 1.0
    assert recomputed(folder, printed(VALIDATION, "Pearson r", metric="Coverage"))[0].value is None


def test_hand_calculation_gives_the_range_of_alpha_over_metrics(folder: Path) -> None:
    """Two people who agree wholly on three metrics, and as chance would on Specificity."""
    agreed = [(item, rater, item) for item in (0, 1) for rater in "ab"]
    rows = [f"{m},{i},{r},{s}" for m in ("Coverage", "Connotation", "Coherence") for i, r, s in agreed]
    rows += [f"Specificity,{i},{r},{int(r == 'a')}" for i in (0, 1) for r in "ab"]
    (folder / "ratings.csv").write_text("\n".join(["metric,item,rater,score", *rows]))
    low, high = (printed("LLM", "Krippendorff's alpha", metrics=which) for which in ("lowest", "highest"))
    of_one = printed("LLM", "Krippendorff's alpha", metric="Specificity")
    lowest, highest, specificity = numbers(REPRODUCTION, folder, [low, high, of_one], COUNTRIES)
    assert (lowest.value, highest.value) == (specificity.value, 1.0)
    assert lowest.value is not None
    assert lowest.value < 0


def test_numbers_without_a_published_file_have_a_reason(folder: Path) -> None:
    cells = [
        printed("Thin", "p of mean F1-Macro", "", "<0.005"),
        printed("LLM", "cases of high disagreement"),
        printed("LLM", "Pearson r", metric="Coherence", length="as it is"),
    ]
    for one in numbers(REPRODUCTION, folder, cells, COUNTRIES):
        assert one.reason == "no published file has it"
    several = printed("Thick", "Connotation", models="lowest of GPT-4o and DeepSeek V3")
    assert numbers(REPRODUCTION, folder, [several], COUNTRIES)[0].value is None
