// Those who are drawn: where each is at this moment, and which picture shows it.

import type { Cell, Plan } from "./plan";
import { inside } from "./plan";
import type { Places } from "./places";
import { type Visitor, type World } from "./record";
import type { Hospital } from "./feed";

export const MOST = 500;
const FRAMES = 7;
const RESIDENTS = 24;
const JOBS = ["doctor", "nurse", "technician", "pharmacist", "clerk"];
const LYING = 6;
const STRIDE = 6; // tiles a second, from one place in a room to another
/** Simulated seconds a second above which nobody is seen to walk, but to be here and then there. */
export const TOO_FAST = 1_800;

export interface Actor {
  who: string;
  staff: boolean;
  x: number; // in tiles, the middle of its feet
  y: number;
  frame: number;
  flip: boolean;
  row: number;
  room: string;
  seen: number; // the draw in which it was last wanted
  began: number; // of the walk that is being walked
  route: Cell[];
  lengths: number[];
}

function row(who: string, staff: boolean, hospital: Hospital): number {
  let sum = 7;
  for (const letter of who) sum = (sum * 31 + letter.charCodeAt(0)) >>> 0;
  if (!staff) return sum % RESIDENTS;
  const job = Math.max(0, JOBS.indexOf(hospital.staff[who]?.job ?? "clerk"));
  return RESIDENTS + 2 * job + (sum % 2);
}

/** Those who are drawn in one hospital. */
export class Actors {
  readonly all = new Map<string, Actor>();
  /** Those who are somewhere, but not drawn, as there are too many. */
  more = 0;
  private turn = 0;

  constructor(
    private readonly plan: Plan,
    private readonly places: Places,
    private readonly hospital: Hospital,
  ) {}

  /** Moves everybody to where it is at a time; `seconds` have gone by on the wall. */
  update(world: World, t: number, speed: number, seconds: number, first: string): void {
    this.turn++;
    this.more = 0;
    let drawn = 0;
    const want = (who: string, staff: boolean): Actor | undefined => {
      if (drawn >= MOST && who !== first) {
        this.more++;
        return undefined;
      }
      drawn++;
      let actor = this.all.get(who);
      if (!actor) {
        actor = { who, staff, x: -1, y: -1, frame: 0, flip: false, row: row(who, staff, this.hospital), room: "", seen: 0, began: -1, route: [], lengths: [] };
        this.all.set(who, actor);
      }
      actor.seen = this.turn;
      return actor;
    };
    for (const who of world.duty.keys()) {
      if (world.staffWalks.has(who)) continue;
      const actor = want(who, true);
      if (actor) this.stand(actor, speed, seconds);
    }
    for (const [who, [path, times, began]] of world.staffWalks) {
      const actor = want(who, true);
      if (actor) this.walk(actor, path, times, began, t, speed, undefined);
    }
    for (const [who, person] of world.people) {
      const actor = want(who, false);
      if (!actor) continue;
      const arrives = person.times[person.times.length - 1];
      if (arrives !== undefined && t < arrives) this.walk(actor, person.path, person.times, person.began, t, speed, this.home(world, who, person));
      else this.stand(actor, speed, seconds);
    }
    if (this.all.size > drawn) for (const [who, actor] of this.all) if (actor.seen !== this.turn) this.all.delete(who);
  }

  private home(world: World, who: string, person: Visitor): Cell {
    return this.plan.house(who, world.ill.get(who)?.[1] ?? [person.began % 600, 0]);
  }

  private stand(actor: Actor, speed: number, seconds: number): void {
    const spot = this.places.spots.get(actor.who);
    if (!spot) return;
    actor.began = -1;
    actor.room = spot.room;
    const x = spot.cell[0] + 0.5;
    const y = spot.cell[1] + (spot.pose === "lie" ? 0.98 : spot.pose === "sit" ? 0.8 : 0.95);
    const far = Math.hypot(x - actor.x, y - actor.y);
    const reach = STRIDE * seconds * Math.max(1, speed / 120);
    if (actor.x < 0 || far > 14 || far <= reach || speed > TOO_FAST) {
      actor.x = x;
      actor.y = y;
      actor.frame = spot.pose === "lie" ? LYING : 0;
      actor.flip = false;
    } else {
      this.face(actor, x - actor.x, y - actor.y);
      actor.x += ((x - actor.x) / far) * reach;
      actor.y += ((y - actor.y) / far) * reach;
    }
  }

