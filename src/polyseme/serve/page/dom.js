// Elements by one function: make("button", {type: "button", onclick}, "text", child, …).

export const $ = (selector) => document.querySelector(selector);

export function make(name, properties = {}, ...children) {
  return fill(document.createElement(name), properties, children);
}

export function makeSvg(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// A sentence with one place marked; long ones are cut around it.
export function marked(text, [begin, end], reach = 400) {
  const from = Math.max(0, begin - reach);
  const to = Math.min(text.length, end + reach);
  return [
    (from > 0 ? "…" : "") + text.slice(from, begin),
    make("mark", {}, text.slice(begin, end)),
    text.slice(end, to) + (to < text.length ? "…" : ""),
  ];
}

// Offsets of the server count characters, those of a JavaScript string UTF-16 units: they differ after an emoji.
export function unitSpan(text, [begin, end]) {
  const characters = Array.from(text);
  const before = characters.slice(0, begin).join("").length;
  return [before, before + characters.slice(begin, end).join("").length];
}

// "rtl" for a text whose first letter belongs to a script that is written from right to left.
export function direction(text) {
  const first = text.match(/\p{L}/u)?.[0] ?? "";
  return /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u.test(first) ? "rtl" : "ltr";
}

// Calls that come in quick succession become one.
export function calm(action, milliseconds) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), milliseconds);
  };
}
