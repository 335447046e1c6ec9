from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from annotation.core.conversations import Speaker
from annotation.core.formats.chat import SpokenMessage, turns_of

MESSAGES = st.lists(
    st.builds(
        SpokenMessage, st.sampled_from([Speaker.USER, Speaker.ASSISTANT]), st.text(max_size=5)
    )
)


@given(MESSAGES)
def test_turns_say_the_same_messages_in_the_same_order(messages):
    said: list[tuple[Speaker, str | None]] = []
    for turn in turns_of(messages):
        if turn.user_message is not None:
            said.append((Speaker.USER, turn.user_message))
        said.extend((Speaker.ASSISTANT, response.text) for response in turn.responses)
    assert said == [(message.role, message.text) for message in messages]


@given(MESSAGES)
def test_every_turn_has_at_most_one_response_and_it_is_the_original(messages):
    for number, turn in enumerate(turns_of(messages)):
        assert [response.key for response in turn.responses] in ([], [str(number)])
        assert all(response.original for response in turn.responses)
        assert turn.user_message is not None or turn.responses
