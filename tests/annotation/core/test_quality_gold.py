from __future__ import annotations

from itertools import permutations

from annotation.core.quality import PRECEDENCE, holding
from annotation.models import GoldSource


def test_a_manager_overrules_adjudication_and_that_the_dataset():
    said = [(1, "DATASET", "A"), (1, "ADJUDICATION", "B"), (1, "MANAGER", "TIE")]
    for order in permutations(said):
        assert holding(order) == {1: "TIE"}
    assert holding(said[:2]) == {1: "B"}


def test_every_item_has_its_own_answer():
    assert holding([(1, "DATASET", 4), (2, "ADJUDICATION", 2)]) == {1: 4, 2: 2}
    assert holding([]) == {}


def test_every_source_has_a_rank():
    assert set(PRECEDENCE) == set(GoldSource.values)
