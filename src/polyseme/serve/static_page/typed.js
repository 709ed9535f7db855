// What the page asks about a sentence that nobody recorded, answered by the model in the browser.
//
// The answers have the fields of the server's. What needs the softmax is missing: scores, and words that could stand
// there. Occurrences are those of the site's words.

import { fetchArrays } from "./arrays.js";
import { askModel } from "./reader.js";

const NO_SOFTMAX = "The model in this page reads sentences but does not predict words: the part that does is too large to download. To see substitutes, install polyseme and run polyseme serve.";
const OWN_WORDS = "This site has the occurrences of its own words only.";
const TOP_LAYER = "Sense needs substitutes, and the model in this page has none. So this list compares the top layer.";
const NOTHING = { total: 0, here: null, group: null, sense: null, points: [], groups: [], names: [], clearest: [], same: [], cross: [], occurrences: [] };

// read: a file of the site; model: its entry in models.json
export async function answerTyped(path, fields, read, model) {
  const site = { read, model, folder: `data/${model.name}/`, asked: { address: new URL(`data/${model.name}/`, new URL(".", import.meta.url)).href, bytes: model.reads } };
  return { "/score": split, "/encode": split, "/senses": senses, "/neighbours": neighbours, "/substitutes": substitutes, "/similarity": similarity }[path](site, fields);
}

async function split(site, { texts }) {
  return { texts: await Promise.all(texts.map((text) => splitText(site, text))) };
}

async function splitText({ asked }, text) {
  const found = await askModel(asked, "split", text);
  let end = 0;
  const sentences = found.map(({ tokens }) => [end, (end += tokens.length)]);
  return { tokens: found.flatMap((one) => one.tokens), offsets: found.flatMap((one) => one.offsets), sentences };
}

async function substitutes() {
  return { substitutes: [], why: NO_SOFTMAX };
}

async function senses(site, { tokens, position }) {
  const known = await occurrencesOf(site, tokens[position]);
  if (!known) return { word: tokens[position], ...NOTHING };
  const layers = await askModel(site.asked, "read", tokens);
  const here = layers.map((layer, number) => known.place(rowOf(layer, position, site), number));
  const group = await groupOf(site, known, layers, tokens, position);
  return { ...known.map, word: tokens[position], here, group, sense: { ...known.map.sense, here: middleOf(known.map, group) } };
}

// By sense, a sentence without substitutes has no place of its own: it is shown in the middle of its group.
function middleOf({ groups, sense: { points } }, group) {
  const members = points.filter((_, number) => groups[number] === group);
  return [0, 1].map((axis) => members.reduce((total, point) => total + point[axis], 0) / members.length);
}

async function neighbours(site, { tokens, position, mix, by, same_word: same, k }) {
  if (!same) return { neighbours: [], why: OWN_WORDS };
  const known = await occurrencesOf(site, tokens[position]);
  if (!known) return { neighbours: [] };
  const layers = await askModel(site.asked, "read", tokens);
  const weights = by === "sense" ? layers.map((_, layer) => (layer === layers.length - 1 ? 1 : 0)) : mix;
  const here = mixed(layers.map((layer) => rowOf(layer, position, site)), weights);
  const found = known.map.occurrences.map((one, number) => ({ ...one, similarity: cosine(here, mixed(known.layersOf(number), weights)) }));
  const itself = squeezed(tokens.join(""));
  const nearest = found.filter((one) => squeezed(one.text) !== itself).sort((a, b) => b.similarity - a.similarity).slice(0, k);
  return by === "sense" ? { neighbours: nearest, why: TOP_LAYER } : { neighbours: nearest };
}

async function similarity(site, { first, second, mix }) {
  const texts = await Promise.all([first, second].map((text) => splitText(site, text)));
  const vectors = await Promise.all(texts.map((text) => vectorsOf(site, text)));
  const [rows, columns] = vectors;
  const grid = (of) => rows.map((row) => columns.map((column) => cosine(of(row), of(column))));
  const grids = mix.map((_, layer) => grid((layers) => layers[layer]));
  return { first: texts[0], second: texts[1], grids, mix_grid: grid((layers) => mixed(layers, mix)) };
}

