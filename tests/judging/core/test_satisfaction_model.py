from __future__ import annotations

import dataclasses
import io
import zipfile
from collections import Counter
from functools import partial

import numpy as np
import pytest

from judging.core.retrieval import build_blocks
from judging.core.satisfaction_artefact import from_bytes, to_bytes
from judging.core.satisfaction_features import Group
from judging.core.satisfaction_general import GeneralSettings
from judging.core.satisfaction_model import Settings, predict
from judging.core.satisfaction_neighbours import read_blocks
from judging.core.satisfaction_training import (
    group_steps,
    groups_of,
    predict_apart,
    steps,
    train,
)
from tests.judging.core.satisfaction_people import NOT_RECORDED, examples, sessions
from tests.refusals import refuses

QUICK = Settings(general=GeneralSettings(trees=8), folds=4)


@pytest.fixture(scope="module")
def trained():
    return train(examples(), QUICK)


@pytest.fixture(scope="module")
def new_blocks():
    return build_blocks(sessions(seed=5))


def test_held_out_predictions_follow_the_users(trained):
    held_out = trained.held_out
    assert len(held_out.users) == len(held_out.gold) == len(held_out.reason_chances) == 96
    assert np.corrcoef(held_out.expected, held_out.gold)[0, 1] > 0.4
    assert all(0 < chance < 1 for chance in held_out.dissatisfied)
    assert all(1 <= score <= 5 for score in held_out.scores)
    assert all(
        (reason is None) == (gold >= 4)
        for reason, gold in zip(held_out.reasons, held_out.gold, strict=True)
    )


def test_opposite_tastes_are_read_from_each_users_own_history(trained, new_blocks):
    gold = {
        rating.turn_id: rating.score
        for s in sessions(seed=5)
        for t in s.turns
        for rating in t.ratings
    }
    pairs = [
        (one.expected, gold[target.turn_id])
        for block, found in zip(new_blocks, predict(trained.model, new_blocks), strict=True)
        for target, one in zip(block.targets, found, strict=True)
    ]
    expected, said = np.array(pairs).T
    assert np.corrcoef(expected, said)[0, 1] > 0.5


def test_moves_and_baseline_make_up_the_expectation(trained, new_blocks):
    for found in predict(trained.model, new_blocks):
        for one in found:
            raw = one.baseline + sum(one.moves.values())
            assert set(one.moves) == set(Group)
            if 1.5 < raw < 4.5:
                assert one.expected == pytest.approx(raw, abs=1e-3)
            assert 1 <= one.expected <= 5
            assert (one.reason is None) == (one.score >= 4)
            assert sum(one.reason_chances) == pytest.approx(1)


def test_predictions_do_not_depend_on_the_other_blocks(trained, new_blocks):
    together = predict(trained.model, new_blocks)
    alone = predict(trained.model, new_blocks[4:5])
    assert [one.expected for one in alone[0]] == pytest.approx(
        [one.expected for one in together[4]], abs=1e-9
    )


def test_nothing_to_predict(trained):
    assert predict(trained.model, []) == ()


def test_a_user_without_history_is_judged_by_the_general_part(trained):
    block = build_blocks(sessions(users=1))[0]
    (found,) = predict(trained.model, [dataclasses.replace(block, history=())])
    assert len(found) == len(block.targets)


@pytest.mark.parametrize("sentinel", [1, 5])
def test_no_label_of_the_target_scenario_reaches_a_feature_or_a_prediction(trained, sentinel):
    """The target scenario's labels are all 1, or all 5: nothing computed for it may differ."""
    usual, marked = (
        [
            block
            for block in build_blocks(sessions(targets_score=score, target_scenario="gifts"))
            if block.scenario == "gifts"
        ]
        for score in (3, sentinel)
    )
    one, other = read_blocks(usual), read_blocks(marked)
    assert one.features.tolist() == other.features.tolist()
    assert (one.counts != other.counts).nnz == 0
    assert predict(trained.model, usual) == predict(trained.model, marked)


def test_held_out_expectations_do_not_depend_on_the_users_own_target_labels(trained):
    """Changing one user's labels of one scenario leaves that block's expectation as it was."""
    plain = examples()
    changed = list(plain)
    at = next(i for i, one in enumerate(plain) if one.block.scenario == "gifts")
    changed[at] = dataclasses.replace(plain[at], scores=(5, 5, 5, 1), reasons=(None,) * 4)
    before, after = trained.held_out.expected, train(changed, QUICK).held_out.expected
    start = sum(len(one.scores) for one in plain[:at])
    assert before[start : start + 4] == pytest.approx(after[start : start + 4], abs=1e-12)
    assert before != after


def test_too_few_users_are_refused():
    with refuses("learned:too-few-ratings", match="there are 2 users"):
        train(examples(users=2), QUICK)
    with refuses("learned:too-few-ratings", match="there are 0 users"):
        train([], QUICK)


