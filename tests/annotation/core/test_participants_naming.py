from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from annotation.core.participants import (
    composed,
    folded,
    has_unseen,
    imported_study_slug,
    natural_key,
    rater_name,
    rater_username,
    study_name,
)

SLUGS = st.text(st.sampled_from("abcABC019-_"), min_size=1, max_size=80)


def test_raters_carry_their_dataset():
    assert rater_username("pandalm", "annotator1") == "pandalm:annotator1"


@given(st.text(max_size=8))
def test_a_stored_name_is_stored_as_it_is(name):
    stored = rater_name(name)
    assert rater_name(stored) == stored == composed(stored)
    assert stored == stored.strip()


def test_spellings_of_one_name_are_told_by_their_unicode_form():
    assert folded("李雷（二组）") == folded("李雷(二组)")
    assert folded("Ａｎｎ") == folded("Ann") == "Ann"
    assert folded("Ann") != folded("ann")


def test_characters_that_nobody_sees_are_told():
    assert [has_unseen(name) for name in ("", "Ann", "a\u200bb", "\u200d")] == [
        False,
        False,
        True,
        True,
    ]


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
