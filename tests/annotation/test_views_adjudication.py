from __future__ import annotations

import pytest

from annotation.core.adjudication import shown_order
from annotation.core.choices import Order
from annotation.core.labelling import Target, TargetKind
from annotation.models import AuditEvent, GoldLabel, PairwiseLabel, Turn
from annotation.queries.adjudication import SEED
from tests.factory import (
    make_comparison,
    make_dataset,
    make_item,
    make_label,
    make_rater,
    make_rating,
    make_response,
    make_scenario,
    make_session,
    make_study,
    make_turn,
    make_user,
)
from tests.markup import one_line

pytestmark = pytest.mark.django_db

WORDS = {"A": "A", "B": "B", "T": "TIE"}


class Disputes:
    def __init__(self):
        self.dataset = make_dataset(slug="panel", name="Panel")
        self.scenario = make_scenario(self.dataset, name="Maths")
        self.raters = [make_rater(self.dataset, f"rater-{name}") for name in ("ada", "ben", "cem")]

    def pair(self, key, verdicts, *, study=None):
        """Verdicts of the raters in order, - for none."""
        session = make_session(self.scenario, key=f"session {key}", task_context="A task.")
        first = make_turn(session, user_message="Earlier question")
        make_response(first, original=True, text="Earlier answer", model="hidden-model")
        turn = make_turn(session, user_message=f"Ask {key}")
        comparison = make_comparison(
            turn,
            key=key,
            response_a=make_response(turn, model="hidden-one", text="Text of A"),
            response_b=make_response(turn, model="hidden-two", text="Text of B"),
        )
        for rater, verdict in zip(self.raters, verdicts, strict=True):
            if verdict != "-":
                make_label(comparison, annotator=rater, verdict=WORDS[verdict], study=study)
        return comparison

    def rated(self, scores, **target):
        for rater, score in zip(self.raters, scores, strict=True):
            reason = "OTHER" if score <= 3 else None
            make_rating(annotator=rater, score=score, reason=reason, **target)


@pytest.fixture
def disputes():
    return Disputes()


@pytest.fixture
def manager(client):
    client.manager = make_user(role="MANAGER")
    client.force_login(client.manager)
    return client


def keys(answer):
    return [target.key for target, *_more in answer.context["page"]]


def address(comparison):
    return f"/adjudication/comparison/{comparison.pk}/"


def order_of(comparison):
    return shown_order(Target(TargetKind.COMPARISON, comparison.pk), seed=SEED)


def every_address(disputes):
    return ["/adjudication/", "/adjudication/next/", address(disputes.pair("p", "AB-"))]


def test_strangers_sign_in_first(client, disputes):
    for each in every_address(disputes):
        answer = client.get(each)
        assert (answer.status_code, answer.url) == (302, f"/sign-in/?next={each}")


@pytest.mark.parametrize("role", ["VIEWER", "ANNOTATOR"])
def test_only_managers_decide(client, disputes, role):
    client.force_login(make_user(role=role))
    addresses = every_address(disputes)
    assert [client.get(each).status_code for each in addresses] == [403] * 3
    answer = {"answer": "FIRST", "rationale": "Because."}
    assert client.post(addresses[2], answer).status_code == 403
    assert not GoldLabel.objects.exists()


def test_an_admin_decides_too(client, disputes):
    client.force_login(make_user(role="ADMIN"))
    assert client.get("/adjudication/").status_code == 200


def test_wrong_methods_are_refused(manager, disputes):
    queue, following, item = every_address(disputes)
    assert [manager.post(each).status_code for each in (queue, following)] == [405] * 2
    assert manager.delete(item).status_code == 405


