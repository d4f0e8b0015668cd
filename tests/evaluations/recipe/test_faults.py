"""Faults of a definition and its files: file, line, field or column, and reason."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from deployments.cli.options import validated
from tasks.evaluations.contract import GenerationParams
from tasks.evaluations.recipe import Metric, choice
from tasks.packs.shape import PackError
from tests.evaluations.recipe.made import RECIPES, Change, changed, examined, swap, without

TOML, ITEMS, CONTEXTS, RUBRIC = "evaluation.toml", "items.csv", "contexts.csv", "meaning.toml"
PHO = "Vietnam,Peru,Norway,Kenya,Vietnam"
JOINED = "item,country,region,question,all,answer\n" + "".join(
    f"i{i},c{i},r,Where is {i} from?,x|y|z,x\n" for i in range(4)
)

PROMPT = "{{ question }}\\n{{ choices }}"
UNSEEN = swap(PROMPT, "{{ question }}")


def prompt(text: str) -> Change:
    return swap('prompt = "', f'prompt = "{text}')


def slices(column: str) -> dict[str, Change]:
    """Return the column region under another name, as a slice."""
    return {ITEMS: swap("region", column), TOML: swap('"region"', f'"{column}"')}


FAULTS: tuple[tuple[str, str, Mapping[str, Change | str | None], tuple[object, ...]], ...] = (
    ("no null", "choice", {TOML: without("null")}, (TOML, "metric.null", "it is missing", "any knowledge")),
    ("no bounds", "choice", {TOML: without("bounds")}, (TOML, "metric.bounds", "it is missing", "intervals")),
    ("no cluster", "choice", {TOML: without("cluster")}, (TOML, "cluster", "it is missing", "related")),
    ("no metric name", "choice", {TOML: without("name")}, (TOML, "metric.name", "it is missing")),
    ("null model", "choice", {TOML: swap('null = "best"', 'null = "coin"')}, (TOML, "metric.null", "'coin'")),
    ("null outside", "choice", {TOML: swap('null = "best"', "null = 2")}, (TOML, "metric.null", "0 to 1")),
    ("null nan", "choice", {TOML: swap('null = "best"', "null = nan")}, (TOML, "metric.null", "nan")),
    ("null yes", "choice", {TOML: swap('null = "best"', "null = true")}, (TOML, "metric.null", "neither")),
    ("bounds turned", "choice", {TOML: swap("[0, 1]", "[1, 0]")}, (TOML, "metric.bounds", "is not a range")),
    ("bounds inf", "choice", {TOML: swap("[0, 1]", "[0, inf]")}, (TOML, "metric.bounds", "is not a range")),
    ("no recipe", "choice", {TOML: without("recipe")}, (TOML, "recipe", "it is missing", "short_answer")),
    ("recipe list", "choice", {TOML: swap('= "choice"', '= ["choice"]')}, (TOML, "recipe", "unknown recipe")),
    ("field", "choice", {TOML: swap("by = ", "via = ")}, (TOML, "via", "no such field")),
    ("way", "choice", {TOML: swap('by = "logprob"', 'by = "vote"')}, (TOML, "by", "'logprob' or 'letter'")),
    ("metric space", "choice", {TOML: swap('"accuracy"', '"my hits"')}, (TOML, "metric.name", "'my hits'")),
    ("metric upper", "choice", {TOML: swap('"accuracy"', '"Hits"')}, (TOML, "metric.name", "'Hits'")),
    *(
        (f"metric {name}", "choice", {TOML: swap('"accuracy"', f'"{name}"')}, (TOML, "metric.name", name))
        for name in ("coverage", "model", "place", "n_scored", "judge_gold_accepted", "no_question_gain")
    ),
    ("column upper", "choice", {TOML: swap('"country"', '"Country"')}, (TOML, "cluster", "'Country'")),
    ("column gone", "choice", {TOML: swap('"country"', '"land"')}, (TOML, "cluster", "unknown column")),
    *(
        (f"slice {name}", "choice", slices(name), (TOML, "slices", name))
        for name in ("limit", "seed", "by", "judge", "overall", "model", "dry_run", "model_dump", "label")
    ),
    ("prompt field", "choice", {TOML: prompt("{{ dish }} ")}, (TOML, "prompt", "{{ dish }}", "a column")),
    ("system field", "choice", {TOML: swap("by =", 'system = "{{ x }}"\nby =')}, (TOML, "system", "{{ x }}")),
    ("prompt alike", "choice", {TOML: swap(PROMPT, "Well?")}, (TOML, "prompt", "no column")),
    ("prompt open", "choice", {TOML: prompt("{{ question ")}, (TOML, "prompt", "not a template")),
    *(
        (f"prompt {n}", "choice", {TOML: prompt(text)}, (TOML, "prompt", "not a template"))
        for n, text in enumerate(
            (
                "{% for x in question %}a{% endfor %}",
                "{{ question.upper() }}",
                "{{ question.__class__ }}",
                "{{ question['__class__'] }}",
                "{{ 'a' * 999999999 }}",
                "{{ 9 ** 99999999 }}",
                "{{ question ~ question }}",
                "{{ question|center(999999999) }}",
                "{{ range(99999999) }}",
                "{% set a = question %}",
                "{% include '/etc/passwd' %}",
                "{% macro m() %}{% endmacro %}",
                "{{ " + "not " * 3000 + "question }}",
                "{{ question" + "|upper" * 2500 + " }}",
            )
        )
    ),
    ("long prompt", "choice", {TOML: prompt("a" * 30_000)}, (TOML, "prompt", "at most")),
    ("long cell", "choice", {ITEMS: swap("Vietnam", "a" * 30_000)}, (ITEMS, 2, "a", "at most")),
    ("question", "choice", {TOML: swap('["question"]', '["region"]')}, (TOML, "question", "shows none")),
    ("no question", "choice", {TOML: swap('["question"]', "[]")}, (TOML, "question", "shows none")),
    ("no choices", "choice", {TOML: lambda t: UNSEEN(swap('"logprob"', '"letter"')(t))},
     (TOML, "prompt", "{{ choices }}", "add {{ choices }}")),
    ("choices", "choice", {ITEMS: swap("region", "choices")}, (ITEMS, 1, "choices", "letters")),
    ("same", "choice", {ITEMS: swap(PHO, "Peru, peru,A,B,Peru")},
     (ITEMS, 2, "a", "two options are the same")),
    ("right", "choice", {ITEMS: swap(PHO, PHO[:-7] + "Laos")}, (ITEMS, 2, "answer", "'Laos' is not one")),
    ("empty", "choice", {ITEMS: swap(PHO, "Vietnam,,Norway,Kenya,Vietnam")}, (ITEMS, 2, "a", "is empty")),
    ("unequal", "choice",
     {TOML: swap('["a", "b", "c", "d"]', '"all"'), ITEMS: JOINED.replace("3 from?,x|y|z", "3 from?,x|y")},
     (ITEMS, 5, "all", "it has 2 options, most have 3")),
    ("no cluster value", "choice", {ITEMS: swap("pho,VN", "pho,")}, (ITEMS, 2, "country", "is empty")),
    ("one cluster", "choice", {TOML: swap('"country"', '"region"'), ITEMS: JOINED.replace("all", "a")},
     (ITEMS, None, "region", "'r'", "no interval")),
    ("item twice", "choice", {ITEMS: swap("banh-mi", "pho")}, (ITEMS, 3, "item", "line 2")),
    ("cells", "choice", {ITEMS: swap("pho,VN", "pho,VN,VN")}, (ITEMS, 2, "", "10 cells for 9")),
    ("column twice", "choice", {ITEMS: swap("region", "country")}, (ITEMS, 1, "country", "repeated")),
    ("column unnamed", "choice", {ITEMS: swap("region", "")}, (ITEMS, 1, "", "name is empty")),
    ("formula", "choice", {ITEMS: swap("Peru", "=1+1")}, (ITEMS, 2, "b", "formula")),
    ("direction", "choice", {ITEMS: swap("Peru", "P\u202eeru")}, (ITEMS, 2, "b", "U+202E")),
    ("no items", "choice", {ITEMS: None}, (ITEMS, None, "", "missing")),
    ("no rows", "choice", {ITEMS: "item,country\n"}, (ITEMS, None, "", "no rows")),
    ("nothing", "choice", {ITEMS: ""}, (ITEMS, None, "", "no rows")),
    ("elsewhere", "choice", {TOML: swap('"items.csv"', '"../../x"')}, ("../../x", None, "", "missing")),
    ("syntax", "choice", {TOML: swap("[metric]", "[metric")}, (TOML, 18, "", "not a TOML file")),
    ("deep", "choice", {TOML: lambda t: "a" + ".a" * 50_000 + " = 1\n" + t}, (TOML, None, "", "nested")),
    ("deep list", "choice", {TOML: lambda t: f"x = {'[' * 5000}{']' * 5000}\n{t}"},
     (TOML, None, "", "nested")),
    ("no printed", "choice", {TOML: swap("by =", 'published = "p.csv"\nby =')},
     ("p.csv", None, "", "missing")),
    *(
        (f"printed {name}", "choice", {TOML: swap("by =", 'published = "p.csv"\nby ='), "p.csv": text}, place)
        for name, text, place in (
            ("outside", "source,model,value\nX,a,1.5\n", ("p.csv", 2, "value", "0 to 1")),
            ("word", "source,model,value\nX,a,high\n", ("p.csv", 2, "value", "high")),
            ("twice", "source,model,value\nX,a,0.5\nX,a,0.6\n", ("p.csv", 3, "model", "line 2")),
            ("column", "source,name,value\nX,a,0.5\n", ("p.csv", 1, "model", "missing")),
        )
    ),
    ("no rubric", "judged", {RUBRIC: None}, (RUBRIC, None, "", "missing")),
    ("not judged", "judged", {TOML: swap('judged = "answer"', 'judged = "reply"')},
     (RUBRIC, None, "inputs", "the judged text", "'reply'")),
    ("input", "judged", {ITEMS: swap("meaning", "sense")},
     (RUBRIC, None, "inputs", "'meaning' is no column")),
    ("rubric text", "judged", {RUBRIC: swap("Answer: {{ answer }}", "")}, (RUBRIC, None, "", "answer")),
    ("deep rubric", "judged", {RUBRIC: lambda t: "a" + ".a" * 50_000 + " = 1\n" + t},
     (RUBRIC, None, "", "deep")),
    ("gold", "judged", {ITEMS: swap("quiet people may think and feel much", "")},
     (ITEMS, 3, "meaning", "empty")),
    ("accepted", "short_answer", {ITEMS: swap("yen|Japanese yen", "")},
     (ITEMS, 2, "accepted", "no accepted")),
    ("bars", "short_answer", {ITEMS: swap("yen|Japanese yen", "|")}, (ITEMS, 2, "accepted", "no accepted")),
    ("step", "short_answer", {TOML: swap('en = ["nfkc"', 'en = ["shout"')},
     (TOML, "normalise", "unknown step shout")),
    ("weights", "short_answer", {TOML: swap("match =", 'weights = "region"\nmatch =')},
     (ITEMS, 2, "region", "'Asia' is not 2 numbers")),
    ("blank", "preference", {CONTEXTS: swap("[BLANK]", "tea")}, (CONTEXTS, 2, "", "0 times")),
    ("blanks", "preference", {CONTEXTS: swap("[BLANK]", "[BLANK] [BLANK]")}, (CONTEXTS, 2, "", "2 times")),
    ("first", "preference", {CONTEXTS: swap("In Cairo, my neighbour often cooks ", "")},
     (CONTEXTS, 2, "", "before")),
    ("target", "preference", {TOML: swap('"local"', '"home"')}, (ITEMS, None, "group", "target is 'home'")),
    ("kind", "preference", {ITEMS: lambda t: t.replace("Lagos", "Accra")},
     (CONTEXTS, None, "place", "'Lagos'")),
    ("member twice", "preference", {ITEMS: swap("molokhia", "koshari")},
     (ITEMS, None, "item", "twice of Cairo")),
    ("no contexts", "preference", {CONTEXTS: None}, (CONTEXTS, None, "", "missing")),
)  # fmt: skip


@pytest.mark.parametrize(("recipe", "changes", "wanted"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
def test_fault_has_its_place_reason_and_remedy(
    recipe: str, changes: Mapping[str, Change | str | None], wanted: tuple[object, ...]
) -> None:
    made, faults = examined(changed(recipe, changes))
    assert made is None
    n = 2 if isinstance(wanted[1], str) else 3
    there = [f for f in faults if wanted[:n] in ((f.file, f.column), (f.file, f.line, f.column))]
    assert there, list(map(str, faults))
    message = str(there[0])
    assert all(str(word) in message for word in wanted[n:]), message
    assert there[0].todo


def test_faults_of_all_files_are_reported_at_once() -> None:
    def wrong(text: str) -> str:
        return prompt("{{ dish }} ")(without("null")(without("cluster")(text)))

    items = swap(PHO, "Peru,Peru,A,B,Peru")
    _, faults = examined(
        changed("choice", {TOML: wrong, ITEMS: lambda t: swap("bigos", "pierogi")(items(t))})
    )
    assert {(f.file, f.line if f.file == ITEMS else None, f.column) for f in faults} == {
        (TOML, None, "metric.null"), (TOML, None, "cluster"), (TOML, None, "prompt"), (ITEMS, 7, "item"),
    }  # fmt: skip
    both: dict[str, Change | str | None] = {TOML: without("bounds"), RUBRIC: None, ITEMS: None}
    assert [f.file for f in examined(changed("judged", both))[1]] == [TOML, ITEMS, RUBRIC]


@pytest.mark.parametrize(
    "items",
    [
        lambda t: "\ufeff" + t,
        lambda t: t.replace("\n", "\r\n"),
        lambda t: "# a comment\n" + t,
        lambda t: t.replace("item,", '"item",'),
        swap("region", "model_dump"),  # a name of pydantic
        swap("region", "The Region"),
    ],
    ids=["bom", "crlf", "comment", "quotes", "method", "spaces"],
)
def test_files_of_spreadsheets_and_editors_are_read(items: Change) -> None:
    made, faults = examined(changed("choice", {ITEMS: items, TOML: swap('slices = ["region"]', "")}))
    assert made is not None, faults
    study = made.study(made.params.model_validate({"models": ["m"]}), {}, {})
    assert study.names.tolist()[:2] == ["banh-mi", "bigos"]


def test_slice_named_like_a_parameter_is_refused() -> None:
    for knob in GenerationParams.model_fields:
        _, faults = examined(changed("choice", slices(knob)))
        assert any(f.column == "slices" for f in faults), knob


def test_items_are_named_by_id_if_it_tells_them_apart_and_there_is_no_column_item() -> None:
    def names(*changes: Change) -> list[str]:
        def all_of(text: str) -> str:
            for change in changes:
                text = change(text)
            return text

        made, faults = examined(changed("short_answer", {ITEMS: all_of}))
        assert made is not None
        assert faults == []
        study = made.study(made.params.model_validate({"models": ["m"]}), {}, {})
        return [str(name) for name in study.names]

    assert {"jp", "th"} <= {*names(swap("item,", "id,"))}
    twice = names(swap("item,", "id,"), swap("\njp,", "\nth,"))
    assert len({*twice}) == len(twice)  # named by content
    assert "jp" not in twice


@pytest.mark.parametrize("recipe", RECIPES)
def test_examples_have_no_faults(recipe: str) -> None:
    made, faults = examined(changed(recipe, {}))
    assert made is not None
    assert faults == []
    if recipe == "choice":
        unseen, _ = examined(changed(recipe, {TOML: UNSEEN}))
        assert unseen is not None
        with pytest.raises(ValueError, match="--by letter"):
            unseen.study(unseen.params.model_validate({"models": ["m"], "by": "letter"}), {}, {})
        params = validated(made.params, {"models": ["m"], "region": ["Mars"]})
        with pytest.raises(ValueError, match="no item has region Mars; known: Africa"):
            made.study(params, {}, {})


def test_definition_in_python_has_the_same_faults_and_names_its_file() -> None:
    with pytest.raises(PackError) as raised:
        choice(
            "x", title="t", items="none.csv", prompt="{{ a }}", options="a", answer="b", metric=Metric("m")
        )
    for place in ("field metric.null", "field metric.bounds", "field cluster", "none.csv", "test_faults.py"):
        assert place in str(raised.value)
