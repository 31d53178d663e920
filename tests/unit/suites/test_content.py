"""What a suite holds, as it is stored."""

from __future__ import annotations

from parley.server.kit.ids import new_id
from parley.server.suites.content import Content, read, simulated, written


def test_content_is_read_as_it_was_written_and_split_in_order() -> None:
    tests = [new_id() for _ in range(3)]
    splits: tuple[list[str], ...] = (["smoke", "smoke", "nightly"], [], ["nightly"])
    content = Content(
        description="What has to hold.",
        simulated=tuple(simulated(*one) for one in zip(tests, splits, strict=True)),
        defaults={"repetitions": 3},
    )
    assert read(written(content)) == content
    assert content.splits == ["smoke", "nightly"]
    assert [index for index, _ in content.of_split("nightly")] == [0, 2]
    assert [case.test_id for _, case in content.of_split(None)] == tests
    assert content.of_split("unknown") == []
