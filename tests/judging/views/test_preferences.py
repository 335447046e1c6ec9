"""The pages on which people own preferences: their annotators, managers, and nobody else."""

from __future__ import annotations

import pytest
from django.utils.html import escape

from annotation.core.refusals import text_of
from annotation.models import AuditEvent
from judging.models import JudgeRun, LlmCall, Preference, PreferenceSet
from judging.services.foreground import run_to_end
from judging.services.preference_edits import add_preference, edit_preference, switch_preference
from tests.factory import make_endpoint, make_user
from tests.fake_llm import FakeLlm
from tests.judging.study import (
    FakeJudge,
    make_study,
    opener_of,
    start_distillation,
    start_rejudging,
)
from tests.markup import tight

pytestmark = pytest.mark.django_db

NEW = "This person prefers shorter responses, and says so."


@pytest.fixture
def run():
    """A finished distillation of a rater who can sign in: 3 pairs and the aggregate."""
    dataset, rater = make_study(comparisons=6)
    rater.is_active = True
    rater.save()
    started = start_distillation(dataset=dataset, annotator=rater, judge="lexical")
    return run_to_end(started.pk, opener=opener_of(FakeJudge()))


@pytest.fixture
def manager():
    return make_user(role="MANAGER")


@pytest.fixture
def as_manager(client, manager):
    client.force_login(manager)
    return client


@pytest.fixture
def as_owner(client, run):
    client.force_login(run.annotator)
    return client


@pytest.fixture
def as_viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


def own(run, **fields):
    rows = Preference.objects.filter(run=run, control="NONE", **fields)
    return rows.order_by("position", "version").first()


def addresses(run):
    row = own(run, kind="PAIR")
    return {
        "list": f"/runs/{run.pk}/preferences/",
        "one": f"/preferences/{row.pk}/",
        "edit": f"/preferences/{row.pk}/edit/",
        "switch": f"/preferences/{row.pk}/switch/",
        "new": f"/runs/{run.pk}/preferences/{row.scenario_id}/new/",
        "judge": f"/runs/{run.pk}/preferences/judge/",
    }


def test_strangers_sign_in_first(client, run):
    for address in [*addresses(run).values(), "/preferences/"]:
        answer = client.get(address)
        if answer.status_code != 405:
            assert (answer.status_code, answer.url) == (302, f"/sign-in/?next={address}")
    assert client.post(addresses(run)["judge"]).status_code == 302


def test_somebody_elses_preferences_do_not_exist(client, run):
    client.force_login(make_user())
    for name, address in addresses(run).items():
        answer = client.post(address)
        if name in ("list", "one"):
            assert answer.status_code == 405
            answer = client.get(address)
        assert answer.status_code == (403 if name == "judge" else 404)
    assert "Nothing yet" in tight(client.get("/preferences/"))


def test_viewers_read_and_do_not_write(as_viewer, run):
    where = addresses(run)
    assert as_viewer.get(where["list"]).status_code == 200
    page = tight(as_viewer.get(where["one"]))
    assert "prefers longer" in page
    assert "Edit text" not in page
    for name in ("edit", "switch", "new", "judge"):
        assert as_viewer.post(where[name], {"text": NEW}).status_code == 403
    assert not AuditEvent.objects.exists()


def test_wrong_methods_and_numbers(as_manager, run):
    where = addresses(run)
    for name in ("list", "one"):
        assert as_manager.post(where[name]).status_code == 405
    for name in ("switch", "judge"):
        assert as_manager.get(where[name]).status_code == 405
    assert as_manager.post("/preferences/").status_code == 405
    for address in ("/preferences/999999/", "/runs/999999/preferences/"):
        assert as_manager.get(address).status_code == 404
    base = Preference.objects.get(kind="EMPTY")
    assert as_manager.get(f"/preferences/{base.pk}/").status_code == 404
    assert as_manager.get(f"/runs/{run.pk}/preferences/999999/new/").status_code == 404


def test_annotators_find_their_own_by_the_navigation(as_owner, run):
    assert 'href="/preferences/"' in tight(as_owner.get("/studies/"))
    page = tight(as_owner.get("/preferences/"))
    assert page.count("prefers longer") == 4
    assert "learned by the embedded judge" in page
    assert addresses(run)["new"] in page
    assert 'href="/runs/' in page  # to their own list, never to a run


def test_an_annotator_puts_a_text_right(as_owner, run):
    where = addresses(run)
    page = tight(as_owner.get(where["edit"]))
    assert "prefers longer" in page
    assert "What you prefer" in page
    assert "What this annotator prefers" not in page
    answer = as_owner.post(where["edit"], {"text": f" {NEW} "}, follow=True)
    saved = Preference.objects.get(kind="EDITED")
    assert answer.redirect_chain[-1][0] == f"/preferences/{saved.pk}/"
    assert (saved.text, saved.edited_by) == (NEW, run.annotator)
    page = tight(answer)
    assert "Saved as version 2." in page
    assert "<del>" in page
    assert "<ins>" in page
    before = tight(as_owner.get(where["one"]))
    assert "There is a newer version" in before
    late = as_owner.get(where["edit"], follow=True)
    assert late.redirect_chain[-1][0] == f"/preferences/{saved.pk}/"
    assert escape(text_of("preference:not-editable")) in tight(late)


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        (" \u200b ", text_of("preference:blank")),
        ("", "This field is required."),
        ("偏" * 700, text_of("preference:too-long")),
        ("a" * 2001, "Ensure this value has at most 2000 characters"),
        ("prefers longer", text_of("preference:unchanged")),
    ],
)
def test_what_cannot_be_saved_says_why(as_owner, run, typed, problem):
    answer = as_owner.post(addresses(run)["edit"], {"text": typed})
    assert answer.status_code == 422
    assert escape(problem) in tight(answer)
    assert not Preference.objects.filter(kind="EDITED").exists()


