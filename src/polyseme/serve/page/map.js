// The sense map: one mark for each occurrence; from stop to stop the marks glide.

import { $, direction, make, makeSvg, marked, unitSpan } from "./dom.js";
import { HEIGHT, placeLabels, WIDTH } from "./labels.js";
import { layerName, state, weights } from "./state.js";

const MARGIN = 36;
const ABOVE = -18; // where the words of a ring stand
const BELOW = 29;
// Colour is not all: every group has a shape of its own.
const SHAPES = [
  "M0-5.2A5.2 5.2 0 1 1 0 5.2A5.2 5.2 0 1 1 0-5.2Z",
  "M-4.8-4.8H4.8V4.8H-4.8Z",
  "M0-6.4L6 4.4H-6Z",
  "M0-6.8L5.6 0L0 6.8L-5.6 0Z",
  "M-1.9-6H1.9V-1.9H6V1.9H1.9V6H-1.9V1.9H-6V-1.9H-1.9Z",
  "M0 6.4L6-4.4H-6Z",
];

let shown = null; // what is drawn: the answer of the server, its elements and where they are
let looked = -1; // the occurrence that is looked at

export function drawMap(answer, use) {
  looked = -1;
  const points = answer.occurrences.map((_, number) => {
    const group = answer.groups[number];
    return makeSvg("path", { class: `point group-${group}`, d: SHAPES[group % SHAPES.length] });
  });
  const labels = answer.names.map((names, group) =>
    makeSvg("text", { class: `label group-${group}`, "text-anchor": "middle" }, names.length > 0 && answer.names.length > 1 ? names.join(" · ") : ""),
  );
  const here = ring("your sentence", ABOVE, answer.group);
  const svg = makeSvg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", tabindex: "0" },
    makeSvg("g", {}, ...points), makeSvg("g", {}, ...labels), here);
  shown = { answer, points, labels, here, there: null, other: null, svg, views: viewsOf(answer), order: orderOf(answer), use };
  listen(svg);
  const focused = $("#map").contains(document.activeElement);
  $("#map").replaceChildren(svg, make("p", { class: "note", id: "note" }));
  drawLegend(answer);
  $("#reading").replaceChildren(make("span", { class: "muted" }, "Point to a mark to read its sentence."));
  moveMap();
  if (focused) svg.focus({ preventScroll: true }); // else Enter on a mark would lose it
}

function nameOf(answer) {
  const [drawn, groups] = [answer.occurrences.length, answer.names.length];
  const counted = drawn < answer.total ? `${drawn} of ${answer.total}` : `${answer.total}`;
  return `Map of ${answer.word}, ${layerName()}: ${counted} ${answer.total === 1 ? "occurrence" : "occurrences"} in ${groups} ${groups === 1 ? "group" : "groups"}. Arrow keys move between occurrences.`;
}

function ring(said, y, group) {
  return makeSvg("g", { class: `here of-${group}` },
    makeSvg("circle", { r: 12 }), makeSvg("circle", { class: "dot", r: 4 }), makeSvg("text", { y, "text-anchor": "middle" }, said));
}

// The word of another sentence on the same map.
export function drawThere(answer) {
  if (!shown || !answer.here) return;
  shown.other = answer;
  shown.there = ring("second sentence", BELOW, answer.group);
  shown.here.before(shown.there);
  shown.views = viewsOf(shown.answer, answer);
  moveMap();
}

// Instead of a map, why there is none.
export function drawMessage(sentence) {
  shown = null;
  $("#map").replaceChildren(make("p", { class: "empty", tabindex: "-1" }, sentence));
  $("#legend").replaceChildren();
  $("#reading").replaceChildren();
}

// Move every mark to where the chosen stop has it.
export function moveMap() {
  if (!shown) return;
  const { answer, points, labels, here } = shown;
  const places = answer.occurrences.map((_, number) => place(answer.points.map((layer) => layer[number]), answer.sense.points[number]));
  points.forEach((point, number) => moveTo(point, places[number]));
  const rings = [{ at: place(answer.here, answer.sense.here), text: ABOVE }];
  moveTo(here, rings[0].at);
  if (shown.there) {
    rings.push({ at: place(shown.other.here, shown.other.sense.here), text: BELOW });
    moveTo(shown.there, rings[1].at);
  }
  shown.svg.classList.toggle("plain", state.layer === "0"); // one point has no groups yet
  const extent = [0, 1].map((axis) => Math.max(...places.map((at) => at[axis])) - Math.min(...places.map((at) => at[axis])));
  const groups = labels.map((label, group) => ({ width: label.getComputedTextLength(), places: places.filter((_, number) => answer.groups[number] === group) }));
  const centres = placeLabels(groups, places, rings);
  labels.forEach((label, group) => {
    moveTo(label, centres[group]);
    label.classList.toggle("gone", Math.max(...extent) < 60); // where all is one point, names would lie on each other
  });
  shown.places = places;
  shown.svg.setAttribute("aria-label", nameOf(answer));
  $("#note").textContent = noteOf(answer, places);
}

// layers: [L+1][2]; sense: [2]
function place(layers, sense) {
  const mix = weights();
  const mixed = (axis) => layers.reduce((total, point, layer) => total + mix[layer] * point[axis], 0);
  const { scale, middle } = state.layer === "sense" ? shown.views.sense : shown.views.layers;
  const [x, y] = state.layer === "sense" ? sense : [mixed(0), mixed(1)];
  return [WIDTH / 2 + scale * (x - middle[0]), HEIGHT / 2 - scale * (y - middle[1])];
}

