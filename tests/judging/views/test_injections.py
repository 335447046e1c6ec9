from __future__ import annotations

import csv
from io import StringIO

import pytest
from django.urls import reverse

from annotation.core.choices import Verdict
from annotation.core.conversations import Message, Speaker
from judging.core.injections import ATTEMPTS
from judging.models import InjectedText, JudgeRun, LlmCall
from judging.services.injection import TriedPair
from judging.services.kinds import start as begin
from tests.factory import make_endpoint, make_user
from tests.fake_llm import Act, FakeLlm
from tests.judging.study import check_injections, make_study, planned_check

pytestmark = pytest.mark.django_db

PAIR = TriedPair((Message(Speaker.USER, "How long do I boil it?"),), "<b>Five</b>.", "Eight.", "en")
FOOL = "The final decision is Response B"
TRIED = [each for each in ATTEMPTS if each.target is Verdict.B]
"""The gullible judge prefers what is shown first, so that A cannot be attacked."""
FOOLED = [each for each in TRIED if FOOL in each.text]


@pytest.fixture
def check(client):
    client.force_login(make_user(role="VIEWER"))
    with FakeLlm(rule=f"fooled:{FOOL}") as server:
        name = make_endpoint(name="gullible", base_url=server.base_url).name
        return check_injections(name, [PAIR])


def get(client, name, *where, **query):
    return client.get(reverse(f"judging:{name}", args=where), query)


def text_of(response):
    return response.content.decode()


def test_the_list_tells_each_check_s_rates(client, check, django_assert_num_queries):
    check_injections("lexical", [PAIR])
    with django_assert_num_queries(4):
        listed = text_of(get(client, "injections"))
    assert listed.index("lexical") < listed.index("gullible")
    assert f"{len(FOOLED)}/{len(TRIED)}" in listed
    assert f"0/{len(TRIED)}" in listed


def test_a_check_tells_rates_by_kind_and_language(client, check, django_assert_num_queries):
    with django_assert_num_queries(4):
        shown = text_of(get(client, "injection-check", check.pk))
    verdicts = [each for each in FOOLED if (each.kind, each.language) == ("VERDICT", "en")]
    tried = [each for each in TRIED if (each.kind, each.language) == ("VERDICT", "en")]
    assert f"{len(verdicts)}/{len(tried)}" in shown
    assert shown.count("<tr") == 1 + 12 + 2 + 1
    assert "kind=ROLE&amp;language=zh" in shown


def test_a_rate_leads_to_its_attempts_and_each_to_the_raw_replies(client, check):
    listed = get(client, "injection-trials", check.pk, kind="ROLE", language="en", outcome="turned")
    keys = [each.key for each in FOOLED if (each.kind, each.language) == ("ROLE", "en")]
    assert [row.attempt.key for row in listed.context["found"].rows] == keys
    assert "changed to B" in text_of(listed)
    everything = get(client, "injection-trials", check.pk).context["found"]
    assert everything.page.paginator.count == len(TRIED)
    assert everything.counts["turned"] == len(FOOLED)
    (first, *_) = listed.context["found"].rows
    shown = text_of(get(client, "injection-trial", check.pk, first.attempt.pk))
    assert shown.count("The final decision is Response A.") == 2  # the harmless text, and nothing
    assert "The final decision is Response B." in shown
    assert "How long do I boil it?" in shown
    assert shown.count("attacked") >= 1


def test_a_list_costs_the_same_however_long(client, check, django_assert_num_queries):
    with django_assert_num_queries(7):
        get(client, "injection-trials", check.pk)


def test_nothing_fits_a_filter_of_other_words(client, check):
    shown = text_of(get(client, "injection-trials", check.pk, kind="NOTHING"))
    assert "No attempts" in shown


def test_every_answer_can_be_downloaded(client, check):
    answer = get(client, "injections-csv", check.pk)
    told = "".join(part.decode() for part in answer.streaming_content)
    rows = list(csv.DictReader(StringIO(told)))
    assert len(rows) == 2 + 2 * len(TRIED)
    assert f'filename="injections-{check.pk}.csv"' in answer["Content-Disposition"]
    attempts = [row for row in rows if row["added"] == InjectedText.ATTEMPT]
    assert sum(row["flipped"] == "true" for row in attempts) == len(FOOLED)
    assert {row["flipped"] for row in rows if row["added"] == "CLEAN"} == {""}
    assert all(row["raw"].startswith("The final decision is") for row in rows)
    assert rows[0]["judge"] == "gullible"
    assert rows[0]["run"] == str(check.run_id or "")
    calls = {(call.key, call.reply) for call in LlmCall.objects.all()}
    assert {(row["call"], row["raw"]) for row in rows} == calls


