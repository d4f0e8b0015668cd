"""Prompts and verdicts of several judges on the same texts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from tasks.engines.protocols import Sampling
from tasks.judging.panel import Call, Judges, Panel, VerdictSubject, score_of
from tasks.judging.rubric import Rubric
from tasks.judging.verdicts import UNANSWERED
from tasks.loop.prompts import Completion, Prompts
from tasks.loop.requests import Engine

GOOD, BAD = (
    f'{{"items": {{"verdict": "{verdict}", "reason": "{reason}"}}}}'
    for verdict, reason in (("Good", "tasty"), ("Bad", "unknown"))
)


@pytest.fixture(name="panel")
def _panel(rubric: Rubric) -> Panel:
    judges = {name: Engine(f"{name}-engine", "fake", f"model-{name}", f"hash-{name}") for name in ("j", "k")}
    return Panel(judges, "answers", 32, "items", rubric, 64)


def call(panel: Panel, source: str, text: str) -> Call:
    return panel.call(source, "a", text, lambda: {"title": "fruit"})


def completion(text: str) -> Completion:
    return Completion(text, "stop", 1, 1)


def test_every_judge_gets_every_call_and_missing_verdicts_are_unscored(panel: Panel) -> None:
    calls = [call(panel, "real", "plum"), call(panel, "empty", "")]
    assert call(panel, "real", "plum") is calls[0]
    sent = [(request.engine, request.role, len(request.prompts)) for request in panel.requests(calls)]
    assert sent == [("j", "judge", 2), ("k", "judge", 2)]
    assert panel.requests([]) == []

    def replies(request: Prompts) -> dict[str, Completion]:
        return {calls[0].prompt.id: completion(GOOD)} if request.engine == "j" else {}

    opinions = panel.read(calls, replies)
    assert opinions["j"]["real", "a"].score == 1.0
    assert opinions["k"]["real", "a"].verdict.unscored_reason == UNANSWERED
    assert score_of(opinions, ("real", "a")) == (None, UNANSWERED)  # not the mean of the other judge
    assert score_of({"j": opinions["j"]}, ("real", "a")) == (1.0, "")
    assert score_of(opinions, ("empty", "a")) == (None, UNANSWERED)
    frames = panel.verdicts(
        calls, opinions, lambda own, key: VerdictSubject(panel.rubric_id, "a", f"A, {key}.", "g", own.source)
    )
    assert list(frames) == ["j-engine", "k-engine"]
    assert frames["j-engine"]["value"].to_list() == [1.0, None]
    assert frames["k-engine"]["unscored_reason"].to_list() == [UNANSWERED] * 2
    scores = panel.verdict_scores(calls, opinions, replies)
    assert {name: score.value for name, score in scores["real", "a"].items()} == {
        "taste (j-engine)": 1.0, "taste (k-engine)": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        (GOOD, True),
        (f"{BAD} On reflection: {GOOD}", True),
        ("People do this.", False),
        ('{"items": 1}', False),
    ],
)
def test_a_verdict_is_lost_exactly_if_it_is_not_read(panel: Panel, text: str, is_read: bool) -> None:
    own, reply = call(panel, "real", "plum"), completion(text)
    opinion = panel.read([own], lambda _: {own.prompt.id: reply})["j"]["real", "a"]
    request, _ = panel.requests([own])
    assert request.unread
    assert (opinion.score is not None, request.unread(own.prompt.id, reply) is None) == (is_read, is_read)


def test_votes_on_one_text_are_separate_requests(panel: Panel) -> None:
    """Equal prompts under two samplings have two completions, one per vote."""

    @dataclass(frozen=True)
    class Voted(Call):
        vote: int = 0

        @property
        def key(self) -> tuple[str, str]:
            return self.source, str(self.vote)

    one = call(panel, "real", "plum")
    fields = {name: getattr(one, name) for name in ("source", "item", "text", "rubric", "keys", "prompt")}
    sampling = Sampling(max_tokens=9)
    calls = [Voted(sampling=replace(sampling, seed=n), vote=n, label=f"vote {n}", **fields) for n in range(2)]
    judges: Judges[Voted] = Judges(panel.judges, "answers", 32)
    requests = judges.requests(calls)
    assert [(r.engine, r.label, r.sampling.seed) for r in requests] == [
        ("j", "vote 0", 0), ("j", "vote 1", 1), ("k", "vote 0", 0), ("k", "vote 1", 1),
    ]  # fmt: skip
    opinions = judges.read(
        calls, lambda request: {one.prompt.id: completion(BAD if request.sampling.seed else GOOD)}
    )
    assert [opinions["k"][each.key].score for each in calls] == [1.0, 0.0]


def test_the_plan_counts_the_prompts_of_each_judge(panel: Panel) -> None:
    longest = call(panel, "real", "")
    later = panel.later(10, longest, 100)
    assert [(each.engine, each.n) for each in later] == [("j", 10), ("k", 10)]
    assert panel.later(0, longest, 100) == panel.later(10, None, 100) == []
