from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfTransformer

from judging.core.satisfaction_features import SIZE, counted, passage_text, text_space

TEXTS = ["旅行计划 two days", "two days in 北京", "a two day plan", "计划 a lamp"]


def test_vectors_are_those_of_scikit_learn_where_nothing_is_rare():
    # Every text three times: each pair occurs in at least MIN_TEXTS texts.
    counts = counted(TEXTS * 3)
    expected = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    found = text_space(counts).vectors(counts)
    assert abs(found - expected).max() < 1e-12


def test_pairs_of_few_texts_weigh_nothing():
    space = text_space(counted(["aa", "aa", "aa", "zz"]))
    norms = np.asarray(space.vectors(counted(["aa", "zz"])).sum(axis=1)).ravel()
    assert norms[0] > 0
    assert norms[1] == 0


def test_no_text_gives_no_row():
    assert counted([]).shape == (0, SIZE)


def test_the_request_stands_twice_and_a_long_response_is_cut():
    assert passage_text("ab", "x" * 5_000) == "ab ab " + "x" * 3_000


@pytest.mark.parametrize("text", ["", " "])
def test_an_empty_text_is_a_vector_of_zeros(text):
    space = text_space(counted(TEXTS))
    assert space.vectors(counted([text])).nnz == 0
