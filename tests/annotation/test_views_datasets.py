from __future__ import annotations

from uuid import uuid4

import pytest
from django.urls import reverse

from annotation.models import Comparison, Session
from tests.annotation.records import everything, import_rows, pair
from tests.factory import (
    make_rating,
    make_response,
    make_session,
    make_study,
    make_turn,
    make_user,
)
from tests.markup import tight

pytestmark = pytest.mark.django_db


@pytest.fixture
def data(tmp_path):
    import_rows(tmp_path, *everything(), pair(prompt="<script>alert(1)</script> $x^2$"))


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


def addresses():
    return [
        "/datasets/",
        "/datasets/data/",
        f"/sessions/{Session.objects.get(key='k').pk}/",
        f"/comparisons/{Comparison.objects.get(key='later').pk}/",
    ]


def test_strangers_sign_in_first(client, data):
    for address in addresses():
        answer = client.get(address)
        assert (answer.status_code, answer.url) == (302, f"/sign-in/?next={address}")


def test_annotators_stay_blind(client, data):
    client.force_login(make_user(role="ANNOTATOR"))
    assert [client.get(address).status_code for address in addresses()] == [403] * 4


def test_pages_are_only_read(viewer, data):
    assert [viewer.post(address).status_code for address in addresses()] == [405] * 4


@pytest.mark.parametrize(
    "address", ["/datasets/none/", "/sessions/999999/", "/comparisons/999999/"]
)
def test_what_is_not_there_is_not_found(viewer, address):
    assert viewer.get(address).status_code == 404


def test_the_list_shows_counts_and_marks_simulated_data(viewer, data):
    page = viewer.get("/datasets/").content.decode()
    assert '<a href="/datasets/data/">Everything</a>' in page
    assert "simulated" in page
    assert "Import a file" not in page


def test_without_data_the_list_says_what_to_do(viewer, client):
    assert "No datasets yet" in viewer.get("/datasets/").content.decode()
    client.force_login(make_user(role="MANAGER"))
    assert 'href="/datasets/import/"' in client.get("/datasets/").content.decode()


def test_a_dataset_shows_scenarios_annotators_sessions_and_downloads(viewer, data):
    page = viewer.get("/datasets/data/").content.decode()
    assert "CC0-1.0" in page
    assert "User_1" in page
    assert f'href="/sessions/{Session.objects.get(key="k").pk}/"' in page
    assert 'href="/datasets/data/export/labels.jsonl"' in page
    assert 'href="/datasets/data/export/mtbench_votes.csv"' in page
    assert 'href="/datasets/data/export/judgments.csv"' not in page  # no judge has said anything
    assert "Add file" not in page


def test_a_manager_can_go_on_from_a_dataset(client, data):
    client.force_login(make_user(role="MANAGER"))
    page = client.get("/datasets/data/").content.decode()
    assert 'href="/datasets/import/?dataset=data"' in page
    assert 'href="/studies/new/?dataset=data"' in page


@pytest.mark.parametrize(
    ("asked", "there"),
    [
        ("q=nobody+answers", True),
        ("q=no+such+thing", False),
        ("scenario=x", True),
        ("scenario=999999", True),
        ("page=77", True),
    ],
)
def test_sessions_are_filtered_and_nonsense_is_ignored(viewer, data, asked, there):
    page = viewer.get(f"/datasets/data/?{asked}").content.decode()
    assert (f'href="/sessions/{Session.objects.get(key="k").pk}/"' in page) is there
    assert ("No sessions match this filter." in page) is not there


def test_the_scenario_filter_is_kept(viewer, data):
    scenario = Session.objects.filter(scenario__name="t").values_list("scenario", flat=True)[0]
    answer = viewer.get(f"/datasets/data/?scenario={scenario}")
    assert [row.scenario.name for row, *_more in answer.context["page"]] == ["t"]
    assert f'<option value="{scenario}" selected>' in answer.content.decode()


def test_a_session_shows_texts_and_labels(viewer, data):
    page = viewer.get(f"/sessions/{Session.objects.get(key='k').pk}/").content.decode()
    for said in (
        "be kind",
        "a trip",
        "calm",
        "This turn has no responses.",
        "This text is empty.",
        "The text is not available.",
        "zh",
        "· User_1",
        '<dd class="mono">[1]</dd>',
        "Questionnaire from User_1",
        "<dd>yes</dd>",
        f'href="/comparisons/{Comparison.objects.get(key="later").pk}/"',
    ):
        assert said in page


def test_an_empty_session_says_so(viewer, tmp_path):
    import_rows(tmp_path, {"type": "session", "key": "k", "scenario": "s", "turns": []})
    page = viewer.get(f"/sessions/{Session.objects.get().pk}/").content.decode()
    assert "Empty session" in page


def test_a_comparison_shows_both_texts_and_the_labels(viewer, data):
    page = viewer.get(f"/comparisons/{Comparison.objects.get(key='later').pk}/").content.decode()
    for said in ("B2", "A2", "memory", "clearly", "both bad", "swapped", "shorter", "idx"):
        assert said in page


def test_an_imported_label_is_told_from_one_that_was_given_here(viewer, data):
    comparison = Comparison.objects.get(key="later")
    page = tight(viewer.get(f"/comparisons/{comparison.pk}/"))
    assert page.count(">imported<") == comparison.labels.count() > 0
    comparison.labels.update(submission_id=uuid4())
    assert ">imported<" not in tight(viewer.get(f"/comparisons/{comparison.pk}/"))


def test_what_users_wrote_cannot_run(viewer, data):
    label = Comparison.objects.get(turn__user_message__startswith="<script>")
    for address in (f"/comparisons/{label.pk}/", f"/sessions/{label.turn.session_id}/"):
        page = viewer.get(address).content.decode()
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert" in page


def test_pages_cost_a_fixed_number_of_queries(viewer, data, django_assert_num_queries):
    for address, queries in zip(addresses(), (10, 36, 13, 8), strict=True):
        with django_assert_num_queries(queries):
            viewer.get(address)


def test_a_rating_given_again_is_marked_as_a_repeat(client):
    session = make_session()
    response = make_response(make_turn(session), original=True)
    study = make_study(session.dataset)
    rater = make_user()
    for repeat, score in enumerate((4, 5)):
        make_rating(response, annotator=rater, study=study, score=score, repeat_index=repeat)
    client.force_login(make_user(role="VIEWER"))
    html = client.get(f"/sessions/{session.pk}/").content.decode()
    assert html.count('<span class="muted small">repeat</span>') == 1


def test_reasoning_is_folded_for_readers(viewer, tmp_path):
    import_rows(tmp_path, pair(text_a="<think>a <b>plan</b></think>yes"), dataset="thoughtful")
    comparison = Comparison.objects.get(turn__session__dataset__slug="thoughtful")
    pages = [
        reverse("annotation:session", args=[comparison.turn.session_id]),
        reverse("annotation:comparison", args=[comparison.pk]),
    ]
    for page in pages:
        text = viewer.get(page).content.decode()
        assert text.count("Reasoning, not judged") == 1
        assert "a &lt;b&gt;plan&lt;/b&gt;</pre>" in text
