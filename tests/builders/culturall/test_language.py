"""Languages of whole items, and what counts as another one."""

from __future__ import annotations

import pytest

from tasks.builders.culturall.language import SCRIPTS, identify, is_written_in
from tests.builders.culturall.model_server import items

ALL = items("ar be bn en es ja kk km ko ms ru sr vi zh")


def test_every_shipped_item_is_in_its_language_and_in_no_other() -> None:
    """14 languages, each declared as each other one: Serbian is not taken for Russian, nor Malay for
    Spanish."""
    for item in ALL[::3]:
        text = f"{item.native.scenario} {item.native.question}"
        passed = {language for language in SCRIPTS if is_written_in(text, language) is None}
        assert passed == {item.language}, item.item


@pytest.mark.parametrize(
    ("text", "language", "reason"),
    [
        ("Kato spava na kauču, a pas čeka ispred vrata.", "ru", "letters are of another script"),
        ("我今天早上在超市买了很多苹果和香蕉，因为它们很便宜。", "ja", "no kana"),
        ("今日はスーパーでりんごとバナナをたくさん買いました。", "zh", "HIRAGANA"),
        ("Сегодня утром мы купили в магазине хлеб и молоко.", "kk", "reads as ru"),
        ("Dnes ráno jsme v obchodě koupili chléb a mléko.", "en", "reads as cs"),
    ],
)
def test_what_speaks_against_a_language(text: str, language: str, reason: str) -> None:
    assert reason in (is_written_in(text, language) or "")


def test_short_texts_and_unknown_languages_are_not_judged() -> None:
    assert identify("112") == ("", 0.0)
    assert is_written_in("Nein.", "km") is None
    assert is_written_in("Dnes ráno jsme v obchodě koupili chléb a mléko.", "chr") is None
