// One run on the page: its state, its map, and those who are drawn on it.

import { get } from "../shell/api";
import { Actors } from "./actors";
import { type About, Feed } from "./feed";
import { Places } from "./places";
import { Plan, type TiledMap } from "./plan";
import { World } from "./record";

const BUDGET = 9; // milliseconds a frame in which lines are read

export class ShownRun {
  world = new World();
  readonly feed: Feed;
  readonly plan: Plan;
  readonly places: Places;
  readonly actors: Actors;
  private changed = true;
  private seeking = 0;

  private constructor(
    readonly about: About,
    map: TiledMap,
    problem: (text: string) => void,
  ) {
    this.feed = new Feed(about, problem);
    this.plan = new Plan(map);
    this.places = new Places(this.plan);
    this.actors = new Actors(this.plan, this.places, about.hospital);
  }

  static async open(id: string, problem: (text: string) => void): Promise<ShownRun> {
    const [about, map] = await Promise.all([get<About>("api/town/about", { run: id }), get<TiledMap>("api/town/map.tmj", { run: id })]);
    return new ShownRun(about, map, problem);
  }

  /** Goes to a time; returns whether it is still the one that is wanted when the state has come. */
  async seek(t: number): Promise<boolean> {
    this.seeking++;
    try {
      const world = await this.feed.seek(t);
      world.advance(t);
      this.world = world;
      this.changed = true;
      return true;
    } catch (error) {
      if ((error as Error).name === "AbortError") return false;
      throw error;
    } finally {
      this.seeking--;
    }
  }

  /** Goes on towards a time, as far as is known and as there is time for; returns the time that was reached. */
  step(t: number, playing: boolean): number {
    if (this.seeking) return this.world.t;
    this.feed.fill(playing);
    const goal = Math.max(this.world.t, Math.min(t, this.feed.known()));
    const until = performance.now() + BUDGET;
    for (let n = 0; ; n++) {
      const one = this.feed.take(goal);
      if (!one) break;
      this.world.apply(one);
      this.changed = true;
      if (n % 64 === 63 && performance.now() > until) return this.world.t;
    }
    this.world.advance(goal);
    return goal;
  }

  /** Puts everybody where it is at the time. */
  place(speed: number, seconds: number, first: string): void {
    this.places.update(this.world, this.changed || this.world.people.size > 0);
    this.changed = false;
    this.actors.update(this.world, this.world.t, speed, seconds, first);
  }

  close(): void {
    this.feed.close();
  }
}
