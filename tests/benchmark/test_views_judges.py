from __future__ import annotations

import csv
import io
import re
from html import unescape
from urllib.parse import parse_qs, urlencode

import pytest

from judging.models import JudgeRun, RunKind
from tests.benchmark.stage import Stage
from tests.benchmark.test_views_gold import give_gold, record
from tests.factory import make_dataset, make_endpoint, make_user
from tests.markup import tight

pytestmark = pytest.mark.django_db

JUDGES, ROWS, CSV = "/trust/judges/", "/trust/judges/rows/", "/trust/judges.csv"


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


def study(*, scenarios=("Writing", "Code")):
    """Four pairs of two annotators a scenario: without preferences B, with them as they said."""
    stage = Stage.make(scenarios=scenarios, size=4)
    part = slice(-4 * len(scenarios), None)
    for name, labels in (("ann", "ABAB" + "AABB"), ("bob", "AABB" + "ABAB")):
        rater = stage.rater(name)
        stage.label(rater, labels[part], shown="ORIGINAL")
        stage.tested(
            rater,
            stage.distilled(rater),
            base=("BBBB" + "B?BB")[part],
            selected=labels[part],
            shuffled=("BBBB" + "AAAA")[part],
        )
    record(stage, "GPT-4", "AAAAAAAA"[part], "AABBAABB"[part])
    return stage


def agreement(page):
    """The first table, its tags between spaces."""
    return page.split("<table")[1].split("</table>")[0]


def test_strangers_sign_in_first(client):
    for address in (JUDGES, ROWS, CSV):
        answer = client.get(address)
        assert (answer.status_code, answer.url) == (302, f"/sign-in/?next={address}")


def test_annotators_are_refused(client):
    study()
    client.force_login(make_user(role="ANNOTATOR"))
    assert [client.get(each).status_code for each in (JUDGES, ROWS, CSV)] == [403] * 3


def test_pages_are_only_read(viewer):
    assert [viewer.post(each).status_code for each in (JUDGES, ROWS, CSV)] == [405] * 3


def test_without_judges_the_page_says_what_will_appear(viewer):
    assert "No judge to compare yet" in tight(viewer.get(JUDGES))
    make_dataset(slug="bare")
    assert "No judge to compare yet" in tight(viewer.get(f"{JUDGES}?dataset=bare"))
    stage = Stage.make()
    stage.label(stage.rater("ann"), "ABAB")
    assert "No judge to compare yet" in tight(viewer.get(f"{JUDGES}?dataset=study"))
    assert viewer.get(CSV).content == b"\r\n"


def test_a_line_a_judge_and_a_column_a_scenario_pooled_over_annotators(viewer):
    study()
    page = tight(viewer.get(JUDGES))
    assert "2 annotators, pooled" in page
    table = agreement(page)
    heads = [table.index(f">{name}") for name in ("Writing", "Code", "mean of scenarios")]
    assert heads == sorted(heads)
    # The lexical judge is right with preferences, the recorded one on half: best first.
    assert table.index("lexical") < table.index("GPT-4")
    assert "recorded" in table
    for label in ("base", "with preferences", "gain (pp)", "shuffled labels"):
        assert label in table
    assert "100.0 %" in table
    assert "+50.0" in table
    # Two annotators' replies that could not be read, in both orders.
    assert "4 unreadable" in table
    assert "counts them as wrong" in page
    assert "excludes them" in tight(viewer.get(f"{JUDGES}?policy=WRONG"))


def test_one_annotator_can_be_asked_for(viewer):
    study()
    page = tight(viewer.get(JUDGES))
    own = page.split('name="of"')[1].split("ann</option>")[0].rsplit('value="', 1)[1].split('"')[0]
    alone = tight(viewer.get(f"{JUDGES}?of={own}"))
    assert "ann</p>" in alone
    assert "2 unreadable" in agreement(alone)
    assert "with preferences" in agreement(alone)
    assert f"of={own}&amp;" in alone


def test_before_and_after_stand_with_their_change(viewer):
    study()
    page = tight(viewer.get(JUDGES))
    leanings = page.split("<table")[2].split("</table>")[0]
    assert "People" in leanings
    assert "change" in leanings
    # GPT-4 names A first whoever stands there: consistent on half.
    assert "50.0 %" in leanings
    assert page.count('class="chart"') == 2