def test_the_most_disputed_comes_first_then_the_key(manager, disputes):
    disputes.pair("two to one", "AAB")
    disputes.pair("three ways", "ABT")
    disputes.pair("b half", "AB-")
    disputes.pair("a half", "BA-")
    disputes.pair("unanimous", "AAA")
    disputes.pair("alone", "A--")
    answer = manager.get("/adjudication/")
    assert keys(answer) == ["three ways", "a half", "b half", "two to one"]
    assert "0 of 4 disputed items decided" in answer.content.decode()
    assert keys(manager.get("/adjudication/?part=all"))[-1] == "unanimous"
    assert keys(manager.get("/adjudication/?part=decided")) == []


@pytest.mark.parametrize(
    ("message", "opening"),
    [("x" * 160, "x" * 160), ("x" * 161, "x" * 159 + "…"), ("x" * 158 + " yz", "x" * 158 + "…")],
)
def test_a_long_request_says_that_more_follows(manager, disputes, message, opening):
    disputes.pair("a half", "AB-")
    Turn.objects.update(user_message=message)
    ((target, *_more),) = manager.get("/adjudication/").context["page"]
    assert target.opening == opening


@pytest.mark.parametrize(
    ("verdicts", "part", "words"),
    [
        ([], "open", "No answers yet"),
        (["AA-"], "open", "No disputed items"),
        (["AB-"], "decided", "No matching items"),
    ],
)
def test_empty_queues_say_why(manager, disputes, verdicts, part, words):
    for each in verdicts:
        disputes.pair("p", each)
    assert words in manager.get(f"/adjudication/?part={part}").content.decode()
    assert manager.get("/adjudication/next/").status_code == 302


def test_the_queue_can_be_narrowed_to_a_study(manager, disputes):
    study = make_study(disputes.dataset, slug="second-look")
    make_study(make_dataset(), slug="elsewhere")
    inside = disputes.pair("in", "AB-", study=study)
    outside = disputes.pair("out", "AB-")
    assert manager.get(f"{address(inside)}?study=second-look").status_code == 200
    assert manager.get(f"{address(outside)}?study=second-look").status_code == 404
    assert keys(manager.get("/adjudication/?dataset=panel&study=second-look")) == ["in"]
    other = manager.get("/adjudication/?dataset=panel&study=second-look&was_dataset=other")
    assert len(keys(other)) == 2
    assert manager.get("/adjudication/?study=elsewhere").status_code == 404


@pytest.mark.parametrize("asked", ["dataset=none", "kind=scores", "kind=odd", "part=odd"])
@pytest.mark.parametrize("page", ["/adjudication/", "/adjudication/next/"])
def test_what_is_not_there_is_not_found(manager, disputes, page, asked):
    disputes.pair("p", "AB-")
    assert manager.get(f"{page}?{asked}").status_code == 404


@pytest.mark.parametrize("asked", ["", "?dataset=none"])
def test_without_any_answer_there_is_nothing_to_decide(manager, asked):
    status = manager.get(f"/adjudication/next/{asked}").status_code
    assert status == (404 if asked else 302)


def test_an_item_shows_both_texts_and_no_name(manager, disputes):
    comparison = disputes.pair("p", "ABB")
    make_label(comparison, annotator=disputes.raters[0], verdict="B", repeat_index=1)
    page = one_line(manager.get(address(comparison)))
    for words in (
        "Earlier question",
        "Earlier answer",
        "Ask p",
        "Text of A",
        "Text of B",
        "A task.",
    ):
        assert words in page
    assert "3 annotators · 2 different answers" in page
    for name in ("hidden-", "rater-", "ada", "ben", "cem"):
        assert name not in page.split("<main", 1)[1].lower()
    a_first = page.index("Text of A") < page.index("Text of B")
    assert a_first is (order_of(comparison) is Order.ORIGINAL)
    tally = dict(manager.get(address(comparison)).context["item"].tally)
    first, second = (1, 2) if a_first else (2, 1)
    assert tally == {"FIRST": first, "SECOND": second}


