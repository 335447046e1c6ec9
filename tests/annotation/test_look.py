from __future__ import annotations

import re

import pytest
from django.template import Context, Template
from django.test import RequestFactory
from django.urls import reverse

from sensejudge_site.middleware import server_error
from tests.factory import PASSWORD, make_user


def render(source, **context):
    return Template("{% load look %}" + source).render(Context(context))


def test_a_figure_leads_to_how_it_is_computed():
    assert render('{% method "gain" %}') == (
        '\u00a0<a class="method" href="/methods/#gain" aria-label="How this is computed"'
        ' title="How this is computed">?</a>'
    )


@pytest.mark.parametrize(
    ("source", "value", "shown"),
    [
        ("{{ x|named_scenario }}", "Code", "Code"),
        ("{{ x|named_scenario }}", "default", ""),
        ("{{ x|percent }}", 0.782, "78\u202f%"),
        ("{{ x|percent:1 }}", 0.782, "78.2\u202f%"),
        ("{{ x|percent }}", 0, "0\u202f%"),
        ("{{ x|percent }}", None, "–"),
        ("{{ x|points }}", 0.124, "+12"),
        ("{{ x|points }}", -0.08, "\u22128"),
        ("{{ x|points }}", -0.001, "0"),
        ("{{ x|points:1 }}", -0.001, "\u22120.1"),
        ("{{ x|points }}", None, "–"),
        ("{{ x|decimal }}", -0.5, "\u22120.50"),
        ("{{ x|decimal:3 }}", 1 / 3, "0.333"),
        ("{{ x|decimal }}", -0.001, "0.00"),
        ("{{ x|difference }}", 0.0314, "+0.031"),
        ("{{ x|difference:1 }}", -0.25, "\u22120.2"),
        ("{{ x|difference }}", None, "–"),
        ("{{ x|decimal }}", None, "–"),
        ("{{ x|profile_field }}", "daily_interests", "daily interests"),
        ("{{ x|profile_field }}", "shoe_size", "shoe_size"),
        ("{{ x|markdown }}", "**a** <b>", "<p><strong>a</strong> &lt;b&gt;</p>\n"),
    ],
)
def test_numbers_and_texts_are_shown_in_one_way(source, value, shown):
    assert render(source, x=value) == shown


def test_a_navigation_link_knows_where_it_is():
    source = '{% nav_link "annotation:studies" label %}'
    here = render(
        source, label="My <studies>", request=RequestFactory().get("/studies/pilot/next/")
    )
    assert here == '<a href="/studies/" aria-current="page">My &lt;studies&gt;</a>'
    assert "aria-current" not in render(source, request=RequestFactory().get("/sign-in/"))
    also = '{% nav_link "annotation:studies" label "/gold/ /people/" %}'
    assert "aria-current" in render(also, request=RequestFactory().get("/people/7/"))
    assert "aria-current" not in render(source)


READ = [
    "Datasets",
    "Studies",
    "Agreement",
    "Runs",
    "Trust",
    "Leaderboard",
    "Benchmark construction",
]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("role", "links"),
    [
        ("ANNOTATOR", ["My studies", "My preferences", "My memories", "Trust"]),
        ("VIEWER", READ),
        ("MANAGER", [*READ, "Admin"]),
        ("ADMIN", [*READ, "Admin"]),
    ],
)
def test_the_navigation_is_the_role_s(client, role, links):
    client.force_login(make_user(role=role))
    html = client.get("/studies/").content.decode()
    nav = html[html.index("<nav") : html.index("</nav>")]
    assert re.findall(r">([^<]+)</a>", nav) == links


@pytest.mark.django_db
def test_a_page_carries_its_rules_for_the_browser(client):
    client.force_login(make_user())
    response = client.get("/studies/")
    html = response.content.decode()
    policy = response["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert 'hx-headers=\'{"x-csrftoken": ' in html
    assert '"allowEval": false' in html
    for forbidden in ("style=", "onclick", "<script>", "hx-on"):
        assert forbidden not in html


@pytest.mark.django_db
def test_the_theme_is_kept_in_a_cookie_and_drawn_by_the_server(client):
    page = reverse("sign-in")
    assert 'class="theme-' not in client.get(page).content.decode()
    response = client.post(reverse("set-theme"), {"theme": "dark", "next": page})
    assert response.url == page
    assert 'lang="en" class="theme-dark"' in client.get(page).content.decode()
    client.post(reverse("set-theme"), {"theme": "", "next": page})
    assert 'class="theme-' not in client.get(page).content.decode()


@pytest.mark.django_db
def test_the_language_is_switched(client):
    page = reverse("sign-in")
    assert 'value="zh-hans"' in client.get(page).content.decode()
    client.post(reverse("set_language"), {"language": "zh-hans", "next": page})
    html = client.get(page).content.decode()
    assert '<html lang="zh-hans"' in html
    assert 'value="en"' in html


@pytest.mark.django_db
def test_signing_in_and_out(client):
    user = make_user(username="li")
    page = client.get(reverse("sign-in"), {"next": "/studies/"})
    assert 'name="next" value="/studies/"' in page.content.decode()
    wrong = client.post(reverse("sign-in"), {"username": "li", "password": "no"})
    assert wrong.status_code == 200
    assert 'role="alert"' in wrong.content.decode()
    data = {"username": "li", "password": PASSWORD, "next": "/studies/"}
    assert client.post(reverse("sign-in"), data).url == "/studies/"
    assert client.get("/studies/").context["user"] == user
    assert client.get(reverse("sign-out")).status_code == 405
    client.post(reverse("sign-out"))
    assert client.get("/studies/").status_code == 302


@pytest.mark.django_db
def test_somebody_imported_cannot_sign_in(client):
    make_user(username="pandalm:annotator1", is_active=False)
    data = {"username": "pandalm:annotator1", "password": PASSWORD}
    assert client.post(reverse("sign-in"), data).status_code == 200


@pytest.mark.django_db
def test_too_many_wrong_passwords_lock_the_account(client, settings):
    settings.AXES_ENABLED = True
    settings.AXES_FAILURE_LIMIT = 3
    make_user(username="li")
    for _attempt in range(3):
        response = client.post(reverse("sign-in"), {"username": "li", "password": "no"})
    assert response.status_code == 429
    assert "Sign-in temporarily locked" in response.content.decode()
    right = client.post(reverse("sign-in"), {"username": "li", "password": PASSWORD})
    assert right.status_code == 429


@pytest.mark.django_db
@pytest.mark.parametrize("signed_in", [True, False])
def test_a_page_that_is_not_there_says_so(client, signed_in):
    if signed_in:
        client.force_login(make_user())
    response = client.get("/nowhere/")
    assert response.status_code == 404
    assert "Page not found" in response.content.decode()


def test_the_page_of_our_own_faults_needs_nothing_but_itself(rf):
    response = server_error(rf.get("/"))
    assert response.status_code == 500
    assert "Something went wrong" in response.content.decode()
