"""Tasks and data that somebody else wrote run nothing, reach no address and read no file beside their own."""

from __future__ import annotations

import json
import os
import pickle
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from deployments.cli.app import app
from tasks.engines.specs import TRUST
from tasks.evaluations.harness import clone, form, sources
from tasks.evaluations.harness.study import HarnessParams, build_study, sampling_of
from tests.evaluations.harness.tasks_written import ITEMS, write_tasks

OUTSIDE, ADDRESS, COMMIT = "OUTSIDE", "http://127.0.0.1:9/x", "0123456789abcdef0123456789abcdef01234567"
KWARGS = {"test": "test.jsonl", "train": "train.jsonl"}
SEEN: list[str] = []
FORBIDDEN: list[str] = []


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if not FORBIDDEN:
        return
    if event in ("open", "import", "os.listdir", "os.scandir") and FORBIDDEN[0] in str(arguments[0]):
        SEEN.append(f"{event} {arguments[0]}")
    if event in ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system"):
        SEEN.append(f"{event} {arguments[1:]}")


sys.addaudithook(_audit)  # it stays, and does nothing outside of these tests


class _Runs:
    def __init__(self, file: str) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        return open, (self.file, "w")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The task's folder, beside one that nothing may read; each test checks that nothing did."""
    outside, own = tmp_path / OUTSIDE, tmp_path / "task"
    outside.mkdir()
    own.mkdir()
    (outside / "m.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\nf = str\nprint('ran')\n")
    (outside / "secret.txt").write_text("root:x:0:0\n")
    (outside / "task.yaml").write_text("description: root:x:0:0\n")
    (outside / "test.jsonl").write_text("".join(json.dumps(item) + "\n" for item in ITEMS))
    (own / "evil.pkl").write_bytes(pickle.dumps(_Runs(str(tmp_path / "ran"))))
    (own / "link.jsonl").symlink_to(outside / "test.jsonl")
    (own / "up").symlink_to(outside)
    monkeypatch.delenv(TRUST, raising=False)
    monkeypatch.chdir(own)
    SEEN.clear()
    FORBIDDEN[:] = [f"{os.sep}{OUTSIDE}"]
    yield own
    FORBIDDEN.clear()
    assert SEEN == []
    assert not (tmp_path / "ran").exists()


