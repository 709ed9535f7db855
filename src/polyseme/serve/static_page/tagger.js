// Does a word end after this character? Small weights vote: polyseme.text.chinese, and .korean for its morphemes.

const SPREAD = 0x01000193;

export class Tagger {
  constructor({ kind, classes }, arrays) {
    this.kind = kind;
    this.classes = classes;
    this.lexicon = arrays.table("tagger.lexicon");
    this.weights = arrays.table("tagger.weights");
    this.simplified = kind === "zh" ? pairsOf(arrays.table("tagger.simplified")) : new Map();
  }

  // The places where one word ends and another begins at once.
  ends(characters) {
    const codes = characters.map((one) => this.reading(one.codePointAt(0)));
    const text = { hash: (at, length) => hash(codes, at, length), rate: (at, length) => this.rate(hash(codes, at, length)) };
    const parts = this.kind === "zh" ? chinesePart : koreanPart;
    const must = this.kind === "zh" ? () => false : koreanMustPart;
    const found = [];
    for (let at = 0; at + 1 < codes.length; at++) {
      const ends = parts(codes[at], codes[at + 1]) && this.sum(this.kind === "zh" ? chineseVotes(text, at) : koreanVotes(text, codes, at)) > 0;
      if (ends || must(codes, at)) found.push(at + 1);
    }
    return found;
  }

  reading(code) {
    if (this.simplified.has(code)) return this.simplified.get(code);
    const found = this.classes.find(([first, last]) => first <= code && code <= last);
    return found ? found[2] : code;
  }

  // How often a string is a word, 1 to 15; 0 where the lexicon does not have it.
  rate(key) {
    const found = this.lexicon[key >>> (32 - Math.log2(this.lexicon.length))];
    return found >> 4 === (key & 0xfff) ? found & 15 : 0;
  }

  sum(votes) {
    const shift = 32 - Math.log2(this.weights.length);
    return votes.reduce((total, vote, role) => total + this.weights[Math.imul(vote ^ Math.imul(role, 0x9e3779b9), 0x9e3779b1) >>> shift], 0);
  }
}

function pairsOf(table) {
  const count = table.length / 2;
  return new Map([...Array(count).keys()].map((number) => [table[number], table[count + number]]));
}

// Spread 32 bits over 32 bits (the finaliser of MurmurHash3).
function mix(value) {
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}

// Of the characters that begin at a place; beyond the line all are 0.
function hash(codes, at, length) {
  let found = 0;
  for (let place = at; place < at + length; place++) found = (Math.imul(found, SPREAD) + (codes[place] ?? 0) + 1) | 0;
  return mix(found);
}

// --- Chinese -------------------------------------------------------------------------------------------------------

const [DIGIT, LETTER, KANA, HAN] = ["0", "a", "ア", "漢"].map((one) => one.codePointAt(0));
const isHan = (code) => (code >= 0x3400 && code <= 0x9fff) || (code >= 0xf900 && code <= 0xfaff) || code >= 0x20000;
const isKnown = (code) => isHan(code) || code === DIGIT || code === LETTER || code === KANA;
const chinesePart = (before, after) => (isHan(before) && isKnown(after)) || (isKnown(before) && isHan(after));

const STRINGS = [[1, -1], [1, 0], [1, 1], [1, 2], [2, -1], [2, 0], [2, 1]];
const RATES = [1, 2, 3, 4].flatMap((length) => [...Array(length + 1).keys()].map((number) => [length, 1 - length + number]));
const PAIRS = [[[1, 0], [2, 0]], [[1, 1], [2, 0]], [[1, 0], [2, -1]], [[1, 1], [2, 1]]];

function chineseVotes({ hash, rate }, at) {
  const string = ([length, first]) => hash(at + first, length);
  const spread = ([length, first]) => Math.imul(rate(at + first, length), SPREAD);
  return [...STRINGS.map(string), ...RATES.map(spread), ...PAIRS.map(([one, other]) => (string(one) + spread(other)) | 0)];
}

// --- Korean --------------------------------------------------------------------------------------------------------

