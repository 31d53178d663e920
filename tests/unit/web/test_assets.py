"""The dashboard's files: addresses, hashes, policy, size."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from parley.server.web.assets import ENTRY, FIRST_STYLES, FOLDER, IMPORTS, SHEET, Assets

VENDOR: list[dict[str, Any]] = json.loads((FOLDER / "vendor" / "VENDOR.json").read_text())
HEAVIEST = 150_000
"""Bytes of one page, compressed (product promise)."""


@pytest.fixture(scope="module")
def assets() -> Assets:
    return Assets()


@pytest.mark.parametrize("entry", VENDOR, ids=lambda entry: entry["file"])
def test_code_of_others_is_as_it_was_shipped(entry: dict[str, Any]) -> None:
    content = (FOLDER / "vendor" / entry["file"]).read_bytes()
    assert hashlib.sha256(content).hexdigest() == entry["sha256"]
    assert re.fullmatch(r"[0-9a-f]{64}", entry["tarball_sha256"])
    assert entry["version"] in entry["tarball"]
    assert (FOLDER / "vendor" / entry["licence_file"]).read_text().strip()


def test_every_file_of_others_is_accounted_for() -> None:
    kept = {path.name for path in (FOLDER / "vendor").iterdir()}
    known = {entry["file"] for entry in VENDOR} | {entry["licence_file"] for entry in VENDOR}
    assert kept - known == {"VENDOR.json", "README.md"}


def modules(assets: Assets) -> list[str]:
    return [path for path in assets.paths if path.endswith(".js")]


def test_every_import_leads_to_a_file(assets: Assets) -> None:
    for path in modules(assets):
        for needed in assets.needed_by(path):
            assert assets.find(needed) is not None, f"{path} -> {needed}"


def test_every_page_that_routes_name_is_there(assets: Assets) -> None:
    routes = (FOLDER / "routes.js").read_text()
    named = set(re.findall(r'import\("\./([^"]+)"\)', routes))
    assert named == {path for path in assets.paths if path.startswith("pages/")}


def test_no_file_of_ours_reaches_for_another_server_or_for_markup(assets: Assets) -> None:
    for path in assets.paths:
        if path.startswith("vendor/"):
            continue
        content = assets.find(path).content.decode()  # type: ignore[union-attr]
        foreign = [
            url
            for url in re.findall(r"https?://\w[^\s\"'`<)]+", content)
            if url != "https://..." and "www.w3.org" not in url
        ]
        assert foreign == [], path
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", content), (
            path
        )


def test_version_changes_with_any_file(tmp_path: Path) -> None:
    def version(**files: str) -> str:
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        return Assets(tmp_path).version

    for name in ("index.html", "app.js", "early.js"):
        (tmp_path / name).write_text("1")
    first = Assets(tmp_path).version
    assert version(**{"app.js": "2"}) != first
    assert version(**{"app.js": "1"}) == first
    assert version(**{"index.html": "2"}) != first
    assert version(**{"index.html": "1", "early.js": "2"}) != first
    assert version(**{"early.js": "1", "b.js": ""}) != first


def test_only_scripts_styles_and_drawings_are_served(assets: Assets) -> None:
    assert {Path(path).suffix for path in assets.paths} == {".js", ".css", ".svg"}
    for path in (
        "index.html",
        "early.js",
        "styles/base.css",
        "vendor/VENDOR.json",
        "../assets.py",
        "/etc/passwd",
        "",
    ):
        assert assets.find(path) is None


def test_sheet_holds_every_style_the_plain_ones_first(assets: Assets) -> None:
    sheet = assets.find(SHEET)
    assert sheet is not None
    text = sheet.content.decode()
    places = [text.index((FOLDER / path).read_text().strip()) for path in FIRST_STYLES]
    assert places == sorted(places)
    for path in (FOLDER / "styles" / "pages").iterdir():
        assert text.index(path.read_text().strip()) > places[-1]


def test_page_names_what_its_policy_admits(assets: Assets) -> None:
    page = assets.page_at("/tests").content.decode()
    inline = re.findall(r"<script(?: type=\"importmap\")?>(.*?)</script>", page, flags=re.DOTALL)
    for script in inline:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in assets.policy
    assert len(inline) == assets.policy.count("'sha256-") == 2
    assert json.loads(inline[0])["imports"].keys() == IMPORTS.keys()
    assert "unsafe" not in assets.policy
    assert page.index("importmap") < page.index("modulepreload")
    assert "{static}" not in page
    assert "<!--" not in page
    for address in re.findall(r'(?:href|src)="(/static/[^"]+)"', page):
        assert assets.find(address.split("/", 3)[3]) is not None, address


@pytest.mark.parametrize(
    ("address", "module"),
    [
        ("/", "overview"),
        ("/tests/new", "test_edit"),
        ("/tests/01890a5d/", "test"),
        ("/tests/01890a5d/runs/01890a5d", "run"),
        ("/account/keys", "account_keys"),
    ],
)
def test_page_names_the_modules_of_its_address_and_of_no_other(
    assets: Assets, address: str, module: str
) -> None:
    page = assets.page_at(address).content.decode()
    named = re.findall(r'"modulepreload" href="/static/[^/]+/(.+?)"', page)
    assert set(named) == {*assets.needed_by(ENTRY), *assets.needed_by(f"pages/{module}.js")}
    assert len(named) == len(set(named))


def test_every_route_is_read_from_the_file(assets: Assets) -> None:
    patterns = re.findall(r"^  \[\"(.+?)\",", (FOLDER / "routes.js").read_text(), flags=re.MULTILINE)
    assert len(patterns) > 10
    for pattern in patterns:
        address = pattern.replace(":", "")
        assert "/pages/" in re.sub(r"styles/pages/", "", assets.page_at(address).content.decode()), pattern


def test_unknown_address_names_the_frame_alone(assets: Assets) -> None:
    page = assets.page_at("/nowhere").content.decode()
    assert "/pages/" not in re.sub(r"styles/pages/", "", page)


def test_pressed_twins_hold_the_same(assets: Assets) -> None:
    for path in assets.paths:
        asset = assets.find(path)
        assert asset is not None
        if asset.pressed is not None:
            assert gzip.decompress(asset.pressed) == asset.content
            assert len(asset.pressed) < len(asset.content)


def test_no_page_is_heavier_than_promised(assets: Assets) -> None:
    def weight(paths: set[str]) -> int:
        found = [assets.find(path) for path in paths]
        return sum(len(one.pressed or one.content) for one in found if one is not None)

    frame = {*assets.needed_by(ENTRY), SHEET, "icon.svg"}
    charts = {"vendor/uplot.js"}
    for page in (path for path in assets.paths if path.startswith("pages/")):
        assert weight(frame | charts | set(assets.needed_by(page))) < HEAVIEST, page