def test_every_cell_leads_to_its_rows(viewer):
    study()
    page = tight(viewer.get(JUDGES))
    links = [part.split('"')[0] for part in page.split(f'href="{ROWS}?')[1:]]
    assert len(links) > 20
    for link in {each.replace("&amp;", "&") for each in links}:
        rows = viewer.get(f"{ROWS}?{link}")
        assert rows.status_code == 200, link
        assert "No comparisons" not in tight(rows), link
    # Of one cell: what it says is what stands there.
    writing = next(
        each
        for each in links
        if "judge=lexical" in each and "voice=selected" in each and "scenario=" in each
    )
    shown = tight(viewer.get(f"{ROWS}?{writing.replace('&amp;', '&')}"))
    assert "4 comparisons, 8 labels" in shown
    assert 'agrees</span><span class="iv">8</span>' in shown


def test_rows_name_annotator_verdict_and_decisions(viewer):
    study()
    rows = tight(viewer.get(f"{ROWS}?judge=lexical&voice=base&outcome=unreadable"))
    table = rows.split("<tbody>")[1]
    assert table.count("<tr>") == 2
    assert "ann" in table
    assert "bob" in table
    assert "unreadable" in table
    recorded = tight(viewer.get(f"{ROWS}?judge=GPT-4&way=recorded&voice=base"))
    assert "8 comparisons, 16 labels" in recorded


def test_rows_lead_to_why_the_two_disagree(viewer):
    study(scenarios=("Code",))
    for asked in (
        "judge=lexical&voice=base",
        "judge=lexical&voice=selected",
        "judge=lexical&voice=own",
        "judge=GPT-4&way=recorded&voice=base",
    ):
        rows = viewer.get(f"{ROWS}?{asked}")
        shown = rows.content.decode()
        links = re.findall(r'href="(/trust/disagreements/\d+/\d+/[^"]*)"', shown)
        assert len(links) == len(rows.context["found"].rows) > 0, asked
        for link, row in zip(links, rows.context["found"].rows, strict=True):
            page = viewer.get(unescape(link))
            assert page.status_code == 200, link
            assert page.context["found"].run.pk == row.run, link
            assert row.annotator in tight(page), link


def test_rows_of_a_control_lead_to_its_verdicts(viewer):
    study()
    shuffled = tight(viewer.get(f"{ROWS}?judge=lexical&voice=shuffled"))
    assert "/trust/disagreements/" not in shuffled
    assert "/comparisons/" in shuffled


def test_rows_against_gold_lead_there_where_somebody_labelled(viewer):
    stage = study()
    give_gold(stage, "AABBAABB")
    rows = viewer.get(f"{ROWS}?of=gold&judge=GPT-4&way=recorded&voice=base").content.decode()
    links = re.findall(r'href="(/trust/disagreements/[^"]*)"', rows)
    assert len(links) == 8
    assert viewer.get(unescape(links[0])).status_code == 200


def test_gold_answers_can_stand_in_the_annotators_place(viewer):
    stage = study()
    give_gold(stage, "ABABAABB")
    page = tight(viewer.get(f"{JUDGES}?of=gold"))
    assert "compared with gold answers" in page
    assert "Agreement with gold answers" in page
    assert "<td>human labels</td>" not in page
    # One run a judge is read: eight comparisons and no label more.
    link = urlencode({"of": "gold", "judge": "GPT-4", "way": "recorded", "voice": "base"})
    rows = tight(viewer.get(f"{ROWS}?{link}"))
    assert "8 comparisons" in rows
    assert "labels" not in rows.split("</header>")[1]
    assert "Gold</th>" in rows


def test_without_labels_gold_answers_are_what_there_is(viewer):
    stage = Stage.make()
    give_gold(stage, "AABB")
    record(stage, "GPT-4", "AAB?")
    page = tight(viewer.get(JUDGES))
    assert "compared with gold answers" in page
    assert "1 unreadable" in page
    # One verdict for both orders tells nothing of position and consistency.
    assert 'class="chart"' not in page


