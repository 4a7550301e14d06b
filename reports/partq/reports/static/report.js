"use strict";
const groups = [...document.querySelectorAll("details.group")];
const all = [...document.querySelectorAll("details")];

// --- search: by words, all of which have to be in an item ------------------------------------------

const FEW = 8; // So many matches are shown unfolded.
const MOST = 2000; // So many places are marked.
const ALIKE = ".json, .copy, .hint, figcaption"; // What is not searched: it is much the same everywhere.
const KINDS = ["mutant", "requirement", "finding", "counterexample"];
const input = document.getElementById("search");
const items = [...document.querySelectorAll("[data-item]")].map((element) => ({ element, kind: element.dataset.item }));
const folding = items.filter((item) => item.kind !== "finding");
const lists = document.querySelectorAll("#mutants, #counterexamples");
let unsearched = null; // What was open before the search.

const words = () => input.value.toLowerCase().split(/\s+/).filter(Boolean);
const status = () => document.querySelector(".filter input:checked")?.id.slice("show-".length) ?? "all";

const nodesIn = (element) => {
  if (element.nodeType === Node.TEXT_NODE) return [element];
  return element.matches(ALIKE) ? [] : [...element.childNodes].flatMap(nodesIn);
};
const nodesOf = (item) => (item.nodes ??= nodesIn(item.element));
const textOf = (item) => (item.text ??= nodesOf(item).map((node) => node.data).join("").toLowerCase());

const filtered = (element) => {
  const row = element.closest("[data-status]");
  return row && status() !== "all" && !row.dataset.status.split(" ").includes(status());
};

const told = (found) => {
  const count = (among, kind) => among.filter((item) => item.kind === kind).length;
  const kinds = KINDS.filter((kind) => count(found, kind));
  return kinds.map((kind) => `${count(found, kind)} of ${count(items, kind)} ${kind}s`).join(", ") || "Nothing matches.";
};

const mark = (terms, found) => {
  if (!CSS.highlights) return;
  const literal = terms.map((term) => term.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  const pattern = new RegExp(literal.join("|"), "gi");
  const places = new Highlight();
  for (const node of found.flatMap(nodesOf)) {
    for (const { 0: word, index } of node.data.matchAll(pattern)) {
      places.add(new StaticRange({ startContainer: node, startOffset: index, endContainer: node, endOffset: index + word.length }));
    }
    if (places.size > MOST) break;
  }
  CSS.highlights.set("matches", places);
};

const unfold = ({ element }) => {
  for (const box of [element, element.querySelector("details")]) if (box?.matches("details")) box.open = true;
};

const searched = (terms) => {
  const found = items.filter((item) => terms.every((term) => textOf(item).includes(term)) && !filtered(item.element));
  const shown = folding.filter((item) => found.includes(item));
  for (const item of folding) item.element.hidden = true;
  for (const item of shown) item.element.hidden = false;
  for (const list of [...lists, ...groups]) list.hidden = !list.querySelector("[data-item]:not([hidden])");
  for (const group of groups) group.open = !group.hidden;
  if (shown.length <= FEW) shown.forEach(unfold);
  mark(terms, shown);
  document.getElementById("matches").textContent = told(found);
};

const unsearch = () => {
  for (const element of [...folding.map((item) => item.element), ...groups, ...lists]) element.hidden = false;
  for (const [box, open] of unsearched ?? []) box.open = open;
  unsearched = null;
  CSS.highlights?.delete("matches");
  document.getElementById("matches").textContent = "";
};

const search = () => {
  const terms = words();
  if (!terms.length) return unsearch();
  unsearched ??= all.map((box) => [box, box.open]);
  searched(terms);
};

const clear = () => {
  input.value = "";
  unsearch();
};

if (input) {
  document.querySelector(".search").hidden = false;
  input.addEventListener("input", search);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && input.value) {
      event.preventDefault();
      clear();
    } else if (event.key === "Escape" && event.target === input) {
      input.blur();
    } else if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && event.target !== input) {
      event.preventDefault();
      input.focus();
      input.select();
    }
  });
}

// --- the filter by status ---------------------------------------------------------------------------

const shows = (group) => [...group.querySelectorAll("tbody tr")].some((row) => row.offsetParent !== null);

for (const choice of document.querySelectorAll(".filter input")) {
  choice.addEventListener("change", () => {
    if (input?.value) return search();
    for (const group of groups) {
      group.open = true;
      if (!shows(group)) group.open = false;
    }
  });
}

// --- copying ----------------------------------------------------------------------------------------

const copied = async (source) => {
  try {
    await navigator.clipboard.writeText(source.textContent);
    return "Copied";
  } catch {
    // No clipboard for this page, as for many a file: the text is selected, and copied the old way.
    for (let box = source; box; box = box.parentElement) if (box.tagName === "DETAILS") box.open = true;
    getSelection().selectAllChildren(source);
    return document.execCommand("copy") ? "Copied" : "Selected: copy it with Ctrl+C";
  }
};

for (const place of document.querySelectorAll("[data-copies]")) {
  const button = document.createElement("button");
  const answer = document.createElement("span");
  button.type = "button";
  button.textContent = "Copy";
  button.ariaLabel = `Copy ${place.dataset.what}`;
  answer.setAttribute("role", "status");
  button.addEventListener("click", async () => {
    answer.textContent = "";
    answer.textContent = await copied(document.getElementById(place.dataset.copies));
    setTimeout(() => (answer.textContent = ""), 4000);
  });
  place.append(button, answer);
}

// --- links into the page, and print -----------------------------------------------------------------

const reveal = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target?.closest("[hidden]")) clear();
  if (target && filtered(target)) document.getElementById("show-all").checked = true;
  for (let box = target; box; box = box.parentElement) if (box.tagName === "DETAILS") box.open = true;
  if (target) target.scrollIntoView();
};
addEventListener("hashchange", reveal);
reveal();

let closed = [];
addEventListener("beforeprint", () => {
  closed = all.filter((box) => !box.open && box.matches(".group, .example, footer details"));
  for (const box of closed) box.open = true;
});
addEventListener("afterprint", () => {
  for (const box of closed) box.open = false;
});
