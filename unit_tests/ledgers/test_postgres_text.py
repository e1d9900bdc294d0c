"""Every text comes back from PostgreSQL as it was, and no two are stored alike."""

from hypothesis import example, given
from hypothesis import strategies as st

from langchain_memview.ledgers.postgres_text import restored, stored

TEXTS = st.text(st.sampled_from("a0\\u\x00\n\ud83d\ude00😀é") | st.characters())


@given(TEXTS)
@example("\\0")
@example("\\ud83d")
@example("\ud83d\ude00")
@example("\\\x00\\")
def test_a_text_comes_back_as_it_was_from_what_postgresql_can_store(text: str) -> None:
    kept = stored(text)
    assert "\x00" not in kept
    assert kept.encode("utf-8").decode("utf-8") == kept
    assert restored(kept) == text


@given(st.text(st.characters(exclude_characters="\\\x00", codec="utf-8")))
def test_an_ordinary_text_is_stored_as_it_is(text: str) -> None:
    assert stored(text) == text
