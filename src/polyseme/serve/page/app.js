// The page begins: models and examples are offered, what people do is listened to, the state of the address is shown.

import { changeLayer, changeText, attempt, chooseSame, playTo, showExample, type, typeSecond } from "./acting.js";
import { listenTo, setArea } from "./areas.js";
import { addressOf, onProgress } from "./backend.js";
import { copy, drawCopies } from "./copies.js";
import { $, make } from "./dom.js";
import { EXAMPLES } from "./examples.js";
import { known, model, page, wishFor } from "./known.js";
import { drawLayers } from "./layers.js";
import { stopPlaying, stopWhenTouched } from "./play.js";
import { askModels } from "./questions.js";
import { say, showSentence } from "./showing.js";
import { readAddress, state, writeAddress } from "./state.js";
import { startTheme } from "./theme.js";

const LANGUAGES = { en: "English", ko: "한국어", zh: "中文" };

const examples = () => EXAMPLES[model().lang] ?? [];

// Those of the language that is shown; the others stand behind the menu.
function drawExamples() {
  $("#examples").replaceChildren(...examples().map((example) =>
    make("button", { type: "button", lang: model().lang, onclick: () => showExample(example) }, example.word)));
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
  $("#model").replaceChildren(...known.models.map((one) => make("option", { value: one.name, lang: one.lang }, named(one))));
  $("#model").onchange = () => {
    chooseModel($("#model").value);
    const [example] = examples();
    if (example) showExample(example);
    else changeText(state.text);
  };
}

async function showState() {
  const [startModel, startWord] = document.querySelector("meta[name=polyseme-start]")?.content.split("|") ?? [];
  if (!model()) state.model = startModel ?? known.models[0].name;
  if (!state.text) {
    const first = examples().find((one) => one.word === startWord) ?? examples()[0];
    if (first) {
      [state.text, state.second] = [first.first, first.second];
      wishFor(first.at);
    }
  }
  chooseModel(state.model);
  setArea("#sentence", state.text);
  setArea("#second", state.second);
  document.querySelectorAll("[name=same]").forEach((one) => (one.checked = (one.value === "same") === state.same));
  await showSentence();
  writeAddress(false);
}

function listen() {
  listenTo("#sentence", type);
  listenTo("#second", typeSecond);
  document.querySelectorAll("[name=same]").forEach((one) => (one.onchange = () => chooseSame(one.value === "same")));
  $("#play").onclick = () => playTo(state.layer === "mix" ? "mix" : "sense");
  $("#share").onclick = () => copy(addressOf(state, examples()), $("#share"), "Share");
  addEventListener("popstate", () => {
    stopPlaying();
    readAddress();
    attempt(showState);
  });
  stopWhenTouched();
  onProgress(say);
}

async function start() {
  startTheme();
  readAddress();
  known.models = await askModels();
  drawModels();
  drawCopies(page);
  listen();
  await showState();
  playTo(state.layer);
}

attempt(start);