const REACH = 6;
const BESIDE = 3;
const JOINERS = new Set(Array.from("-~&", (one) => one.codePointAt(0)));
const isSyllable = (code) => code >= 0xac00 && code <= 0xd7a3;
const isLetter = (code) => isSyllable(code) || (code >= 0x3131 && code <= 0x318e && code !== 0x318d) || [DIGIT, LETTER, HAN, KANA].includes(code);
const koreanPart = (before, after) => (isSyllable(before) && isLetter(after)) || (isLetter(before) && isSyllable(after));

// Around a joiner that has a syllable on either side.
function koreanMustPart(codes, at) {
  const joins = (place) => JOINERS.has(codes[place]) && (isSyllable(codes[place - 1]) || isSyllable(codes[place + 1]));
  return (joins(at) || joins(at + 1)) && codes[at] !== 0 && codes[at + 1] !== 0;
}

const spans = (lengths, firsts) => lengths.flatMap((length) => firsts(length).map((first) => [length, first]));
const from = (first, last) => [...Array(last - first + 1).keys()].map((number) => first + number);
const KOREAN_STRINGS = [...spans([1], () => from(-2, 3)), ...spans([2], () => from(-2, 2)), ...spans([3], () => from(-2, 1))];
const ENDING = spans(from(1, REACH), (length) => [1 - length]);
const BEGINNING = spans(from(1, REACH), () => [1]);
const ACROSS = spans([2, 3, 4], (length) => from(2 - length, 0));
const NEIGHBOURS = [[[2, -1], [2, 1]], [[3, -2], [2, 1]], [[2, -1], [3, 1]]];

function koreanVotes(text, codes, at) {
  const { first, end } = eojeolAround(codes, at);
  const string = ([length, start]) => text.hash(at + start, length);
  const rate = ([length, start]) => text.rate(at + start, length);
  const joint = (...levels) => mix(levels.reduce((so_far, level) => (Math.imul(so_far, 16) + level) | 0));
  const sum = (...values) => values.reduce((total, value) => (total + value) | 0);
  const [left, right] = [text.hash(first, at - first + 1), text.hash(at + 1, end - at - 1)];
  const [leftRate, rightRate] = [text.rate(first, at - first + 1), text.rate(at + 1, end - at - 1)];
  const [before, after] = [at + 1 - first, end - at - 1];
  const [preceding, following] = [first - BESIDE, end].map((place) => Math.imul(text.hash(place, BESIDE), 3));
  const [last, next, across] = [string([1, 0]), string([1, 1]), rate([2, 0])];
  const [ending, beginning, lying] = [ENDING, BEGINNING, ACROSS].map((which) => which.map(rate));
  const [bestLeft, bestRight, bestAcross] = [ending.slice(1), beginning.slice(1), lying].map((rates) => Math.max(...rates));
  return [
    ...KOREAN_STRINGS.map(string),
    left, right, sum(left, next), sum(right, last), joint(before, after),
    sum(last, mix(before)), sum(next, mix(after)),
    sum(right, following), sum(right, last, preceding), sum(string([2, 0]), following),
    ...[...ending, ...beginning, ...lying].map(mix),
    joint(bestLeft, bestRight, bestAcross),
    joint(Math.min(before, 4), Math.min(after, 4), leftRate, rightRate),
    ...NEIGHBOURS.map(([one, other]) => joint(rate(one), rate(other), across)),
    sum(right, mix(leftRate)), sum(left, mix(rightRate)), sum(next, joint(leftRate, rightRate)),
    sum(last, mix(bestRight)), sum(next, mix(bestLeft)),
    sum(last, joint(bestRight, bestAcross)), sum(next, joint(bestLeft, bestAcross)),
    sum(last, mix(across)), sum(next, mix(across)), sum(last, mix(rate([2, -1]))), sum(next, mix(rate([2, 1]))),
  ];
}

// First character of the eojeol at a place and the one after its last, at most REACH away.
function eojeolAround(codes, at) {
  let [first, end] = [at, at + 1];
  while (at - first + 1 < REACH && isLetter(codes[first - 1])) first--;
  while (end - at - 1 < REACH && isLetter(codes[end])) end++;
  return { first, end };
}
