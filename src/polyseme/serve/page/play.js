// The stops, one after the other: all occurrences are one point, then they move apart and take their colours.

import { $ } from "./dom.js";

const STEP = 1300; // milliseconds a stop

let timer = 0;

export const calmMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// Show the stops one by one; whoever touches anything meanwhile is let be.
export function play(stops, show, done) {
  stopPlaying();
  document.body.dataset.playing = "yes";
  const step = (number) => {
    show(stops[number]);
    if (number + 1 < stops.length) timer = setTimeout(() => step(number + 1), STEP);
    else timer = setTimeout(() => { stopPlaying(); done(); }, 0);
  };
  step(0);
}

export function stopPlaying() {
  clearTimeout(timer);
  delete document.body.dataset.playing;
}

export function stopWhenTouched() {
  for (const kind of ["pointerdown", "keydown", "wheel"]) {
    addEventListener(kind, (event) => event.target.closest?.("#play") || stopPlaying(), { passive: true, capture: true });
  }
  $("#play").hidden = calmMotion();
}
