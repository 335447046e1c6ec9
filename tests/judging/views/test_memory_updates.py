import pytest
from django.urls import reverse
from django.utils.html import escape

from annotation.core.refusals import text_of
from annotation.models import Role, SatisfactionLabel
from judging.models import JudgeRun, RunStatus, UserMemory
from judging.services.foreground import run_to_end
from tests.factory import make_dataset, make_scenario, make_user
from tests.judging.services.test_satisfaction_stages import rate
from tests.judging.study import start_satisfaction_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner():
    return make_user(username="owner", display_name="Olga")


@pytest.fixture
def manager():
    return make_user(role=Role.MANAGER)


@pytest.fixture
def dataset():
    return make_dataset()


@pytest.fixture
def gifts(dataset):
    return make_scenario(dataset, name="gifts & more", position=1)


@pytest.fixture
def memory(dataset, gifts, owner):
    """The memory for travel, written from six turns about gifts."""
    rate(owner, make_scenario(dataset, name="travel", position=0), [5, 4, 3])
    rate(owner, gifts, [5, 5, 4, 4, 3, 2])
    run = run_to_end(start_satisfaction_run(dataset=dataset, judge="lexical").pk)
    return UserMemory.objects.get(run=run, target_scenario__name="travel")


def page_of(client, memory, name="memory", query=""):
    return client.get(reverse(f"judging:{name}", args=[memory.pk]) + query).content.decode()


def update(memory):
    return reverse("judging:memory-update", args=[memory.pk])


def test_a_memory_says_that_it_is_outdated_and_offers_a_new_version(
    client, memory, gifts, owner, manager
):
    client.force_login(manager)
    assert "This memory is outdated" not in page_of(client, memory)
    rate(owner, gifts, [2])
    SatisfactionLabel.objects.filter(response__turn__session__scenario=gifts).first().delete()
    page = page_of(client, memory)
    assert "This memory is outdated" in page
    assert "1 new, 0 changed, 1 withdrawn." in page
    assert update(memory) in page
    listed = client.get(reverse("judging:run-memories", args=[memory.run_id])).content.decode()
    assert "outdated" in listed
    response = client.post(update(memory), follow=True)
    assert "Rewriting 1 memory." in response.content.decode()
    assert "Version 2 is being written." in response.content.decode()
    run_to_end(memory.run_id)
    newest = UserMemory.objects.get(previous=memory)
    assert "There is a newer version" in page_of(client, memory)
    page = page_of(client, newest)
    assert "This memory is outdated" not in page
    assert "over 6 rated turns" in page


def test_the_user_is_told_and_asks_whoever_runs_the_study(client, memory, gifts, owner):
    rate(owner, gifts, [2])
    client.force_login(owner)
    page = page_of(client, memory)
    assert "This memory is outdated" in page
    assert "A study manager can" in page
    assert update(memory) not in page
    assert client.post(update(memory)).status_code == 403
    assert not UserMemory.objects.filter(version=2).exists()
    assert "outdated" in client.get(reverse("judging:my-memories")).content.decode()


def test_a_memory_that_is_whole_is_not_written_anew(client, memory, manager):
    client.force_login(manager)
    page = client.post(update(memory), follow=True).content.decode()
    assert escape(text_of("memory:up-to-date")) in page
    assert JudgeRun.objects.get().status == RunStatus.DONE


def test_all_outdated_memories_of_a_run(client, memory, gifts, owner, manager):
    address = reverse("judging:memories-update", args=[memory.run_id])
    client.force_login(manager)
    run_page = reverse("judging:run-memories", args=[memory.run_id])
    assert address not in client.get(run_page).content.decode()
    rate(owner, gifts, [2])
    assert address in client.get(run_page).content.decode()
    page = client.post(address, follow=True).content.decode()
    assert "Rewriting 1 memory." in page
    assert "new version in progress" in page
    assert address not in page
    assert escape(text_of("run:not-finished")) in client.post(address, follow=True).content.decode()


