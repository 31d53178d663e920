"""Every acceptance case of the finished areas is named by a test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

CASES = {
    "simulated user": "C001 C003 C006 C008 C010 C012 C013 C016 C017 C018 C019 C022 C023 C024",
    "judge": "C025 C026 C028 C030 C033 C034 C037 C038 C041 C042 C045 C046 C047",
    "streams of llms": "C048 C051 C052 C053 C054 C055 C057 C059 C061 C062 C064 C065 C067 C070 C071 C073 C075"
    " C076 C077 C078 C082 C083 C086 C087",
    "event streams": "C088 C091 C093 C094 C095 C096 C097 C100 C101",
    "calls to customers": "C102 C104 C106 C108 C109 C111 C112 C113 C115 C119 C122 C125 C126"
    " C127 C128 C129 C130",
    "schedules": "C131 C132 C136 C137 C138 C140 C142 C143 C145 C147 C148 C149",
    "accounts": "C181 C182 C184 C185 C186 C188 C189 C193 C195 C196 C197 C199",
    "workers": "C151 C155 C156 C158 C159 C160 C163 C164 C165 C167 C168",
    "database": "C169 C171 C173 C174 C176 C178 C179",
    "gate": "C201 C203 C205 C207 C208 C210 C211",
}


@pytest.fixture(scope="module")
def named() -> set[str]:
    found: set[str] = set()
    for path in TESTS.rglob("*.py"):
        if path != Path(__file__):
            found.update(re.findall(r"\bC\d{3}\b", path.read_text()))
    return found


@pytest.mark.parametrize("area", CASES)
def test_every_case_of_an_area_is_named_by_a_test(area: str, named: set[str]) -> None:
    missing = sorted(set(CASES[area].split()) - named)
    assert not missing, f"no test names {', '.join(missing)}"
