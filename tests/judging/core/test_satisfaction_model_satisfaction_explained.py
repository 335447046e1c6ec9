from hypothesis import given
from hypothesis import strategies as st

from judging.core.satisfaction_features import Group
from judging.core.satisfaction_model import Explained, from_text, to_text

numbers = st.floats(-5, 5)


@given(st.floats(0, 1), numbers, st.dictionaries(st.sampled_from(Group), numbers))
def test_what_is_written_is_read(chance, baseline, moves):
    explained = Explained(chance, baseline, moves)
    assert from_text(to_text(explained)) == explained


def test_the_strongest_moves_come_first_and_the_invisible_not_at_all():
    moves = {Group.LENGTH: 0.1, Group.STYLE: -0.4, Group.SCENARIO: 0.0049, Group.LEVEL: 0.005}
    found = Explained(0.2, 4.0, moves).strongest
    assert found == ((Group.STYLE, -0.4), (Group.LENGTH, 0.1), (Group.LEVEL, 0.005))
