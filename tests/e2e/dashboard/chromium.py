"""The system's Chromium, and how tests and measurements start it."""

from __future__ import annotations

import os
import shutil
from typing import Final

_WITHOUT = (
    # The popups of the address bar are pages, and drawn anew for each tab.
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    # These are Playwright's own, whose place the flag takes.
    "AimEnabled",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
)
FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    f"--disable-features={','.join(_WITHOUT)}",
)


def chromium() -> str | None:
    """Where Chromium is: on the path, or where `PARLEY_TEST_CHROMIUM` says; None if nowhere."""
    given = os.environ.get("PARLEY_TEST_CHROMIUM")
    return given or shutil.which("chromium") or shutil.which("chromium-browser")
