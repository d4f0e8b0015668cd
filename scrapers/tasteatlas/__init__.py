"""Foods from the user's JSON export of TasteAtlas. Opt-in; none are shipped."""

NOTICE = (
    "TasteAtlas' pages are rendered by script and its terms may not allow programs to collect them, so this "
    "project does not. Configure a JSON export or an endpoint that you are allowed to use. The results are "
    "for your own use: do not publish them."
)
