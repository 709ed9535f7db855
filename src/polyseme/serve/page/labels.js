// Where the names of groups stand on the map: above or below their marks, clear of the rings and of each other.

export const WIDTH = 640;
export const HEIGHT = 420;
const RING_TEXT = 60; // half as wide
const EDGE = 8; // between a name and the edge of the picture

// groups: {width of the name, places}; marks: the places of all; rings: {at: [x, y], text: where its words stand, below or above it}
// → [x, y, half the width] of each
export function placeLabels(groups, marks, rings) {
  const centres = groups.map((group) => besideGroup(group, marks));
  avoid(centres, rings.map(blockOf));
  apart(centres);
  return centres;
}

// Above a group or below it, within the picture: where the label covers fewer marks.
function besideGroup({ width, places }, marks) {
  const sorted = (axis) => places.map((point) => point[axis]).sort((a, b) => a - b);
  const [x, y] = [sorted(0), sorted(1)];
  const at = (values, share) => values[Math.floor(share * (values.length - 1))];
  const half = width / 2 + EDGE;
  const middle = Math.min(WIDTH - half, Math.max(half, at(x, 0.5)));
  const covered = (line) => marks.filter(([markX, markY]) => Math.abs(markX - middle) < half + 6 && markY > line - 18 && markY < line + 10).length;
  const lines = [at(y, 0.1) - 14, at(y, 0.9) + 24].map((line) => Math.min(HEIGHT - 12, Math.max(18, line)));
  return [middle, covered(lines[1]) < covered(lines[0]) ? lines[1] : lines[0], half];
}

// What a ring and its words take up, for the baseline of a label.
function blockOf({ at: [x, y], text }) {
  return { x, top: y + Math.min(-18, text - 20), bottom: y + Math.max(28, text + 18) };
}

// Rings and their words stay where they are: labels make room for them, by the shorter way that is free.
function avoid(centres, blocks) {
  for (const centre of centres) {
    for (const { x, top, bottom } of blocks) {
      if (Math.abs(centre[0] - x) >= centre[2] + RING_TEXT || centre[1] <= top || centre[1] >= bottom) continue;
      const up = top >= 18 && (bottom > HEIGHT - 12 || centre[1] - top <= bottom - centre[1]);
      centre[1] = up ? top : bottom;
    }
  }
}

// Labels that would cover each other move up and down.
function apart(centres) {
  const order = [...centres].sort((a, b) => a[1] - b[1]);
  for (let round = 0; round < 8; round++) {
    for (let i = 1; i < order.length; i++) {
      for (let j = 0; j < i; j++) {
        const gap = order[i][1] - order[j][1];
        if (Math.abs(order[i][0] - order[j][0]) < order[i][2] + order[j][2] && Math.abs(gap) < 20) {
          const by = (20 - Math.abs(gap)) / 2;
          order[j][1] = Math.max(18, order[j][1] - by);
          order[i][1] = Math.min(HEIGHT - 12, order[i][1] + by);
        }
      }
    }
  }
}
