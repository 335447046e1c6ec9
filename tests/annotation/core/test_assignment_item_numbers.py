from itertools import pairwise

import pytest

from annotation.core.assignment import LIMIT, hidden, revealed

KEY = b"a key"


@pytest.mark.parametrize("number", [0, 1, 2, 1000, 2**20, LIMIT - 1])
def test_a_hidden_number_leads_back_to_its_own(number):
    assert revealed(hidden(number, key=KEY), key=KEY) == number


def test_every_number_has_one_of_its_own_below_the_limit():
    found = {hidden(number, key=KEY) for number in range(5000)}
    assert len(found) == 5000
    assert max(found) < LIMIT


def test_hidden_numbers_rise_as_often_as_they_fall():
    numbers = [hidden(number, key=KEY) for number in range(2000)]
    rising = sum(one < other for one, other in pairwise(numbers))
    assert 900 < rising < 1100


def test_another_key_hides_otherwise():
    assert hidden(7, key=KEY) != hidden(7, key=b"another")


@pytest.mark.parametrize("number", [-1, LIMIT])
def test_a_number_out_of_bounds_is_refused(number):
    with pytest.raises(ValueError, match="no item number"):
        hidden(number, key=KEY)
    with pytest.raises(ValueError, match="no item number"):
        revealed(number, key=KEY)
