"""The file of a suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from parley.sdk.definitions.suite_file import read_suite_file
from parley.sdk.definitions.yaml import UnreadableFile


def test_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text("name: Shop\nscript: {suite: {id: shop}, target: {type: process}}\n")
    told = {"suite": {"id": "shop"}, "target": {"type": "process"}}
    assert read_suite_file(path) == {"name": "Shop", "script": told}


@pytest.mark.parametrize("text", ["- Shop", "cases: []", "name: 7", "name: [", "name: &a x\nb: *a"])
def test_what_is_no_suite_is_told_with_the_files_name(text: str, tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(text)
    with pytest.raises(UnreadableFile, match=r"shop\.yaml"):
        read_suite_file(path)
    with pytest.raises(UnreadableFile, match="cannot be read"):
        read_suite_file(tmp_path / "missing.yaml")
