"use strict";
/* Long and wide tables are folded; tables and charts are taken along as LaTeX, Markdown and SVG. */
(() => {
  const { unfold } = document.currentScript.dataset;
  const ROWS = 20;
  const COLUMNS = 12;
  /* Figures beyond the first rows and columns are hidden until asked for; a list with a pager is short already. */
  const fold = () => {
    for (const table of document.querySelectorAll("main .table-wrap table:not([data-folded])")) {
      table.dataset.folded = "";
      if (!table.querySelector("thead th.n") || table.closest(".card, main").querySelector("nav.pager")) continue;
      const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
      const isPlain = !table.querySelector("[colspan], [rowspan]");
      const beyond = rows.length > 1.25 * ROWS ? rows.slice(ROWS) : [];
      if (isPlain && table.rows[0].cells.length > 1.25 * COLUMNS) {
        beyond.push(...[...table.rows].flatMap((row) => [...row.cells].slice(COLUMNS)));
      }
      if (!beyond.length) continue;
      const show = (isShown) => beyond.forEach((each) => { each.hidden = !isShown; });
      show(false);
      const button = document.createElement("button");
      button.type = "button";
      button.className = "small";
      button.textContent = `${unfold} (${rows.length} × ${table.rows[0].cells.length})`;
      const place = document.createElement("p");
      place.className = "row";
      place.append(button);
      table.closest(".table-wrap").before(place);
      button.addEventListener("click", () => { show(true); place.remove(); });
      addEventListener("beforeprint", () => show(true), { once: true });
    }
  };
  fold();
  document.addEventListener("htmx:afterSettle", fold);

  /* The address that shows these figures also after later runs, where the page has one. */
  const address = () => document.querySelector("main [data-permanent]")?.href ?? location.href;
  const written = (node) => {
    const copy = node.cloneNode(true);
    for (const each of copy.querySelectorAll(".method, .visually-hidden, button, svg")) each.remove();
    for (const each of copy.querySelectorAll(".iv")) {
      const text = each.textContent.trim();
      each.textContent = text.includes("…") && !text.startsWith("(") ? ` (${text})` : ` ${text}`;
    }
    return copy.textContent.replace(/\s+/g, " ").trim();
  };

  /* Rows of texts; a cell that goes over several rows stands in the first. */
  const rowsOf = (table) => {
    const rows = [...table.rows].map(() => []);
    [...table.rows].forEach((row, at) => {
      let column = 0;
      for (const cell of row.cells) {
        while (rows[at][column] !== undefined) column += 1;
        for (let down = 0; down < cell.rowSpan && rows[at + down]; down += 1) {
          for (let across = 0; across < cell.colSpan; across += 1) {
            rows[at + down][column + across] = down || across ? "" : written(cell);
          }
        }
      }
    });
    return rows;
  };
  const isNumber = (table, column) => table.rows[0].cells[column]?.classList.contains("n");

  const LATEX = {
    "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "…": "\\ldots{}",
    "|": "\\textbar{}", "<": "\\textless{}", ">": "\\textgreater{}", "→": "$\\to$", "−": "$-$", "×": "$\\times$",
    "±": "$\\pm$", "≤": "$\\le$", "≥": "$\\ge$", "≈": "$\\approx$", "▲": "$\\triangle$", "′": "$'$",
    "α": "$\\alpha$", "κ": "$\\kappa$", "ρ": "$\\rho$", "τ": "$\\tau$",
  };
  // pdfLaTeX knows Latin letters and these signs; what else a name has needs an engine and a font that do.
  const IS_HAN = /[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]/;
  const IS_OTHER = /[^\u0000-\u017f\u2010-\u2022]/;
  const needed = (text) => {
    if (IS_HAN.test(text)) return "\\usepackage{booktabs,url,ctex} and XeLaTeX";
    return IS_OTHER.test(text) ? "\\usepackage{booktabs,url}, XeLaTeX and a font with these letters" : "\\usepackage{booktabs,url}";
  };
  // What begins a row is not read as an argument of the \\ or the rule before it: [2ex], *.
  const RANGE = /(\d[^\s(]*) … ([+−]?\d)/g;
  const asLatex = (text, column) =>
    text.replace(RANGE, "$1–$2").replace(/[\\~^…|<>→−×±≤≥≈▲′ακρτ]|[&%$#_{}]/g, (sign) => LATEX[sign] ?? `\\${sign}`)
      .replace(/^(?=[[*])/, column ? "" : "{}")
      .replace(/[\u00a0\u2009\u202f]/g, "~").replace(/–/g, "--");
  /* What a table is: its heading, whose page it is on, and the first sentence with numbers below it. */
  const captionOf = (table) => {
    const card = table.closest(".card, details, main");
    const heading = card.querySelector("h2, h3, summary") ?? document.querySelector("main h1");
    const about = document.querySelector("main .head p.muted");
    const notes = [...document.querySelectorAll("main .answer > p"), ...card.querySelectorAll(".note")];
    const counted = notes.map((note) => written(note).split(/(?<=[.。;；])\s?/)[0]).filter((text) => /\d/.test(text)).at(-1);
    return [heading, about].filter(Boolean).map(written).concat(counted ?? []).map((text) => text.replace(/[.;。；]$/, "")).join(". ");
  };
  const FORMATS = {
    latex: (rows, table, from) => {
      const [head, ...body] = rows.map((row) => `  ${row.map(asLatex).join(" & ")} \\\\`);
      const caption = asLatex(captionOf(table), 1);
      const columns = rows[0].map((_text, column) => (isNumber(table, column) ? "r" : "l")).join("");
      return [
        `% ${from}`, `% needs ${needed([caption, head, ...body].join(""))}`,
        "\\begin{table}", "\\centering", `\\caption{${caption}.}`,
        `\\begin{tabular}{${columns}}`, "  \\toprule", head, "  \\midrule", ...body, "  \\bottomrule",
        "\\end{tabular}", `\\par\\smallskip\\footnotesize\\url{${address()}}`, "\\end{table}", "",
      ].join("\n");
    },
    markdown: (rows, table, from) => {
      const [head, ...body] = rows.map((row) => `| ${row.map((text) => text.replace(/\|/g, "\\|")).join(" | ")} |`);
      const rule = `|${rows[0].map((_text, column) => (isNumber(table, column) ? " ---: " : " --- ")).join("|")}|`;
      return [head, rule, ...body, "", `<!-- ${from.replace(/--+/g, "-")} -->`, ""].join("\n");
    },
  };

  /* The text is put where the button that copies (app.js) looks for it, before it does. */
  document.addEventListener("click", ({ target }) => {
    const button = target.closest?.("button[data-table]");
    if (!button) return;
    let field = document.getElementById(button.dataset.copy);
    if (!field) {
      field = document.createElement("textarea");
      field.id = button.dataset.copy;
      field.className = "visually-hidden";
      field.readOnly = true;
      field.tabIndex = -1;
      field.ariaHidden = "true";
      document.body.append(field);
    }
    const table = button.closest("p").previousElementSibling.querySelector("table");
    field.value = FORMATS[button.dataset.table](rowsOf(table), table, `${document.title}: ${address()}`);
  }, { capture: true });

  /* What a chart takes from the style sheet is written on its marks, by day, on paper as on the screen. */
  const DRAWN = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight"];
  const MARGIN = 16;
  const COLUMN = 320; // px: a column of a paper, in which text of 12 px is about 8 points
  const COLUMN_MM = 84;
  const LINE = 20;
  const SVG = "http://www.w3.org/2000/svg";
  const standalone = (chart) => {
    const copy = chart.cloneNode(true);
    copy.style.colorScheme = "light";
    copy.style.width = `${COLUMN}px`;
    chart.after(copy);
    const { width, height } = copy.getBoundingClientRect();
    const marks = [...copy.querySelectorAll("text, line, path, rect, circle, polyline, polygon")];
    const looks = marks.map((mark) => {
      const style = getComputedStyle(mark);
      return DRAWN.map((name) => [name, style.getPropertyValue(name)]);
    });
    marks.forEach((mark, at) => looks[at].forEach(([name, value]) => mark.setAttribute(name, value)));
    copy.remove();
    copy.removeAttribute("style");
    for (const each of [copy, ...copy.querySelectorAll("[class]")]) each.removeAttribute("class");
    for (const link of copy.querySelectorAll("a")) link.replaceWith(...link.childNodes);
    // Marks and the labels of outer ticks may stand over the edge: there is a margin for them.
    const file = document.createElementNS(SVG, "svg");
    const { across = chart.getAttribute("aria-label").split(/[;；]/)[0], up } = chart.dataset;
    const left = MARGIN + (up ? LINE : 0);
    const [wide, high] = [width + left + MARGIN, height + MARGIN + LINE];
    const mm = (px) => `${(px * COLUMN_MM / wide).toFixed(1)}mm`;
    const sizes = { width: mm(wide), height: mm(high), viewBox: `${-left} ${-MARGIN / 2} ${wide} ${high}` };
    for (const [name, value] of Object.entries(sizes)) file.setAttribute(name, value);
    const drawTitle = (text, x, y, turn) => {
      const title = document.createElementNS(SVG, "text");
      const looks = { x, y, "text-anchor": "middle", "font-family": "sans-serif", "font-size": "12px", fill: "rgb(60, 60, 60)" };
      for (const [name, value] of Object.entries(turn ? { ...looks, transform: `rotate(-90 ${x} ${y})` } : looks)) {
        title.setAttribute(name, value);
      }
      title.textContent = text;
      file.append(title);
    };
    drawTitle(across, width / 2, height + LINE - 6);
    if (up) drawTitle(up, -left + LINE - 6, height / 2, true);
    for (const [name, value] of Object.entries({ width, height, overflow: "visible" })) copy.setAttribute(name, value);
    file.append(copy);
    for (const [name, text] of [["desc", `${document.title}: ${address()}`], ["title", chart.getAttribute("aria-label")]]) {
      const told = document.createElementNS(SVG, name);
      told.textContent = text;
      file.prepend(told);
    }
    return new XMLSerializer().serializeToString(file);
  };
  document.addEventListener("click", ({ target }) => {
    const button = target.closest?.("button[data-save-chart]");
    if (!button) return;
    const chart = button.closest("p").previousElementSibling;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([standalone(chart)], { type: "image/svg+xml" }));
    const words = `${document.querySelector("h1")?.textContent ?? ""} ${chart.getAttribute("aria-label")}`.toLowerCase();
    link.download = `${words.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60)}.svg`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
})();
