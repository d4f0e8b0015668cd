"""Two lists of the English Wikipedia (CC BY-SA 4.0): circulating currencies and major religious groups."""

CURRENCIES_URL = "https://en.wikipedia.org/wiki/List_of_circulating_currencies"
RELIGIONS_URL = "https://en.wikipedia.org/wiki/Major_religious_groups"