// For each token of a text its vector in every layer.
async function vectorsOf(site, { tokens, sentences }) {
  const found = sentences.map(async ([begin, end]) => {
    const layers = await askModel(site.asked, "read", tokens.slice(begin, end));
    return tokens.slice(begin, end).map((_, position) => layers.map((layer) => rowOf(layer, position, site)));
  });
  return (await Promise.all(found)).flat();
}

const kept = new Map(); // of each word its map and vectors

async function occurrencesOf(site, word) {
  const words = await site.read(`${site.folder}words.json`);
  const file = words[word] ?? words[word.toLowerCase()];
  if (!file) return null;
  const name = site.folder + file;
  if (!kept.has(name)) kept.set(name, open(site, name));
  return kept.get(name);
}

async function open({ read, asked, folder, model: { width } }, name) {
  const file = name.slice(folder.length);
  const [answers, arrays] = await Promise.all([read(`${name}.json`), fetchArrays(`${asked.address}${encodeURIComponent(file)}.bin`)]);
  const map = Object.entries(answers).find(([question, answer]) => question.startsWith("senses|") && answer.points)[1];
  const [word, means, axes] = ["word", "means", "axes"].map((part) => arrays.numbers(part));
  const count = map.occurrences.length;
  const at = (layer, number) => word.subarray((layer * count + number) * width, (layer * count + number + 1) * width);
  return {
    map,
    layersOf: (number) => map.points.map((_, layer) => at(layer, number)),
    // [W] → [2]
    place: (vector, layer) => [0, 1].map((axis) => vector.reduce((total, value, k) => total + (value - means[layer * width + k]) * axes[2 * k + axis], 0)),
    groups: { place: arrays.numbers("groups.place"), sentence: arrays.numbers("groups.sentence") },
  };
}

// The group whose places and sentences are most like this one, on average. A server looks at the substitutes as well.
async function groupOf({ asked, model }, known, layers, tokens, position) {
  const weights = (await askModel(asked, "weights", tokens)).map((weight, at) => (at === position ? 0 : weight));
  const top = layers.at(-1);
  const [size, directions] = [model.width / (model.bidirectional ? 2 : 1), model.bidirectional ? 2 : 1];
  const state = (row, direction) => top.subarray(row * model.width + direction * size, row * model.width + (direction + 1) * size);
  const place = new Float32Array(size);
  const sentence = new Float32Array(size);
  for (let direction = 0; direction < directions; direction++) {
    state(position + (direction ? 2 : 0), direction).forEach((value, k) => (place[k] += value)); // rows begin with a boundary
    weights.forEach((weight, at) => state(at + 1, direction).forEach((value, k) => (sentence[k] += weight * value)));
  }
  const alike = known.map.names.map((_, group) => dotUnit(place, known.groups.place, group) + dotUnit(sentence, known.groups.sentence, group));
  return alike.indexOf(Math.max(...alike));
}

// Of a vector, made as long as one, with a row of a matrix.
function dotUnit(vector, matrix, row) {
  const total = vector.reduce((sum, value, k) => sum + value * matrix[row * vector.length + k], 0);
  return total / Math.max(Math.hypot(...vector), 1e-30);
}

// The vector of a token; the first row is the boundary's.
const rowOf = (layer, position, { model: { width } }) => layer.subarray((position + 1) * width, (position + 2) * width);

const mixed = (layers, weights) => layers[0].map((_, k) => layers.reduce((total, layer, number) => total + weights[number] * layer[k], 0));

function cosine(a, b) {
  let [both, first, second] = [0, 0, 0];
  for (let k = 0; k < a.length; k++) {
    both += a[k] * b[k];
    first += a[k] * a[k];
    second += b[k] * b[k];
  }
  return Math.max(-1, Math.min(1, both / Math.max(Math.sqrt(first * second), 1e-30)));
}

const squeezed = (text) => text.replace(/\s+/gu, "");
