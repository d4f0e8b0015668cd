"""BLEnD's two scores, worked out by hand as in its published evaluation.

The published program was run on 1,882 made-up and 1,881 real answers of four places, with the same
lemmatisers of English and Chinese: no score differed. It is not shipped; these are its cases.
"""

from __future__ import annotations

from typing import Any

import pytest

from deployments.evaluations import evaluation
from tasks.evaluations.recipe.items import Item
from tasks.published.blend import score
from tasks.published.scores import lemmas
from tasks.published.scores.blend import AnswerGroup, answer_of, is_in, scores, words

GROUPS = [
    AnswerGroup(("té verde", "té"), ("green tea", "tea"), 4),
    AnswerGroup(("café",), ("coffee",), 2),
    AnswerGroup(("agua",), ("Tap-Water",), 1),
]
PROMPT = "Answer.\nQuestion: What is drunk?\nAnswer:"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("green tea", (1, 1)),
        ("Tea.", (1, 1)),
        ("I like steam", (1, 1)),  # letters within a word count: s-tea-m
        ("coffee, then tea", (1, 1)),  # the first group in the list counts, not the first word
        ("Café", (1, 0.5)),
        ("cafe\u0301", (1, 0.5)),  # a combining accent
        ("cafe", (1, 0.5)),  # acute accents do not count where words are compared
        ("from the tap-water!", (1, 0.25)),
        ("tap water", (0, 0)),  # annotators' capitals count where letters are compared, and - makes one word
        ("verde té", (1, 1)),
        (f"{PROMPT} coffee", (1, 0.5)),
        ("Answer: coffee", (1, 0.5)),
        ("...", (0, 0)),
        ("", (0, 0)),
        ("milk", (0, 0)),
    ],
)
def test_hand_calculation_gives_both_scores_of_answers(text: str, expected: tuple[float, float]) -> None:
    assert scores(answer_of(text, PROMPT), GROUPS, words, words) == expected


def test_answers_are_compared_as_sets_of_words() -> None:
    assert scores(answer_of("Boxing Day!", "q"), [AnswerGroup((), ("Boxing Day",), 1)], None, words) == (1, 1)
    assert is_in("corn-bread", "corn bread", words)
    assert is_in("corn bread", "the corn-bread", words)
    assert is_in("bread of corn", "corn, bread and of", words)
    assert not is_in("corn breads", "corn bread", words)
    assert is_in("", "anything", words)
    assert is_in("-", "anything", words)


def test_local_answers_count_only_with_local_words() -> None:
    assert scores("té", GROUPS[:1], None, words) == (0, 0)
    assert scores("té", GROUPS[:1], words, words) == (1, 1)


@pytest.mark.parametrize(
    ("text", "prompt", "left"),
    [
        ("Answer: Rice.", "Question: x\nAnswer:", "rice"),
        ("Result: Rice", "Question: x\nAnswer:", "result: rice"),
        ("答案： 茶。", "问题：x\n答案：", "茶"),
        ("rice、bread", "x", "rice,bread"),
        ("What? Rice", "What? ", "rice"),
        ("Answer:rice", "Answer:", "rice"),
    ],
)
def test_prompt_and_labels_are_removed_from_the_answer(text: str, prompt: str, left: str) -> None:
    assert answer_of(text, prompt) == left


def test_published_lemmas_replace_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def stems(text: str) -> list[str]:
        return [word.rstrip("s") for word in text.split()]

    monkeypatch.setattr(lemmas, "lemmas_of", lambda language: stems)
    chosen = evaluation("blend")
    cells: dict[str, Any] = {
        "language": "en",
        "asked": "q",
        "groups": '[[["corn breads"], ["corn breads"], 2], [["tea"], ["tea"], 1]]',
    }
    item = Item("uk/1/en", "1", cells, 1)

    def of(text: str, knob: str) -> Any:
        return score(chosen.params(models=["m"], lemmas=knob), item, text)

    assert of("corn and bread", "words") == (0, 0)
    assert of("corn and bread", "published") == (1, 1)
    assert of("tea", "published") == (1, 0.5)


def test_missing_lemmatisers_are_named_by_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lemmas, "_version", lambda name: "1.0" if name == "jieba" else "")
    assert lemmas.missing("zh") == ""
    assert lemmas.missing("en") == "spacy en_core_web_sm"
    assert lemmas.missing("am") == "-"
    assert lemmas.described("zh") == "jieba 1.0"