@pytest.mark.parametrize("verdicts", ["A--", "---"])
def test_an_item_of_one_annotator_is_no_item(manager, disputes, verdicts):
    comparison = disputes.pair("p", verdicts)
    assert manager.get(address(comparison)).status_code == 404
    assert manager.post(address(comparison), {"answer": "TIE", "rationale": "x"}).status_code == 404
    assert manager.get("/adjudication/comparison/999999/").status_code == 404


@pytest.mark.parametrize("wanted", ["A", "B", "TIE"])
@pytest.mark.parametrize("swapped", [True, False])
def test_a_decision_is_stored_in_the_comparison_s_own_terms(manager, disputes, swapped, wanted):
    order = Order.SWAPPED if swapped else Order.ORIGINAL
    comparison = next(
        each
        for each in (disputes.pair(f"p{number}", "ABT") for number in range(40))
        if order_of(each) is order
    )
    answer = {"A": "FIRST", "B": "SECOND", "TIE": "TIE"}[wanted]
    if swapped:
        answer = {"FIRST": "SECOND", "SECOND": "FIRST", "TIE": "TIE"}[answer]
    before = list(PairwiseLabel.objects.order_by("pk").values())
    found = manager.post(address(comparison), {"answer": answer, "rationale": " It is right. "})
    assert found.status_code == 302
    gold = GoldLabel.objects.get()
    assert (gold.comparison, gold.verdict, gold.score) == (comparison, wanted, None)
    assert (gold.source, gold.rationale) == ("ADJUDICATION", "It is right.")
    assert gold.created_by == manager.manager
    assert list(PairwiseLabel.objects.order_by("pk").values()) == before


def test_deciding_leads_to_the_next_until_all_are_decided(manager, disputes):
    disputes.pair("b", "AB-")
    disputes.pair("a", "AB-")
    answer = {"answer": "TIE", "rationale": "Equal."}
    where = "/adjudication/next/?dataset=panel"
    seen = []
    for _ in range(2):
        item = manager.get(where, follow=True)
        seen.append(item.context["item"].key)
        path, asked = item.redirect_chain[-1][0].split("?")
        where = manager.post(f"{path}?{asked}", answer).url
    assert seen == ["a", "b"]
    end = manager.get(where, follow=True)
    assert end.redirect_chain[-1][0] == "/adjudication/?dataset=panel"
    assert "All items decided" in end.content.decode()
    assert keys(manager.get("/adjudication/?part=decided")) == ["a", "b"]


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"answer": "TIE"},
        {"answer": "TIE", "rationale": " "},
        {"rationale": "x"},
        {"answer": "5", "rationale": "x"},
    ],
)
def test_a_decision_needs_an_answer_and_a_reason(manager, disputes, answer):
    comparison = disputes.pair("p", "AB-")
    assert manager.post(address(comparison), answer).status_code == 422
    assert not GoldLabel.objects.exists()


def test_a_decision_can_be_changed_with_a_trace(manager, disputes):
    comparison = disputes.pair("p", "AB-")
    manager.post(address(comparison), {"answer": "TIE", "rationale": "Equal."})
    page = manager.get(address(comparison)).content.decode()
    assert "a new decision replaces it" in page
    assert "Equal." in page
    manager.post(address(comparison), {"answer": "TIE", "rationale": "Equal."})
    assert AuditEvent.objects.count() == 1
    other = make_user(role="ADMIN")
    manager.force_login(other)
    better = "FIRST" if order_of(comparison) is Order.ORIGINAL else "SECOND"
    stood = manager.get(address(comparison)).context["form"]["replaces"].value()
    sent = {"answer": better, "rationale": "A is right.", "replaces": stood}
    manager.post(address(comparison), sent)
    gold = GoldLabel.objects.get()
    assert (gold.verdict, gold.rationale, gold.created_by) == ("A", "A is right.", other)
    first, second = AuditEvent.objects.order_by("pk")
    assert (first.action, second.action) == ("gold.decided", "gold.changed")
    assert (second.actor, second.target, second.target_id) == (other, "goldlabel", gold.pk)
    assert second.detail["before"] == {"verdict": "TIE", "score": None, "rationale": "Equal."}
    assert second.detail["after"]["verdict"] == "A"


