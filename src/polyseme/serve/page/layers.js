// The slider through the layers, sense and the mix; and the mix as one bar whose borders can be dragged.

import { $, make } from "./dom.js";
import { layerName, state } from "./state.js";

export const stopsOf = (count) => [...Array(count).keys()].map(String).concat("sense", "mix");

export function drawLayers(count, changed) {
  const stops = stopsOf(count);
  const slider = $("#layer");
  slider.max = String(stops.length - 1);
  slider.oninput = () => {
    state.layer = stops[Number(slider.value)];
    showLayer(stops);
    changed("layer");
  };
  $("#stops").replaceChildren(...stops.map((stop) => make("span", {}, stop)));
  if (!stops.includes(state.layer)) state.layer = "sense";
  if (state.mix.length !== count || !(sum(state.mix) > 0)) state.mix = Array(count).fill(1 / count);
  state.mix = state.mix.map((weight) => Math.max(0, weight) / sum(state.mix));
  showLayer(stops);
  drawMix(changed, stops);
}

export function showLayer(stops) {
  const slider = $("#layer");
  slider.value = String(stops.indexOf(state.layer));
  slider.setAttribute("aria-valuetext", layerName());
  [...$("#stops").children].forEach((stop, number) => stop.classList.toggle("on", stops[number] === state.layer));
  $(".mixer").classList.toggle("on", state.layer === "mix");
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

function drawMix(changed, stops) {
  const bar = $("#mix");
  const parts = state.mix.map((_, layer) => make("span", { class: `part part-${layer % 4}`, "aria-hidden": "true" }));
  const handles = state.mix.slice(1).map((_, number) =>
    make("span", {
      class: "handle", role: "slider", tabindex: "0", "aria-orientation": "horizontal",
      "aria-valuemin": "0", "aria-valuemax": "100",
      "aria-label": `Border between layer ${number} and layer ${number + 1} of the mix`,
    }),
  );
  bar.replaceChildren(...parts, ...handles);

  const borders = () => state.mix.slice(0, -1).map((_, number) => sum(state.mix.slice(0, number + 1)));
  const show = () => {
    const at = borders();
    parts.forEach((part, layer) => {
      part.style.flexGrow = String(Math.max(state.mix[layer], 0.0001));
      part.textContent = state.mix[layer] < 0.09 ? "" : `${layer}: ${Math.round(100 * state.mix[layer])} %`;
    });
    handles.forEach((handle, number) => {
      handle.style.left = `${100 * at[number]}%`;
      handle.setAttribute("aria-valuenow", String(Math.round(100 * at[number])));
      const both = [number, number + 1].map((layer) => `layer ${layer} ${Math.round(100 * state.mix[layer])} %`);
      handle.setAttribute("aria-valuetext", both.join(", "));
    });
  };
  const move = (number, to) => {
    const at = borders();
    at[number] = Math.min(at[number + 1] ?? 1, Math.max(at[number - 1] ?? 0, to));
    state.mix = [...at, 1].map((border, layer) => border - (at[layer - 1] ?? 0));
    state.layer = "mix";
    show();
    showLayer(stops);
    changed("mix");
  };
  handles.forEach((handle, number) => {
    handle.onpointerdown = (event) => {
      handle.setPointerCapture(event.pointerId);
      handle.onpointermove = (moved) => {
        const box = bar.getBoundingClientRect();
        move(number, (moved.clientX - box.left) / box.width);
      };
    };
    handle.onpointerup = handle.onpointercancel = () => (handle.onpointermove = null);
    handle.onkeydown = (event) => {
      const by = { ArrowLeft: -0.05, ArrowDown: -0.05, ArrowRight: 0.05, ArrowUp: 0.05, Home: -1, End: 1 }[event.key];
      if (by === undefined) return;
      event.preventDefault();
      move(number, borders()[number] + by);
    };
  });
  show();
}
