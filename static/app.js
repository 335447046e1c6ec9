"use strict";
/* What plain HTML cannot do: keys, menus that close, drafts, leases, and a word when a request fails.
   Every page works without this file. */
(() => {
  const isTyping = (target) =>
    target.closest?.("textarea, select, [contenteditable], input:not([type=radio], [type=checkbox])");

  const closeMenus = (except) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (menu !== except) menu.open = false;
    }
  };
  const focusIn = (menu, target) =>
    target.focus({ preventScroll: menu.closest(".bar") !== null }); // the bar is always in view
  let cameFrom = null; // where the focus was before a key or the pointer opened a menu
  const closeMenu = (menu) => {
    menu.open = false;
    const back = cameFrom?.isConnected ? cameFrom : menu.querySelector("summary");
    cameFrom = null;
    if (back === document.body) document.activeElement.blur();
    else focusIn(menu, back);
  };
  document.addEventListener("click", ({ target, detail }) => {
    const menu = target.closest("details.menu");
    closeMenus(menu);
    // The focus returns to the summary, but for the pointer where Enter is the key of a button.
    const pointed = detail > 0 && document.querySelector('[data-key~="Enter"]');
    if (target.closest(".menu > summary")) cameFrom = pointed ? document.body : null;
    if (target.closest(".menu .close")) closeMenu(menu);
  });

  /* What is opened to be typed into has the focus. */
  const focusOpened = ({ target }) => target.open && target.querySelector("[data-focus]")?.focus();
  document.addEventListener("toggle", focusOpened, true); // it does not bubble

  /* Filters apply as soon as they change; without this file their button does it. */
  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-auto]");
    if (form) form.requestSubmit();
  });

  /* A dataset without a name takes that of its file, where everyone can see and change it; not that
     of another dataset, to which the rows would be added. */
  document.addEventListener("change", ({ target }) => {
    const name = target.form?.querySelector("[data-names-file]");
    if (!name || target.type !== "file" || (name.value && name.value !== name.dataset.namesFile)) return;
    const stem = (target.files[0]?.name || "").replace(/(\.[a-z0-9]{1,5}){1,2}$/i, "");
    const told = stem.replace(/[^\w-]+/g, "-").replace(/^-+|-+$/g, "").slice(0, name.maxLength);
    const known = [...(name.list?.options ?? [])].map((each) => each.value.toLowerCase());
    name.value = known.includes(told.toLowerCase()) ? "" : told;
    name.dataset.namesFile = name.value;
  });

  /* A page that says how far one is says it anew where the browser kept it whole for going back. */
  window.addEventListener("pageshow", ({ persisted }) => {
    if (persisted && document.querySelector(".done-of, .task-status")) location.reload();
  });

  /* A printed page says where it is from, and when. */
  window.addEventListener("beforeprint", () => {
    const now = new Date().toLocaleString(document.documentElement.lang);
    document.body.dataset.printed = `${now} · ${location.href}`;
  });

  /* What asks for itself again and again does not while nobody looks. */
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden && event.target.matches?.("[data-poll]")) event.preventDefault();
  });

  /* Fields that come along with an answer are out of date where something was chosen after it was
     asked for: the choice stays, and asks for itself. */
  let isChosenSince = false;
  document.addEventListener("htmx:beforeSend", () => (isChosenSince = false));
  document.addEventListener("change", () => (isChosenSince = true), true); // before it is asked for
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    if (isChosenSince && event.detail.target.querySelector("input, select")) event.detail.shouldSwap = false;
  });

  /* What is there to be copied, such as an invitation's link, is chosen whole. */
  for (const name of ["focusin", "click"]) {
    document.addEventListener(name, ({ target }) => {
      if (target.matches?.("input[readonly]")) target.select();
    });
  }

  /* A button copies the text of the field that it names, and says so for a while. */
  const COPIED_MS = 2000;
  document.addEventListener("click", async ({ target }) => {
    const button = target.closest?.("button[data-copy]");
    if (!button || button.ariaDisabled) return;
    const field = document.getElementById(button.dataset.copy);
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
    } catch {
      if (!document.execCommand("copy")) return; // the text is chosen: a key copies it
    }
    const before = button.textContent;
    button.ariaDisabled = "true";
    button.textContent = button.dataset.copied;
    setTimeout(() => {
      button.textContent = before;
      button.ariaDisabled = null;
    }, COPIED_MS);
  });

  /* The raw text of a reply is fetched once it is asked for; without this file its link opens it. */
  const showRaw = async (link) => {
    let shown = link.nextElementSibling;
    if (!shown) {
      const answer = await fetch(link.href, { headers: { Accept: "text/plain" } }).catch(() => null);
      if (!answer?.ok) {
        if (!isSignedOut(answer?.status) || !sayPrepared("notice-signed-out")) {
          fail(document.body.dataset.failed);
        }
        return;
      }
      shown = document.createElement("pre");
      shown.className = "raw";
      shown.dir = "auto";
      shown.hidden = true;
      shown.textContent = await answer.text();
      link.after(shown);
    }
    shown.hidden = !shown.hidden;
    link.setAttribute("aria-expanded", String(!shown.hidden));
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-raw]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    showRaw(link);
  });

  const say = (notice) => {
    document.querySelector(".previous")?.remove(); // it is of the answer before
    document.getElementById("messages")?.replaceChildren(notice);
  };
  const sayPrepared = (id) => {
    const prepared = document.getElementById(id);
    if (prepared) say(prepared.content.cloneNode(true));
    return prepared !== null;
  };
  const fail = (text) => {
    const notice = document.createElement("p");
    notice.className = "notice error";
    notice.setAttribute("role", "alert");
    notice.textContent = text;
    say(notice);
    return notice;
  };
  const isSignedOut = (status) => status === 401 || status === 403;
  document.addEventListener("htmx:responseError", (event) => {
    const { xhr, requestConfig } = event.detail;
    if (isSignedOut(xhr.status) && sayPrepared("notice-signed-out")) keepAnswer(requestConfig);
    else fail(document.body.dataset[[404, 410].includes(xhr.status) ? "gone" : "failed"]);
  });
  for (const name of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(name, () => fail(document.body.dataset.failed));
  }

  /* What was entered and has not arrived is kept in this browser, by person and item, until it has. */
  const KEPT_MS = 14 * 24 * 3600 * 1000;
  const NOT_KEPT = ["csrfmiddlewaretoken", "submission"];
  const labelling = () => document.querySelector("form[data-draft]");
  const draftKey = (form) => `draft ${form.dataset.draft}`;
  const fieldsOf = (form) =>
    [...form.elements].filter(
      (field) => field.name && !NOT_KEPT.includes(field.name) && field.matches("input, textarea, select"),
    );
  const isChoice = (field) => field.type === "radio" || field.type === "checkbox";
  const readDraft = (form) => {
    try {
      const draft = JSON.parse(localStorage.getItem(draftKey(form)));
      return draft && Date.now() - draft.at < KEPT_MS ? draft : null;
    } catch {
      return null; // storage is switched off: this browser keeps no drafts
    }
  };
  let unwritten = null; // a form that changed since its draft was written
  let writing = null;
  const writeDraft = (form, pending = null) => {
    clearTimeout(writing);
    unwritten = null;
    const values = fieldsOf(form)
      .filter((field) => (isChoice(field) ? field.checked : field.value))
      .map((field) => [field.name, field.value]);
    try {
      localStorage.setItem(draftKey(form), JSON.stringify({ at: Date.now(), values, pending }));
    } catch {
      return; // switched off, or full
    }
  };
  const dropDraft = (form) => {
    try {
      localStorage.removeItem(draftKey(form));
    } catch {
      return; // switched off
    }
  };
  const restoreDraft = (form) => {
    const draft = readDraft(form);
    if (!draft) return;
    const refused = form.querySelector(".errorlist") !== null; // the page shows what was sent
    for (const field of fieldsOf(form)) {
      if (refused && !field.dataset.measure) continue;
      const found = draft.values.filter(([name]) => name === field.name).map(([, value]) => value);
      if (isChoice(field)) field.checked = found.includes(field.value);
      else field.value = found[0] ?? "";
    }
    if (!refused) sayPrepared("notice-restored");
  };
  const keepAnswer = ({ elt, parameters }) => {
    if (!elt.matches("form[data-draft]")) return;
    writeDraft(elt, { submission: parameters.submission, answer: parameters.answer ?? null });
  };
  const sendKept = () => {
    const form = labelling();
    const pending = form && readDraft(form)?.pending;
    if (!pending) return;
    writeDraft(form); // once only: whatever happens now, the next page load does not send it again
    const buttons = [...form.elements].filter((each) => each.type === "submit");
    const button = pending.answer === null
      ? buttons[0]
      : buttons.find((each) => each.value === pending.answer);
    if (!button) return; // the study no longer allows that answer: no other one is given for it
    sayPrepared("notice-sending");
    form.elements.submission.value = pending.submission;
    button.click();
  };
  /* A draft of two hundred turns takes a while to write: not between a key and what it shows. */
  const DRAFT_AFTER_MS = 200;
  const writeNow = () => {
    if (unwritten && unwritten === labelling()) writeDraft(unwritten);
  };
  for (const name of ["input", "change"]) {
    document.addEventListener(name, (event) => {
      const form = event.target.form;
      if (!form?.matches("form[data-draft]")) return;
      unwritten = form;
      clearTimeout(writing);
      writing = setTimeout(writeNow, DRAFT_AFTER_MS);
    });
  }
  window.addEventListener("pagehide", writeNow);
  document.addEventListener("visibilitychange", writeNow);
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr, requestConfig } = event.detail;
    const form = labelling();
    if (!form || requestConfig.verb !== "post") return;
    // A skip may be undone, and what was refused be sent again.
    if (requestConfig.elt !== form || xhr.status >= 300) return writeNow();
    unwritten = null;
    dropDraft(form);
  });

  /* The pair that follows is fetched while this one is read. The server gives it out on going on, and
     says so by naming what its page shows; any other answer is shown as it is. */
  let ahead = null;
  const fetchAhead = async () => {
    ahead = null;
    const form = labelling();
    if (!form?.dataset.ahead) return;
    try {
      const answer = await fetch(form.dataset.ahead);
      const shows = answer.ok && answer.headers.get("X-Shows");
      const html = await answer.text();
      if (shows && form === labelling()) ahead = { shows, html };
    } catch {
      return; // no connection: the next pair is asked for when it is due
    }
  };
  document.addEventListener("htmx:configRequest", (event) => {
    const { verb, elt, parameters } = event.detail;
    if (ahead && verb === "post" && elt.closest(".bar")) parameters.ahead = ahead.shows;
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr } = event.detail;
    if (!ahead || xhr.getResponseHeader("X-Shows") !== ahead.shows) return;
    event.detail.serverResponse = ahead.html;
    ahead.status = xhr.responseText;
  });
  document.addEventListener("htmx:afterSwap", () => {
    const place = ahead?.status && document.querySelector(".task-status");
    if (place) place.outerHTML = ahead.status;
  });

  /* Time is active while the page is in view and there was input within the last half minute; else
     it is idle. It counts for the turn one is at, or for the whole form, in fields that go along. */
  const IDLE_AFTER_MS = 30 * 1000;
  let countedTo = performance.now();
  let lastInput = countedTo;
  let inView = !document.hidden;
  let device = "";
  const measure = (place, what) => place.querySelector(`[data-measure=${what}]`);
  const add = (field, milliseconds) => {
    field.value = (Number(field.value) + milliseconds / 1000).toFixed(3);
  };
  const count = () => {
    const now = performance.now();
    const form = labelling();
    const place = form?.querySelector("[data-turn][data-current]") || form;
    if (place && measure(place, "active")) {
      const until = Math.min(now, lastInput + IDLE_AFTER_MS);
      const active = inView ? Math.max(0, until - countedTo) : 0;
      add(measure(place, "active"), active);
      add(measure(place, "idle"), now - countedTo - active);
    }
    countedTo = now;
  };
  const noteDevice = (event) => {
    if (event.type === "keydown") device = "KEYBOARD";
    else if (event.type === "pointerdown") device = event.pointerType === "touch" ? "TOUCH" : "POINTER";
  };
  for (const name of ["keydown", "pointerdown", "pointermove", "wheel", "scroll"]) {
    const seen = (event) => {
      if (performance.now() - lastInput > 1000 || name.endsWith("down")) count();
      lastInput = performance.now();
      noteDevice(event);
    };
    document.addEventListener(name, seen, { capture: true, passive: true });
  }
  document.addEventListener("visibilitychange", () => {
    count();
    inView = !document.hidden;
  });
  const saveDevice = (place) => {
    const field = place && measure(place, "device");
    if (field) field.value = device;
  };
  document.addEventListener(
    "submit",
    (event) => {
      if (!event.target.matches("form[data-draft]")) return;
      count();
      if (!event.target.querySelector("[data-turn]")) saveDevice(event.target);
    },
    { capture: true },
  );

  /* While its page is open, the item stays with the annotator. */
  let renewedAt = Date.now();
  let beat = null;
  const renew = async () => {
    const form = labelling();
    if (!form?.dataset.lease) return;
    renewedAt = Date.now();
    const headers = {
      Accept: "text/plain",
      "X-CSRFToken": form.elements.csrfmiddlewaretoken.value,
    };
    let answer;
    try {
      answer = await fetch(form.dataset.lease, { method: "POST", headers });
    } catch {
      return; // no connection: the next beat tries again
    }
    if (form !== labelling()) return;
    if (answer.ok) document.querySelector(".lease-lost")?.remove();
    else if (isSignedOut(answer.status)) sayPrepared("notice-signed-out");
    else if (answer.headers.get("content-type")?.startsWith("text/plain")) {
      fail(await answer.text()).classList.add("lease-lost");
    }
  };
  const beginLease = () => {
    clearInterval(beat);
    renewedAt = Date.now();
    const seconds = Number(labelling()?.dataset.renew);
    beat = seconds ? setInterval(renew, seconds * 1000) : null;
  };
  document.addEventListener("visibilitychange", () => {
    const seconds = Number(labelling()?.dataset.renew);
    if (!document.hidden && seconds && Date.now() - renewedAt > seconds * 1000) renew();
  });

  /* data-key="2 1": each of these keys presses the element. Within a data-turn only while it is the
     turn one is at (data-current), so that 1-5 rate that turn. While a menu is open, keys are for it
     and what it holds alone; Escape and its own key close it. */
  /* Within data-settle, what gave an answer gives none to the item that comes in its place at once: a
     key or a button was pressed twice. Anything else counts; what does not, says so. */
  const SETTLE_MS = 250;
  const SAID_MS = 2500;
  let shownAt = performance.now();
  let answeredBy = null; // a key, or a button of the pointer; nothing yet since the page was loaded
  let uncounted = false; // something was pressed while an answer was under way
  const sayUncounted = () => {
    uncounted = false;
    const place = document.querySelector("[data-uncounted]");
    if (!place) return;
    place.textContent = place.dataset.uncounted;
    setTimeout(() => (place.textContent = ""), SAID_MS);
  };
  const isCounted = (element, by, isAgain) => {
    const form = element.closest("[data-settle]");
    if (!form) return true;
    if (form.matches(".htmx-request")) {
      uncounted ||= by !== answeredBy; // said once the next item is there
      return false;
    }
    if (isAgain && performance.now() - shownAt < SETTLE_MS) {
      sayUncounted();
      return false;
    }
    answeredBy = by;
    return true;
  };
  document.addEventListener(
    "click",
    (event) => {
      const button = event.target.closest?.("[data-settle] button");
      if (!button || event.detail === 0) return; // a key pressed it
      const by = `pointer ${button.value}`;
      if (isCounted(button, by, by === answeredBy)) return;
      event.preventDefault();
      event.stopPropagation();
    },
    { capture: true },
  );
  const press = (element) => {
    if (!(element instanceof HTMLDetailsElement)) {
      element.click();
      return;
    }
    if (element.open) {
      closeMenu(element);
      return;
    }
    closeMenus(element);
    cameFrom = document.activeElement;
    element.open = true;
    const inside = "div :is(button, a, input:not([type=hidden]), textarea, select, [tabindex='0'])";
    const target = element.querySelector("div input:checked") || element.querySelector(inside);
    focusIn(element, target || element.querySelector("summary"));
  };
  const isOpenToKeys = (element) =>
    !element.disabled &&
    element.closest("[data-turn]")?.hasAttribute("data-current") !== false &&
    element.checkVisibility();
  const usesArrows = (target) =>
    target.matches?.("[type=radio]") || (target.tabIndex === 0 && target.scrollWidth > target.clientWidth);
  document.addEventListener("keydown", (event) => {
    // 229 is what some browsers say of the key that ends a composition, after it.
    if (event.isComposing || event.keyCode === 229) return;
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const menu = document.querySelector("details.menu[open]");
    if (event.key === "Escape") {
      if (menu) closeMenu(menu);
      return;
    }
    const { target } = event;
    if (isTyping(target)) return;
    if (event.key === "Enter" && target.matches?.("input") && (menu || target.form?.matches("[data-settle]"))) {
      event.preventDefault(); // it would press the first of the form's buttons
      if (menu) closeMenu(menu);
      return;
    }
    if (event.key.startsWith("Arrow") && (event.shiftKey || usesArrows(target))) return;
    if ((event.key === "Enter" || event.key === " ") && target.closest?.("a, button, summary")) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (!menu && (key === "j" || key === "k")) move(key === "j" ? 1 : -1);
    const named = document.querySelectorAll(`[data-key~="${CSS.escape(key)}"]`);
    const found = [...named].find((each) => isOpenToKeys(each) && menu?.contains(each) !== false);
    if (!found) return;
    event.preventDefault();
    if (isCounted(found, key, answeredBy === null || key === answeredBy)) press(found);
  });

  /* All that is folded of the context opens, for whoever needs the rest, and folds again. */
  let readAt = 0;
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-unfold]");
    if (!button) return;
    const opens = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(opens));
    for (const each of document.querySelectorAll(".labelling details:not(.menu, .recent, .scale *)")) each.open = opens;
    if (opens) readAt = scrollY;
    scrollTo(0, opens ? 0 : readAt);
  });

  /* The rating page: one turn is current; a reason is kept only at 3 and below. */
  const turns = () => [...document.querySelectorAll("[data-turn]")];
  const isComplete = (turn) =>
    isRated(turn) &&
    [...turn.querySelectorAll("fieldset")].every(
      (each) => each.closest(".menu") || !each.checkVisibility() || each.querySelector(":checked"),
    );
  const isRated = (turn) => turn.querySelector(":is(.rate, .question) :checked") !== null;
  const makeCurrent = (turn) => {
    count(); // for the turn one leaves
    for (const each of document.querySelectorAll("[data-current]")) {
      if (each !== turn) each.removeAttribute("data-current");
    }
    if (turn && !turn.hasAttribute("data-current")) turn.setAttribute("data-current", "");
  };
  const move = (step) => {
    const all = turns();
    const at = all.findIndex((turn) => turn.hasAttribute("data-current"));
    let to = at + step;
    while (all[to] && !all[to].checkVisibility()) to += step; // some show turns as they are rated
    const turn = all[to] || all[at];
    if (turn) goTo(turn, turn, "start");
  };
  const goTo = (turn, part, block) => {
    makeCurrent(turn);
    turn.focus({ preventScroll: true });
    part.scrollIntoView({ block });
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
    const rates = [...document.querySelectorAll(".rate")];
    const open = turns().filter((turn) => !isComplete(turn));
    if (open.length && document.querySelector("[data-missing]")) {
      const names = [...new Set(open.map((turn) => turn.dataset.name ?? turn.getAttribute("aria-label")))];
      place.textContent = `${place.dataset.open} ${names.slice(0, 3).join(", ")}${names.length > 3 ? " …" : ""}`;
      return;
    }
    const numbers = [rates.filter((each) => isComplete(each.closest("[data-turn]"))).length, rates.length];
    place.textContent = place.dataset.text.replace(/%d/g, () => numbers.shift());
  };
  /* What is still open is named in the bar, marked, and gone to, not said of one field alone. */
  const askForOpen = () => {
    for (const turn of turns()) turn.toggleAttribute("data-missing", !isComplete(turn));
    countRated();
    const turn = document.querySelector("[data-missing]");
    if (!turn) return;
    const asks = (each) => each.checkVisibility() && !each.closest(".menu") && !each.querySelector(":checked");
    goTo(turn, [...turn.querySelectorAll("fieldset")].find(asks) ?? turn, "center");
  };
  let asking = 0;
  const refuse = (event) => {
    if (!event.target.closest("[data-turn]")) return;
    event.preventDefault();
    cancelAnimationFrame(asking);
    asking = requestAnimationFrame(askForOpen);
  };
  document.addEventListener("invalid", refuse, { capture: true });
  document.addEventListener("change", (event) => {
    const turn = event.target.closest("[data-turn]");
    if (!turn) return;
    saveDevice(turn);
    askReasons(turn);
    countRated();
  });
  for (const name of ["click", "focusin"]) {
    document.addEventListener(name, (event) => {
      const turn = event.target.closest?.("[data-turn]");
      if (turn) makeCurrent(turn);
    });
  }
  /* Two responses both taller than the window may scroll together, by the share of what is read. */
  const columns = () => [...document.querySelectorAll(".pair > .resp")];
  const setSynced = (on) => {
    document.querySelector(".pair")?.classList.toggle("synced", on);
    document.querySelector("[data-sync]")?.setAttribute("aria-pressed", String(on));
    for (const column of columns()) {
      if (on) column.tabIndex = 0;
      else column.removeAttribute("tabindex");
    }
  };
  const offerSync = () => {
    const button = document.querySelector("[data-sync]");
    if (!button) return;
    const side = columns().every((column) => column.offsetTop === columns()[0].offsetTop);
    button.hidden = !side || columns().some((column) => column.scrollHeight <= innerHeight);
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-sync]");
    if (button) setSynced(button.getAttribute("aria-pressed") !== "true");
  });
  let led = null; // the column a reader scrolls; the other follows and does not answer
  const follow = (event) => {
    const column = event.target;
    if (!column.matches?.(".synced > .resp")) return;
    if (led === column) {
      led = null;
      return;
    }
    const other = columns().find((each) => each !== column);
    const room = (each) => each.scrollHeight - each.clientHeight;
    const place = Math.round((column.scrollTop / Math.max(room(column), 1)) * room(other));
    if (Math.round(other.scrollTop) === place) return;
    led = other;
    other.scrollTop = place;
  };
  document.addEventListener("scroll", follow, { capture: true, passive: true });

  /* What scrolls sideways must be reachable by keyboard. */
  const reachScrolling = () => {
    for (const box of document.querySelectorAll(".table-wrap, .prose pre, .prose div.math, .prose > :has(math)")) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    }
    for (const box of document.querySelectorAll(".recent .prose")) {
      if (box.scrollHeight > box.clientHeight) box.tabIndex = 0;
    }
  };
  const begin = () => {
    shownAt = countedTo = lastInput = performance.now();
    reachScrolling();
    offerSync();
    const form = labelling();
    if (form) restoreDraft(form);
    if (uncounted) sayUncounted();
    fetchAhead();
    beginLease();
    turns().forEach(askReasons);
    const first = turns().find((turn) => turn.querySelector(".errorlist") || !isRated(turn));
    makeCurrent(first || turns()[0]);
    countRated();
    const scale = document.querySelector(".scale details");
    if (scale && matchMedia("(max-width: 760px)").matches) scale.open = false;
  };
  document.addEventListener("htmx:afterSwap", () => (shownAt = performance.now())); // htmx settles later
  document.addEventListener("htmx:afterSettle", ({ detail }) => {
    if (labelling() && detail.target !== document.body) reachScrolling(); // a part of the page came
    else begin();
  });
  begin();
  addEventListener("resize", reachScrolling); // a turned phone: what fitted scrolls now
  for (const here of document.querySelectorAll(":is(.top nav, .tabs) [aria-current]")) {
    here.scrollIntoView({ inline: "center", block: "nearest" });
  }
  document.addEventListener("DOMContentLoaded", sendKept); // after htmx took the form over
})();