@pytest.mark.parametrize("replaces", ["", "nonsense", "2026-01-01T00:00:00", "2026-01-01T00:00Z"])
def test_who_decides_at_the_same_time_is_told_and_asked_again(manager, disputes, replaces):
    comparison = disputes.pair("p", "AB-")
    manager.post(address(comparison), {"answer": "TIE", "rationale": "Equal, I say."})
    manager.force_login(make_user(role="ADMIN"))
    sent = {"answer": "FIRST", "rationale": "The first.", "replaces": replaces}
    told = manager.post(address(comparison), sent)
    assert told.status_code == 409
    html = told.content.decode()
    assert "Someone else has just decided this item" in html
    assert "Equal, I say." in html
    assert "The first.</textarea>" in html
    assert GoldLabel.objects.get().verdict == "TIE"
    assert AuditEvent.objects.count() == 1

    again = told.context["form"]["replaces"].value()
    assert manager.post(address(comparison), {**sent, "replaces": again}).status_code == 302
    assert GoldLabel.objects.get().verdict != "TIE"
    assert AuditEvent.objects.count() == 2


def test_gold_of_the_dataset_is_no_decision_and_changing_it_asks_first(manager, disputes):
    study = make_study(disputes.dataset, allow_tie=True)
    comparison = disputes.pair("p", "ABT", study=study)
    make_item(study, comparison=comparison, kind="GOLD")
    GoldLabel.objects.create(comparison=comparison, verdict="A", source="DATASET")
    disputes.pair("q", "AB-")
    queue = manager.get("/adjudication/")
    assert keys(queue) == ["p", "q"]
    assert one_line(queue).count('<span class="tag">gold</span>') == 1
    assert "asks before it replaces it" in one_line(manager.get(address(comparison)))
    sent = {"answer": "TIE", "rationale": "Equal."}
    asking = manager.post(address(comparison), sent)
    shown = "first" if order_of(comparison) is Order.ORIGINAL else "second"
    assert asking.status_code == 409
    assert f"came with, “The {shown} is better”" in one_line(asking)
    told = "of 3 annotators: of 3 answers to it 1 are right now, 1 would be."
    assert told in one_line(asking)
    assert not GoldLabel.objects.filter(source="ADJUDICATION").exists()
    for other in ("B", "²", "x"):
        assert manager.post(address(comparison), {**sent, "over": other}).status_code == 409
    named = asking.context["form"]["over"].value()
    assert manager.post(address(comparison), {**sent, "over": named}).status_code == 302
    assert GoldLabel.objects.filter(source="DATASET", verdict="A").exists()
    assert GoldLabel.objects.filter(source="ADJUDICATION", verdict="TIE").exists()


def test_a_decision_that_changes_no_gold_asks_nothing(manager, disputes):
    same, marked = disputes.pair("same", "AB-"), disputes.pair("marked", "AB-")
    for comparison, source in ((same, "DATASET"), (marked, "DATASET"), (marked, "MANAGER")):
        GoldLabel.objects.create(comparison=comparison, verdict="A", source=source)
    for comparison, is_a in ((same, True), (marked, False)):
        first = is_a is (order_of(comparison) is Order.ORIGINAL)
        answer = "FIRST" if first else "SECOND"
        sent = {"answer": answer, "rationale": "Shorter."}
        assert manager.post(address(comparison), sent).status_code == 302
    assert "holds; your decision is saved beside it" in one_line(manager.get(address(marked)))
    again = {"answer": "TIE", "rationale": "Equal."}  # it says already what stands
    replaces = {"replaces": GoldLabel.objects.get(comparison=same, source="ADJUDICATION")}
    replaces["replaces"] = replaces["replaces"].created_at.isoformat()
    assert manager.post(address(same), {**again, **replaces}).status_code == 302


