"""``culturemeter people``: run studies with people, from the plan to their answers' use."""

from __future__ import annotations

import logging
import re
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from deployments.cli.common import As, errors
from deployments.cli.suggest import Suggesting
from deployments.show.display import Format, new_file, notes, number, out, say, show, show_rows, working
from warehouse import Warehouse, home
from warehouse.querying import ResultSet
from warehouse.storage import usual_home

if TYPE_CHECKING:
    from deployments.people.results import StudyResults
    from deployments.people.site import Interviewer
    from deployments.people.store import StudyStore

app = typer.Typer(
    cls=Suggesting, no_args_is_help=True, help="Run studies with people: surveys, ratings and reviews."
)

Program = Literal["potato", "labelstudio"]
Table = Literal["agreement", "domains", "regions", "halves", "validation"]
Name = Annotated[str, typer.Argument(help="name of the study")]
_ORIGIN = "public address of the study, such as https://study.example.org behind a proxy"
_CODES = "participants' codes, the same in every study so that no author reviews; default: p001, p002 …"
_ENGINE = "model that interviews, if the study is an interview"
_INVITE = "give this participant a new link and end the old one; may be repeated"
_OUT = "file to write: CSV for `judge validate` (judge-ratings) or `specnorm review`; other kinds JSONL"
_TO = "write a project of this program to the new folder --out instead, to run the study there"
_FROM = "folder of `export --to` with the answers given there, or a CSV: person, item and a column per field"
_TABLE = "table to show; default: all of the study; as csv or json: agreement"
_NULLS = "draw judged null texts too, so that the null model can be rectified like the models (judge-ratings)"
PLANNED = (
    "labels: answers of each model that people must rate for an interval of {width}; –: too few answers, or "
    "clusters, even with all rated. A pilot is any drawn sample that was rated and pulled. `people new "
    "--items` counts the answers of all models and headlines together."
)
_OF = "item-answers: labels of the requests whose prompts people answer; default: the first"
_WIDTH = "widest acceptable 95 % interval"


@app.command("new")
def new(
    name: Name,
    study: Annotated[
        str, typer.Option(help="kind of study, such as spectral-ranking (docs/people.md has all)")
    ],
    items: Annotated[int, typer.Option(min=1, help="items to draw per language")] = 50,
    people: Annotated[int, typer.Option(min=1, help="people per language")] = 3,
    per_item: Annotated[int, typer.Option(min=1, help="people who see each item")] = 3,
    languages: Annotated[str, typer.Option(metavar="LANG,…", help="languages of the items")] = "en",
    config: Annotated[
        str | None, typer.Option(help="config_hash of the runs to draw from; default: the newest")
    ] = None,
    codes: Annotated[str | None, typer.Option(metavar="CODE,…", help=_CODES)] = None,
    seed: Annotated[int, typer.Option(help="seed of the draw, the assignment and the order of items")] = 0,
    nulls: Annotated[bool, typer.Option("--nulls", help=_NULLS)] = False,
    of: Annotated[str | None, typer.Option(metavar="LABEL,…", help=_OF)] = None,
) -> None:
    """Draw blinded items for people, and assign them to participants in a fixed order.

    Examples:

    - `culturemeter people new survey --study spectral-ranking --people 80`

    - `culturemeter people new dishes --study fmlama-mes --items 60 --people 6 --languages en,ar`

    - `culturemeter people new answered --study item-answers --items 60 --people 10 --languages kk`

    - `culturemeter people new reviews --study culturall-review --languages kk --people 2 --codes k01,k02`
    """
    from deployments.people.draw import Wishes
    from deployments.people.studies import new_study

    with errors():
        warehouse = Warehouse.open()
        chosen = _parts(languages)
        wishes = Wishes(
            name,
            study,
            items,
            people,
            per_item,
            chosen,
            seed,
            config,
            _parts(codes or ""),
            nulls,
            _parts(of or ""),
        )
        folder = _folder(name)
        n_items = new_study(warehouse, wishes, folder)
        n_people = people * len(chosen)
        say(
            f"{n_items} items for {n_people} people in {folder}; next: culturemeter people serve {name}",
            "new ",
        )


