// What was answered about the sentence that is shown, and which of its words is chosen.

import { unitSpan } from "./dom.js";
import { unmarked } from "./questions.js";
import { state, vectorLayer, weights } from "./state.js";

export const known = {
  models: [],
  scored: null, // the sentence: tokens, offsets, sentences, and its scores if the model has any
  mapped: null, // the sense map of the chosen word
  near: [], // the nearest occurrences
  substitutes: {}, // by direction
  compared: null, // the last answer about two sentences
  tagged: null, // what task models say of the sentence
  pair: { row: 0, column: 0 }, // of the two sentences
};

export const model = () => known.models.find((one) => one.name === state.model);
export const chosenWord = () => known.scored.tokens[state.word];

// The sentence of the chosen word, and its position there.
export const place = () => placeIn(known.scored, state.word);

// A text may have several sentences.
export function placeIn({ tokens, sentences }, word) {
  const [begin, end] = sentences.find(([first, last]) => first <= word && word < last);
  return { tokens: tokens.slice(begin, end), position: word - begin };
}

let last = ""; // the word that was chosen last
let wished = null; // where the word begins (in characters) that is chosen as soon as its sentence is split

export const wishFor = (at) => (wished = at);
export const rememberWord = () => (last = chosenWord());

// The word that was wished for, else the one that the state names, else the last one, else the longest.
export function chooseWithin() {
  const { tokens, offsets } = known.scored;
  const at = wished === null ? -1 : offsets.findIndex(([, end]) => end > wished);
  if (at >= 0) state.word = at;
  wished = null;
  if (state.word === null && tokens.includes(last)) state.word = tokens.indexOf(last);
  if (state.word === null || state.word >= tokens.length) {
    const longest = Math.max(0, ...tokens.map((token) => token.length));
    state.word = tokens.length ? tokens.findLastIndex((token) => token.length === longest) : null;
  }
}

// What the snippets and pictures are about.
export function page() {
  const { scored, compared, pair, tagged, near, substitutes } = known;
  const offsets = compared?.second.offsets[pair.column];
  const values = compared && (state.layer === "mix" ? compared.mix_grid : compared.grids[Number(vectorLayer())]);
  return {
    model: model(),
    word: chosenWord(),
    bracketed: /[[\]]/.test(state.text),
    place: place(),
    marked: mark(state.text, scored.offsets[state.word]),
    secondMarked: offsets ? mark(state.second, offsets) : unmarked(state.second),
    scored, tagged, neighbours: near, substitutes, weights: weights(),
    grid: compared && { rows: compared.first.tokens, columns: compared.second.tokens, values },
  };
}

function mark(text, span) {
  const [begin, end] = unitSpan(text, span);
  return `${unmarked(text.slice(0, begin))}[${unmarked(text.slice(begin, end))}]${unmarked(text.slice(end))}`;
}