def _metric(**more: Any) -> dict[str, Any]:
    return {"metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True} | more]}


def _filter(**one: Any) -> dict[str, Any]:
    return {"filter_list": [{"name": "own", "filter": [one]}]}


def _data(files: Any, reader: str = "text", **more: Any) -> dict[str, Any]:
    return {"dataset_path": reader, "dataset_kwargs": {"data_files": files, **more}, "test_split": "train"}


GENERATION: dict[str, dict[str, Any]] = {
    "unknown": {"custom_generate": "@/m.py"},
    "of the library of models": {"logits_processor": "@/m.py", "max_gen_toks": 8},
    "beside a known one": {"max_gen_toks": 8, "max_new_tokens": 9},
    "in words": {"temperature": "hot"},
    "that is no number": {"temperature": float("nan")},
    "below 0": {"temperature": -1.0},
    "of no tokens": {"max_gen_toks": 0},
    "of a share above 1": {"top_p": 2.0},
    "until a mapping": {"until": {"a": "@/m.py"}},
    "until numbers": {"until": [1]},
}


def _generation(**settings: Any) -> dict[str, Any]:
    return {"output_type": "generate_until", "doc_to_target": "dish", "generation_kwargs": settings}


HOSTILE: dict[str, dict[str, Any] | str] = {
    "metric": _metric(metric="@/m.py"),
    "metric of the hub": _metric(metric="someone/metric"),
    "metric hf_evaluate": _metric(hf_evaluate=True),
    "metric hf_evaluate as a number": _metric(hf_evaluate=1),
    "metric beside its folder": _metric(metric="./up/m.py"),
    "metric that is a list": _metric(metric=["@/m.py"]),
    "metric setting": _metric(script="@/m.py"),
    "aggregation": _metric(aggregation="@/m.py"),
    "metric_list that is a mapping": {"metric_list": {"metric": "@/m.py"}},
    "filter": _filter(function="@/m.py"),
    "filter custom": _filter(function="custom", filter_fn="@/m.f"),
    "filter setting": _filter(function="take_first", path="@/m.py"),
    "filter pattern": _filter(function="regex", regex_pattern="("),
    "filter setting of another kind": _filter(function="regex", regex_pattern=".", fallback={"a": "@/m.py"}),
    "filter k": _filter(function="take_first_k", k="@/m.py"),
    "filter pattern to ignore": _filter(function="multi_choice_regex", regexes_to_ignore=["("]),
    "metric pattern to ignore": _metric(regexes_to_ignore=["("]),
    "repeats": {"repeats": 10**9},
    "examples": {"num_fewshot": 10**9},
    **{f"generation {name}": _generation(**one) for name, one in GENERATION.items()},
    "generation that is a list": {"generation_kwargs": ["@/m.py"]},
    "sampler": {"fewshot_config": {"sampler": "@/m.py"}},
    "samples": {"fewshot_config": {"samples": "@/m.py"}},
    "few-shot process_docs": {"fewshot_config": {"process_docs": "@/m.f"}},
    "output_type": {"output_type": "@/m.py"},
    "class": {"class": "@/m.Task"},
    "custom_dataset": {"custom_dataset": "@/m.f"},
    "process_docs": {"process_docs": "@/m.f"},
    "process_results": {"process_results": "@/m.f"},
    "use_prompt": {"use_prompt": "@/m.py:f"},
    "unsafe_code": {"unsafe_code": True},
    "unknown key": {"plugin": "@/m.py"},
    "key that is a number": {7: "@/m.py"},
    "function": f"task: x\ndoc_to_text: !function ../{OUTSIDE}/m.f\n",
    "function deep in metadata": f"task: x\nmetadata: {{a: [!function ../{OUTSIDE}/m.f]}}\n",
    "function as a key": f"task: x\nmetadata: {{? !function ../{OUTSIDE}/m.f : 1}}\n",
    "function of a module": "task: x\ndoc_to_text: !function os.system\n",
    "Python tag": "task: x\nmetadata: !!python/object/apply:os.system ['true']\n",
    "Python name": "task: x\nmetadata: !!python/name:os.system\n",
    "other tag": "task: x\nmetadata: !evil x\n",
    "include above": f"include: ../{OUTSIDE}/task.yaml\ntask: x\n",
    "include absolute": "include: '@/task.yaml'\ntask: x\n",
    "include by a link": "include: up/task.yaml\ntask: x\n",
    "include of many": f"include: [plain.yaml, ../{OUTSIDE}/task.yaml]\ntask: x\n",
    "include of an address": f"include: {ADDRESS}\ntask: x\n",
    "include that is a mapping": f"include: {{a: ../{OUTSIDE}/task.yaml}}\ntask: x\n",
    "include of itself": "include: hostile.yaml\ntask: x\n",
    "aliases": "task: x\nmetadata:\n  a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(
        f"  {b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    ),
    "group with a task inside": "group: g\ntask:\n- {task: x, class: '@/m.T'}\n",
    "group with a group inside": "group: g\ntask:\n- {group: h, task: [{task: x, class: '@/m.T'}]}\n",
    "group with settings": "group: g\nmetric_list: [{metric: '@/m.py'}]\ntask:\n- {task: x}\n",
    "group of names": "group: g\ntask: ['@/task.yaml']\n",
    "template of classes": {"doc_to_text": "{{ ''.__class__.__mro__[1].__subclasses__() }}"},
    "template of globals": {"description": "{{ cycler.__init__.__globals__.os.system('true') }}"},
    "template that includes": {"doc_to_target": f"{{% include '../{OUTSIDE}/secret.txt' %}}"},
    "template of choices": {"doc_to_choice": "{{ range.__class__ }}"},
    "template of a prefix": {"gen_prefix": "{{ lipsum.__globals__['os'].popen('id').read() }}"},
    "template of a huge number": {"doc_to_text": "{{ 9 ** (9 ** 9) }}"},
    "template of a long text": {"doc_to_text": "{{ ('a' * 10**10) ~ ([1] * 10**10) }}"},
    "template of a wide text": {"doc_to_text": "{{ '%9999999999d' % 1 }}"},
    "text outside": _data("@/secret.txt"),
    "text above": _data(f"../{OUTSIDE}/secret.txt"),
    "text by a link": _data("link.jsonl"),
    "text by a linked folder": _data("up/secret.txt"),
    "text by a star": _data("up/*"),
    "text by stars": _data("**/*.txt"),
    "text by a star outside": _data(f"../{OUTSIDE}/*"),
    "text in a list": _data(["test.jsonl", "@/secret.txt"]),
    "text of a split": _data({"train": "@/secret.txt"}),
    "text by home": _data("~/secret.txt"),
    "text by a file address": _data("file://@/secret.txt"),
    "text in an archive": _data("zip://secret.txt::@/secret.zip"),
    "chained": _data("test.jsonl::@/secret.txt"),
    "address": _data(ADDRESS, "json"),
    "address of a split": _data({"test": ADDRESS}, "json"),
    "other protocols": _data("hf://datasets/someone/x/a.json", "json"),
    "storage_options": _data(KWARGS, "json", storage_options={"a": 1}),
    "cache_dir": _data(KWARGS, "json", cache_dir="@"),
    "download_config": _data(KWARGS, "json", download_config={"proxies": {"http": ADDRESS}}),
    "token": _data(KWARGS, "json", token="x"),
    "data_dir": _data(KWARGS, "json", data_dir="@"),
    "trust_remote_code": _data(KWARGS, "json", trust_remote_code=True),
    "reader of pickles": _data("evil.pkl", "pandas", revision=COMMIT),
    "other reader": _data("evil.pkl", "webdataset", revision=COMMIT),
    "address as a data set": {"dataset_path": ADDRESS, "dataset_kwargs": {"revision": COMMIT}},
    "folder outside": {"dataset_path": "@", "dataset_kwargs": {"revision": COMMIT}},
    "folder above": {"dataset_path": f"../{OUTSIDE}", "dataset_kwargs": {"revision": COMMIT}},
    "folder by a link": {"dataset_path": "up", "dataset_kwargs": {"revision": COMMIT}},
    "script": {"dataset_path": "@/m.py", "dataset_kwargs": {"revision": COMMIT}},
    "file of another data set": {
        "dataset_path": "someone/x", "dataset_kwargs": {"revision": COMMIT, "data_files": "@/secret.txt"},
    },
    "address in another data set": {
        "dataset_path": "someone/x", "dataset_kwargs": {"revision": COMMIT, "data_files": ADDRESS},
    },
}  # fmt: skip


def hostile(folder: Path, name: str) -> Path:
    """Write a hostile task; ``@`` stands for the folder outside."""
    (plain,) = write_tasks(folder, ["plain"]).values()
    file, fields = folder / "hostile.yaml", HOSTILE[name]
    text = fields if isinstance(fields, str) else yaml.safe_dump(yaml.safe_load(plain.read_text()) | fields)
    file.write_text(text.replace("@", str(folder.parent / OUTSIDE)), encoding="utf-8")
    return file


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_task_is_refused_in_one_line_and_runs_and_reads_nothing(folder: Path, name: str) -> None:
    file = hostile(folder, name)
    with pytest.raises(ValueError, match=r".") as caught:
        build_study(HarnessParams(models=["x"], tasks=[str(file)]), {}, {})
    assert "\n" not in str(caught.value)
    assert "root:x" not in str(caught.value)


@pytest.mark.parametrize("is_trusted", [False, True])
@pytest.mark.parametrize("name", GENERATION)
def test_an_unknown_setting_of_the_generation_is_named_with_the_known_ones(
    folder: Path, name: str, is_trusted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With trust in its code too: no engine here has it."""
    if is_trusted:
        monkeypatch.setenv(TRUST, "remote-code")
    (file,) = write_tasks(folder, ["written"]).values()
    settings = GENERATION[name]
    own = yaml.safe_load(file.read_text()) | {"generation_kwargs": settings, "metric_list": None}
    file.write_text(yaml.safe_dump(own))
    with pytest.raises(ValueError, match=r"^task 'invented_written'") as caught:
        build_study(HarnessParams(models=["x"], tasks=[str(file)]), {}, {})
    assert "\n" not in str(caught.value)
    if name != "that is no number" or not is_trusted:
        assert any(key in str(caught.value) for key in [*settings, "could not convert"])


@pytest.mark.parametrize("limit", ["max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens"])
def test_the_most_tokens_have_the_librarys_four_names(folder: Path, limit: str) -> None:
    (file,) = write_tasks(folder, ["written"]).values()
    settings = {limit: 9, "until": "x", "do_sample": True, "num_beams": 1}
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | {"generation_kwargs": settings}))
    study = build_study(HarnessParams(models=["x"], tasks=[str(file)]), {}, {})
    sampling = sampling_of(study.tasks["invented_written"], 1)
    assert (sampling.max_tokens, sampling.stop, sampling.temperature) == (9, ("x",), 1.0)


@pytest.mark.parametrize("name", ["metric", "text outside", "function", "include above"])
def test_a_dry_run_refuses_hostile_tasks_too(
    folder: Path, name: str, copied_home: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = hostile(folder, name)
    monkeypatch.setenv("CULTUREMETER_HOME", str(copied_home()))
    done = CliRunner().invoke(
        app, ["run", "harness", "--tasks", str(file), "-m", "smollm2-135m", "--dry-run"]
    )
    assert done.exit_code == 1
    assert "Traceback" not in done.output
    assert "root:x" not in done.output


@pytest.mark.parametrize("link", ["file", "folder", "card", "card of an address", "sidecar"])
def test_data_of_others_do_not_lead_out_of_their_folder(folder: Path, link: str) -> None:
    (plain,) = write_tasks(folder, ["plain"]).values()
    data = folder / "data"
    data.mkdir()
    (data / "test.jsonl").write_text((folder / "test.jsonl").read_text())
    outside = folder.parent / OUTSIDE
    card = "configs:\n- config_name: default\n  data_files:\n  - split: test\n    path: {}\n"
    match link:
        case "file":
            (data / "train.jsonl").symlink_to(outside / "test.jsonl")
        case "folder":
            (data / "more").symlink_to(outside)
        case "card":
            (data / "README.md").write_text(f"---\n{card.format(outside / 'secret.txt')}---\n")
        case "card of an address":
            (data / "README.md").write_text(f"---\n{card.format(ADDRESS)}---\n")
        case _:
            (data / ".huggingface.yaml").write_text(card.format(f"../../{OUTSIDE}/test.jsonl"))
    for files in ({"*": str(data)}, {}):
        own = yaml.safe_load(plain.read_text()) | {"dataset_path": "data", "dataset_kwargs": None}
        plain.write_text(yaml.safe_dump(own))
        with pytest.raises(ValueError, match="outside of the data"):
            build_study(HarnessParams(models=["x"], tasks=[str(plain)], data=files), {}, {})


def test_only_commits_that_the_hub_has_are_commits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A branch may be called by 40 hex digits too; the hub says which commit it is."""
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import DatasetInfo

    said: dict[str, Any] = {"id": "someone/x", "sha": "f" * 40, "siblings": []}
    monkeypatch.setattr(HfApi, "dataset_info", lambda self, repository, revision: DatasetInfo(**said))
    with pytest.raises(ValueError, match=f"is no commit of 'someone/x': use {'f' * 40}"):
        clone.check_commit("someone/x", COMMIT, "x")
    clone.check_commit("someone/x", "f" * 40, "x")
    said["cardData"] = {"configs": [{"config_name": "a", "data_files": "/etc/passwd"}]}
    with pytest.raises(ValueError, match="names data outside of the data set: '/etc/passwd'"):
        clone.check_commit("someone/x", "f" * 40, "x")


def test_data_files_of_the_tasks_folder_are_read(folder: Path) -> None:
    for files in (KWARGS, {"test": str(folder / "test.jsonl")}, {"test": ["test.json*"]}):
        (plain,) = write_tasks(folder, ["plain"]).values()
        own = yaml.safe_load(plain.read_text()) | {"dataset_kwargs": {"data_files": files}}
        plain.write_text(yaml.safe_dump(own))
        study = build_study(HarnessParams(models=["x"], tasks=[str(plain)]), {}, {})
        assert len(study.items) == len(ITEMS)


def test_a_folder_of_the_library_is_no_data_set() -> None:
    """The library's xnli names the data set of the hub, and its tasks are in a folder of that name."""
    root = sources._library()
    assert (root / "xnli").is_dir()
    entry = sources.Entry("xnli_de", {"task": "xnli_de", "dataset_path": "xnli"}, root)
    with pytest.raises(ValueError, match="add --revision xnli=COMMIT"):
        sources.data_of(entry, {}, {})


def test_the_lists_are_the_librarys_own_without_what_runs_code() -> None:
    import lm_eval.api.metrics
    import lm_eval.filters  # noqa: F401 - it registers them
    from lm_eval.api import registry, samplers

    assert set(registry.metric_registry.keys()) - form.METRICS == {"acc_all"}
    assert set(registry.aggregation_registry.keys()) == form.AGGREGATIONS
    assert set(registry.filter_registry.keys()) - form.FILTERS.keys() <= {"custom", "decontaminate"}
    assert set(samplers.SAMPLER_REGISTRY) == form.SAMPLERS


@pytest.mark.parametrize(
    ("every", "kinds"), [(10, 2), pytest.param(1, 3, marks=[pytest.mark.slow, pytest.mark.heavy])]
)
def test_every_task_of_the_library_is_read_and_only_code_needs_trust(every: int, kinds: int) -> None:
    """Refused without trust are functions, code of data sets, and metrics that the library downloads."""
    root = sources._library()
    n, refused = 0, set()
    for file in sorted(root.glob("**/*.yaml"))[::every]:
        config = form.load(file, root)
        if not isinstance(config.get("task"), str):
            continue  # a group, or a part of tasks
        try:
            form.check(config["task"], config)
        except ValueError as error:
            refused.add(re.sub(r"!function \S+(?=\))", "!function", str(error).partition(": ")[2]))
        n += 1
    assert n > 13_000 / every
    code = ("!function", "dataset_kwargs.trust_remote_code", "a metric of the hub, hf_evaluate")
    assert refused <= {form.CODE.format(what=what) for what in code}
    assert len(refused) == kinds
