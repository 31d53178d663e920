"""One page of the dashboard as a test uses it: opened, signed in to, listened to, looked at by axe."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from axe_playwright_python.base import AXE_FILE_PATH  # type: ignore[import-untyped]
from playwright.async_api import ConsoleMessage, Page

WIDE: Final = (1280, 860)
NARROW: Final = (390, 844)
LOOKS: Final[tuple[tuple[Literal["light", "dark"], tuple[int, int]], ...]] = (
    ("light", WIDE),
    ("dark", NARROW),
)
"""What axe looks at. Themes differ in colours and widths in places, neither in elements: two looks see both
themes and both widths."""

_AXE = Path(AXE_FILE_PATH).read_text()
_RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],
}
_OWN = {"Sec-Fetch-Site": "same-origin", "X-Parley-Client": "dashboard"}
_OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@dataclass
class Seen:
    """One page of the dashboard, and everything it complained of."""

    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Listen to it."""
        self.page.set_default_timeout(30_000)
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    async def open(self, path: str) -> None:
        """Go to an address, as by typing it."""
        await self.page.goto(self.url + path)

    async def sign_in(self, key: str) -> None:
        """Give the browser a session of this key, as its page for signing in does; nothing is opened."""
        answer = await self.page.context.request.post(
            f"{self.url}/api/v1/session", data={"key": key}, headers=_OWN
        )
        assert answer.status == 201, await answer.text()

    async def heading(self, text: str | re.Pattern[str]) -> None:
        """Wait for the page with this heading."""
        await self.page.get_by_role("heading", level=1, name=text).wait_for()

    async def looks_accessible(self) -> None:
        """Ask axe in both themes and both widths, and see that nothing has to be scrolled sideways."""
        for scheme, (width, height) in LOOKS:
            await self.page.emulate_media(color_scheme=scheme)
            await self.page.set_viewport_size({"width": width, "height": height})
            where = f"{self.page.url} {scheme} {width}"
            assert await self.faults() == [], where
            assert await self.page.evaluate(_OVERFLOW) <= 0, where
        await self.page.emulate_media(color_scheme="light")
        await self.page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})

    async def faults(self) -> list[str]:
        """What axe finds on the page as it is."""
        if not await self.page.evaluate("'axe' in window"):
            # Through the debugger, because the page's own policy lets no script in.
            await self.page.evaluate(_AXE + "\n;0")
        found = await self.page.evaluate("rules => axe.run(document, rules)", _RULES)
        return [
            f"{one['id']}: {node['html'][:160]} - {node['failureSummary'][:300]}"
            for one in found["violations"]
            for node in one["nodes"]
        ]

    def _note(self, message: ConsoleMessage) -> None:
        # A refused request is told by the page itself.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)
