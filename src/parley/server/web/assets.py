"""The dashboard's files, read once, each with its pressed twin, under an address that changes with them.

Everything is served from `/static/<version>/`, where the version is a hash over all files: a browser may keep
a file for good, and never mixes files of two releases. There is no build step: what is written is served, the
styles as one sheet, and `early.js` within the page, as a first view would wait for each of these files.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import mimetypes
import posixpath
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "static"
PREFIX: Final = "/static"
IMPORTS: Final = {
    "htm": "vendor/htm.js",
    "preact": "vendor/preact.js",
    "preact/hooks": "vendor/preact-hooks.js",
    "@preact/signals": "vendor/preact-signals.js",
    "@preact/signals-core": "vendor/signals-core.js",
    "uplot": "vendor/uplot.js",
}
"""What modules may import by name."""
ENTRY: Final = "app.js"
ROUTES: Final = "routes.js"
EARLY: Final = "early.js"
SHEET: Final = "styles.css"
FIRST_STYLES: Final = ("styles/tokens.css", "styles/base.css", "styles/components.css", "vendor/uplot.css")
"""In this order; the styles of single pages follow in the order of their names."""

_SERVED = (".js", ".css", ".svg")
_SMALLEST_PRESSED = 200
"""Bytes under which pressing gains nothing."""
_ROUTE = re.compile(r"""\["([^"]+)", \(\) => import\("\./([^"]+)"\)\]""")
_IMPORTED = re.compile(r"""\b(?:import|export)\b(?:[\w*$\s{},]*?\bfrom)?\s*["']([^"']+)["']""")


@dataclass(frozen=True)
class Asset:
    """One file as it is served."""

    path: str
    """Within the folder, with slashes."""
    content: bytes = field(repr=False)

    @cached_property
    def pressed(self) -> bytes | None:
        """The content under gzip; None where that is not smaller."""
        if len(self.content) < _SMALLEST_PRESSED:
            return None
        pressed = gzip.compress(self.content, 9, mtime=0)
        return pressed if len(pressed) < len(self.content) else None

    @cached_property
    def etag(self) -> str:
        """The strong validator of the plain content."""
        return f'"{hashlib.sha256(self.content).hexdigest()[:32]}"'

    @property
    def media_type(self) -> str:
        """With the charset that texts need."""
        kind = "text/javascript" if self.path.endswith(".js") else mimetypes.guess_type(self.path)[0]
        return f"{kind}; charset=utf-8"


class Assets:
    """All files of a folder."""

    def __init__(self, folder: Path = FOLDER) -> None:
        """Read them. Files of other kinds than scripts, styles and drawings are not served."""
        found = [path for path in sorted(folder.rglob("*")) if path.suffix in _SERVED]
        files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
        self._early = files.pop(EARLY).decode()
        sheets = {path: files.pop(path) for path in list(files) if path.endswith(".css")}
        files[SHEET] = b"\n".join(sheets[path] for path in sorted(sheets, key=_place_of_sheet))
        self._assets = {path: Asset(path, content) for path, content in files.items()}
        self._shell = (folder / "index.html").read_text(encoding="utf-8")
        self._pages: dict[str | None, Asset] = {}

    def find(self, path: str) -> Asset | None:
        """The file at this path, which is compared and never opened."""
        return self._assets.get(path)

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path, in order."""
        return tuple(self._assets)

    @cached_property
    def version(self) -> str:
        """A hash over names and contents."""
        whole = hashlib.sha256(self._shell.encode() + b"\0" + self._early.encode())
        for asset in self._assets.values():
            whole.update(asset.path.encode() + b"\0" + asset.content + b"\0")
        return whole.hexdigest()[:16]

    def address(self, path: str) -> str:
        """Where a file is served. Raises KeyError for one that is not there."""
        return f"{PREFIX}/{self.version}/{self._assets[path].path}"

    @cached_property
    def import_map(self) -> str:
        """The import map's text; the page's policy names its hash."""
        return json.dumps({"imports": {name: self.address(path) for name, path in IMPORTS.items()}})

    def page_at(self, address: str) -> Asset:
        """The one page as it is served at an address, with all that the first view there needs."""
        module = self._module_at(address)
        if module not in self._pages:
            self._pages[module] = Asset("index.html", self._filled(module))
        return self._pages[module]

    def _filled(self, module: str | None) -> bytes:
        # What a page imports is named here, so that no module waits for the one that asks for it.
        modules = dict.fromkeys([*self.needed_by(ENTRY), *(self.needed_by(module) if module else ())])
        links = [_link("stylesheet", self.address(SHEET))]
        links += [_link("modulepreload", self.address(path)) for path in modules]
        filled = (
            self._shell.replace("<!-- links -->", "\n    ".join(links))
            .replace("<!-- import map -->", f'<script type="importmap">{self.import_map}</script>')
            .replace("<!-- early -->", f"<script>{self._early}</script>")
            .replace("{static}", f"{PREFIX}/{self.version}")
        )
        return filled.encode()

    def _module_at(self, address: str) -> str | None:
        """The module that routes name for an address; None where they name none."""
        return next((module for pattern, module in self._routes if _leads_to(pattern, address)), None)

    @cached_property
    def _routes(self) -> list[tuple[str, str]]:
        return _ROUTE.findall(self._assets[ROUTES].content.decode())

    @cached_property
    def policy(self) -> str:
        """The page's content security policy: our own files, the two inline scripts, nothing else, no markup
        from texts."""
        inline = " ".join(map(_hash_source, (self.import_map, self._early)))
        return "; ".join(
            (
                "default-src 'none'",
                f"script-src 'self' {inline}",
                "style-src 'self'",
                "img-src 'self' data:",
                "connect-src 'self'",
                "base-uri 'none'",
                "form-action 'none'",
                "frame-ancestors 'none'",
                "require-trusted-types-for 'script'",
                "trusted-types 'none'",
            )
        )

    def needed_by(self, path: str) -> list[str]:
        """The modules that a module imports, and those that they import, itself first."""
        needed = [path]
        for module in needed:
            needed += [found for found in self._imports_of(module) if found not in needed]
        return needed

    def _imports_of(self, path: str) -> list[str]:
        names = dict.fromkeys(_IMPORTED.findall(self._assets[path].content.decode()))
        here = posixpath.dirname(path)
        return [
            posixpath.normpath(posixpath.join(here, name)) if name.startswith(".") else IMPORTS[name]
            for name in names
        ]


def _leads_to(pattern: str, address: str) -> bool:
    """Whether an address is one of a pattern, whose parts after a colon stand for any."""
    wanted, given = pattern.strip("/").split("/"), address.strip("/").split("/")
    return len(wanted) == len(given) and all(
        part == other or part.startswith(":") for part, other in zip(wanted, given, strict=True)
    )


def _place_of_sheet(path: str) -> tuple[int, str]:
    """Tokens and plain elements before what builds on them, then the pages by name."""
    return (FIRST_STYLES.index(path) if path in FIRST_STYLES else len(FIRST_STYLES), path)


def _hash_source(text: str) -> str:
    """How a policy names an inline script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _link(relation: str, address: str) -> str:
    return f'<link rel="{relation}" href="{address}" />'
