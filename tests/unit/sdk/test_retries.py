from hypothesis import given
from hypothesis import strategies as st

from parley.sdk.retries import RetryPolicy, may_repeat, retry_after_s

POLICY = RetryPolicy(retries=3, base_s=1, longest_s=4, longest_asked_s=60)


@given(retry=st.integers(1, 9), chance=st.floats(0, 1))
def test_waits_grow_within_their_bounds_and_end(retry: int, chance: float) -> None:
    wait = POLICY.wait_s(retry, chance)
    if retry > 3:
        assert wait is None
    else:
        full = min(2 ** (retry - 1), 4)
        assert wait is not None
        assert full / 2 <= wait <= full


def test_what_the_service_asks_for_is_honoured_up_to_a_bound() -> None:
    assert POLICY.wait_s(1, 0, 17.0) == 17
    assert POLICY.wait_s(1, 0, 0.0) == 0
    assert POLICY.wait_s(1, 0, 61.0) is None
    assert POLICY.wait_s(4, 0, 1.0) is None


def test_only_answers_that_did_nothing_are_repeated_for_every_call() -> None:
    assert [status for status in range(200, 600) if may_repeat(status, is_repeatable=False)] == [429, 503]
    assert [status for status in range(200, 600) if may_repeat(status, is_repeatable=True)] == [
        408,
        429,
        500,
        502,
        503,
        504,
    ]


def test_retry_after_is_read_in_both_forms() -> None:
    assert retry_after_s("12", 0) == 12
    assert retry_after_s("Thu, 01 Jan 1970 00:02:00 GMT", 100) == 20
    assert retry_after_s("Thu, 01 Jan 1970 00:00:00 GMT", 100) == 0
    for nonsense in (None, "", "soon", "-5", "inf", "1e9"):
        assert retry_after_s(nonsense, 0) is None
