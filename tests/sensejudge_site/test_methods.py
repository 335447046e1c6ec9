"""How figures are computed: the page in both languages, its sections, and the links to them."""

from __future__ import annotations

import re

import pytest

from sensejudge_site.methods import chapters
from tests.factory import make_user
from tests.paths import ROOT

DOCS = {"en": "docs/methods.md", "zh-hans": "docs/methods.zh.md"}
NAMES = {
    "en": ("Means", "Misleads when", "Formula", "Source", "Check"),
    "zh-hans": ("含义", "何时误导", "公式", "出处", "检验"),
}
TEST_FILE = re.compile(r"tests/[\w/]+\.py")
CODE = re.compile(r"<code>(.*?)</code>", re.DOTALL)
LINK = re.compile(r'{% method "([^"]*)" %}')

PAGES = {
    "annotation/_agreement_groups.html": {"agreement-measures"},
    "annotation/_agreement_overlap.html": {"cohen-kappa", "percent-agreement"},
    "annotation/adjudication.html": {"entropy"},
    "annotation/agreement.html": {"agreement-answer", "agreement-measures", "unanimity"},
    "annotation/quality.html": {
        "annotator-position",
        "answer-times",
        "automatic-pause",
        "gold-items",
        "repeats",
    },
    "annotation/_label_sampling.html": {"random-labels"},
    "annotation/study.html": {"random-labels"},
    "benchmark/_corrected_table.html": {"corrected", "corrected-agreement", "corrected-rating"},
    "benchmark/_model_differences.html": {"satisfaction-differences"},
    "benchmark/_model_satisfaction.html": {"satisfaction-by-model"},
    "benchmark/_model_satisfaction_table.html": {"satisfaction-by-model"},
    "benchmark/_model_satisfaction_corrected.html": {"corrected"},
    "benchmark/_satisfaction_paper.html": {"paper-tables"},
    "benchmark/_satisfaction_runs.html": {"correlation", "evaluator-gain", "mae"},
    "benchmark/_satisfaction_result.html": {"satisfaction-by-model"},
    "benchmark/_board.html": {"above", "elo", "rank", "rating", "style-control", "win-rate"},
    "benchmark/_disagreements.html": {"sureness"},
    "benchmark/_gold.html": {
        "best-of-n",
        "consistency",
        "every-reply",
        "gold-accuracy",
        "position-bias",
        "rewardbench",
        "ties-score",
    },
    "benchmark/_head_to_head.html": {"above"},
    "benchmark/_judges.html": {
        "agreement",
        "consistency",
        "length-bias",
        "mean-of-scenarios",
        "own-family",
        "position-bias",
    },
    "benchmark/_leaderboard.html": {"rank-agreement"},
    "benchmark/_grades.html": {"grades"},
    "benchmark/_leaderboard_pairs.html": {"majority-pairs", "win-rate"},
    "benchmark/_people.html": {"agreement-by-gap", "vote-agreement"},
    "benchmark/_reliability.html": {"reliability"},
    "benchmark/_satisfaction_table.html": {"score-calibration"},
    "benchmark/_style_effects.html": {"style-control"},
    "benchmark/_trust.html": {"correlation", "trust-answer"},
    "benchmark/_trust_agreement.html": {"agreement", "unreadable"},
    "benchmark/_trust_answer.html": {"controls"},
    "benchmark/_trust_bias.html": {"consistency", "position-bias"},
    "benchmark/_trust_leanings.html": {"length-bias", "own-family"},
    "benchmark/_trust_personal.html": {"personal"},
    "benchmark/_trust_scenarios.html": {"agreement", "controls", "gain"},
    "benchmark/_trust_sets.html": {"base-p", "dev-accuracy", "leave-one-out", "null"},
    "benchmark/ablations.html": {"ablation", "failures"},
    "benchmark/calibration.html": {"recalibrations", "reliability", "score-calibration"},
    "benchmark/leaderboard_annotators.html": {"rank-agreement"},
    "benchmark/leaderboard_reference.html": {"rank-agreement"},
    "benchmark/construction.html": {"construction"},
    "benchmark/model_scores.html": {"model-scores"},
    "benchmark/replay.html": {"replay", "replay-hard"},
    "benchmark/replays.html": {"replay"},
    "benchmark/satisfaction.html": {
        "correlation",
        "evaluator-gain",
        "evaluators",
        "f1-dsat",
        "mae",
        "training-curve",
        "weighted-kappa",
        "within-user",
    },
    "benchmark/snapshot.html": {"snapshots"},
    "benchmark/snapshots.html": {"snapshots"},
    "benchmark/version.html": {"datasheet"},
    "benchmark/satisfaction_evaluator.html": {
        "chances",
        "correlation",
        "likely-reason",
        "mae",
        "reason-table",
    },
    "judging/injection_check.html": {"injection"},
    "judging/injections.html": {"injection", "repetition"},
    "judging/repetition_check.html": {"repetition"},
    "judging/learned.html": {"learned-evaluator"},
    "judging/learned_version.html": {"learned-evaluator"},
    "judging/preference.html": {"weighted-vote"},
    "judging/preference_set.html": {
        "base-p",
        "dev-accuracy",
        "leave-one-out",
        "matrix",
        "null",
        "weighted-vote",
    },
    "judging/run.html": {"base-p", "dev-accuracy", "leave-one-out", "null"},
    "judging/run_compare.html": {"compare-runs", "consistency"},
    "judging/run_controls.html": {"controls"},
}
"""What each page with figures links to at least, by template."""

