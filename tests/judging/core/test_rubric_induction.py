import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.core.rubrics import chunks, drawn, read_phrases
from tests.refusals import refuses


def test_few_turns_are_all_taken_and_many_are_drawn_by_seed_in_their_order():
    assert drawn([3, 1, 2], most=3) == [3, 1, 2]
    # random.Random(42).sample(range(10), 4) is 1, 0, 4, 9.
    assert drawn(list("abcdefghij"), most=4) == ["a", "b", "e", "j"]
    assert drawn(list(range(400))) == drawn(list(range(400)))
    assert len(drawn(list(range(400)))) == 150


@given(st.lists(st.integers(), max_size=60), st.integers(1, 40), st.integers())
def test_what_is_drawn_stands_in_order_and_is_never_more(turns, most, seed):
    numbered = list(enumerate(turns))
    found = drawn(numbered, most=most, seed=seed)
    assert len(found) == min(most, len(turns))
    assert found == sorted(set(found))


@pytest.mark.parametrize(("turns", "parts"), [(0, 0), (1, 1), (26, 1), (27, 2), (52, 2), (150, 6)])
def test_the_reasons_of_26_turns_make_a_chunk(turns, parts):
    assert chunks(turns) == parts


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ('{"rubrics": ["a", "b"]}', ("a", "b")),
        ('Here:\n```json\n{"rubrics": [" a  b ", "a b", ""]}\n```', ("a b",)),
        ('{"rubrics": ["old"]} {"rubrics": ["new"]}', ("new",)),
        ("{“rubrics”: [“好”]}", ("好",)),
    ],
)
def test_sentences_are_read_each_once(reply, found):
    assert read_phrases(reply) == found


def test_no_sentence_is_endless():
    reply = json.dumps({"rubrics": ["x" * 900, "b"]})
    assert read_phrases(reply) == ("x" * 400, "b")


@pytest.mark.parametrize(
    "reply",
    ["", "a, b", '{"rubrics": []}', '{"rubrics": [" "]}', '{"rubrics": "a"}', '{"rubrics": [1]}'],
)
def test_a_reply_without_sentences_has_none(reply):
    with refuses("rubrics:unparseable") as caught:
        read_phrases(reply)
    assert caught.value.code == "rubrics:unparseable"
