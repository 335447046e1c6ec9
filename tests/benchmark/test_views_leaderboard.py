from __future__ import annotations

import re
from html import unescape

import pytest
from django.core.cache import cache

from judging.models import JudgeRun
from tests.benchmark.stage import Stage
from tests.factory import (
    make_comparison,
    make_endpoint,
    make_label,
    make_response,
    make_turn,
    make_user,
)

pytestmark = pytest.mark.django_db

MODEL = "/leaderboard/model/"
CSV = "/leaderboard/leaderboard.csv"
DUELS = "/leaderboard/head-to-head.csv"


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


def study():
    stage = Stage.make(scenarios=("Writing", "Code"), size=4)
    ann, bob = stage.rater("ann"), stage.rater("bob")
    stage.label(ann, "AABT" + "ABAA")
    stage.label(bob, "ABBA" + "AA..")
    stage.tested(ann, stage.distilled(ann), base="BBBB" * 2, selected="AAB." + "ABBA")
    return stage, ann, bob


def text(answer):
    return " ".join(answer.content.decode().split())


def test_strangers_sign_in_first(client):
    for address in ("/leaderboard/", MODEL, CSV, DUELS):
        answer = client.get(address)
        assert (answer.status_code, answer.url) == (302, f"/sign-in/?next={address}")


def test_annotators_stay_blind_to_models(client):
    study()
    client.force_login(make_user(role="ANNOTATOR"))
    for address in ("/leaderboard/", MODEL, CSV, DUELS):
        answer = client.get(address)
        assert answer.status_code == 403
        assert "alpha" not in text(answer)


def test_pages_are_only_read(viewer):
    assert [viewer.post(each).status_code for each in ("/leaderboard/", MODEL, CSV, DUELS)] == [
        405
    ] * 4


def test_without_verdicts_the_page_says_so(viewer):
    assert "No verdicts yet" in text(viewer.get("/leaderboard/"))
    Stage.make()
    page = text(viewer.get("/leaderboard/"))
    assert "No verdicts yet" in page
    assert "/snapshots/keep/" not in page  # nothing is there to keep


def test_humans_and_judges_have_a_leaderboard_each(viewer):
    study()
    boards = {
        view.board.source.value: view.board
        for view in viewer.get("/leaderboard/").context["boards"]
    }
    human = boards["human"]
    # alpha: ann 5 wins and a tie of 8, bob 4 of 6.
    assert human.verdicts == 14
    assert human.win_rates["alpha"].value == pytest.approx(9.5 / 14)
    assert human.win_rates["alpha"].comparisons == 8
    # Two orders of 7 comparisons with a winner: the fourth was a tie and is not judged.
    assert boards["selected"].verdicts == 14
    assert boards["selected"].win_rates["alpha"].value == pytest.approx(4 / 7)
    assert boards["base"].win_rates["alpha"].value == 0


def test_of_all_ties_nobody_comes_first(viewer):
    stage = Stage.make(size=12)
    stage.label(stage.rater("ann"), "T" * 12)
    page = viewer.get("/leaderboard/")
    assert page.context["boards"][0].board.ranking.first == {"alpha": 0.5, "beta": 0.5}
    assert "No clear leader" in text(page)
    assert "alpha, beta cannot be told apart." in text(page)
    assert (
        "Ratings have no interval: in every comparison both models got as many verdicts."
        in text(page)
    )
    assert " leads: above " in text(_decided(viewer))


def test_of_models_that_always_win_the_page_says_that_they_lead(viewer):
    stage = Stage.make(size=12)
    stage.label(stage.rater("ann"), "A" * 12)
    assert "<strong>alpha</strong> leads: it never lost." in text(viewer.get("/leaderboard/"))


def test_a_judge_that_was_asked_by_several_prompts_is_shown_by_one_at_a_time(viewer):
    stage = Stage.make(size=12)
    ann = stage.rater("ann")
    stage.label(ann, "A" * 12)
    for prompt, verdicts in (("PAIRWISE", "A" * 9 + "BBB"), ("SINGLE", "B" * 9 + "AAA")):
        run = stage.tested(ann, None, base=verdicts)
        run.config["prompt"] = prompt
        run.save()
    page = viewer.get("/leaderboard/")
    assert "Base judge (lexical) · Grades from 1 to 10" in text(page)
    assert [view.board.win_rates["alpha"].value for view in page.context["boards"]] == [1, 0.25]
    by_rubric = viewer.get("/leaderboard/?prompt=PAIRWISE")
    assert "Base judge (lexical) · Generic rubric" in text(by_rubric)
    assert by_rubric.context["boards"][1].board.win_rates["alpha"].value == 0.75
    rows = viewer.get(f"{CSV}?prompt=PAIRWISE").content.decode().splitlines()
    assert ",PAIRWISE," in rows[-1]
    assert ",SINGLE," not in rows[-1]
    assert viewer.get("/leaderboard/?prompt=THOUGHT").status_code == 404
    kept = viewer.get("/leaderboard/?prompt=PAIRWISE").context["permanent"]
    assert "prompt=PAIRWISE" in kept


