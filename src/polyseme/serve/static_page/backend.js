// Who answers in a site without a server: recordings of a server's answers, and for other sentences a model in the page.

import { answerTyped } from "./typed.js";

export { onProgress } from "./reader.js";

const BASE = new URL(".", import.meta.url);
const kept = new Map();

export async function read(name) {
  if (!kept.has(name)) {
    kept.set(name, fetch(new URL(name, BASE)).then((response) => (response.ok ? response.json() : null)));
  }
  return kept.get(name);
}

export async function reach(path, fields, { signal }) {
  const { models } = await read("data/models.json");
  if (path === "/models") return { status: 200, answer: { models } };
  const found = (await recorded(path, fields)) ?? (await typed(path, fields, models.find((one) => one.name === fields.model)));
  signal.throwIfAborted(); // a newer question has come
  return found.error ? { status: 404, answer: found } : { status: 200, answer: found };
}

async function typed(path, fields, model) {
  if (!model.reads) return { error: "this site has no server, so it knows only its own sentences; for others, install polyseme and run polyseme serve" };
  try {
    return await answerTyped(path, fields, read, model);
  } catch (error) {
    return { error: `the model could not be loaded (${error.message}); the words below work without it` };
  }
}

// Where a question is recorded, under which name. polyseme.serve.recording writes the same names.
async function recorded(path, fields) {
  const place = fields.tokens && `${fields.tokens.join(" ")}|${fields.position}`;
  const [sentence, name] = {
    "/score": () => [fields.texts[0], `score|${fields.texts[0]}`],
    "/senses": () => [fields.tokens.join(" "), `senses|${place}`],
    "/neighbours": () => [fields.tokens.join(" "), `neighbours|${place}|${layerOf(fields)}|${fields.same_word}`],
    "/substitutes": () => [fields.tokens.join(" "), `substitutes|${place}|${fields.direction}`],
    "/similarity": () => [fields.first, `similarity|${fields.first}|${fields.second}`],
  }[path]?.() ?? [];
  const files = await read(`data/${fields.model}/sentences.json`);
  const file = files?.[sentence];
  const answers = file && (await read(`data/${fields.model}/${file}.json`));
  const answer = answers?.[name];
  return answer?.like ? { ...answers[answer.like], ...answer } : answer;
}

// "0", "1", …, "sense", "mix" for equal weights; any other mix is not recorded.
function layerOf({ mix, by }) {
  if (by === "sense") return "sense";
  const ones = mix.filter((weight) => weight > 0.999).length;
  if (ones === 1) return String(mix.findIndex((weight) => weight > 0.999));
  return mix.every((weight) => Math.abs(weight - 1 / mix.length) < 0.005) ? "mix" : "other";
}

export const program = (path) => `http://localhost:8000${path}`;

// What is shared: the page of the word if it shows what is shown, because that one has a picture; else the whole state.
export function addressOf(state, examples) {
  const example = examples.find((one) => one.first === state.text);
  const file = example?.word.replace(/[^\p{L}\p{N}_-]/gu, "_");
  return file ? new URL(`${state.model}/${encodeURIComponent(file)}/`, BASE).href : location.href;
}
