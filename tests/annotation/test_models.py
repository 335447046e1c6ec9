"""What must never happen is a constraint of the database, on SQLite and PostgreSQL alike."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from annotation.models import (
    Claim,
    Comparison,
    GuidelinesVersion,
    Invitation,
    PairwiseLabel,
    Participation,
    Response,
    SatisfactionLabel,
    User,
)
from tests import factory

pytestmark = pytest.mark.django_db


def refused(make, **fields):
    with pytest.raises(IntegrityError), transaction.atomic():
        make(**fields)


class TestResponse:
    def test_equal_text_of_one_model_is_one_response(self):
        first = factory.make_response(model="m", text="same")
        refused(factory.make_response, turn=first.turn, model="m", text="same")

    def test_a_variant_tells_equal_texts_apart(self):
        first = factory.make_response(model="", text="same")
        second = factory.make_response(first.turn, model="", text="same", variant="2")
        assert first.text_hash == second.text_hash

    def test_missing_text_and_empty_text_differ(self):
        turn = factory.make_turn()
        missing = factory.make_response(turn, model="m", text=None)
        empty = factory.make_response(turn, model="m", text="")
        assert missing.text_hash == ""
        assert empty.text_hash != ""

    def test_a_turn_has_one_original_response(self):
        first = factory.make_response(original=True)
        refused(factory.make_response, turn=first.turn, original=True)
        assert Response.objects.filter(turn=first.turn).count() == 1


class TestComparison:
    def test_it_is_of_two_responses(self):
        response = factory.make_response()
        refused(
            Comparison.objects.create,
            turn=response.turn,
            response_a=response,
            response_b=response,
            key="k",
        )


class TestPairwiseLabel:
    def test_one_by_annotator_comparison_and_study(self):
        study = factory.make_study()
        first = factory.make_label(study=study)
        refused(
            factory.make_label, comparison=first.comparison, annotator=first.annotator, study=study
        )

    def test_one_by_annotator_and_comparison_outside_studies(self):
        first = factory.make_label()
        refused(factory.make_label, comparison=first.comparison, annotator=first.annotator)

    def test_a_repeat_stands_beside_the_first(self):
        first = factory.make_label()
        factory.make_label(first.comparison, annotator=first.annotator, repeat_index=1)
        assert PairwiseLabel.objects.count() == 2

    @pytest.mark.parametrize(
        "fields",
        [
            {"verdict": "C"},
            {"verdict": ""},
            {"shown_order": "COMBINED"},
            {"strength": 3},
            {"verdict": "TIE", "strength": 1},
        ],
    )
    def test_it_holds_known_words_only(self, fields):
        refused(factory.make_label, comparison=factory.make_comparison(), **fields)


class TestSatisfactionLabel:
    @pytest.mark.parametrize(
        "fields",
        [
            {"score": 0, "reason": "OTHER"},
            {"score": 6},
            {"score": 3},
            {"score": 4, "reason": "OTHER"},
            {"score": 2, "reason": "BORED"},
            {"score": 5, "hallucination": "MAYBE"},
        ],
    )
    def test_a_rating_that_breaks_a_rule_is_refused(self, fields):
        refused(factory.make_rating, **fields)

    @pytest.mark.parametrize("score", [1, 2, 3])
    def test_the_reason_stands_at_three_and_below(self, score):
        rating = factory.make_rating(score=score, reason="NOT_RECORDED")
        assert SatisfactionLabel.objects.get() == rating

    def test_it_is_of_a_response_or_a_session_never_both_nor_neither(self):
        session = factory.make_session()
        refused(factory.make_rating, response=factory.make_response(), session=session)
        refused(
            SatisfactionLabel.objects.create, annotator=factory.make_user(), score=4, session=None
        )
        assert factory.make_rating(session=session).session == session

    def test_one_by_annotator_and_response(self):
        first = factory.make_rating()
        refused(factory.make_rating, response=first.response, annotator=first.annotator)


class TestClaim:
    def test_a_slot_is_held_once_so_overlap_cannot_be_exceeded(self):
        item = factory.make_item(factory.make_study())
        factory.make_claim(item, factory.make_user(), slot=0)
        refused(factory.make_claim, item=item, annotator=factory.make_user(), slot=0)
        assert Claim.objects.count() == 1

    def test_an_annotator_claims_an_item_once(self):
        item = factory.make_item(factory.make_study())
        annotator = factory.make_user()
        factory.make_claim(item, annotator, slot=0)
        refused(factory.make_claim, item=item, annotator=annotator, slot=1)

    @pytest.mark.parametrize(
        ("state", "slot"), [("ACTIVE", None), ("DONE", None), ("SKIPPED", 0), ("RELEASED", 0)]
    )
    def test_only_held_claims_have_a_slot(self, state, slot):
        item = factory.make_item(factory.make_study())
        refused(
            factory.make_claim, item=item, annotator=factory.make_user(), state=state, slot=slot
        )


class TestStudyItem:
    def test_it_is_one_comparison_or_one_session(self):
        study = factory.make_study()
        refused(
            factory.make_item,
            study=study,
            comparison=factory.make_comparison(),
            session=factory.make_session(),
        )

    def test_a_comparison_is_in_a_study_once_but_for_repeats(self):
        study = factory.make_study()
        item = factory.make_item(study)
        refused(factory.make_item, study=study, comparison=item.comparison)
        repeat = factory.make_item(study, comparison=item.comparison, kind="REPEAT", repeat_of=item)
        assert repeat.repeat_of == item

    def test_only_a_repeat_names_another_item(self):
        study = factory.make_study()
        item = factory.make_item(study)
        refused(factory.make_item, study=study, kind="REPEAT")
        refused(factory.make_item, study=study, kind="NORMAL", repeat_of=item)


class TestParticipation:
    def test_somebody_takes_part_in_a_study_once(self):
        annotator = factory.make_user()
        study = factory.make_study(annotators=[annotator])
        assert study.participations.get().annotator == annotator
        refused(Participation.objects.create, study=study, annotator=annotator)

    @pytest.mark.parametrize(
        ("paused", "reason"), [(True, ""), (True, "BORED"), (False, "GOLD"), (False, "BORED")]
    )
    def test_a_pause_has_a_known_reason(self, paused, reason):
        study = factory.make_study()
        refused(
            Participation.objects.create,
            study=study,
            annotator=factory.make_user(),
            paused_at=study.created_at if paused else None,
            pause_reason=reason,
        )

    def test_an_invitation_has_at_least_one_place(self):
        refused(Invitation.objects.create, study=factory.make_study(), places=0)

    def test_a_version_of_guidelines_is_written_once(self):
        study = factory.make_study()
        GuidelinesVersion.objects.create(study=study, version=1, text="Choose.")
        refused(GuidelinesVersion.objects.create, study=study, version=1, text="Choose well.")

    @pytest.mark.parametrize("field", ["gold_rate", "repeat_rate"])
    @pytest.mark.parametrize("rate", [-0.1, 0.6])
    def test_hidden_items_are_at_most_half(self, field, rate):
        refused(factory.make_study, **{field: rate})


class TestUser:
    def test_the_role_is_one_of_four(self):
        refused(factory.make_user, role="OWNER")

    @pytest.mark.parametrize(
        ("role", "manages", "sees_everyone", "edits_endpoints", "edits_studies"),
        [
            ("ADMIN", True, True, True, True),
            ("MANAGER", True, True, False, True),
            ("VIEWER", False, True, False, False),
            ("ANNOTATOR", False, False, False, False),
        ],
    )
    def test_roles_say_what_one_may_do(
        self, role, manages, sees_everyone, edits_endpoints, edits_studies
    ):
        user = factory.make_user(role=role)
        assert user.is_manager is manages
        assert user.is_staff is manages
        assert user.sees_everyone is sees_everyone
        assert user.has_perm("judging.change_modelendpoint") is edits_endpoints
        assert user.has_perms(["annotation.change_study"]) is edits_studies
        assert user.has_module_perms("annotation") is edits_studies

    def test_an_inactive_person_may_do_nothing(self):
        user = factory.make_user(role="ADMIN", is_active=False)
        assert not user.is_staff
        assert not user.sees_everyone
        assert not user.has_perm("annotation.view_study")

    def test_a_superuser_is_an_admin(self):
        user = User.objects.create_superuser("root", "a long password")
        assert user.role == "ADMIN"
        assert user.check_password("a long password")

    def test_nobody_signs_in_as_an_imported_rater(self):
        rater = factory.make_rater(factory.make_dataset(slug="panda"), "annotator1")
        assert rater.username == "panda:annotator1"
        assert not rater.has_usable_password()
        assert str(rater) == "annotator1"
