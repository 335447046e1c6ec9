from __future__ import annotations

import csv
import io
import re
from uuid import uuid4

import pytest
from django.urls import reverse

from annotation.models import (
    AuditEvent,
    Claim,
    GoldLabel,
    ItemKind,
    PairwiseLabel,
    Participation,
    PauseReason,
    User,
)
from tests.factory import (
    make_claim,
    make_comparison,
    make_dataset,
    make_item,
    make_label,
    make_rating,
    make_response,
    make_scenario,
    make_session,
    make_study,
    make_turn,
    make_user,
)
from tests.markup import tight

pytestmark = pytest.mark.django_db


class PairStudy:
    """Ada and Ben at six pairs: two gold, where A is right, and two that come again."""

    def __init__(self):
        dataset = make_dataset(slug="panel")
        scenario = make_scenario(dataset, name="Writing")
        self.ada, self.ben = (make_user(display_name=name) for name in ("Ada", "Ben"))
        self.study = make_study(
            dataset,
            slug="pilot",
            name="Pilot",
            annotators=[self.ada, self.ben],
            overlap=2,
            gold_rate=0.25,
            repeat_rate=0.25,
            pause_gold_below=0.6,
        )
        self.items = []
        for number in range(6):
            turn = make_turn(make_session(scenario), user_message=f"Ask {number}")
            comparison = make_comparison(turn, key=f"pair-{number}")
            kind = ItemKind.GOLD if number < 2 else ItemKind.NORMAL
            self.items.append(make_item(self.study, comparison=comparison, kind=kind))
            if kind == ItemKind.GOLD:
                GoldLabel.objects.create(comparison=comparison, verdict="A", source="DATASET")
        for first in self.items[2:4]:
            make_item(self.study, comparison=first.comparison, kind="REPEAT", repeat_of=first)

    def say(self, who, verdicts, *, repeat=0, shown="ORIGINAL", start=0, **more):
        """Verdicts of items one after the other, - for none."""
        words = {"A": "A", "B": "B", "T": "TIE"}
        for item, verdict in zip(self.items[start:], verdicts, strict=False):
            if verdict == "-":
                continue
            make_label(
                item.comparison,
                annotator=who,
                study=self.study,
                verdict=words[verdict],
                repeat_index=repeat,
                shown_order=shown,
                **more,
            )
            if not repeat:
                make_claim(item, who, state="DONE", slot=_slot(item))


def _slot(item):
    return item.claims.count()


@pytest.fixture
def pairs():
    """Ada: gold right, wrong; repeats alike, not; A won all first answers but one of those shown
    first. Ben answered one normal pair without a known order or time."""
    study = PairStudy()
    study.say(study.ada, "ABAAAB", active_seconds=2.0)
    study.say(study.ada, "AB", repeat=1, start=2, shown="SWAPPED", active_seconds=10.0)
    study.say(study.ben, "-----A", shown=None)
    return study


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


@pytest.fixture
def manager(client):
    user = make_user(role="MANAGER")
    client.force_login(user)
    client.user = user
    return client


def page_of(client, **asked):
    return client.get(reverse("annotation:quality", args=["pilot"]), asked)


def rows_of(client, figure, **asked):
    address = reverse("annotation:quality-rows", args=["pilot"])
    return client.get(address, {"figure": figure, **asked})


def row_of(response, name):
    """The cells of an annotator's row, as plain text."""
    html = response.content.decode()
    row = next(each for each in re.findall(r"<tr.*?</tr>", html, re.DOTALL) if name in each)
    cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in cells]


def test_the_page_shows_every_figure(viewer, pairs):
    cells = row_of(page_of(viewer), "Ada")
    assert cells[0] == "Ada"
    assert cells[1] == "active"
    assert cells[2] == "6"
    # Chance of ABAAAB: (4 * 4 + 2 * 2) / 36. Nothing has an interval below ten answers.
    assert cells[3] == "50 % 1 of 2"
    assert cells[4] == "50 % 1 of 2 chance 56 %"
    assert cells[5] == "+17 4 of 6"
    assert cells[6] == "2.0 s of 8"
    assert cells[7] == "75 % 6 of 8"
    assert cells[8:] == ["0", "0"]


