"""Workbooks, as few lines of XML as a reader asks for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape
from zipfile import ZipFile


def write_xlsx(path: Path, rows: Sequence[Sequence[str]]) -> None:
    """Write a workbook of one sheet whose cells are all texts."""
    cell = '<c t="inlineStr"><is><t>{}</t></is></c>'
    lines = ["".join(cell.format(escape(text)) for text in row) for row in rows]
    data = "".join(f"<row>{line}</row>" for line in lines)
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    linked = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    packed = "http://schemas.openxmlformats.org/package/2006"
    link = '<Relationship Id="r1" Type="{}/{}" Target="{}"/>'
    files = {
        "[Content_Types].xml": f'<Types xmlns="{packed}/content-types"/>',
        "_rels/.rels": link.format(linked, "officeDocument", "xl/workbook.xml"),
        "xl/_rels/workbook.xml.rels": link.format(linked, "worksheet", "worksheets/sheet1.xml"),
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{linked}"><sheets>'
        '<sheet name="items" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{data}</sheetData></worksheet>',
    }
    with ZipFile(path, "w") as book:
        for name, text in files.items():
            if name.endswith(".rels"):
                text = f'<Relationships xmlns="{packed}/relationships">{text}</Relationships>'
            book.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')
