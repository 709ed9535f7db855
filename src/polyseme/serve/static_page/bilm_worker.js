// Models in a thread of their own, so that the page stays quick while they read.

import { fetchArrays } from "./arrays.js";
import { BiLM } from "./bilm.js";
import { spell } from "./spelling.js";
import { Splitter } from "./splitting.js";

const loading = new Map(); // address of a model → what it can do

async function load(address, bytes) {
  const told = (come) => postMessage({ loading: { come, bytes } });
  const described = await (await fetch(`${address}model.json`)).json();
  const arrays = await fetchArrays(`${address}model.bin`, told);
  const bilm = new BiLM(described.network, arrays);
  const splitter = new Splitter(described.splitting, arrays);
  return {
    split: (text) => splitter.split(text),
    read: (tokens) => bilm.layers(spell(tokens, described.spelling)),
    weights: (tokens) => tokens.map((token) => described.word_weights[token] ?? 1),
  };
}

function model(address, bytes) {
  if (!loading.has(address)) {
    loading.set(address, load(address, bytes));
    loading.get(address).catch(() => loading.delete(address)); // the next question tries again
  }
  return loading.get(address);
}

onmessage = async ({ data: { number, address, bytes, verb, item } }) => {
  try {
    postMessage({ number, answer: (await model(address, bytes))[verb](item) });
  } catch (error) {
    postMessage({ number, problem: error.message });
  }
};