def test_of_ten_answers_a_figure_has_its_interval(viewer):
    ada = make_user(display_name="Ada")
    dataset = make_dataset()
    study = make_study(dataset, slug="pilot", annotators=[ada])
    scenario = make_scenario(dataset)
    for number in range(12):
        comparison = make_comparison(make_turn(make_session(scenario)), key=f"pair-{number}")
        item = make_item(study, comparison=comparison, kind=ItemKind.GOLD)
        GoldLabel.objects.create(comparison=comparison, verdict="A", source="DATASET")
        verdict = "A" if number < 9 else "B"
        make_label(comparison, annotator=ada, study=study, verdict=verdict, shown_order="ORIGINAL")
        make_claim(item, ada, state="DONE")
    # 9 of 12: Wilson 0.4677 to 0.9111; as a bias, less one half.
    cells = row_of(page_of(viewer), "Ada")
    assert cells[3] == "75 % 9 of 12 47 % … 91 %"
    assert cells[5] == "+25 9 of 12 \u22123 … +41"


def test_what_is_undefined_says_why(viewer, pairs):
    cells = row_of(page_of(viewer), "Ben")
    assert cells[2] == "1"
    assert cells[3] == "– no answers yet"
    assert cells[4] == "– no answers yet"
    assert cells[5] == "– no answers with a known winner"
    assert cells[6] == "– not measured"


def test_all_together_have_a_row(viewer, pairs):
    assert row_of(page_of(viewer), 'class="best"')[:3] == ["All", "", "7"]


def test_the_study_and_its_rule_are_told(viewer, pairs):
    html = page_of(viewer).content.decode()
    for text in ("8 items", "2 gold", "2 hidden repeats", "below 60", "2 of 2 requested"):
        assert text in html


def test_too_few_gold_answers_are_told(viewer, pairs):
    pairs.study.gold_rate = 0.5
    pairs.study.save()
    html = page_of(viewer).content.decode()
    assert "2 of 4 requested" in html
    assert "the dataset has too few gold answers" in html


def test_below_which_time_an_answer_is_too_fast_can_be_chosen(viewer, pairs):
    assert row_of(page_of(viewer, seconds="1.5"), "Ada")[7] == "0 % 0 of 8"
    assert row_of(page_of(viewer, seconds="11"), "Ada")[7] == "100 % 8 of 8"


def test_skips_and_flags_are_counted_and_lead_to_their_rows(viewer, pairs):
    make_claim(pairs.items[0], pairs.ben, state="SKIPPED", slot=None, skip_reason="BROKEN")
    pairs.ada.pairwiselabels.filter(comparison=pairs.items[0].comparison).update(
        extra={"flag": "HARMFUL"}
    )
    assert row_of(page_of(viewer), "Ben")[8] == "1"
    assert row_of(page_of(viewer), "Ada")[9] == "1"
    html = rows_of(viewer, "skipped", annotator=pairs.ben.pk).content.decode()
    assert "pair-0" in html
    assert "Broken or unreadable" in html
    flagged = tight(rows_of(viewer, "flags", outcome="hit"))
    assert "pair-0" in flagged
    assert ">imported<" in flagged  # no page of ours submitted it
    PairwiseLabel.objects.update(submission_id=uuid4())
    assert ">imported<" not in tight(rows_of(viewer, "flags", outcome="hit"))


def test_every_number_leads_to_its_rows(viewer, pairs):
    html = page_of(viewer).content.decode()
    links = set(re.findall(r'href="(/studies/pilot/quality/rows/\?[^"]+)"', html))
    assert len(links) >= 10
    for link in links:
        assert viewer.get(link.replace("&amp;", "&")).status_code == 200


@pytest.mark.parametrize(
    ("figure", "outcome", "keys"),
    [
        ("gold", "", {"pair-0", "pair-1"}),
        ("gold", "hit", {"pair-0"}),
        ("gold", "miss", {"pair-1"}),
        ("repeats", "hit", {"pair-2"}),
        ("repeats", "miss", {"pair-3"}),
        ("position", "miss", {"pair-1", "pair-5"}),
        ("fast", "miss", {"pair-2", "pair-3"}),
        ("answers", "", {f"pair-{number}" for number in range(6)}),
    ],
)
def test_the_rows_behind_a_figure(viewer, pairs, figure, outcome, keys):
    response = rows_of(viewer, figure, annotator=pairs.ada.pk, outcome=outcome)
    assert set(re.findall(r'title="(pair-\d)"', response.content.decode())) == keys


