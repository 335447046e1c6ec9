from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError

from judging.core.prompts import PromptError, load_prompt
from judging.models import PromptOverride
from judging.services.foreground import run_to_end
from judging.services.pairwise_runs import start_test_run
from tests.factory import make_endpoint, make_user
from tests.fake_llm import FakeLlm
from tests.judging.study import make_study

pytestmark = pytest.mark.django_db

NAME = "judge_pair_base"


def own_text(first="Be the judge of two answers."):
    text = load_prompt(NAME, language="en").text
    return text.replace(text.splitlines()[0], first, 1)


def edit(dataset, text):
    row = PromptOverride(dataset=dataset, name=NAME, language="en", text=text)
    row.full_clean()
    row.save()
    return row


def test_a_run_asks_and_keeps_what_its_dataset_says():
    dataset, rater = make_study(comparisons=6)
    row = edit(dataset, own_text() + "\r\n")
    with FakeLlm() as server:
        name = make_endpoint(base_url=server.base_url).name
        asked = {"dataset": dataset, "annotator": rater, "judge": name, "with_sets": False}
        run = start_test_run(**asked)
        row.text = own_text("Another judge.")
        row.save()
        run_to_end(run.pk)
        said = [body["messages"][0]["content"] for body in server.bodies]
        later = start_test_run(**asked)
    assert said
    assert all(text.startswith("Be the judge of two answers.") for text in said)
    (kept,) = run.config["edited_prompts"]
    assert (kept["name"], kept["text"]) == (NAME, own_text())
    assert run.config["judge"]["prompts"][f"{NAME}.edited.en"] == kept["digest"]
    assert later.config["edited_prompts"][0]["text"] == own_text("Another judge.")


def test_another_dataset_s_runs_are_asked_as_before():
    dataset, _rater = make_study()
    edit(dataset, own_text())
    other, rater = make_study(name="bea")
    name = make_endpoint().name
    run = start_test_run(dataset=other, annotator=rater, judge=name, with_sets=False)
    assert "edited_prompts" not in run.config


def test_a_prompt_that_breaks_the_judge_is_refused_where_it_is_written():
    dataset, _rater = make_study()
    with pytest.raises(ValidationError, match="must stand in this order") as refused:
        edit(dataset, "Choose A or B.")
    assert len(refused.value.message_dict["text"]) == 2


def test_a_prompt_that_got_past_the_check_starts_no_run():
    dataset, rater = make_study()
    PromptOverride.objects.create(dataset=dataset, name=NAME, language="en", text="Choose.")
    with pytest.raises(PromptError):
        start_test_run(
            dataset=dataset, annotator=rater, judge=make_endpoint().name, with_sets=False
        )


def test_the_admin_console_refuses_it_with_the_reason(client):
    dataset, _rater = make_study()
    client.force_login(make_user(role="ADMIN"))
    fields = {"dataset": dataset.pk, "name": NAME, "language": "en"}
    page = client.post("/admin/judging/promptoverride/add/", {**fields, "text": "Choose."})
    assert page.status_code == 200
    assert "these must stand in this order" in page.content.decode()
    saved = client.post("/admin/judging/promptoverride/add/", {**fields, "text": own_text()})
    assert saved.status_code == 302
    assert PromptOverride.objects.get().text == own_text()


def test_managers_do_not_edit_prompts(client):
    client.force_login(make_user(role="MANAGER"))
    assert client.get("/admin/judging/promptoverride/add/").status_code == 403
