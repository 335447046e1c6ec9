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

  /* data-key: the key presses the element. A part marked data-keys-of="x" takes keys only while it
     holds data-current, so that 1-5 rate the turn one is at. */
  const press = (element) => {
    if (element instanceof HTMLDetailsElement) {
      element.open = !element.open;
      element.querySelector("summary").focus();
    } else {
      element.click();
    }
  };
  document.addEventListener("keydown", (event) => {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.key === "Escape") {
      const open = document.querySelector("details.menu[open] summary");
      closeMenus(null);
      open?.focus();
      return;
    }
    if (isTyping(event.target)) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const found = [...document.querySelectorAll("[data-key]")].find(
      (element) =>
        element.dataset.key === key &&
        !element.disabled &&
        element.closest("[data-turn]")?.hasAttribute("data-current") !== false &&
        (element instanceof HTMLInputElement || element.checkVisibility()),
    );
    if (!found) return;
    event.preventDefault();
    press(found);
  });
})();