UNLINKED = {"intervals", "p-values", "parts", "too-few", "verdict", "vote"}
"""What no single figure is: it stands before them all."""


def figures(language):
    _before, found = chapters(language)
    return {figure.anchor: figure for chapter in found for figure in chapter.figures}


def anchors(language):
    _before, found = chapters(language)
    return [(each.opening.anchor, [one.anchor for one in each.figures]) for each in found]


def linked():
    folder = ROOT / "templates"
    found = {
        each.relative_to(folder).as_posix(): set(LINK.findall(each.read_text("utf-8")))
        for each in folder.rglob("*.html")
    }
    return {name: links for name, links in found.items() if links}


@pytest.mark.parametrize("language", DOCS)
def test_every_section_has_an_anchor_of_its_own(language):
    source = (ROOT / DOCS[language]).read_text("utf-8")
    headings = re.findall(r"^##+ ", source, re.MULTILINE)
    ids = re.findall(r'^<a id="([a-z0-9-]+)"></a>\n##', source, re.MULTILINE)
    assert len(ids) == len(headings) == len(set(ids)) > 60


def test_both_languages_have_the_same_sections():
    assert anchors("zh-hans") == anchors("en")


def test_both_languages_have_the_same_formulas_and_tests():
    english, chinese = figures("en"), figures("zh-hans")
    for anchor, figure in english.items():
        assert CODE.findall(chinese[anchor].text) == CODE.findall(figure.text), anchor


@pytest.mark.parametrize("language", DOCS)
def test_a_section_says_what_when_how_whence_and_what_holds_it(language):
    for figure in figures(language).values():
        named = tuple(re.findall(r"<li><strong>(.*?)</strong>", figure.text))
        assert named == NAMES[language], figure.anchor
        assert "<br" not in figure.text, figure.anchor


def test_every_test_that_is_named_exists():
    for figure in figures("en").values():
        named = TEST_FILE.findall(figure.text)
        assert named, figure.anchor
        assert [each for each in named if not (ROOT / each).is_file()] == [], figure.anchor


def test_every_page_with_figures_links_to_them():
    found = linked()
    missing = {name: links - found.get(name, set()) for name, links in PAGES.items()}
    assert {name: links for name, links in missing.items() if links} == {}
    assert set(found) <= set(PAGES), "a page links that PAGES does not name"


def test_every_link_leads_to_a_section_and_every_section_is_led_to():
    assert set().union(*linked().values()) == set(figures("en")) - UNLINKED


@pytest.mark.django_db
class TestPage:
    @pytest.mark.parametrize("role", ["ANNOTATOR", "VIEWER", "MANAGER", "ADMIN"])
    def test_everybody_who_is_signed_in_reads_it(self, client, role):
        client.force_login(make_user(role=role))
        page = client.get("/methods/").content.decode()
        assert '<h3 id="agreement">Agreement</h3>' in page
        assert 'href="#agreement"' in page

    def test_strangers_sign_in_first(self, client):
        assert client.get("/methods/").url == "/sign-in/?next=/methods/"

    def test_it_is_only_read(self, client):
        client.force_login(make_user())
        assert client.post("/methods/").status_code == 405

    def test_it_is_in_the_reader_s_language(self, client):
        client.force_login(make_user())
        page = client.get("/methods/", headers={"accept-language": "zh-hans"}).content.decode()
        assert '<h3 id="agreement">一致率</h3>' in page

    def test_it_asks_the_database_for_the_reader_alone(self, client, django_assert_max_num_queries):
        client.force_login(make_user())
        with django_assert_max_num_queries(2):
            client.get("/methods/")