def test_a_judge_asked_in_another_way_has_a_line_of_its_own(viewer):
    stage = study()
    endpoint = make_endpoint(name="gpt", model="gpt-4o")
    rater = stage.rater("eve")
    stage.label(rater, "AAAABBBB")
    base = stage.tested(rater, None, base="AAAABBBB", judge="gpt", endpoint=endpoint)
    rubric = stage.tested(rater, None, base="BBBBAAAA", judge="gpt", endpoint=endpoint)
    rubric.config["prompt"] = "PAIRWISE"
    rubric.save()
    under_way = stage.tested(rater, None, base="BBBBAAAA", judge="gpt", status="RUNNING")
    table = agreement(tight(viewer.get(JUDGES)))
    assert table.count("<th rowspan") == 4
    assert "Generic rubric" in table
    rows = tight(viewer.get(f"{ROWS}?judge=gpt&voice=base"))
    assert f'run={base.pk}"' in rows
    assert f"/runs/{under_way.pk}/" not in rows
    asked = tight(viewer.get(f"{ROWS}?judge=gpt&way=PAIRWISE&voice=base"))
    assert f'run={rubric.pk}"' in asked


def test_a_judge_of_some_annotators_alone_says_so(viewer):
    stage = study()
    assert "for 2 of" not in tight(viewer.get(JUDGES))
    eve = stage.rater("eve")
    stage.label(eve, "AAAABBBB")
    table = agreement(tight(viewer.get(JUDGES)))
    assert table.count("for 2 of 3") == 1  # the recorded judge is held against everybody
    assert "lexical" in table.split("for 2 of 3")[0]
    assert "for 2 of" not in agreement(tight(viewer.get(f"{JUDGES}?of={eve.pk}")))


def test_one_scenario_has_one_column(viewer):
    stage = Stage.make()
    ann = stage.rater("ann")
    stage.label(ann, "AAAA")
    stage.tested(ann, stage.distilled(ann), base="BBBB", selected="AAAA")
    table = agreement(tight(viewer.get(JUDGES)))
    assert table.count('class="n">Writing</th>') == 1
    assert "mean of scenarios" not in table


def test_a_newer_run_is_read_before_an_older(viewer):
    stage = Stage.make()
    ann = stage.rater("ann")
    stage.label(ann, "AAAA")
    stage.tested(ann, None, base="BBBB")
    newer = stage.tested(ann, None, base="AAAA")
    rows = tight(viewer.get(f"{ROWS}?judge=lexical&voice=base"))
    assert f'run={newer.pk}"' in rows
    assert 'agrees</span><span class="iv">4</span>' in rows


def test_an_address_that_means_nothing_is_not_found(viewer):
    study()
    known = {"judge": ["lexical"], "voice": ["base"]}
    for query in (
        "dataset=nope",
        "dataset=a b",
        "of=99999",
        "of=x",
        "of=gold",
        "policy=?",
        "judge=nobody",
        "way=recorded",
        "voice=human",
        "scenario=99999",
        "outcome=nope",
    ):
        address = urlencode({**known, **parse_qs(query)}, doseq=True)
        assert viewer.get(f"{ROWS}?{address}").status_code == 404, query
        if query.split("=")[0] in {"dataset", "of", "policy"}:
            assert viewer.get(f"{JUDGES}?{query}").status_code == 404, query
            assert viewer.get(f"{CSV}?{query}").status_code == 404, query


def test_an_annotator_of_the_dataset_before_means_nothing(viewer):
    study()
    answer = viewer.get(f"{JUDGES}?dataset=study&was_dataset=other&of=99999")
    assert answer.status_code == 200


def test_to_htmx_the_figures_alone_are_sent(viewer):
    study()
    part = tight(viewer.get(JUDGES, headers={"HX-Request": "true", "HX-Target": "figures"}))
    assert part.startswith("<nav")
    assert "<html" not in part


