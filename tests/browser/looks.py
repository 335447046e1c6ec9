"""A page as it looks wide by day and narrow by night, and what is wrong with it."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 360, "height": 800}
BOTH_LOOKS = pytest.mark.parametrize(
    ("scheme", "viewport"), [("light", WIDE), ("dark", NARROW)], ids=["wide-light", "narrow-dark"]
)
OF_THE_LOOK = ("color-contrast", "link-in-text-block", "scrollable-region-focusable")
"""axe's rules whose outcome depends on the theme or the width; others read the document alone."""

_SERIOUS = {"serious", "critical"}
# axe gives each fault the impact of its rule: what the others find would not be told.
_AXE = f"""{AXE_SCRIPT}
axe.configure({{rules: axe._audit.rules
  .filter((each) => !{sorted(_SERIOUS)}.includes(each.impact))
  .map(({{id}}) => ({{id, enabled: false}}))}});"""
_SETTLED = """async () => {
  // A new width is told to the page with its next frame.
  await new Promise((told) => requestAnimationFrame(() => requestAnimationFrame(told)));
  await Promise.allSettled(document.getAnimations()
    .filter((each) => each instanceof CSSTransition).map((each) => each.finished));
}"""
_TOO_WIDE = """() => [...document.querySelectorAll("body *")]
  .filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
  .slice(0, 3).map((each) => each.outerHTML.slice(0, 120))"""
# What Swagger UI draws of the API is not ours, and comes when it comes.
_RUN = """(options) => axe.run({exclude: [["#swagger-ui"]]}, options)
  .then((results) => results.violations)"""
_MARK_REPEATED = """() => {
  const told = /^(class|type|role|hidden|open|disabled|checked|selected|aria-.*)$/;
  const kind = (each) => [
    each.tagName,
    ...[...each.attributes].map(({name, value}) => told.test(name) ? `${name}=${value}` : name),
    [...each.childNodes].some((own) => own.nodeType === Node.TEXT_NODE && own.data.trim()),
    "(", ...[...each.children].map(kind), ")",
  ].join(" ");
  const mark = (parent) => {
    const times = new Map();
    for (const each of parent.children) {
      const own = kind(each);
      times.set(own, (times.get(own) ?? 0) + 1);
      if (times.get(own) <= 2) { mark(each); continue; }
      for (const one of [each, ...each.querySelectorAll("*")]) one.setAttribute("data-again", "");
    }
  };
  mark(document.body);
  axe.configure({rules: [{id: "color-contrast", selector: ":not([data-again])"}]});
}"""


def bring_axe(page: Page) -> None:
    """Have axe in every page that is opened from now on: a browser compiles it once for all."""
    page.add_init_script(_AXE)


def faults_of(page: Page, *, rules: tuple[str, ...] = ()) -> list[str]:
    """Serious faults of the page as it stands, once its colours have changed over.

    Args:
        page: what is open.
        rules: axe's rules to apply; all that find serious faults where there is none.
    """
    page.evaluate(_SETTLED)
    _load_axe(page)
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = {"type": "rule", "values": list(rules)}
    faults = [
        f"{each['id']}: {each['nodes'][0]['html'][:200]}"
        for each in page.evaluate(_RUN, options)
        if each["impact"] in _SERIOUS
    ]
    size = page.viewport_size
    assert size is not None
    width = page.evaluate("document.documentElement.scrollWidth")
    if width > size["width"]:
        faults.append(f"{width} px wide: {page.evaluate(_TOO_WIDE)}")
    return faults


def read_each_kind(page: Page) -> None:
    """Have the colours of a page as it stands read of two neighbours of a kind: more repeat them.

    Of one kind are elements of one structure whose classes, states and attributes are the same:
    the rows of a table, say. Whatever else axe asks is asked of all.
    """
    _load_axe(page)
    page.evaluate(_MARK_REPEATED)


def _load_axe(page: Page) -> None:
    if not page.evaluate("'axe' in window"):
        page.evaluate(_AXE)


def assert_accessible(page: Page) -> None:
    """No serious fault as it stands."""
    faults = faults_of(page)
    assert not faults, "\n".join(faults)
