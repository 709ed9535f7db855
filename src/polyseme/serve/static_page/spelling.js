// Tokens → rows of character ids, as polyseme.text.characters has them: bytes, or code points of a dictionary.

const SENTENCE_BEGIN = 256;
const SENTENCE_END = 257;
const WORD_BEGIN = 258;
const WORD_END = 259;
const PADDING = 260;

// The rows of a sentence with its boundaries.
export function spell(tokens, spelling) {
  const rows = spelling.scheme === "bytes" ? byteRows(spelling) : dictionaryRows(spelling);
  return [rows.begin, ...tokens.map((token) => rows.of(composed(token, spelling.fold_width))), rows.end];
}

function composed(token, foldWidth) {
  const folded = foldWidth ? token.replace(/[\uff01-\uffee]/g, (one) => one.normalize("NFKC")) : token;
  return folded.normalize("NFC");
}

function byteRows({ size, specials }) {
  const row = (raw) => filled([WORD_BEGIN, ...raw, WORD_END], PADDING, size);
  const of = (token) => {
    const whole = token.replace(/\p{Surrogate}/gu, ""); // a lone half has no UTF-8 form
    return row(Object.hasOwn(specials, token) ? [specials[token]] : new TextEncoder().encode(whole).slice(0, size - 2));
  };
  return { begin: row([SENTENCE_BEGIN]), end: row([SENTENCE_END]), of };
}

function dictionaryRows({ size, ids }) {
  const row = (raw) => filled([ids["<eow>"], ...raw, ids["<bow>"]], ids["<pad>"], size); // swapped: trained like this
  const id = (character) => (Object.hasOwn(ids, character) ? ids[character] : ids["<oov>"]);
  const of = (token) => row(["<bos>", "<eos>"].includes(token) ? [ids[token]] : Array.from(token).slice(0, size - 2).map(id));
  return { begin: row([ids["<bos>"]]), end: row([ids["<eos>"]]), of };
}

// Row 0 of the character table is the zero vector, so ids start at 1.
const filled = (ids, padding, size) => [...ids, ...Array(size - ids.length).fill(padding)].map((id) => id + 1);
