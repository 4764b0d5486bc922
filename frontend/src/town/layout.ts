// Where names and bubbles stand on the map, so that none lies over another, and bubbles over as few people as can be.

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

const GAP = 2; // pixels between two labels
const EDGE = 5; // pixels of a room that a name of another may cover

export function overlap(a: Box, b: Box, gap = 0): boolean {
  return a.left < b.left + b.width + gap && b.left < a.left + a.width + gap && a.top < b.top + b.height + gap && b.top < a.top + a.height + gap;
}

/** A room's label: whole, or as the number of those in it alone. */
export type Form = "whole" | "count" | "none";

export interface Label {
  room: Box; // on the screen
  natural: number; // pixels of width that the name would have
  clipped: number; // and that it makes do with
  count: number; // of the number alone; 0 where nobody is in it
  height: number;
}

/** Puts labels above, in, or below their rooms; large rooms first. What finds no place is shortened, then left out. */
export function placed(labels: readonly Label[]): ({ form: Form } & Box)[] {
  const taken: Box[] = [];
  const result: ({ form: Form } & Box)[] = labels.map(() => ({ form: "none", left: 0, top: 0, width: 0, height: 0 }));
  const order = labels.map((_, n) => n).sort((a, b) => size(labels[b] as Label) - size(labels[a] as Label));
  const put = (n: number, form: Form, width: number): boolean => {
    const { room, height } = labels[n] as Label;
    const left = room.left + (room.width - width) / 2;
    for (const top of [room.top - height + 2, room.top + 2, room.top + room.height - 2]) {
      const box = { left, top, width, height };
      if (taken.some((one) => overlap(one, box, GAP))) continue;
      const found = { form, ...box };
      taken.push(found);
      result[n] = found;
      return true;
    }
    return false;
  };
  const short: number[] = [];
  for (const n of order) if (!put(n, "whole", (labels[n] as Label).clipped)) short.push(n);
  for (const n of short) if ((labels[n] as Label).count) put(n, "count", (labels[n] as Label).count);
  // Where there is room, a name is told to its end; it covers no other room for that.
  for (const n of order) {
    const [box, { natural, clipped }] = [result[n] as (typeof result)[number], labels[n] as Label];
    if (box.form !== "whole" || natural <= clipped) continue;
    const wider = { left: box.left - (natural - clipped) / 2, top: box.top, width: natural, height: box.height };
    const others = labels.some(({ room }, other) => other !== n && overlap(room, wider, -EDGE));
    if (!others && !taken.some((one) => one !== box && overlap(one, wider, GAP))) Object.assign(box, wider);
  }
  return result;
}

function size({ room }: Label): number {
  return room.width * room.height;
}

/** Where a bubble may stand about who speaks: how far to the side, in widths, and whether above. */
const ABOUT = [[0, true], [-0.45, true], [0.45, true], [0, false], [-0.45, false], [0.45, false]] as const;
const FAR = [14, 52, 90]; // pixels from the head

/** Returns where a bubble covers least: no other bubble, few people, few names; undefined where there is no room for it. */
export function bubblePlace(
  at: [x: number, y: number], figure: number, size: { width: number; height: number }, whole: { width: number; height: number },
  bubbles: readonly Box[], people: readonly [x: number, y: number][], names: readonly Box[], before: Box | undefined,
): Box | undefined {
  let best: Box | undefined;
  let least = Infinity;
  for (const [far, distance] of FAR.entries()) {
    for (const [side, above] of ABOUT) {
      const left = at[0] + side * size.width - size.width / 2;
      const top = above ? at[1] - figure - distance - size.height : at[1] + distance;
      const box = { left, top, ...size };
      if (left < 2 || top < 2 || left + size.width > whole.width - 2 || top + size.height > whole.height - 2) continue;
      if (bubbles.some((one) => overlap(one, box, 4))) continue;
      let cost = far * 1.5 + (above ? 0 : 1) + Math.abs(side);
      for (const [x, y] of people) if (x > left - 4 && x < left + size.width + 4 && y > top && y - figure < top + size.height) cost += 2;
      for (const one of names) if (overlap(one, box)) cost += 1.5;
      // Who speaks on keeps its bubble where it was, unless elsewhere is far better.
      if (before && Math.abs(before.left - at[0] - (left - at[0])) < 3 && Math.abs(before.top - top) < 3) cost -= 4;
      if (cost < least) [best, least] = [box, cost];
    }
  }
  return best;
}
