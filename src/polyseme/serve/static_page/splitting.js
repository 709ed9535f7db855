// A text → sentences → tokens with their places, as polyseme.text.tokenization splits it. Its expressions come from there.

import { Tagger } from "./tagger.js";

export class Splitter {
  constructor({ words, halves, sentences, tagger }, arrays) {
    this.words = new RegExp(words, "gv");
    this.halves = new Map(Object.entries(halves));
    this.ends = sentences && new SentenceEnds(sentences);
    this.tagger = tagger && new Tagger(tagger, arrays);
  }

  // [{ tokens, offsets }]; offsets count characters, as those of the server do
  split(text) {
    const characters = Array.from(text);
    const { whole, starts } = text === text.normalize("NFC") ? { whole: text, starts: null } : compose(characters);
    const spans = this.spans(whole);
    const placed = starts ? spans.map((sentence) => sentence.map(([a, b]) => [starts[a], starts[b]]).filter(([a, b]) => a < b)) : spans;
    return placed.filter((sentence) => sentence.length)
      .map((offsets) => ({ tokens: offsets.map(([a, b]) => characters.slice(a, b).join("")), offsets }));
  }

  spans(text) {
    const characters = Array.from(text);
    const numbers = characterNumbers(text);
    return [...text.matchAll(/[^\r\n]+/g)].flatMap((line) => this.lineSpans(line, numbers, characters));
  }

  lineSpans(line, numbers, characters) {
    const inner = this.tagger ? this.tagger.ends(Array.from(line[0])).map((end) => numbers[line.index] + end) : [];
    const words = [];
    for (const match of line[0].matchAll(this.words)) {
      const begin = line.index + match.index;
      const span = [numbers[begin], numbers[begin + match[0].length]];
      if (this.tagger?.kind === "zh" && match.groups.g1 !== undefined) words.push(...cut(span, inner));
      else words.push(...this.halved(match[0], span));
    }
    const sentences = this.ends ? this.ends.group(characters, words) : [words];
    return this.tagger?.kind === "ko" ? sentences.map((spans) => spans.flatMap((span) => cut(span, inner))) : sentences;
  }

  halved(word, [begin, end]) {
    const head = this.halves.get(word);
    return head ? [[begin, begin + head], [begin + head, end]] : [[begin, end]];
  }
}

// Where sentences end, given the words of a line: polyseme.text.sentences says why.
class SentenceEnds {
  constructor({ spaced, unspaced, closing, emoticon, polite }) {
    this.unspaced = new Set(unspaced);
    this.marks = new Set(spaced + unspaced);
    this.closing = new Set(closing);
    this.emoticon = new RegExp(`^(?:${emoticon})$`, "v");
    this.polite = polite && new RegExp(`^(?:${polite})`, "v");
  }

  group(text, spans) {
    const word = ([begin, end]) => text.slice(begin, end).join("");
    const sentences = [];
    let [first, following] = [0, 0];
    spans.forEach((span, at) => {
      if (at < following) return;
      let ends = false;
      if (this.marks.has(text[span[1] - 1]) && this.marks.has(text[span[0]])) {
        following = this.afterEmoticons(word, spans, this.afterClosing(text, spans, at));
        ends = following < spans.length && this.endsWithMark(text, spans, first, at, following, word);
      } else if (this.polite?.test(word(span))) {
        following = this.afterEmoticons(word, spans, at + 1);
        ends = following < spans.length && spans[following][0] > spans[following - 1][1] && /[\p{L}\p{N}]/u.test(text[spans[following][0]]);
      }
      if (!ends) return;
      sentences.push(spans.slice(first, following));
      first = following;
    });
    if (first < spans.length) sentences.push(spans.slice(first));
    return sentences;
  }

  // The first word after an ending mark and the marks that stick to it.
  afterClosing(text, spans, mark) {
    let following = mark + 1;
    while (following < spans.length && spans[following][0] <= spans[following - 1][1]) {
      const begins = text[spans[following][0]];
      if (!this.closing.has(begins) && !this.marks.has(begins)) break;
      following++;
    }
    return following;
  }

  afterEmoticons(word, spans, following) {
    while (following < spans.length && this.emoticon.test(word(spans[following]))) following++;
    return following;
  }

  endsWithMark(text, spans, first, mark, following, word) {
    const start = spans[following][0];
    if (start === spans[following - 1][1] && !this.unspaced.has(text[spans[mark][0]])) return false;
    if (this.marks.has(text[start])) return false; // . . .
    if (mark === first + 1 && /^\p{Nd}+$/u.test(word(spans[first]))) return false; // 1. Introduction
    return !/\p{Lowercase}/u.test(text[start]) || this.endsBeforeLowerCase(text, spans, mark, following, word);
  }

  endsBeforeLowerCase(text, spans, mark, following, word) {
    const [start, end] = spans[mark];
    if (following > mark + 1 || end > start + 1 || text[start] === "…" || mark === 0) return false;
    const before = word(spans[mark - 1]);
    return text[start] !== "." || (Array.from(before).length > 3 && /^\p{L}+$/u.test(before));
  }
}

// A span, parted at those of the ends that lie inside.
function cut([begin, end], ends) {
  const inner = ends.filter((one) => begin < one && one < end);
  return [begin, ...inner].map((one, number) => [one, inner[number] ?? end]);
}

// For each unit of a string, and its end, the number of its character.
function characterNumbers(text) {
  const found = new Uint32Array(text.length + 1);
  let number = 0;
  for (let unit = 0; unit < text.length; number++) {
    const size = text.codePointAt(unit) > 0xffff ? 2 : 1;
    found.fill(number, unit, unit + size);
    unit += size;
  }
  found[text.length] = number;
  return found;
}

// The text composed, and for every character of that, and its end, where it begins in the text as it is.
function compose(characters) {
  const joins = (before, one) => !/^[\0-\x7f]$/.test(one) && (before + one).normalize("NFC") !== before.normalize("NFC") + one.normalize("NFC");
  const [parts, starts] = [[], []];
  let begin = 0;
  for (let end = 1; end <= characters.length; end++) {
    const before = characters.slice(begin, end).join("");
    if (end < characters.length && (/\p{M}/u.test(characters[end]) || joins(before, characters[end]))) continue;
    const part = before.normalize("NFC");
    parts.push(part);
    Array.from(part).forEach((_, number) => starts.push(Math.min(begin + number, end)));
    begin = end;
  }
  return { whole: parts.join(""), starts: [...starts, characters.length] };
}
