// Questions to the server. A newer question of the same kind cancels the older one.

import { $ } from "./dom.js";

const running = new Map();

export class Refused extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

export async function ask(kind, path, fields) {
  running.get(kind)?.abort();
  const controller = new AbortController();
  running.set(kind, controller);
  const options = { signal: controller.signal, headers: { "Content-Type": "application/json", ...credentials() } };
  if (fields) Object.assign(options, { method: "POST", body: JSON.stringify(fields) });
  const response = await fetch(path, options);
  if (response.status === 401) {
    await askForToken();
    return ask(kind, path, fields);
  }
  const answer = await response.json();
  if (!response.ok) throw new Refused(response.status, answer.error);
  return answer;
}

export const wasCancelled = (error) => error.name === "AbortError";

function credentials() {
  const token = sessionStorage.getItem("token");
  return token ? { Authorization: `Bearer ${token}` } : {};
}

let asking = null;

function askForToken() {
  asking ??= new Promise((resolve) => {
    const dialog = $("#token-dialog");
    dialog.addEventListener("close", () => {
      sessionStorage.setItem("token", $("#token").value);
      asking = null;
      resolve();
    }, { once: true });
    dialog.showModal();
  });
  return asking;
}
