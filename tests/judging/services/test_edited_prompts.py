from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from annotation.models import AuditEvent
from judging.core.prompts import load_prompt
from judging.core.rules import SatisfactionSettings
from judging.models import PromptOverride
from judging.queries.prompts import (
    PromptOwner,
    prompt_history,
    prompt_line,
    prompt_lines,
    prompts_of_run,
)
from judging.services.edited_prompts import publish_prompt, restore_prompt
from judging.services.foreground import run_to_end
from tests.factory import (
    make_endpoint,
    make_rating,
    make_response,
    make_scenario,
    make_session,
    make_turn,
    make_user,
)
from tests.factory import make_study as make_study_row
from tests.fake_llm import FakeLlm
from tests.judging.study import (
    make_study,
    start_distillation,
    start_satisfaction_run,
    start_test_run,
)
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

NAME = "judge_pair_base"


def own_text(first="Be the judge of two answers.", name=NAME):
    text = load_prompt(name, language="en").text
    return text.replace(text.splitlines()[0], first, 1)


def edit(row, text, *, name=NAME, since=0):
    by = make_user(role="MANAGER")
    owner = PromptOwner(row)
    return publish_prompt(owner, name=name, language="en", text=text, since=since, by=by)


def labelled_in(study, rater):
    rater.pairwiselabels.update(study=study)


def asked_by(run):
    return {each["name"]: each for each in run.config.get("edited_prompts", [])}


def test_a_run_asks_and_keeps_what_its_dataset_says():
    dataset, rater = make_study(comparisons=6)
    edit(dataset, own_text() + "\r\n")
    with FakeLlm() as server:
        name = make_endpoint(base_url=server.base_url).name
        asked = {"dataset": dataset, "annotator": rater, "judge": name, "with_sets": False}
        run = start_test_run(**asked)
        assert edit(dataset, own_text("Another judge."), since=1) == 2
        run_to_end(run.pk)
        said = [body["messages"][0]["content"] for body in server.bodies]
        later = start_test_run(**asked)
    assert said
    assert all(text.startswith("Be the judge of two answers.") for text in said)
    (kept,) = run.config["edited_prompts"]
    assert (kept["name"], kept["text"], kept["version"]) == (NAME, own_text(), 1)
    assert kept["of"] == f"dataset:{dataset.slug}"
    assert run.config["judge"]["prompts"][f"{NAME}.edited.en"] == kept["digest"]
    assert later.config["edited_prompts"][0]["text"] == own_text("Another judge.")
    (shown,) = [each for each in prompts_of_run(run) if each.source]
    assert (shown.label, shown.text) == (f"{NAME}.edited.en", own_text())
    assert shown.changed


def test_a_study_s_own_text_wins_where_all_labels_of_the_run_are_from_it():
    dataset, rater = make_study(comparisons=6)
    study = make_study_row(dataset)
    edit(dataset, own_text("The dataset's."))
    edit(dataset, own_text("The dataset's.", "judge_pair"), name="judge_pair")
    edit(study, own_text("The study's."))
    endpoint = make_endpoint().name
    asked = {"dataset": dataset, "annotator": rater, "judge": endpoint}

    labelled_in(study, rater)
    texts = asked_by(start_distillation(**asked))
    assert texts[NAME]["text"].startswith("The study's.")
    assert texts[NAME]["of"] == f"study:{study.slug}"
    assert texts["judge_pair"]["text"].startswith("The dataset's.")

    rater.pairwiselabels.filter(pk=rater.pairwiselabels.first().pk).update(study=None)
    assert asked_by(start_distillation(**asked))[NAME]["text"].startswith("The dataset's.")

    labelled_in(make_study_row(dataset), rater)
    assert asked_by(start_distillation(**asked))[NAME]["text"].startswith("The dataset's.")


def test_another_dataset_s_runs_are_asked_as_before():
    dataset, _rater = make_study()
    edit(dataset, own_text())
    other, rater = make_study(name="bea")
    name = make_endpoint().name
    run = start_test_run(dataset=other, annotator=rater, judge=name, with_sets=False)
    assert "edited_prompts" not in run.config
    assert not any(each.source for each in prompts_of_run(run))
    assert all(each.text for each in prompts_of_run(run))


def test_a_judge_that_is_asked_by_no_prompt_keeps_none():
    dataset, rater = make_study()
    edit(dataset, own_text())
    run = start_distillation(dataset=dataset, annotator=rater, judge="lexical")
    assert "edited_prompts" not in run.config
    assert prompts_of_run(run) == []


def make_rated(study_of_labels=None):
    scenarios = [make_scenario(name="travel")]
    dataset = scenarios[0].dataset
    scenarios.append(make_scenario(dataset, name="food"))
    rater = make_user()
    for scenario in scenarios:
        turn = make_turn(make_session(scenario))
        make_rating(make_response(turn, original=True), annotator=rater, score=4)
    if study_of_labels:
        rater.satisfactionlabels.update(study=study_of_labels(dataset))
    return dataset, rater


