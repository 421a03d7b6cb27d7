"use strict";
(() => {
  const held = JSON.parse(document.getElementById("data").textContent);
  const NONE = "–";
  const SIZES = new Set(["value", "reference", "low", "high", "lower", "upper"]);
  const BARE = new Set(["", "correlation", "ratio"]);
  const MOST = 1000;
  const MATCHES = 200;
  const all = (selector, of = document) => [...of.querySelectorAll(selector)];

  // the same words as the rest of the page
  const visible = (text) =>
    String(text)
      .replace(/[\n\r\t]/g, " ")
      .replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, (c) => {
        const code = c.codePointAt(0).toString(16);
        return code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
      });
  const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
  const brief = (value, digits) =>
    value.toExponential(digits - 1).replace(/\.?0*e/, "e").replace(/e([+-])(\d)$/, "e$10$2");
  const percent = (value) => {
    const share = 100 * value;
    if (value === 0 || value === 1) return `${share} %`;
    if (Math.abs(share) < 0.01) return share > 0 ? "< 0.01 %" : "> -0.01 %";
    if (share > 99.99 && share < 100) return "> 99.99 %";
    if (Math.abs(share) >= 1000) return `${Math.round(share).toLocaleString("en-US")} %`;
    return `${share.toFixed(2)} %`;
  };
  const significant = (value) => {
    const size = Math.abs(value);
    if (value === 0) return "0";
    if (size >= 1e9 || size < 1e-4) return brief(value, 3);
    if (size >= 1000) return Math.round(value).toLocaleString("en-US");
    return String(Number(value.toPrecision(4)));
  };
  const number = (value, unit) => {
    if (!isNumber(value)) return NONE;
    if (unit === "fraction") return percent(value);
    return BARE.has(unit) ? significant(value) : `${significant(value)} ${visible(unit)}`;
  };
  const pValue = (value) => {
    if (!isNumber(value)) return NONE;
    return value < 0.001 ? "< 0.001" : String(Number(value.toPrecision(3)));
  };
  const scalar = (value) => {
    if (value === null || value === undefined) return NONE;
    if (Array.isArray(value)) return value.map(scalar).join(", ");
    if (typeof value === "object") {
      return Object.entries(value).map(([k, v]) => `${visible(k)} ${scalar(v)}`).join(", ");
    }
    return isNumber(value) && !Number.isInteger(value) ? significant(value) : visible(value);
  };
  const shown = (value, column, unit, share) => {
    if (column === "p_value") return pValue(value);
    if (share && typeof value !== "string") return number(value, "fraction");
    return isNumber(value) && SIZES.has(column) ? number(value, unit) : scalar(value);
  };

  // tables
  const table = (index) => {
    const { columns, values } = held.tables[index];
    const unpacked = values.map((v) => (Array.isArray(v) ? v : v.at.map((i) => v.of[i])));
    return { columns, rows: (unpacked[0] ?? []).map((_, i) => unpacked.map((v) => v[i])) };
  };
  const parts = (index) => {
    const found = held.assessment.findings[index].parts;
    const columns = [...new Set(["name", "value", "reference", ...found.flatMap(Object.keys)])];
    return { columns, rows: found.map((part) => columns.map((c) => part[c] ?? null)) };
  };
  const element = (tag, text, kind) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  const cell = (tag, text, numeric) => {
    const made = element(tag, undefined, numeric ? "number" : "");
    made.append(element("bdi", text));
    return made;
  };
  const row = (texts, numeric) => {
    const made = element("tr");
    made.append(...texts.map((text, i) => cell(i ? "td" : "th", text, i && numeric[i])));
    made.firstChild.scope = "row";
    return made;
  };
  const sheet = ({ columns, rows }, show, label) => {
    const numeric = columns.map((_, i) => rows.every((r) => r[i] === null || isNumber(r[i])));
    const heads = element("tr");
    heads.append(...columns.map((c, i) => cell("th", visible(c).replaceAll("_", " "), i && numeric[i])));
    for (const head of heads.children) head.scope = "col";
    const body = element("tbody");
    body.append(...rows.slice(0, MOST).map((r) => row(r.map((v, i) => show(v, i, r)), numeric)));
    const made = element("table");
    made.append(element("thead"), body);
    made.tHead.append(heads);
    const region = element("div", undefined, "scroll");
    Object.assign(region, { tabIndex: 0, role: "region", ariaLabel: label });
    region.append(made);
    return region;
  };
  const partCell = (index, columns) => {
    const { unit } = held.assessment.findings[index];
    const own = columns.indexOf("unit");
    return (value, i, r) => shown(value, columns[i], (own >= 0 && r[own]) || unit || "", false);
  };

  // downloads: formulas are made text, so that a spreadsheet does not run them
  const PLAIN = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
  const csvCell = (value) => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return String(value);
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    const formula = /^[=+\-@\t\r\n]/.test(text) && !PLAIN.test(text);
    return `"${(formula ? `'${text}` : text).replaceAll('"', '""')}"`;
  };
  const csv = ({ columns, rows }) =>
    [columns, ...rows].map((r) => `${r.map(csvCell).join(",")}\r\n`).join("");
  const save = (text, name, type) => {
    const link = element("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const fileName = (text, ending) =>
    `${text.normalize("NFC").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 80) || "table"}.${ending}`;
  const button = (text, act) => {
    const made = element("button", text);
    made.type = "button";
    made.addEventListener("click", act);
    return made;
  };
  const csvButton = (read, name) =>
    button("Download as CSV", () => save(csv(read()), fileName(name, "csv"), "text/csv;charset=utf-8"));
  const whole = () => {
    const findings = held.assessment.findings.map((finding) => ({
      ...finding,
      tables: Object.fromEntries(Object.entries(finding.tables).map(([n, i]) => [n, table(i)])),
    }));
    return JSON.stringify({ ...held.assessment, findings }, null, 1);
  };

  // "the numbers" are filled in when they are opened
  const fill = (fold) => {
    if (fold.dataset.filled) return;
    fold.dataset.filled = "yes";
    const { table: index, finding, unit = "", shares, name } = fold.dataset;
    const read = () => (index === undefined ? parts(Number(finding)) : table(Number(index)));
    const found = read();
    const show =
      index === undefined
        ? partCell(Number(finding), found.columns)
        : (value, i) => shown(value, found.columns[i], unit, shares !== undefined && i > 0);
    all(":scope > .wait", fold).forEach((line) => line.remove());
    fold.append(csvButton(read, name), sheet(found, show, name));
    if (found.rows.length > MOST) {
      const more = (found.rows.length - MOST).toLocaleString("en-US");
      fold.append(element("p", `${more} further rows are in the download.`, "aside"));
    }
  };
  for (const fold of all("details.numbers")) {
    fold.addEventListener("toggle", () => fold.open && fill(fold));
  }
  for (const place of all("[data-download]")) {
    const { download, name } = place.dataset;
    place.append(csvButton(() => table(Number(download)), name));
  }
  document.getElementById("downloads").append(
    button("Download all of it as JSON", () => save(whole(), "assessment.json", "application/json")),
  );

  // the numbers of a bar under the pointer; by keyboard they are in the fold-out
  const DRAWN = 100;
  const tip = element("p", undefined, "tip");
  Object.assign(tip, { hidden: true, ariaHidden: "true" });
  document.body.append(tip);
  document.addEventListener("pointermove", (event) => {
    const bars = event.target.closest?.("svg.bars");
    tip.hidden = !bars;
    if (!bars) return;
    const { columns, rows } = table(Number(bars.closest("figure").querySelector(".numbers").dataset.table));
    const box = bars.getBoundingClientRect();
    const place = Math.floor(((event.clientX - box.left) / box.width) * Math.min(rows.length, DRAWN));
    const [label, ...shares] = rows[Math.max(0, place)] ?? [];
    tip.hidden = label === undefined;
    const told = shares.map((share, i) => `${visible(columns[i + 1])} ${number(share, "fraction")}`);
    tip.replaceChildren(element("bdi", scalar(label)), `: ${told.join(", ")}`);
    tip.style.left = `${Math.min(box.left, innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${box.top - tip.offsetHeight - 4}px`;
  });

  // search
  const field = document.getElementById("find");
  const status = document.getElementById("found");
  const opened = new Set();
  const text = new Map();
  const textOf = (item) => {
    if (!text.has(item)) text.set(item, item.textContent.toLowerCase());
    return text.get(item);
  };
  const firstRows = new Map(all(".parts").map((box) => [box, [...box.querySelector("tbody").rows]]));
  const searchParts = (box, matches) => {
    const found = parts(Number(box.dataset.finding));
    const hits = found.rows.filter((r) => matches(String(r[0]).toLowerCase()));
    const order = found.columns.flatMap((c, i) =>
      c === "unit" || (c === "reference" && found.rows.every((r) => r[i] === null)) ? [] : [i]);
    const show = partCell(Number(box.dataset.finding), found.columns);
    const made = hits.slice(0, MATCHES).map((r) =>
      row(order.map((at) => show(r[at], at, r)), order.map(() => true)));
    box.querySelector("tbody").replaceChildren(...made);
    return hits.length;
  };
  const search = () => {
    const asked = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = (words) => asked.every((word) => words.includes(word));
    let pictures = 0;
    let rows = 0;
    let findings = 0;
    document.body.classList.toggle("searching", asked.length > 0);
    for (const [box, own] of firstRows) box.querySelector("tbody").replaceChildren(...own);
    for (const fold of opened) fold.open = false;
    opened.clear();
    for (const article of all("article")) {
      const named = matches(textOf(article.querySelector("header")));
      let hits = 0;
      for (const group of all(".group", article)) {
        let inGroup = 0;
        for (const figure of all("figure", group)) {
          const hit = named || matches(textOf(figure.querySelector("figcaption")));
          figure.hidden = !hit;
          if (!hit) continue;
          inGroup += 1;
          const fold = figure.closest("details.more");
          if (asked.length && !named && fold && !fold.open) {
            fold.open = true;
            opened.add(fold);
          }
        }
        for (const fold of all("details.more", group)) {
          fold.hidden = all("figure", fold).every((figure) => figure.hidden);
        }
        group.hidden = inGroup === 0;
        hits += inGroup;
      }
      pictures += hits;
      const box = article.querySelector(".parts");
      if (box) {
        const here = asked.length && !named ? searchParts(box, matches) : 0;
        box.hidden = asked.length > 0 && !named && here === 0;
        rows += here;
        hits += here;
      }
      article.hidden = !named && hits === 0;
      findings += !article.hidden;
    }
    const records = all("#register tbody tr");
    for (const record of records) record.hidden = !matches(textOf(record));
    for (const section of all("main > section.family")) {
      section.hidden = all("article, #register tbody tr", section).every((item) => item.hidden);
    }
    const listed = records.filter((record) => !record.hidden).length;
    const counted = [[findings, "finding"], [pictures, "picture"], [rows, "part"], [listed, "record"]]
      .slice(0, records.length ? 4 : 3)
      .map(([many, of]) => `${many} ${of}${many === 1 ? "" : "s"}`);
    status.textContent = asked.length ? `Found: ${counted.join(", ")}.` : "";
  };
  let waiting = 0;
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, 120);
  });
  for (const part of all("[data-script]")) part.hidden = false;

  // on paper nothing is folded, except the long tables of numbers
  const unfolded = new Set();
  addEventListener("beforeprint", () => {
    for (const fold of all("details:not(.numbers):not([open])")) {
      fold.open = true;
      unfolded.add(fold);
    }
  });
  addEventListener("afterprint", () => {
    for (const fold of unfolded) fold.open = false;
    unfolded.clear();
  });
})();
