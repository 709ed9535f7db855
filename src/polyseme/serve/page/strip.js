// The words of the sentence as buttons, with two bars under each: how surprising it is, read forward and backward.

import { $, direction, make } from "./dom.js";
import { state } from "./state.js";

const FULL_BAR = 20; // bits: one word of a million

export function drawStrip(scored, choose) {
  const { tokens, forward, backward, unknown } = scored;
  const columns = tokens.map((token, number) => {
    const ahead = forward ? bits(forward[number]) : null;
    const back = backward ? bits(backward[number]) : null;
    const said = [token, ahead !== null && `${ahead.toFixed(1)} bits forward`, back !== null && `${back.toFixed(1)} backward`];
    const button = make(
      "button",
      {
        type: "button", class: "word", "aria-pressed": String(number === state.word),
        "aria-label": said.filter(Boolean).join(", ") + (unknown?.[number] ? ", not in the vocabulary" : ""),
        title: said.slice(1).filter(Boolean).join(", "), onclick: () => choose(number),
      },
      make("span", { class: "token" }, token),
      make("span", { class: "bars", "aria-hidden": "true" }, bar("ahead", ahead), bar("back", back)),
    );
    return button;
  });
  $("#strip").dir = direction(tokens.join(" "));
  $("#strip").replaceChildren(...columns);
  $("#strip-key").hidden = !forward;
}

export function showChosen() {
  [...$("#strip").children].forEach((word, number) => word.setAttribute("aria-pressed", String(number === state.word)));
}

const bits = (logProbability) => (logProbability === null ? null : -logProbability / Math.log(2)); // null: unknown word

function bar(kind, value) {
  const element = make("span", { class: `bar ${kind}` });
  if (value !== null) element.style.height = `${Math.min(100, (100 * value) / FULL_BAR)}%`;
  return element;
}
