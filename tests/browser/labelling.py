"""What a person does on the labelling pages."""

from __future__ import annotations

from playwright.sync_api import Page, expect

SETTLED_MS = 300  # keys are ignored while a page is younger than 250 ms


STOP = """() => {
  const now = performance.now() + 1000, later = window.setTimeout;
  performance.now = () => now;
  window.setTimeout = (call, ms, ...rest) => (ms > 2000 ? 0 : later(call, ms, ...rest));
}"""


def stop_clock(page: Page) -> None:
    """Stops the page's clock once it has settled, so that keys come at once and messages stay."""
    page.evaluate(STOP)


def move_clock(page: Page) -> None:
    """Moves a stopped clock on, beyond the time in which keys are ignored."""
    page.evaluate("() => { const now = performance.now() + 1000; performance.now = () => now }")


def press_answer(page: Page, key: str) -> None:
    """Press an answer's key once the page has been there long enough to be read."""
    page.wait_for_timeout(SETTLED_MS)
    page.keyboard.press(key)


def shown_texts(page: Page) -> list[str]:
    """The two responses, in presentation order."""
    return page.locator(".resp .prose").all_inner_texts()


def expect_progress(page: Page, text: str) -> None:
    """Wait for the progress of the next page."""
    expect(page.locator(".done-of")).to_contain_text(text)
