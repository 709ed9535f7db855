// Two sentences in which the word means different things, each in the colour of its group on the map.

import { $, direction, make, marked, unitSpan } from "./dom.js";
import { mark } from "./map.js";

// Sentences: {text, span, group, use}; what has no group is not told apart.
export function drawOpposites(sentences) {
  $("#opposites").replaceChildren(...sentences.map(({ text, span, group, use }) =>
    make("button", { type: "button", class: `opposite of-${group}`, dir: direction(text), onclick: use },
      mark(group), make("span", {}, ...marked(text, unitSpan(text, span), 60)))));
}

// The clearest occurrence of another group, the largest one first.
export function clearestElsewhere(answer, group) {
  const other = answer.clearest.find((occurrence) => answer.groups[occurrence] !== group);
  return other === undefined ? null : { ...answer.occurrences[other], group: answer.groups[other] };
}
