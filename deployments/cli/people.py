"""``culturescope people``: studies with people, from the plan to what follows from their answers."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from deployments.cli.common import As, errors
from deployments.cli.suggest import Suggesting
from deployments.show.display import Format, new_file, number, say, show
from warehouse import Warehouse
from warehouse.storage import usual_home

if TYPE_CHECKING:
    from deployments.people.results import Results
    from deployments.people.site import Interviewer
    from deployments.people.store import Store

app = typer.Typer(cls=Suggesting, no_args_is_help=True, help="Ask people: surveys, ratings and reviews.")

Program = Literal["potato", "labelstudio"]
Table = Literal["agreement", "domains", "regions", "halves", "validation"]
Name = Annotated[str, typer.Argument(help="name of the study")]
_ORIGIN = "address under which browsers reach it, such as https://study.example.org behind a proxy"
_CODES = "codes of the people, the same in every study, since who wrote may not review; default: p001, p002 …"
_ENGINE = "model that asks, where the study is an interview"
_INVITE = "give this person a new link, which ends the old one; repeat it"
_OUT = "file; judge-ratings: CSV for judge validate; specnorm-review: CSV for specnorm review; else JSONL"
_TO = "write projects of this program into the new folder --out instead, to ask people there"
_FROM = "folder of `export --to`, in which people have answered meanwhile"
_TABLE = "only this one; default: all that the study has, as csv or json: agreement"
_WIDTH = "widest 95 % interval that will do"


@app.command("new")
def new(
    name: Name,
    study: Annotated[str, typer.Option(help="kind: see the folder deployments/people/kinds")],
    items: Annotated[int, typer.Option(min=1, help="items to draw, of each language")] = 50,
    people: Annotated[int, typer.Option(min=1, help="people, of each language")] = 3,
    per_item: Annotated[int, typer.Option(min=1, help="people who see each item")] = 3,
    languages: Annotated[str, typer.Option(metavar="LANG,…", help="languages of the items")] = "en",
    config: Annotated[str | None, typer.Option(help="config_hash of the runs; default: the newest")] = None,
    codes: Annotated[str | None, typer.Option(metavar="CODE,…", help=_CODES)] = None,
    seed: Annotated[int, typer.Option(help="seed of the draw, the assignment and the orders")] = 0,
) -> None:
    """Draw items for people, blinded, and say who sees what in which order.

    Examples:

    - `culturescope people new survey --study spectral-ranking --people 80`

    - `culturescope people new dishes --study fmlama-mes --items 60 --people 6 --languages en,ar`

    - `culturescope people new reviews --study culturall-review --languages kk --people 2 --codes k01,k02`
    """
    from deployments.people.draw import Wishes
    from deployments.people.studies import new_study

    with errors():
        warehouse = Warehouse.open()
        chosen = _parts(languages)
        wishes = Wishes(name, study, items, people, per_item, chosen, seed, config, _parts(codes or ""))
        folder = _folder(name)
        n_items = new_study(warehouse, wishes, folder)
        n_people = people * len(chosen)
        say(
            f"{n_items} items for {n_people} people in {folder}; next: culturescope people serve {name}",
            "new ",
        )


@app.command("serve")
def serve(
    name: Name,
    port: Annotated[int, typer.Option(min=1, max=65535, help="on 127.0.0.1")] = 8600,
    origin: Annotated[str | None, typer.Option(help=_ORIGIN)] = None,
    invite: Annotated[list[str] | None, typer.Option(metavar="CODE", help=_INVITE)] = None,
    engine: Annotated[str | None, typer.Option(help=_ENGINE)] = None,
) -> None:
    """Serve a study on 127.0.0.1; Ctrl-C stops it, and what was saved stays.

    Links for those who have none yet are written to standard output as CSV, once: they are stored nowhere.
    On Prolific, give ADDRESS/join as the link of the study and let it pass its IDs as parameters.

    Examples:

    - `culturescope people serve survey > links.csv`

    - `culturescope people serve survey --origin https://study.example.org --invite p007`
    """
    import uvicorn

    from deployments.people.app import create_app

    with errors("run again to serve"):
        address = (origin or f"http://127.0.0.1:{port}").rstrip("/")
        if not re.fullmatch(r"https?://[^/?#@]+", address):
            raise ValueError(f"{address} is no origin: give scheme, name and port, and nothing after them")
        site_app = create_app(_existing(name), address, _interviewer(engine))
        site = site_app.state.site
        _print_links(site.store, site.folder.assignments, address, invite or [])
        say(f"{site.study.name} at {address}; progress: with the link of the lead", "serving")
        # No access log: it would hold addresses and links. Connections outlast the time between two saves: a
        # save must not meet one that is being closed.
        config = uvicorn.Config(
            site_app,
            port=port,
            access_log=False,
            log_level="warning",
            server_header=False,
            timeout_keep_alive=75,
        )
        uvicorn.Server(config).run()
        site.store.close()


@app.command("status")
def status(
    name: Annotated[str | None, typer.Argument(help="one study")] = None, form: As = Format.table
) -> None:
    """Who has come, consented, finished and withdrawn, now; without a name, of all studies.

    Example: `culturescope people status survey`
    """
    import polars as pl

    from deployments.people.store import FILE, Store

    with errors():
        folders = [_existing(name)] if name else sorted(p.parent for p in _home().glob("*/study.toml"))
        if not folders and form is Format.table:
            return say(
                "there is no study yet; begin with: culturescope people new NAME --study KIND", style=""
            )
        rows = []
        for folder in folders:
            people: list[dict[str, Any]] = []
            if (folder / FILE).exists():
                store = Store(folder)
                people = [p for p in store.people() if p["role"] != "lead"]
                store.close()
            states = ("entered", "consented", "finished", "withdrawn")
            counts = {state: sum(bool(person[state]) for person in people) for state in states}
            complete = sum(person["n_complete"] for person in people)
            rows.append({"study": folder.name, "invited": len(people), **counts, "fields complete": complete})
        show(pl.DataFrame(rows), form)


@app.command("pull")
def pull(
    name: Name, exported: Annotated[Path | None, typer.Option("--from", metavar="DIR", help=_FROM)] = None
) -> None:
    """Bring the answers into the warehouse: `human_answer`, `human_rating`, `annotator`, `study_progress`.

    Attention checks are graded now; who is excluded is counted with the reason. Pulling again adds what is
    new.

    Examples:

    - `culturescope people pull survey`

    - `culturescope people pull dishes --from potato-dishes`
    """
    from deployments.people import results, studies

    with errors():
        warehouse, folder = Warehouse.open(), _existing(name)
        if exported is not None:
            say(f"{results.take(folder, exported)} revisions from {exported}", "taken")
        pulled = results.pull(warehouse, folder)
        say(f"{pulled.n_revisions} revisions of {pulled.n_people} people, {pulled.n_new} rows new", "pulled")
        _say_excluded(pulled.excluded, pulled.n_withdrawn)
        for line in studies.follow(warehouse, results.read(folder), folder):
            say(line, "so")


@app.command("export")
def export(
    name: Name,
    out: Annotated[Path, typer.Option(help=_OUT)],
    to: Annotated[Program | None, typer.Option(help=_TO)] = None,
) -> None:
    """Write what counts to a file that other commands read, or a study for another program to ask.

    Examples:

    - `culturescope people export rated --out ratings.csv`, then `culturescope judge validate ratings.csv`

    - `culturescope people export reviews --out queue.csv`, then `culturescope specnorm review queue.csv`

    - `culturescope people export dishes --to potato --out potato-dishes`
    """
    from deployments.people import results

    with errors():
        if to is not None:
            say(f"{', '.join(results.export(_existing(name), to, out))} in {out}", "exported")
        else:
            new_file(out, results.exported(_results(name), Warehouse.open()).encode())
            say(str(out), "exported")


@app.command("agreement")
def agreement(
    name: Name, form: As = Format.table, table: Annotated[Table | None, typer.Option(help=_TABLE)] = None
) -> None:
    """Print agreement among people, per field and language; for a ranking also scores and people's own
    ceiling.

    Examples:

    - `culturescope people agreement survey`

    - `culturescope people agreement survey --table domains --format csv`
    """
    from deployments.people import results

    with errors():
        read = _results(name)
        tables = {"agreement": (f"Agreement of people ({name})", results.agreement(read))}
        if read.folder.study.kind == "spectral-ranking":
            tables |= results.ranking_tables(read)
        if read.folder.study.kind == "conversation-ratings":
            from deployments.people.explication import validation

            title = "Simulator and judges beside people, as of the last pull"
            tables["validation"] = (title, validation(Warehouse.open(), name))
        if table is not None and table not in tables:
            raise ValueError(f"study {name} has no table {table}: it has {', '.join(tables)}")
        wanted = [table] if table else tables if form is Format.table else ["agreement"]
        for each in wanted:
            title, numbers = tables[each]
            show(numbers, form, title)
        if form is Format.table:
            _say_excluded(Counter(r for why in read.excluded.values() for r in why), len(read.withdrawn))


@app.command("plan")
def plan(
    study: Annotated[str, typer.Option(help="spectral-ranking, or any kind with ratings")],
    width: Annotated[float, typer.Option(min=0, help=_WIDTH)],
    metric: Annotated[
        str | None, typer.Option(help="number to simulate; default: alpha, or mean_rank for rankings")
    ] = None,
    noise: Annotated[
        float,
        typer.Option(
            min=0, help="spread of people around the truth, as a multiple of the spread of the truth"
        ),
    ] = 1.0,
    careless: Annotated[
        float, typer.Option(min=0, max=1, help="share of people who answer at random")
    ] = 0.05,
    points: Annotated[int, typer.Option(min=2, max=11, help="points of the scale")] = 5,
    things: Annotated[int, typer.Option(min=3, max=50, help="that are ranked")] = 9,
    form: As = Format.table,
) -> None:
    """Say how many people and items give an interval of a wanted width, by simulated studies.

    Example: `culturescope people plan --study fmlama-mes --width 0.15 --points 3`
    """
    import polars as pl

    from deployments.people.studies import DRAWS
    from tasks.people.simulation import People, plan_rankings, plan_ratings, smallest

    with errors():
        if study not in DRAWS:
            raise ValueError(f"there is no study {study!r}: {', '.join(sorted(DRAWS))} are")
        people = People(noise, careless, points)
        is_ranking = study.endswith("ranking")
        rows = plan_rankings(things, people) if is_ranking else plan_ratings(people)
        wanted = metric or ("mean_rank" if is_ranking else "krippendorff_alpha_ordinal")
        chosen = smallest(rows, wanted, width)
        show(pl.DataFrame([asdict(row) for row in rows]), form, "Simulated studies")
        if chosen is None:
            raise ValueError(f"none of these studies has an interval of {wanted} as narrow as {width}")
        if form is Format.table:
            each = f" for each of {chosen.items} items" if chosen.items > 1 else ""
            say(
                f"{chosen.people} people{each}: {wanted} with an interval of {number(chosen.width, 2)}",
                "enough",
            )


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _interviewer(engine: str | None) -> Interviewer | None:
    """Raises EngineError: there is no such model, or it cannot write."""
    if engine is None:
        return None
    from deployments.people.explication import ModelInterviewer
    from tasks.loop.steps import spec_of

    return ModelInterviewer(spec_of(engine), Warehouse.open().home / "models")


def _home() -> Path:
    return usual_home() / "people"


def _folder(name: str) -> Path:
    """Raises ValueError for a name that is no name of a folder of ours."""
    if not re.fullmatch(r"[a-z][a-z0-9_-]{0,39}", name):
        raise ValueError(f"{name!r} is no name of a study: small letters, digits, - and _, a letter first")
    return _home() / name


def _existing(name: str) -> Path:
    folder = _folder(name)
    if not folder.is_dir():
        raise ValueError(f"there is no study {name}; start with: culturescope people new {name} --study KIND")
    return folder


def _results(name: str) -> Results:
    from deployments.people import results

    return results.read(_existing(name))


def _print_links(store: Store, assignments: Any, address: str, again: list[str]) -> None:
    """Links of those who have none yet and of those named, as CSV on standard output."""
    invited = {person["annotator"] for person in store.people()}
    people = {a.annotator: (a.role, a.language) for a in assignments} | {"lead": ("lead", "en")}
    unknown = [code for code in again if code not in people]
    if unknown:
        raise ValueError(f"no participant {unknown[0]}; known: {', '.join(sorted(people))}")
    chosen = [code for code in sorted(people) if code not in invited or code in again]
    for code in chosen:
        role, language = people[code]
        typer.echo(f"{code},{role},{language},{address}/enter/{store.invite(code, role, language)}")


def _say_excluded(reasons: Counter[str], n_withdrawn: int) -> None:
    for reason, n in sorted(reasons.items()):
        say(f"{reason}: {n}", "excluded", "yellow")
    if n_withdrawn:
        say(f"{n_withdrawn}, whose answers are deleted", "withdrawn", "yellow")
