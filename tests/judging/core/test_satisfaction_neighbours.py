import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from annotation.core.conversations import Message, Speaker
from judging.core.questions import HistoryTurn
from judging.core.retrieval import ScoringTarget
from judging.core.satisfaction_features import passage_text
from judging.core.satisfaction_neighbours import TurnSpace


def target(request, response):
    return ScoringTarget("t", "s", 0, request, (Message(Speaker.USER, request),), response, "", {})


def turn(name, request, response="Yes."):
    return HistoryTurn(name, "travel", "", request, response, 4, None)


HISTORY = (
    turn("train", "Which train goes to Rome?", "The night train."),
    turn("soup", "How do I cook soup?", "Boil water."),
    turn("rome", "What is there to see in Rome?", "The Forum."),
    turn("again", "How do I cook soup?", "Boil water."),
    turn("maths", "Solve this equation.", "x = 2."),
)


def nearest_turns(targets, history, **more):
    return TurnSpace(targets, history).nearest(targets, history, **more)


def names(found):
    return [turn.turn_id for turn in found]


def test_the_most_alike_come_first_and_of_equals_the_earlier_one():
    (found,) = nearest_turns([target("How to cook a soup?", "Boil it.")], HISTORY, k=2)
    assert names(found) == ["soup", "again"]
    (found,) = nearest_turns([target("A train to Rome?", "By night.")], HISTORY)
    assert len(found) == 4
    assert names(found)[:2] == ["train", "rome"]


def test_each_target_has_its_own_and_a_short_history_is_shown_whole():
    both = nearest_turns([target("Soup?", "Hot."), target("Rome?", "Old.")], HISTORY[:3], k=4)
    assert [names(found)[0] for found in both] == ["soup", "rome"]
    assert all(len(found) == 3 for found in both)


def test_without_history_targets_or_words_there_is_nothing_to_compare():
    assert nearest_turns([target("a", "b")], ()) == ((),)
    assert nearest_turns([], HISTORY) == ()
    blank = (turn("one", " ", ""), turn("two", "", " "))
    assert [names(found) for found in nearest_turns([target("a", "b")], blank, k=1)] == [["one"]]
    found = nearest_turns([target(" ", ""), target("", "")], blank, k=1)
    assert [names(one) for one in found] == [["one"], ["one"]]


def test_a_space_holds_the_turns_that_it_was_made_of():
    asked = [target("Soup?", "Hot.")]
    space = TurnSpace(asked, HISTORY[:3])
    assert space.holds(asked)
    assert space.holds(HISTORY[1:4])  # the fourth says the same as the second
    assert not space.holds(HISTORY)


WORDS = st.lists(
    st.sampled_from(["soup", "train", "Rome", "night", "x", "汤", "火车", " "]), max_size=6
)
SAID = st.builds(lambda request, said: (" ".join(request), " ".join(said)), WORDS, WORDS)


@given(st.lists(SAID, min_size=1, max_size=4), st.lists(SAID, min_size=1, max_size=8))
def test_it_is_the_vectorizer_of_scikit_learn_fitted_on_the_history(asked, known):
    targets = [target(*said) for said in asked]
    history = [turn(str(at), *said) for at, said in enumerate(known)]
    theirs = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True)
    try:
        fitted = theirs.fit_transform(passage_text(*said) for said in known)
    except ValueError:
        assume(False)  # noqa: FBT003 - of hypothesis
    cosine = (theirs.transform(passage_text(*said) for said in asked) @ fitted.T).toarray()
    expected = np.argsort(-np.round(cosine, 12), axis=1, kind="stable")[:, :4]
    elsewhere = [turn("other", "What else is there?", "Nothing of this user.")]
    found = TurnSpace(elsewhere, targets, history).nearest(targets, history)
    assert [names(one) for one in found] == [[str(at) for at in row] for row in expected]
