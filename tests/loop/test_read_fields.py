"""Sixty texts in the forms that models write, and what is read in them: one reader for all evaluations."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.loop.objects import LONGEST, begun, objects
from tasks.loop.replies import begun_fields, on_menu, read_fields

MENU = ("yes", "no", "neutral")
LOST = "unreadable"
FORMS: list[tuple[str, str, str | None]] = [
    # (text, label, explanation)
    ('{"label": "yes", "explanation": "ok"}', "yes", "ok"),
    ('{"explanation": "ok", "label": "yes"}', "yes", "ok"),
    ('{"label": "yes", "explanation": "two\nlines"}', "yes", "two\nlines"),
    ('{"label": "yes", "explanation": "a\ttab"}', "yes", "a\ttab"),
    ('{"label": "no", "explanation": "They call it "rude" here."}', "no", 'They call it "rude" here.'),
    ('{"label": "no", "explanation": "It is "rude", and "odd"."}', "no", 'It is "rude", and "odd".'),
    ('{"label": "no", "explanation": "Say "hello", note: be kind"}', "no", 'Say "hello", note: be kind'),
    ('{"label": "no", "explanation": "He said “yes”, but no."}', "no", "He said “yes”, but no."),
    ('{"label": "no", "explanation": "a \\"quoted\\" word"}', "no", 'a "quoted" word'),
    ("{'label': 'yes', 'explanation': 'ok'}", "yes", "ok"),
    ("{'label': 'yes', 'explanation': 'It's fine, isn't it'}", "yes", "It's fine, isn't it"),
    ("""{'label': 'yes', 'explanation': "It's fine"}""", "yes", "It's fine"),
    ("{'label': 'yes', 'explanation': 'ok', 'sure': True, 'x': None}", "yes", "ok"),
    ("{“label”: “yes”, “explanation”: “ok”}", "yes", "ok"),
    ("{ ’label’: ’yes’, ’explanation’: ’ok’ }", "yes", "ok"),
    ("｛＂label＂：＂yes＂，＂explanation＂：＂好的＂｝", "yes", "好的"),
    ('{"label"："no"，"explanation"："不可以。"}', "no", "不可以。"),
    ('{"label": "yes", "explanation": "ok",}', "yes", "ok"),
    ('{"label": "yes"\n "explanation": "ok"}', "yes", "ok"),
    ('{label: "yes", explanation: "ok"}', "yes", "ok"),
    ('{"label": yes, "explanation": "ok"}', "yes", "ok"),
    ('{"label": yes (acceptable), "explanation": "ok"}', "yes", "ok"),
    ('{"label": "yes", // sure\n "explanation": "ok"}', "yes", "ok"),
    ('{"label": "yes", /* sure */ "explanation": "ok"}', "yes", "ok"),
    ('\ufeff{"label": "yes", "explanation": "ok"}', "yes", "ok"),
    ('```json\n{"label": "yes", "explanation": "ok"}\n```', "yes", "ok"),
    ('```\n{"label": "yes", "explanation": "ok"}\n``` Done.', "yes", "ok"),
    ('~~~json\n{"label": "yes", "explanation": "ok"}\n~~~', "yes", "ok"),
    ('Here you are {as asked}: {"label": "yes", "explanation": "ok"} {end}', "yes", "ok"),
    ('The form is {label: …}. {"label": "yes", "explanation": "ok"}', "yes", "ok"),
    ('{"label": "yes", "explanation": "ok"}\n{"label": "yes", "explanation": "ok"}', "yes", "ok"),
    ('First {"label": "no"} … {"label": "yes"}', "yes", None),
    ('{"label": "no", "explanation": "x"} Wait. {"label": "yes", "explanation": "ok"}', "yes", "ok"),
    ('{"label": "yes", "explanation": "ok"} I hope that {helps}', "yes", "ok"),
    ('{"label": "no", "explanation": "I mean {"label": "yes", "explanation": "ok"}', "yes", "ok"),
    ('[{"label": "yes", "explanation": "ok"}]', "yes", "ok"),
    ('{"answer": {"label": "yes", "explanation": "ok"}}', "yes", "ok"),
    ('{{"label": "yes", "explanation": "ok"}}', "yes", "ok"),
    ('"{\\"label\\": \\"yes\\", \\"explanation\\": \\"ok\\"}"', "yes", "ok"),
    ('{\\"label\\": \\"yes\\", \\"explanation\\": \\"ok\\"}', "yes", "ok"),
    ('{"Label": "Yes", "Explanation": "ok"}', "yes", "ok"),
    ('{"label": "YES.", "explanation": "ok"}', "yes", "ok"),
    ('{"label": "yes (acceptable)", "explanation": "ok"}', "yes", "ok"),
    ('{"label": "**yes**", "explanation": "ok"}', "yes", "ok"),
    ('{"label": "yes, it is polite", "explanation": "ok"}', "yes", "ok"),
    ('{"label": "neutral (neither yes nor no)", "explanation": "ok"}', "neutral", "ok"),
    ('{"label": true, "explanation": "ok"}', "yes", "ok"),
    ('<think>{"label": "no"}?</think>{"label": "yes", "explanation": "ok"}', "yes", "ok"),
    ('Hm, {"label": "no"}.</think>\n{"label": "yes", "explanation": "ok"}', "yes", "ok"),
    ("<think>Is it {polite}?</think>\n\nyes.", "yes", None),
    ("yes.", "yes", None),
    ("**Yes** (acceptable)", "yes", None),
    ("label: yes\nexplanation: ok", "yes", "ok"),
    ("**Label:** Yes\n\n**Explanation:** ok", "yes", "ok"),
    ("### Label\nyes\n\n### Explanation\nok", "yes", "ok"),
    ('{"label": "yes", "explanation": "It is ok, sin', "yes", None),  # what is complete counts
    ('{"label": "yes", "ex', "yes", None),
    ('{"label": "yes",', "yes", None),
    ('{"label": "yes', LOST, None),
    ('{"label": "yes"', LOST, None),
    ('{"label": "no", "explanation": "x"}, {"label": "maybe", "explanation": "ok"}', LOST, "ok"),
    ('{"label": "yes or no", "explanation": "ok"}', LOST, "ok"),
    ('{"label": "yes, no", "explanation": "ok"}', LOST, "ok"),
    ('{"answer": {"label": "yes", "explanation": "ok"}, "more": "and', LOST, None),
    ("<think>I think that {\"label\": \"yes\"}", LOST, None),
    ('{"label": "no", "explanation": "First, "a", then "b", "c": d"}', "no", None),
    ('{"label": "yes", explanation: ok}', "yes", None),
    ('{"label": "yes", explanation: ok} or {"label": "no", explanation: bad}', LOST, None),
    ("I cannot say yes or no.", LOST, None),
    ("", LOST, None),
]  # fmt: skip


def read(text: str) -> tuple[str, str | None]:
    """Return label and explanation as an evaluation reads them."""
    names = ("label", "explanation")
    fields = read_fields(text, names)
    written = begun_fields(text, names[:1]) if fields is None else fields
    label = on_menu(written.get("label"), MENU) if written else on_menu(text.split("</think>")[-1], MENU)
    explanation = (fields or {}).get("explanation")
    return label or LOST, explanation if isinstance(explanation, str) else None


def test_the_table_has_sixty_forms() -> None:
    assert len({text for text, _, _ in FORMS}) == len(FORMS) >= 60


@pytest.mark.parametrize(("text", "label", "explanation"), FORMS)
def test_what_a_model_means_is_read(text: str, label: str, explanation: str | None) -> None:
    assert read(text) == (label, explanation)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("8", "8"), (8, "8"), (8.0, "8"), ("8.0", "8"), ("8/10", "8"), ("Score: 8 out of 10", "8"),
        ("８", "8"), ("8 points", "8"), ("10", "10"), ("3/5", None), (7.5, None), (5.5, None),
        ("5,5", None), ("11", None),
        (True, None), (None, None), ([8], None), ("eight", None),
    ],
)  # fmt: skip
def test_numbers_are_read_on_a_menu_of_numbers(value: object, name: str | None) -> None:
    assert on_menu(value, [str(n) for n in range(1, 11)]) == name


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.text(  # a cut key is known as one up to 80 signs, and an escape has six
            st.characters(exclude_characters="\"'“”‘’`\\", exclude_categories=("Cs",)),
            min_size=1,
            max_size=12,
        ),
        st.text(),
        min_size=1,
    )
)
def test_what_is_json_is_read_as_json(value: dict[str, str]) -> None:
    text = json.dumps(value, ensure_ascii=False)
    (found,) = objects(text)
    assert (dict(found.pairs), found.is_exact, found.end) == (value, True, len(text))
    assert not any(found.pairs for found in objects(text[:-1]))
    assert all(
        dict(begun(text[:cut])).items() <= value.items() for cut in range(1, len(text), 1 + len(text) // 9)
    )


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("{}[]()\"'“”:,/#\\ \nab1"), max_size=120))
def test_any_text_is_read_without_an_error(text: str) -> None:
    for found in objects(text):
        assert 0 <= found.start < found.end <= len(text)
    read(text)


@pytest.mark.parametrize(
    "piece",
    ['{"a":[', '{"a":', '{"', '{"a":"', "{", '{"a": "x" y ', "{'a': 'b' ", '{"a":"x"}', '"', '" " ', "{a:\n",
     '{"a": "b", "', "[", "{a: (", "// {", '{"a": "{', '{“a”:“', "\\", '{"a": "\\', "label: ", "label",
     " ", "> "],
)  # fmt: skip
def test_hostile_texts_take_time_that_grows_with_their_length(piece: str) -> None:
    """Counted in characters that are looked at, not in seconds: a budget bounds them. Seconds are a safety
    net, a hundred times the usual.
    """
    text = (piece * 100_000)[:60_000]
    begin = time.process_time()
    read_fields(text, ("label", "explanation"))
    on_menu(text, MENU)
    assert time.process_time() - begin < 20
    assert objects((piece * (LONGEST + 1))[: LONGEST + 1]) == ()
