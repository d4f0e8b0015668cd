"""Reference data: the CSV files in reference/ and the item lists that scrapers bring, checked and loaded.

A file of item lists is one whose header begins with `item,aliases,countries`; a new list is a new file and no
code. Each file is loaded when its content differs from what the database had of it, so that a list scraped
later stays current until its file is changed.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import polars as pl

from warehouse.home import WarehouseError
from warehouse.reference_csv import Item, check_items, read_items, read_table
from warehouse.state import content_hash, read_state, write_state

if TYPE_CHECKING:
    from warehouse.connection import Warehouse

__all__ = ["list_hash", "load_reference", "reference_state", "replace_item_list"]

_FOLDER = Path(__file__).resolve().parent / "reference"

# A file a benchmark, all in one table.
_REPLACE_BENCHMARK = (
    "DELETE FROM cure_item WHERE benchmark IN (SELECT benchmark FROM incoming); "
    "INSERT INTO cure_item BY NAME FROM incoming"
)
_LOAD_TABLE = {
    "countries.csv": "DELETE FROM country; INSERT INTO country BY NAME FROM incoming",
    "domains.csv": "DELETE FROM domain; INSERT INTO domain BY NAME FROM incoming",
    "questions.csv": "DELETE FROM question; INSERT INTO question BY NAME FROM incoming",
    "sources.csv": "DELETE FROM source; INSERT INTO source BY NAME FROM incoming",
    "metrics.csv": "DELETE FROM metric; INSERT INTO metric BY NAME FROM incoming",
    "templates.csv": "DELETE FROM template; INSERT INTO template BY NAME FROM incoming",
    "origin_groups.csv": "DELETE FROM origin_group; INSERT INTO origin_group BY NAME FROM incoming",
    "dimensions.csv": "DELETE FROM dimension; INSERT INTO dimension BY NAME FROM incoming",
    "exemplars.csv": "DELETE FROM exemplar; INSERT INTO exemplar BY NAME FROM incoming",
    "values.csv": "DELETE FROM guiding_value; INSERT INTO guiding_value BY NAME FROM incoming",
    "scenarios.csv": "DELETE FROM scenario; INSERT INTO scenario BY NAME FROM incoming",
    "culture_profiles.csv": "DELETE FROM culture_profile; INSERT INTO culture_profile BY NAME FROM incoming",
    "stereotypes.csv": "DELETE FROM stereotype; INSERT INTO stereotype BY NAME FROM incoming",
    "personas.csv": "DELETE FROM persona; INSERT INTO persona BY NAME FROM incoming",
    "country_names.csv": "DELETE FROM country_name; INSERT INTO country_name BY NAME FROM incoming",
    "cure_normad.csv": _REPLACE_BENCHMARK,
    "cure_casa.csv": _REPLACE_BENCHMARK,
    "cure_culturebank.csv": _REPLACE_BENCHMARK,
    "cure_specnorm.csv": _REPLACE_BENCHMARK,
    "specnorm_seeds.csv": "DELETE FROM specnorm_seed; INSERT INTO specnorm_seed BY NAME FROM incoming",
}
_TABLE = {
    "countries.csv": "country",
    "domains.csv": "domain",
    "questions.csv": "question",
    "sources.csv": "source",
    "metrics.csv": "metric",
    "templates.csv": "template",
    "origin_groups.csv": "origin_group",
    "dimensions.csv": "dimension",
    "exemplars.csv": "exemplar",
    "values.csv": "guiding_value",
    "scenarios.csv": "scenario",
    "culture_profiles.csv": "culture_profile",
    "stereotypes.csv": "stereotype",
    "personas.csv": "persona",
    "country_names.csv": "country_name",
    "cure_normad.csv": "cure_item",
    "cure_casa.csv": "cure_item",
    "cure_culturebank.csv": "cure_item",
    "cure_specnorm.csv": "cure_item",
    "specnorm_seeds.csv": "specnorm_seed",
}
_TEXTS = pl.List(pl.String())
_ITEM_SCHEMA = pl.Schema(
    {
        "item": pl.String(),
        "aliases": _TEXTS,
        "countries": _TEXTS,
        "ingredients": _TEXTS,
        "code": pl.String(),
    }
)
_PUT_ITEM_LIST = """
INSERT INTO item_list (list_hash, item_list, n_items, source, loaded_at, is_current)
VALUES ($list_hash, $item_list, $n_items, $source, $loaded_at, true)
ON CONFLICT (list_hash) DO UPDATE SET source = excluded.source, loaded_at = excluded.loaded_at
"""
_MAKE_CURRENT = "UPDATE item_list SET is_current = (list_hash = $list_hash) WHERE item_list = $item_list"
_PUT_ITEMS = """
INSERT INTO item (list_hash, position, item, aliases, countries, ingredients, code)
SELECT $list_hash, position, item, aliases, countries, ingredients, code FROM incoming ORDER BY position
"""


def reference_state() -> dict[str, str]:
    """The rows of the table `state` that a database with the present reference files has."""
    return {_state_name(file): content_hash([file]) for file in sorted(_FOLDER.glob("*.csv"))}


def load_reference(connection: duckdb.DuckDBPyConnection) -> None:
    """Load the reference files that have changed, inside the caller's transaction.

    Raises WarehouseError naming file, line and column of the first cell that is wrong.
    """
    wanted, stored = reference_state(), read_state(connection)
    changed = [
        file for file in _files_in_order() if stored.get(_state_name(file)) != wanted[_state_name(file)]
    ]
    for file in changed:
        if file.name in _LOAD_TABLE:
            _load_table(connection, file)
        else:
            _put_list(connection, file.stem, read_items(file, _countries(connection)), source=file.name)
    write_state(connection, {_state_name(file): wanted[_state_name(file)] for file in changed})


def replace_item_list(warehouse: "Warehouse", name: str, rows: Sequence[Item], source: str) -> str:
    """Make `rows` the current version of the item list `name` and return its list_hash; old versions stay.

    source: who fetched it and when, for item_list.source. Raises WarehouseError, and changes nothing, for an
    empty list, an empty or repeated item, or a country that the table `country` lacks.
    """
    if not rows:
        raise WarehouseError(
            f"refused to replace the item list {name!r} by an empty one from {source}: the source has "
            f"probably changed or failed. See what it answered; the present list stays."
        )
    with warehouse.write() as connection:
        check_items(rows, _countries(connection), lambda row: f"item list {name!r} from {source}, row {row}")
        return _put_list(connection, name, rows, source)


def list_hash(items: Sequence[str]) -> str:
    """Identity of a list in any order: 16 hex digits of the SHA-256 of its sorted items, one a line."""
    return sha256("\n".join(sorted(items)).encode()).hexdigest()[:16]


def _files_in_order() -> list[Path]:
    """Tables before item lists, because items are checked against `country`."""
    return sorted(_FOLDER.glob("*.csv"), key=lambda file: (file.name not in _LOAD_TABLE, file.name))


def _load_table(connection: duckdb.DuckDBPyConnection, file: Path) -> None:
    connection.register("incoming", read_table(connection, file, _TABLE[file.name]))
    try:
        connection.execute(_LOAD_TABLE[file.name])
    except duckdb.Error as error:
        raise WarehouseError(f"{file} does not fit the table {_TABLE[file.name]}: {error}.") from error
    finally:
        connection.unregister("incoming")


def _put_list(connection: duckdb.DuckDBPyConnection, name: str, rows: Sequence[Item], source: str) -> str:
    identity = list_hash([row.item for row in rows])
    cells = {column: [getattr(row, column) for row in rows] for column in _ITEM_SCHEMA}
    frame = pl.DataFrame(cells, schema=_ITEM_SCHEMA).with_row_index("position")
    facts = {"list_hash": identity, "item_list": name, "n_items": len(rows), "source": source}
    connection.execute(_PUT_ITEM_LIST, facts | {"loaded_at": datetime.now(UTC).replace(tzinfo=None)})
    connection.execute(_MAKE_CURRENT, {"list_hash": identity, "item_list": name})
    # The hash covers the items' texts alone: their aliases and countries may be corrected under the same
    # hash.
    connection.execute("DELETE FROM item WHERE list_hash = ?", [identity])
    connection.register("incoming", frame)
    connection.execute(_PUT_ITEMS, {"list_hash": identity})
    connection.unregister("incoming")
    return identity


def _countries(connection: duckdb.DuckDBPyConnection) -> frozenset[str]:
    return frozenset(code for (code,) in connection.execute("SELECT country FROM country").fetchall())


def _state_name(file: Path) -> str:
    return f"reference/{file.name}"
