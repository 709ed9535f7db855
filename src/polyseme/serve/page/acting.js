// What people do: type, choose a word, take another sentence or word, move the slider, play.

import { Refused, wasCancelled } from "./api.js";
import { setArea } from "./areas.js";
import { $, calm, unitSpan } from "./dom.js";
import { chosenWord, known, model, wishFor } from "./known.js";
import { showLayer, stopsOf } from "./layers.js";
import { moveMap } from "./map.js";
import { sayScale } from "./panels.js";
import { calmMotion, play } from "./play.js";
import { choosePair, onClicks, redrawGrid, say, showGrid, showIndex, showMixedGrid, showNear, showOpposites, showSentence, showWord } from "./showing.js";
import { state, writeAddress } from "./state.js";

let running = 0;

// Run what a change needs; what goes wrong is said in a sentence.
export async function attempt(action) {
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

// at: where the word begins that is to be chosen
export function changeText(text, { at = null, second = null, step = true } = {}) {
  state.text = text;
  state.word = null;
  wishFor(at);
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

export function type(text) {
  if (text === state.text) return;
  const before = typed;
  changeText(text, { step: Date.now() - before > PAUSE });
  typed = Date.now();
}

export function typeSecond(text) {
  state.second = text;
  writeAddress(false);
  attempt(async () => {
    await showGrid();
    await showOpposites();
  });
}

export function showExample({ first, at, second }) {
  setArea("#sentence", first);
  changeText(first, { at, second });
}

function choose(number) {
  state.word = number;
  typed = 0;
  writeAddress(true);
  attempt(async () => {
    await showWord();
    const { compared, scored } = known;
    if (compared && compared.first.tokens.length === scored.tokens.length) choosePair();
    await showOpposites();
  });
}

// Another occurrence becomes the sentence.
function use({ text, span }) {
  setArea("#sentence", text);
  changeText(text, { at: span[0] });
  $("#sentence").scrollIntoView({ block: "center", behavior: calmMotion() ? "auto" : "smooth" });
}

// Another word instead of the chosen one.
function replaceWord(word) {
  const span = known.scored.offsets[state.word];
  const [begin, end] = unitSpan(state.text, span);
  const text = state.text.slice(0, begin) + word + state.text.slice(end);
  setArea("#sentence", text);
  changeText(text, { at: span[0] });
}

// The second sentence becomes the first.
function exchange() {
  const { tokens, offsets } = known.compared.second;
  const [text, second, at] = [state.second, state.text, offsets[tokens.indexOf(chosenWord())][0]];
  setArea("#sentence", text);
  changeText(text, { at, second });
}

export function chooseSame(same) {
  state.same = same;
  writeAddress(false);
  sayScale(chosenWord(), known.mapped);
  attempt(showNear);
}

const layerChanged = calm(() => attempt(async () => {
  writeAddress(false);
  await Promise.all([showNear(), state.layer === "mix" && showMixedGrid()]);
}), 140);

export function changeLayer() {
  moveMap();
  redrawGrid();
  if (!known.scored || state.word === null) return;
  sayScale(chosenWord(), known.mapped);
  layerChanged();
}

let fresh = true; // nothing was played yet

// From layer 0 up to a stop. A mix is not on the way to sense, nor sense on the way to a mix.
export function playTo(last) {
  if (!known.mapped?.total) return;
  fresh = false;
  if (calmMotion()) return;
  const all = stopsOf(model().layers);
  const stops = all.slice(0, all.indexOf(last) + 1).filter((stop) => stop === last || stop !== "sense");
  const show = (stop) => {
    state.layer = stop;
    showLayer(all);
    moveMap();
  };
  play(stops, show, changeLayer);
}

const indexed = () => attempt(async () => {
  await showIndex();
  if (fresh) playTo(state.layer);
});

onClicks({ choose, use, replaceWord, exchange, indexed });