def _decided(viewer):
    stage = Stage.make(slug="decided", name="Decided", size=20)
    stage.label(stage.rater("ann"), "A" * 17 + "BBB")
    return viewer.get("/leaderboard/?dataset=decided")


def test_a_model_that_never_won_has_no_rating(viewer):
    study()
    page = text(viewer.get("/leaderboard/"))
    assert "unbounded: never lost, or never won, against the rated models" in page
    assert "Base judge (lexical)" in page


def test_scenario_and_annotator_narrow_every_board(viewer):
    stage, _ann, bob = study()
    address = f"/leaderboard/?dataset=study&scenario={stage.scenarios[1].pk}&annotator={bob.pk}"
    (view,) = viewer.get(address).context["boards"]
    assert (view.board.source, view.board.verdicts, view.tables) == ("human", 2, ())
    only_code = viewer.get(f"/leaderboard/?scenario={stage.scenarios[1].pk}").context["boards"]
    assert [each.board.verdicts for each in only_code] == [6, 8, 8]


def test_another_dataset_drops_the_finer_choices(viewer):
    stage, ann, _bob = study()
    other = make_label().comparison.turn.session.dataset
    address = f"/leaderboard/?dataset={other.slug}&was_dataset=study&annotator={ann.pk}"
    scope = viewer.get(address).context["scope"]
    assert (scope.dataset.slug, scope.annotator) == (other.slug, None)
    assert stage.dataset.slug in {each.slug for each in scope.datasets}
    back = f"/leaderboard/?dataset=study&was_dataset={other.slug}&annotator=999999&method=elo"
    links = re.findall(r'href="(/leaderboard/[^"]*method=elo[^"]*)"', text(viewer.get(back)))
    assert links
    assert not [link for link in links if "annotator" in link]
    assert {viewer.get(unescape(link)).status_code for link in links} == {200}


def test_verdicts_on_unnamed_models_are_counted_and_left_out(viewer):
    stage, ann, _bob = study()
    turn = make_turn(stage.comparisons["Code"][0].turn.session)
    unnamed = make_comparison(
        turn, response_a=make_response(turn, model=""), response_b=make_response(turn, model="beta")
    )
    make_label(unnamed, annotator=ann)
    page = viewer.get("/leaderboard/")
    assert page.context["boards"][0].board.unnamed == 1
    assert "1 verdict is not counted: the model of a response is unknown." in text(page)


def test_htmx_gets_the_part_below_the_navigation(viewer):
    study()
    part = text(viewer.get("/leaderboard/", headers={"HX-Request": "true", "HX-Target": "figures"}))
    assert "<html" not in part
    assert "Human labels" in part


def test_a_hidden_repeat_is_no_second_verdict(viewer):
    stage, ann, _bob = study()
    make_label(stage.comparisons["Writing"][0], annotator=ann, verdict="B", repeat_index=1)
    board = viewer.get("/leaderboard/").context["boards"][0].board
    assert board.verdicts == 14


def test_the_rows_of_a_model_say_how_each_verdict_went(viewer):
    study()
    found = viewer.get(f"{MODEL}?model=beta").context["found"]
    rows = {row.key: (row.opponent, row.won, row.tied, row.lost) for row in found.rows}
    assert len(rows) == 8
    # The second comparison: ann A, bob B; the fourth: ann a tie, bob A.
    assert list(rows.values())[1] == ("alpha", 1, 0, 1)
    assert list(rows.values())[3] == ("alpha", 0, 1, 1)
    judged = viewer.get(f"{MODEL}?model=alpha&source=base").context["found"]
    assert [row.lost for row in judged.rows] == [2] * 7


def test_a_model_can_have_the_longest_name(viewer):
    name = f"{'m' * 200} ({'v' * 120})"
    turn = make_turn(study()[0].comparisons["Code"][0].turn.session)
    one = make_response(turn, model="m" * 200, variant="v" * 120)
    make_label(make_comparison(turn, response_a=one, response_b=make_response(turn, model="b")))
    assert len(viewer.get(MODEL, {"model": name}).context["found"].rows) == 1