@pytest.mark.parametrize("tie", [True, False])
def test_a_tie_counts_as_gold_only_where_it_may_be_said(manager, disputes, tie):
    study = make_study(disputes.dataset, allow_tie=tie)
    comparison = disputes.pair("p", "AAT", study=study)
    make_item(study, comparison=comparison, kind="GOLD")
    GoldLabel.objects.create(comparison=comparison, verdict="B", source="DATASET")
    asking = manager.post(address(comparison), {"answer": "TIE", "rationale": "Equal."})
    assert f"0 are right now, {int(tie)} would be." in one_line(asking)


def test_changing_the_gold_score_of_a_turn_asks_too(manager, disputes):
    session = make_session(disputes.scenario, key="talk")
    response = make_response(make_turn(session), original=True, text="It is.")
    study = make_study(disputes.dataset, kind="SATISFACTION")
    make_item(study, session=session, kind="GOLD")
    GoldLabel.objects.create(response=response, score=5, source="DATASET")
    disputes.rated([5, 1, 4], response=response, study=study)
    where = f"/adjudication/response/{response.pk}/"
    asking = manager.post(where, {"answer": "2", "rationale": "Poor."})
    assert "of 3 answers to it 2 are right now, 1 would be." in one_line(asking)
    sent = {"answer": "2", "rationale": "Poor.", "over": "5"}
    assert manager.post(where, sent).status_code == 302


def test_a_turn_is_decided_by_a_score(manager, disputes):
    session = make_session(disputes.scenario, key="talk")
    make_turn(session, user_message="Before")
    turn = make_turn(session, user_message="Is it good?")
    response = make_response(turn, original=True, text="It is.", model="hidden-model")
    disputes.rated([5, 1, 3], response=response)
    answer = manager.get("/adjudication/next/?dataset=panel", follow=True)
    page = answer.content.decode()
    for words in ("Before", "Is it good?", "It is.", "5 Very satisfied"):
        assert words in page
    assert "hidden-model" not in page
    assert sorted(answer.context["item"].tally) == [(1, 1), (3, 1), (5, 1)]
    where = f"/adjudication/response/{response.pk}/"
    assert manager.post(where, {"answer": "FIRST", "rationale": "x"}).status_code == 422
    assert manager.post(where, {"answer": "4", "rationale": "Good enough."}).status_code == 302
    gold = GoldLabel.objects.get()
    assert (gold.response, gold.score, gold.verdict) == (response, 4, None)
    assert "Good enough." in manager.get(where).content.decode()


def test_a_session_is_decided_by_a_score(manager, disputes):
    session = make_session(disputes.scenario, key="talk")
    turn = make_turn(session, user_message="Is it good?")
    make_response(turn, original=True, text="It is.")
    make_turn(session, user_message=None)
    disputes.rated([5, 1, 5], session=session)
    where = f"/adjudication/session/{session.pk}/"
    page = manager.get(where).content.decode()
    assert page.index("Is it good?") < page.index("It is.")
    manager.post(where, {"answer": "2", "rationale": "It is not."})
    assert GoldLabel.objects.get().session == session
    assert keys(manager.get("/adjudication/?part=decided")) == ["talk"]


def test_what_the_pages_cost(manager, disputes, django_assert_num_queries):
    comparison = disputes.pair("p", "AB-")
    make_study(disputes.dataset)
    for number in range(3):
        disputes.pair(f"p{number}", "ABT")
    # Session and user, datasets, studies, labels, keys, decisions of three kinds, rows.
    with django_assert_num_queries(10):
        manager.get("/adjudication/?dataset=panel")
    # Session and user, labels, comparison, earlier turns and their responses, the decision.
    with django_assert_num_queries(7):
        manager.get(address(comparison))
