"""The overlap bench: what an annotator of a quarter of the pairs has to learn from."""

from __future__ import annotations

import pytest

from sensejudge_site import benches
from sensejudge_site.benches import overlap


@pytest.fixture(scope="module")
def figures():
    return {each.name: each.value for each in benches.run("overlap", {"seeds": 1}).figures}


def test_a_split_among_their_own_gives_every_annotator_ten(figures):
    assert (figures["pairs"], figures["annotators"], figures["studies"]) == (400, 4, 1)
    # Of 25 labels in 100 pairs a draw of ten holds 2.5, but for ties.
    assert 1.5 < figures["dev_before_mean"] < 3
    assert figures["dev_before_fewest"] < 2
    assert 9 < figures["dev_after_mean"] <= figures["dev_after_most"] == 10


def test_the_judges_are_measured_on_what_their_annotator_did_not_label(figures):
    for persona in overlap.ANNOTATORS:
        name = persona.name
        assert 200 < figures[f"{name}_comparisons"] <= 300
        gained = figures[f"{name}_stand_in_percent"] - figures[f"{name}_base_percent"]
        assert figures[f"{name}_gain_percent"] == pytest.approx(gained)
    assert figures["concise_gain_low_percent"] > 10


def test_equal_seeds_give_equal_pairs():
    assert list(overlap._pairs("QA", 0)) == list(overlap._pairs("QA", 0))
