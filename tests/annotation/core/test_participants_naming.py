from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from annotation.core.participants import (
    imported_study_slug,
    natural_key,
    rater_username,
    study_name,
)

SLUGS = st.text(st.sampled_from("abcABC019-_"), min_size=1, max_size=80)


def test_raters_carry_their_dataset():
    assert rater_username("pandalm", "annotator1") == "pandalm:annotator1"


@given(SLUGS, SLUGS)
def test_an_imported_study_goes_by_its_own_name_again(dataset, name):
    slug = imported_study_slug(dataset, name)
    assert len(slug) <= 80
    assert study_name(dataset, slug, name) == name


def test_a_study_of_this_site_goes_by_its_short_name():
    assert study_name("pandalm", "pilot", "The pilot study") == "pilot"


def test_long_names_stay_apart():
    names = {imported_study_slug("d" * 60, "s" * 40 + end) for end in "ab"}
    assert len(names) == 2


def test_numbers_in_names_count():
    names = ["User_10", "User_2", "2", "10", "a", "User_", "²"]
    assert sorted(names, key=natural_key) == ["2", "10", "User_", "User_2", "User_10", "a", "²"]
