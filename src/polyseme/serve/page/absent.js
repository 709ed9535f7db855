// A word that the index does not have: what can be said of it all the same, and what to do.

import { $, direction, make, marked, unitSpan } from "./dom.js";

export function drawAbsent(word, { neighbours, substitutes, use, replaceWord }) {
  const near = neighbours.slice(0, 5).map((one) =>
    make("li", {}, make("button", { type: "button", class: "sentence", dir: direction(one.text), onclick: () => use(one) },
      ...marked(one.text, unitSpan(one.text, one.span), 60))));
  const could = substitutes.slice(0, 8).map((one) =>
    make("button", { type: "button", class: "link", onclick: () => replaceWord(one.word) }, one.word));
  $("#map").replaceChildren(make("div", { class: "absent", tabindex: "-1" },
    make("p", {}, "The index does not contain “", make("b", {}, word), "”, so there is no map."),
    could.length ? make("p", {}, "Words that could replace it: ", ...spaced(could), ".") : null,
    near.length ? make("div", {}, make("p", {}, "Words that are used like it:"), make("ul", { class: "near" }, ...near)) : null,
    make("p", {}, "To get a map, index a text that contains it:"),
    make("pre", { tabindex: "0" }, "polyseme index my-text.txt --out my-index --layers all\npolyseme serve --index my-index")));
  $("#legend").replaceChildren();
  $("#reading").replaceChildren();
  $("#senses-lead").textContent = "";
}

const spaced = (parts) => parts.flatMap((part, number) => (number ? [", ", part] : [part]));
