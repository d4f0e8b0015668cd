"""Figure: seconds to ingest 15,000 synthetic dishes of Wikidata's form from a SPARQL server here."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from benchmarks.process import Result, measure, peak, show
from benchmarks.sizes import Sizes
from scrapers.wikidata import Endpoint, fetch, join

FULL_SIZE = 15_000
BAR_S = 60.0
BAR_BYTES = 10**9
LANGUAGES = ("en", "ko")
N_COUNTRIES, N_CUISINES, N_INGREDIENTS, N_CLASSES = 190, 150, 3_000, 300
STATEMENT = """
wd:{0} p:P31 s:{0} ; wdt:P31 wd:Q3624078 .
s:{0} ps:P31 wd:Q3624078 ; wikibase:rank wikibase:NormalRank ."""
PREFIXES = """@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix p: <http://www.wikidata.org/prop/> .
@prefix ps: <http://www.wikidata.org/prop/statement/> .
@prefix s: <http://www.wikidata.org/entity/statement/> .
@prefix wikibase: <http://wikiba.se/ontology#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."""


def ingest_dishes(sizes: Sizes) -> None:
    """Print the seconds of fetch and join without pauses, and the server's share."""
    ours = measure(fetch_and_join, dishes=sizes.dishes or FULL_SIZE)
    met = ours["seconds"] < BAR_S and ours["peak_bytes"] < BAR_BYTES
    show(
        f"ingest {ours['seconds']:.1f} s {peak(ours)} — {ours['n_dishes']:,} dishes, "
        f"{ours['n_triples']:,} triples, {ours['queries']:,} queries, {ours['bytes'] / 2**20:.1f} MiB of "
        f"answers, {ours['n_rows']:,} rows in 2 languages; bar {BAR_S:.0f} s and {BAR_BYTES / 1e9:.0f} GB: "
        f"{'met' if met else 'missed'}",
        f"of these {ours['server_seconds']:.1f} s ({ours['server_seconds'] / ours['seconds']:.0%}) is the "
        f"server's processor time; join {ours['join_seconds']:.2f} s; loading the triples apart",
    )


def fetch_and_join(dishes: int) -> Result:
    """Return the seconds of fetch and join, without starting and loading the server."""
    with TemporaryDirectory(prefix="culturemeter-bench-") as folder:
        turtle = Path(folder) / "dishes.ttl"
        turtle.write_text(world(dishes, random.Random(0)), encoding="utf-8")
        store = Path(folder) / "store"
        load = [_oxigraph(), "load", "--location", str(store), "--file", str(turtle)]
        subprocess.run(load, check=True, capture_output=True)
        with _server(store) as (url, server):
            server_seconds = _processor_seconds(server)
            start = time.perf_counter()
            harvest = fetch(Endpoint(url, user_agent="culturemeter-benchmark", pause_s=0), LANGUAGES)
            fetched = time.perf_counter()
            rows, _ = join(harvest, LANGUAGES)
            end = time.perf_counter()
            server_seconds = _processor_seconds(server) - server_seconds
        n_triples = _triples(store)
    return {
        "seconds": end - start,
        "join_seconds": end - fetched,
        "server_seconds": server_seconds,
        "n_dishes": harvest.dishes.height,
        "n_triples": n_triples,
        "n_rows": rows.height,
        "queries": harvest.traffic.queries,
        "bytes": harvest.traffic.bytes,
    }


def world(n_dishes: int, chance: random.Random) -> str:
    """Return dishes as Turtle, about ten triples each: class, origin or cuisine, 2 to 5 ingredients,
    material, image and 2 labels."""
    countries = [f"Q{100 + n}" for n in range(N_COUNTRIES)]
    cuisines = [f"Q{1_000 + n}" for n in range(N_CUISINES)]
    ingredients = [f"Q{10_000 + n}" for n in range(N_INGREDIENTS)]
    classes = [f"Q{20_000 + n}" for n in range(N_CLASSES)]
    lines = [PREFIXES]
    lines += [STATEMENT.format(country) + _labels(country, "country") for country in countries]
    lines += [f"wd:{cuisine} wdt:P17 wd:{chance.choice(countries)} ." for cuisine in cuisines]
    lines += [_labels(ingredient, "ingredient") for ingredient in ingredients]
    for n, name in enumerate(classes):  # a tree with dish as the root
        parent = "Q746549" if n < 10 else classes[chance.randrange(n)]
        lines.append(f"wd:{name} wdt:P279 wd:{parent} .")
    for n in range(n_dishes):
        dish = f"Q{100_000 + n}"
        origin = ("P495", countries) if chance.random() < 0.6 else ("P2012", cuisines)
        statements = [("P31", chance.choice(classes)), (origin[0], chance.choice(origin[1]))]
        statements += [("P527", part) for part in chance.sample(ingredients, chance.randint(2, 5))]
        statements += [("P186", chance.choice(ingredients))]
        pairs = " ; ".join(f"wdt:{name} wd:{value}" for name, value in statements)
        image = f"<http://commons.wikimedia.org/wiki/Special:FilePath/{n}.jpg>"
        lines.append(f"wd:{dish} {pairs} ; wdt:P18 {image} .{_labels(dish, 'dish')}")
    return "\n".join(lines)


def _labels(item: str, kind: str) -> str:
    return f'\nwd:{item} rdfs:label "{kind} {item}"@en, "{kind} {item} in Korean"@ko .'


def _oxigraph() -> str:
    return str(Path(sys.executable).with_name("oxigraph"))


@contextmanager
def _server(store: Path) -> Iterator[tuple[str, psutil.Process]]:
    """Start a server; yields its address for queries and its process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [_oxigraph(), "serve-read-only", "--location", str(store), "--bind", f"127.0.0.1:{port}"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                if time.monotonic() > end or process.poll() is not None:
                    raise
                time.sleep(0.02)
        yield f"http://127.0.0.1:{port}/query", psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def _processor_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _triples(store: Path) -> int:
    """Return the number of triples in the store."""
    query = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"
    command = [_oxigraph(), "query", "--location", str(store), "--query", query, "--results-format", "csv"]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[1])
