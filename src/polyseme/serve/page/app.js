// The page: what changes, what is asked anew because of it, and where the answers go.

import { drawAbsent } from "./absent.js";
import { cancelAll, Refused, wasCancelled } from "./api.js";
import { fit, listenTo, setArea } from "./areas.js";
import { addressOf, onProgress } from "./backend.js";
import { copy, drawCopies } from "./copies.js";
import { $, calm, make, unitSpan } from "./dom.js";
import { EXAMPLES } from "./examples.js";
import { drawLayers, showLayer, stopsOf } from "./layers.js";
import { drawMap, drawMessage, drawThere, moveMap } from "./map.js";
import { clearestElsewhere, drawOpposites } from "./opposites.js";
import { drawGrid, drawNear, drawSubstitutes, sayScale } from "./panels.js";
import { calmMotion, play, stopPlaying, stopWhenTouched } from "./play.js";
import { askGrid, askModels, askNear, askSenses, askSentence, askSubstitutes, askTags, askThere, unmarked } from "./questions.js";
import { readAddress, state, weights, writeAddress } from "./state.js";
import { drawStrip, showChosen } from "./strip.js";
import { drawTags, taskNames } from "./tags.js";
import { startTheme } from "./theme.js";

const LANGUAGES = { en: "English", ko: "한국어", zh: "中文" };

let models = [];
let scored = null; // the sentence: tokens, offsets, sentences, and its scores if the model has any
let mapped = null; // the sense map of the chosen word
let near = []; // the nearest occurrences
let could = {}; // the substitutes by direction
let compared = null; // the last answer about two sentences
let tagged = null; // what task models say of the sentence
let pair = { row: 0, column: 0 };
let looked = ""; // the word that was looked at last
let wished = null; // where the word begins (in characters) that is chosen as soon as its sentence is split

const model = () => models.find((one) => one.name === state.model);
const chosenWord = () => scored.tokens[state.word];

