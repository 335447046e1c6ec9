"use strict";
/* Tables and charts to take along: a table is copied as LaTeX or Markdown, a chart saved as SVG. */
(() => {
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
    if (IS_HAN.test(text)) return "\\usepackage{booktabs,ctex} and XeLaTeX";
    return IS_OTHER.test(text) ? "\\usepackage{booktabs}, XeLaTeX and a font with these letters" : "\\usepackage{booktabs}";
  };
  // What begins a row is not read as an argument of the \\ or the rule before it: [2ex], *.
  const asLatex = (text, column) =>
    text.replace(/[\\~^…|<>→−×±≤≥≈▲′ακρτ]|[&%$#_{}]/g, (sign) => LATEX[sign] ?? `\\${sign}`)
      .replace(/^(?=[[*])/, column ? "" : "{}")
      .replace(/[\u00a0\u2009\u202f]/g, "~").replace(/–/g, "--");
  const FORMATS = {
    latex: (rows, table, from) => {
      const [head, ...body] = rows.map((row) => `  ${row.map(asLatex).join(" & ")} \\\\`);
      const columns = rows[0].map((_text, column) => (isNumber(table, column) ? "r" : "l")).join("");
      return [
        `% ${from}`, `% needs ${needed([head, ...body].join(""))}`,
        `\\begin{tabular}{${columns}}`, "  \\toprule", head, "  \\midrule", ...body, "  \\bottomrule",
        "\\end{tabular}", "",
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
    field.value = FORMATS[button.dataset.table](rowsOf(table), table, `${document.title}: ${location.href}`);
  }, { capture: true });

  /* What a chart takes from the style sheet is written on its marks, by day, on paper as on the screen. */
  const DRAWN = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight"];
  const MARGIN = 16;
  const SVG = "http://www.w3.org/2000/svg";
  const standalone = (chart) => {
    const copy = chart.cloneNode(true);
    copy.style.colorScheme = "light";
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
    const sizes = { width: width + 2 * MARGIN, height: height + MARGIN };
    const viewBox = `${-MARGIN} ${-MARGIN / 2} ${sizes.width} ${sizes.height}`;
    for (const [name, value] of Object.entries({ ...sizes, viewBox })) file.setAttribute(name, value);
    for (const [name, value] of Object.entries({ width, height, overflow: "visible" })) copy.setAttribute(name, value);
    file.append(copy);
    for (const [name, text] of [["desc", `${document.title}: ${location.href}`], ["title", chart.getAttribute("aria-label")]]) {
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
