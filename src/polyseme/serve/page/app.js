// The page: what changes, what is asked anew because of it, and where the answers go.

import { ask, cancelAll, Refused, wasCancelled } from "./api.js";
import { drawCopies } from "./copies.js";
import { $, calm, make, unitSpan } from "./dom.js";
import { EXAMPLES } from "./examples.js";
import { drawLayers } from "./layers.js";
import { drawMap, drawMessage, moveMap } from "./map.js";
import { drawGrid, drawNear, drawSubstitutes } from "./panels.js";
import { readAddress, state, weights, writeAddress } from "./state.js";
import { drawStrip, showChosen } from "./strip.js";

let models = [];
let scored = null; // the sentence: tokens, offsets, sentences, and its scores if the model has any
let compared = null; // the last answer about two sentences
let pair = { row: 0, column: 0 };
let wished = null; // what to choose as soon as its sentence is split: a word, or where it begins (in characters)

const model = () => models.find((one) => one.name === state.model);

// --- asking --------------------------------------------------------------------------------------------------------

async function split() {
  const fields = { model: state.model, texts: [state.text] };
  const [path, more] = model().words ? ["/score", {}] : ["/encode", { pool: "mean" }];
  scored = (await ask("split", path, { ...fields, ...more })).texts[0];
  chooseWithin();
  drawStrip(scored, choose);
}

// The one that was wished for, else the word that the state names, else the longest.
function chooseWithin() {
  const { tokens, offsets } = scored;
  const at = typeof wished === "number" ? offsets.findIndex(([, end]) => end > wished) : tokens.indexOf(wished);
  if (at >= 0) state.word = at;
  wished = null;
  if (state.word === null || state.word >= tokens.length) {
    const longest = Math.max(0, ...tokens.map((token) => token.length));
    state.word = tokens.length ? tokens.findLastIndex((token) => token.length === longest) : null;
  }
}

// The sentence of the chosen word, and its position there.
function place() {
  const [begin, end] = scored.sentences.find(([first, last]) => first <= state.word && state.word < last);
  return { tokens: scored.tokens.slice(begin, end), position: state.word - begin };
}

const askSenses = () => ask("senses", "/senses", { model: state.model, ...place() });

const askNear = () =>
  ask("near", "/neighbours", { model: state.model, ...place(), mix: weights(), same_word: state.same, k: 10 });

async function askSubstitutes() {
  const directions = model().bidirectional ? ["forward", "both", "backward"] : ["forward"];
  const fields = { model: state.model, ...place(), k: 10 };
  const found = await Promise.all(
    directions.map((direction) => ask(`substitutes ${direction}`, "/substitutes", { ...fields, direction })));
  return Object.fromEntries(directions.map((direction, number) => [direction, found[number].substitutes]));
}

const askGrid = () =>
  ask("grid", "/similarity", {
    model: state.model, first: unmarked(state.text), second: unmarked(state.second), mix: state.mix, grid: true,
  });

// Brackets would mark a word: of the same width, but no brackets.
const unmarked = (text) => text.replaceAll("[", "［").replaceAll("]", "］");

// --- showing -------------------------------------------------------------------------------------------------------

async function showSentence() {
  if (!state.text.trim()) return showNothing("Write a sentence to begin.");
  await split();
  if (state.word === null) return showNothing("There is no word in this sentence.");
  showPanels(true);
  say("");
  await Promise.all([showWord(), showGrid()]);
}

// An empty sentence has no word, so everything about a word goes.
function showNothing(sentence) {
  scored = compared = null;
  cancelAll();
  $("#strip").replaceChildren();
  drawMessage("");
  for (const panel of ["#near", "#substitutes", "#grid", "#pair"]) $(panel).replaceChildren();
  showPanels(false);
  say(sentence);
}

function showPanels(there) {
  $("#layered").hidden = $("#strip-key").hidden = !there;
  document.querySelectorAll("[data-copies]").forEach((copies) => (copies.hidden = !there));
}

async function showWord() {
  showChosen();
  const word = scored.tokens[state.word];
  $("#senses-title").replaceChildren("Senses of ", make("em", { lang: model().lang }, word));
  await Promise.all([
    showSenses(),
    showNear(),
    model().words && askSubstitutes().then((found) => drawSubstitutes(found, put)),
  ]);
}

