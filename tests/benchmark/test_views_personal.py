"""Whether a judge is personal: the card on Trust, its comparisons, the CSV, late edits."""

from __future__ import annotations

import csv
import io
from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.models import GoldLabel, User
from benchmark.queries.trust import report
from judging.core.runs import OtherJudge
from judging.exports.pairwise import PREFERENCE_SETS
from judging.models import JudgeRun, Judgment, Preference, PreferenceSet, RunKind, RunStatus
from judging.queries.configurations import applied_plans, as_json
from judging.queries.preference_sets import edited_after_verdicts
from tests.benchmark.stage import Stage
from tests.factory import make_preference, make_run, make_user
from tests.markup import one_line

pytestmark = pytest.mark.django_db

SIZE = 12


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


def study(*names, labels="B" * SIZE):
    """Ann's labels are all B; her judge says so and the base judge A. Others labelled the same."""
    stage = Stage.make(size=SIZE)
    ann = stage.rater("ann")
    stage.label(ann, labels)
    for name in names:
        stage.label(stage.rater(name), labels)
    run = stage.tested(ann, stage.distilled(ann), base="A" * SIZE, selected=labels)
    return stage, ann, run


def heard(stage, run, owner, decided, *, learned_from=0):
    """Stores in a run what somebody else's judge said: a letter a comparison."""
    preference = make_preference(annotator=owner, text=f"{owner.display_name} likes A.")
    keys = [each.pk for each in stage.comparisons["Writing"]]
    (plan,) = applied_plans(run.config)
    other = OtherJudge(owner.pk, (preference.pk,), tuple(keys[:learned_from]))
    plan = as_json(plan) | {"others": [*plan.others, other]}
    run.config = run.config | {"scenarios": [plan]}
    run.save()
    Judgment.objects.bulk_create(
        Judgment(
            run=run, comparison_id=key, preference=preference, order=order, status="DONE",
            verdict=letter,
        )
        for key, letter in list(zip(keys, decided, strict=True))[learned_from:]
        for order in ("ORIGINAL", "SWAPPED")
    )  # fmt: skip
    return preference


def named(stage, name):
    return User.objects.get(username=f"{stage.dataset.slug}:{name}")


def card(client, ann, **more):
    return client.get("/trust/", {"annotator": ann.pk, **more})


def test_a_judge_above_base_and_others_is_shown_with_its_comparisons(viewer):
    stage, ann, run = study("bea")
    heard(stage, run, named(stage, "bea"), "A" * SIZE, learned_from=1)
    page = card(viewer, ann)
    claim = page.context["page"].personal
    assert (claim.claim, claim.n, claim.others_n, claim.others) == ("SHOWN", 12, 11, ("bea",))
    # Of twelve, or eleven, equal differences two signs of 2^n reach the sum.
    assert claim.gain_over_base_p_holm == pytest.approx(2 / 2**12)
    assert claim.gain_over_others_p == pytest.approx(2 / 2**11)
    assert (claim.human_agreement, claim.human_n) == (1.0, 12)
    assert "It agrees with this annotator more often than the base judge" in one_line(page)
    links = page.context["personal_links"]
    told = {"own": (12, 12), "common": (11, 11), "base": (12, 0), "bea": (11, 0)}
    for name, url in [*((key, links[key]) for key in ("own", "common", "base")), *links["others"]]:
        found = viewer.get(url).context["found"]
        assert (found.total, found.counts["agrees"]) == told[name]
        assert found.run == run.pk


def test_a_narrowed_page_says_the_same_and_leads_to_all_scenarios(viewer):
    stage, ann, run = study("bea")
    heard(stage, run, named(stage, "bea"), "B" * SIZE)
    whole = card(viewer, ann).context["page"].personal
    narrow = card(viewer, ann, scenario=stage.scenarios[0].pk, rule="PAPER", policy="WRONG")
    assert narrow.context["page"].personal == whole
    assert (whole.claim, whole.gain_over_others) == ("NOT_SHOWN", 0.0)
    assert "could be chance" in one_line(narrow)
    assert "scenario" not in narrow.context["personal_links"]["own"]


@pytest.mark.parametrize(
    ("names", "labels", "claim", "says"),
    [
        ((), "B" * SIZE, "ONLY_ONE", "There is only one annotator in this dataset."),
        (("bea",), "B" * SIZE, "NOT_RUN", "judges were not run on these comparisons"),
        (("bea",), "B" * 9 + "...", "TOO_FEW", "fewer than ten sessions"),
    ],
)
def test_what_cannot_be_shown_says_why(client, names, labels, claim, says):
    stage, ann, run = study(*names, labels=labels)
    if claim == "TOO_FEW":
        heard(stage, run, named(stage, "bea"), "A" * SIZE)
    client.force_login(make_user(role="MANAGER"))
    page = card(client, ann)
    assert page.context["page"].personal.claim == claim
    assert says in one_line(page)
    link = f'href="/runs/new/?dataset=study&amp;kind=TEST&amp;annotator={ann.pk}&amp;'
    link += 'judge=lexical&amp;sets=lexical:lexical"'
    assert (link in one_line(page)) == (claim == "NOT_RUN")


def test_only_a_run_under_own_preferences_is_personal_and_only_for_those_who_see_everyone(client):
    stage, ann, _run = study("bea")
    base = stage.tested(ann, None, base="A" * SIZE)
    client.force_login(make_user(role="VIEWER"))
    assert card(client, ann, run=base.pk).context["page"].personal is None
    ann.is_active = True
    ann.save()
    client.force_login(ann)
    page = client.get("/trust/")
    assert page.context["page"].personal is None
    assert "personal" not in one_line(page)
    assert client.get("/trust/rows/", {"of": "personal"}).status_code == 404
    assert client.get("/trust/personal.csv").status_code == 403


