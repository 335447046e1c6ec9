from __future__ import annotations

import pytest

from annotation.core.dataset_names import BUILT_IN_PAIRS, candidates_slug, is_derived, split_derived


@pytest.mark.parametrize(
    ("slug", "derived"),
    [
        (BUILT_IN_PAIRS, True),
        (candidates_slug("support-v1", 12), True),
        ("support-v1", False),
        ("candidates-3-of-may", False),
        ("my-candidates-list", False),
    ],
)
def test_what_the_application_made_is_known_by_its_name(slug, derived):
    assert is_derived(slug) is derived


def test_derived_datasets_are_kept_apart_in_their_order():
    names = [("b", "B"), (BUILT_IN_PAIRS, "Pairs"), ("a", "A"), ("a-candidates-1", "C")]
    own, derived = split_derived(names)
    assert own == [("b", "B"), ("a", "A")]
    assert derived == [(BUILT_IN_PAIRS, "Pairs"), ("a-candidates-1", "C")]
