"""Another user for Postgres, which refuses to run as root."""

from __future__ import annotations

import ctypes
import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from parley.server.ops.local.errors import LocalStackError

_PR_SET_SECUREBITS = 28
_NO_SETUID_FIXUP = 1 << 2
"""Keeps capabilities over `setuid`, and counts them in `access(2)`, by which Postgres finds its files."""
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_RAISE = 2
_CAP_DAC_OVERRIDE = 1
_CAPABILITY_VERSION_3 = 0x20080522
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherUser:
    """Whom a child becomes before it runs its program.

    With `keep_access` it keeps the one right to pass folders closed to it (Linux only): a checkout
    below /root, or in a private temporary folder, stays usable without being opened to everyone.
    """

    uid: int
    gid: int
    keep_access: bool = False

    def become(self) -> None:
        """Change the calling process, for good. Runs in the forked child, before exec."""
        if self.keep_access:
            _checked(_libc.prctl(_PR_SET_SECUREBITS, _NO_SETUID_FIXUP, 0, 0, 0))
        os.setgroups([])
        os.setgid(self.gid)
        os.setuid(self.uid)
        if self.keep_access:
            _keep_one_capability()


def user_for_postgres(data: Path, *needed: Path) -> OtherUser | None:
    """Whom Postgres runs as: the owner of existing `data`, else `postgres` or `nobody`; None if not root.

    `needed` are programs and folders it has to reach. Raises `LocalStackError` when there is no such user.
    """
    if os.geteuid() != 0:
        return None
    account = _owner(data) or _account("postgres") or _account("nobody")
    if account is None:
        raise LocalStackError(
            "PostgreSQL does not run as root and there is no user 'postgres' or 'nobody'; "
            "run the local stack as an ordinary user."
        )
    uid, gid = account
    reachable = all(_can_pass(path, uid, gid) for path in (data, *needed))
    return OtherUser(uid=uid, gid=gid, keep_access=not reachable)


def private_folder(path: Path) -> Path:
    """Make `path` (and what is above it) with mode 0700, or 0711 as root, whose children change user."""
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(0o711 if os.geteuid() == 0 else 0o700)
    return path


def _owner(data: Path) -> tuple[int, int] | None:
    try:
        found = data.stat()
    except FileNotFoundError:
        return None
    return (found.st_uid, found.st_gid) if found.st_uid != 0 else None


def _account(name: str) -> tuple[int, int] | None:
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        return None
    return found.pw_uid, found.pw_gid


def _can_pass(path: Path, uid: int, gid: int) -> bool:
    """Whether every folder above `path`, links included, lets the user through (plain modes; no ACLs)."""
    for folder in {*path.absolute().parents, *path.resolve().parents}:
        try:
            found = folder.stat()
        except FileNotFoundError:
            continue
        needed = stat.S_IXOTH
        if found.st_uid == uid:
            needed = stat.S_IXUSR
        elif found.st_gid == gid:
            needed = stat.S_IXGRP
        if not found.st_mode & needed:
            return False
    return True


def _keep_one_capability() -> None:
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    mask = 1 << _CAP_DAC_OVERRIDE
    # Effective, permitted and inheritable, lower and upper half.
    sets = (ctypes.c_uint32 * 6)(mask, mask, mask, 0, 0, 0)
    _checked(_libc.capset(header, sets))
    _checked(_libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _CAP_DAC_OVERRIDE, 0, 0))


def _checked(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
