import re

import pytest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from annotation.core.refusals import text_of
from annotation.models import Role
from judging.core.runs import HISTORY
from judging.models import JudgeRun, UserMemory
from tests.factory import (
    make_dataset,
    make_rating,
    make_response,
    make_scenario,
    make_session,
    make_turn,
    make_user,
)
from tests.judging.core.test_memory import make_texts
from tests.judging.services.test_memories import make_memory

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner():
    return make_user(username="owner", display_name="Olga")


@pytest.fixture
def memory(owner):
    """A memory that cites the two turns of its user's history."""
    row = make_memory(user=owner)
    elsewhere = make_scenario(row.run.dataset, name="travel")
    cited = []
    for score in (5, 3):
        turn = make_turn(make_session(elsewhere), user_message=f"asked for {score}")
        response = make_response(turn, text=f"answer of {score}", model="secret-model")
        make_rating(
            response, annotator=owner, score=score, reason="UNUSABLE" if score < 4 else None
        )
        cited.append(str(response.pk))
    row.texts["scoring_style"] = {"text": "Rather strict.", "turn_ids": cited}
    row.evidence = {"by_score": {"5": cited[:1], "3": cited[1:]}}
    row.judge = "secret-endpoint"
    row.save()
    return row


@pytest.fixture
def manager():
    return make_user(role=Role.MANAGER)


@pytest.fixture
def viewer():
    return make_user(role=Role.VIEWER)


def address(memory, name="memory"):
    return reverse(f"judging:{name}", args=[memory.pk])


def test_a_memory_with_its_statistics_and_evidence(client, memory, viewer):
    client.force_login(viewer)
    page = client.get(address(memory)).content.decode()
    assert "Rather strict." in page
    assert "Mean score 4.00 of 5 over 2 rated turns." in page
    first, second = memory.texts["scoring_style"]["turn_ids"]
    assert f'href="#turn-{first}"' in page
    assert f'id="turn-{second}"' in page
    assert "asked for 3" in page
    assert "Unusable in practice" in page
    assert "Written by secret-endpoint." in page


def test_the_user_reads_their_own_without_any_model_name(client, memory, owner):
    client.force_login(owner)
    page = client.get(address(memory)).content.decode()
    assert "How you score" in page
    assert "secret" not in page
    assert reverse("judging:memory-edit", args=[memory.pk]) in page


def test_a_page_costs_as_many_queries_for_many_citations(
    client, memory, viewer, django_assert_num_queries
):
    client.force_login(viewer)
    # session, reader, memory, turns, labels, change, versions, twins
    with django_assert_num_queries(8):
        client.get(address(memory))


@pytest.mark.parametrize("name", ["memory", "memory-edit"])
def test_somebody_elses_memory_does_not_exist(client, memory, name):
    client.force_login(make_user())
    assert client.get(address(memory, name)).status_code == 404


@pytest.mark.parametrize("name", ["memory", "memory-edit"])
def test_strangers_are_sent_to_sign_in(client, memory, name):
    response = client.get(address(memory, name))
    assert response.status_code == 302
    assert response.url.startswith(reverse("sign-in"))


def test_wrong_methods(client, memory, manager):
    client.force_login(manager)
    assert client.post(address(memory)).status_code == 405
    assert client.delete(address(memory, "memory-edit")).status_code == 405
    assert client.post(reverse("judging:my-memories")).status_code == 405
    assert client.post(reverse("judging:run-memories", args=[memory.run_id])).status_code == 405


def test_what_was_not_written_says_why(client, viewer, owner):
    row = make_memory(
        user=owner, status="UNPARSEABLE", texts={}, error_code="memory:unparseable", judge="lexical"
    )
    client.force_login(viewer)
    page = client.get(address(row)).content.decode()
    assert "The reply is not a user memory" in page
    assert "which is not a language model" in page
    waiting = make_memory(user=owner, status="PENDING", texts={}, statistics={})
    assert "Not written yet" in client.get(address(waiting)).content.decode()


def form_of(memory, **changes):
    texts = memory.texts
    return {
        "scoring_style": texts["scoring_style"]["text"],
        "three_vs_four_distinction": texts["three_vs_four_distinction"]["text"],
        "four_vs_five_distinction": texts["four_vs_five_distinction"]["text"],
        "preferred_response_format": texts["preferred_response_format"]["text"],
        "user_specific_requirements": "\n".join(
            item["text"] for item in texts["user_specific_requirements"]
        ),
        "observations_0": "Wants times.",
    } | changes


