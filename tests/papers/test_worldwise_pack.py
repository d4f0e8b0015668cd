"""A pack from a clone of WorldWiseAI, and the settings of a run with it beside the paper's."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from scrapers.countries import CountryCodes
from tasks.papers.importing import Pack, pack_from
from tasks.papers.worldwise.importer import IMPORTER
from tests.papers.worldwise_clone import FIRST, PHRASES, THRICE, clone, program

NAMES = ("United States", "Japan", "India", "Mexico", "United Arab Emirates")
COUNTRIES = dict(zip(NAMES, ("US", "JP", "IN", "MX", "AE"), strict=True))


def lines(pack: Pack, name: str) -> list[str]:
    return pack.files[f"worldwise/{name}.csv"].splitlines()


def test_a_clone_gives_all_tables_and_prompts(tmp_path: Path) -> None:
    assert CountryCodes(COUNTRIES).code("UAE") == "AE"
    pack = pack_from(IMPORTER, clone(tmp_path / "clone"), COUNTRIES)
    assert pack.left_out == []
    n_rows = {
        name: len(lines(pack, name)) - 1 for name in ("scenario", "exemplar", "guiding_value", "stereotype")
    }
    assert n_rows == {"scenario": 30, "exemplar": 60, "guiding_value": 18, "stereotype": 9}
    assert lines(pack, "stereotype")[1:] == PHRASES
    assert 'JP,"Kamakura, Japan",Japanese' in lines(pack, "culture")
    assert "seed_bucketed,AE,hofstede,power_distance,2.0" in lines(pack, "culture_profile")
    prompts = tomllib.loads(pack.files["worldwise/prompts.toml"])
    assert prompts["baseline"] == "You answer letters in a newspaper."
    assert prompts["persona"].startswith(
        "You keep a shop in {{ place }} and always have.\n\nYour customers are {{ people }},"
    )
    assert prompts["persona"].endswith("mind the {braces}.")
    assert prompts["question"].startswith("{{ scenario }}\n\nReply in this form:")
    assert "\n  - Open & Plain Order\n" in prompts["question"]
    assert prompts["embedded"] == "{{ explanation }} {{ decision }} {{ value_1 }} {{ value_2 }} {{ value_3 }}"
    alone = tomllib.loads(pack.files["worldwise/replaces.toml"])["files"]
    assert alone == ["scenario", "exemplar", "guiding_value", "stereotype"]


VARIATIONS = tomllib.loads((Path(__file__).parent / "variations.toml").read_text())


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    return pack_from(IMPORTER, clone(tmp_path_factory.mktemp("usual") / "clone"), COUNTRIES)


@pytest.mark.parametrize("variation", VARIATIONS)
def test_variations_of_the_program_give_the_same_pack(tmp_path: Path, usual: Pack, variation: str) -> None:
    """Every variation gives the same pack; only settings of the machine are left out."""
    folder = clone(tmp_path / "clone")
    (folder / "texts").mkdir()
    for each in VARIATIONS[variation]:
        file, old, new = folder / each["file"], each["old"], each["new"]
        before = file.read_bytes().decode() if old else ""
        assert old in before
        file.write_bytes((before.replace(old, new) if old else new).encode())
    pack = pack_from(IMPORTER, folder, COUNTRIES)
    assert {name: pack.files.get(name) for name in usual.files} == usual.files
    assert bool(pack.left_out) == (variation == "settings of the machine")


def test_fields_of_another_persona_become_columns(tmp_path: Path) -> None:
    """Up to three fields of a persona become columns of culture.csv; a fourth is refused in a note."""
    folder = clone(tmp_path / "clone")
    (folder / "config.py").write_text(
        "CULTURAL_CONTEXTS = {'US': {'name': 'United States', 'prized': ['grit', 'thrift'], 'a': 1, 'b': 2}}"
    )
    persona = 'f\'You, of {culture}, prize {", ".join(about["prized"])}.\''
    prompts = f"def system_prompt(culture):\n    about = CULTURAL_CONTEXTS[culture]\n    return {persona}\n"
    (folder / "prompt_constructor.py").write_text(prompts)
    pack = pack_from(IMPORTER, folder, COUNTRIES)
    texts = tomllib.loads(pack.files["worldwise/prompts.toml"])
    assert texts["persona"] == "You, of {{ called }}, prize {{ place }}."
    assert lines(pack, "culture") == ["country,place,called", 'US,"grit, thrift",US']
    more = prompts.replace(", prize ", ', prize {about["a"]} {about["b"]} ')
    (folder / "prompt_constructor.py").write_text(more)
    left_out = pack_from(IMPORTER, folder, COUNTRIES).left_out
    assert any(
        "more slots (culture, a, b, prized) than columns (place, people, called)" in line for line in left_out
    )


def test_another_encoding_and_order_of_the_embedded_text_are_read(tmp_path: Path) -> None:
    program(tmp_path, THRICE, "latin-1")
    pack = pack_from(IMPORTER, tmp_path, COUNTRIES)
    embedded = tomllib.loads(pack.files["worldwise/prompts.toml"])["embedded"]
    values = "{{ value_1 }}, {{ value_2 }}, {{ value_3 }}. "
    assert embedded == values * 3 + "{{ explanation }} {{ decision }}"


def test_missing_and_broken_programs_leave_the_rest_of_the_pack(tmp_path: Path) -> None:
    program(tmp_path, FIRST)
    (tmp_path / "scenarios.py").unlink()
    (tmp_path / "evaluator.py").write_text("def (")
    pack = pack_from(IMPORTER, tmp_path, COUNTRIES)
    assert {name.partition("/")[2] for name in pack.files} == {
        "", "guiding_value.csv", "stereotype.csv", "culture_profile.csv", "culture.csv", "prompts.toml",
        "replaces.toml",
    }  # fmt: skip
    left_out = "\n".join(pack.left_out)
    assert "no file of scenario list (scenarios.py)" in left_out
    assert "evaluator.py is not Python source" in left_out
    assert "embedded: not found" in left_out


def test_a_folder_without_known_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(ValueError, match="no known file in it"):
        pack_from(IMPORTER, tmp_path, COUNTRIES)
