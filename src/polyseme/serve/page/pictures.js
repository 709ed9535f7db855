// Every panel as a picture of its own: SVG, and PNG at twice its size. Colours are those of the page at the moment.

import { $, make, makeSvg } from "./dom.js";
import { FULL_BAR, surprisesOf } from "./strip.js";
import { layerName, nearBySense, vectorLayer } from "./state.js";

const SCALE = 2;
const FONT = "system-ui, 'Noto Sans', 'Noto Sans CJK KR', 'Noto Sans CJK SC', sans-serif";
const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "opacity", "font-size", "font-weight", "paint-order", "stroke-linejoin"];

const colour = (name) => {
  const probe = make("span");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
};

const text = (x, y, content, more = {}) => makeSvg("text", { x, y, fill: colour("ink"), "font-size": 16, ...more }, content);

function sheet(width, height, title, ...children) {
  return makeSvg("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`, "font-family": FONT },
    makeSvg("title", {}, title), makeSvg("rect", { width, height, fill: colour("paper") }), ...children);
}

const cut = (content, most) => (content.length > most ? `${content.slice(0, most - 1)}…` : content);
const wide = (content) => [...content].reduce((total, letter) => total + (letter > "\u1100" ? 17 : 9.2), 0);

export const PICTURES = {
  score(page) {
    let x = 24;
    const columns = surprisesOf(page.scored).flatMap((one) => {
      const [left, width] = [x, Math.max(30, wide(one.token) + 16)];
      x += width;
      const bar = (value, offset, name) => value === null ? null : makeSvg("rect", { x: left + width / 2 + offset, y: 48, width: 9, height: Math.max(2, (80 * Math.min(value, FULL_BAR)) / FULL_BAR), fill: colour(name) });
      return [text(left + width / 2, 34, one.token, { "text-anchor": "middle" }), bar(one.ahead, -11, "ahead"), bar(one.back, 2, "back")];
    });
    return sheet(x + 24, 150, "Surprisal of every word, forward and backward", ...columns);
  },
  senses() {
    const drawn = $("#map svg");
    if (!drawn) return null;
    const copy = drawn.cloneNode(true);
    const [from, to] = [drawn, copy].map((svg) => [...svg.querySelectorAll("*")]);
    from.forEach((element, number) => {
      const style = getComputedStyle(element);
      for (const name of STYLES) to[number].setAttribute(name, style.getPropertyValue(name));
      const { m41, m42 } = new DOMMatrix(style.transform);
      if (m41 || m42) to[number].setAttribute("transform", `translate(${m41} ${m42})`);
    });
    const { width, height } = drawn.viewBox.baseVal;
    return sheet(width, height, drawn.getAttribute("aria-label"), ...copy.childNodes);
  },
  neighbours(page) {
    const rows = page.neighbours.map((one, number) => [
      text(24, 40 + 30 * number, one.similarity.toFixed(2), { fill: colour("soft") }), text(76, 40 + 30 * number, cut(one.text, 90))]);
    return sheet(860, 36 + 30 * rows.length, `Nearest occurrences ${nearBySense() ? "by sense" : `in ${layerName(vectorLayer())}`}`, ...rows.flat());
  },
  substitutes(page) {
    const columns = Object.entries(page.substitutes);
    const drawn = columns.flatMap(([name, found], column) => {
      const largest = Math.max(...found.map((one) => one.probability), 1e-9);
      return [text(24 + 260 * column, 34, name, { "font-weight": 600 }), ...found.flatMap((one, row) => [
        makeSvg("rect", { x: 20 + 260 * column, y: 48 + 28 * row, width: (220 * one.probability) / largest, height: 24, rx: 4, fill: colour("wash") }),
        text(26 + 260 * column, 66 + 28 * row, `${cut(one.word, 18)}  ${(100 * one.probability).toFixed(1)} %`)])];
    });
    return sheet(20 + 260 * columns.length, 350, "Substitutes", ...drawn);
  },
  tags(page) {
    if (!page.tagged) return null;
    const lines = page.tagged.sentences.map(({ tokens, tags = [], entities = [] }, line) => {
      let x = 24;
      const y = 40 + 70 * line;
      const places = tokens.map((token) => [x, (x += Math.max(34, wide(token) + 16))]);
      const words = tokens.flatMap((token, number) => {
        const middle = { "text-anchor": "middle" };
        const centre = (places[number][0] + places[number][1]) / 2;
        return [text(centre, y, token, middle), text(centre, y + 18, tags[number] ?? "", { ...middle, "font-size": 11, fill: colour("soft") })];
      });
      const names = entities.flatMap(({ start, end, label }) => {
        const [left, right] = [places[start][0] + 4, places[end - 1][1] - 4];
        return [makeSvg("rect", { x: left, y: y + 24, width: right - left, height: 2, fill: colour("accent") }),
          text((left + right) / 2, y + 39, label, { "text-anchor": "middle", "font-size": 11, "font-weight": 700, fill: colour("accent") })];
      });
      return { drawn: [...words, ...names], width: x };
    });
    return sheet(24 + Math.max(200, ...lines.map((one) => one.width)), 30 + 70 * lines.length, "What task models find", ...lines.flatMap((one) => one.drawn));
  },
  similarity(page) {
    if (!page.grid) return null;
    const { rows, columns, values } = page.grid;
    const left = 24 + Math.max(...rows.map(wide));
    const cells = values.flatMap((row, i) => row.flatMap((cosine, j) => [
      makeSvg("rect", { x: left + 62 * j, y: 52 + 34 * i, width: 58, height: 30, rx: 5, fill: colour(cosine < 0 ? "back" : "ahead"), "fill-opacity": 0.6 * Math.min(1, Math.abs(cosine)) ** 1.5 }),
      text(left + 62 * j + 29, 72 + 34 * i, cosine.toFixed(2), { "text-anchor": "middle", "font-size": 13 })]));
    return sheet(left + 62 * columns.length + 24, 70 + 34 * rows.length, `Cosines in ${layerName(vectorLayer())}`,
      ...columns.map((word, j) => text(left + 62 * j + 29, 42, cut(word, 7), { "text-anchor": "middle", "font-size": 14 })),
      ...rows.map((word, i) => text(left - 10, 72 + 34 * i, word, { "text-anchor": "end" })), ...cells);
  },
};

export async function download(name, kind, page) {
  const svg = PICTURES[name](page);
  if (!svg) return;
  const content = new XMLSerializer().serializeToString(svg);
  const address = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(content)}`;
  save(kind === "svg" ? address : await painted(address, Number(svg.getAttribute("width")), Number(svg.getAttribute("height"))), `polyseme-${name}.${kind}`);
}

async function painted(address, width, height) {
  const image = new Image();
  image.src = address;
  await image.decode();
  const canvas = make("canvas", { width: SCALE * width, height: SCALE * height });
  const context = canvas.getContext("2d");
  context.scale(SCALE, SCALE);
  context.drawImage(image, 0, 0, width, height);
  return canvas.toDataURL("image/png");
}

function save(address, name) {
  const link = make("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
}
