"""A body that broke off is refused before anything of it is used, whoever reads it."""

from __future__ import annotations

import io
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Dataset, Role
from sensejudge_site.middleware import CutBodyError, WholeBodies, WholeBody
from tests.factory import make_dataset, make_user

FORM = b"csrfmiddlewaretoken=%s&text=Rule+one.%%0ARule+two.%%0ARule+three.&note=third"
TOKEN = b"a" * 32
WHOLE = FORM % TOKEN
MISTAKEN = "multipart/form-data; boundary*=no-encoding''x"


class Trickle:
    """A stream that gives a few bytes at a time, as a socket may."""

    def __init__(self, body: bytes) -> None:
        self._file = io.BytesIO(body)

    def read(self, size: int = -1, /) -> bytes:
        return self._file.read(min(size, 3) if size >= 0 else -1)


def asked(path: str, body: bytes, **environ: str) -> tuple[int, str]:
    """What the site answers to a signed-in manager, as a server would ask it."""
    from sensejudge_site.wsgi import application  # it collects garbage, little now

    started: list[str] = []

    def start_response(status: str, _headers: Any, _error: Any = None) -> Callable[..., object]:
        started.append(status)
        return lambda _data: None

    pieces = application(
        {
            "REQUEST_METHOD": "POST",
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "HTTP_HOST": "127.0.0.1",
            "PATH_INFO": path,
            "CONTENT_TYPE": "application/x-www-form-urlencoded",
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body),
            **environ,
        },
        start_response,
    )
    page = b"".join(pieces).decode()
    return int(started[0].split()[0]), page


class TestCounting:
    def test_a_whole_body_is_what_was_sent(self):
        body = WholeBody(Trickle(b"one\ntwo\nthree"), 13)
        assert body.read(5) == b"one\nt"
        assert body.readline() == b"wo\n"
        assert body.read() == b"three"
        assert body.read() == body.read(7) == b""

    def test_what_comes_after_its_length_is_not_read(self):
        stream = io.BytesIO(b"abcdef")
        assert WholeBody(stream, 3).read() == b"abc"
        assert stream.read() == b"def"

    @pytest.mark.parametrize("read", [WholeBody.read, lambda body: body.read(8), list])
    def test_a_cut_body_ends_in_an_error(self, read):
        with pytest.raises(CutBodyError):
            read(WholeBody(Trickle(b"abc"), 6))

    @pytest.mark.parametrize("size", [1, 4, 100])
    def test_a_form_with_files_ends_in_its_last_boundary(self, size):
        def read(data: bytes) -> bytes:
            body = WholeBody(io.BytesIO(data), len(data), last=b"--limit--")
            return b"".join(iter(lambda: body.read(size), b""))

        for whole in (b"--limit\r\n--limit--", b"--limit--\r\nand what follows"):
            assert read(whole) == whole
        for cut in (b"--limit-", b"--limit\r\n--", b"limit--"):
            with pytest.raises(CutBodyError, match="no last boundary"):
                read(cut)

    @pytest.mark.parametrize(
        "content_type", ["", "text/plain; boundary=x", "multipart/form-data", MISTAKEN]
    )
    def test_other_bodies_need_no_boundary(self, content_type):
        read = []
        WholeBodies(lambda environ, _start: read.append(environ["wsgi.input"].read()) or [])(
            {
                "wsgi.input": io.BytesIO(b"abc"),
                "CONTENT_LENGTH": "3",
                "CONTENT_TYPE": content_type,
                "REQUEST_METHOD": "POST",
                "SERVER_PROTOCOL": "HTTP/1.1",
            },
            lambda *_arguments: lambda _data: None,
        )
        assert read == [b"abc"]

    def test_nothing_is_read_before_the_application_reads(self):
        stream = io.BytesIO(b"abc")
        WholeBodies(lambda _environ, _start: [])(
            {"wsgi.input": stream, "CONTENT_LENGTH": "3", "REQUEST_METHOD": "POST"},
            lambda *_arguments: lambda _data: None,
        )
        assert stream.tell() == 0


@pytest.mark.django_db(transaction=True)  # a server closes the connections of a request
class TestRefusal:
    @pytest.fixture
    def cookie(self) -> str:
        client = Client()
        client.force_login(make_user(role=Role.MANAGER))
        session = client.cookies["sessionid"].value
        return f"sessionid={session}; csrftoken={TOKEN.decode()}"

    @pytest.mark.parametrize("kept", [0, 1, 40, len(WHOLE) // 2, len(WHOLE) - 1])
    @pytest.mark.parametrize("header", [{}, {"HTTP_X_CSRFTOKEN": TOKEN.decode()}])
    def test_a_cut_form_says_that_it_was_not_stored(self, cookie, kept, header):
        length = str(len(WHOLE))
        path = reverse("annotation:preview")
        whole, page = asked(path, WHOLE, CONTENT_LENGTH=length, HTTP_COOKIE=cookie, **header)
        assert whole == 200
        assert "Rule three." in page
        status, page = asked(
            path, WHOLE[:kept], CONTENT_LENGTH=length, HTTP_COOKIE=cookie, **header
        )
        assert status == 400
        assert "Only part of your request arrived, so nothing was saved." in page

    @pytest.mark.parametrize(
        ("left", "counted"), [(1, True), *product((3, 20, 60, 200), (True, False))]
    )
    def test_a_cut_upload_is_not_imported(self, cookie, left, counted):
        rows = b'{"session": "1", "turns": [{"user": "Hello", "responses": []}]}\n' * 3
        fields = {b"csrfmiddlewaretoken": TOKEN, b"format": b"auto", b"dataset": b"cut"}
        line = b"--limit\r\nContent-Disposition: form-data; name="
        body = b"".join(line + b'"%s"\r\n\r\n%s\r\n' % field for field in fields.items())
        body += line + b'"file"; filename="rows.jsonl"\r\n\r\n' + rows + b"\r\n--limit--\r\n"
        status, page = asked(
            "/datasets/import/",
            body[:-left],
            CONTENT_TYPE="multipart/form-data; boundary=limit",
            CONTENT_LENGTH=str(len(body) - (0 if counted else left)),
            HTTP_COOKIE=cookie,
        )
        assert status == 400
        assert "Only part of your request arrived" in page
        assert not Dataset.objects.filter(slug="cut").exists()

    def test_the_api_says_so_in_its_own_shape(self, cookie):
        status, page = asked(
            "/api/v1/datasets/",
            b"name=on",
            CONTENT_LENGTH="11",
            HTTP_COOKIE=cookie,
            HTTP_X_CSRFTOKEN=TOKEN.decode(),
        )
        assert status == 400
        assert '"code": "api:cut_body"' in page

    @pytest.mark.parametrize(
        "environ",
        [
            {"HTTP_TRANSFER_ENCODING": "chunked"},
            {"HTTP_TRANSFER_ENCODING": "chunked", "CONTENT_LENGTH": "5"},
            {"SERVER_PROTOCOL": "HTTP/2"},
        ],
    )
    def test_a_body_of_no_length_is_refused(self, environ):
        status, page = asked("/sign-in/", WHOLE, **environ)
        assert status == 411
        assert "Content-Length" in page

    def test_a_request_without_a_body_needs_no_length(self):
        make_dataset()
        assert asked("/sign-out/", b"")[0] == 403
        assert asked("/sign-in/", b"", REQUEST_METHOD="GET", SERVER_PROTOCOL="HTTP/2")[0] == 200