def test_mark_up_is_shown_as_it_was_typed(as_owner, run):
    typed = "<script>alert(1)</script> </preference> **bold**"
    as_owner.post(addresses(run)["edit"], {"text": typed})
    saved = Preference.objects.get(kind="EDITED")
    assert saved.text == "<script>alert(1)</script> ‹/preference> **bold**"
    page = tight(as_owner.get(f"/preferences/{saved.pk}/"))
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert" not in page


def test_a_preference_is_switched_off_and_on(as_owner, run):
    answer = as_owner.post(addresses(run)["switch"], {"active": "0"}, follow=True)
    assert "Disabled." in tight(answer)
    off = Preference.objects.get(kind="EDITED")
    assert off.active is False
    listed = tight(as_owner.get("/preferences/"))
    assert "disabled" in listed
    assert "changed, not judged yet" in listed
    late = as_owner.post(addresses(run)["switch"], {"active": "0"}, follow=True)
    assert escape(text_of("preference:not-editable")) in tight(late)
    assert "Enable" in tight(as_owner.get(f"/preferences/{off.pk}/"))
    again = as_owner.post(f"/preferences/{off.pk}/switch/", {"active": "1"}, follow=True)
    assert "Enabled." in tight(again)
    same = as_owner.post(again.redirect_chain[-1][0] + "switch/", {"active": "1"}, follow=True)
    assert escape(text_of("preference:unchanged")) in tight(same)


def test_a_text_of_ones_own_is_added(as_owner, run):
    where = addresses(run)
    assert "Add a preference" in tight(as_owner.get(where["new"]))
    answer = as_owner.post(where["new"], {"text": "Prefers lists."}, follow=True)
    added = Preference.objects.get(kind="EDITED")
    assert (added.position, added.version, added.edited_by) == (5, 1, run.annotator)
    page = tight(answer)
    assert "Added. It takes effect after the next judging run." in page
    assert "Written by" in page
    assert "Distilled by" not in page
    refused = as_owner.post(where["new"], {"text": " "})
    assert refused.status_code == 422


def test_no_more_texts_are_added_than_may_be(as_owner, run, manager):
    scenario = own(run, kind="PAIR").scenario_id
    for number in range(10):
        add_preference(run, scenario_id=scenario, text=f"Prefers {number}.", editor=manager)
    answer = as_owner.post(addresses(run)["new"], {"text": "Prefers one more."})
    assert answer.status_code == 422
    assert escape(text_of("preference:too-many")) in tight(answer)


def test_the_page_says_what_judging_again_takes_and_then_does_it(as_manager, run):
    where = addresses(run)
    assert "Judge again" not in tight(as_manager.get(where["list"]))
    as_manager.post(where["edit"], {"text": NEW})
    page = tight(as_manager.get(where["list"]))
    assert "1 change not judged yet" in page
    # 3 dev comparisons in both orders under the new text; what stands is the base judge, the other
    # 3, the old text (the control's draws that do not flip its pair), 3 flipped and 10 joint ones.
    assert "6 new verdicts are needed on the dev split" in page
    assert "108 verdicts are reused." in page
    assert "No calls: these judges need no endpoint." in page
    answer = as_manager.post(where["judge"])
    started = JudgeRun.objects.get(parent=run)
    assert answer.url == f"/runs/{started.pk}/"
    assert started.created_by.role == "MANAGER"
    assert "These preferences are being judged again." in tight(as_manager.get(where["list"]))
    run_to_end(started.pk)
    page = tight(as_manager.get(where["list"]))
    assert f"last judged by run {started.pk}" in page
    assert "not judged yet" not in page
    assert f'href="/runs/{run.pk}/"' in tight(as_manager.get(f"/runs/{started.pk}/"))
    assert "judged again by" in tight(as_manager.get(f"/runs/{run.pk}/"))
    # The new run's own address leads to the same list.
    assert as_manager.get(f"/runs/{started.pk}/preferences/").status_code == 200


def test_what_cannot_be_judged_again_says_why(as_manager, run, manager):
    where = addresses(run)
    nothing = as_manager.post(where["judge"], follow=True)
    assert escape(text_of("preference:nothing-changed")) in tight(nothing)
    switch_preference(own(run, kind="PAIR"), active=False, editor=manager)
    assert "No new verdicts are needed." in tight(as_manager.get(where["list"]))
    assert "Enter a budget of 0 or more" in tight(
        as_manager.post(where["judge"], {"budget": "-1"}, follow=True)
    )
    run.config["judge"]["version"] = 0
    run.save()
    assert escape(text_of("judge:changed")) in tight(as_manager.get(where["list"]))


