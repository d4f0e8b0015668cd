"""``culturescope pack``: folders of a user's own content."""

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
_FOR = "evaluation that the pack adds to; repeat it for several"
_NONE = "there is no pack yet; begin with: culturescope pack new mine --for spectral"
_PUBLISHED = (
    "the skeleton of a pack with the paper's own texts, field by field, to be copied from it: NAME is an "
    "evaluation"
)
_DATA = "clone of the authors' repository, or the folder with their files; folders in it are searched too"
_AS = "name of the pack; default: the paper's with -published"
_REPLACE = "take the pack of that name away first"
_RECIPE = "the pack is an evaluation of its own: choice, judged, preference or short_answer"


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="lower-case letters, digits, - and _")],
    evaluations: Annotated[list[str] | None, typer.Option("--for", metavar="NAME", help=_FOR)] = None,
    recipe: Annotated[str | None, typer.Option("--recipe", metavar="RECIPE", help=_RECIPE)] = None,
    as_published: Annotated[bool, typer.Option("--as-published", help=_PUBLISHED)] = False,
) -> None:
    """Write a small pack that runs, with an explanation of every column or field, to be edited.

    Examples:

    - `culturescope pack new sports --for spectral`

    - `culturescope pack new proverbs --recipe choice`

    - `culturescope pack new explication --as-published`
    """
    from deployments.packs.folders import write_new, write_recipe, write_skeleton
    from deployments.packs.recipes import name_of
    from tasks.packs.folder import checked_name, packs_of

    with errors():
        if as_published:
            if evaluations or recipe:
                raise ValueError("--as-published names an evaluation: leave --for and --recipe out")
            pack = f"{name}-published"
            written = write_skeleton(packs_of(Warehouse.open().home) / checked_name(pack), name)
            for path in written:
                say(str(path), "written")
            say(f"fill it in, then culturescope pack check {pack}", " next:", "bold")
            return
        if bool(evaluations) == bool(recipe):
            raise ValueError("say what the pack is: --for EVALUATION, to add to one, or --recipe RECIPE")
        folder = packs_of(Warehouse.open().home) / checked_name(name)
        if recipe:
            written = write_recipe(folder, recipe)
            run = f"{name_of(name)} --profile smoke"
        else:
            written = write_new(folder, list(dict.fromkeys(evaluations or [])))
            run = f"{(evaluations or [''])[0]} --profile {name}/smoke"
        for path in written:
            say(str(path.relative_to(folder.parent)), "written")
        say(f"it lies in {folder}", style="")
        say(f"culturescope pack check {name} · culturescope run {run}", " next:", "bold")


@app.command("from")
def from_paper(
    paper: Annotated[str, typer.Argument(help="evaluation that comes from the paper, such as worldwise")],
    data: Annotated[Path, typer.Option("--data", metavar="CLONE", help=_DATA)],
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help=_AS)] = None,
    replace: Annotated[bool, typer.Option("--replace", help=_REPLACE)] = False,
) -> None:
    """Make a pack of a paper's own texts out of the files of its authors. Programs are read, and never run.

    Example: `culturescope pack from worldwise --data worldWiseAI`
    """
    from deployments.packs.folders import faults_of, write_imported
    from tasks.packs.folder import Folder, checked_name, packs_of
    from tasks.papers.importing import pack_from

    with errors():
        importer, pack = importer_of(paper), checked_name(name or f"{paper}-published")
        warehouse = Warehouse.open()
        folder = packs_of(warehouse.home) / pack
        countries = dict(warehouse.query("SELECT name, country FROM country").rows())
        imported = pack_from(importer, data, countries)
        write_imported(folder, imported, replace)
        for line in imported.taken:
            say(line, "taken", "green")
        for line in imported.left_out:
            say(line, "left out", "yellow")
        faults = faults_of(Folder(pack, folder))
        for fault in faults:
            say(str(fault), f"{pack}:", "red")
        say(f"it lies in {folder}", style="")
        if faults:
            raise ValueError(
                f"the pack has faults as it was read: correct them there, then pack check {pack}"
            )
        say(f"culturescope run {paper} --pack {pack} --profile paper --dry-run", " next:", "bold")


def importer_of(paper: str) -> Importer:
    """The importer of a paper; raises ValueError that lists those that there are."""
    from tasks import papers

    known = sorted(
        each.name
        for each in pkgutil.iter_modules(papers.__path__)
        if each.ispkg and find_spec(f"{papers.__name__}.{each.name}.importer")
    )
    if paper not in known:
        raise ValueError(f"there is no importer of {paper!r}; there are: {', '.join(known)}")
    chosen: Importer = import_module(f"{papers.__name__}.{paper}.importer").IMPORTER
    return chosen


@app.command()
def check(name: Annotated[str | None, typer.Argument(help="default: every pack")] = None) -> None:
    """Say everything that is wrong with a pack: where, what, and what to do. Exits with 1 if anything is.

    Example: `culturescope pack check sports`
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

    Example: `culturescope pack list`
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
            except (ValueError, OSError, RecursionError) as error:  # it does not hide the others
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
