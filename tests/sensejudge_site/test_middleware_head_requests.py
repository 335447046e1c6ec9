"""Asking for the head of a page is answered as asking for the page is, without the page."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from annotation.models import Role
from sensejudge_site.middleware import HeadWithoutBody
from tests import factory
from tests.test_architecture import PYTHON, short

VIEWS = [path for path in PYTHON if "tests" not in path.parts and "views" in str(path)]


class Body:
    """A stream that keeps count of what became of it."""

    def __init__(self) -> None:
        self.read = 0
        self.closed = False

    def __iter__(self) -> Body:
        return self

    def __next__(self) -> bytes:
        self.read += 1
        return b"piece"

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_body_is_sent_where_one_is_asked_for(method):
    body = Body()

    def application(_environ: Any, _start_response: Any) -> Any:
        return body

    answer: Any = HeadWithoutBody(application)(
        {"REQUEST_METHOD": method}, lambda *_: lambda _data: None
    )
    if method == "GET":
        assert answer is body
    else:
        assert list(answer) == []
        assert body.closed
        assert body.read == 0


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/sign-in/", "/studies/", "/trust/", "/datasets/", "/nowhere/"])
def test_the_head_is_that_of_the_page(client, path):
    client.force_login(factory.make_user(role=Role.MANAGER))
    page, head = client.get(path), client.head(path)
    assert head.status_code == page.status_code
    assert head.headers["Content-Type"] == page.headers["Content-Type"]
    assert head.content == b""


@pytest.mark.parametrize("path", VIEWS, ids=short)
def test_no_view_answers_get_and_not_head(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        assert not (isinstance(node, ast.alias) and node.name == "require_GET")
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "require_http_methods":
            methods = set(ast.literal_eval(node.args[0]))
            assert "GET" not in methods or "HEAD" in methods
        if isinstance(node, ast.Compare):
            right = [each.value for each in node.comparators if isinstance(each, ast.Constant)]
            assert "GET" not in right, "HEAD is another word"
