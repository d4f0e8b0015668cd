"""``culturemeter pack``: folders with a user's own content."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import polars as pl
import typer

from deployments.cli.common import As, Wide, errors
from deployments.cli.suggest import Suggesting
from deployments.show.display import Format, say, show
from warehouse import Warehouse
from warehouse.storage import usual_home

if TYPE_CHECKING:
    from tasks.papers.importing import Importer

app = typer.Typer(
    cls=Suggesting,
    no_args_is_help=True,
    help="Add your own domains, languages, scenarios, benchmarks or tasks without touching the package.",
)
_FOR = "evaluation that the pack adds to; may be repeated"
_NONE = "no pack yet; begin with: culturemeter pack new mine --for spectral"
_PUBLISHED = (
    "write a skeleton in which you fill the paper's own texts, field by field; NAME is then the evaluation"
)
_DATA = "clone of the authors' repository or folder with their files; subfolders are searched too"
_AS = "name of the pack; default: PAPER-published"
_REPLACE = "replace an existing pack of that name"
_RECIPE = (
    "make the pack an evaluation of its own, from this recipe: choice, judged, preference or short_answer"
)


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="name of the pack: lower-case letters, digits, - and _")],
    evaluations: Annotated[list[str] | None, typer.Option("--for", metavar="NAME", help=_FOR)] = None,
    recipe: Annotated[str | None, typer.Option("--recipe", metavar="RECIPE", help=_RECIPE)] = None,
    as_published: Annotated[bool, typer.Option("--as-published", help=_PUBLISHED)] = False,
) -> None:
    """Write a small pack that runs, with every column or field explained, for you to edit.

    Examples:

    - `culturemeter pack new sports --for spectral`

    - `culturemeter pack new proverbs --recipe choice`

    - `culturemeter pack new explication --as-published`
    """
    from deployments.packs.folders import write_new, write_recipe, write_skeleton
    from deployments.packs.recipes import name_of
    from tasks.packs.folder import checked_name, packs_of

    with errors():
        if as_published:
            if evaluations or recipe:
                raise ValueError("--as-published takes the evaluation as NAME: leave --for and --recipe out")
            pack = f"{name}-published"
            written = write_skeleton(packs_of(Warehouse.open().home) / checked_name(pack), name)
            for path in written:
                say(str(path), "written")
            say(f"fill it in, then culturemeter pack check {pack}", " next:", "bold")
            return
        if bool(evaluations) == bool(recipe):
            raise ValueError(
                "choose one: --for EVALUATION to add to it, or --recipe RECIPE for a new evaluation"
            )
        folder = packs_of(Warehouse.open().home) / checked_name(name)
        if recipe:
            written = write_recipe(folder, recipe)
            run = f"{name_of(name)} --profile smoke"
        else:
            written = write_new(folder, list(dict.fromkeys(evaluations or [])))
            run = f"{(evaluations or [''])[0]} --profile {name}/smoke"
        for path in written:
            say(str(path.relative_to(folder.parent)), "written")
        say(f"folder: {folder}", style="")
        say(f"culturemeter pack check {name} · culturemeter run {run}", " next:", "bold")


@app.command("from")
def from_paper(
    paper: Annotated[str, typer.Argument(help="evaluation that is based on the paper, such as worldwise")],
    data: Annotated[Path, typer.Option("--data", metavar="CLONE", help=_DATA)],
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help=_AS)] = None,
    replace: Annotated[bool, typer.Option("--replace", help=_REPLACE)] = False,
) -> None:
    """Make a pack of a paper's own texts from its authors' files. Programs are read, never run.

    Example: `culturemeter pack from worldwise --data worldWiseAI`
    """
    from deployments.packs.folders import faults_of, write_imported
    from tasks.packs.folder import PackFolder, checked_name, packs_of
    from tasks.papers.importing import pack_from

    with errors():
        importer, pack = importer_of(paper), checked_name(name or f"{paper}-published")
        warehouse = Warehouse.open()
        folder = packs_of(warehouse.home) / pack
        countries = dict(warehouse.query("SELECT name, country FROM country").rows())
        imported = pack_from(importer, data, countries)
        write_imported(folder, imported, replace)
        for line in imported.added:
            say(line, "taken", "green")
        for line in imported.left_out:
            say(line, "left out", "yellow")
        faults = faults_of(PackFolder(pack, folder))
        for fault in faults:
            say(str(fault), f"{pack}:", "red")
        say(f"folder: {folder}", style="")
        if faults:
            raise ValueError(
                f"the files have faults: correct them in the pack, then run: culturemeter pack check {pack}"
            )
        say(f"culturemeter run {paper} --pack {pack} --profile paper --dry-run", " next:", "bold")


def importer_of(paper: str) -> Importer:
    """Return the importer of a paper; raises ValueError that lists the known importers."""
    from tasks import papers

    known = sorted(
        each.name
        for each in pkgutil.iter_modules(papers.__path__)
        if each.ispkg and find_spec(f"{papers.__name__}.{each.name}.importer")
    )
    if paper not in known:
        raise ValueError(f"no importer of {paper!r}; known: {', '.join(known)}")
    chosen: Importer = import_module(f"{papers.__name__}.{paper}.importer").IMPORTER
    return chosen


@app.command()
def check(
    name: Annotated[str | None, typer.Argument(help="pack to check; default: every pack")] = None,
) -> None:
    """List every fault of a pack: place, fault and remedy. Exits with 1 if there are any.

    Example: `culturemeter pack check sports`
    """
    from deployments.serve.server import configure

    with errors():
        home = Warehouse.open().home
        configure(home)  # before Prefect is imported
        from deployments.packs.folders import added, faults_of, previews
        from deployments.packs.recipes import about
        from tasks.packs.folder import folder_of, folders

        packs = [folder_of(name, home)] if name else list(folders(home).values())
        n_wrong = 0
        for folder in packs:
            faults = faults_of(folder)
            n_wrong += bool(faults)
            for fault in faults:
                say(str(fault), f"{folder.name}:", "red")
            if not faults:
                say(f"{folder.name}: {added(folder)}", "right")
                for line in (*about(folder)[1], *previews(folder)):
                    say(line, style="")
        if not packs:
            say(_NONE, style="")
    if n_wrong:
        raise typer.Exit(1)


@app.command("list")
def list_packs(form: As = Format.table, wide: Wide = False) -> None:
    """List the packs, what they add and their profiles.

    Example: `culturemeter pack list`
    """
    with errors():
        from deployments.evaluations import profiles, sound
        from deployments.packs.folders import added, contents
        from tasks.packs.folder import folders

        labels = [label for name in sound() for label in profiles(name)]
        rows = []
        for folder in folders(usual_home()).values():
            own = dict.fromkeys(p for p in labels if p.startswith(f"{folder.name}/"))
            try:
                about = next((content.about for content in contents(folder)), {})
                adds = added(folder)
            except (ValueError, OSError, RecursionError) as error:  # list the others all the same
                about, adds = {}, f"cannot be read: {error}"
            rows.append(
                {
                    "pack": folder.name, "adds": adds, "profiles": ", ".join(own),
                    "title": about.get("title", ""), "version": about.get("version", ""),
                    "licence": about.get("licence", ""), "folder": str(folder.path),
                }
            )  # fmt: skip
        if not rows and form is Format.table:
            say(_NONE, style="")
        else:
            schema = ["pack", "adds", "profiles", "title", "version", "licence", "folder"]
            show(pl.DataFrame(rows, schema=schema, orient="row"), form, is_wide=wide)
