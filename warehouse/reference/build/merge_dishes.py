"""Build item_list/dishes.csv from the regional lists that the authors wrote by hand.

Each input has the header `name,aliases,countries,ingredients`; the inputs themselves are not
kept in the repository. Letter case, diacritics and punctuation do not matter. The script

1. joins rows of the same name (if the marks differ, "Pâte" and "Pâté", they must share a
   country);
2. joins a row whose alias is the name of another row, when they share a country. When they
   share none the alias is taken off and reported: it names something else there;
3. writes every ingredient in the one form that `dish_ingredients.csv` gives it;
4. drops country codes outside the 170, and a row that had codes but keeps none. A row whose
   countries were empty from the start (a food of the whole world, or of a country that is not
   among the 170) shares a country with every other row and stays.

Names are never joined for looking alike: a person joins them in the inputs, or lists the pair
in `dish_pairs_kept.csv` with the reason why the two are different. Nothing is written while a
pair of names with a similarity of at least `SIMILAR` is in neither, a name or alias is on two
rows, or a name is too long or has odd characters. Add `-v` to see the joined rows and the pairs
with a similarity of at least `REVIEW`.

Run: python merge_dishes.py [-v] REGIONAL_LIST.csv ...   (after countries.py)
"""

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from rapidfuzz import fuzz, process
from tables import BUILD, Row, country_codes, fold, join, read_table, split, write_table

COLUMNS = ["name", "aliases", "countries", "ingredients"]
SIMILAR = 95
REVIEW = 88
LONGEST = 45
ODD = re.compile(r"[^\w\s.'’ʼ–-]|_")

Pair = tuple[int, int]


@dataclass
class Dish:
    """One dish: how often each spelling was the name, and what else is known of it."""

    names: Counter[str]
    aliases: set[str] = field(default_factory=set)
    countries: set[str] = field(default_factory=set)
    ingredients: list[str] = field(default_factory=list)

    @property
    def item(self) -> str:
        """The most frequent name; of equally frequent ones the first."""
        return self.names.most_common(1)[0][0]

    def shares_country(self, other: "Dish") -> bool:
        """Say whether both may be one dish; no countries means the whole world."""
        if not self.countries or not other.countries:
            return True
        return bool(self.countries & other.countries)


def read(paths: Iterable[Path]) -> list[Dish]:
    """Return the rows of all inputs in order; a malformed input is an error."""
    dishes = []
    for path in paths:
        rows = read_table(path)
        if not rows or list(rows[0])[: len(COLUMNS)] != COLUMNS:
            raise SystemExit(f"{path}: expected the header {','.join(COLUMNS)}")
        for number, row in enumerate(rows, start=1):
            if len(row) != len(COLUMNS) or None in row.values() or not fold(row["name"]):
                raise SystemExit(f"{path}, row {number}: expected {len(COLUMNS)} cells and a name")
            dishes.append(
                Dish(
                    Counter([" ".join(row["name"].split())]),
                    {" ".join(alias.split()) for alias in split(row["aliases"])},
                    {code.upper() for code in split(row["countries"])},
                    [" ".join(value.lower().split()) for value in split(row["ingredients"])],
                )
            )
        print(f"{len(rows):6} rows in {path.name}")
    return dishes


def unify_ingredients(dishes: list[Dish]) -> None:
    """Write every ingredient in its one form and print how many there are before and after."""
    form = {row["variant"]: row["ingredient"] for row in read_table(BUILD / "dish_ingredients.csv")}
    before = {value for dish in dishes for value in dish.ingredients}
    for dish in dishes:
        dish.ingredients = list(dict.fromkeys(form.get(value, value) for value in dish.ingredients))
    after = {value for dish in dishes for value in dish.ingredients}
    print(f"ingredients: {len(before)} before, {len(after)} after one form each")
    if unused := sorted(set(form) - before):
        print("  variants that no input has:", ", ".join(unused))
    if chained := sorted(set(form) & set(form.values())):
        raise SystemExit(f"dish_ingredients.csv: both a variant and a form: {', '.join(chained)}")


def joined(dishes: list[Dish], pairs: Iterable[Pair], verbose: bool) -> list[Dish]:
    """Return the dishes with each linked group as one; the widest-spread one leads a group."""
    leader = list(range(len(dishes)))
    for pair in pairs:
        one, other = (leader[index] for index in pair)
        leader = [one if index == other else index for index in leader] if one != other else leader
    groups: dict[int, list[Dish]] = defaultdict(list)
    for index, dish in zip(leader, dishes, strict=True):
        groups[index].append(dish)
    result = []
    for group in groups.values():
        group.sort(key=lambda dish: -len(dish.countries))
        whole = Dish(Counter())
        for dish in group:
            whole.names.update(dish.names)
            whole.aliases |= dish.aliases
            whole.countries |= dish.countries
            whole.ingredients = whole.ingredients or dish.ingredients
        result.append(whole)
        if verbose and len(group) > 1:
            print("  joined:", " + ".join(dish.item for dish in group))
    return result


