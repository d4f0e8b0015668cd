"""Option log-probabilities: by hand, against all ways to generate an answer, and with real tokens."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterable, Mapping, Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerBase

from tasks.engines.protocols import TokenAlternatives
from tasks.loop.written import option_logprobs

YES_NO = ("yes", "no")
NORMAD = ("yes", "no", "neutral")


def mixed(written: str, probabilities: Mapping[str, float]) -> TokenAlternatives:
    """Return a generated token and its alternatives, given as probabilities."""
    return TokenAlternatives(written, {text: math.log(p) for text, p in probabilities.items()})


def sure(*written: str) -> list[TokenAlternatives]:
    return [TokenAlternatives(text, {text: 0.0}) for text in written]


def probabilities(
    tokens: Sequence[TokenAlternatives], options: Sequence[str], field: str, text: str | None = None
) -> dict[str, float] | None:
    text = "".join(token.text for token in tokens) if text is None else text
    found = option_logprobs(tokens, text, options, field)
    return None if found is None else {option: math.exp(p) for option, p in found.items()}


# --- by hand -----------------------------------------------------------------------------------------


def test_probabilities_of_all_spellings_of_an_option_are_summed() -> None:
    # yes: 0.5 + 0.1 + 0.05 + 0.02; no: 0.2 + 0.03. "maybe" is no option, '"' ends before the value begins.
    shares = {"yes": 0.5, " Yes": 0.1, '"yes': 0.05, "y": 0.02, "no": 0.2, "No": 0.03}
    shares |= {"maybe": 0.04, '"': 0.01}
    tokens = [*sure('{"', "label", '":"'), mixed("yes", shares), *sure('"}')]
    assert probabilities(tokens, YES_NO, "label") == pytest.approx({"yes": 0.67, "no": 0.23})


def test_token_may_begin_before_the_value() -> None:
    shares = {':"yes': 0.6, ':"no': 0.25, ': "no': 0.05, ' : " no': 0.01, ":": 0.09}
    tokens = [*sure('{"label"'), mixed(':"yes', shares), *sure('"}')]
    assert probabilities(tokens, YES_NO, "label") == pytest.approx({"yes": 0.6, "no": 0.31})
    tokens = [*sure('{"lab'), mixed('el":"yes', {'el":"yes': 0.6, 'el":"no': 0.4}), *sure('"}')]
    assert probabilities(tokens, YES_NO, "label") == pytest.approx({"yes": 0.6, "no": 0.4})


def test_generated_prefix_shared_by_options_is_followed() -> None:
    # "n" was generated with 0.5; then "o" 0.7 and "eutral" 0.2 of that, so no 0.1 + 0.35, neutral 0.1.
    tokens = [
        *sure('{"label":"'),
        mixed("n", {"n": 0.5, "no": 0.1, "yes": 0.3}),
        mixed("o", {"o": 0.7, "eutral": 0.2, '"': 0.1}),
        *sure('"}'),
    ]
    expected = {"yes": 0.3, "no": 0.45, "neutral": 0.1}
    assert probabilities(tokens, NORMAD, "label") == pytest.approx(expected)


def test_option_that_is_a_prefix_of_another_is_resolved_by_the_next_token() -> None:
    options = ("not", "not sure", "sure")
    tokens = [
        *sure('"a": "'),
        mixed("not", {"not": 0.8, "sure": 0.2}),
        mixed(" sure", {" sure": 0.25, '"': 0.5, '",': 0.125}),
    ]
    expected = {"not": 0.5, "not sure": 0.2, "sure": 0.2}
    assert probabilities(tokens, options, "a") == pytest.approx(expected)


def test_mostly_undecided_options_are_left_out() -> None:
    # "n" was not generated, so its 0.4 may be no or neutral: more than the 0.1 known for no.
    tokens = [*sure('"label":"'), mixed("yes", {"yes": 0.5, "n": 0.4, "no": 0.1}), *sure('"')]
    assert probabilities(tokens, NORMAD, "label") == pytest.approx({"yes": 0.5})
    # 0.05 undecided is less than the 0.3 known for no; for neutral only 0.02 is known.
    shares = {"yes": 0.5, "n": 0.05, "no": 0.3, "neutral": 0.02}
    tokens = [*sure('"label":"'), mixed("yes", shares), *sure('"')]
    assert probabilities(tokens, NORMAD, "label") == pytest.approx({"yes": 0.5, "no": 0.3})


def test_truncated_answer_gives_only_decided_options() -> None:
    cut = [*sure('"label":"'), mixed("n", {"n": 0.5, "yes": 0.4, "no": 0.1})]
    assert probabilities(cut, NORMAD, "label") == pytest.approx({"yes": 0.4})
    assert probabilities(sure('"label":"'), NORMAD, "label") is None


def test_last_field_of_the_name_counts() -> None:
    head = r'{"reasoning": "not \"verdict\": \"NO\" but", "verdict": "'
    tokens = [*sure(head), mixed("YES", {"YES": 0.75, "NO": 0.25}), *sure('"}')]
    assert probabilities(tokens, ("YES", "NO"), "verdict") == pytest.approx({"YES": 0.75, "NO": 0.25})
    twice = [
        *sure('{"a":"'),
        mixed("yes", {"yes": 1.0}),
        *sure('","a":"'),
        mixed("no", {"no": 0.5}),
        *sure('"}'),
    ]
    assert probabilities(twice, YES_NO, "a") == pytest.approx({"no": 0.5})


def test_missing_value_gives_none_and_other_value_gives_no_options() -> None:
    assert probabilities(sure('{"label": true}'), YES_NO, "label") is None
    assert probabilities(sure("yes"), YES_NO, "label") is None
    assert option_logprobs((), '{"label":"yes"}', YES_NO, "label") is None
    # Tokens that do not make up the text.
    assert option_logprobs(sure('{"label":"', "no"), '{ "label":"no"}', YES_NO, "label") is None
    # The value is there, but no option among the alternatives.
    assert probabilities([*sure('"label":"'), *sure("perhaps")], YES_NO, "label") == {}


def test_free_text_is_scored_at_its_first_word() -> None:
    tokens = [
        *sure("\n"),
        mixed(" Yes", {" Yes": 0.5, "Yes": 0.1, " No": 0.2, '"no': 0.1}),
        *sure(",", " it is"),
    ]
    expected = {"yes": 0.6, "no": 0.3}
    assert probabilities(tokens, YES_NO, "") == pytest.approx(expected)
    assert probabilities(tokens, YES_NO, "", text="Yes, it is") == pytest.approx(expected)  # stripped
    assert probabilities(sure("\n"), YES_NO, "") is None
    # The end token decides between an option and a longer option that begins with it.
    tokens = [mixed("no", {"no": 0.5, "yes": 0.5}), mixed("<|im_end|>", {"<|im_end|>": 0.8, " comment": 0.2})]
    found = probabilities(tokens, ("yes", "no", "no comment"), "", text="no")
    assert found == pytest.approx({"yes": 0.5, "no": 0.4, "no comment": 0.1})


def test_tokens_that_lose_their_space_when_decoded_are_matched() -> None:
    """For example SentencePiece tokens of Llama 2: the text has a space that no token has."""
    tokens = [*sure('{"', "label", '":'), *sure('"'), mixed("yes", {"yes": 0.9, "no": 0.1}), *sure('"}')]
    found = probabilities(tokens, YES_NO, "label", text='{"label": "yes"}')
    assert found == pytest.approx({"yes": 0.9, "no": 0.1})


# --- against all ways to generate an answer -----------------------------------------------------------


class Writer:
    """An invented model that generates one of the options as JSON, in tokens of an invented vocabulary.

    A token's weight depends on the whole text before it; tokens that lead to no option are forbidden, as
    under a grammar.
    """

    def __init__(self, options: Sequence[str], vocabulary: Iterable[str]) -> None:
        self.goals = {option: json.dumps({"v": option}, separators=(",", ":")) for option in options}
        self.vocabulary = sorted(set(vocabulary))

    def next(self, written: str) -> dict[str, float]:
        allowed = [t for t in self.vocabulary if any(g.startswith(written + t) for g in self.goals.values())]
        weights = {t: 1 + zlib.crc32(f"{written}|{t}".encode()) % 97 for t in allowed}
        return {t: w / sum(weights.values()) for t, w in weights.items()}

    def write(self, choices: Sequence[int]) -> tuple[str, list[TokenAlternatives]]:
        """Return one answer; the caller chooses the token at each place."""
        text, tokens = "", []
        for choice in choices:
            found = self.next(text)
            if not found:
                break
            token = sorted(found)[choice % len(found)]
            tokens.append(TokenAlternatives(token, {t: math.log(p) for t, p in found.items()}))
            text += token
        return text, tokens

    def probability(self, option: str, written: str) -> float:
        """Return the probability that the text becomes the option, over all sequences of tokens."""
        goal = self.goals[option]
        if written == goal:
            return 1.0
        return sum(
            p * self.probability(option, written + t)
            for t, p in self.next(written).items()
            if goal.startswith(written + t)
        )


HEAD = '{"v":"'
SPLITS = st.sampled_from([["{", '"v"', ':"'], ['{"', "v", '":"'], ['{"v":"'], list(HEAD)])
CHOICES = st.lists(st.integers(0, 50), min_size=30, max_size=30)
WORDS = st.lists(st.text("abc", min_size=1, max_size=4), min_size=2, max_size=4, unique=True)


def pieces(options: Sequence[str]) -> set[str]:
    """Return every substring of every option, so that each has many tokenisations."""
    return {o[i:j] for o in options for i in range(len(o)) for j in range(i + 1, len(o) + 1)}


@given(WORDS, SPLITS, CHOICES)
def test_options_with_shared_prefixes_are_a_bounded_part_of_the_truth(
    words: list[str], head: list[str], choices: list[int]
) -> None:
    writer = Writer(words, {*head, *pieces(words), '"}', "}"})
    text, tokens = writer.write(choices)
    found = probabilities(tokens, words, "v")
    assert text in writer.goals.values()
    assert found is not None
    assert math.fsum(found.values()) <= 1 + 1e-9
    for option, p in found.items():
        true = writer.probability(option, HEAD)
        assert p <= true + 1e-9  # the known part never exceeds the truth,
        assert true <= 2 * p + 1e-9  # and the undecided part never exceeds the known one


@given(st.lists(st.text("xyz", max_size=3), min_size=2, max_size=4), SPLITS, CHOICES, st.booleans())
def test_options_with_different_first_letters_are_exact(
    ends: list[str], head: list[str], choices: list[int], closing: bool
) -> None:
    words = [first + end for first, end in zip("abcd", ends, strict=False)]
    longer = {word + '"}' for word in words} if closing else set()
    writer = Writer(words, {*head, *pieces(words), *longer, '"}', "}"})
    text, tokens = writer.write(choices)
    found = probabilities(tokens, words, "v")
    assert found == pytest.approx({word: writer.probability(word, HEAD) for word in words})
    assert found is not None
    assert math.fsum(found.values()) == pytest.approx(1)
    shuffled = [TokenAlternatives(t.text, dict(reversed(list(t.logprobs.items())))) for t in tokens]
    assert probabilities(shuffled, words[::-1], "v", text) == pytest.approx(found)


@given(WORDS, CHOICES)
def test_tokens_across_the_quotation_mark_never_exceed_the_truth(
    words: list[str], choices: list[int]
) -> None:
    """Probabilities are conditional on the text before the token in which the value begins."""
    joined = {before + piece for before in (':"', '"') for piece in pieces(words)}
    writer = Writer(words, {'{"v"', ":", '"', ':"', *joined, *pieces(words), '"}', "}"})
    _, tokens = writer.write(choices)
    found = probabilities(tokens, words, "v")
    assume(found)
    start = ""
    for token in tokens:
        if len(start + token.text) > len(HEAD):
            break
        start += token.text
    for option, p in (found or {}).items():
        assert 0 < p <= writer.probability(option, start) + 1e-9


# --- tokenisers of the embedded models ---------------------------------------------------------------


def written(tokenizer: PreTrainedTokenizerBase, text: str) -> list[str]:
    """Return the tokens' texts as engines give them: the last token of a split character contains it."""
    ids = tokenizer(text, add_special_tokens=False).input_ids
    found: list[str] = []
    before = ""
    for n in range(1, len(ids) + 1):
        so_far = str(tokenizer.decode(ids[:n]))
        so_far = before if so_far.endswith("\N{REPLACEMENT CHARACTER}") else so_far
        found.append(so_far[len(before) :])
        before = so_far
    assert "".join(found) == text
    return found


