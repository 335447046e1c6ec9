"""Datasets that the application made stand in a group of their own wherever one is chosen."""

from __future__ import annotations

import pytest

from annotation.core.dataset_names import BUILT_IN_PAIRS, candidates_slug
from tests.factory import make_dataset, make_scenario, make_user
from tests.judging.study import make_pair

pytestmark = pytest.mark.django_db

PAGES = [
    "/runs/new/",
    "/studies/new/",
    "/trust/?dataset=people",
    "/leaderboard/?dataset=people",
    "/trust/injections/new/",
]


@pytest.mark.parametrize("address", PAGES)
def test_derived_datasets_are_grouped_apart(client, address):
    for slug in (BUILT_IN_PAIRS, "people", candidates_slug("people-v1", 7)):
        make_pair(make_scenario(make_dataset(slug=slug, name=slug)))
    client.force_login(make_user(role="MANAGER"))
    page = client.get(address, follow=True).content.decode()
    own, group = page.split('<optgroup label="Derived datasets">')
    assert 'value="people"' in own
    assert 'value="people"' not in group
    assert group.index(BUILT_IN_PAIRS) > 0
    assert candidates_slug("people-v1", 7) in group.partition("</optgroup>")[0]
