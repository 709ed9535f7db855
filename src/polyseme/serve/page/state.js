// What the page shows, kept in the address: a link is the state, and the back button goes back in it.

export const state = {
  model: "", // name
  text: "",
  word: null, // number of the token
  layer: "", // "0", "1", …, "sense" or "mix"; "sense" unless chosen
  mix: [], // one weight for each layer, together 1
  same: true, // nearest occurrences of the same word only
  second: "",
};

export function readAddress() {
  const found = new URLSearchParams(location.hash.slice(1));
  const read = (name, change) => found.has(name) && change(found.get(name));
  read("model", (value) => (state.model = value));
  read("text", (value) => (state.text = value));
  read("word", (value) => (state.word = /^\d+$/.test(value) ? Number(value) : null));
  state.layer = found.get("layer") ?? "";
  read("mix", (value) => (state.mix = value.split(",").map(Number)));
  read("near", (value) => (state.same = value !== "any"));
  read("second", (value) => (state.second = value));
}

export function writeAddress(step) {
  const fields = new URLSearchParams({
    model: state.model,
    text: state.text,
    word: state.word ?? "",
    layer: state.layer,
    mix: state.mix.map((weight) => weight.toFixed(2)).join(","),
    near: state.same ? "same" : "any",
    second: state.second,
  });
  const address = `#${fields}`;
  if (address === location.hash) return;
  if (step) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

// Sense has no vectors of its own: what compares vectors takes those of the top layer there.
export const vectorLayer = () => (state.layer === "sense" ? String(state.mix.length - 1) : state.layer);

// The weights of the layers whose vectors are compared.
export function weights() {
  return state.layer === "mix" ? state.mix : state.mix.map((_, layer) => (String(layer) === vectorLayer() ? 1 : 0));
}

// Contexts tell the senses of one word apart; for any word, the word itself tells more (docs/senses.md).
export const nearBySense = () => state.layer === "sense" && state.same;

export function layerName(layer = state.layer) {
  return { mix: "the mix", sense: "sense" }[layer] ?? `layer ${layer}`;
}