async function showSenses() {
  if (model().index.state !== "ready") return showWithoutIndex();
  const answer = await askSenses();
  drawMap(answer, lookFrom);
  $("#senses-lead").textContent = leadOf(answer);
}

// The index may still be in the making: then the page looks again, and shows the rest meanwhile.
function showWithoutIndex() {
  const building = model().index.state === "building";
  drawMessage(building ? "The index of occurrences is being built; this takes a few seconds." : "This server has no index of occurrences for this model; start it with --index DIR.");
  $("#near").replaceChildren();
  clearTimeout(looking);
  if (building) looking = setTimeout(() => attempt(lookAgain), 1000);
}

let looking = 0;

async function lookAgain() {
  await loadModels();
  if (scored && state.word !== null) await Promise.all([showSenses(), showNear()]);
}

function leadOf(answer) {
  if (!answer.total) return "";
  const some = answer.occurrences.length < answer.total ? `, of which ${answer.occurrences.length} are drawn` : "";
  const times = answer.total === 1 ? "once" : `${answer.total} times`;
  return `The index has this word ${times}${some}. Groups are named by words that could stand in their places, and not in the others’.`;
}

async function showNear() {
  if (model().index.state === "ready") drawNear((await askNear()).neighbours, lookFrom);
}

async function showGrid() {
  if (!scored) return;
  if (!state.second.trim()) return showNoGrid();
  compared = await askGrid();
  const word = scored.tokens[state.word];
  pair = { row: state.word, column: Math.max(0, compared.second.tokens.indexOf(word)) };
  redrawGrid();
}

function showNoGrid() {
  compared = null;
  $("#grid").replaceChildren();
  $("#pair").replaceChildren();
}

function redrawGrid() {
  const choosePair = (to) => {
    pair = to;
    redrawGrid();
  };
  if (compared && compared.first.tokens.length > pair.row) drawGrid(compared, pair, choosePair);
}

function say(sentence) {
  $("#message").textContent = sentence;
}

// --- acting --------------------------------------------------------------------------------------------------------

let running = 0;

// Run what a change needs; what goes wrong is said in a sentence.
async function attempt(action) {
  document.body.dataset.running = String(++running);
  try {
    await action();
  } catch (error) {
    if (wasCancelled(error)) return;
    if (!(error instanceof Refused)) throw error;
    say(capital(error.message) + (error.message.endsWith("?") ? "" : "."));
  } finally {
    document.body.dataset.running = String(--running);
  }
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function changeText(text, { wish = null, second = null, step = true } = {}) {
  state.text = text;
  state.word = null;
  wished = wish;
  typed = 0;
  if (second !== null) setArea("#second", (state.second = second));
  attempt(async () => {
    const leaving = focusLeaves();
    await showSentence();
    if (leaving) $("#strip [aria-pressed=true]")?.focus();
    writeAddress(step);
  });
}

// Whether the focus is on a button that the next sentence takes away: then it goes to the word, as the eyes do.
const focusLeaves = () => document.activeElement?.closest("#reading, #near, #substitutes") != null;

// What is typed without a pause is one step back, whatever stood there before is another.
let typed = 0;
const PAUSE = 4000; // milliseconds

function type(text) {
  if (text === state.text) return;
  const before = typed;
  changeText(text, { step: Date.now() - before > PAUSE });
  typed = Date.now();
}

function choose(number) {
  state.word = number;
  typed = 0;
  writeAddress(true);
  attempt(async () => {
    await showWord();
    if (compared && compared.first.tokens.length === scored.tokens.length) {
      pair = { row: number, column: Math.max(0, compared.second.tokens.indexOf(scored.tokens[number])) };
      redrawGrid();
    }
  });
}

// Another occurrence becomes the sentence.
function lookFrom(occurrence) {
  setArea("#sentence", occurrence.text);
  changeText(occurrence.text, { wish: occurrence.span[0] });
  $("#sentence").scrollIntoView({ block: "center", behavior: calmMotion() ? "auto" : "smooth" });
}

const calmMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// Another word in the place of the chosen one.
function put(word) {
  const [begin, end] = unitSpan(state.text, scored.offsets[state.word]);
  const text = state.text.slice(0, begin) + word + state.text.slice(end);
  setArea("#sentence", text);
  changeText(text, { wish: scored.offsets[state.word][0] });
}

const layerChanged = calm(() => attempt(async () => {
  writeAddress(false);
  await Promise.all([showNear(), state.layer === "mix" && showMixedGrid()]);
}), 140);

async function showMixedGrid() {
  if (!state.second.trim()) return;
  compared = await askGrid();
  redrawGrid();
}

function changeLayer() {
  moveMap();
  redrawGrid();
  if (scored && state.word !== null) layerChanged();
}

// --- beginning -----------------------------------------------------------------------------------------------------

// Input methods compose a character out of several keys: nothing happens before it is complete.
function listenTo(selector, changed) {
  const area = $(selector);
  const soon = calm(() => changed(area.value), 350);
  let composing = false;
  area.addEventListener("compositionstart", () => (composing = true));
  area.addEventListener("compositionend", () => {
    composing = false;
    soon();
  });
  area.addEventListener("input", () => {
    fit(area);
    if (!composing) soon();
  });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing && event.keyCode !== 229) {
      event.preventDefault();
      changed(area.value);
    }
  });
}

