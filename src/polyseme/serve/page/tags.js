// Names, parts of speech and roles of the sentence, where the server has task models that tell them.

import { $, direction, make } from "./dom.js";

const TASKS = { ner: "names", pos: "parts of speech", srl: "roles" };

export const taskNames = (tasks) => tasks.map((task) => TASKS[task] ?? task).join(", ");

export function drawTags(tagged) {
  $("#tags").dir = direction(tagged?.text ?? "");
  $("#tags").replaceChildren(...(tagged?.sentences ?? []).flatMap((sentence) => [drawWords(sentence), ...(sentence.frames ?? []).map(drawRoles)]));
}

function drawWords({ tokens, tags, entities = [] }) {
  const word = (number) => make("span", { class: "tagged" }, make("span", { class: "token" }, tokens[number]), tags ? make("small", {}, tags[number]) : null);
  const parts = [];
  for (let number = 0; number < tokens.length;) {
    const entity = entities.find(({ start }) => start === number);
    const end = entity ? entity.end : number + 1;
    const words = [...Array(end - number).keys()].map((one) => word(number + one));
    parts.push(...(entity ? [make("span", { class: "entity" }, ...words, make("b", {}, entity.label))] : words));
    number = end;
  }
  return make("p", { class: "tagged-sentence" }, ...parts);
}

function drawRoles({ word, roles }) {
  const found = roles.filter(({ role }) => role !== "V").flatMap(({ role, text }) => [" ", make("small", {}, role), ` ${text}`]);
  return make("p", { class: "roles" }, make("b", {}, word), ...found);
}
