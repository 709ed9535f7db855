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
  const response = await reach(path, options);
  if (response.status === 401) {
    await askForToken("Authorization" in options.headers);
    return ask(kind, path, fields);
  }
  const answer = await response.json();
  if (!response.ok) throw new Refused(response.status, answer.error);
  return answer;
}

export function cancelAll() {
  for (const controller of running.values()) controller.abort();
}

async function reach(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (wasCancelled(error)) throw error;
    throw new Refused(0, "the server does not answer; is it still running?");
  }
}

export const wasCancelled = (error) => error.name === "AbortError";

function credentials() {
  const token = sessionStorage.getItem("token");
  return token ? { Authorization: `Bearer ${token}` } : {};
}

let asking = null;

// Whoever closes the dialog without a token is not asked again until the next question.
function askForToken(refused) {
  asking ??= new Promise((resolve, reject) => {
    const dialog = $("#token-dialog");
    $("#token-refused").hidden = !refused;
    $("#token").value = "";
    dialog.returnValue = "";
    dialog.addEventListener("close", () => {
      asking = null;
      if (dialog.returnValue !== "use") return reject(new Refused(401, "this server asks for a token"));
      sessionStorage.setItem("token", $("#token").value);
      resolve();
    }, { once: true });
    dialog.showModal();
  });
  return asking;
}
