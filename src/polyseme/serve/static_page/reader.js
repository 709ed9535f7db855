// The model of this site, asked from the page. It is fetched with the first question.

const waiting = new Map();
let worker = null;
let tell = () => {};
let count = 0;
let said = "";

// What is told while a model comes: a sentence.
export const onProgress = (told) => (tell = told);

function started() {
  worker ??= Object.assign(new Worker(new URL("bilm_worker.js", import.meta.url), { type: "module" }), { onmessage: hear, onerror: fail });
  return worker;
}

function hear({ data: { number, answer, problem, loading } }) {
  if (loading) return say(sentence(loading));
  if (said) say("");
  const { resolve, reject } = waiting.get(number);
  waiting.delete(number);
  return problem === undefined ? resolve(answer) : reject(new Error(problem));
}

// A thread that does not start: an old browser.
function fail(event) {
  event.preventDefault();
  for (const { reject } of waiting.values()) reject(new Error(event.message ?? "this browser is too old for it"));
  waiting.clear();
  worker = null;
}

const say = (words) => tell((said = words));

function sentence({ come, bytes }) {
  if (come >= bytes) return "The model is loaded. It reads your sentence …";
  return `Loading the model into your browser to read your sentence: ${megabytes(come)} of ${megabytes(bytes)} MB …`;
}

const megabytes = (bytes) => (bytes / 1e6).toFixed(1);

// verb: "split" a text, "read" the tokens of a sentence into layers, or tell the "weights" of tokens
export function askModel({ address, bytes }, verb, item) {
  return new Promise((resolve, reject) => {
    waiting.set(++count, { resolve, reject });
    started().postMessage({ number: count, address, bytes, verb, item });
  });
}
