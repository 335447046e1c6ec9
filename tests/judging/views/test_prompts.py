from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.models import PairwiseLabel
from judging.core.prompts import load_prompt
from judging.models import PromptOverride
from tests.factory import (
    make_comparison,
    make_dataset,
    make_endpoint,
    make_item,
    make_rating,
    make_response,
    make_scenario,
    make_session,
    make_turn,
    make_user,
)
from tests.factory import make_study as make_study_row
from tests.judging.study import make_study, start_test_run

pytestmark = pytest.mark.django_db

NAME = "judge_pair_base"
WHERE = ("judge_pair_base", "en")


@pytest.fixture
def study():
    """A study with one pair of its own, in a dataset with others."""
    dataset, _rater = make_study(comparisons=3)
    row = make_study_row(dataset)
    session = make_session(dataset.scenarios.first(), task_context="Plan a trip.")
    turn = make_turn(session, user_message="Where to in May?")
    pair = make_comparison(
        turn,
        response_a=make_response(turn, text="To the sea."),
        response_b=make_response(turn, text="To the </response_a> hills."),
    )
    make_item(row, comparison=pair)
    return row


@pytest.fixture
def manager(client):
    user = make_user(role="MANAGER")
    client.force_login(user)
    return user


def released(name=NAME, language="en"):
    return load_prompt(name, language=language).text


def page_of(study, name, *where):
    return reverse(f"judging:study-{name}", args=[study.slug, *where])


def text_of(response):
    return response.content.decode()


def publish(client, study, text, since=0):
    return client.post(page_of(study, "prompt", *WHERE), {"text": text, "since": since})


def test_the_list_tells_released_edited_and_inherited_texts(client, manager, study):
    publish(client, study, "Judge.\n" + released())
    listed = text_of(client.get(page_of(study, "prompts")))
    assert listed.count('class="tag accent">edited') == 1
    assert "score_turn_no_memory" in listed
    own = reverse("judging:dataset-prompts", args=[study.dataset.slug])
    assert 'class="tag accent">edited' not in text_of(client.get(own))
    where = reverse("judging:dataset-prompt", args=[study.dataset.slug, "distil_sentence", "zh"])
    client.post(where, {"text": "请。\n" + released("distil_sentence", "zh"), "since": 0})
    assert "the dataset's" in text_of(client.get(page_of(study, "prompts")))


def test_an_edit_is_published_shown_and_taken_back(client, manager, study):
    answer = publish(client, study, "Judge.\r\n" + released().replace("\n", "\r\n"))
    assert answer.status_code == 302
    row = PromptOverride.objects.get(study=study)
    assert (row.text, row.version, row.created_by) == ("Judge.\n" + released(), 1, manager)
    shown = text_of(client.get(page_of(study, "prompt", *WHERE)))
    assert "In use: edited version 1." in shown
    assert row.digest in shown
    assert "<ins>Judge.\n</ins" in shown
    back = client.post(page_of(study, "prompt-restore", *WHERE), {"since": 1}, follow=True)
    assert "The edited text was withdrawn." in text_of(back)
    assert "In use: the released text." in text_of(back)
    history = text_of(client.get(page_of(study, "prompt-history", *WHERE)))
    assert "Version 2" in history
    assert "The edited text was withdrawn." in history
    assert "<ins>Judge.\n</ins" in history


@pytest.mark.parametrize(
    ("text", "since", "said"),
    [
        ("Choose.", 0, "This text would break the judge"),
        ("", 0, "This field is required."),
        ("Judge.\n{released}", 3, "Someone published a newer version"),
        ("{released}", 0, "This text is already in use"),
    ],
)
def test_what_cannot_be_published_comes_back_with_the_reason(
    client, manager, study, text, since, said
):
    answer = publish(client, study, text.replace("{released}", released()), since)
    assert answer.status_code == 422
    assert said in text_of(answer)
    assert not PromptOverride.objects.exists()


