"""The error of a store that did not answer, apart from the libraries of a shared one."""

from warehouse.storage import WarehouseError


class StoreAway(WarehouseError):  # noqa: N818 - "raise StoreAway" says it all
    """A server of the store did not answer until patience ran out. Nothing is lost."""
