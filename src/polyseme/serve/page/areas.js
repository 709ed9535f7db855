// The two areas that sentences are typed into.

import { $, calm } from "./dom.js";

// Input methods compose a character out of several keys: nothing happens before it is complete.
export function listenTo(selector, changed) {
  const area = $(selector);
  const soon = calm(() => changed(area.value), 350);
  let composing = false;
  area.addEventListener("compositionstart", () => (composing = true));
  area.addEventListener("compositionend", () => {
    composing = false;
    soon();
  });
  area.addEventListener("input", () => {
    fit(area);
    if (!composing) soon();
  });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing && event.keyCode !== 229) {
      event.preventDefault();
      changed(area.value);
    }
  });
}

export function setArea(selector, text) {
  $(selector).value = text;
  fit($(selector));
}

export function fit(area) {
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight + 2}px`; // with its borders
}
