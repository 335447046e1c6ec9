"use strict";
/* Live conversations: Enter sends, what was typed is kept until the server has it, and the page stays
   at the end while a reply comes. The page works without this file. */
(() => {
  const composer = document.getElementById("composer");
  if (!composer) return;
  const box = composer.elements.text;
  const key = `talk ${composer.dataset.talk}`;
  const log = () => document.getElementById("talk-log");
  const arrived = (submission) => log().querySelector(`[data-submission="${CSS.escape(submission)}"]`);

  /* The draft goes with the id of its submission: a message whose answer was lost on the way is sent
     again under the same id, and one that had arrived is not shown as unsent. Other words are another
     message and get another id. A draft that another tab wrote is not removed. */
  let mine = null; // the submission whose draft this page wrote last
  const read = () => {
    try {
      return JSON.parse(localStorage.getItem(key));
    } catch {
      return null; // storage is switched off: this browser keeps no drafts
    }
  };
  const write = () => {
    try {
      if (box.value) {
        mine = composer.elements.submission.value;
        localStorage.setItem(key, JSON.stringify({ text: box.value, submission: mine }));
      } else if (mine && read()?.submission === mine) localStorage.removeItem(key);
    } catch {
      return; // switched off, or full
    }
  };
  const restore = () => {
    const draft = read();
    mine = draft?.submission;
    if (!draft?.text || arrived(draft.submission)) return write();
    const kept = box.value;
    if (kept.includes(draft.text)) return;
    box.value = kept && !draft.text.includes(kept) ? `${kept}\n\n${draft.text}` : draft.text;
    composer.elements.submission.value = draft.submission;
  };
  const newSubmission = () => {
    const bytes = crypto.getRandomValues(new Uint8Array(16)); // randomUUID needs https
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  };

  box.addEventListener("input", () => {
    composer.elements.submission.value = newSubmission();
    write();
  });
  addEventListener("pagehide", () => { if (box.value) write(); });
  box.addEventListener("keydown", (event) => {
    // 229 is what some browsers say of the key that ends a composition, after it.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    if (!event.repeat) composer.requestSubmit();
  });

  const isPending = () => log().querySelector("[data-pending]") !== null;
  const showBusy = () => {
    composer.querySelector("button").disabled = isPending();
  };
  composer.addEventListener("submit", (event) => {
    if (!isPending()) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }, { capture: true });
  composer.addEventListener("htmx:afterRequest", (event) => {
    const { elt, xhr, requestConfig } = event.detail;
    if (elt !== composer || xhr.status !== 200) return;
    const sent = requestConfig.parameters.text; // they may have written on meanwhile
    if (box.value.startsWith(sent)) box.value = box.value.slice(sent.length).trimStart();
    composer.elements.submission.value = newSubmission();
    write();
    box.focus();
  });

  /* The ticks stay on the page while they change: each change is a submission of its own. */
  document.querySelector("[data-ticks]")?.addEventListener("htmx:configRequest", (event) => {
    event.detail.parameters.submission = newSubmission();
  });

  /* The end stays in view while one is there; who reads further up is left in peace. */
  const page = document.scrollingElement;
  const atEnd = () => page.scrollHeight - page.scrollTop - innerHeight < 120;
  let follow = true;
  document.addEventListener("scroll", () => { follow = atEnd(); }, { passive: true });
  const toEnd = () => page.scrollTo({ top: page.scrollHeight });
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr, requestConfig } = event.detail;
    if (requestConfig.elt === composer) follow = true;
    /* A poll that came through: the notice of one that did not is over. */
    if (xhr.status === 200 && requestConfig.verb === "get") {
      document.querySelector("#messages .notice.error")?.remove();
    }
  });
  /* Stopping a reply and looking for more of it may cross. The answer that comes second is to what the
     first has replaced: it is left out, for it tells nothing newer and has no place on the page. */
  document.addEventListener("htmx:beforeRequest", ({ target }) => {
    const leaveOut = (event) => {
      if (!target.isConnected) event.preventDefault();
    };
    target.addEventListener("htmx:beforeOnLoad", leaveOut, { once: true });
  });
  document.addEventListener("htmx:afterSettle", () => {
    if (!log()) return; // a refusal took the page's place
    showBusy();
    if (follow) toEnd();
  });

  restore();
  showBusy();
  const aside = document.querySelector(".talk .task details");
  const small = matchMedia("(max-width: 760px)").matches;
  if (aside && small && log().querySelector("[data-submission]")) aside.open = false;
  if (log().querySelector("[data-submission]")) toEnd();
})();
