"""`make attack` passes on a machine that lacks a program, and says what it left out."""

from __future__ import annotations

import json
from contextlib import nullcontext
from types import SimpleNamespace

import psycopg

from tests import proxy
from tests.attacks import __main__ as attacks
from tests.attacks import half_posts
from tests.paths import ROOT


def test_without_nginx_the_proxy_is_left_out_and_named(monkeypatch):
    monkeypatch.setattr(proxy, "NGINX", None)
    monkeypatch.setattr(half_posts, "_measured", lambda *_asked: {"granian_0_seconds": 0.1})
    server = nullcontext(SimpleNamespace(port=1))
    outcome = half_posts.attack(SimpleNamespace(on_postgres=True, root=ROOT, server=lambda: server))
    assert outcome.held
    assert "nginx or openssl is not on this machine" in outcome.figures["left_out"]


def test_a_slow_machine_is_no_breach_and_a_page_that_never_comes_is():
    assert half_posts._held({"serve_64_seconds": half_posts._PATIENCE - 1})
    assert not half_posts._held({"serve_64_seconds": half_posts._PATIENCE})


def test_without_postgresql_its_setting_is_left_out_and_named(monkeypatch, capsys):
    def refuse(*_asked, **_named):
        raise psycopg.OperationalError

    monkeypatch.setattr(psycopg, "connect", refuse)
    assert attacks.main(["lock_out", "--setting", "postgres"]) == 0
    line = json.loads(capsys.readouterr().out)
    assert line == {
        "attack": "lock_out",
        "setting": "postgres",
        "left_out": "no PostgreSQL on 127.0.0.1:5432",
    }