@pytest.mark.parametrize("who", ["owner", "manager"])
def test_an_edit_becomes_the_next_version(client, request, memory, who):
    editor = request.getfixturevalue(who)
    client.force_login(editor)
    page = client.get(address(memory, "memory-edit")).content.decode()
    assert "Rather strict." in page
    assert "Observations in “travel”" in page
    up = "run-memories" if who == "manager" else "my-memories"
    args = [memory.run_id] if who == "manager" else []
    for shown in (page, client.get(address(memory, "memory-turns")).content.decode()):
        crumbs, _rest = shown.split('class="crumbs"')[1].split("</nav>", 1)
        assert reverse(f"judging:{up}", args=args) in crumbs
        assert address(memory) in crumbs
    sent = form_of(
        memory, user_specific_requirements="Names shops.\n\nBudget first.", observations_0=""
    )
    response = client.post(address(memory, "memory-edit"), sent)
    saved = UserMemory.objects.get(previous=memory)
    assert response.url == address(saved)
    assert (saved.version, saved.edited_by) == (2, editor)
    assert [item["text"] for item in saved.texts["user_specific_requirements"]] == [
        "Names shops.",
        "Budget first.",
    ]
    assert saved.texts["task_specific_observations"] == []
    assert saved.texts["scoring_style"] == memory.texts["scoring_style"]
    assert f"Edited by {editor}." in client.get(address(saved)).content.decode()


def test_a_viewer_reads_and_does_not_edit(client, memory, viewer):
    client.force_login(viewer)
    assert client.get(address(memory, "memory-edit")).status_code == 403
    assert client.post(address(memory, "memory-edit"), form_of(memory)).status_code == 403
    assert "memory-edit" not in client.get(address(memory)).content.decode()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scoring_style": " "}, "This field is required"),
        ({"user_specific_requirements": "x\n" * 31}, "At most 30 lines"),
        ({"observations_0": "x" * 2001}, "At most 2000 characters per line"),
        ({"four_vs_five_distinction": "x" * 2001}, "at most 2000 characters"),
    ],
)
def test_an_edit_beyond_the_limits_comes_back(client, memory, manager, changes, message):
    client.force_login(manager)
    response = client.post(address(memory, "memory-edit"), form_of(memory, **changes))
    assert response.status_code == 422
    assert message in response.content.decode()
    assert not UserMemory.objects.filter(previous=memory).exists()


def test_observations_are_limited_together(client, manager, owner):
    texts = make_texts(
        task_specific_observations=[
            {"task_name": name, "observation": "x", "turn_ids": []} for name in ("travel", "gifts")
        ]
    )
    row = make_memory(user=owner)
    row.texts["task_specific_observations"] = texts["task_specific_observations"]
    row.save()
    client.force_login(manager)
    sent = form_of(row, observations_0="x\n" * 16, observations_1="y\n" * 16)
    response = client.post(address(row, "memory-edit"), sent)
    assert response.status_code == 422
    assert "At most 30 observations" in response.content.decode()


def test_an_older_version_is_read_and_not_edited(client, memory, manager):
    client.force_login(manager)
    client.post(address(memory, "memory-edit"), form_of(memory, scoring_style="Very strict."))
    newest = UserMemory.objects.get(previous=memory)
    page = client.get(address(memory)).content.decode()
    assert "There is a newer version" in page
    assert address(memory, "memory-edit") not in page
    response = client.post(address(memory, "memory-edit"), form_of(memory))
    assert response.url == address(newest)
    assert UserMemory.objects.count() == 2


def test_what_was_not_written_is_not_edited(client, manager, owner):
    row = make_memory(user=owner, status="FAILED", texts={}, error_code="llm:timeout")
    client.force_login(manager)
    assert client.get(address(row, "memory-edit")).url == address(row)


def test_texts_of_people_and_models_are_shown_as_text(client, memory, viewer):
    memory.texts["scoring_style"]["text"] = "<script>alert(1)</script>"
    memory.save()
    client.force_login(viewer)
    assert "<script>alert(1)</script>" not in client.get(address(memory)).content.decode()


def test_the_memories_of_a_run(client, memory, viewer, manager):
    client.force_login(manager)
    client.post(address(memory, "memory-edit"), form_of(memory, scoring_style="Very strict."))
    newest = UserMemory.objects.get(previous=memory)
    client.force_login(viewer)
    page = client.get(reverse("judging:run-memories", args=[memory.run_id])).content.decode()
    assert "Olga" in page
    assert address(newest) in page
    assert f'"{address(memory)}"' not in page
    assert "Edited" in page


def test_lists_cost_as_many_queries_for_many_memories(
    client, owner, manager, django_assert_num_queries
):
    first = make_memory(user=owner)
    for _ in range(3):
        make_memory(user=make_user(), run=first.run)
    client.force_login(manager)
    with django_assert_num_queries(7):  # session, reader, run, count, rows, change, versions
        client.get(reverse("judging:run-memories", args=[first.run_id]))
    client.force_login(owner)
    # session, reader, rows, what is withheld of their turns, change, versions, withheld at all
    with django_assert_num_queries(7):
        client.get(reverse("judging:my-memories"))


@pytest.fixture
def twins(owner):
    """What one model wrote of two users, in the same words with turns of each."""
    first = make_memory(user=owner, judge="small-model")
    second = make_memory(
        user=make_user(display_name="Tom"), run=first.run, judge="small-model", texts=first.texts
    )
    second.texts["scoring_style"] |= {"turn_ids": ["2"]}
    second.save()
    return first, second


