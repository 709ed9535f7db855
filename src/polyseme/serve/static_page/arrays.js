// Arrays of a file: safetensors, packed with gzip. polyseme.export.browser_model writes them.

const TYPES = { F32: Float32Array, I8: Int8Array, I32: Int32Array, U16: Uint16Array, U32: Uint32Array, F16: Uint16Array };

export class Arrays {
  constructor(buffer) {
    const size = Number(new DataView(buffer).getBigUint64(0, true));
    this.entries = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, size)));
    this.data = buffer.slice(8 + size);
    this.kept = new Map();
  }

  // As it is stored.
  table(name) {
    const { dtype, data_offsets: [begin, end] } = this.entries[name];
    return new TYPES[dtype](this.data.slice(begin, end));
  }

  // As float32; where there are scales, each belongs to as many small whole numbers.
  numbers(name) {
    if (!this.kept.has(name)) this.kept.set(name, this.entries[`${name}.scale`] ? this.scaled(name) : this.table(name));
    return this.kept.get(name);
  }

  scaled(name) {
    const [steps, scales] = [this.table(name), this.table(`${name}.scale`)];
    const block = steps.length / scales.length;
    const found = new Float32Array(steps.length);
    scales.forEach((bits, number) => {
      const scale = half(bits);
      for (let at = number * block; at < (number + 1) * block; at++) found[at] = scale * steps[at];
    });
    return found;
  }
}

// A number of 16 bits, not negative.
const half = (bits) => (bits >> 10 ? 2 ** ((bits >> 10) - 25) * (1024 + (bits & 1023)) : 2 ** -24 * bits);

// told: called with the bytes that have come so far
export async function fetchArrays(address, told = () => {}) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address} is not there`);
  const parts = [];
  let size = 0;
  for (const reader = response.body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    told((size += value.length));
  }
  const whole = new Blob(parts);
  const [first, second] = new Uint8Array(await whole.slice(0, 2).arrayBuffer());
  const packed = first === 0x1f && second === 0x8b; // some servers unpack it themselves
  const stream = packed ? whole.stream().pipeThrough(new DecompressionStream("gzip")) : whole.stream();
  return new Arrays(await new Response(stream).arrayBuffer());
}