def test_holm_counts_every_annotator_and_the_csv_has_them_all(viewer):
    stage, ann, run = study("bea")
    bea = named(stage, "bea")
    other = stage.tested(bea, stage.distilled(bea), base="A" * SIZE, selected="A" * 11 + "B")
    heard(stage, run, bea, "A" * SIZE)
    heard(stage, other, ann, "B" * SIZE)
    told = report(stage.dataset.slug)
    assert [(row.annotator, row.claim) for row in told.personal] == [
        ("ann", "SHOWN"),
        ("bea", "NOT_SHOWN"),
    ]
    assert told.personal[0].gain_over_base_p_holm == pytest.approx(2 * 2 / 2**12)
    assert report(stage.dataset.slug, annotator="ann").personal == told.personal[:1]
    answer = viewer.get("/trust/personal.csv", {"annotator": ann.pk})
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert [(row["annotator"], row["claim"], row["others"]) for row in rows] == [
        ("ann", "SHOWN", "bea"),
        ("bea", "NOT_SHOWN", "ann"),
    ]
    assert viewer.post("/trust/personal.csv").status_code == 405


def test_figures_are_kept_until_a_run_goes_on(viewer):
    stage, ann, run = study("bea")
    bea = named(stage, "bea")
    preference = heard(stage, run, bea, "A" * SIZE)
    assert card(viewer, ann).context["page"].personal.claim == "SHOWN"
    Judgment.objects.filter(run=run, preference=preference).update(verdict="B")
    assert card(viewer, ann).context["page"].personal.claim == "SHOWN"
    JudgeRun.objects.filter(pk=run.pk).update(heartbeat_at=timezone.now())
    assert card(viewer, ann).context["page"].personal.claim == "NOT_SHOWN"


def edited(stage, ann, run, *, late):
    """An edit of ann's preference, judged again and tested; late: after the first test began."""
    began = timezone.now() - timedelta(hours=1)
    JudgeRun.objects.filter(pk=run.pk).update(started_at=began)
    root = run.parent
    edit = make_preference(
        kind="EDITED", run=root, scenario=stage.scenarios[0], annotator=ann, text="Edited."
    )
    moved = timedelta(minutes=1 if late else -1)
    Preference.objects.filter(pk=edit.pk).update(created_at=began + moved)
    again = make_run(
        stage.dataset, kind=RunKind.DISTIL, annotator=ann, parent=root, status=RunStatus.DONE,
        config=root.config,
    )  # fmt: skip
    for chosen in PreferenceSet.objects.filter(run=root):
        members = list(chosen.members.all())
        chosen.pk, chosen.run = None, again
        chosen.save()
        chosen.members.set(members)
    return stage.tested(ann, again, base="A" * SIZE, selected="B" * SIZE)


@pytest.mark.parametrize("late", [True, False])
def test_a_set_edited_after_its_test_verdicts_could_be_seen_is_marked(viewer, late):
    stage, ann, run = study()
    newest = edited(stage, ann, run, late=late)
    own = PreferenceSet.objects.get(run=newest.parent, control="NONE")
    found = edited_after_verdicts({newest.parent_id, run.parent_id})
    assert found == ({own.pk: newest.parent_id} if late else {})
    page = card(viewer, ann)
    assert page.context["scope"].run.id == newest.pk
    assert page.context["page"].personal.edited is late
    assert ("edited late" in one_line(page)) is late
    assert ("were edited after their test verdicts could be seen" in one_line(page)) is late
    shown = one_line(viewer.get(f"/preference-sets/{own.pk}/"))
    assert ("Edited after its test verdicts could be seen." in shown) is late
    earlier = card(viewer, ann, run=run.pk)
    assert "edited late" not in one_line(earlier)
    assert earlier.context["page"].personal.edited is False
    assert report(stage.dataset.slug).personal[0].edited is late
    assert report(stage.dataset.slug).rows[0].edited is late


@pytest.mark.parametrize("late", [True, False])
def test_a_late_edit_is_told_wherever_it_is_measured(viewer, late):
    """Each page has the mark at the voice that hears the set; files have a column."""
    stage, ann, run = study()
    newest = edited(stage, ann, run, late=late)
    slug = stage.dataset.slug
    for comparison in stage.comparisons["Writing"]:
        GoldLabel.objects.create(comparison=comparison, verdict="B", source="DATASET")

    def marks(address):
        return one_line(viewer.get(address)).count("edited late </span>")

    def told(address):
        rows = list(csv.DictReader(io.StringIO(viewer.get(address).content.decode())))
        return {row["edited"] for row in rows}

    assert marks(f"/trust/judges/?dataset={slug}") == 2 * late  # both tables
    assert marks(f"/trust/gold/?dataset={slug}") == 2 * late  # its line, and its heading
    assert marks(f"/leaderboard/?dataset={slug}") == late
    assert marks(f"/trust/people/?dataset={slug}&run={newest.pk}s") == late
    said = str(late).lower()
    only, both = {said}, {"false", said}
    assert told(f"/trust/judges.csv?dataset={slug}") == only
    assert told(f"/trust/judges.csv?dataset={slug}&table=leanings") == both
    assert told(f"/trust/gold.csv?dataset={slug}") == both
    assert told(f"/trust/figures.csv?dataset={slug}") == only
    assert told(f"/leaderboard/leaderboard.csv?dataset={slug}") == both
    sets = [row["edited"] for row in PREFERENCE_SETS.rows(stage.dataset)]
    assert sets.count(True) == late
