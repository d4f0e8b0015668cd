"""Tells a file system of this machine from a network's, where locks and memory of machines do not meet.

Two writers there can both hold "the" lock, and SQLite's write-ahead log has no shared memory, so a home would
be damaged without an error (``storage.refuse_network``). The list names the file systems of one machine: one
that is not in it counts as a network's, because nobody has shown that it is none.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

LOCAL = frozenset({
    "apfs", "aufs", "bcachefs", "btrfs", "cramfs", "devtmpfs", "ecryptfs", "erofs", "exfat", "ext2", "ext3",
    "ext4", "f2fs", "hfs", "iso9660", "jfs", "lxfs", "msdos", "nilfs2", "ntfs", "ntfs3", "overlay", "ramfs",
    "reiserfs", "rootfs", "squashfs", "tmpfs", "udf", "ufs", "vfat", "wslfs", "xfs", "zfs",
    "fuseblk", "fuse.bindfs", "fuse.cryfs", "fuse.encfs", "fuse.fuse-overlayfs", "fuse.gocryptfs",
    "fuse.squashfuse",
})  # fmt: skip
"""File systems of one machine: disks (``fuseblk`` too), memory, layers of containers, encryption."""


@lru_cache(maxsize=64)
def file_system(folder: Path) -> str:
    """Return the kind of file system that a folder, existing or not, is on; "" if nothing tells it."""
    import psutil  # most commands that only read need none of it

    folder = folder.resolve()
    try:
        mounts = psutil.disk_partitions(all=True)
    except OSError:  # no /proc here
        return ""
    over = [mount for mount in mounts if folder.is_relative_to(mount.mountpoint)]
    # Of several mounts at one place, the last one is seen.
    return max(reversed(over), key=lambda mount: len(mount.mountpoint)).fstype.lower() if over else ""


def is_local(folder: Path) -> bool:
    """Return whether a folder is on a file system of this machine alone."""
    return file_system(folder) in LOCAL | {""}