def test_the_tables_come_as_files(viewer):
    study()
    rows = list(csv.DictReader(io.StringIO(viewer.get(CSV).content.decode())))
    assert [(row["judge"], row["asked"], row["scenario"]) for row in rows] == [
        (judge, asked, scenario)
        for judge, asked in (("lexical", ""), ("GPT-4", "recorded"))
        for scenario in ("Writing", "Code", "all", "mean of scenarios")
    ]
    recorded = JudgeRun.objects.get(kind=RunKind.RECORDED).pk
    assert {row["run"] for row in rows[4:]} == {str(recorded)}
    assert len(rows[0]["run"].split()) == 2  # one in the stead of each annotator
    together = rows[2]
    assert (together["n"], together["selected"], together["base_unreadable"]) == ("8", "1.0", "4")
    assert float(together["base"]) < float(together["selected"])
    told = viewer.get(f"{CSV}?table=leanings")
    assert told["Content-Disposition"] == 'attachment; filename="judges-leanings.csv"'
    leanings = list(csv.DictReader(io.StringIO(told.content.decode())))
    assert [(row["judge"], row["voice"]) for row in leanings] == [
        ("lexical", "base"),
        ("lexical", "selected"),
        ("lexical", "change"),
        ("GPT-4", "base"),
        ("", "people"),
    ]
    assert float(leanings[2]["consistency_n"]) > 0
    assert viewer.get(f"{CSV}?table=nope").status_code == 404


def test_many_judges_and_annotators_cost_no_more_queries(viewer, django_assert_max_num_queries):
    stage = study()
    for name in ("PaLM2", "LLaMA2", "ChatGPT"):
        record(stage, name, "AAAABBBB", "AAAABBBB")
    for name in ("eve", "dan"):
        rater = stage.rater(name)
        stage.label(rater, "AABBAABB")
        stage.tested(rater, stage.distilled(rater), base="AAAAAAAA", selected="BBBBBBBB")
    with django_assert_max_num_queries(24):
        viewer.get(JUDGES)


def test_runs_under_somebody_elses_preferences_are_no_line(viewer):
    stage = study()
    ann, eve = stage.rater("ann2"), stage.rater("eve")
    stage.label(ann, "AAAAAAAA")
    stage.label(eve, "BBBBBBBB")
    theirs = stage.tested(
        ann, stage.distilled(eve), base="AAAAAAAA", selected="BBBBBBBB", sets_of=eve
    )
    assert theirs.kind == RunKind.TEST
    rows = tight(viewer.get(f"{ROWS}?judge=lexical&voice=selected"))
    assert f"/runs/{theirs.pk}/" not in rows


def test_a_weighted_vote_stands_above_the_selected_set(viewer):
    stage = Stage.make(size=4)
    ann = stage.rater("ann")
    stage.label(ann, "AAAB")
    stage.tested(ann, stage.distilled(ann), base="BBBB", selected="BBBB", stack="AAAA")
    page = tight(viewer.get(JUDGES))
    table = agreement(page)
    assert table.index("weighted vote") < table.index("with preferences")
    assert "75.0" in table
    assert "weighted vote" in page.split("<table")[2].split("</table>")[0]
    charts = page.split('class="chart"', 1)[1]
    assert "lexical, weighted vote" in charts
    assert "lexical, with preferences" not in charts
    voted = tight(viewer.get(f"{ROWS}?dataset=study&judge=lexical&voice=stack"))
    assert "Decided by the weighted vote" in voted
    assert "shuffled" not in voted.split("</h1>")[0]
    assert "combined" not in voted  # no column without a verdict for both orders
    rows = tight(viewer.get(f"{ROWS}?dataset=study&judge=lexical&voice=own"))
    assert "Decided by the annotator's stand-in" in rows
    assert "own_gain" in viewer.get(CSV).content.decode()


def test_shuffled_labels_are_held_against_what_stands_in(viewer):
    stage = Stage.make(size=4)
    ann = stage.rater("ann")
    stage.label(ann, "AAAA")
    stage.tested(
        ann, stage.distilled(ann), base="BBBB", selected="AABB", shuffled="ABBB", stack="AAAA"
    )
    table = agreement(tight(viewer.get(JUDGES)))
    # The vote is right on all four, the one from shuffled labels on one.
    row = table.split("stand-in over shuffled (pp)")[1]
    assert "+75.0" in row
    assert "voice=own" in row
    assert "+25.0" not in row