def test_rows_of_everybody_name_the_annotator(viewer, pairs):
    html = rows_of(viewer, "answers").content.decode()
    assert "<td>Ben</td>" in html
    assert "<td>Ada</td>" in html


def test_a_page_of_rows_without_any_says_so(viewer, pairs):
    assert "No matching answers" in rows_of(viewer, "gold", annotator=pairs.ben.pk).content.decode()
    assert "No skipped items" in rows_of(viewer, "skipped").content.decode()


@pytest.mark.parametrize(
    "asked",
    [
        {"figure": "gold-exact"},
        {"figure": "other"},
        {"figure": "gold", "annotator": "999999"},
        {"figure": "skipped", "annotator": "999999"},
        {"figure": "gold", "outcome": "odd"},
        {"figure": "gold", "seconds": "fast"},
        {},
    ],
)
def test_rows_that_do_not_exist(viewer, pairs, asked):
    address = reverse("annotation:quality-rows", args=["pilot"])
    assert viewer.get(address, asked).status_code == 404


def test_a_study_that_does_not_exist(viewer):
    for name in ("quality", "quality-csv"):
        assert viewer.get(reverse(f"annotation:{name}", args=["none"])).status_code == 404


def test_a_study_without_anybody_says_so(viewer):
    make_study(slug="pilot")
    assert "This study has no annotators yet" in page_of(viewer).content.decode()


def test_who_left_the_study_keeps_a_row(viewer, pairs):
    Participation.objects.filter(annotator=pairs.ben).delete()
    assert row_of(page_of(viewer), "Ben")[1] == "no longer in the study"


def test_the_table_has_every_figure_under_the_names_of_exported_labels(viewer, pairs):
    User.objects.update(display_name="The same name")
    response = viewer.get(reverse("annotation:quality-csv", args=["pilot"]))
    ada, ben = pairs.ada.username, pairs.ben.username
    text = response.content.decode()
    table = list(csv.DictReader(io.StringIO(text)))
    gold = next(row for row in table if (row["annotator"], row["figure"]) == (ada, "gold"))
    assert (gold["hits"], gold["answers"], gold["value"]) == ("1", "2", "0.5")
    assert (gold["low"], gold["high"]) == ("", "")
    told = next(row for row in table if (row["annotator"], row["figure"]) == (ben, "gold"))
    assert (told["value"], told["undefined"]) == ("", "NO_GOLD")
    seconds = next(row for row in table if row["figure"] == "median-seconds")
    assert (seconds["annotator"], seconds["value"], seconds["answers"]) == (ada, "2.0", "8")
    assert {row["annotator"] for row in table} == {ada, ben, ""}
    assert {(row["study"], row["dataset"]) for row in table} == {("pilot", "panel")}


def test_scores_are_right_one_off_and_exact_apart(viewer):
    dataset = make_dataset()
    ada = make_user(display_name="Ada")
    study = make_study(dataset, slug="pilot", kind="SATISFACTION", annotators=[ada])
    session = make_session(make_scenario(dataset))
    responses = [make_response(make_turn(session), original=True) for _turn in range(3)]
    item = make_item(study, session=session, kind="GOLD")
    make_item(study, session=session, kind="REPEAT", repeat_of=item)
    for response, score in zip(responses, (4, 5, 2), strict=True):
        GoldLabel.objects.create(response=response, score=4, source="DATASET")
        reason = "OTHER" if score <= 3 else None
        own = {"annotator": ada, "study": study, "score": score, "reason": reason}
        make_rating(response, **own)
        make_rating(response, **own, repeat_index=1)
    make_claim(item, ada, state="DONE")
    response = page_of(viewer)
    cells = row_of(response, "Ada")
    assert cells[3].startswith("67 % 2 of 3 ")
    assert "exact 33 %" in cells[3]
    # Scores 4, 5, 2: alike at most 1 apart are 4-4, 4-5, 5-4, 5-5, 2-2, so 5 of 9; the same, 3.
    assert "chance 56 %" in cells[4]
    assert "exact 100 %" in cells[4]
    assert "chance 33 %" in cells[4]
    assert "Position bias" not in response.content.decode()
    html = tight(rows_of(viewer, "gold-exact", outcome="miss"))
    assert html.count("not exact</span></td>") == 2
    assert rows_of(viewer, "position").status_code == 404


