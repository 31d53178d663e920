"""Where the service is, and with which key to speak to it.

In this order: what is passed; `PARLEY_URL` and `PARLEY_API_KEY`; the config file; the local stack's
`.parley/dev.json`. A key that was written down beside an address is sent to that address alone.
"""

from __future__ import annotations

import ipaddress
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from parley.sdk.errors import NotConfigured

URL, KEY, FILE = "PARLEY_URL", "PARLEY_API_KEY", "PARLEY_CONFIG"
DEV_FILE = Path(".parley/dev.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """An address without a slash at its end, a key, and where they were found."""

    url: str
    api_key: str = field(repr=False)
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    url: str
    api_key: str
    source: str


def find_connection(
    url: str | None = None,
    api_key: str | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Connection:
    """The connection to use; the search for a local stack begins in `folder`. Raises `NotConfigured`."""
    environment = os.environ if environment is None else environment
    named = _named(url, api_key, environment)
    if named.url and named.api_key:
        return _checked(named)
    written = _config_file(environment)
    if written is not None:
        return _checked(_completed(named, written))
    local = None if named.url or named.api_key else _local_stack(folder or Path.cwd())
    if local is not None:
        return _checked(local)
    raise NotConfigured(_missing(named))


def _named(url: str | None, api_key: str | None, environment: Mapping[str, str]) -> _Found:
    return _Found(
        url=(url or environment.get(URL, "")).strip(),
        api_key=(api_key or environment.get(KEY, "")).strip(),
        source=f"{URL} and {KEY}",
    )


def _completed(named: _Found, written: _Found) -> _Found:
    """What was named goes first. A written key belongs to the written address and goes nowhere else."""
    if named.url and not named.api_key and _bare(named.url) != _bare(written.url):
        raise NotConfigured(
            f"{named.url} is another service than the one in {written.source}; set {KEY} for it."
        )
    return _Found(
        url=named.url or written.url, api_key=named.api_key or written.api_key, source=written.source
    )


def _config_file(environment: Mapping[str, str]) -> _Found | None:
    """The config file's words; None without one. One that is named has to be there."""
    import tomllib

    path = _config_path(environment)
    try:
        content = tomllib.loads(path.read_text())
    except FileNotFoundError:
        if environment.get(FILE):
            raise NotConfigured(f"{FILE} names {path}, which does not exist.") from None
        return None
    except (OSError, ValueError) as error:
        raise NotConfigured(f"{path} cannot be read: {error}.") from error
    strange = sorted(set(content) - {"url", "api_key"})
    if strange:
        raise NotConfigured(f"{path} may hold url and api_key, not {', '.join(strange)}.")
    return _Found(url=_text(content, "url"), api_key=_text(content, "api_key"), source=str(path))


def _config_path(environment: Mapping[str, str]) -> Path:
    if environment.get(FILE):
        return Path(environment[FILE])
    base = environment.get("XDG_CONFIG_HOME") or Path(environment.get("HOME", "~")).expanduser() / ".config"
    return Path(base) / "parley" / "config.toml"


def _local_stack(folder: Path) -> _Found | None:
    """What a local stack wrote in this folder or one above. Files of other people are passed over."""
    for place in (folder, *folder.parents):
        path = place / DEV_FILE
        try:
            if not _is_ours(path):
                continue
            content = json.loads(path.read_text())
        except (OSError, ValueError):
            continue
        url = _text(content, "url")
        if _is_loopback(url):
            return _Found(url=url, api_key=_text(content, "private_key"), source=str(path))
    return None


def _is_ours(path: Path) -> bool:
    """Whether this user wrote the file; taken for granted where users have no numbers."""
    return not hasattr(os, "getuid") or path.stat().st_uid == os.getuid()


def _is_loopback(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _text(content: Any, name: str) -> str:
    value = content.get(name, "") if isinstance(content, dict) else ""
    return value.strip() if isinstance(value, str) else ""


def _checked(found: _Found) -> Connection:
    if not found.url or not found.api_key:
        raise NotConfigured(_missing(found))
    if not _is_usable(found.url):
        raise NotConfigured(
            f"The address {found.url!r} has to be like https://parley.example, without a user or a query."
        )
    if not found.api_key.isascii() or not found.api_key.isprintable() or " " in found.api_key:
        raise NotConfigured(f"The key from {found.source} holds characters that no key has.")
    return Connection(url=_bare(found.url), api_key=found.api_key, source=found.source)


def _is_usable(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    extras = (parts.username, parts.password, parts.query, parts.fragment)
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not any(extras)


def _bare(url: str) -> str:
    return url.rstrip("/")


def _missing(found: _Found) -> str:
    wanted = [name for name, value in ((URL, found.url), (KEY, found.api_key)) if not value]
    return (
        f"Set {' and '.join(wanted)} (or url and api_key in ~/.config/parley/config.toml). "
        "For a service on this machine run `parley dev` in this folder."
    )
