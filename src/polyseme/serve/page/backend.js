// Who answers: the server that sent this page. (A site without a server has another file of this name.)

export async function reach(path, fields, { signal, headers }) {
  const options = { signal, headers: { "Content-Type": "application/json", ...headers } };
  if (fields) Object.assign(options, { method: "POST", body: JSON.stringify(fields) });
  const response = await fetch(path.slice(1), options); // relative: a proxy may serve us from a folder
  return { status: response.status, answer: await response.json() };
}

export const program = (path) => new URL(path.slice(1), document.baseURI).href.replace(/#.*/, "");

// What is shared: the whole state.
export const addressOf = () => location.href;

// A site without a server tells how much of its model has come.
export const onProgress = () => {};
