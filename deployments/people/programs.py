"""Studies asked in other programs: their projects written, and their output taken in beside the study."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from deployments.people.pages import interface
from deployments.people.store import FILE
from tasks.people import labelstudio, potato
from tasks.people.elsewhere import exported_for, with_known
from tasks.people.files import ANSWERS, Answer, Folder, StudyError, read_folder, read_rows, write_rows

_READERS: dict[str, Callable[[Folder, Path], list[Answer]]] = {
    potato.TOOL: potato.read_potato,
    labelstudio.TOOL: labelstudio.read_labelstudio,
}


def export(path: Path, program: str, out: Path) -> list[str]:
    """Write projects of another program into a new folder; returns their names.

    Raises:
        StudyError: the folder exists, or the study cannot be asked there.
    """
    folder = replace(read_folder(path), private={})  # what is not read cannot be written
    try:
        out.mkdir(parents=True)
    except FileExistsError as error:
        raise StudyError(f"{out} exists already: name a new folder with --out") from error
    if program == labelstudio.TOOL:
        return labelstudio.write_labelstudio(folder, out)
    return potato.write_potato(folder, out, {name: texts["agree"] for name, texts in interface().items()})


def take(path: Path, exported: Path) -> int:
    """Add what another program collected to the study's answers; returns how many revisions are new.

    Raises:
        StudyError: an export of another study, an output that is broken, or the study is served here: it is
            asked in one program.
    """
    if (path / FILE).exists():
        raise StudyError(f"study {path.name} is served here: ask it in one program, or start another study")
    folder = read_folder(path)
    reader = _READERS[exported_for(folder, exported)]
    known = read_rows(path / ANSWERS, Answer)
    answers = with_known(known, reader(folder, exported))
    write_rows(path / ANSWERS, answers)
    return len(answers) - len(known)
