"""A store that machines share: published files and parts are objects on S3, all that changes is in Postgres.

Its two libraries are the extra `shared`; no other module of the warehouse imports them.
"""

from warehouse.storage import WarehouseError

try:
    from warehouse.shared.store import SharedStore
except ImportError as error:
    raise WarehouseError(
        f"CULTUREMETER_WAREHOUSE names a shared store, and a library for it is missing ({error.name}): "
        "pip install '.[shared]' in a checkout"
    ) from error

__all__ = ["SharedStore"]
