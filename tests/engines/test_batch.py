"""Batches on a local server: killed at each step, expired, half failed, garbled; nothing is sent twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tasks.engines.options import in_flight
from tasks.engines.protocols import EngineError, Generation, Sampling, Unfinished
from tasks.engines.served import openai_batch, transport
from tasks.engines.served.openai_http import OpenAIGenerator
from tasks.engines.served.providers import THINKING
from tasks.engines.specs import EngineSpec
from tests.conftest import REPOSITORY, environment
from tests.engines.batch_server import BatchServer, Line, answered, refused
from tests.engines.test_openai import SCHEMA, spec
from warehouse.jobs import FolderJobs

KEY = "sk-very/secret+key_0123456789"
TALKS = [[{"role": "user", "content": f"question {n}"}] for n in range(5)]
ANSWERS = [f"re: question {n}" for n in range(5)]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchServer]:
    monkeypatch.setattr(openai_batch, "FIRST_POLL_S", 0.01)
    monkeypatch.setattr(transport, "FIRST_WAIT_S", 0.01)
    monkeypatch.setenv("TEST_API_KEY", KEY)
    server = BatchServer()
    yield server
    server.close()


def batched(server: BatchServer, **options: Any) -> EngineSpec:
    options = {"batch": 100, "max_retries": 0, "timeout": 20} | options
    return spec(server.url, api_key_env="TEST_API_KEY", options=options)


@pytest.fixture
def ask(server: BatchServer, tmp_path: Path) -> Callable[..., list[Generation]]:
    """Send the prompts, with job files that remain between calls."""

    def ask(
        talks: Any = TALKS, folder: str = "jobs", jobs: type[FolderJobs] = FolderJobs, **options: Any
    ) -> list[Generation]:
        engine = OpenAIGenerator(batched(server, **options), jobs(tmp_path / folder))
        return engine.generate(talks, Sampling(max_tokens=9, seed=3), SCHEMA)

    return ask


Ask = Callable[..., list[Generation]]


def texts(answers: list[Generation]) -> list[str]:
    return [answer.text for answer in answers]


def stored(failure: Unfinished) -> dict[int, str]:
    return {place: answer.text for place, answer in failure.done.items()}


def test_requests_are_sent_as_one_job(server: BatchServer, ask: Ask) -> None:
    server.results = lambda lines: ([answered(line) for line in lines[::-1]], [])  # in any order
    answers = ask()
    assert texts(answers) == ANSWERS
    assert {(a.finish_reason, a.prompt_tokens, a.completion_tokens, a.seed) for a in answers} == {
        ("stop", 5, 2, 3)
    }
    (lines,) = server.sent
    assert [line["body"]["messages"] for line in lines] == TALKS
    body = lines[0]["body"]
    assert (body["model"], body["max_tokens"], body["seed"]) == ("smol", 9 + THINKING["auto"], 3)
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA
    assert {(line["method"], line["url"]) for line in lines} == {("POST", "/v1/chat/completions")}


def test_batch_option_sets_the_size_and_is_not_hashed(server: BatchServer, ask: Ask) -> None:
    assert texts(ask(batch=2)) == ANSWERS
    assert [len(lines) for lines in server.sent] == [2, 2, 1]
    one, other = batched(server, batch=2), spec(server.url, options={"max_concurrency": 7})
    assert (in_flight(one.options), in_flight(other.options)) == (2, 7)  # the size of parts
    assert one.hash() == other.hash()
    with pytest.raises(EngineError, match="give max_concurrency or batch, not both"):
        OpenAIGenerator(batched(server, max_concurrency=8))
    for wrong in (0, 50_001, True):
        with pytest.raises(EngineError, match="batch: expected"):
            OpenAIGenerator(batched(server, batch=wrong))


def test_job_size_in_bytes_is_limited(server: BatchServer, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_batch, "MAX_JOB_BYTES", 1200)  # a line has about 500
    assert texts(ask()) == ANSWERS
    assert [len(lines) for lines in server.sent] == [2, 2, 1]


def test_answers_may_be_as_long_as_the_jobs_requests_are_many(
    server: BatchServer, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai_batch, "MAX_BYTES", 0)
    monkeypatch.setattr(openai_batch, "MAX_ANSWER_BYTES", 40)  # an answer has about 300
    with pytest.raises(Unfinished, match="more than 0 MiB"):
        ask()
    monkeypatch.setattr(openai_batch, "MAX_ANSWER_BYTES", 1000)
    assert texts(ask()) == ANSWERS
    assert len(server.sent) == 1


def test_equal_requests_are_sent_separately(server: BatchServer, ask: Ask) -> None:
    assert texts(ask(TALKS[:1] * 3)) == ANSWERS[:1] * 3
    assert len(server.sent[0]) == 3


def test_batch_without_a_folder_for_job_files_is_refused(server: BatchServer) -> None:
    with pytest.raises(EngineError, match=r"served.*options\.batch needs a place"):
        OpenAIGenerator(batched(server)).generate(TALKS, Sampling())
    assert not server.calls


# --- no request is paid for twice --------------------------------------------------------------------

CLIENT = """
import sys
from pathlib import Path
from tasks.engines.served import openai_batch
from tasks.engines.served.openai_http import OpenAIGenerator
from tasks.engines.served.providers import THINKING
from tasks.engines.protocols import Sampling
from tests.engines.test_batch import SCHEMA, TALKS, EngineSpec, FolderJobs
openai_batch.FIRST_POLL_S = 0.01
engine = OpenAIGenerator(EngineSpec.model_validate_json(sys.argv[1]), FolderJobs(Path(sys.argv[2])))
print("ready", flush=True)
engine.generate(TALKS, Sampling(max_tokens=9, seed=3), SCHEMA)
print("answered", flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("held", "then_sent"),
    [
        # The file was uploaded and its id was never read: it costs nothing.
        pytest.param(("POST", "/files"), 1, marks=pytest.mark.heavy),
        (("POST", "/batches"), 1),  # the batch began and its id was never read
        pytest.param(("GET", "/batches/batch_0"), 1, marks=pytest.mark.heavy),
        pytest.param(("GET", "/content"), 1, marks=pytest.mark.heavy),
        (None, 1),  # answered, and not yet stored
    ],
    ids=["file sent", "batch begun", "waiting", "fetching", "answered"],
)
def test_killed_run_resumes_and_sends_nothing_twice(
    server: BatchServer, ask: Ask, tmp_path: Path, held: tuple[str, str] | None, then_sent: int
) -> None:
    server.held = [held] if held else []
    with subprocess.Popen(
        [sys.executable, "-c", CLIENT, batched(server).model_dump_json(), str(tmp_path / "jobs")],
        env=environment(tmp_path, None) | {"TEST_API_KEY": KEY},
        cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as client:  # fmt: skip
        assert client.stdout is not None
        assert client.stdout.readline() == "ready\n"
        if held:
            server.wait_for(*held)
        else:
            assert client.stdout.readline() == "answered\n"
        client.send_signal(signal.SIGKILL)
    server.held.clear()
    assert texts(ask()) == ANSWERS
    assert len(server.sent) == then_sent


def test_batch_whose_answer_was_lost_is_looked_up(server: BatchServer, ask: Ask) -> None:
    """The server begins the batch and the connection breaks: no second batch is begun."""
    server.dropped.append(("POST", "/batches"))
    assert texts(ask(max_retries=1)) == ANSWERS
    assert (len(server.sent), server.count("GET", "/batches")) == (1, 1)


def test_batch_that_did_not_begin_is_begun_again(server: BatchServer, ask: Ask) -> None:
    server.fails["POST", "/batches"] = 503
    with pytest.raises(Unfinished, match=r"failed after 3 tries \(503: no\)"):
        ask(max_retries=2)
    server.fails.clear()
    assert texts(ask()) == ANSWERS
    assert (len(server.sent), server.count("POST", "/files")) == (1, 1)


class WithoutLock(FolderJobs):
    """Jobs of machines that cannot rely on a lock; each was written just now."""

    def notes(self) -> Mapping[str, tuple[str, float]]:
        return {name: (text, 0.0) for name, (text, _) in super().notes().items()}


def test_job_that_another_machine_may_be_starting_is_looked_up_again(
    server: BatchServer, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.fails["POST", "/batches"] = 503
    with pytest.raises(Unfinished):
        ask()
    server.fails.clear()
    pauses = list[float]()

    async def pause(caller: transport.Caller, seconds: float) -> bool:
        pauses.append(seconds)
        return False

    monkeypatch.setattr(transport.Caller, "pause", pause)
    assert texts(ask(jobs=WithoutLock, timeout=3600)) == ANSWERS
    assert pauses.count(3600) == 1
    assert server.count("GET", "/batches") == 2


def test_error_on_an_unknown_batch_state_names_the_file_to_delete(
    server: BatchServer, ask: Ask, tmp_path: Path
) -> None:
    server.held.append(("POST", "/batches"))
    with pytest.raises(Unfinished, match="no answer within"):
        ask(timeout=2)
    server.held.clear()
    server.fails["GET", "/batches"] = 404
    with pytest.raises(Unfinished, match=r"no answer whether file-0 was started.* delete .*\.json to send"):
        ask()
    assert len(server.sent) == 1
    next((tmp_path / "jobs").glob("*.json")).unlink()
    assert texts(ask()) == ANSWERS
    assert len(server.sent) == 2


def test_two_runs_wait_for_the_same_job(server: BatchServer, ask: Ask) -> None:
    server.polls = 6
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(ask) for _ in range(2)]
        assert [texts(run.result()) for run in runs] == [ANSWERS] * 2
    assert len(server.sent) == 1


def test_concurrent_writes_of_a_job_file_leave_one_whole_file(tmp_path: Path) -> None:
    job = openai_batch._Job(ids=["a"], file="file-0", batch="batch_0")

    def save(_: int) -> None:
        for _ in range(100):
            job.save(FolderJobs(tmp_path))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(save, range(4)))
    assert [path.read_text() for path in tmp_path.iterdir()] == [job.model_dump_json()]