@app.command("serve")
def serve(
    name: Name,
    port: Annotated[int, typer.Option(min=1, max=65535, help="port on 127.0.0.1")] = 8600,
    origin: Annotated[str | None, typer.Option(help=_ORIGIN)] = None,
    invite: Annotated[list[str] | None, typer.Option(metavar="CODE", help=_INVITE)] = None,
    engine: Annotated[str | None, typer.Option(help=_ENGINE)] = None,
) -> None:
    """Serve a study on 127.0.0.1 until Ctrl-C; saved answers are kept.

    Links for participants who have none yet are written to standard output as CSV, once: they are stored
    nowhere. On Prolific, give ADDRESS/join as the study's link and have it pass its IDs as URL parameters.

    Examples:

    - `culturemeter people serve survey > links.csv`

    - `culturemeter people serve survey --origin https://study.example.org --invite p007`
    """
    import uvicorn

    from deployments.people.app import create_app
    from deployments.serve.sockets import bounded

    with errors("run again to serve"):
        address = (origin or f"http://127.0.0.1:{port}").rstrip("/")
        if not re.fullmatch(r"https?://[^/?#@]+", address):
            raise ValueError(
                f"{address} is not an origin: give scheme, host and port only, such as https://study.example.org"
            )
        site_app = create_app(_existing(name), address, _interviewer(engine))
        site = site_app.state.site
        _print_links(site.store, site.folder.assignments, address, invite or [])
        say(f"{site.study.name} at {address}; see progress with the lead's link", "serving")
        # No access log, since it would hold addresses and links. Connections stay open longer than the time
        # between two saves, so that no save meets a closing connection.
        config = uvicorn.Config(
            site_app,
            port=port,
            access_log=False,
            log_level="warning",
            server_header=False,
            timeout_keep_alive=75,
            **bounded(),
        )
        uvicorn.Server(config).run()
        site.store.close()


@app.command("status")
def status(
    name: Annotated[str | None, typer.Argument(help="name of the study; default: all studies")] = None,
    form: As = Format.table,
) -> None:
    """Show how many have joined, consented, finished and withdrawn; without a name, for all studies.

    Example: `culturemeter people status survey`
    """
    import polars as pl

    from deployments.people.store import FILE, StudyStore

    with errors():
        folders = [_existing(name)] if name else sorted(p.parent for p in _home().glob("*/study.toml"))
        if not folders and form is Format.table:
            return say("no study yet; begin with: culturemeter people new NAME --study KIND", style="")
        rows = []
        for folder in folders:
            people: list[dict[str, Any]] = []
            if (folder / FILE).exists():
                store = StudyStore(folder)
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
    """Load answers into the warehouse tables `human_answer`, `human_rating`, `annotator`, `study_progress`.

    It grades the attention checks, and counts excluded participants by reason. Running it again adds new
    answers.

    Examples:

    - `culturemeter people pull survey`

    - `culturemeter people pull dishes --from potato-dishes`

    - `culturemeter people pull answered --from answers.csv`
    """
    from deployments.people import results, studies

    with errors():
        warehouse, folder = Warehouse.open(), _existing(name)
        if exported is not None:
            say(f"{results.take(folder, exported)} revisions from {exported}", "taken")
        pulled = results.pull(warehouse, folder)
        say(f"{pulled.n_revisions} revisions of {pulled.n_people} people, {pulled.n_new} new rows", "pulled")
        _say_excluded(pulled.excluded, pulled.n_withdrawn)
        for line in studies.follow(warehouse, results.read(folder), folder):
            say(line, "so")


@app.command("score")
def score(name: Name, form: As = Format.table) -> None:
    """Score people's own answers as a model's, and store their mean: the human ceiling of an evaluation.

    The study is one of `--study item-answers` and was pulled. The judges of the run that its prompts were
    drawn from judge the answers, as they judged models'. People are no model and stand in no ranking. Of
    `spectral-ranking`, one half of the people is held against the other, beside the models that
    `run spectral --human` compared with them.

    Example: `culturemeter people score answered`
    """
    import polars as pl

    from deployments.people import ceiling
    from deployments.serve.server import configure
    from deployments.show.boards import CEILING

    with errors("run again to continue: verdicts are kept"):
        configure(home())
        warehouse, results = Warehouse.open(), _results(name)
        with notes(False, logging.WARNING), working("scoring"):
            rows = ceiling.score(warehouse, results)
        if form is Format.table:
            own = ceiling.lines(warehouse, rows[0]["config_hash"])
            return show_rows(ResultSet.from_dicts(own), "People's own answers", CEILING)
        show(pl.DataFrame(rows, infer_schema_length=None), form)