def test_the_annotator_is_told_that_a_manager_lets_judge_again(as_owner, run):
    as_owner.post(addresses(run)["edit"], {"text": NEW})
    page = tight(as_owner.get(addresses(run)["list"]))
    assert "A manager can start the judging run" in page
    assert as_owner.post(addresses(run)["judge"]).status_code == 403


def test_a_preference_shows_the_call_and_the_pair_behind_it(client, manager):
    with FakeLlm() as server:
        endpoint = make_endpoint(name="qwen", base_url=server.base_url, model="qwen-test")
        dataset, rater = make_study(comparisons=6)
        rater.is_active = True
        rater.save()
        started = start_distillation(dataset=dataset, annotator=rater, judge=endpoint.name)
        run = run_to_end(started.pk)
    row = own(run, kind="PAIR")
    call = LlmCall.objects.get(pk=row.call_id)
    client.force_login(manager)
    page = tight(client.get(f"/preferences/{row.pk}/"))
    assert "qwen-test" in page
    assert "distil_preference.v1.en" in page
    assert run.config["judge"]["prompts"]["distil_preference.v1.en"] in page
    assert call.key[:12] in page
    assert f"<dd>{call.input_tokens}" in page
    assert escape(call.reply) in page
    assert f"/runs/{run.pk}/comparisons/{row.source_comparison_id}/" in page
    assert "A long and thorough answer." in page
    joint = own(run, kind="AGGREGATE")
    page = tight(client.get(f"/preferences/{joint.pk}/"))
    assert "distil_aggregate.v1.en" in page
    assert "From all labelled comparisons of the dev split." in page
    # An edit keeps showing where the first version came from.
    edited = edit_preference(row, text=NEW, editor=manager)
    page = tight(client.get(f"/preferences/{edited.pk}/"))
    assert call.key[:12] in page
    assert f"/runs/{run.pk}/comparisons/{row.source_comparison_id}/" in page
    control = Preference.objects.filter(run=run, control="SHUFFLED").first()
    page = tight(client.get(f"/preferences/{control.pk}/"))
    assert "not a real preference" in page.replace("&#x27;", "'")
    assert "Edit text" not in page
    client.force_login(rater)
    page = tight(client.get(f"/preferences/{row.pk}/"))
    assert "A language model." in page
    assert "qwen" not in page
    assert "/comparisons/" not in page
    assert "Control:" in tight(client.get(f"/preferences/{control.pk}/"))
    assert client.get(f"/preferences/{control.pk}/edit/", follow=True).redirect_chain


def test_the_embedded_judge_says_what_it_does_not_understand(as_owner, run):
    as_owner.post(addresses(run)["edit"], {"text": "Prefers short answers. Loves trains."})
    saved = Preference.objects.get(kind="EDITED")
    page = tight(as_owner.get(f"/preferences/{saved.pk}/"))
    assert "The embedded judge does not understand the following" in page
    assert "Loves trains" in page


def test_the_sets_that_hold_a_preference_are_named(as_viewer, run):
    chosen = PreferenceSet.objects.get(run=run, control="NONE")
    member = chosen.members.exclude(kind="EMPTY").first()
    page = tight(as_viewer.get(f"/preferences/{member.pk}/"))
    assert f'href="/preference-sets/{chosen.pk}/"' in page
    other = Preference.objects.filter(run=run, control="NONE").exclude(pk__in=chosen.members.all())
    assert "Not selected in any set." in tight(as_viewer.get(f"/preferences/{other.first().pk}/"))


def test_what_the_pages_cost_does_not_grow(as_viewer, run, manager, django_assert_num_queries):
    def cost():
        row = own(run, kind="PAIR")
        return {
            f"/runs/{run.pk}/preferences/": 8,
            f"/preferences/{row.pk}/": 6,
        }

    as_viewer.get("/runs/")
    for address, queries in cost().items():
        with django_assert_num_queries(queries):
            as_viewer.get(address)
    row = own(run, kind="PAIR")
    for number in range(3):
        row = edit_preference(row, text=f"Prefers {number}.", editor=manager)
        add_preference(run, scenario_id=row.scenario_id, text=f"I {number}.", editor=manager)
        run_to_end(start_rejudging(run).pk, opener=opener_of(FakeJudge()))
    for address, queries in cost().items():
        with django_assert_num_queries(queries):
            as_viewer.get(address)


def test_a_verdict_leads_to_the_preference_that_it_was_given_under(as_manager, run, manager):
    edited = edit_preference(own(run, kind="PAIR"), text=NEW, editor=manager)
    again = run_to_end(start_rejudging(run).pk)
    address = f"/runs/{again.pk}/comparisons/{edited.source_comparison_id}/"
    page = tight(as_manager.get(address))
    assert f'edited by a person ·<a href="/preferences/{edited.pk}/">' in page
