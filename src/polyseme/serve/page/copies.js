// "Copy as Python" and "Copy as command": what a panel shows, asked from a program.
//
// Brackets mark a word, so a text that has some of its own is asked for by its tokens. A token of the server is never
// copied: the snippets read it from POLYSEME_TOKEN, as the server does.

import { credentials } from "./api.js";
import { program } from "./backend.js";
import { make } from "./dom.js";
import { download } from "./pictures.js";
import { nearBySense, state, vectorLayer, weights } from "./state.js";

const python = JSON.stringify; // a string or a list of numbers is written alike in both
const shell = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

function elmo(model) {
  const begins = model.state === "reset" ? "" : `, state=${python(model.state)}`;
  return `from polyseme import Elmo\n\nelmo = Elmo.from_pretrained(${python(model.source)}${begins})\n`;
}

const options = (model) => `--model ${shell(model.source)}${model.state === "reset" ? "" : ` --state ${model.state}`}`;

function index(page) {
  const { model } = page;
  if (model.index.source) return `from polyseme import Index\n\nindex = Index.open(${python(model.index.source)}, elmo)\n`;
  return `from importlib.resources import files\n\nfrom polyseme import Index\n\n` +
    `text = files("polyseme") / "senses/data/text-${model.lang}.txt"\n` +
    `index = Index.in_memory(elmo, text.read_text("utf-8").splitlines())\n`;
}

const needsToken = () => "Authorization" in credentials();

function curl(path, fields) {
  const token = needsToken() ? ` -H "Authorization: Bearer $POLYSEME_TOKEN"` : "";
  return `curl -s ${program(path)} -H 'Content-Type: application/json'${token} \\\n  -d ${shell(JSON.stringify(fields))}`;
}

// The same question in Python, and what to print of the answer.
function asked(path, fields, print) {
  const token = needsToken();
  return `import json
${token ? "import os\n" : ""}from urllib.request import Request, urlopen

question = json.loads(${python(JSON.stringify(fields))})
headers = {"Content-Type": "application/json"${token ? `, "Authorization": f"Bearer {os.environ['POLYSEME_TOKEN']}"` : ""}}
with urlopen(Request(${python(program(path))}, json.dumps(question).encode(), headers)) as answer:
${print}`;
}

// Where the word stands: in brackets, or by its number where the text has brackets of its own.
const placed = (page) => (page.bracketed ? page.place : { text: page.marked });

const rounded = () => weights().map((weight) => Number(weight.toFixed(3)));

// How nearest occurrences are compared, as fields of the API.
const compared = () => (nearBySense() ? { by: "sense" } : { mix: rounded() });

export const COPIES = {
  score: {
    python: ({ model }) => `${elmo(model)}
score = elmo.score(${python(state.text)})
for token, forward, backward in zip(score.tokens, score.surprisal, score.backward_surprisal):
    print(f"{token:<15} {forward:5.1f} {backward:5.1f}")`,
    command: ({ model }) => `polyseme score ${shell(state.text)} ${options(model)}`,
  },
  senses: {
    python: (page) => `${elmo(page.model)}${index(page)}
${state.layer === "sense" ? "" : "import numpy as np\n\n"}from polyseme import SenseMap

found = SenseMap.of(elmo, ${python(page.word)}, index)
points = ${state.layer === "sense" ? "found.sense_points" : `np.tensordot(${python(rounded())}, found.points, axes=1)`}  # [n, 2]
for group, point, place in zip(found.labels, points, found.occurrences):
    print(found.groups[group].names, point.round(2), place.marked)`,
    command: (page) => curl("/senses", { model: page.model.name, ...placed(page) }),
  },
  neighbours: {
    python: (page) => {
      if (state.layer !== "mix" && !page.bracketed) {
        const same = state.same ? ", same_word=True" : "";
        return `${elmo(page.model)}${index(page)}
for near in index.neighbours(${python(page.marked)}, ${nearBySense() ? `by="sense"` : `layer=${vectorLayer()}`}, k=10${same}):
    print(f"{near.similarity:.2f}", near.marked)`;
      }
      const fields = { model: page.model.name, ...placed(page), ...compared(), same_word: state.same };
      return asked("/neighbours", fields, `    for near in json.load(answer)["neighbours"]:
        print(f"{near['similarity']:.2f}", near["text"])`);
    },
    command: (page) => {
      if (state.layer === "mix" || page.bracketed || !page.model.index.source) {
        return curl("/neighbours", { model: page.model.name, ...placed(page), ...compared(), same_word: state.same });
      }
      const same = state.same ? " --same-word" : "";
      return `polyseme neighbours ${shell(page.model.index.source)} ${shell(page.marked)} ${nearBySense() ? "--by sense" : `--layer ${vectorLayer()}`}${same} --model ${shell(page.model.source)}`;
    },
  },
  substitutes: {
    python: (page) => page.bracketed
      ? asked("/substitutes", { model: page.model.name, ...page.place }, `    print([one["word"] for one in json.load(answer)["substitutes"]])`)
      : `${elmo(page.model)}
for direction in ("forward", "both", "backward"):
    found = elmo.substitutes(${python(page.marked)}, k=10, direction=direction)
    print(direction, [one.word for one in found])`,
    command: (page) => page.bracketed
      ? curl("/substitutes", { model: page.model.name, ...page.place })
      : `polyseme substitutes ${shell(page.marked)} ${options(page.model)}`,
  },
  tags: {
    python: (page) => asked("/tag", { model: page.model.name, texts: [state.text] }, `    for sentence in json.load(answer)["texts"][0]["sentences"]:
        print(sentence)`),
    command: (page) => curl("/tag", { model: page.model.name, texts: [state.text] }),
  },
  similarity: {
    python: (page) => `${elmo(page.model)}
print(elmo.similarity(${python(page.marked)}, ${python(page.secondMarked)}))  # cosine, layer by layer`,
    command: (page) => curl("/similarity", { model: page.model.name, first: page.marked, second: page.secondMarked }),
  },
};

export function drawCopies(page) {
  document.querySelectorAll("[data-copies]").forEach((element) => {
    const kinds = COPIES[element.dataset.copies];
    const snippets = ["python", "command"].map((kind) => {
      const name = kind === "python" ? "Copy as Python" : "Copy as command";
      const button = make("button", { type: "button", class: "copy", onclick: () => copy(kinds[kind](page()), button, name) }, name);
      return button;
    });
    const pictures = ["svg", "png"].map((kind) =>
      make("button", { type: "button", class: "copy", onclick: () => download(element.dataset.copies, kind, page()) }, `Save ${kind.toUpperCase()}`));
    element.replaceChildren(...snippets, ...pictures);
  });
}

export async function copy(text, button, name) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyTheOldWay(text); // without https, only localhost may use the clipboard
  }
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = name), 1500);
}

function copyTheOldWay(text) {
  const area = make("textarea", { class: "hidden", "aria-hidden": "true" });
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
