from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.core.conversations import choose_model

NONE: dict[int, int] = {}


def choose(candidates, *, person=NONE, task=NONE, study=NONE, seed=0):
    return choose_model(
        candidates, by_participant=person, by_task=task, in_study=study, random=Random(seed)
    )


def test_the_participants_own_count_comes_first():
    assert choose([1, 2], person={1: 1}, task={2: 9}, study={2: 99}) == 2


def test_then_the_tasks_then_the_studys():
    assert choose([1, 2], person={1: 1, 2: 1}, task={1: 1}, study={2: 99}) == 2
    assert choose([1, 2], person={1: 1, 2: 1}, study={1: 3, 2: 2}) == 2


def test_a_draw_is_seeded_and_reaches_every_model():
    assert choose([1, 2, 3], seed=5) == choose([3, 2, 1], seed=5)
    assert {choose([1, 2, 3], seed=seed) for seed in range(30)} == {1, 2, 3}


def test_without_a_model_there_is_no_choice():
    with pytest.raises(ValueError, match="no model"):
        choose([])


@given(
    models=st.integers(1, 5),
    turns=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), max_size=60),
    seed=st.integers(0, 99),
)
def test_a_participants_counts_never_differ_by_more_than_one(models, turns, seed):
    candidates = list(range(models))
    people = {person: Counter(dict.fromkeys(candidates, 0)) for person in range(5)}
    tasks = {task: Counter() for task in range(7)}
    study: Counter[int] = Counter()
    random = Random(seed)
    for person, task in turns:
        chosen = choose_model(
            candidates,
            by_participant=people[person],
            by_task=tasks[task],
            in_study=study,
            random=random,
        )
        for counts in (people[person], tasks[task], study):
            counts[chosen] += 1
        assert max(people[person].values()) - min(people[person].values()) <= 1
