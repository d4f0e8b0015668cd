"""The whole evaluation on a real warehouse with scripted engines: loads, rows and views."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from deployments.evaluations import doors
from deployments.show.boards import leaderboard
from flows.evaluation import evaluate
from tasks.engines.fake import FakeEngine
from tasks.engines.protocols import (
    Conversations,
    EngineError,
    Generation,
    Samplings,
    Schemas,
    each,
    each_schema,
)
from tasks.engines.specs import EngineSpec
from tasks.evaluations.explication.evaluation import EVALUATION
from tasks.evaluations.explication.params import ExplicationParams
from tests.evaluations.explication.conftest import SIX
from tests.evaluations.explication.test_evaluation import judge, recommend, user
from warehouse import Warehouse

HOSTILE = "<script>alert('x')</script> & <b>10</b>"
REPLIES = {"adapts": recommend, "sim": user, "judge": judge}
PARAMS: dict[str, Any] = {
    "models": ["adapts", "ignores"],
    "personas": SIX,
    "simulator": "sim",
    "judges": ["judge"],
    "repetitions": 2,
    "profile": "test",
}


def generate(
    self: FakeEngine, conversations: Conversations, samplings: Samplings, schemas: Schemas = None, *_: object
) -> list[Generation]:
    """Generate by the script of the engine's name; other engines always give one hostile recipe."""

    def ignore(*_: object) -> str:
        return f"#Dish name: Eggs {HOSTILE}\n#Ingredients: 2 eggs, bacon, peanuts\n#Instructions: Fry."

    n = len(conversations)
    own = list(zip(conversations, each(samplings, n), each_schema(schemas, n), strict=True))
    say = REPLIES.get(self.spec.name, ignore)
    return [Generation(say(c, s, schema), "stop", 9, 3, s.seed) for c, s, schema in own]


loaded: list[str] = []
of_first_run: list[str] = []
"""A copy of ``loaded`` after the fixture's run, because another test adds to it."""


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    """A warehouse with one run."""
    home = tmp_path_factory.mktemp("explication") / "home"
    (home / "engines").mkdir(parents=True)
    for name in ("adapts", "ignores", "sim", "judge", "gone"):
        options = "delay = -1" if name == "gone" else "memory_gib = 4"
        text = f'kind = "fake"\nmodel = "{name}"\noptions = {{ {options} }}\n'
        (home / "engines" / f"{name}.toml").write_text(text)
    made = FakeEngine.__init__

    def load(self: FakeEngine, spec: EngineSpec) -> None:
        loaded.append(spec.name)
        made(self, spec)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CULTUREMETER_HOME", str(home))
        patch.setenv("CULTUREMETER_ENGINE_MEMORY", "9")  # two of the engines fit
        patch.setattr(FakeEngine, "__init__", load)
        patch.setattr(FakeEngine, "generate", generate)
        loaded.clear()
        evaluate(EVALUATION, ExplicationParams(**PARAMS))
        of_first_run[:] = loaded
        yield Warehouse.open(home)


def config(warehouse: Warehouse) -> str:
    return str(warehouse.query("SELECT min(config_hash) FROM leaderboard_explication").item())


def test_engines_that_do_not_fit_together_are_loaded_at_most_twice(warehouse: Warehouse) -> None:
    """The loop finishes all turns of a model before the next model, and then runs the judge."""
    times = Counter(of_first_run)
    assert times.keys() == {"adapts", "ignores", "sim", "judge"}
    assert max(times.values()) <= 2
    assert of_first_run.index("judge") == len(of_first_run) - 1


def test_leaderboard_tells_the_adapting_model_from_the_other(warehouse: Warehouse) -> None:
    board = warehouse.query("SELECT * FROM leaderboard_explication ORDER BY place")
    assert board["model"].to_list() == [*["adapts", "ignores"] * 2, "null:fixed", "null:generic"]
    assert board["condition"].to_list() == ["control", "control", "treatment", "treatment", "", ""]
    first, second = board.to_dicts()[:2]
    assert (first["apr"], first["apr_null"], first["tells_real_from_shuffled"]) == (9.0, 2.0, True)
    assert (second["apr"], second["tells_real_from_shuffled"], second["questions"]) == (2.0, False, 0.0)
    # By hand, over Aisha, Heena, Jonas, Leïla, Rogelio, Soon-ja: carrots are no Jain food, and 15 minutes are
    # too long for Aisha. Eggs, bacon and peanuts: not halal and an allergy, not Jain, not vegan, salty.
    assert first["violated"] == pytest.approx((1 / 6 + 1 / 3 + 0 + 0 + 0 + 0) / 6)
    assert second["violated"] == pytest.approx((2 / 5 + 1 / 2 + 0 + 1 + 0 + 1 / 3) / 6)
    shown = doors()["explication"].columns(first)
    assert shown["tells real"] == "yes"
    assert leaderboard(warehouse, "explication", config(warehouse)).height == 6


def test_conversations_transcripts_and_personas_are_stored(warehouse: Warehouse) -> None:
    talks = warehouse.query("SELECT * FROM explication_conversation WHERE model = 'adapts'")
    assert talks.height == 6 * 2 * 2
    assert talks["seed"].unique().to_list() == [0]
    assert set(talks["ended_by"]) == {"recommendation"}
    assert talks["transcript"][0].startswith("Recommender: Do you follow a diet?\n\nUser: I am ")
    picked = warehouse.query("SELECT model, why FROM explication_transcript ORDER BY place").rows()
    assert ("ignores", "most disputed") in picked
    assert ("adapts", "best") in picked
    people = warehouse.query("SELECT * FROM explication_by_persona")
    assert people.height == 2 * 6 * 2
    assert people["country_name"].null_count() == 0


def test_failed_simulator_leaves_numbers_unscored(
    warehouse: Warehouse, own_copy: Callable[[Warehouse], Warehouse]
) -> None:
    own = own_copy(warehouse)
    params = ExplicationParams(**PARAMS | {"simulator": "gone", "models": ["adapts"]})
    with pytest.raises(EngineError, match="simulator gone"):
        evaluate(EVALUATION, params)
    values = own.query(
        "SELECT v.* FROM metric_value AS v JOIN run USING (run_id) WHERE run.model = 'adapts' "
        "AND (run.params->>'simulator') = 'gone' AND v.metric = 'apr' AND slice = 'all'"
    )
    assert values["value"].to_list() == [None]
    assert values["unscored_reason"].to_list() == ["the conversation was not finished"]