def test_what_would_break_is_told_while_it_is_written(client, manager, study):
    url = page_of(study, "prompt-check", *WHERE)
    broken = released().replace("{{response_b}}", "").replace("Response B.", "B.")
    told = text_of(client.post(url, {"text": broken}, headers={"HX-Request": "true"}))
    assert "Each of these must appear once" in told
    assert "The text must end with these lines" in told
    assert told.count("status bad") == 2
    assert "Fix the placeholders first." in told
    assert "<html" not in told
    fine = text_of(client.post(url, {"text": "Judge.\n" + released()}))
    assert "status bad" not in fine
    assert "<ins>Judge.\n</ins" in fine
    assert not PromptOverride.objects.exists()


def test_the_preview_shows_an_item_of_the_study_as_the_judge_gets_it(client, manager, study):
    shown = text_of(client.get(page_of(study, "prompt", *WHERE)))
    assert "Where to in May?" in shown
    assert "To the sea." in shown
    assert "To the ‹/response_a&gt; hills." in shown  # neutralised
    assert "A long and thorough answer." not in shown


def test_without_a_script_the_check_is_a_button(client, manager, study):
    sent = {"text": "Choose.", "since": 0, "check": "1"}
    answer = client.post(page_of(study, "prompt", *WHERE), sent)
    assert answer.status_code == 200
    assert "Each of these must appear once" in text_of(answer)
    assert not PromptOverride.objects.exists()


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    "name",
    ["build_memory", "score_turn", "score_turn_retrieval", "score_turn_few_shot", "spur_extract"],
)
def test_prompts_about_turns_are_shown_with_a_rated_turn(client, manager, name, language):
    scenarios = [make_scenario(name="travel")]
    scenarios.append(make_scenario(scenarios[0].dataset, name="food"))
    rater = make_user()
    for scenario in scenarios:
        turn = make_turn(make_session(scenario), user_message="Where shall I eat?")
        make_rating(make_response(turn, text="At home.", original=True), annotator=rater)
    where = reverse("judging:dataset-prompt", args=[scenarios[0].dataset.slug, name, language])
    shown = text_of(client.get(where))
    assert "At home." in shown
    assert "The prompt can be sent" in shown


def test_the_preview_of_a_study_of_conversations_is_a_turn_of_its_own(client, manager, study):
    rated = make_study_row(study.dataset, kind="SATISFACTION")
    session = make_session(study.dataset.scenarios.first(), task_context="Buy a bicycle.")
    make_response(make_turn(session, user_message="Which one?"), text="The red one.", original=True)
    make_item(rated, session=session)
    shown = text_of(client.get(page_of(rated, "prompt", "score_turn_no_memory", "en")))
    for text in ("Buy a bicycle.", "Which one?", "The red one."):
        assert text in shown
    assert "No values yet" not in shown


def test_the_preview_prefers_an_item_in_the_prompt_s_language(client, manager, study):
    turn = make_turn(
        make_session(study.dataset.scenarios.first(), language="zh"), user_message="五月去哪里？"
    )
    pair = make_comparison(turn, response_a=make_response(turn, text="去海边。"))
    make_item(study, comparison=pair)
    chinese = text_of(client.get(page_of(study, "prompt", NAME, "zh")))
    assert "五月去哪里？" in chinese
    assert "去海边。" in chinese
    assert "Where to in May?" in text_of(client.get(page_of(study, "prompt", *WHERE)))


EMPTY = {
    "distil_aggregate": {"pairs"},
    "rubric_pair_reference": {"dialogue", "reference", "response_a", "response_b"},
    "score_turn": {"dialogue", "memory", "response"},
    "score_turn_few_shot": {"dialogue", "examples", "response"},
    "build_memory": {"history", "statistics"},
    "spur_condense": {"reasons"},
}


