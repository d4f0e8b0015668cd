"""The lists of languages and holidays follow their rules; languages of countries match known facts."""

from __future__ import annotations

from warehouse import Warehouse

RULE = """
WITH national AS (
    SELECT DISTINCT language FROM country_language WHERE status IN ('official', 'de_facto_official')
)
SELECT language AS code, list_sort(list(country)) AS countries FROM country_language
WHERE status IS NOT NULL OR percent >= 10 OR language NOT IN (FROM national)
GROUP BY language ORDER BY language
"""

# Languages that must be among a country's, and some (-) that must not, by the authors' knowledge; nobody from
# the countries has checked them.
KNOWN = {
    "IN": "Hindi Bengali Telugu Marathi Tamil Gujarati Urdu Kannada Odia Malayalam Assamese Bodo -Chinese",
    "ZA": "English Zulu Xhosa Afrikaans Sotho Tswana Tsonga Swazi Venda -Hindi -Portuguese",
    "TR": "Turkish Kurdish Zaza -Greek",
    "PH": "Filipino English Cebuano Ilocano Hiligaynon Waray -Spanish",
    "CD": "French Lingala Swahili Kongo Luba-Lulua -English",
    "CG": "French Lingala -English",
    "CN": "Chinese Cantonese Uyghur Tibetan Mongolian Zhuang -Japanese",
    "RU": "Russian Tatar Bashkir Chechen Chuvash Yakut -German",
    "PK": "Urdu Punjabi Sindhi Pashto Saraiki English -Chinese",
    "BD": "Bengali Sylheti -Hindi",
    "LK": "Sinhala Tamil -Hindi",
    "NP": "Nepali Maithili Bhojpuri Tamang -Chinese",
    "AF": "Persian Pashto Uzbek Turkmen -Russian",
    "IR": "Persian Azerbaijani Kurdish Gilaki -Turkish",
    "IQ": "Arabic Kurdish -Turkish",
    "SY": "Arabic Kurdish -Hebrew",
    "IL": "Hebrew Arabic -Turkish",
    "EG": "Arabic -Coptic -Hebrew",
    "MA": "Arabic Tachelhit -German",
    "DZ": "Arabic Kabyle French -Spanish",
    "ET": "Amharic Oromo Somali Tigrinya Afar -French",
    "KE": "Swahili English Kikuyu Luo -French",
    "TZ": "Swahili English -Portuguese",
    "RW": "Kinyarwanda English French Swahili -Spanish",
    "NG": "English Hausa Yoruba Igbo Fula Kanuri -French",
    "GH": "English Akan Ewe Dagbani -Portuguese",
    "SN": "French Wolof Serer Fula -Spanish",
    "ZW": "English Shona Venda Tswana -French",
    "ES": "Spanish Catalan Galician Basque -German",
    "FR": "French Occitan -Portuguese -Arabic",
    "DE": "German -Turkish -Russian",
    "IT": "Italian Sardinian German -Spanish",
    "CH": "German French Italian Romansh -Spanish",
    "GB": "English Welsh Irish -Polish",
    "FI": "Finnish Swedish -Russian",
    "US": "English Spanish Hawaiian -Chinese",
    "CA": "English French Inuktitut -Spanish",
    "MX": "Spanish Nahuatl -Portuguese",
    "PE": "Spanish Quechua Aymara -Portuguese",
    "BO": "Spanish Quechua Aymara Guarani -Portuguese",
    "PY": "Spanish Guarani -German",
    "BR": "Portuguese -Spanish",
    "ID": "Indonesian Javanese Sundanese -Dutch",
    "JP": "Japanese -Chinese",
    "NZ": "English Māori -French",
}


def test_the_list_of_languages_follows_its_rule(warehouse: Warehouse) -> None:
    listed = "SELECT code, countries FROM current_item WHERE item_list = 'languages' ORDER BY code"
    assert warehouse.query(listed).rows() == warehouse.query(RULE).rows()


def test_shares_below_one_percent_need_a_status(warehouse: Warehouse) -> None:
    assert warehouse.query("FROM country_language WHERE percent < 1 AND status IS NULL").is_empty()
    without = "SELECT country FROM country WHERE country NOT IN (SELECT country FROM country_language)"
    assert warehouse.query(without).is_empty()


def test_well_known_languages_are_listed_and_foreign_ones_are_not(warehouse: Warehouse) -> None:
    query = "SELECT unnest(countries), item FROM current_item WHERE item_list = 'languages'"
    listed: dict[str, set[str]] = {}
    for country, item in warehouse.query(query).rows():
        listed.setdefault(country, set()).add(item)
    assert len(KNOWN) >= 40
    for country, text in KNOWN.items():
        names = set(text.split())
        foreign = {name for name in names if name.startswith("-")}
        assert names - foreign <= listed[country], country
        assert not {name[1:] for name in foreign} & listed[country], country


def test_each_holiday_has_one_name_and_at_least_one_country(warehouse: Warehouse) -> None:
    rows = warehouse.query(
        "SELECT item, aliases, countries FROM current_item WHERE item_list = 'holidays'"
    ).rows()
    assert not [item for item, _, countries in rows if not countries]
    names = [name for item, aliases, _ in rows for name in {n.casefold() for n in (item, *aliases)}]
    assert len(names) == len(set(names))
    owner = {name: item for item, aliases, _ in rows for name in (item, *aliases)}
    for one, others in {
        "Labor Day": ("Labour Day", "May Day", "Workers' Day", "International Workers' Day"),
        "King's Birthday": ("Queen's Birthday", "Sovereign's Birthday"),
        "Vesak": ("Buddha Purnima", "The Buddha's Birthday", "Visakha Bucha"),
        "International Women's Day": ("Women's Day",),
        "Boxing Day": ("Saint Stephen's Day", "Second Day of Christmas"),
    }.items():
        assert {owner[other] for other in others} == {one}