function moveTo(element, [x, y]) {
  element.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
}

// One view for all layers, so that nearer and farther mean the same in each. Sense is another measure: it has its own.
function viewsOf(answer, other = null) {
  return {
    layers: viewOf([...answer.points.flat(), ...answer.here, ...(other?.here ?? [])]),
    sense: viewOf([...answer.sense.points, answer.sense.here, ...(other ? [other.sense.here] : [])]),
  };
}

function viewOf(all) {
  const range = (axis) => [Math.min(...all.map((point) => point[axis])), Math.max(...all.map((point) => point[axis]))];
  const [x, y] = [range(0), range(1)];
  const size = ([low, high]) => Math.max(1e-6, high - low);
  const scale = Math.min((WIDTH - 2 * MARGIN) / size(x), (HEIGHT - 2 * MARGIN) / size(y));
  return { scale, middle: [(x[0] + x[1]) / 2, (y[0] + y[1]) / 2] };
}

function noteOf(answer, places) {
  const distinct = new Set(places.map(([x, y]) => `${Math.round(x)},${Math.round(y)}`)).size;
  const count = answer.occurrences.length;
  const layer = state.layer;
  if (layer === "0") {
    const spellings = new Set(answer.occurrences.map((one) => one.word)).size;
    const points = count === 1 ? "" : spellings === 1 ? `: ${count} occurrences, one point` : `: ${count} occurrences, one point for each of ${spellings} spellings`;
    return `Layer 0 sees only the letters of the word${points}.`;
  }
  if (layer === "sense") {
    const how = answer.names.some((one) => one.length) ? ": possible substitutes and topic" : ", not the word itself";
    return `Sense compares contexts${how}. It makes the groups.`;
  }
  if (layer === "mix") return "A weighted mean of the layers, as in task models. Drag the borders to change it.";
  if (layer === "1") return `Layer 1 reads the words before and after: ${distinct === 1 ? "still one point." : "the occurrences move apart."}`;
  return `Layer ${layer} reads the output of layer ${Number(layer) - 1}.`;
}

// From group to group, and within one from left to right.
function orderOf(answer) {
  const { points } = answer.sense;
  return answer.occurrences.map((_, number) => number)
    .sort((a, b) => answer.groups[a] - answer.groups[b] || points[a][0] - points[b][0]);
}

function listen(svg) {
  svg.addEventListener("pointermove", (event) => look(nearestTo(event)));
  svg.addEventListener("pointerdown", (event) => look(nearestTo(event)));
  svg.addEventListener("dblclick", () => looked >= 0 && shown.use(shown.answer.occurrences[looked]));
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      const at = shown.order.indexOf(looked);
      const next = at < 0 ? (step > 0 ? 0 : shown.order.length - 1) : (at + step + shown.order.length) % shown.order.length;
      look(shown.order[next]);
    } else if (event.key === "Enter" && looked >= 0) {
      shown.use(shown.answer.occurrences[looked]);
    }
  });
}

function nearestTo(event) {
  const box = shown.svg.getBoundingClientRect();
  const scale = WIDTH / box.width;
  const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  let best = -1;
  let distance = 26 * scale;
  shown.places.forEach(([px, py], number) => {
    const found = Math.hypot(px - x, py - y);
    if (found < distance) [best, distance] = [number, found];
  });
  return best;
}

function look(number) {
  if (number < 0 || number === looked) return;
  shown.points[looked]?.classList.remove("looked");
  looked = number;
  shown.points[number].classList.add("looked");
  shown.points[number].parentNode.append(shown.points[number]); // on top of the others
  const one = shown.answer.occurrences[number];
  const use = make("button", { type: "button", class: "link", onclick: () => shown.use(one) }, "Use this sentence");
  $("#reading").dir = direction(one.text);
  $("#reading").replaceChildren(mark(shown.answer.groups[number]), " ", ...marked(one.text, unitSpan(one.text, one.span), 120), " ", use);
}

function drawLegend(answer) {
  const sizes = answer.names.map((_, group) => answer.groups.filter((one) => one === group).length);
  $("#legend").replaceChildren(...answer.names.map((names, group) => {
    const said = names.length ? names.join(" · ") : answer.names.length > 1 ? `group ${group + 1}` : "one group";
    const button = make("button", { type: "button", class: "group", "aria-pressed": "false", onclick: () => emphasise(button, group) },
      mark(group), make("span", { class: "names" }, said), make("span", { class: "muted" }, String(sizes[group])));
    return make("li", {}, button);
  }));
}

function emphasise(button, group) {
  const on = button.getAttribute("aria-pressed") !== "true";
  document.querySelectorAll("#legend button").forEach((other) => other.setAttribute("aria-pressed", "false"));
  button.setAttribute("aria-pressed", String(on));
  shown.points.forEach((point, number) => point.classList.toggle("faint", on && shown.answer.groups[number] !== group));
}

export function mark(group) {
  return makeSvg("svg", { class: "shape", viewBox: "-8 -8 16 16", "aria-hidden": "true" },
    makeSvg("path", { class: `point group-${group}`, d: SHAPES[group % SHAPES.length] }));
}