// The one that was wished for, else the word that the state names, else the one that was looked at, else the longest.
function chooseWithin() {
  const { tokens, offsets } = scored;
  const at = wished === null ? -1 : offsets.findIndex(([, end]) => end > wished);
  if (at >= 0) state.word = at;
  wished = null;
  if (state.word === null && tokens.includes(looked)) state.word = tokens.indexOf(looked);
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

// --- showing -------------------------------------------------------------------------------------------------------

async function showSentence() {
  if (!state.text.trim()) return showNothing("Write a sentence to begin.");
  scored = await askSentence(model());
  chooseWithin();
  if (state.word === null) return showNothing("There is no word in this sentence.");
  drawStrip(scored, choose);
  showPanels(true);
  say("");
  await Promise.all([showWord(), showGrid(), model().tasks.length && showTags()]);
  await showOpposites();
}

// An empty sentence has no word, so everything about a word goes.
function showNothing(sentence) {
  scored = mapped = compared = tagged = null;
  cancelAll();
  drawMessage("");
  for (const panel of ["#strip", "#opposites", "#near", "#substitutes", "#tags", "#grid", "#pair"]) $(panel).replaceChildren();
  showPanels(false);
  say(sentence);
}

function showPanels(there) {
  $("#layered").hidden = !there;
  $("#substitutes-panel").hidden = !model().words;
  $("#tags-panel").hidden = !model().tasks.length;
  fit($("#second"));
}

async function showWord() {
  looked = chosenWord();
  showChosen();
  $("#senses-title").replaceChildren("Senses of ", make("em", { lang: model().lang }, chosenWord()));
  await Promise.all([showSenses(), showNear(), model().words && showSubstitutes()]);
  if (mapped && !mapped.total) {
    const { neighbours } = state.same ? await askNear(place(), false) : { neighbours: near };
    drawAbsent(chosenWord(), { neighbours, substitutes: could.both ?? could.forward ?? [], use: lookFrom, put });
  }
}

async function showSenses() {
  mapped = null;
  if (model().index.state !== "ready") return showWithoutIndex();
  mapped = await askSenses(place());
  sayScale(chosenWord(), mapped);
  if (!mapped.total) return;
  drawMap(mapped, lookFrom);
  $("#senses-lead").textContent = leadOf(mapped);
}

// The index may still be in the making: then the page looks again, and shows the rest meanwhile.
function showWithoutIndex() {
  const building = model().index.state === "building";
  drawMessage(building ? "The index of occurrences is being built; this takes some seconds." : "This server has no index of occurrences for this model; start it with --index DIR.");
  $("#near").replaceChildren();
  clearTimeout(looking);
  if (building) looking = setTimeout(() => attempt(lookAgain), 1000);
}

let looking = 0;

async function lookAgain() {
  models = await askModels();
  if (!scored || state.word === null) return;
  await Promise.all([showSenses(), showNear()]);
  await showOpposites();
  if (model().index.state === "ready" && fresh) playLayers();
}

function leadOf(answer) {
  const some = answer.occurrences.length < answer.total ? `, of which ${answer.occurrences.length} are drawn` : "";
  const times = answer.total === 1 ? "once" : `${answer.total} times`;
  return `The index has this word ${times}${some}. Groups are named by words that could stand in their places, and not in the others’.`;
}

async function showNear() {
  if (model().index.state !== "ready") return;
  const found = await askNear(place());
  near = found.neighbours;
  drawNear(found, lookFrom);
}

async function showSubstitutes() {
  const found = await askSubstitutes(model(), place());
  could = found.byDirection;
  drawSubstitutes(found, put);
}

// The first answer takes a while: the server loads its task models then.
async function showTags() {
  $("#tags-lead").textContent = `Models that were trained on top of this one: ${taskNames(model().tasks)}.`;
  drawTags((tagged = await askTags()));
}

async function showGrid() {
  if (!scored) return;
  if (!state.second.trim()) return showNoGrid();
  compared = await askGrid();
  choosePair();
}

function showNoGrid() {
  compared = null;
  $("#grid").replaceChildren();
  $("#pair").replaceChildren();
}

function choosePair() {
  pair = { row: state.word, column: Math.max(0, compared.second.tokens.indexOf(chosenWord())) };
  redrawGrid();
}

function redrawGrid() {
  const change = (to) => {
    pair = to;
    redrawGrid();
  };
  if (compared && compared.first.tokens.length > pair.row) drawGrid(compared, pair, change);
}

// The sentence, and one in which the word means something else: the second one if it has the word, else an occurrence.
async function showOpposites() {
  if (!mapped?.total) return drawOpposites([]);
  const mine = { text: state.text, span: scored.offsets[state.word], group: mapped.group, use: () => $("#sentence").focus() };
  const other = await otherSentence();
  drawOpposites(other ? [mine, other] : [mine]);
}

async function otherSentence() {
  const second = compared?.second;
  const at = second ? second.tokens.indexOf(chosenWord()) : -1;
  if (at < 0) {
    const found = clearestElsewhere(mapped, mapped.group);
    return found && { ...found, use: () => lookFrom(found) };
  }
  const [begin, end] = second.sentences.find(([first, last]) => first <= at && at < last);
  const there = await askThere(second.tokens.slice(begin, end), at - begin);
  drawThere(there);
  const span = second.offsets[at];
  return { text: state.second, span, group: there.group, use: exchange };
}

// The second sentence becomes the first.
function exchange() {
  const [text, second] = [state.second, state.text];
  const wish = compared.second.offsets[compared.second.tokens.indexOf(chosenWord())][0];
  setArea("#sentence", text);
  changeText(text, { wish, second });
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
    say(error.message.charAt(0).toUpperCase() + error.message.slice(1) + (error.message.endsWith("?") ? "" : "."));
  } finally {
    document.body.dataset.running = String(--running);
  }
}

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
const focusLeaves = () => document.activeElement?.closest("#reading, #near, #substitutes, #opposites, .absent") != null;

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
    if (compared && compared.first.tokens.length === scored.tokens.length) choosePair();
    await showOpposites();
  });
}

// Another occurrence becomes the sentence.
function lookFrom(occurrence) {
  setArea("#sentence", occurrence.text);
  changeText(occurrence.text, { wish: occurrence.span[0] });
  $("#sentence").scrollIntoView({ block: "center", behavior: calmMotion() ? "auto" : "smooth" });
}

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
  if (!scored || state.word === null) return;
  sayScale(chosenWord(), mapped);
  layerChanged();
}

