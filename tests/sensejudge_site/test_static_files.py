"""Pages need files beside them: where these are missing the server says so before a reader does."""

from __future__ import annotations

import gzip

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from sensejudge_site.middleware import server_error
from sensejudge_site.static_files import uncollected

MANIFEST = "django.contrib.staticfiles.storage.ManifestStaticFilesStorage"


@pytest.fixture
def own_files(settings, tmp_path):
    """A site with two files of its own, none of them collected."""
    sources = tmp_path / "sources"
    sources.mkdir()
    for name in ("app.css", "app.js"):
        (sources / name).write_text("")
    settings.STATIC_ROOT = tmp_path / "collected"
    settings.STATIC_ROOT.mkdir()
    settings.STATICFILES_DIRS = [sources]
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": MANIFEST}}
    return sources


def collect():
    call_command("collectstatic", interactive=False, verbosity=0)


class TestUncollected:
    def test_a_site_of_which_nothing_was_collected(self, own_files):
        assert uncollected()

    def test_one_that_is_ready(self, own_files):
        collect()
        assert not uncollected()

    def test_one_with_a_file_more_than_when_it_was_collected(self, own_files):
        collect()
        (own_files / "more.js").write_text("")
        assert uncollected()

    def test_one_whose_manifest_was_cut_off(self, own_files, settings):
        collect()
        manifest = settings.STATIC_ROOT / "staticfiles.json"
        manifest.write_text(manifest.read_text()[:20])
        settings.STORAGES = dict(settings.STORAGES)  # read anew
        assert uncollected()

    def test_one_that_serves_files_under_their_own_names(self):
        assert not uncollected()


@pytest.mark.django_db
def test_it_is_not_served_until_they_are_collected(own_files):
    with pytest.raises(
        CommandError, match=r"run `manage\.py collectstatic --noinput` first"
    ) as told:
        call_command("serve", "--port", "1")
    assert told.value.returncode == 1
    assert len(str(told.value).splitlines()) == 1


@pytest.mark.django_db
def test_a_page_ends_in_one_that_tells_of_the_fault_all_the_same(own_files, client):
    client.raise_request_exception = False
    answer = client.get("/sign-in/")
    assert answer.status_code == 500
    page = answer.content.decode()
    assert "Something went wrong" in page
    assert "stylesheet" not in page
    assert "<img" not in page


def test_the_page_of_a_fault_has_its_look_where_it_can(rf):
    page = server_error(rf.get("/")).content.decode()
    assert '<link rel="stylesheet" href="/static/app.css">' in page
    assert page.count("/static/icons/favicon.svg") == 2


@pytest.mark.django_db
def test_pages_are_compressed_for_who_can_read_it(client):
    packed = client.get("/sign-in/", headers={"accept-encoding": "gzip"})
    assert packed["Content-Encoding"] == "gzip"
    assert b"</html>" in gzip.decompress(packed.content)
    assert "Content-Encoding" not in client.get("/sign-in/").headers
