// What the page asks about its sentence.

import { ask } from "./api.js";
import { nearBySense, state, weights } from "./state.js";

export const askModels = async () => (await ask("models", "/models")).models;

// Split into tokens, and scored if the model has words to score with.
export async function askSentence(model) {
  const [path, more] = model.words ? ["/score", {}] : ["/encode", { pool: "mean" }];
  return (await ask("split", path, { model: model.name, texts: [state.text], ...more })).texts[0];
}

export const askSenses = (place) => ask("senses", "/senses", { model: state.model, ...place });

// The same word in the other sentence.
export const askThere = (tokens, position) => ask("there", "/senses", { model: state.model, tokens, position });

// The answer may say why there are none, or how they were compared.
export const askNear = (place, same = state.same) =>
  ask("near", "/neighbours", { model: state.model, ...place, ...(same && nearBySense() ? { by: "sense" } : { mix: weights() }), same_word: same, k: 10 });

export async function askSubstitutes(model, place) {
  const directions = model.bidirectional ? ["forward", "both", "backward"] : ["forward"];
  const fields = { model: state.model, ...place, k: 10 };
  const found = await Promise.all(
    directions.map((direction) => ask(`substitutes ${direction}`, "/substitutes", { ...fields, direction })));
  return { byDirection: Object.fromEntries(directions.map((direction, number) => [direction, found[number].substitutes])), why: found[0].why };
}

export const askTags = async () => (await ask("tags", "/tag", { model: state.model, texts: [state.text] })).texts[0];

export const askGrid = () =>
  ask("grid", "/similarity", {
    model: state.model, first: unmarked(state.text), second: unmarked(state.second), mix: state.mix, grid: true,
  });

// Brackets would mark a word: of the same width, but no brackets.
export const unmarked = (text) => text.replaceAll("[", "［").replaceAll("]", "］");
