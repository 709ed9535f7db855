// Every panel: what it asks, and what it draws of the answer.

import { drawAbsent } from "./absent.js";
import { cancelAll } from "./api.js";
import { fit } from "./areas.js";
import { $, make } from "./dom.js";
import { chooseWithin, chosenWord, known, model, place, placeIn, rememberWord } from "./known.js";
import { drawMap, drawMessage, drawThere } from "./map.js";
import { clearestElsewhere, drawOpposites } from "./opposites.js";
import { drawGrid, drawNear, drawSubstitutes, sayScale } from "./panels.js";
import { askGrid, askModels, askNear, askSenses, askSentence, askSubstitutes, askTags, askThere } from "./questions.js";
import { state } from "./state.js";
import { drawStrip, showChosen } from "./strip.js";
import { drawTags, taskNames } from "./tags.js";

// What a click does: choose(number), use(occurrence), replaceWord(word), exchange(), indexed(). acting.js says how.
const clicks = {};
export const onClicks = (found) => Object.assign(clicks, found);

export function say(sentence) {
  $("#message").textContent = sentence;
}

export async function showSentence() {
  if (!state.text.trim()) return showNothing("Write a sentence to begin.");
  known.scored = await askSentence(model());
  chooseWithin();
  if (state.word === null) return showNothing("There is no word in this sentence.");
  drawStrip(known.scored, clicks.choose);
  showPanels(true);
  say("");
  await Promise.all([showWord(), showGrid(), model().tasks.length && showTags()]);
  await showOpposites();
}

// An empty sentence has no word, so everything about a word goes.
function showNothing(sentence) {
  known.scored = known.mapped = known.compared = known.tagged = null;
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

export async function showWord() {
  rememberWord();
  showChosen();
  $("#senses-title").replaceChildren("Senses of ", make("em", { lang: model().lang }, chosenWord()));
  await Promise.all([showSenses(), showNear(), model().words && showSubstitutes()]);
  if (known.mapped && !known.mapped.total) await showAbsent();
}

async function showAbsent() {
  const { neighbours } = state.same ? await askNear(place(), false) : { neighbours: known.near };
  const { both, forward } = known.substitutes;
  drawAbsent(chosenWord(), { neighbours, substitutes: both ?? forward ?? [], use: clicks.use, replaceWord: clicks.replaceWord });
}

async function showSenses() {
  known.mapped = null;
  if (model().index.state !== "ready") return showWithoutIndex();
  known.mapped = await askSenses(place());
  sayScale(chosenWord(), known.mapped);
  if (!known.mapped.total) return;
  drawMap(known.mapped, clicks.use);
  $("#senses-lead").textContent = leadOf(known.mapped);
}

function leadOf({ total, occurrences, names }) {
  const some = occurrences.length < total ? ` (${occurrences.length} shown)` : "";
  const times = total === 1 ? "once" : `${total} times`;
  const named = names.some((one) => one.length) ? " Each group is named by words that could replace the word there, but not in the other groups." : "";
  return `The index contains this word ${times}${some}.${named}`;
}

let waiting = 0;

// The index may still be in the making: then the page looks again, and shows the rest meanwhile.
function showWithoutIndex() {
  const building = model().index.state === "building";
  drawMessage(building ? "The index is being built. This takes a few seconds." : "This server has no index for this model. Start it with --index DIR.");
  $("#near").replaceChildren();
  clearTimeout(waiting);
  if (building) waiting = setTimeout(clicks.indexed, 1000);
}

export async function showIndex() {
  known.models = await askModels();
  if (!known.scored || state.word === null) return;
  await Promise.all([showSenses(), showNear()]);
  await showOpposites();
}

export async function showNear() {
  if (model().index.state !== "ready") return;
  const found = await askNear(place());
  known.near = found.neighbours;
  drawNear(found, clicks.use);
}

async function showSubstitutes() {
  const found = await askSubstitutes(model(), place());
  known.substitutes = found.byDirection;
  drawSubstitutes(found, clicks.replaceWord);
}

// The first answer takes a while: the server loads its task models then.
async function showTags() {
  $("#tags-lead").textContent = `Task models trained on top of this model: ${taskNames(model().tasks)}.`;
  drawTags((known.tagged = await askTags()));
}

export async function showGrid() {
  if (!known.scored) return;
  known.compared = state.second.trim() ? await askGrid() : null;
  if (known.compared) return choosePair();
  $("#compare-lead").textContent = "Write a second sentence to compare its words with those of the first.";
  $("#grid").replaceChildren();
  $("#pair").replaceChildren();
}

export async function showMixedGrid() {
  if (!state.second.trim()) return;
  known.compared = await askGrid();
  redrawGrid();
}

export function choosePair() {
  known.pair = { row: state.word, column: Math.max(0, known.compared.second.tokens.indexOf(chosenWord())) };
  redrawGrid();
}

export function redrawGrid() {
  const change = (to) => {
    known.pair = to;
    redrawGrid();
  };
  const { compared, pair } = known;
  if (compared && compared.first.tokens.length > pair.row) drawGrid(compared, pair, change);
}

// The sentence, and one in which the word means something else: the second one if it has the word, else an occurrence.
export async function showOpposites() {
  const { mapped, scored } = known;
  if (!mapped?.total) return drawOpposites([]);
  const mine = { text: state.text, span: scored.offsets[state.word], group: mapped.group, use: () => $("#sentence").focus() };
  const other = await otherSentence(mapped);
  drawOpposites(other ? [mine, other] : [mine]);
}

async function otherSentence(mapped) {
  const second = known.compared?.second;
  const at = second ? second.tokens.indexOf(chosenWord()) : -1;
  if (at < 0) {
    const found = clearestElsewhere(mapped, mapped.group);
    return found && { ...found, use: () => clicks.use(found) };
  }
  const { tokens, position } = placeIn(second, at);
  const there = await askThere(tokens, position);
  drawThere(there);
  return { text: state.second, span: second.offsets[at], group: there.group, use: clicks.exchange };
}
