#!/usr/bin/env python3
"""Answers the requests of this folder with transformers, vLLM or a server; culturemeter is not needed.

    python run.py                                    # everything, with what is installed
    python run.py --shard 3/8                        # the third of eight shares
    python run.py --only gemma --model /models/gemma # one engine's requests, its weights from a folder
    python run.py --url http://localhost:8000/v1     # prompts, by a server of OpenAI's API

Answers are appended to answers/, so a run that was killed goes on where it stopped. Copy the folder back,
then ``culturemeter pending import FOLDER``. Log-probabilities are natural, log-softmax in float32.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import re
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib import metadata, util
from pathlib import Path
from typing import Any

from tasks.pending.runner.local import Transformers, Vllm
from tasks.pending.runner.replies import Line, as_chat

HERE = Path(__file__).resolve().parent
WEIGHTS = ("config.json", "generation_config.json", "*.safetensors")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\.jsonl")
STOPS: list[int] = []
"""Signals that asked for an end: what is being answered is written first."""


def main() -> None:
    """Answer what is left of the chosen files."""
    options = parsed()
    signal.signal(signal.SIGTERM, lambda number, _: STOPS.append(number))
    manifest = json.loads((HERE / "manifest.json").read_text(encoding="utf-8"))
    chosen = [each for each in manifest["requests"] if not options.only or options.only in each["file"]]
    if not chosen:
        sys.exit(f"no file of requests has {options.only!r} in its name")
    backend, loaded = None, ""
    total, before = sum(requests["lines"] for requests in chosen), 0
    for requests in chosen:
        own = share(total, options, before, requests["lines"])
        before += requests["lines"]
        if not own:
            continue
        file, engine = HERE / "requests" / requests["file"], manifest["engines"][requests["engine"]]
        if not NAME.fullmatch(requests["file"]) or not file.is_file():
            sys.exit(f"{file} is missing: copy the whole folder")
        is_prompts = requests["ability"] == "generate"
        if options.url and not is_prompts:
            print(f"{file.name}: a server gives no log-probabilities of given texts: left", file=sys.stderr)
            continue
        if not options.url and engine["dtype"] is None:
            sys.exit(f"{file.name}: {engine['name']} is behind a server: give its --url")
        kind = f"{requests['engine']} {options.url}"
        if loaded != kind:
            backend = None  # frees the memory before the next model is loaded
            backend, loaded = backend_of(options, engine), kind
        assert backend is not None
        answer_file(file, own, options, backend)


def share(total: int, options: argparse.Namespace, before: int, lines: int) -> range:
    """Return which lines of a file are in this share, from 1 on.

    Shares are stretches of all lines, so that a share has few models, each of which takes minutes to load.
    """
    first, end = (total * n // options.n - before for n in (options.i - 1, options.i))
    return range(max(first, 0) + 1, min(end, lines) + 1)


def parsed() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--shard", default="1/1", metavar="I/N", help="a share of all lines")
    parser.add_argument("--only", default="", metavar="TEXT", help="files with this text in their names")
    parser.add_argument("--model", metavar="FOLDER", help="folder of the weights; default: the hub's cache")
    parser.add_argument("--program", choices=("transformers", "vllm"), help="default: what is installed")
    parser.add_argument("--device", help="transformers: cpu, cuda, cuda:1 …; default: a GPU if there is one")
    parser.add_argument("--url", help="address of a server of OpenAI's API, ending in /v1")
    parser.add_argument("--key", default="OPENAI_API_KEY", metavar="VARIABLE", help="that holds its key")
    parser.add_argument("--batch", type=int, default=64, help="lines answered and written together")
    parser.add_argument("--positions", type=int, help="transformers: tokens of a pass; bounds memory")
    parser.add_argument("--trust-remote-code", action="store_true", help="run the model's own code")
    options = parser.parse_args()
    share = re.fullmatch(r"(\d+)/(\d+)", options.shard)
    if not share or not 1 <= int(share[1]) <= int(share[2]):
        parser.error("--shard is I/N with I from 1 to N, such as 3/8")
    options.i, options.n = int(share[1]), int(share[2])
    return options


def backend_of(options: argparse.Namespace, engine: Line) -> Any:
    """Return what answers an engine's requests."""
    if options.url:
        return Server(options)
    program = options.program
    if program is None:
        wanted = ("vllm", "transformers") if engine["kind"] == "vllm" else ("transformers", "vllm")
        program = next((name for name in wanted if util.find_spec(name)), None)
    if program is None:
        sys.exit("neither transformers nor vllm is installed here: install one, or give --url")
    folder = folder_of(options, engine)
    stated = {"dtype": engine["dtype"], **identity(folder, engine)}
    for name in ("weights", "revision"):
        if engine[name] is not None and stated.get(name) == engine[name]:
            break
    else:
        sys.exit(
            f"{folder} has other weights than {engine['name']} at the export: give its folder by --model"
        )
    stated |= {"program": ", ".join(f"{name} {version_of(name)}" for name in (program, "torch"))}
    return (Vllm if program == "vllm" else Transformers)(options, engine, folder, stated)


def version_of(package: str) -> str:
    """Return the version of an installed package; vLLM has several names."""
    names = metadata.packages_distributions().get(package, [package])
    return metadata.version(names[0])


def folder_of(options: argparse.Namespace, engine: Line) -> Path:
    """Return the folder of an engine's weights."""
    own = HERE / "models" / Path(engine["folder"]).name  # as culturemeter prefetch leaves it
    if options.model:
        folder = Path(options.model).expanduser()
    elif near := [each for each in (Path(engine["folder"]), own) if any(each.glob(WEIGHTS[2]))]:
        folder = near[0]
    elif engine["revision"]:
        from huggingface_hub import snapshot_download

        folder = Path(snapshot_download(engine["model"], revision=engine["revision"]))
    else:
        sys.exit(f"{engine['name']}: give the folder of its weights by --model")
    if not (folder / "config.json").is_file():
        sys.exit(f"there is no config.json in {folder}: give the folder of {engine['name']} by --model")
    return folder