REASONED = '{"reasoning":"नमस्ते 🍜: \\"label\\":","label":"YES"}'
GOLDEN = [
    # yes 0.5 + 0.1 for "y"; "n" is undecided between no and neutral.
    ('{"label":"yes"}', {"yes": 0.5, "y": 0.1, "no": 0.2, "neutral": 0.1, "n": 0.05}, (0.6, 0.2, 0.1)),
    ('{"label": "no"}', {"no": 0.5, "ne": 0.1, "Yes": 0.25, " yes": 0.125}, (0.375, 0.5, 0.1)),
    ('{\n  "label": "neutral"\n}', {"neutral": 0.7, "no": 0.2, " no": 0.05}, (None, 0.25, 0.7)),
]


def is_token(tokenizer: PreTrainedTokenizerBase, text: str) -> bool:
    return [tokenizer.decode([i]) for i in tokenizer(text, add_special_tokens=False).input_ids] == [text]


@pytest.mark.parametrize("name", ["smollm2_tokenizer", "gemma3_tokenizer"])
@pytest.mark.parametrize(("text", "shares", "expected"), GOLDEN)
def test_options_in_tokens_of_the_embedded_models(
    name: str,
    text: str,
    shares: dict[str, float],
    expected: tuple[float | None, ...],
    request: pytest.FixtureRequest,
) -> None:
    tokenizer: PreTrainedTokenizerBase = request.getfixturevalue(name)
    assert all(is_token(tokenizer, alternative) for alternative in shares)
    texts = written(tokenizer, text)
    place = texts.index(next(iter(shares)))
    tokens = [*sure(*texts[:place]), mixed(texts[place], shares), *sure(*texts[place + 1 :])]
    found = probabilities(tokens, NORMAD, "label", text)
    assert found == pytest.approx({o: p for o, p in zip(NORMAD, expected, strict=True) if p is not None})


@pytest.mark.parametrize(
    ("name", "first"),
    [("smollm2_tokenizer", "Y"), ("gemma3_tokenizer", "YES")],  # SmolLM2 writes "Y", "ES"
)
def test_verdict_after_a_reason_with_multi_token_characters(
    name: str, first: str, request: pytest.FixtureRequest
) -> None:
    """The reason contains characters of several tokens, and the field's name."""
    texts = written(request.getfixturevalue(name), REASONED)
    place = len(texts) - 1 - texts[::-1].index(first)
    tokens = [*sure(*texts[:place]), mixed(first, {first: 0.75, "NO": 0.2}), *sure(*texts[place + 1 :])]
    found = probabilities(tokens, ("YES", "NO"), "label", REASONED)
    assert found == pytest.approx({"YES": 0.75, "NO": 0.2})
