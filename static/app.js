"use strict";
/* What plain HTML cannot do: keys, menus that close, and a word when a request fails.
   Every page works without this file. */
(() => {
  const isTyping = (target) =>
    target.closest?.("textarea, select, [contenteditable], input:not([type=radio], [type=checkbox])");

  const closeMenus = (except) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (menu !== except) menu.open = false;
    }
  };
  document.addEventListener("click", (event) => closeMenus(event.target.closest("details.menu")));

  /* Filters apply as soon as they change; without this file their button does it. */
  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-auto]");
    if (form) form.requestSubmit();
  });

  const fail = () => {
    const notice = document.createElement("p");
    notice.className = "notice error";
    notice.setAttribute("role", "alert");
    notice.textContent = document.body.dataset.failed;
    document.getElementById("messages")?.replaceChildren(notice);
  };
  for (const name of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(name, fail);
  }

  /* data-key="2 1": each of these keys presses the element. Within a data-turn only while it is the
     turn one is at (data-current), so that 1-5 rate that turn. Within data-settle not in the first
     moment of a page: nobody has read it by then, the key was meant for the page before. */
  const SETTLE_MS = 250;
  let shownAt = performance.now();
  const press = (element) => {
    if (!(element instanceof HTMLDetailsElement)) {
      element.click();
      return;
    }
    closeMenus(element);
    element.open = !element.open;
    const target = element.open && element.querySelector("div button, div a");
    (target || element.querySelector("summary")).focus();
  };
  const answersTo = (element, key) =>
    element.dataset.key.split(" ").includes(key) &&
    !element.disabled &&
    element.closest("[data-turn]")?.hasAttribute("data-current") !== false &&
    element.checkVisibility();
  document.addEventListener("keydown", (event) => {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.key === "Escape") {
      const open = document.querySelector("details.menu[open] summary");
      closeMenus(null);
      open?.focus();
      return;
    }
    const { target } = event;
    if (isTyping(target)) return;
    if ((event.key === "Enter" || event.key === " ") && target.closest?.("a, button, summary")) return;
    if (event.key === "j" || event.key === "k") move(event.key === "j" ? 1 : -1);
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const found = [...document.querySelectorAll("[data-key]")].find((each) => answersTo(each, key));
    if (!found) return;
    event.preventDefault();
    if (found.closest("[data-settle]") && performance.now() - shownAt < SETTLE_MS) return;
    press(found);
  });

  /* The rating page: one turn is current; a reason is kept only at 3 and below. */
  const turns = () => [...document.querySelectorAll("[data-turn]")];
  const isRated = (turn) => turn.querySelector(".rate :checked") !== null;
  const makeCurrent = (turn) => {
    for (const each of turns()) each.toggleAttribute("data-current", each === turn);
  };
  const move = (step) => {
    const all = turns();
    const at = all.findIndex((turn) => turn.hasAttribute("data-current"));
    const turn = all[Math.min(Math.max(at + step, 0), all.length - 1)];
    if (!turn) return;
    makeCurrent(turn);
    turn.focus({ preventScroll: true });
    turn.scrollIntoView({ block: "start" });
  };
  const askReasons = (turn) => {
    const score = Number(turn.querySelector(".rate :checked")?.value);
    for (const radio of turn.querySelectorAll(".reason input")) {
      radio.required = score <= 3;
      if (score > 3) radio.checked = false;
    }
  };
  const countRated = () => {
    const place = document.getElementById("rated");
    if (!place) return;
    const all = turns();
    const numbers = [all.filter(isRated).length, all.length];
    place.textContent = place.dataset.text.replace(/%d/g, () => numbers.shift());
  };
  document.addEventListener("change", (event) => {
    const turn = event.target.closest("[data-turn]");
    if (!turn) return;
    askReasons(turn);
    countRated();
  });
  for (const name of ["click", "focusin"]) {
    document.addEventListener(name, (event) => {
      const turn = event.target.closest?.("[data-turn]");
      if (turn) makeCurrent(turn);
    });
  }
  /* What scrolls sideways must be reachable by keyboard. */
  const reachScrolling = () => {
    for (const box of document.querySelectorAll(".table-wrap, .prose pre, .prose div.math")) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    }
  };
  const begin = () => {
    shownAt = performance.now();
    reachScrolling();
    turns().forEach(askReasons);
    const first = turns().find((turn) => turn.querySelector(".errorlist") || !isRated(turn));
    makeCurrent(first || turns()[0]);
    countRated();
    const scale = document.querySelector(".scale details");
    if (scale && matchMedia("(max-width: 760px)").matches) scale.open = false;
  };
  document.addEventListener("htmx:afterSettle", begin);
  begin();
})();