  private walk(actor: Actor, path: string[], times: number[], began: number, t: number, speed: number, house: Cell | undefined): void {
    if (actor.began !== began) {
      actor.began = began;
      actor.route = this.routed(actor, path, house, speed);
      actor.lengths = [0];
      for (let n = 1; n < actor.route.length; n++) {
        const [a, b] = [actor.route[n - 1] as Cell, actor.route[n] as Cell];
        actor.lengths.push((actor.lengths[n - 1] as number) + Math.hypot(a[0] - b[0], a[1] - b[1]));
      }
    }
    actor.room = "";
    const arrives = times[times.length - 1] ?? t;
    const whole = actor.lengths[actor.lengths.length - 1] ?? 0;
    const far = whole * Math.min(1, Math.max(0, (t - began) / Math.max(1, arrives - began)));
    let n = 1;
    while (n < actor.lengths.length - 1 && (actor.lengths[n] as number) < far) n++;
    const a: Cell = actor.route[n - 1] ?? [0, 0];
    const b: Cell = actor.route[n] ?? a;
    const from = actor.lengths[n - 1] ?? 0;
    const share = Math.min(1, (far - from) / Math.max(0.001, (actor.lengths[n] ?? from) - from));
    const [x, y] = [a[0] + (b[0] - a[0]) * share + 0.5, a[1] + (b[1] - a[1]) * share + 0.9];
    this.face(actor, x - actor.x, y - actor.y);
    actor.x = x;
    actor.y = y;
  }

  private routed(actor: Actor, path: string[], house: Cell | undefined, speed: number): Cell[] {
    const from = path[0] as string;
    const to = path[path.length - 1] as string;
    const isRoom = (id: string): boolean => this.plan.rooms.has(id);
    const outside: Cell = house ?? this.plan.house(actor.who, [0, 0]);
    const start = this.plan.rooms.get(from);
    let at: Cell = !start ? outside : inside(start, [actor.x, actor.y]) ? [Math.floor(actor.x), Math.floor(actor.y - 0.1)] : (start.doors[0] ?? [start.x, start.y]);
    const target = this.plan.rooms.get(to);
    if (speed > TOO_FAST) return [at, target ? (target.doors[0] ?? at) : outside];
    const route: Cell[] = [];
    if (!isRoom(to)) return this.plan.routeHome(at, outside, "entrance");
    for (const id of path.slice(1)) {
      const room = this.plan.rooms.get(id);
      if (!room) continue;
      const last = id === to;
      const door = nearest(room.doors, at) ?? [room.x, room.y];
      const aim: Cell = last ? (room.standing[Math.floor(room.standing.length / 2)] ?? door) : door;
      const leg = this.plan.route(at, id, aim);
      route.push(...leg);
      at = leg[leg.length - 1] ?? at;
    }
    return route.length ? route : [at];
  }

  private face(actor: Actor, dx: number, dy: number): void {
    const step = Math.floor((actor.x + actor.y) * 2) & 1;
    if (Math.abs(dx) + Math.abs(dy) < 0.001) return;
    const side = Math.abs(dx) > Math.abs(dy) ? 1 : dy < 0 ? 2 : 0;
    actor.frame = side * 2 + step;
    actor.flip = side === 1 && dx > 0;
  }

  /** Returns which picture of the sheet shows somebody. */
  static picture(actor: Actor): number {
    return actor.row * FRAMES + actor.frame;
  }
}

function nearest(cells: Cell[], [x, y]: Cell): Cell | undefined {
  let best: Cell | undefined;
  let far = Infinity;
  for (const cell of cells) {
    const one = Math.abs(cell[0] - x) + Math.abs(cell[1] - y);
    if (one < far) [best, far] = [cell, one];
  }
  return best;
}
