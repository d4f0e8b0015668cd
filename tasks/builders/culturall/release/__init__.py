"""Stage 4: labels and translations, checks, review by people, and published versions with their card."""
