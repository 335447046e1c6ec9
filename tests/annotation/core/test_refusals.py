from __future__ import annotations

from http import HTTPStatus

import pytest

from annotation.core.refusals import (
    REFUSAL_TEXTS,
    Refused,
    gettext_noop,
    register,
    status_of,
    text_of,
)


@pytest.mark.parametrize("text", REFUSAL_TEXTS.values())
def test_a_text_is_a_sentence(text):
    assert text[0].isupper()
    assert text.endswith(".")


def test_a_refusal_says_its_detail_or_its_faults_or_its_sentence():
    sentence = REFUSAL_TEXTS["dataset:unknown"]
    assert str(Refused("dataset:unknown")) == sentence
    assert str(Refused("dataset:unknown", faults=["one", "two"])) == "one; two"
    assert str(Refused("dataset:unknown", "no dataset x", faults=["one"])) == "no dataset x"
    refused = Refused("dataset:unknown", "no dataset x", name="x")
    assert (refused.text, refused.status) == (sentence, HTTPStatus.NOT_FOUND)
    assert (refused.code, refused.values) == ("dataset:unknown", {"name": "x"})


def test_a_sentence_has_its_values_in_the_words_of_the_reader():
    words = {"name:x": "Nom : %(name)s.", "tie": "égalité"}
    refused = Refused("name:x", name="tie", count=3)
    assert refused.sentence(lambda text: words.get(text, text)) == "Nom : égalité."
    assert Refused("name:x").sentence(str.upper) == "NAME:X"
    assert Refused("name:x", name="").sentence(lambda text: words[text]) == "Nom : ."


def test_a_code_without_a_text_stands_for_itself():
    assert text_of("no:such-code") == "no:such-code"
    assert status_of("no:such-code") == HTTPStatus.CONFLICT
    assert gettext_noop("same") == "same"


@pytest.mark.parametrize(
    ("texts", "statuses"),
    [
        ({"dataset:unknown": "Another sentence."}, None),
        ({}, {"no:such-code": HTTPStatus.GONE}),
    ],
    ids=["twice", "a status without a text"],
)
def test_a_code_has_one_text(texts, statuses):
    with pytest.raises(ValueError, match="registered twice or without a text"):
        register(texts, statuses=statuses)