@pytest.mark.parametrize(
    "address",
    [
        "/leaderboard/?dataset=none",
        "/leaderboard/?scenario=999999",
        "/leaderboard/?annotator=x",
        MODEL,
        f"{MODEL}?model=nobody",
        f"{MODEL}?model=alpha&source=oracle",
        f"{MODEL}?model=alpha&opponent=nobody",
        f"{CSV}?dataset=none",
        f"{DUELS}?dataset=none",
        "/leaderboard/?language=zh",
        "/leaderboard/?method=sorcery",
    ],
)
def test_what_is_not_there_is_not_found(viewer, address):
    study()
    assert viewer.get(address).status_code == 404


def test_the_export_holds_every_figure(viewer):
    study()
    answer = viewer.get(CSV)
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    heading, *lines = answer.content.decode().splitlines()
    assert heading.startswith("source,judge,method,model,standing,rating,low,high,rank")
    assert len(lines) == 6
    assert lines[0].startswith("human,,bradley-terry,alpha,RATED,")


def test_the_charts_of_a_page_share_one_axis(viewer):
    study()
    plots = [view.plot for view in viewer.get("/leaderboard/").context["boards"]]
    assert len(plots) > 1
    assert len({plot.ticks for plot in plots}) == 1


def test_an_end_among_unbounded_draws_is_told(viewer):
    stage = Stage.make(size=10)
    stage.label(stage.rater("ann"), "A" * 9 + "B")
    page = text(viewer.get("/leaderboard/"))
    best, worst = viewer.get("/leaderboard/").context["page"].boards[0].ranking.models
    assert f'<span class="iv">{best.low:.0f} … unbounded</span>' in page
    assert f'<span class="iv">unbounded … {worst.high:.0f}</span>' in page
    assert "An end is unbounded where the model never lost, or never won" in page


def boards_of(page):
    return {
        view.board.source.value: [(row.model, row.rating) for row in view.board.ranking.models]
        for view in page.context["boards"]
    }


def test_a_permanent_link_shows_the_same_boards_after_a_later_run(viewer):
    stage, ann, _bob = study()
    writing = stage.scenarios[0].pk
    page = viewer.get(f"/leaderboard/?dataset=study&scenario={writing}&method=win-rate")
    (link,) = re.findall(r'href="([^"]*)" data-permanent>', page.content.decode())
    last = JudgeRun.objects.order_by("pk").last().pk
    assert f"scenario={writing}&amp;method=win-rate&amp;until={last}" in link
    shown = boards_of(page)
    stage.tested(ann, stage.distilled(ann), base="AAAA" * 2, selected="BBBB" * 2)
    cache.clear()
    assert boards_of(viewer.get(page.wsgi_request.get_full_path())) != shown
    pinned = viewer.get(unescape(link))
    assert boards_of(pinned) == shown
    told = text(pinned)
    assert f"runs after number {last}; labels given since then count. Newer runs exist." in told
    assert f'<input type="hidden" name="until" value="{last}">' in told
    assert f"&amp;until={last}" in told.split("leaderboard.csv")[1].split('"')[0]
    assert viewer.get(f"{CSV}?dataset=study&until={last}").content.decode().count(f",{last},")
    other = viewer.get(f"/leaderboard/?dataset=study&was_dataset=gone&until={last}")
    assert other.context["scope"].question.until is None


def test_while_a_run_is_in_progress_no_link_is_permanent(viewer):
    stage, ann, _bob = study()
    stage.tested(ann, None, base="AAAA" * 2, status="RUNNING")
    page = text(viewer.get("/leaderboard/"))
    assert "A permanent link is available when it has finished." in page


def test_the_export_of_nothing_is_empty(viewer):
    assert viewer.get(CSV).content.decode().strip() == ""


def test_what_the_page_costs_does_not_grow_with_rows(viewer, django_assert_num_queries):
    study()
    with django_assert_num_queries(29):
        viewer.get("/leaderboard/")
    with django_assert_num_queries(4):  # kept until a label or a run comes
        viewer.get("/leaderboard/")
    with django_assert_num_queries(15):
        viewer.get(f"{MODEL}?model=alpha")


def test_recorded_verdicts_have_a_leaderboard(viewer):
    stage, ann, _bob = study()
    run = stage.tested(ann, None, base="AAB." + "AAAB", kind="RECORDED", judge="gpt-4")
    run.config = {}
    run.save()
    for parameters, verdicts in (("", 14), (f"?scenario={stage.scenarios[1].pk}", 8)):
        boards = viewer.get(f"/leaderboard/{parameters}").context["boards"]
        (recorded,) = (each.board for each in boards if each.board.source == "base")
        assert (recorded.judge, recorded.verdicts) == ("gpt-4", verdicts)