def test_memories_and_scores_are_asked_by_edited_prompts_too():
    dataset, _rater = make_rated()
    edit(dataset, own_text("Analyse.", "build_memory"), name="build_memory")
    edit(dataset, own_text("Predict.", "score_turn"), name="score_turn")
    with FakeLlm() as server:
        name = make_endpoint(base_url=server.base_url).name
        run = start_satisfaction_run(dataset=dataset, judge=name, settings=SatisfactionSettings())
        run = run_to_end(run.pk)
        said = {body["messages"][0]["content"].partition("\n")[0] for body in server.bodies}
    assert run.status == "DONE"
    assert said == {"Analyse.", "Predict."}
    kept = asked_by(run)
    assert kept["score_turn"]["text"] == own_text("Predict.", "score_turn")
    assert run.config["judge"]["prompts"]["score_turn.edited.en"] == kept["score_turn"]["digest"]
    assert run.config["judge"]["prompts"]["build_memory.edited.en"]


def test_ratings_given_in_one_study_are_scored_by_its_prompts():
    dataset, rater = make_rated(make_study_row)
    study = rater.satisfactionlabels.first().study
    edit(study, own_text("Predict.", "score_turn"), name="score_turn")
    run = start_satisfaction_run(dataset=dataset, judge=make_endpoint().name)
    assert asked_by(run)["score_turn"]["of"] == f"study:{study.slug}"


def test_a_text_that_breaks_the_judge_is_refused_with_everything_that_is_wrong():
    dataset, _rater = make_study()
    with refuses("prompt:refused") as refused:
        edit(dataset, "Choose A or B.")
    assert [fault.code for fault in refused.value.faults] == ["prompt:places", "prompt:closing"]
    assert not PromptOverride.objects.exists()


def test_a_text_that_got_past_the_check_starts_no_run():
    dataset, rater = make_study()
    PromptOverride.objects.create(
        dataset=dataset, name=NAME, language="en", text="Choose.", digest="0" * 64
    )
    with refuses("prompt:broken"):
        start_test_run(
            dataset=dataset, annotator=rater, judge=make_endpoint().name, with_sets=False
        )


def test_what_is_asked_already_is_not_published_again():
    dataset, _rater = make_study()
    with refuses("prompt:unchanged"):
        edit(dataset, load_prompt(NAME, language="en").text + "\n\n")
    edit(dataset, own_text())
    with refuses("prompt:unchanged"):
        edit(dataset, own_text(), since=1)


def test_of_two_who_edit_the_same_version_one_is_told():
    dataset, _rater = make_study()
    edit(dataset, own_text())
    with refuses("prompt:outdated"):
        edit(dataset, own_text("Another."))
    assert PromptOverride.objects.count() == 1


def test_an_edited_text_can_be_taken_back_and_every_version_stays():
    dataset, _rater = make_study()
    study = make_study_row(dataset)
    owner, by = PromptOwner(study), make_user(role="MANAGER")
    asked = {"name": NAME, "language": "en", "by": by}
    with refuses("prompt:unchanged"):
        restore_prompt(owner, since=0, **asked)
    edit(dataset, own_text("The dataset's."))
    with refuses("prompt:unchanged"):  # it is not the study's to take back
        restore_prompt(owner, since=0, **asked)
    edit(study, own_text("The study's."))
    with refuses("prompt:outdated"):
        restore_prompt(owner, since=0, **asked)
    assert restore_prompt(owner, since=1, **asked) == 2
    line = prompt_line(owner, NAME, "en")
    assert line.inherited
    assert line.opening == "The dataset's."
    (newest, _change), (oldest, changed) = prompt_history(owner, NAME, "en")
    assert (newest.version, newest.text, oldest.version) == (2, "", 1)
    assert [piece.change for piece in changed][:2] == ["GONE", "NEW"]
    assert AuditEvent.objects.filter(action="study.prompt", target_id=study.pk).count() == 2


def test_the_list_holds_every_prompt_in_one_query(django_assert_num_queries):
    dataset, _rater = make_study()
    study = make_study_row(dataset)
    edit(study, own_text())
    with django_assert_num_queries(1):
        lines = prompt_lines(PromptOwner(study))
    assert list(lines) == ["en", "zh"]
    edited = [line.released.name for line in lines["en"] if line.edited]
    assert edited == [NAME]
    (line,) = [line for line in lines["en"] if line.edited]
    assert line.digest == line.edited.digest != line.released.digest
    assert all(line.digest == line.released.digest for line in lines["zh"])


def test_a_row_has_one_owner_and_a_hash_with_its_text():
    dataset, _rater = make_study()
    study = make_study_row(dataset)
    good = {"dataset": dataset, "name": NAME, "language": "en", "text": "x", "digest": "y"}
    PromptOverride.objects.create(**good)
    for fields in (
        {"study": study},
        {"dataset": None},
        {"digest": ""},
        {"text": ""},
        {"language": "fr"},
        {},
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            PromptOverride.objects.create(**{**good, **fields})


def test_the_admin_console_shows_versions_and_changes_none(client):
    dataset, _rater = make_study()
    edit(dataset, own_text())
    client.force_login(make_user(role="ADMIN"))
    page = client.get("/admin/judging/promptoverride/")
    assert NAME in page.content.decode()
    assert client.get("/admin/judging/promptoverride/add/").status_code == 403
    row = PromptOverride.objects.get()
    assert client.get(f"/admin/judging/promptoverride/{row.pk}/change/").status_code == 200
    sent = {"text": "Choose.", "name": NAME, "language": "en"}
    changed = client.post(f"/admin/judging/promptoverride/{row.pk}/change/", sent)
    assert changed.status_code == 403
    row.refresh_from_db()
    assert row.text == own_text()