def same_name(dishes: list[Dish]) -> list[Pair]:
    """Return the pairs with an equal name, or one that differs in its marks only (rule 1)."""
    known: dict[str, list[int]] = defaultdict(list)
    pairs = []
    for i, dish in enumerate(dishes):
        earlier = known[fold(dish.item)]
        for other in earlier:
            if dish.item == dishes[other].item or dish.shares_country(dishes[other]):
                pairs.append((other, i))
        earlier.append(i)
    return pairs


def same_alias(dishes: list[Dish]) -> list[Pair]:
    """Return the pairs where an alias of one is the name of the other; drop false aliases."""
    by_name = {fold(name): i for i, dish in enumerate(dishes) for name in dish.names}
    pairs = []
    for i, dish in enumerate(dishes):
        for alias in sorted(dish.aliases):
            other = by_name.get(fold(alias), i)
            if dish.shares_country(dishes[other]):
                pairs.append((other, i))
            else:
                dish.aliases.discard(alias)
                print(
                    f"  alias {alias!r} taken off {dish.item}: it is a dish of", join(dishes[other].countries)
                )
    return pairs


def to_rows(dishes: list[Dish]) -> list[Row]:
    """Return the rows to write; count the country codes and rows that are dropped."""
    ours = set(country_codes())
    unknown: Counter[str] = Counter()
    rows = []
    for dish in dishes:
        kept = dish.countries & ours
        unknown.update(dish.countries - ours)
        if dish.countries and not kept:
            print(f"  dropped, no country of the 170: {dish.item} ({join(dish.countries)})")
            continue
        aliases = join((set(dish.names) | dish.aliases) - {dish.item})
        row = {"item": dish.item, "aliases": aliases, "countries": join(kept)}
        rows.append(row | {"ingredients": "|".join(dish.ingredients)})
    print("codes dropped:", dict(sorted(unknown.items())) or "none")
    return sorted(rows, key=lambda row: (row["item"].casefold(), row["item"]))


def alike(rows: list[Row]) -> list[tuple[float, str, str]]:
    """Return the pairs of names with a similarity of at least `REVIEW` that are not reviewed."""
    kept = {frozenset((row["one"], row["other"])) for row in read_table(BUILD / "dish_pairs_kept.csv")}
    left = {row["item"]: fold(row["item"]) for row in rows}
    found = []
    for one in list(left):
        name = left.pop(one)
        matches = process.extract(name, left, scorer=fuzz.ratio, score_cutoff=REVIEW, limit=None)
        found += [(score, one, other) for _, score, other in matches]
    pairs = {frozenset(pair[1:]) for pair in found}
    for gone in sorted(sorted(pair) for pair in kept - pairs):
        print("  reviewed, but no such pair:", " <> ".join(gone))
    return sorted(pair for pair in found if frozenset(pair[1:]) not in kept)


def problems(rows: list[Row]) -> list[str]:
    """Return what is wrong with the names and aliases: one line each."""
    wrong = []
    owner: dict[str, str] = {}
    for row in rows:
        if len(row["item"]) > LONGEST or ODD.search(row["item"]):
            wrong.append(f"too long or odd characters: {row['item']}")
        for spelling in (row["item"], *split(row["aliases"])):
            other = owner.setdefault(fold(spelling), row["item"])
            if other != row["item"]:
                wrong.append(f"{spelling!r} names both {other} and {row['item']}")
    items = Counter(fold(row["item"]) for row in rows)
    wrong += [f"on two rows: {name}" for name, count in items.items() if count > 1]
    return wrong


def report(rows: list[Row]) -> None:
    """Print the totals."""
    per_country = Counter(code for row in rows for code in split(row["countries"]))
    least = sorted((per_country[code], code) for code in country_codes())
    single = sum(len(split(row["countries"])) == 1 and bool(row["ingredients"]) for row in rows)
    used = {value for row in rows for value in split(row["ingredients"])}
    print(f"single-origin with ingredients: {single}")
    print(f"no country (world, or outside the 170): {sum(not row['countries'] for row in rows)}")
    print(f"different ingredients: {len(used)}")
    print("fewest dishes:", ", ".join(f"{code} {count}" for count, code in least[:10]))


def main(arguments: list[str]) -> None:
    """Write item_list/dishes.csv from the inputs named on the command line."""
    verbose = "-v" in arguments
    dishes = read(Path(name) for name in arguments if name != "-v")
    total = len(dishes)
    unify_ingredients(dishes)
    for step in (same_name, same_alias):
        dishes = joined(dishes, step(dishes), verbose)
    rows = to_rows(dishes)
    wrong = problems(rows)
    for score, one, other in alike(rows):
        if score >= SIMILAR:
            wrong.append(f"join or add to dish_pairs_kept.csv ({score:.0f}): {one} <> {other}")
        elif verbose:
            print(f"  review ({score:.0f}): {one} <> {other}")
    report(rows)
    if wrong:
        raise SystemExit("\n".join(["not written:", *wrong]))
    written = write_table("item_list/dishes.csv", ["item", "aliases", "countries", "ingredients"], rows)
    print(f"item_list/dishes.csv: {written} distinct items from {total} rows")


if __name__ == "__main__":
    main(sys.argv[1:])