def test_turns_of_one_kind_are_refused():
    happy = [dataclasses.replace(one, scores=(5,) * len(one.scores)) for one in examples()]
    with refuses("learned:too-few-ratings"):
        train(happy, QUICK)


def test_a_reason_that_was_not_recorded_teaches_nothing():
    made = [
        dataclasses.replace(one, reasons=tuple(why and NOT_RECORDED for why in one.reasons))
        for one in examples()
    ]
    model = train(made, QUICK).model
    assert not model.reasons.weights.any()


def test_a_stored_model_predicts_the_same(trained, new_blocks):
    stored = to_bytes(trained.model)
    assert predict(from_bytes(stored), new_blocks) == predict(trained.model, new_blocks)


def test_training_again_gives_the_same_model(trained):
    again = train(examples(), QUICK)
    assert to_bytes(again.model) == to_bytes(trained.model)


def test_a_stored_model_holds_no_pickle(trained):
    with zipfile.ZipFile(io.BytesIO(to_bytes(trained.model))) as archive:
        for name in archive.namelist():
            assert b"'descr': '|O'" not in archive.read(name)


def _replaced(stored, **arrays):
    with np.load(io.BytesIO(stored), allow_pickle=False) as archive:
        kept = {name: archive[name] for name in archive.files}
    buffer = io.BytesIO()
    np.savez(buffer, **{**kept, **arrays})
    return buffer.getvalue()


def test_damaged_bytes_are_refused(trained):
    stored = to_bytes(trained.model)
    for bad in (
        b"",
        b"nothing",
        stored[:200],
        _replaced(stored, about=np.frombuffer(b"[", dtype=np.uint8)),
        _replaced(stored, about=np.frombuffer(b"{}", dtype=np.uint8)),
    ):
        with refuses("learned:unreadable", match="cannot be read"):
            from_bytes(bad)


def test_objects_are_refused(trained):
    with refuses("learned:unreadable", match="cannot be read"):
        from_bytes(_replaced(to_bytes(trained.model), cuts=np.array([{"a": 1}], dtype=object)))


def test_another_version_is_refused(trained):
    about = np.frombuffer(b'{"version": 0, "features": []}', dtype=np.uint8)
    with refuses("learned:unreadable", match="another version"):
        from_bytes(_replaced(to_bytes(trained.model), about=about))


def apart(sentinel, *, users=8):
    """What is said of everybody's turns, where user 0 may have said something else of gifts."""
    taught = examples(users=users)
    if sentinel is not None:
        taught = [
            dataclasses.replace(one, scores=(sentinel,) * len(one.scores))
            if (one.block.user, one.block.scenario) == ("0", "gifts")
            else one
            for one in taught
        ]
    model = train(taught, QUICK).model
    blocks = [one.block for one in examples(users=users)]
    return taught, blocks, predict_apart(taught, blocks, model=model)


@pytest.fixture(scope="module")
def plain_apart():
    return apart(None)


def test_no_label_of_a_user_reaches_what_is_said_in_their_stead_by_others(plain_apart):
    """Not through cut points either: equal to the last digit, chance and reasons included."""
    _, blocks, plain = plain_apart
    _, _, changed = apart(1)
    own = [at for at, block in enumerate(blocks) if block.user == "0"]
    assert [plain[at] for at in own] == [changed[at] for at in own]
    assert plain != changed  # others learn from it


def test_a_user_who_taught_nothing_is_scored_by_the_whole_model(new_blocks, plain_apart, trained):
    taught, blocks, _ = plain_apart
    model = trained.model  # of the same users
    stranger = dataclasses.replace(new_blocks[0], user="stranger")
    found = predict_apart(taught, [blocks[0], stranger], model=model)
    assert found[1] == predict(model, [stranger])[0]
    assert found[0] != predict(model, [blocks[0]])[0]
    assert predict_apart([], [stranger], model=model) == (found[1],)


def test_the_smallest_training_can_be_held_out_of():
    _, blocks, found = apart(None, users=4)
    assert [len(own) for own in found] == [len(block.targets) for block in blocks]


def test_a_training_says_how_far_it_is_and_that_it_is_alive():
    taught, blocks = examples(users=5), [one.block for one in examples(users=5)]
    told = Counter()
    count = {name: partial(told.update, [name]) for name in ("pulse", "step")}
    model = train(taught, QUICK, **count).model
    assert told["step"] == steps(QUICK, 5)
    assert told["pulse"] >= len(blocks)
    sizes = Counter(groups_of(taught, QUICK).values())
    told.clear()
    predict_apart(taught, blocks, model=model, **count)
    assert sorted(sizes.values()) == [1, 1, 1, 2]
    assert told["step"] == sum(group_steps(QUICK, 5 - size) for size in sizes.values())
    told.clear()
    predict_apart(taught, [dataclasses.replace(blocks[0], user="stranger")], model=model, **count)
    assert told["step"] == 0
