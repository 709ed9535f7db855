// Questions, and their answers. A newer question of the same kind cancels the older one.

import { reach } from "./backend.js";
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
  const headers = credentials();
  const { status, answer } = await reached(path, fields, { signal: controller.signal, headers });
  if (status === 401) {
    await askForToken("Authorization" in headers);
    return ask(kind, path, fields);
  }
  if (status !== 200) throw new Refused(status, answer.error);
  return answer;
}

export function cancelAll() {
  for (const controller of running.values()) controller.abort();
}

async function reached(path, fields, options) {
  try {
    return await reach(path, fields, options);
  } catch (error) {
    if (wasCancelled(error) || error instanceof Refused) throw error;
    if (error instanceof TypeError) throw new Refused(0, "the server does not answer; is it still running?");
    throw error;
  }
}

export const wasCancelled = (error) => error.name === "AbortError";

export function credentials() {
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
