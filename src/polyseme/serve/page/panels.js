// Nearest occurrences, substitutes, and the grid of two sentences.

import { $, direction, make, marked, unitSpan } from "./dom.js";
import { layerName, nearBySense, state, vectorLayer } from "./state.js";

export function drawNear({ neighbours, why }, use) {
  const note = why ?? (neighbours.length ? null : "The index does not contain this word. Look among all words instead.");
  const items = neighbours.map((one) => {
    const open = make("button", { type: "button", class: "sentence", title: "Use this sentence", dir: direction(one.text), onclick: () => use(one) },
      ...marked(one.text, unitSpan(one.text, one.span), 90));
    return make("li", {}, make("span", { class: "number" }, one.similarity.toFixed(2)), open);
  });
  $("#near").replaceChildren(...(note ? [make("li", { class: "empty" }, note)] : []), ...items);
}

const DIRECTIONS = [
  ["forward", "From the left context"],
  ["both", "From both contexts"],
  ["backward", "From the right context"],
];

export function drawSubstitutes({ byDirection, why }, replaceWord) {
  if (why) return $("#substitutes").replaceChildren(make("p", { class: "why" }, why));
  $("#substitutes").replaceChildren(...DIRECTIONS.filter(([name]) => byDirection[name]).map(([name, title]) => {
    const found = byDirection[name];
    const largest = Math.max(...found.map((one) => one.probability), 1e-9);
    const items = found.map((one) => {
      const bar = make("span", { class: "share", "aria-hidden": "true" });
      bar.style.width = `${(100 * one.probability) / largest}%`;
      const button = make("button", { type: "button", class: "candidate", onclick: () => replaceWord(one.word) },
        bar, make("span", { class: "token" }, one.word), make("span", { class: "number" }, percent(one.probability)));
      return make("li", {}, button);
    });
    return make("section", { class: `column ${name}` }, make("h3", {}, title), make("ol", {}, ...items));
  }));
}

const percent = (share) => (share >= 0.1 ? `${Math.round(100 * share)} %` : `${(100 * share).toFixed(1)} %`);

// What a cosine can be compared with: pairs of occurrences of the word, within one group and across two.
export function sayScale(word, senses) {
  const layer = Number(vectorLayer()); // not a number for a mix, which has no scale
  const inLayer = scaleOf(word, `in ${layerName(vectorLayer())}`, "cosine", senses?.same?.[layer], senses?.cross?.[layer]);
  const bySense = scaleOf(word, "by sense", "similarity", senses?.sense?.same, senses?.sense?.cross);
  $("#scale").textContent = inLayer;
  $("#near-lead").textContent = nearBySense() ? bySense : inLayer;
}

function scaleOf(word, how, what, same, cross) {
  if (typeof same !== "number" || typeof cross !== "number") return "";
  return `For comparison: ${how}, two occurrences of “${word}” in the same group have a mean ${what} of ${same.toFixed(2)}, in different groups ${cross.toFixed(2)}.`;
}

export function drawGrid(answer, chosen, choose) {
  const { first, second } = answer;
  const grid = state.layer === "mix" ? answer.mix_grid : answer.grids[Number(vectorLayer())];
  const numbers = second.tokens.length <= 14;
  const head = make("tr", {}, make("td", {}), ...second.tokens.map((token, column) =>
    make("th", { scope: "col", class: column === chosen.column ? "on" : null }, make("span", {}, token))));
  const rows = grid.map((row, number) => {
    const best = row.indexOf(Math.max(...row));
    const cells = row.map((cosine, column) => {
      const on = number === chosen.row && column === chosen.column;
      const button = make("button", {
        type: "button", class: `cell${on ? " on" : ""}${column === best ? " best" : ""}`, tabindex: on ? "0" : "-1",
        "aria-label": `${first.tokens[number]}, ${second.tokens[column]}: ${cosine.toFixed(2)}`,
        onclick: () => choose({ row: number, column }),
        onkeydown: (event) => walk(event, number, column, grid, choose),
      }, numbers ? cosine.toFixed(2).replace("0.", ".") : "");
      tint(button, cosine);
      return make("td", {}, button);
    });
    return make("tr", {}, make("th", { scope: "row", class: number === chosen.row ? "on" : null }, first.tokens[number]), ...cells);
  });
  const caption = make("caption", { class: "hidden" }, `Cosines in ${layerName(vectorLayer())}`);
  $("#compare-lead").textContent = `The cosine of every pair of words, in ${layerName(vectorLayer())}. In layer 0, a word is always equal to itself.`;
  $("#grid").replaceChildren(make("table", { dir: direction(second.tokens.join(" ")) }, caption, make("thead", {}, head), make("tbody", {}, ...rows)));
  drawPair(answer, chosen);
}

function drawPair(answer, { row, column }) {
  const values = [...answer.grids.map((grid, layer) => [layerName(String(layer)), grid[row][column]]), [layerName("mix"), answer.mix_grid[row][column]]];
  const parts = values.map(([name, cosine]) => make("span", { class: name === layerName(vectorLayer()) ? "on" : null }, `${name} `, make("b", {}, cosine.toFixed(2))));
  $("#pair").replaceChildren(make("span", { class: "words" }, answer.first.tokens[row], " ↔ ", answer.second.tokens[column]), ...parts);
}

function walk(event, row, column, grid, choose) {
  const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] ?? [0, 0];
  if (!down && !right) return;
  event.preventDefault();
  const to = { row: Math.min(grid.length - 1, Math.max(0, row + down)), column: Math.min(grid[0].length - 1, Math.max(0, column + right)) };
  choose(to);
  $("#grid .cell.on")?.focus();
}

// From paper to blue for what is alike, to orange for what points elsewhere; never so dark that a number is hard to read.
function tint(cell, cosine) {
  cell.classList.add(cosine < 0 ? "away" : "alike");
  cell.style.setProperty("--strength", `${Math.round(100 * Math.min(1, Math.abs(cosine)) ** 1.5)}%`);
}