// From 0 up to the layer that is shown.
let fresh = true; // nothing was played yet

function playLayers() {
  fresh = false;
  if (!mapped?.total || calmMotion()) return;
  const all = stopsOf(model().layers);
  const last = state.layer;
  const stops = last === "mix" ? all : all.slice(0, all.indexOf(last) + 1);
  const show = (layer) => {
    state.layer = layer;
    showLayer(all);
    moveMap();
  };
  play(stops, show, changeLayer);
}

// --- beginning -----------------------------------------------------------------------------------------------------

const examplesOf = (lang) => EXAMPLES[lang] ?? [];

// Those of the language that is shown; the others stand behind the menu.
function drawExamples() {
  $("#examples").replaceChildren(...examplesOf(model().lang).map((example) =>
    make("button", { type: "button", lang: model().lang, onclick: () => showExample(example) }, example.word)));
}

function showExample({ first, at, second }) {
  setArea("#sentence", first);
  changeText(first, { wish: at, second });
}

function chooseModel(name) {
  state.model = name;
  $("#model").value = name;
  const { lang, layers } = model();
  for (const selector of ["#sentence", "#second", "#strip", "#near", "#tags", "#grid", "#opposites"]) $(selector).lang = lang;
  drawLayers(layers, changeLayer);
  drawExamples();
}

function drawModels() {
  const named = (one) => (one.name === one.lang && LANGUAGES[one.lang]) || one.name;
  $("#model").replaceChildren(...models.map((one) => make("option", { value: one.name, lang: one.lang }, named(one))));
  $("#model").onchange = () => {
    chooseModel($("#model").value);
    const example = examplesOf(model().lang)[0];
    if (example) showExample(example);
    else changeText(state.text);
  };
}

// What the snippets and pictures are about.
function page() {
  const mark = (text, span) => {
    const [begin, end] = unitSpan(text, span);
    return `${unmarked(text.slice(0, begin))}[${unmarked(text.slice(begin, end))}]${unmarked(text.slice(end))}`;
  };
  const offsets = compared?.second.offsets[pair.column];
  const values = compared && (state.layer === "mix" ? compared.mix_grid : compared.grids[Number(state.layer)]);
  return {
    model: model(),
    word: chosenWord(),
    bracketed: /[[\]]/.test(state.text),
    place: place(),
    marked: mark(state.text, scored.offsets[state.word]),
    secondMarked: offsets ? mark(state.second, offsets) : unmarked(state.second),
    scored, tagged, neighbours: near, substitutes: could, weights: weights(),
    grid: compared && { rows: compared.first.tokens, columns: compared.second.tokens, values },
  };
}

async function showState() {
  const [startModel, startWord] = document.querySelector("meta[name=polyseme-start]")?.content.split("|") ?? [];
  if (!model()) state.model = startModel ?? models[0].name;
  if (!state.text) {
    const first = examplesOf(model().lang).find((one) => one.word === startWord) ?? examplesOf(model().lang)[0];
    if (first) [state.text, wished, state.second] = [first.first, first.at, first.second];
  }
  chooseModel(state.model);
  setArea("#sentence", state.text);
  setArea("#second", state.second);
  document.querySelectorAll("[name=same]").forEach((one) => (one.checked = (one.value === "same") === state.same));
  await showSentence();
  writeAddress(false);
}

async function start() {
  startTheme();
  readAddress();
  models = await askModels();
  drawModels();
  drawCopies(page);
  onProgress(say);
  stopWhenTouched();
  listenTo("#sentence", type);
  listenTo("#second", (text) => {
    state.second = text;
    writeAddress(false);
    attempt(async () => {
      await showGrid();
      await showOpposites();
    });
  });
  document.querySelectorAll("[name=same]").forEach((one) => {
    one.onchange = () => {
      state.same = one.value === "same";
      writeAddress(false);
      attempt(showNear);
    };
  });
  $("#play").onclick = playLayers;
  $("#share").onclick = () => copy(addressOf(state, examplesOf(model().lang)), $("#share"), "Share");
  addEventListener("popstate", () => {
    stopPlaying();
    readAddress();
    attempt(showState);
  });
  await showState();
  if (mapped?.total) playLayers();
}

attempt(start);
