// The words of the sentence as buttons, with two bars under each: its surprisal, forward and backward.

import { $, direction, make } from "./dom.js";
import { state } from "./state.js";

export const FULL_BAR = 20; // bits: one word of a million

export function drawStrip(scored, choose) {
  const surprises = surprisesOf(scored);
  $("#strip").dir = direction(scored.tokens.join(" "));
  $("#strip").replaceChildren(...surprises.map((one, number) =>
    make("button", {
      type: "button", class: `word${one.unknown ? " unknown" : ""}`, "aria-pressed": String(number === state.word),
      "aria-label": [one.token, said(one)].filter(Boolean).join(", "), title: said(one), onclick: () => choose(number),
    },
    make("span", { class: "token" }, one.token),
    make("span", { class: "bars", "aria-hidden": "true" }, bar("ahead", one, one.ahead), bar("back", one, one.back)))));
  $("#strip").classList.toggle("unscored", !scored.forward);
  $("#strip-key").hidden = !scored.forward;
  $("#unknown-key").hidden = !surprises.some((one) => one.unknown);
}

// Bits of each token. A word that the vocabulary does not have has no probability of its own, so it has none.
export function surprisesOf({ tokens, forward, backward, unknown }) {
  const bits = (values, number) => (!values || values[number] === null || unknown?.[number] ? null : -values[number] / Math.log(2));
  return tokens.map((token, number) => ({
    token, unknown: Boolean(unknown?.[number]), scored: Boolean(forward), ahead: bits(forward, number), back: bits(backward, number),
  }));
}

function said({ unknown, ahead, back }) {
  if (unknown) return "not in the vocabulary, so it has no surprisal";
  return [ahead !== null && `${ahead.toFixed(1)} bits forward`, back !== null && `${back.toFixed(1)} backward`].filter(Boolean).join(", ");
}

export function showChosen() {
  [...$("#strip").children].forEach((word, number) => word.setAttribute("aria-pressed", String(number === state.word)));
}

function bar(kind, { unknown, scored }, value) {
  const element = make("span", { class: `bar ${unknown ? "unknown" : kind}` });
  if (unknown) element.style.height = "100%";
  else if (value !== null) element.style.height = `${Math.min(100, (100 * value) / FULL_BAR)}%`;
  element.hidden = !scored;
  return element;
}