@app.command("export")
def export(
    name: Name,
    out: Annotated[Path, typer.Option(help=_OUT)],
    to: Annotated[Program | None, typer.Option(help=_TO)] = None,
) -> None:
    """Write the usable answers to a file for other commands, or the study in the format of another program.

    Examples:

    - `culturemeter people export rated --out ratings.csv`, then `culturemeter judge validate ratings.csv`

    - `culturemeter people export reviews --out queue.csv`, then `culturemeter specnorm review queue.csv`

    - `culturemeter people export dishes --to potato --out potato-dishes`
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
    """Show agreement among people by field and language; for a ranking also scores and the human ceiling.

    Examples:

    - `culturemeter people agreement survey`

    - `culturemeter people agreement survey --table domains --format csv`
    """
    from deployments.people import results

    with errors():
        read = _results(name)
        tables = {"agreement": (f"Agreement of people ({name})", results.agreement(read))}
        if read.folder.study.kind == "spectral-ranking":
            tables |= results.ranking_tables(read)
        if read.folder.study.kind == "conversation-ratings":
            from deployments.people.explication import validation

            title = "Simulator and judges compared with people, as of the last pull"
            tables["validation"] = (title, validation(Warehouse.open(), name))
        if table is not None and table not in tables:
            raise ValueError(f"study {name} has no table {table}; it has: {', '.join(tables)}")
        wanted = [table] if table else tables if form is Format.table else ["agreement"]
        for each in wanted:
            title, numbers = tables[each]
            show(numbers, form, title)
        if form is Format.table:
            _say_excluded(Counter(r for why in read.excluded.values() for r in why), len(read.withdrawn))


@app.command("plan")
def plan(
    study: Annotated[str, typer.Option(help="kind of study: spectral-ranking, or any kind with ratings")],
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
    things: Annotated[int, typer.Option(min=3, max=50, help="number of things to rank")] = 9,
    config: Annotated[
        str | None, typer.Option(help="judge-ratings: config_hash of the judged runs; default: the newest")
    ] = None,
    form: As = Format.table,
) -> None:
    """Say how many people and items, or rated answers, give an interval of the wanted width.

    Studies are simulated. For `judge-ratings` it is how many answers of each model and language people must
    rate, so that the rectified mean of a judge has such an interval: from the correlation of people with the
    judge in a pilot (ratings that are there), or from guesses of it.

    Examples:

    - `culturemeter people plan --study fmlama-mes --width 0.15 --points 3`

    - `culturemeter people plan --study judge-ratings --width 0.1`
    """
    import polars as pl

    from deployments.people.studies import DRAWS
    from tasks.people.simulation import People, plan_rankings, plan_ratings, smallest

    with errors():
        if study not in DRAWS:
            raise ValueError(f"no kind of study {study!r}; known: {', '.join(sorted(DRAWS))}")
        if study == "judge-ratings":
            from deployments.show import rectified_tables

            labels = rectified_tables.plan(Warehouse.existing(), width, config)
            show(pl.DataFrame(labels, infer_schema_length=None), form, "Labels for each model and headline")
            if form is Format.table:
                say(PLANNED.format(width=width), style="dim")
            return
        people = People(noise, careless, points)
        is_ranking = study.endswith("ranking")
        rows = plan_rankings(things, people) if is_ranking else plan_ratings(people)
        wanted = metric or ("mean_rank" if is_ranking else "krippendorff_alpha_ordinal")
        chosen = smallest(rows, wanted, width)
        show(pl.DataFrame([asdict(row) for row in rows]), form, "Simulated studies")
        if chosen is None:
            raise ValueError(f"no simulated study has an interval of {wanted} as narrow as {width}")
        if form is Format.table:
            each = f" for each of {chosen.items} items" if chosen.items > 1 else ""
            say(
                f"{chosen.people} people{each}: {wanted} with an interval of {number(chosen.width, 2)}",
                "enough",
            )


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _interviewer(engine: str | None) -> Interviewer | None:
    """Return the interviewer; raises EngineError if there is no such model, or it cannot generate."""
    if engine is None:
        return None
    from deployments.people.explication import ModelInterviewer
    from tasks.loop.steps import spec_of

    return ModelInterviewer(spec_of(engine), Warehouse.open().home / "models")


def _home() -> Path:
    return usual_home() / "people"


def _folder(name: str) -> Path:
    """Return a study's folder; raises ValueError if the name is not valid."""
    if not re.fullmatch(r"[a-z][a-z0-9_-]{0,39}", name):
        raise ValueError(
            f"{name!r} is not a study's name: use lower-case letters, digits, - and _, a letter first"
        )
    return _home() / name


def _existing(name: str) -> Path:
    folder = _folder(name)
    if not folder.is_dir():
        raise ValueError(f"no study {name}; start with: culturemeter people new {name} --study KIND")
    return folder


def _results(name: str) -> StudyResults:
    from deployments.people import results

    return results.read(_existing(name))


def _print_links(store: StudyStore, assignments: Any, address: str, again: list[str]) -> None:
    """Print links as CSV for participants without one and for the named participants."""
    invited = {person["annotator"] for person in store.people()}
    people = {a.annotator: (a.role, a.language) for a in assignments} | {"lead": ("lead", "en")}
    unknown = [code for code in again if code not in people]
    if unknown:
        raise ValueError(f"no participant {unknown[0]}; known: {', '.join(sorted(people))}")
    chosen = [code for code in sorted(people) if code not in invited or code in again]
    for code in chosen:
        role, language = people[code]
        out(f"{code},{role},{language},{address}/enter/{store.invite(code, role, language)}")


def _say_excluded(reasons: Counter[str], n_withdrawn: int) -> None:
    for reason, n in sorted(reasons.items()):
        say(f"{reason}: {n}", "excluded", "yellow")
    if n_withdrawn:
        say(f"{n_withdrawn}, whose answers are deleted", "withdrawn", "yellow")