function setArea(selector, text) {
  $(selector).value = text;
  fit($(selector));
}

function fit(area) {
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight}px`;
}

function drawExamples() {
  const found = models.flatMap((one) => (EXAMPLES[one.lang] ?? []).map((example) => [one, example]));
  $("#examples").replaceChildren(...found.map(([one, [text, word, second]]) =>
    make("button", {
      type: "button", lang: one.lang, onclick: () => {
        if (state.model !== one.name) chooseModel(one.name);
        setArea("#sentence", text);
        changeText(text, { wish: word, second });
      },
    }, text)));
}

function chooseModel(name) {
  state.model = name;
  $("#model").value = name;
  const { lang, layers } = model();
  for (const selector of ["#sentence", "#second", "#strip", "#near", "#grid"]) $(selector).lang = lang;
  drawLayers(layers, changeLayer);
}

async function loadModels() {
  models = (await ask("models", "/models")).models;
}

function drawModels() {
  $("#model").replaceChildren(...models.map((one) => make("option", { value: one.name }, one.name)));
  $("#model").onchange = () => {
    chooseModel($("#model").value);
    const [text, word, second] = EXAMPLES[model().lang]?.[0] ?? [state.text, null, state.second];
    setArea("#sentence", text);
    changeText(text, { wish: word, second });
  };
}

function startTheme() {
  const names = ["auto", "light", "dark"];
  const show = (name) => {
    document.documentElement.dataset.theme = name;
    $("#theme").textContent = `Theme: ${name}`;
  };
  show(names.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "auto");
  $("#theme").onclick = () => {
    const next = names[(names.indexOf(document.documentElement.dataset.theme) + 1) % names.length];
    localStorage.setItem("theme", next);
    show(next);
  };
}

// What the snippets are about.
function page() {
  const mark = (text, span) => {
    const [begin, end] = unitSpan(text, span);
    return `${text.slice(0, begin)}[${text.slice(begin, end)}]${text.slice(end)}`;
  };
  const offsets = compared?.second.offsets[pair.column];
  return {
    model: model(),
    word: scored.tokens[state.word],
    marked: mark(state.text, scored.offsets[state.word]),
    secondMarked: offsets ? mark(state.second, offsets) : state.second,
  };
}

function showState() {
  if (!model()) state.model = models[0].name;
  const first = EXAMPLES[model().lang]?.[0] ?? ["", null, ""];
  const fresh = !state.text;
  if (fresh) [state.text, wished, state.second] = first;
  chooseModel(state.model);
  setArea("#sentence", state.text);
  setArea("#second", state.second);
  document.querySelectorAll("[name=same]").forEach((one) => (one.checked = (one.value === "same") === state.same));
  attempt(async () => {
    await showSentence();
    writeAddress(false);
  });
}

async function start() {
  startTheme();
  readAddress();
  await loadModels();
  drawModels();
  drawExamples();
  drawCopies(page);
  listenTo("#sentence", type);
  listenTo("#second", (text) => {
    state.second = text;
    writeAddress(false);
    attempt(showGrid);
  });
  document.querySelectorAll("[name=same]").forEach((one) => {
    one.onchange = () => {
      state.same = one.value === "same";
      writeAddress(false);
      attempt(showNear);
    };
  });
  addEventListener("popstate", () => {
    readAddress();
    showState();
  });
  showState();
}

attempt(start);
