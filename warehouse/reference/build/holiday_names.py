"""Build item_list/holidays.csv: the world's distinct holidays, from the PyPI package `holidays`.

It reads the days of every country and territory of the package, with all subdivisions and
categories, in `YEARS`, takes the English name of each day and

1. splits days that have several holidays, and cuts words about the day that do not belong to the
   holiday: "(observed)", "Day off for ...", "Monday following ...", "... Joint Holiday";
2. drops names that nobody would call a holiday: generic ones ("Public Holiday"), school breaks,
   elections, funerals and other events of one year (each with its reason in the count);
3. merges spellings of one name (case, punctuation, "Labour"/"Labor", a final "Day") and the
   pairs in holiday_merges.csv; the spelling of most countries becomes the item;
4. drops holidays that none of the 170 countries has observed in `SINCE` or later: they were
   abolished, or only a territory or a smaller state has them.

`countries` are those of the 170 that have observed the holiday in `SINCE` or later.

Run: python holiday_names.py
"""

import re
import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import holidays
from tables import BUILD, Row, country_codes, fold, join, read_table, write_table

YEARS = range(1980, 2031)
SINCE = 2020
LONGEST = 70

SEPARATOR = re.compile(r"; | / ")

# Words around the name of a holiday that are not part of it.
DECORATION = re.compile(
    r"\s*\([^)]*\)|\s*\[[^]]*\]"
    r"|^(the )?(first |second )?(working day|weekday|day|monday|friday)"
    r" (after|before|following|preceding) (the )?"
    r"|^the (second|third|fourth|fifth) day of (the )?"
    r"|^(second|third|fourth|fifth|sixth) day of (?=lunar)|^29 of "
    r"|^(day off|alternative holiday|bridge holiday|compensatory rest day) for (the )?"
    r"| (joint|extended) holiday$|(?<=day) holiday$| day transfer$"
    r"|(?<=eid al-fitr) second day$"
    r"| - (100th anniversary|last lap)$|, (day of|the|anniversary|patron|robe|svenska)\b.*$"
    r"|^solemnity of |^late (?!summer)",
    re.IGNORECASE,
)

# Reason -> names that are dropped, searched anywhere in the cleaned name.
DROPPED = {
    "generic": r"^(half-day )?(additional|special|temporary|declared|bridge|substitute|public"
    r"|bank|official|state|national|may|new year)( special| public| bank| sector)* holidays?$"
    r"|^(additional|pre-holiday|day off|squeeze day|lao year-end)\b|public holiday|^official hol"
    r"|replacement|in-lieu|closing day|decree"
    r"|^(non-working|government|festival|happy|big) (day|holiday)$|^post |^1st octave$",
    "school break": r"\b(break|school|term \d)\b",
    "election or census": r"\b(elections?|by-elections|polling|census)\b",
    "event of one time": r"\b(funeral|burial|mourning (day )?for|memorial service|visit|lockdown"
    r"|inauguration (ceremony|day)|summit|jubilee|wedding|marriage|enthronement|y2k|world cup"
    r"|afcon|african cup|iihf|malaysia cup|sea games|canonization|beatification|bicentenary"
    r"|centenary|centennial|millennium|installation of the \d+th|cremation|proclamation ceremony"
    r"|song and dance celebration|coronation of charles|return from medical|sg50)\b"
    r"|\b\d+(st|nd|rd|th) anniversary\b",
}

# Words that do not distinguish two holidays, and spellings of one word.
FILLER = {"the", "of", "and", "for", "a", "day", "holiday", "feast"}
# (Japan's Culture Day and Costa Rica's Cultures Day are two holidays.)
SAME_WORD = {"labour": "labor", "st": "saint"}
PLURAL = re.compile(r"(?<=\w{3})(?<!culture)s$")


@dataclass
class Observed:
    """Countries and years in which a cleaned name is observed."""

    last_year: dict[str, int] = field(default_factory=dict)
    years: set[int] = field(default_factory=set)
    raw: set[str] = field(default_factory=set)


def clean(name: str) -> str:
    """Return the name of the holiday without its decorations."""
    previous = ""
    while previous != name:
        previous, name = name, DECORATION.sub("", name).replace("’", "'").strip(" -")
    return name[:1].upper() + name[1:]


def collect() -> dict[str, Observed]:
    """Return every cleaned name in the package, with its countries and years."""
    warnings.simplefilter("ignore")
    observed: dict[str, Observed] = defaultdict(Observed)
    for code in sorted(holidays.list_supported_countries(include_aliases=False)):
        entity = getattr(holidays, code)
        language = "en_US" if "en_US" in entity.supported_languages else None
        for subdivision in (None, *entity.subdivisions):
            days = holidays.country_holidays(
                code,
                subdiv=subdivision,
                years=YEARS,
                language=language,
                categories=entity.supported_categories,
            )
            for day, names in days.items():
                for raw in SEPARATOR.split(names):
                    entry = observed[clean(raw)]
                    entry.last_year[code] = max(day.year, entry.last_year.get(code, 0))
                    entry.years.add(day.year)
                    entry.raw.add(raw)
    return observed


def reason_to_drop(name: str, entry: Observed) -> str:
    """Return why a name is dropped, or an empty string."""
    for reason, pattern in DROPPED.items():
        if re.search(pattern, name, re.IGNORECASE):
            return reason
    if len(entry.years) == 1:
        return "observed in one year only"
    return "longer than a name" if len(name) > LONGEST else ""


def key(name: str) -> str:
    """Return a key that spellings of one holiday share: its distinguishing words, sorted."""
    words = [PLURAL.sub("", word) for word in fold(name).split()]
    words = [SAME_WORD.get(word, word) for word in words]
    distinguishing = set(words) - FILLER
    return " ".join(sorted(distinguishing or set(words)))


def merge(observed: dict[str, Observed]) -> list[Row]:
    """Group the spellings of each holiday and return one row for each group."""
    codes = set(country_codes())
    chosen = {key(line["name"]): line["item"] for line in read_table(BUILD / "holiday_merges.csv")}
    groups: dict[str, list[str]] = defaultdict(list)
    for name in observed:
        groups[key(chosen.get(key(name), name))].append(name)
    rows = []
    for names in groups.values():
        names.sort(
            key=lambda name: (-len(observed[name].last_year), -len(observed[name].raw), name.swapcase())
        )
        last_years = [pair for name in names for pair in observed[name].last_year.items()]
        observers = {code for code, year in last_years if year >= SINCE}
        item = next((chosen[key(name)] for name in names if key(name) in chosen), names[0])
        rows.append(
            {
                "item": item,
                "aliases": join(set(names) - {item}),
                "countries": join(observers & codes),
            }
        )
    return rows


def main() -> None:
    """Write item_list/holidays.csv."""
    observed = collect()
    dropped = {name: reason_to_drop(name, entry) for name, entry in observed.items()}
    entries = {name: entry for name, entry in observed.items() if not dropped[name]}
    for reason, count in sorted(Counter(dropped.values()).items()):
        print(f"{count:5} names {'dropped: ' + reason if reason else 'kept'}")
    merged = merge(entries)
    rows = [entry for entry in merged if entry["countries"]]
    print(f"{len(entries) - len(merged):5} spellings merged")
    print(f"{len(merged) - len(rows):5} holidays dropped: observed in none of the 170 since {SINCE}")
    missing = set(country_codes()) - {code for r in rows for code in r["countries"].split("|")}
    print("countries without a holiday:", join(missing) or "none")
    columns = ["item", "aliases", "countries"]
    print("holidays:", write_table("item_list/holidays.csv", columns, rows), "rows")


if __name__ == "__main__":
    main()
