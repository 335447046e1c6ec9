from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from annotation.core.conversations import Message, Speaker
from judging.core.questions import HistoryTurn
from judging.core.retrieval import ScoringTarget
from judging.core.satisfaction_features import (
    GROUPS,
    NAMES,
    Passage,
    features_of,
    passages,
    session_passages,
)


def value(passage, name):
    return features_of(passage)[NAMES.index(name)]


def passage(asked="ab?", answer="abcd", before=(), task="abc"):
    return Passage("gifts", "s", task, asked, answer, before)


def target(position, response, key="s"):
    return ScoringTarget(f"{key}{position}", key, position, "why", (), response, "task", {})


def rated(response, score, key="s"):
    return HistoryTurn("1", "gifts", "task", "why", response, score, None, key)


def test_every_feature_has_a_name_and_a_group():
    assert len(features_of(passage())) == len(NAMES) == len(GROUPS) == len(set(NAMES))


def test_counts_are_logarithms_and_shares_are_of_bigrams():
    # Bigrams: answer ab bc cd, request ab b?, task ab bc.
    one = passage()
    assert value(one, "request_characters") == 2.0  # log2(1 + 3)
    assert value(one, "takes_up_request") == 0.5
    assert value(one, "covers_task") == 1.0  # both of the smaller set
    assert value(one, "request_questions") == 1.0
    assert value(one, "first") == 1.0
    assert value(one, "new_against_earlier") == 1.0


def test_what_came_before_is_compared():
    one = passage(before=(("ab?", "abcd"),))
    assert value(one, "like_previous") == 1.0
    assert value(one, "new_against_earlier") == 0.0
    assert value(one, "request_repeats") == 1.0
    assert value(one, "longer_than_previous") == 0.0
    assert value(one, "first") == 0.0
    assert value(one, "second") == 1.0


def test_complaints_are_read_from_the_request_in_either_language():
    assert (
        value(passage(asked="不够具体，重新来"), "request_complains") == 1.584962500721156
    )  # log2 3
    assert value(passage(asked="That is WRONG"), "request_complains") == 1.0


def test_only_earlier_turns_of_the_same_session_stand_before():
    found = passages([rated("one", 1), rated("other", 2, key="t"), rated("two", 3)])
    assert [item.before for item in found] == [(), (), (("why", "one"),)]


def test_another_answer_to_the_same_turn_is_no_earlier_turn():
    found = passages([target(0, "one"), target(0, "two"), target(1, "three")], scenario="gifts")
    assert [len(item.before) for item in found] == [0, 0, 2]
    assert {item.scenario for item in found} == {"gifts"}


def test_a_turn_reads_the_same_as_target_and_as_history():
    history = passages([rated("one", 5), rated("two", 1)])
    targets = passages([target(0, "one"), target(1, "two")], scenario="gifts")
    assert history == targets


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=20))
def test_any_text_gives_finite_numbers(asked, answer, task):
    values = features_of(passage(asked=asked, answer=answer, task=task))
    assert all(abs(number) < 1e6 for number in values)


def test_targets_that_bring_what_came_before_them_are_read_alone():
    """Candidates for the first turn are no earlier turns of a candidate for the second."""
    line = (("why", "original"),)
    first = [replace(target(0, text), earlier=()) for text in ("one", "two")]
    second = replace(target(1, "three"), earlier=line)
    found = passages([*first, second], scenario="gifts")
    assert [each.before for each in found] == [(), (), line]
    assert passages([second], scenario="gifts") == found[2:]


USER, ASSISTANT = Speaker.USER, Speaker.ASSISTANT
SAID = (
    Message(Speaker.SYSTEM, "be kind"),
    Message(USER, "a"),
    Message(USER, "b"),
    Message(ASSISTANT, "one"),
    Message(ASSISTANT, ""),
    Message(ASSISTANT, "two"),
    Message(USER, "c"),
    Message(ASSISTANT, "three"),
)


def test_a_session_is_its_last_exchange_after_the_others_in_history_and_as_a_target():
    whole = HistoryTurn("1", "gifts", "task", "a b c", "all", 3, None, "s", SAID)
    asked = replace(target(2, "three"), dialogue=SAID[:-1])
    found = Passage("gifts", "s", "task", "c", "three", (("a\nb", "one"), ("", "two")))
    assert session_passages([whole]) == (found,)
    assert session_passages([asked], scenario="gifts") == (found,)


def test_a_session_that_ends_on_the_user_is_its_last_answered_exchange():
    open_end = replace(target(3, ""), dialogue=(*SAID, Message(USER, "d")))
    (found,) = session_passages([open_end], scenario="gifts")
    assert (found.user_message, found.response) == ("c", "three")
    (empty,) = session_passages([replace(target(0, ""), dialogue=())], scenario="gifts")
    assert (empty.user_message, empty.response, empty.before) == ("", "", ())
