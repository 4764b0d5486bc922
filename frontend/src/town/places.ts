// Where everybody stands, sits, lies or is served, by the state of the hospital and the places of its rooms.

import type { Cell, Plan, Room } from "./plan";
import type { World } from "./record";
import { doing } from "./record";

export interface Spot {
  room: string;
  cell: Cell;
  pose: "stand" | "sit" | "lie";
}

/** Gives out numbered places, so that who has one keeps it. */
class Given {
  private readonly held = new Map<string, number>();

  /** Returns the place of each of those who need one; who does not any more gives it back. */
  keep(those: string[]): Map<string, number> {
    const wanted = new Set(those);
    for (const who of this.held.keys()) if (!wanted.has(who)) this.held.delete(who);
    const used = new Set(this.held.values());
    let next = 0;
    for (const who of those) {
      if (this.held.has(who)) continue;
      while (used.has(next)) next++;
      used.add(next);
      this.held.set(who, next);
    }
    return this.held;
  }
}

/** The places of one hospital. */
export class Places {
  readonly spots = new Map<string, Spot>();
  private readonly given = new Map<string, Given>();
  private seq = -2;

  constructor(private readonly plan: Plan) {}

  /** Finds everybody's place; those who walk have none until they arrive. */
  update(world: World, changed: boolean): void {
    if (!changed && this.seq === world.seq) return;
    this.seq = world.seq;
    this.spots.clear();
    const served = new Map<string, string[]>();
    const lying = new Map<string, string[]>();
    const there = new Map<string, string[]>();
    const waiting = new Map<string, string[]>();
    const add = (to: Map<string, string[]>, room: string, who: string): void => {
      const list = to.get(room);
      if (list) list.push(who);
      else to.set(room, [who]);
    };
    for (const line of world.queues.values()) {
      for (const place of line) {
        const person = world.people.get(place[3]);
        if (person && !person.bed && doing(person, world.t) !== "walking") add(waiting, person.area, place[3]);
      }
    }
    for (const [who, person] of world.people) {
      const does = doing(person, world.t);
      if (does === "served" || does === "in consultation") add(person.bed ? lying : served, person.bed || person.area, who);
      else if (person.bed && does !== "walking") add(lying, person.bed, who);
      else if (does === "there") add(there, person.area, who);
    }
    for (const [id, room] of this.plan.rooms) {
      this.serve(id, room, served.get(id) ?? []);
      this.lie(id, room, lying.get(id) ?? []);
      this.wait(id, room, waiting.get(id) ?? [], there.get(id) ?? []);
    }
    this.work(world);
  }

  private keep(name: string, those: string[]): Map<string, number> {
    let given = this.given.get(name);
    if (!given) this.given.set(name, (given = new Given()));
    return given.keep(those);
  }

  private serve(id: string, room: Room, those: string[]): void {
    for (const [who, number] of this.keep(`${id} served`, those)) {
      const station = room.stations[number % Math.max(1, room.stations.length)];
      const more = room.standing[number % Math.max(1, room.standing.length)];
      const cell = station && number < room.stations.length ? station.patient : (more ?? station?.patient);
      this.spots.set(who, { room: id, cell: cell ?? [room.x + 1, room.y + 1], pose: room.kind === "resuscitation" ? "lie" : "stand" });
    }
  }

  private lie(id: string, room: Room, those: string[]): void {
    for (const [who, number] of this.keep(`${id} beds`, those)) {
      const bed = room.beds[number] ?? room.standing[number % Math.max(1, room.standing.length)];
      this.spots.set(who, { room: id, cell: bed ?? [room.x + 1, room.y + 1], pose: room.beds[number] ? "lie" : "stand" });
    }
  }

  /** Those who wait sit in the order in which they are called; who finds no seat stands. */
  private wait(id: string, room: Room, waiting: string[], there: string[]): void {
    const places = [...room.seats, ...room.standing];
    [...waiting, ...there].forEach((who, number) => {
      const cell = places[number % Math.max(1, places.length)] ?? [room.x + 1, room.y + 1];
      this.spots.set(who, { room: id, cell, pose: number < room.seats.length ? "sit" : "stand" });
    });
  }

  private work(world: World): void {
    const idle = new Map<string, string[]>();
    for (const [who, duty] of world.duty) {
      const patient = duty.serves.map((one) => this.spots.get(one)).find((spot) => spot !== undefined);
      const room = this.plan.rooms.get(patient?.room ?? duty.area);
      if (!room) continue;
      if (patient) {
        const station = room.stations.find((one) => one.patient === patient.cell);
        const [x, y] = patient.cell;
        this.spots.set(who, { room: room.id, cell: station?.staff ?? [x + 0.7, y], pose: "stand" });
      } else {
        const list = idle.get(room.id);
        if (list) list.push(who);
        else idle.set(room.id, [who]);
      }
    }
    for (const [id, those] of idle) {
      const room = this.plan.rooms.get(id) as Room;
      for (const [who, number] of this.keep(`${id} posts`, those)) {
        const cell = room.posts[number % Math.max(1, room.posts.length)] ?? [room.x + 1, room.y + 1];
        const round = Math.floor(number / Math.max(1, room.posts.length));
        this.spots.set(who, { room: id, cell: [cell[0] + 0.4 * round, cell[1]], pose: "stand" });
      }
    }
  }
}
