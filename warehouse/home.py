"""Where a warehouse lives, and the error that everything in this package raises: what all modules need."""

import os
from pathlib import Path

__all__ = ["WarehouseError", "home"]

_CHECKOUT = Path(__file__).resolve().parent.parent


class WarehouseError(RuntimeError):
    """Something is wrong with the warehouse; the message says what, where and what to do next."""


def home() -> Path:
    """The warehouse's folder, created if missing: $CULTURESCOPE_HOME, else `.culturescope` in the checkout.

    Raises WarehouseError if the folder cannot be created.
    """
    folder = Path(os.environ.get("CULTURESCOPE_HOME") or _CHECKOUT / ".culturescope").expanduser().resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WarehouseError(
            f"cannot create the warehouse folder {folder}: {error}. Set CULTURESCOPE_HOME to a folder that "
            f"you may write to."
        ) from error
    return folder