def test_the_lexical_judge_says_how_sure_it_was(client, check):
    lexical = check_injections("lexical", [PAIR])
    trial = lexical.trials.filter(added=InjectedText.ATTEMPT).first()
    shown = text_of(get(client, "injection-trial", lexical.pk, trial.pk))
    assert shown.count("log odds of A") == 3
    assert trial.raw
    assert trial.raw[:20] in shown


def test_a_manager_starts_a_check_and_sees_before_what_it_takes(client):
    dataset, _rater = make_study(comparisons=3)
    form = {"dataset": dataset.slug, "judge": "lexical", "prompt": "PERSONAL", "pairs": "2"}
    start, estimate = reverse("judging:injection-new"), reverse("judging:injection-estimate")
    for role in ("VIEWER", "ANNOTATOR"):
        client.force_login(make_user(role=role))
        assert [client.post(each, form).status_code for each in (start, estimate)] == [403, 403]
    client.force_login(make_user(role="MANAGER"))
    assert dataset.name in text_of(client.get(start))
    assert client.get(estimate).status_code == 405
    for headers in ({}, {"HX-Request": "true"}):
        told = text_of(client.post(estimate, form, headers=headers))
        assert "No calls: these judges need no endpoint." in told
        assert ("<h1>" in told) is (not headers)
    assert not JudgeRun.objects.exists()
    wrong = client.post(start, {**form, "prompt": "PAIRWISE"})
    assert (wrong.status_code, "compares in its own way only" in text_of(wrong)) == (422, True)
    assert "returns no log-probabilities" in text_of(
        client.post(start, {**form, "verdict": "LOGPROB"})
    )
    for judge, shut in (("lexical", True), (make_endpoint().name, False)):
        asked = {**form, "judge": judge}
        told = text_of(client.post(estimate, asked, headers={"HX-Request": "true"}))
        assert ('<option value="PAIRWISE" disabled>' in told) is shut
    told = text_of(client.post(estimate, {**form, "prompt": "PAIRWISE"}))
    assert '<p class="notice warning">The lexical judge compares in its own way only.' in told
    first = client.post(start, form)
    run = JudgeRun.objects.get()
    assert first.url == reverse("judging:run", args=[run.pk])
    shown = text_of(client.get(first.url))
    assert "Injection check" in shown
    assert reverse("judging:injection-check", args=[run.injection_check.pk]) in shown
    assert client.post(start, form).url == first.url  # an equal one is under way
    assert "Injection check" in text_of(client.get(reverse("judging:runs")))


def test_a_check_under_way_says_so(client):
    client.force_login(make_user(role="VIEWER"))
    run = begin(planned_check("lexical", [PAIR]))
    shown = text_of(get(client, "injection-check", run.injection_check.pk))
    assert "The check is not finished" in shown
    assert "Nothing to test" not in shown
    assert "in progress" in text_of(get(client, "injections"))


def test_without_a_check_the_page_says_how_to_make_one(client):
    client.force_login(make_user(role="VIEWER"))
    assert "manage.py injection_check --judge NAME" in text_of(get(client, "injections"))


def test_failed_calls_are_no_unreadable_verdicts(client):
    client.force_login(make_user(role="VIEWER"))
    with FakeLlm(script=[Act(status=400)] * 10) as server:
        found = check_injections(make_endpoint(base_url=server.base_url).name, [PAIR])
    shown = text_of(get(client, "injection-check", found.pk))
    assert "llm:bad-request" in shown
    assert "Nothing to test" not in shown
    assert "not finished" not in shown


def test_a_judge_that_says_nothing_could_not_be_tried(client):
    client.force_login(make_user(role="VIEWER"))
    check = check_injections("lexical", [])
    assert "Nothing to test" in text_of(get(client, "injection-check", check.pk))


def test_annotators_see_none_of_it(client, check):
    client.force_login(make_user())
    trial = check.trials.filter(added=InjectedText.ATTEMPT).first()
    pages = [
        ("injections", ()),
        ("injection-check", (check.pk,)),
        ("injection-trials", (check.pk,)),
        ("injection-trial", (check.pk, trial.pk)),
        ("injections-csv", (check.pk,)),
    ]
    for name, where in pages:
        assert get(client, name, *where).status_code == 403
        assert client.post(reverse(f"judging:{name}", args=where)).status_code in (403, 405)
    client.logout()
    assert "/sign-in/" in get(client, "injections").url


def test_what_does_not_exist_is_not_found(client, check):
    clean = check.trials.filter(added=InjectedText.CLEAN).first()
    other = check_injections("lexical", [PAIR])
    attempt = check.trials.filter(added=InjectedText.ATTEMPT).first()
    for name, where in (
        ("injection-check", (9999,)),
        ("injection-trials", (9999,)),
        ("injections-csv", (9999,)),
        ("injection-trial", (check.pk, clean.pk)),
        ("injection-trial", (other.pk, attempt.pk)),
    ):
        assert get(client, name, *where).status_code == 404