def test_a_judge_s_board_names_the_models_of_its_family(viewer):
    study()
    assert "same family as the judge" not in text(viewer.get("/leaderboard/"))
    cache.clear()
    JudgeRun.objects.update(judge="fake", endpoint=make_endpoint(name="fake", model="alpha"))
    page = text(viewer.get("/leaderboard/"))
    assert "Same model family (alpha): fake may favour the responses of alpha when judging." in page
    human, *judged, _corrected, _reference = page.split("<h2>")[1:]
    assert "same family" not in human
    assert all(board.count("same family as the judge") == 1 for board in judged)


def test_what_stands_in_has_a_board_and_the_selected_set_another(viewer):
    stage = Stage.make(size=4)
    ann = stage.rater("ann")
    stage.label(ann, "AAAB")
    stage.tested(ann, stage.distilled(ann), base="BBBB", selected="BBBB", stack="AAAB")
    boards = {view.name: view.board for view in viewer.get("/leaderboard/").context["boards"]}
    assert list(boards) == [
        "Human labels",
        "Judge by weighted vote (lexical)",
        "Judge with selected preferences (lexical)",
        "Base judge (lexical)",
    ]
    rates = [board.win_rates["alpha"].value for board in boards.values()]
    assert rates == [0.75, 0.75, 0, 0]
    rows = text(viewer.get(f"{MODEL}?model=alpha&source=selected"))
    assert "Judge by weighted vote (lexical)" in rows
    assert "Judge with selected" in text(viewer.get(f"{MODEL}?model=alpha&source=subset"))


def test_one_of_several_judges_can_be_chosen(viewer):
    stage, ann, _bob = study()
    assert 'name="judge"' not in text(viewer.get("/leaderboard/"))
    config = {"targets": {"kind": "unlabelled"}, "unscored": True}
    other = stage.tested(ann, None, base="AAB." + "AAAB", judge="other")
    JudgeRun.objects.filter(pk=other.pk).update(config={**other.config, **config})
    page = viewer.get("/leaderboard/")
    assert 'name="judge"' in text(page)
    assert {view.board.judge for view in page.context["boards"]} == {"", "lexical"}
    chosen = viewer.get("/leaderboard/?judge=other")
    assert "<option selected>other</option>" in text(chosen)
    assert [view.board.judge for view in chosen.context["boards"]] == ["", "other"]
    assert "judge=other" in text(chosen)
    assert viewer.get(f"{MODEL}?model=alpha&source=base&judge=other").status_code == 200
    assert viewer.get("/leaderboard/?judge=nobody").status_code == 404
    assert viewer.get("/leaderboard/?judge=nobody&was_dataset=else").status_code == 200


def test_the_vote_is_named_only_where_a_run_that_is_read_has_one(viewer):
    stage = Stage.make(size=4)
    ann = stage.rater("ann")
    stage.label(ann, "AAAB")
    parent = stage.distilled(ann)
    stage.tested(ann, parent, base="BBBB", selected="BBBB", stack="AAAB")
    # Read since: the same preferences without their vote.
    stage.tested(ann, parent, base="BBBB", selected="AABB")
    names = [view.name for view in viewer.get("/leaderboard/").context["boards"]]
    assert names == [
        "Human labels",
        "Judge with selected preferences (lexical)",
        "Base judge (lexical)",
    ]
    rows = text(viewer.get(f"{MODEL}?model=alpha&source=selected"))
    assert "Judge with selected preferences (lexical)" in rows


@pytest.mark.parametrize("status", ["PENDING", "FAILED", "CANCELLED"])
def test_a_judge_without_a_verdict_cannot_be_chosen(viewer, status):
    stage, ann, _bob = study()
    stage.tested(ann, None, base="-" * 8, judge="other", status=status)
    page = viewer.get("/leaderboard/")
    assert page.context["scope"].judges == ("lexical",)
    assert viewer.get("/leaderboard/?judge=other").status_code == 404