def test_the_page_costs_the_same_however_many_people_and_answers(
    viewer, pairs, django_assert_num_queries
):
    # One for each rule: gold, and fast answers.
    with django_assert_num_queries(11) as small:
        page_of(viewer)
    for _person in range(5):
        person = make_user()
        pairs.study.overlap += 1
        pairs.study.annotators.add(person)
        pairs.say(person, "ABABAB", active_seconds=4.0)
    with django_assert_num_queries(len(small)):
        page_of(viewer)


def test_the_rows_cost_the_same_however_many_there_are(
    viewer, pairs, django_assert_max_num_queries
):
    with django_assert_max_num_queries(10):
        rows_of(viewer, "answers")


@pytest.mark.parametrize("name", ["quality", "quality-rows", "quality-csv"])
def test_annotators_and_strangers_do_not_see_it(client, pairs, name):
    address = reverse(f"annotation:{name}", args=["pilot"])
    assert client.get(address, {"figure": "gold"}).status_code == 302
    client.force_login(pairs.ada)
    assert client.get(address, {"figure": "gold"}).status_code == 403


@pytest.mark.parametrize("name", ["quality", "quality-rows", "quality-csv"])
def test_reading_is_a_get(viewer, pairs, name):
    assert viewer.post(reverse(f"annotation:{name}", args=["pilot"])).status_code == 405


def turn(client, name, annotator, **more):
    return client.post(reverse(f"annotation:quality-{name}", args=["pilot", annotator.pk]), **more)


def test_a_manager_pauses_and_lets_go_on(manager, pairs):
    response = turn(manager, "pause", pairs.ada, follow=True)
    assert "Paused. Their items in progress go to others." in response.content.decode()
    part = Participation.objects.get(annotator=pairs.ada)
    assert part.pause_reason == PauseReason.MANAGER
    assert "1 annotator needs attention" in response.content.decode()
    assert "Paused by a manager" in row_of(response, "Ada")[1]
    response = turn(manager, "resume", pairs.ada, follow=True)
    assert "Resumed." in response.content.decode()
    part.refresh_from_db()
    assert part.paused_at is None
    assert "resumed" in row_of(response, "Ada")[1]
    actors = AuditEvent.objects.filter(target="participation").values_list("actor", flat=True)
    assert list(actors) == [manager.user.pk] * 2


def test_doing_it_twice_changes_nothing(manager, pairs):
    assert "Not paused" in turn(manager, "resume", pairs.ada, follow=True).content.decode()
    turn(manager, "pause", pairs.ada)
    again = turn(manager, "pause", pairs.ada, follow=True)
    assert "Already paused" in again.content.decode()
    assert AuditEvent.objects.filter(target="participation").count() == 1


@pytest.mark.parametrize("name", ["pause", "resume"])
def test_only_managers_pause(client, pairs, name):
    assert turn(client, name, pairs.ada).status_code == 302
    for user in (pairs.ada, make_user(role="VIEWER")):
        client.force_login(user)
        assert turn(client, name, pairs.ada).status_code == 403
    assert not AuditEvent.objects.exists()


@pytest.mark.parametrize("name", ["pause", "resume"])
def test_pausing_is_a_post_of_somebody_in_the_study(manager, pairs, name):
    address = reverse(f"annotation:quality-{name}", args=["pilot", pairs.ada.pk])
    assert manager.get(address).status_code == 405
    assert turn(manager, name, make_user()).status_code == 404


def test_viewers_are_shown_no_buttons(viewer, pairs):
    assert "/pause/" not in page_of(viewer).content.decode()


def test_pages_for_annotators_say_nothing_of_kinds(client, pairs):
    """What an annotator is sent of a gold item and of a repeat names neither."""
    Claim.objects.all().delete()
    client.force_login(pairs.ada)
    html = client.get(reverse("annotation:next", args=["pilot"])).content.decode().lower()
    assert "ask 0" in html
    for word in ("gold", "repeat"):
        assert word not in re.sub(r'"[^"]*/static/[^"]*"', "", html)
