"""Topic patterns against a second reading of the rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.bus.routing import matches

WORDS = st.lists(st.sampled_from(["a", "b", "", "a.b", "+"]), max_size=5).map(".".join)
PATTERNS = st.lists(st.sampled_from(["a", "b", "", "*", "#", "+"]), max_size=5).map(".".join)


def by_words(pattern: list[str], key: list[str]) -> bool:
    if not pattern:
        return not key
    if pattern[0] == "#":
        return any(by_words(pattern[1:], key[skipped:]) for skipped in range(len(key) + 1))
    return bool(key) and pattern[0] in {"*", key[0]} and by_words(pattern[1:], key[1:])


@given(PATTERNS, WORDS)
def test_topic_is_word_by_word(pattern: str, key: str) -> None:
    words = [text.split(".") if text else [] for text in (pattern, key)]
    assert matches("topic", pattern, key) is by_words(*words)


@pytest.mark.parametrize(("pattern", "key", "expected"), [("a", "a", True), ("*", "a", False), ("#", "#", True)])
def test_direct_is_equality(pattern: str, key: str, expected: bool) -> None:  # noqa: FBT001
    assert matches("direct", pattern, key) is expected
