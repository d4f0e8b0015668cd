"""Foods from a JSON export of TasteAtlas that the user has and configures. Opt-in; never shipped."""

NOTICE = (
    "TasteAtlas' pages are rendered by script and its terms may not allow programs to collect them, so this "
    "project does not. Configure a JSON export or an endpoint that you are allowed to use. What it yields is "
    "for your own use: do not publish it."
)