@pytest.mark.parametrize(
    ("method", "first", "word"),
    [
        ("elo", "101", "Elo points begin at 1000"),
        ("win-rate", "", "<strong>alpha</strong> leads: above beta with"),
    ],
)
def test_models_can_be_ranked_by_another_method(viewer, method, first, word):
    stage = Stage.make(size=10)
    stage.label(stage.rater("ann"), "A" * 10)
    address = f"/leaderboard/?method={method}"
    page = text(viewer.get(address))
    assert word in page
    assert "unbounded" not in page
    (view,) = viewer.get(address).context["boards"]
    assert f'<option value="{method}" selected>' in page
    assert view.board.ranking.models[0].model == "alpha"
    assert [row.rating is None for row in view.board.ranking.models] == [False, False]
    rating = viewer.get(f"{CSV}?method={method}").content.decode().splitlines()[1].split(",")[5]
    assert rating.startswith(first or "1.0")


def test_head_to_head_leads_to_the_comparisons_of_two_models(viewer):
    stage, ann, _bob = study()
    turn = make_turn(stage.comparisons["Code"][0].turn.session)
    other = make_comparison(
        turn,
        response_a=make_response(turn, model="alpha"),
        response_b=make_response(turn, model="gamma"),
    )
    make_label(other, annotator=ann, verdict="TIE")
    page = text(viewer.get("/leaderboard/"))
    address = "?dataset=study&amp;model=alpha&amp;opponent=gamma&amp;source=human"
    assert f'href="{MODEL}{address}"> 0–1–0 </a>' in page
    # ann: 5 wins, a tie and 2 losses; bob: 4 of 6.
    assert "> 9–1–4 </a>" in page
    rows = viewer.get(f"{MODEL}?model=alpha&opponent=gamma").context["found"].rows
    assert [(row.comparison, row.tied) for row in rows] == [(other.pk, 1)]
    lines = viewer.get(DUELS).content.decode().splitlines()
    assert lines[0].startswith("source,judge,model,opponent,wins,ties,losses,comparisons,above,")
    assert "human,,alpha,gamma,0,1,0,1," in "".join(lines)
    run = JudgeRun.objects.get(kind="TEST").pk
    assert {line.split(",")[9] for line in lines if line.startswith("base,")} == {str(run)}
    assert f",study,,,,,as written,{run},42," in lines[1]


def test_who_comes_first_for_an_annotator(viewer):
    stage = Stage.make(size=20)
    ann = stage.rater("ann")
    stage.label(ann, "A" * 15 + "B" * 5)
    stage.label(stage.rater("bob"), "B" * 15 + "A" * 5)
    assert "For ann: <strong>alpha</strong> leads: above beta with" in text(
        viewer.get(f"/leaderboard/?annotator={ann.pk}")
    )


def test_a_language_narrows_every_board(viewer):
    stage, _ann, _bob = study()
    one, other = stage.comparisons["Writing"][:2]
    one.turn.session.language = "zh-Hans"
    one.turn.session.save()
    other.turn.user_message = "请写一封信给房东"
    other.turn.save()
    page = viewer.get("/leaderboard/")
    assert page.context["scope"].languages == ("en", "zh")
    human = page.context["boards"][0]
    assert set(human.board.by_language) == {"en", "zh"}
    assert "Win rate by language" in text(page)
    # ann A A, bob A B on the two.
    (told, *_judges) = viewer.get("/leaderboard/?language=zh").context["boards"]
    assert told.board.verdicts == 4
    assert told.board.win_rates["alpha"].value == 0.75
    assert viewer.get(f"{MODEL}?model=alpha&language=zh").context["page"].paginator.count == 2


def test_ratings_can_be_controlled_for_style(viewer, django_assert_num_queries):
    stage = Stage.make(size=12)
    stage.label(stage.rater("ann"), "AAAABAAAABAB")
    plain = viewer.get("/leaderboard/")
    assert "Style effects" not in text(plain)
    with django_assert_num_queries(25):
        page = viewer.get("/leaderboard/?style=on")
    (view,) = page.context["boards"]
    # beta is always the longer: what length does and who is better cannot be told apart.
    length, *others = view.board.style.effects
    assert length.interval.low < length.value < length.interval.high
    assert [each.value for each in others] == [None] * 3
    assert "Style-controlled rating" in text(page)
    assert "no two responses differ in it" in text(page)
    before = {row.model: row.rating for row in plain.context["boards"][0].board.ranking.models}
    assert {row.rating.model: row.plain for row in view.rows} == pytest.approx(before)
    stage.comparisons["Writing"][0].response_a.text = None
    stage.comparisons["Writing"][0].response_a.save()
    cache.clear()  # texts change in the admin console alone, which is noticed there
    assert "1 verdict is left out of the ratings: a response has no text." in text(
        viewer.get("/leaderboard/?style=on")
    )
    assert "controlled" not in text(viewer.get("/leaderboard/?style=on&method=elo"))
