// Light, dark, or as the system has it: a button that goes round, and remembers.

import { $, make } from "./dom.js";

const NAMES = ["auto", "light", "dark"];

export function startTheme() {
  const kept = localStorage.getItem("theme");
  show(NAMES.includes(kept) ? kept : "auto");
  $("#theme").onclick = () => {
    const next = NAMES[(NAMES.indexOf(document.documentElement.dataset.theme) + 1) % NAMES.length];
    localStorage.setItem("theme", next);
    show(next);
  };
}

function show(name) {
  document.documentElement.dataset.theme = name;
  $("#theme").replaceChildren(make("span", { class: "wide" }, "Theme: "), make("span", { class: "narrow", "aria-hidden": "true" }, "◐ "), name);
}
