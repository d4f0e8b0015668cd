"""Defines pack rows for cure: benchmarks modelled on the published ones, and prompts and rubrics."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, ValidationInfo, field_validator

from tasks.evaluations.cure.params import BENCHMARK, BENCHMARKS, MODES, kind_of
from tasks.evaluations.cure.published import LABELS
from tasks.packs.shape import REPLACES, ByName, PackFile, PackRow, Refers, Shape, Taken, Text, Wording
from tasks.packs.wording import prompt_file

NEEDED = {
    "persona": {"culturebank": "explanations must take it into account"},
    "group_name": {"culturebank": "the question names that group"},
    "cues": {"specnorm": "a specific answer has to name them"},
}
"""Column -> the published benchmarks whose variants require it, and why; others may leave it empty."""


def _own(benchmark: str) -> str:
    """Replace pydantic's pattern error with an explanation of how names are made."""
    if not re.match(BENCHMARK, benchmark):
        like = ", ".join(f"{kind}-mine" for kind in BENCHMARKS[:-1])
        raise ValueError(
            f"a name begins with the published benchmark it is modelled on: {like} or "
            f"{BENCHMARKS[-1]}-mine, with lower-case letters, digits and _ after the hyphen; a published "
            "name alone replaces the shipped sample"
        )
    return benchmark


class CureItemRow(PackRow):
    """One item of a benchmark."""

    model_config = ConfigDict(validate_default=True)  # an empty cell is left out of a row

    benchmark: Annotated[str, AfterValidator(_own)] = Field(
        description="name of your benchmark. It begins with the published benchmark whose labels, prompt and "
        "rubric it uses: normad-mine, casa-mine, culturebank-mine or specnorm-mine. A published name "
        "alone (normad, casa, culturebank, specnorm) replaces its shipped sample"
    )
    item: Annotated[Text, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]*$")] = Field(
        description="identifier; in normad and casa, items whose identifiers differ only after the last "
        "hyphen are one family"
    )
    country: Annotated[str, StringConstraints(pattern="^[A-Z]{2}$")] = Field(
        description="ISO 3166-1 alpha-2 code"
    )
    group_name: str = Field(
        "",
        description="group or axis to break results down by; for culturebank, the cultural group (required)",
    )
    persona: str = Field(
        "",
        description="the person: name, community and place for specnorm; name, origin and role for "
        "culturebank (required)",
    )
    situation: Text = Field(description="the situation, or the user's message")
    question: Text = Field(description="question about the situation, answered by a label")
    label: Literal["yes", "no", "neutral"] = Field(
        description="the right label: yes or no; in normad also neutral"
    )
    gold: Text = Field(description="the norm, and why the label is right; explanations are compared with it")
    cues: str = Field(
        "",
        description="terms that a specific answer must name, separated by |; required for specnorm. casa: "
        "the symbols, in the words of the query, with notes in parentheses; a query without symbols is not "
        "judged",
    )
    rule: str = Field("", description="the norm as a rule, not shown to models")
    judged: Literal["yes", "no"] = Field(
        "yes",
        description="no: the item's explanation is not judged, because gold does not say what it should "
        "contain",
    )

    @field_validator("label")
    @classmethod
    def _of_its_kind(cls, label: str, row: ValidationInfo) -> str:
        kind = kind_of(row.data.get("benchmark", ""))
        if label not in LABELS.get(kind, [label]):
            raise ValueError(f"a benchmark like {kind} has the labels {', '.join(LABELS[kind])}")
        return label

    @field_validator(*NEEDED)
    @classmethod
    def _needed_by_its_kind(cls, text: str, row: ValidationInfo) -> str:
        kind = kind_of(row.data.get("benchmark", ""))
        if not text and (why := NEEDED[str(row.field_name)].get(kind)):
            raise ValueError(f"a benchmark like {kind} needs this text: {why}")
        return text


_SCENE = {"country": "Kenya", "situation": "A guest keeps the shoes on.", "options": "yes or no"}
SHOWN: Mapping[str, Mapping[str, str]] = {
    "normad": _SCENE | {"question": "Is that acceptable?"},
    "casa": _SCENE | {"question": "Is that acceptable?"},
    "culturebank": _SCENE
    | {"group": "Kenyans", "persona": "Ada, a guest", "question": "What should I expect?"},
    "specnorm": _SCENE | {"persona": "Ada, of the Luo", "question": "Is that acceptable?"},
}
"""Benchmark -> the fields of its prompts, with examples."""

JUDGED: Mapping[str, Mapping[str, str]] = {
    "coverage": {"norm": "Shoes come off at the door.", "explanation": "Guests take off their shoes."},
    "specificity": {
        "norm": "Shoes come off at the door.",
        "subgroup": '["ethnicity: Luo"]',
        "explanation": "Luo guests take off their shoes.",
    },
    "connotation": {
        "country": "Kenya",
        "query": "May I bring a clock?",
        "symbol": '["clock"]',
        "meaning": "None in particular.",
        "explanation": "A clock means nothing there.",
    },
    "coherence": {
        "norm": "Shoes come off at the door.",
        "persona": "Ada, a guest",
        "situation": "She is at the door.",
        "explanation": "Ada takes off her shoes.",
    },
}
"""Metric -> the inputs of its rubric, with examples."""

_NEEDED = {"normad": "situation", "casa": "situation", "culturebank": "question", "specnorm": "situation"}

WORDINGS = (
    *(
        Wording(f"{b}_{mode}", f"the {mode} prompt of {b}", SHOWN[b], (_NEEDED[b],), "appendix A")
        for b in BENCHMARKS
        for mode in MODES
    ),
    *(
        wording
        for metric, inputs in JUDGED.items()
        for wording in (
            Wording(f"{metric}_rules", f"the rules for judging {metric}", section="appendix B"),
            Wording(
                f"{metric}_question",
                f"the quoted material that the judge of {metric} receives",
                inputs,
                ("explanation",),
                "appendix B",
            ),
        )
    ),
    Wording("judge_form", "the form of an answer of judges who reason (--judge-style reasoned)"),
)
"""Texts that a pack may replace: prompts (appendix A of the paper) and rubrics (appendix B)."""


def join(rows: ByName, tables: ByName) -> ByName:
    """Return the items as rows of cure_item."""
    return {"cure_item": rows.get("item", ())}


PACK = Shape(
    files=(
        PackFile(
            "item", CureItemRow, "Situations with a label and a norm to explain it.", ("benchmark", "item"),
            over=Taken("cure_item", ("benchmark",)),
            refers=(Refers("country", table="country", known_as="country"),),
        ),
        prompt_file(WORDINGS),
        REPLACES,
    ),
    join=join,
    wordings=WORDINGS,
)  # fmt: skip