def test_a_version_that_was_not_written_says_why(client, memory, gifts, owner, manager):
    rate(owner, gifts, [2])
    client.force_login(manager)
    client.post(update(memory))
    UserMemory.objects.filter(version=2).update(status="FAILED", error_code="llm:timeout")
    JudgeRun.objects.update(status=RunStatus.DONE)
    page = page_of(client, memory)
    failed = UserMemory.objects.get(version=2)
    assert "Version 2 could not be written." in page
    assert reverse("judging:memory", args=[failed.pk]) in page
    assert update(memory) in page
    assert reverse("judging:memory-edit", args=[memory.pk]) in page
    page = page_of(client, failed)
    assert escape(text_of("llm:timeout")) in page
    assert reverse("judging:memory", args=[memory.pk]) in page


def test_wrong_methods_strangers_and_memories_that_are_none(client, memory, manager):
    assert client.post(update(memory)).url.startswith(reverse("sign-in"))
    client.force_login(manager)
    assert client.get(update(memory)).status_code == 405
    assert client.get(reverse("judging:memories-update", args=[memory.run_id])).status_code == 405
    assert client.post(reverse("judging:memory-update", args=[0])).status_code == 404
    assert client.post(reverse("judging:memories-update", args=[0])).status_code == 404
    assert client.post(reverse("judging:memory-turns", args=[memory.pk])).status_code == 405


def test_the_numbers_lead_to_their_turns(client, memory, owner):
    client.force_login(owner)
    turns = reverse("judging:memory-turns", args=[memory.pk])
    page = page_of(client, memory)
    assert f"{turns}?score=5" in page
    assert f"{turns}?score=1" not in page  # nobody scored 1
    assert f"{turns}?scenario=gifts%20%26%20more" in page
    assert "6 turns counted in version 1" in page_of(client, memory, "memory-turns")
    page = page_of(client, memory, "memory-turns", "?score=5")
    assert page.count("<article") == 2
    assert "score 5" in page
    assert "Olga gifts &amp; more 0" in page
    page = page_of(client, memory, "memory-turns", "?score=3&scenario=gifts+%26+more")
    assert page.count("<article") == 1
    assert "No matching turns" in page_of(client, memory, "memory-turns", "?scenario=travel")
    assert page_of(client, memory, "memory-turns", "?score=six").count("<article") == 6


def test_turns_keep_the_score_of_then(client, memory, gifts, owner):
    SatisfactionLabel.objects.filter(response__turn__session__scenario=gifts).update(
        score=1, reason="OTHER"
    )
    client.force_login(owner)
    page = page_of(client, memory, "memory-turns")
    assert (page.count("score 1"), page.count("now 1")) == (0, 6)
    assert "Other" not in page  # a reason belongs to the score that it was given with
    SatisfactionLabel.objects.filter(response__turn__session__scenario=gifts).delete()
    assert page_of(client, memory, "memory-turns").count("withdrawn since") == 6


def test_turns_of_somebody_elses_memory_do_not_exist(client, memory):
    client.force_login(make_user())
    assert client.get(reverse("judging:memory-turns", args=[memory.pk])).status_code == 404


def test_turns_lead_to_their_conversation_for_those_who_see_everybodys(
    client, memory, owner, manager
):
    client.force_login(manager)
    assert "/sessions/" in page_of(client, memory, "memory-turns")
    client.force_login(owner)
    assert "/sessions/" not in page_of(client, memory, "memory-turns")


def test_many_turns_are_paged_at_the_same_cost(
    client, memory, gifts, owner, manager, django_assert_num_queries
):
    rate(owner, gifts, [4] * 30)
    client.force_login(manager)
    client.post(update(memory))
    run_to_end(memory.run_id)
    newest = UserMemory.objects.get(version=2)
    turns = reverse("judging:memory-turns", args=[newest.pk])
    with django_assert_num_queries(7):  # session, reader, memory, count, ids, labels, turns
        page = client.get(turns).content.decode()
    assert page.count("<article") == 20
    assert "[36]" in client.get(turns + "?page=2").content.decode()
