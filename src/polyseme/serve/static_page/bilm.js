// The biLM in float32, as polyseme's engine computes it: rows of character ids [T, K] → layers [L+1][T × W].

const CHARACTERS = "token_encoder.characters";

export class BiLM {
  constructor(network, arrays) {
    this.network = network;
    this.arrays = arrays;
  }

  // One array for each layer, the boundaries of the sentence included.
  layers(rows) {
    const { layers, directions, projection } = this.network;
    const tokens = this.tokens(rows);
    const outputs = range(directions).map((direction) => this.direction(tokens, rows.length, direction));
    return range(layers + 1).map((layer) => joined(outputs.map((one) => one[layer]), rows.length, projection));
  }

  // [T, K] → [T, D]
  tokens(rows) {
    const { characters, project_tokens: projected } = this.network;
    const size = characters.filters.reduce((total, [, count]) => total + count, 0);
    let found = new Float32Array(rows.length * size);
    rows.forEach((ids, row) => this.convolve(ids, found.subarray(row * size, (row + 1) * size)));
    for (const number of range(characters.highways)) found = this.highway(found, rows.length, `${CHARACTERS}.highways.${number}`);
    return projected ? this.linear(found, rows.length, "token_encoder.projection") : found;
  }

  // The strongest answer of every filter to one word.
  convolve(ids, out) {
    const { dim, filters, activation } = this.network.characters;
    const table = this.arrays.numbers(`${CHARACTERS}.embedding.weight`);
    const spelled = new Float32Array(ids.length * dim);
    ids.forEach((id, at) => spelled.set(table.subarray(id * dim, (id + 1) * dim), at * dim));
    const last = lastChange(ids); // from here on the row is padding, and all windows are alike
    let first = 0;
    filters.forEach(([width, count], number) => {
      const weight = this.arrays.numbers(`${CHARACTERS}.convolutions.${number}.weight`); // [count, width, dim]
      const bias = this.arrays.numbers(`${CHARACTERS}.convolutions.${number}.bias`);
      const windows = Math.min(ids.length - width, last) + 1;
      for (let filter = 0; filter < count; filter++) {
        let most = -Infinity;
        for (let at = 0; at < windows; at++) most = Math.max(most, dot(weight, filter * width * dim, spelled, at * dim, width * dim));
        out[first + filter] = activation === "relu" ? Math.max(0, most + bias[filter]) : Math.tanh(most + bias[filter]);
      }
      first += count;
    });
  }

  // x + σ(gate(x)) · (relu(transform(x)) − x)
  highway(x, count, name) {
    const fresh = this.linear(x, count, `${name}.transform`);
    const gate = this.linear(x, count, `${name}.gate`);
    return x.map((value, at) => value + sigmoid(gate[at]) * (Math.max(0, fresh[at]) - value));
  }

  // [T, in] → [T, out]
  linear(x, count, name) {
    const weight = this.arrays.numbers(`${name}.weight`); // [out, in]
    const bias = this.arrays.numbers(`${name}.bias`);
    const [size, out] = [x.length / count, bias.length];
    const found = new Float32Array(count * out);
    for (let row = 0; row < count; row++) {
      for (let to = 0; to < out; to++) found[row * out + to] = bias[to] + dot(weight, to * size, x, row * size, size);
    }
    return found;
  }

  // The outputs [T, D] of all layers, the token layer first.
  direction(tokens, count, direction) {
    const outputs = [tokens];
    for (const layer of range(this.network.layers)) {
      const found = this.scan(outputs[layer], count, `directions.${direction}.cells.${layer}`, direction === 1);
      if (layer > 0 && this.network.skip_connections) outputs[layer].forEach((value, at) => (found[at] += value));
      outputs.push(found);
    }
    return outputs;
  }

  // An LSTM with projection over the sentence, from its end if it reads backward. Gates: input, forget, output, candidate.
  scan(x, count, name, backward) {
    const { cell: size, projection: out } = this.network;
    const [cellClip, clip] = [this.network.cell_clip ?? Infinity, this.network.projection_clip ?? Infinity];
    const [input, state, bias] = ["input_weight", "state_weight", "bias"].map((part) => this.arrays.numbers(`${name}.${part}`));
    const projection = out < size ? this.arrays.numbers(`${name}.projection`) : null;
    const [gates, c, hidden] = [new Float32Array(4 * size), new Float32Array(size), new Float32Array(size)];
    const [found, width] = [new Float32Array(count * out), x.length / count];
    let h = new Float32Array(out);
    for (let step = 0; step < count; step++) {
      const at = backward ? count - 1 - step : step;
      gates.set(bias);
      addProduct(gates, x.subarray(at * width, (at + 1) * width), input);
      addProduct(gates, h, state);
      for (let k = 0; k < size; k++) {
        const kept = sigmoid(gates[size + k] + 1) * c[k]; // plus one: the forget gate's constant, which no file holds
        c[k] = clipped(kept + sigmoid(gates[k]) * Math.tanh(gates[3 * size + k]), cellClip);
        hidden[k] = sigmoid(gates[2 * size + k]) * Math.tanh(c[k]);
      }
      h = found.subarray(at * out, (at + 1) * out);
      if (projection) {
        addProduct(h, hidden, projection);
        for (let k = 0; k < out; k++) h[k] = clipped(h[k], clip);
      } else {
        h.set(hidden);
      }
    }
    return found;
  }
}

// out += x @ matrix, [in, out]; four rows at once, because writing costs more than multiplying.
function addProduct(out, x, matrix) {
  const size = out.length;
  const fours = x.length - (x.length % 4);
  for (let row = 0; row < fours; row += 4) {
    const [a, b, c, d] = [x[row], x[row + 1], x[row + 2], x[row + 3]];
    let p = row * size;
    let [q, r, s] = [p + size, p + 2 * size, p + 3 * size];
    for (let k = 0; k < size; k++) out[k] += a * matrix[p++] + b * matrix[q++] + c * matrix[r++] + d * matrix[s++];
  }
  for (let row = fours; row < x.length; row++) {
    for (let k = 0, p = row * size; k < size; k++) out[k] += x[row] * matrix[p++];
  }
}

function dot(a, from, b, begin, size) {
  let total = 0;
  for (let k = 0; k < size; k++) total += a[from + k] * b[begin + k];
  return total;
}

function lastChange(ids) {
  let last = ids.length - 1;
  while (last > 0 && ids[last] === ids[last - 1]) last--;
  return last;
}

// [T, D] of each direction → [T, W]
function joined(parts, count, size) {
  const found = new Float32Array(count * size * parts.length);
  parts.forEach((part, number) => {
    for (let row = 0; row < count; row++) found.set(part.subarray(row * size, (row + 1) * size), (row * parts.length + number) * size);
  });
  return found;
}

const range = (count) => [...Array(count).keys()];
const sigmoid = (value) => 1 / (1 + Math.exp(-value));
const clipped = (value, limit) => Math.max(-limit, Math.min(limit, value));