def test_job_file_removed_during_reading_is_ignored(
    server: BatchServer, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another run removed the job without answers, so its requests are sent."""
    ask()
    reads = Path.read_text

    def gone(path: Path, **options: Any) -> str:
        path.unlink()
        return reads(path, **options)

    monkeypatch.setattr(Path, "read_text", gone)
    assert texts(ask()) == ANSWERS
    assert len(server.sent) == 2


def test_other_part_sizes_send_only_new_requests(server: BatchServer, ask: Ask) -> None:
    """Prompts of existing jobs are not sent again."""
    ask(TALKS[:3])
    assert texts(ask(TALKS[::-1], batch=1)) == ANSWERS[::-1]
    assert [len(lines) for lines in server.sent] == [3, 1, 1]


def test_another_folder_sends_requests_again(server: BatchServer, ask: Ask) -> None:
    ask(folder="one")
    ask(folder="two")
    assert len(server.sent) == 2


def test_error_on_a_forgotten_batch_names_the_file_to_delete(server: BatchServer, ask: Ask) -> None:
    ask()
    server.batches.clear()
    server.message = f"no such batch for Bearer {KEY}"
    with pytest.raises(
        Unfinished, match=r"batch batch_0 no longer exists .* delete .*and pay for, its"
    ) as caught:
        ask()
    assert KEY not in str(caught.value)
    assert len(server.sent) == 1


@pytest.mark.parametrize("content", [b'{"ids": [', b'{"ids": ["\xff"], "file": "file-0"}', b""])
def test_damaged_job_file_is_an_error_and_sends_nothing(
    server: BatchServer, ask: Ask, tmp_path: Path, content: bytes
) -> None:
    ask()
    (job,) = (tmp_path / "jobs").glob("*.json")
    job.write_bytes(content)
    with pytest.raises(Unfinished, match=rf"{job} is damaged.* Delete it"):
        ask()
    assert len(server.sent) == 1


# --- results -----------------------------------------------------------------------------------------


def test_answers_of_an_expired_batch_are_kept_and_the_rest_is_sent(server: BatchServer, ask: Ask) -> None:
    late = {"code": "batch_expired", "message": "not executed before the completion window expired"}

    def expired(lines: list[Line]) -> tuple[list[Any], list[Any]]:
        unasked = [answered(line) | {"response": None, "error": late} for line in lines[2:]]
        return [answered(line) for line in lines[:2]], unasked

    server.results, server.ends = expired, "expired"
    with pytest.raises(
        Unfinished, match=r"is expired with 2 of 5 answers \(3 × no answer: not executed.*stored"
    ) as e:
        ask()
    assert stored(e.value) == dict(enumerate(ANSWERS[:2]))
    server.results, server.ends = lambda lines: ([answered(line) for line in lines], []), "completed"
    assert texts(ask()) == ANSWERS
    assert [len(lines) for lines in server.sent] == [5, 3]  # only the unanswered requests


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (lambda n: refused(n, 400, f"bad, {KEY}"), r"400: bad, \[key\]"),
        (lambda n: refused(n, 429, "quota"), "429: quota"),
        (lambda n: answered(n) | {"response": None, "error": None}, "no answer: no reason is given"),
        (lambda n: answered(n) | {"response": {"status_code": 200}}, "a result that is no object"),
        (lambda n: answered(n) | {"response": {"status_code": "?"}}, "batch batch_0 has no result for it"),
        (lambda _: "{broken", "batch batch_0 has no result for it"),
        (lambda _: "[" * 100_000, "batch batch_0 has no result for it"),
        (lambda _: "<html>sign in</html>", "batch batch_0 has no result for it"),
        (lambda _: "\x00\xff", "batch batch_0 has no result for it"),
        (lambda n: answered(n) | {"custom_id": 5}, "batch batch_0 has no result for it"),
        (lambda n: answered(n) | {"custom_id": "another"}, "batch batch_0 has no result for it"),
        (lambda n: answered(n) | {"custom_id": n["custom_id"].replace("-0", "-1")}, "batch batch_0 has no"),
    ],
)  # fmt: skip
def test_invalid_result_line_loses_only_its_own_request(
    server: BatchServer, ask: Ask, line: Callable[[Line], Any], error: str
) -> None:
    """The line is in the output file or in the error file."""

    def results(lines: list[Line]) -> tuple[list[Any], list[Any]]:
        return [line(lines[0]), *map(answered, lines[1:])], [line(lines[0])]

    server.results = results
    with pytest.raises(Unfinished, match=error) as caught:
        ask()
    assert stored(caught.value) == {n: ANSWERS[n] for n in range(1, 5)}
    assert caught.value.lost.keys() == {0}, "the others go on"
    assert KEY not in f"{caught.value} {caught.value.lost}"
    server.results = lambda lines: ([answered(each) for each in lines], [])
    assert texts(ask()) == ANSWERS
    assert [len(lines) for lines in server.sent] == [5, 1]


def test_results_end_by_the_same_table_as_replies(server: BatchServer, ask: Ask) -> None:
    reasons = ["stop", "error", None, "brand_new", "length"]

    def results(lines: list[Line]) -> tuple[list[Any], list[Any]]:
        replies = [answered(line) for line in lines]
        for reply, reason in zip(replies, reasons, strict=True):
            reply["response"]["body"]["choices"][0]["finish_reason"] = reason
        return replies, []

    server.results = results
    with pytest.raises(Unfinished) as caught:
        ask()
    assert {n: answer.finish_reason for n, answer in caught.value.done.items()} == {0: "stop", 4: "length"}
    assert sorted(caught.value.lost) == [1, 2, 3]
    assert "brand_new" in caught.value.lost[3].reason


def test_first_answer_of_a_request_counts(server: BatchServer, ask: Ask) -> None:
    """A second line for a request and empty lines change nothing."""

    def results(lines: list[Line]) -> tuple[list[Any], list[Any]]:
        good = [answered(line) for line in lines]
        other = answered(lines[0]) | {"response": answered(lines[1])["response"]}
        return [*good, "", other, "  "], [refused(lines[2])]

    server.results = results
    assert texts(ask()) == ANSWERS


def test_filtered_answers_are_empty_and_keys_are_hidden(server: BatchServer, ask: Ask) -> None:
    def results(lines: list[Line]) -> tuple[list[Any], list[Any]]:
        leaking = answered(lines[0])
        leaking["response"]["body"]["choices"][0]["message"]["content"] = f"it is {KEY}"
        leaking["response"]["body"]["usage"] = {"prompt_tokens": -9, "completion_tokens": -9}
        return [leaking], [refused(line, 400, "filtered", "content_filter") for line in lines[1:]]

    server.results = results
    answers = ask()
    assert texts(answers) == ["it is [key]", "", "", "", ""]
    assert (answers[0].prompt_tokens, answers[0].completion_tokens) == (0, 0)
    assert {answer.finish_reason for answer in answers[1:]} == {"content_filter"}


def test_refused_job_is_an_error_and_leaves_no_job_file(
    server: BatchServer, ask: Ask, tmp_path: Path
) -> None:
    server.results, server.ends = lambda _: ([], []), "failed"
    server.errors = {"data": [{"code": "token_limit_exceeded", "message": f"too many tokens for {KEY}"}]}
    with pytest.raises(Unfinished, match=r"is failed with 0 of 5 answers \(too many tokens for \[key\]\)"):
        ask()
    assert not list((tmp_path / "jobs").glob("*.json"))  # so all are sent again


@pytest.mark.parametrize(
    ("failing", "status", "error"),
    [
        (("POST", "/files"), 404, r"has no Batch API \(404: no\): set options\.max_concurrency"),
        (("POST", "/batches"), 405, r"has no Batch API \(405"),
        (("POST", "/files"), 401, r"refused the key \(401\)"),
        (("POST", "/batches"), 400, r"rejected a request .*400: no"),
        (("GET", "/batches/batch_0"), 403, r"refused the key \(403\)"),
        (("GET", "/content"), 410, "batch batch_0 no longer exists"),
    ],
)
def test_refused_call_is_an_error_and_resumes(
    server: BatchServer, ask: Ask, failing: tuple[str, str], status: int, error: str
) -> None:
    server.fails[failing] = status
    with pytest.raises(Unfinished, match=rf"served.*{error}"):
        ask()
    server.fails.clear()
    assert texts(ask()) == ANSWERS
    assert len(server.sent) == 1


def test_after_a_refused_job_no_job_is_sent_and_earlier_answers_stay(server: BatchServer, ask: Ask) -> None:
    """Jobs sent before are waited for."""
    begin = server._begin

    def once(asked: dict[str, Any]) -> dict[str, Any]:
        server.fails["POST", "/files"] = 403
        return begin(asked)

    server._begin = once  # type: ignore[method-assign]
    with pytest.raises(Unfinished, match="refused the key") as caught:
        ask(batch=2)
    assert stored(caught.value) == dict(enumerate(ANSWERS[:2]))


def test_unavailable_server_is_waited_for(server: BatchServer, ask: Ask) -> None:
    server.fails["GET", "/batches/batch_0"] = 503
    with ThreadPoolExecutor(1) as pool:
        answers = pool.submit(ask)
        server.wait_until(lambda: server.count("GET", "/batches/batch_0") >= 3)
        server.fails.clear()
        assert texts(answers.result()) == ANSWERS


def test_deadline_is_an_error_and_the_batch_resumes(
    server: BatchServer, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.polls = 10**9
    monkeypatch.setattr(openai_batch, "DEADLINE_S", 0.36)
    with pytest.raises(Unfinished, match=r"batch_0 at .* is in_progress after 0\.0001 h: run again"):
        ask()
    server.polls = 1
    assert texts(ask()) == ANSWERS
    assert len(server.sent) == 1


@pytest.mark.parametrize(
    "name", ["../../models", "a b", "x?y", "", "é", "x" * 300, f"file-{KEY}", "file\n", 7, None]
)
def test_invalid_ids_are_neither_stored_nor_requested(
    server: BatchServer, ask: Ask, tmp_path: Path, name: Any
) -> None:
    server.changes = {"id": name}
    with pytest.raises(Unfinished, match=r"gave no answer of the chat API \(id: ") as caught:
        ask()
    assert KEY not in str(caught.value)
    assert not list((tmp_path / "jobs").glob("*.json"))
    assert {path for _, path in server.calls} == {"/files"}


def test_job_file_has_no_secret_and_no_text(server: BatchServer, ask: Ask, tmp_path: Path) -> None:
    ask()
    (job,) = (tmp_path / "jobs").glob("*.json")
    content = json.loads(job.read_text())
    assert content["batch"] == "batch_0"
    assert all(set(name) <= set("0123456789abcdef-") for name in content["ids"])
    assert content.keys() == {"ids", "file", "batch"}


def test_progress_is_the_servers_count(server: BatchServer, tmp_path: Path) -> None:
    server.polls = 5
    engine, progress = OpenAIGenerator(batched(server), FolderJobs(tmp_path / "jobs")), list[int]()
    engine.generate(TALKS, Sampling(), progress=progress.append)
    assert progress == [1] * 4  # the caller counts the fifth when it has the answers