def marked(client, memory):
    """Whether a memory is marked for review, on its page and in the list of its run."""
    page = client.get(address(memory)).content.decode()
    listed = client.get(reverse("judging:run-memories", args=[memory.run_id])).content.decode()
    (row,) = re.findall(rf'<tr>(?:(?!</tr>).)*"{address(memory)}".*?</tr>', listed, re.DOTALL)
    assert ("Needs review" in page) == ("needs review" in row)
    return "Needs review" in page


def test_a_model_that_writes_the_same_of_two_users_is_to_be_reviewed(client, twins, viewer):
    first, second = twins
    client.force_login(viewer)
    page = client.get(address(first)).content.decode()
    assert "word for word, for Tom." in page
    assert f'href="{address(second)}"' in page
    assert marked(client, first)
    assert marked(client, second)


def test_the_same_of_one_user_twice_or_by_fixed_words_or_edited_is_not(client, twins, viewer):
    first, second = twins
    client.force_login(viewer)
    for change in (
        {"user": first.user},
        {"judge": "lexical"},
        {"edited_by": viewer},
        {"status": "FAILED"},
        {"texts": second.texts | {"preferred_response_format": {"text": "Maps.", "turn_ids": []}}},
    ):
        UserMemory.objects.filter(pk=second.pk).update(**change)
        assert not marked(client, first), change
        second.save()
    assert marked(client, first)
    UserMemory.objects.filter(run=first.run).update(judge="lexical")
    assert not marked(client, first)


def test_a_user_learns_nothing_of_others(client, twins, owner):
    client.force_login(owner)
    for page in (address(twins[0]), reverse("judging:my-memories")):
        text = client.get(page).content.decode()
        assert "eeds review" not in text
        assert "Tom" not in text


def test_looking_for_equal_memories_costs_one_query(
    client, twins, viewer, django_assert_num_queries
):
    client.force_login(viewer)
    # session, reader, run, count, rows, change, twins, versions
    with django_assert_num_queries(8):
        client.get(reverse("judging:run-memories", args=[twins[0].run_id]))


def rescore(memory):
    return reverse("judging:run-rescore", args=[memory.run_id])


def test_a_manager_scores_again_with_the_memories_of_a_run(client, memory, manager):
    JudgeRun.objects.update(judge="lexical")
    client.force_login(manager)
    response = client.post(rescore(memory))
    run = JudgeRun.objects.exclude(pk=memory.run_id).get()
    assert response.url == reverse("judging:run", args=[run.pk])
    assert (run.config["memories_of"], run.created_by) == (memory.run_id, manager)
    assert run.satisfaction_judgments.count() == 2


def test_scoring_again_by_a_judge_that_is_gone_says_so(client, memory, manager):
    client.force_login(manager)
    JudgeRun.objects.update(judge="gone")
    page = client.post(rescore(memory), follow=True).content.decode()
    assert escape(text_of("judge:unknown")) in page
    assert JudgeRun.objects.count() == 1


def test_scoring_again_takes_no_other_history_where_that_one_was_deleted(client, memory, manager):
    make_dataset(slug="gone", archived_at=timezone.now())
    JudgeRun.objects.update(judge="lexical", config=memory.run.config | {HISTORY: "gone"})
    client.force_login(manager)
    page = client.post(rescore(memory), follow=True).content.decode()
    assert escape(text_of("run:no-history")) in page
    assert JudgeRun.objects.count() == 1


@pytest.mark.parametrize("who", ["owner", "viewer"])
def test_only_managers_score_again(client, request, memory, who):
    client.force_login(request.getfixturevalue(who))
    assert client.post(rescore(memory)).status_code == 403
    assert JudgeRun.objects.count() == 1


def test_scoring_again_is_a_post(client, memory, manager):
    client.force_login(manager)
    assert client.get(rescore(memory)).status_code == 405


def test_a_run_without_memories(client, viewer):
    row = make_memory()
    row.delete()
    client.force_login(viewer)
    page = client.get(reverse("judging:run-memories", args=[row.run_id])).content.decode()
    assert "No memories" in page


def test_annotators_do_not_see_a_runs_memories(client, memory, owner):
    client.force_login(owner)
    assert client.get(reverse("judging:run-memories", args=[memory.run_id])).status_code == 403


def test_a_run_that_is_none_has_no_memories(client, viewer):
    client.force_login(viewer)
    assert client.get(reverse("judging:run-memories", args=[1])).status_code == 404


def test_a_user_finds_their_own_memories(client, memory, owner):
    make_memory()
    make_memory(user=owner, status="FAILED")
    client.force_login(owner)
    page = client.get(reverse("judging:my-memories")).content.decode()
    assert re.findall(r'href="(/memories/\d+/)"', page) == [address(memory)]
    client.force_login(make_user())
    assert "Nothing yet" in client.get(reverse("judging:my-memories")).content.decode()