def identity(folder: Path, engine: Line) -> Line:
    """Return the commit of a folder in the hub's cache, else a hash over the files that determine numbers."""
    if folder.parent.name == "snapshots" and folder.name == engine["revision"]:
        return {"revision": folder.name}
    files = {path.name: path for form in WEIGHTS for path in folder.glob(form) if path.is_file()}
    lines = []
    for name, path in sorted(files.items()):
        with path.open("rb") as file:
            lines.append(f"{name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\n")
    return {"weights": hashlib.sha256("".join(lines).encode()).hexdigest()}


def answer_file(file: Path, own: range, options: argparse.Namespace, backend: Any) -> None:
    """Append the answers to these lines of a file that are not there yet."""
    folder = HERE / "answers"
    folder.mkdir(exist_ok=True)
    with open(folder / f"{file.stem}.{options.i}of{options.n}.jsonl", "a+b") as out:
        try:
            fcntl.flock(out, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"{out.name} is being written by another process: give each its own --shard")
        except OSError as error:  # a network file system without locks
            print(f"{out.name} cannot be locked ({error.strerror})", file=sys.stderr)
        cut_to_last_line(out)
        done = {name for path in folder.glob(f"{file.stem}.*of*.jsonl") for name in done_in(path, backend)}
        lists: dict[str, list[list[int]]] = {}
        n, began = 0, time.monotonic()
        for batch in batches(share_of(file, own, done, lists), options.batch):
            for line in batch:
                for group in line.get("groups", ()):
                    if "list" in group:
                        group["continuations"] = lists[group["list"]]
            for each in backend.answers(batch):
                out.write(json.dumps(each).encode() + b"\n")
                out.flush()  # a kill loses nothing that was answered
                n += 1
            os.fsync(out.fileno())
            print(f"{file.name}: {n:,} in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
            if STOPS:
                sys.exit(128 + STOPS[0])
        print(f"{file.name}: {len(done):,} were there, {n:,} are new", file=sys.stderr)


def cut_to_last_line(out: Any) -> None:
    """Cut off a line that a kill left unfinished."""
    end = out.seek(0, os.SEEK_END)
    while end:
        start = max(0, end - 65536)
        out.seek(start)
        found = out.read(end - start).rfind(b"\n")
        if found >= 0:
            end = start + found + 1
            break
        end = start
    out.truncate(end)
    out.seek(0, os.SEEK_END)


def done_in(path: Path, backend: Any) -> Iterator[str]:
    """Yield what a file answers already, by an engine as this one."""
    with path.open("rb") as file:
        for text in file:
            try:
                line = json.loads(text)
                is_own = {**line.get("engine", {}), "program": ""} == {**backend.stated, "program": ""}
                if is_own and ("logprobs" in line or line["response"]["status_code"] == 200):
                    yield line["custom_id"]
            except (ValueError, KeyError, AttributeError, TypeError):
                continue


def share_of(file: Path, own: range, done: set[str], lists: dict[str, list[list[int]]]) -> Iterator[Line]:
    """Yield the lines of this share without an answer; fill the lists of continuations."""
    place = 0
    with file.open("rb") as opened:
        for text in opened:
            line = json.loads(text)
            if "custom_id" not in line:
                lists[line["list"]] = line["continuations"]
                continue
            place += 1
            if place in own and line["custom_id"] not in done:
                yield line


def batches(lines: Iterator[Line], size: int) -> Iterator[list[Line]]:
    """Yield lines in lists of this size; the last may be shorter."""
    batch: list[Line] = []
    for line in lines:
        batch.append(line)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


class Server:
    """A server of OpenAI's API; it is asked what the lines hold, unchanged."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.stated: Line = {}
        self.url, key = options.url.rstrip("/"), os.environ.get(options.key, "")
        self.headers = {"Content-Type": "application/json"} | (
            {"Authorization": f"Bearer {key}"} if key else {}
        )

    def answers(self, lines: list[Line]) -> Iterator[Line]:
        """Yield an answer to each line as it comes; once stopped, only to those that are asked already."""
        with ThreadPoolExecutor(16) as pool:
            asked = [pool.submit(self.answer, line) for line in lines]
            for each in as_completed(asked):
                if STOPS:
                    pool.shutdown(wait=False, cancel_futures=True)
                if not each.cancelled():
                    yield each.result()

    def answer(self, line: Line) -> Line:
        """Return the server's answer to a line, after up to six tries."""
        place = self.url + line["url"].removeprefix("/v1")
        status, body = 0, {}
        for tries in range(6):
            request = urllib.request.Request(place, json.dumps(line["body"]).encode(), self.headers)
            try:
                with urllib.request.urlopen(request, timeout=600) as response:
                    status, body = response.status, json.load(response)
            except urllib.error.HTTPError as error:
                status, text = error.code, error.read(10_000).decode("utf-8", "replace")
                try:
                    body = json.loads(text)
                except ValueError:
                    body = {"error": {"message": text[:300]}}
            except (OSError, ValueError) as error:
                if tries == 5:
                    sys.exit(f"{place} gives no answer: {error}")
                status = 503
            if status < 500 and status != 429:
                break
            time.sleep(2**tries)
        if line["url"].endswith("/completions") and "prompt" in line["body"] and status == 200:
            as_chat(body)
        return {
            "custom_id": line["custom_id"],
            "response": {"status_code": status, "body": body},
            "error": None,
        }


if __name__ == "__main__":
    main()
