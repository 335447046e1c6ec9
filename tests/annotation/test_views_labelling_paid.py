"""Who is paid for a study by a platform: the code or the address, and why there is none yet."""

from __future__ import annotations

import pytest

from annotation.models import Invitation, Participation, Study
from tests.annotation.labelling import NOW, make_pair_study
from tests.annotation.pages import answered, show, skipped, url
from tests.factory import make_claim, make_item, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def annotator(client):
    annotator = make_user()
    client.force_login(annotator)
    return annotator


def paid_by(study, completion):
    made = Invitation.objects.create(study=study, places=1, completion=completion)
    Participation.objects.update(invitation=made, worker={"workerId": "A1"})


class TestWhoIsPaid:
    """The code, or the address, comes when all is answered, and not before."""

    @pytest.fixture
    def study(self, annotator):
        study = make_pair_study([annotator], contact="Ada <b>, ada@example.org")
        paid_by(study, "C0DE-7")
        return study

    def pages(self, client, study):
        done = show(client, study).content.decode()
        return done, client.get(f"/studies/{study.slug}/").content.decode()

    def finish(self, client, study):
        show(client, study)
        assert client.post(url("answer", study), answered()).status_code == 302

    def test_is_shown_the_code_once_all_is_answered(self, client, study):
        for page in self.pages(client, study):
            assert "C0DE-7" not in page
        self.finish(client, study)
        for page in self.pages(client, study):
            assert 'value="C0DE-7"' in page
            assert "Ada &lt;b&gt;, " in page
            assert 'href="mailto:ada@example.org"' in page
        assert "Completion code" in client.get("/studies/").content.decode()

    def test_is_led_to_the_address_by_who_they_are_there(self, client, study):
        paid_by(study, "https://pay.org/?w={worker}&c=1")
        self.finish(client, study)
        for page in self.pages(client, study):
            assert 'href="https://pay.org/?w=A1&amp;c=1"' in page

    @pytest.mark.parametrize(
        ("change", "shown"),
        [
            ({"status": "CLOSED"}, True),
            ({"status": "PAUSED"}, False),
            ({"paused_at": NOW, "pause_reason": "GOLD"}, False),
            ({"invitation": None}, False),
        ],
    )
    def test_needs_no_more_items_to_wait_for(self, client, study, change, shown):
        self.finish(client, study)
        table = Study if "status" in change else Participation
        table.objects.update(**change)
        for page in self.pages(client, study):
            assert ("C0DE-7" in page) == shown

    @pytest.mark.parametrize("status", ["OPEN", "CLOSED"])
    def test_needs_as_many_answers_as_the_study_asks_for(self, client, study, annotator, status):
        self.finish(client, study)
        Study.objects.update(status=status, completion_answers=2)
        for page in self.pages(client, study):
            assert "C0DE-7" not in page
            assert "The completion code of this study needs 2 answers; you gave 1." in page
        self.add_item(study, annotator, state="DONE", finished_at=NOW)
        for page in self.pages(client, study):
            assert 'value="C0DE-7"' in page

    def test_answered_nothing_by_skipping(self, client, study):
        show(client, study)
        client.post(url("skip", study), skipped())
        for page in self.pages(client, study):
            assert "C0DE-7" not in page

    def add_item(self, study, who, **state):
        twin = make_pair_study([]).items.get().comparison
        place = study.items.count()
        make_claim(make_item(study, comparison=twin, position=place), who, **state)

    def test_may_leave_while_others_hold_the_rest(self, client, study):
        self.finish(client, study)
        self.add_item(study, make_user())
        for page in self.pages(client, study):
            assert "C0DE-7" in page

    def test_waits_for_what_may_still_come(self, client, study):
        self.finish(client, study)
        first = study.items.get()
        make_item(study, comparison=first.comparison, kind="REPEAT", repeat_of=first, position=5)
        for page in self.pages(client, study):
            assert "C0DE-7" not in page
            assert "once no items are left for you" in page

    def test_answers_as_many_as_they_skip(self, client, study, annotator):
        self.finish(client, study)
        self.add_item(study, annotator, slot=None, state="SKIPPED")
        for page in self.pages(client, study):
            assert "C0DE-7" in page
        self.add_item(study, annotator, slot=None, state="SKIPPED")
        for page in self.pages(client, study):
            assert "C0DE-7" not in page
            assert "at least as many items as you skipped" in page
            assert f'href="{url("item", study, study.items.last())}"' in page

    def test_need_not_answer_what_they_skipped_once_the_study_is_closed(
        self, client, study, annotator
    ):
        self.finish(client, study)
        for _skipped in range(2):
            self.add_item(study, annotator, slot=None, state="SKIPPED")
        Study.objects.update(status="CLOSED")
        for page in self.pages(client, study):
            assert "C0DE-7" in page

    @pytest.mark.parametrize(
        ("status", "is_paused", "told"),
        [
            ("PAUSED", False, "once the study continues or is closed"),
            ("OPEN", True, "while you are paused in this study"),
            ("PAUSED", True, "while you are paused in this study"),
            ("CLOSED", True, "You are paused in this study, so there is no completion code."),
        ],
    )
    def test_is_told_why_there_is_no_code(self, client, study, annotator, status, is_paused, told):
        self.finish(client, study)
        for _skipped in range(2):
            self.add_item(study, annotator, slot=None, state="SKIPPED")
        Study.objects.update(status=status)
        if is_paused:
            Participation.objects.update(paused_at=NOW, pause_reason="GOLD")
        for page in self.pages(client, study):
            assert told in page
            assert "C0DE-7" not in page
            assert "Open a skipped item" not in page

    def test_gets_no_code_for_a_closed_study_in_which_they_answered_nothing(self, client, study):
        show(client, study)
        client.post(url("skip", study), skipped())
        Study.objects.update(status="CLOSED")
        for page in self.pages(client, study):
            assert "You answered no items in this study" in page

    def test_need_not_answer_what_others_answered_since(self, client, study, annotator):
        self.finish(client, study)
        for _skipped in range(2):
            self.add_item(study, annotator, slot=None, state="SKIPPED")
        make_claim(study.items.last(), make_user(), state="DONE")
        for page in self.pages(client, study):
            assert "C0DE-7" in page

    def test_is_told_that_the_study_was_full(self, client, study):
        make_claim(study.items.get(), make_user(), state="DONE")
        for page in self.pages(client, study):
            assert "there is no completion code for you" in page
            assert "once no items are left for you" not in page
