from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.metrics.stereotypes import Rule, StereotypeScore, stereotype_scores


def score(text: str, phrases: list[str], rule: Rule = "words") -> StereotypeScore:
    (found,) = stereotype_scores([text], phrases, rule)
    assert found is not None
    return found


def found_phrases(text: str, phrases: list[str], rule: Rule = "words") -> int:
    return score(text, phrases, rule).n_phrases


def test_hand_calculation_gives_score() -> None:
    # 2 phrases in 50 words: density 4 per 100 words, 10 - 20 * 4 < 0. 1 in 400 words: density 0.25, score 5.
    words = ["word"] * 48
    assert score(" ".join(["always", *words, "always"]), ["always"]) == (0.0, 4.0, 2, 50)
    assert score(" ".join(["always", *["word"] * 399]), ["always"]) == (5.0, 0.25, 1, 400)
    assert score("a quiet answer", ["always"]) == (10.0, 0.0, 0, 3)


def test_texts_without_a_word_are_unscored() -> None:
    assert stereotype_scores(["", " \n", "... - !"], ["always"]) == [None, None, None]
    assert stereotype_scores(["", " \n"], ["always"], "substring") == [None, None]


# --- whole words


def test_whole_words_and_the_papers_substrings_differ() -> None:
    phrases = ["never", "typical", "stereotypical"]
    assert found_phrases("Nevertheless it was atypical.", phrases) == 0
    assert found_phrases("Nevertheless it was atypical.", phrases, "substring") == 2
    # The substring rule counts "stereotypical" twice and repeated phrases once.
    assert found_phrases("never, never, never", ["never"]) == 3
    assert found_phrases("never, never, never", ["never"], "substring") == 1
    assert found_phrases("a stereotypical answer", phrases) == 1
    assert found_phrases("a stereotypical answer", phrases, "substring") == 2


def test_case_and_punctuation_between_words_are_ignored() -> None:
    for text in ("All Mexicans are", "all MEXICANS\nare", "all -- Mexicans, are", "“All Mexicans” are"):
        assert found_phrases(text, ["all mexicans are"]) == 1
    assert found_phrases("all of the Mexicans are", ["all Mexicans are"]) == 0


def test_the_longest_phrase_wins_and_words_are_used_once() -> None:
    phrases = ["all", "all people", "people are"]
    # "all people" and then "are" alone; not "all", and not "people are".
    assert found_phrases("all people are", phrases) == 1
    assert found_phrases("all of us, people are", phrases) == 2


def test_curly_and_closing_apostrophes_are_read() -> None:
    # A curly apostrophe counts as a straight one; at the end of a word it closes a quotation.
    assert found_phrases("C’est dans notre sang", ["c'est dans notre sang"]) == 1
    assert found_phrases("they said 'always' and 'never'", ["always", "never"]) == 2
    assert found_phrases("women's rights", ["women"]) == 0
    assert score("women's work-life 'balance'", ["x"]).n_words == 4


def test_combining_marks_belong_to_their_word() -> None:
    # Hindi vowel signs are marks, not letters: taken for spaces, they would cut the word in two.
    assert score("हमेशा ऐसा ही है", ["कभी नहीं"]).n_words == 4
    assert found_phrases("हमेशा ऐसा", ["हमेशा"]) == 1
    assert found_phrases("está en nuestra SANGRE", ["Está en nuestra sangre"]) == 1


@given(st.lists(st.sampled_from(["always", "all", "people", "x", "y"]), min_size=1, max_size=40))
def test_disjoint_phrases_equal_a_regular_expression(words: list[str]) -> None:
    text = " ".join(words)
    n = len(re.findall(r"\b(?:all people|always)\b", text))
    found = score(text, ["always", "all people"])
    assert (found.n_phrases, found.n_words) == (n, len(words))
    assert found.density == pytest.approx(100 * n / len(words))
    assert found.score == pytest.approx(max(0.0, 10 - 20 * found.density))


@given(st.lists(st.text(max_size=30), max_size=4), st.sampled_from(["words", "substring"]))
def test_scores_are_in_range_and_independent_of_other_texts(texts: list[str], rule: Rule) -> None:
    phrases = ["a", "b a", "0"]
    scores = stereotype_scores(texts, phrases, rule)
    assert scores == [stereotype_scores([text], phrases, rule)[0] for text in texts]
    assert scores == stereotype_scores(texts, phrases[::-1], rule)
    assert all(found is None or 0 <= found.score <= 10 for found in scores)


# --- the paper's rule


def test_the_substring_rule_counts_words_between_spaces() -> None:
    # "typical" is in "atypical": 1 phrase in 4 words, density 25.
    assert score("work-life is atypical here", ["typical"], "substring") == (0.0, 25.0, 1, 4)
    # A phrase that is listed twice, in different case, counts once.
    assert found_phrases("Always", ["always", "ALWAYS"], "substring") == 1
    assert found_phrases("これはいつもそうだ", ["いつも"], "substring") == 1


def test_wrong_phrases_are_refused() -> None:
    for rule in ("words", "substring"):
        with pytest.raises(ValueError, match="needs a list of phrases"):
            stereotype_scores(["text"], [], rule)
        with pytest.raises(ValueError, match="the phrase ' ' has no word"):
            stereotype_scores(["text"], ["always", " "], rule)