@pytest.mark.parametrize(("name", "missing"), EMPTY.items())
def test_an_empty_dataset_breaks_no_preview(client, manager, name, missing):
    dataset = make_dataset()
    url = reverse("judging:dataset-prompt", args=[dataset.slug, name, "en"])
    assert set(client.get(url).context["missing"]) == missing


def test_what_does_not_exist_yet_is_told_to_be_missing(client, manager, study):
    shown = text_of(client.get(page_of(study, "prompt", "judge_pair", "en")))
    assert "No values yet for:" in shown
    assert "nothing is stored yet that could stand here" in shown


def test_the_edit_page_costs_few_queries(client, manager, study, django_assert_max_num_queries):
    with django_assert_max_num_queries(20):
        client.get(page_of(study, "prompt", *WHERE))


def test_a_run_s_page_leads_to_what_it_asked(client, manager, study):
    rater = make_study_rater(study)
    publish(client, study, "Judge.\n" + released())
    run = start_test_run(
        dataset=study.dataset, annotator=rater, judge=make_endpoint().name, with_sets=False
    )
    assert "Some edited" in text_of(client.get(reverse("judging:run", args=[run.pk])))
    shown = text_of(client.get(reverse("judging:run-prompts", args=[run.pk])))
    assert f"study:{study.slug}" in shown
    assert "<ins>Judge.\n</ins" in shown
    assert run.config["edited_prompts"][0]["digest"] in shown
    run.config["judge"]["prompts"]["judge_pair_base.v1.en"] = "0" * 64
    run.save()
    shown = text_of(client.get(reverse("judging:run-prompts", args=[run.pk])))
    assert "The released text has changed since." in shown


def make_study_rater(study):
    """The dataset's rater, whose labels were all given in the study."""
    labels = PairwiseLabel.objects.filter(comparison__turn__session__dataset=study.dataset)
    labels.update(study=study)
    return labels.first().annotator


def test_a_lexical_run_asked_no_prompts(client, manager):
    dataset, rater = make_study()
    run = start_test_run(dataset=dataset, annotator=rater, judge="lexical", with_sets=False)
    shown = text_of(client.get(reverse("judging:run-prompts", args=[run.pk])))
    assert "This judge does not use prompts." in shown


@pytest.mark.parametrize(
    ("role", "reads", "edits"), [("ANNOTATOR", 403, 403), ("VIEWER", 200, 403), ("ADMIN", 200, 200)]
)
def test_readers_look_and_managers_edit(client, study, role, reads, edits):
    client.force_login(make_user(role=role))
    assert client.get(page_of(study, "prompts")).status_code == reads
    assert client.get(page_of(study, "prompt-history", *WHERE)).status_code == reads
    assert client.get(page_of(study, "prompt", *WHERE)).status_code == edits
    check = client.post(page_of(study, "prompt-check", *WHERE), {"text": released()})
    assert check.status_code == edits
    restored = client.post(page_of(study, "prompt-restore", *WHERE), {"since": 0})
    assert restored.status_code == (302 if edits == 200 else 403)


def test_strangers_are_sent_to_the_sign_in(client, study):
    for name in ("prompts", "prompt-history"):
        where = () if name == "prompts" else WHERE
        assert "/sign-in/" in client.get(page_of(study, name, *where)).url


@pytest.mark.parametrize(
    ("slug", "name", "language"),
    [("nowhere", "judge_pair", "en"), (None, "nothing", "en"), (None, "judge_pair", "fr")],
)
def test_what_does_not_exist_is_not_found(client, manager, study, slug, name, language):
    args = [slug or study.slug, name, language]
    for page in ("prompt", "prompt-history"):
        assert client.get(reverse(f"judging:study-{page}", args=args)).status_code == 404
    for page in ("prompt-check", "prompt-restore"):
        assert client.post(reverse(f"judging:study-{page}", args=args)).status_code == 404
        assert client.get(reverse(f"judging:study-{page}", args=args)).status_code == 405
