// A run's map with what lies above it: names of the rooms, bubbles of what is said, and a hand that moves the map.

import { h, plain, put } from "../shell/dom";
import { icon } from "../shell/icons";
import { named } from "../shell/language";
import type { Talk } from "./talk";
import { type ShownRun } from "./shown";
import { Stage } from "./stage";
import { t } from "./words";

const BUBBLES = 5;
const STILL = 1_500; // milliseconds after which a picture in which nothing changes is left alone
const LONGEST = 140; // letters of a bubble
const NEAR = 1.1; // tiles within which somebody is meant by a click
const LEGIBLE = 0.45; // pixels of the screen for one of the map below which names of small rooms are left out

export interface Chosen {
  run: ShownRun;
  who?: string;
  room?: string;
}

export class View {
  readonly element: HTMLElement;
  stage: Stage | undefined;
  follow = "";
  chosen = "";
  private readonly picture: HTMLElement;
  private readonly names: HTMLElement;
  private readonly bubbles: HTMLElement;
  private readonly labels = new Map<string, { button: HTMLElement; count: HTMLElement; shown: number }>();
  private readonly spoken: HTMLElement[] = [];
  private state = ""; // what is shown, as long as it is the same
  private changed = 0; // when that changed last

  constructor(
    readonly run: ShownRun,
    private readonly choose: (chosen: Chosen) => void,
    private readonly talk: Talk,
  ) {
    this.picture = h("div", { class: "picture", tabindex: 0, role: "application", "aria-label": t("map") });
    this.names = h("div", { class: "names" });
    this.bubbles = h("div", { class: "bubbles", "aria-hidden": "true" });
    const tool = (label: string, name: "plus" | "minus" | "whole", act: () => void): HTMLElement =>
      h("button", { type: "button", "aria-label": label, title: label, onclick: act }, icon(name));
    this.element = h(
      "div",
      { class: "view" },
      this.picture,
      this.names,
      this.bubbles,
      h(
        "div",
        { class: "tools" },
        tool(t("closer"), "plus", () => this.zoom(1.4)),
        tool(t("farther"), "minus", () => this.zoom(1 / 1.4)),
        tool(t("fit"), "whole", () => {
          this.follow = "";
          this.stage?.fit();
        }),
      ),
    );
    this.listen();
  }

  async start(wish: string | null): Promise<void> {
    const tiles = new Image();
    tiles.src = "town/tiles.png";
    const [{ default: phaser }] = await Promise.all([import("phaser"), tiles.decode()]);
    this.stage = new Stage(phaser as never, this.picture, this.run.plan, tiles, wish);
    this.name();
    this.stage.onLook = () => this.lay();
    this.lay();
  }

  private name(): void {
    for (const [id, room] of this.run.plan.rooms) {
      const about = this.run.about.hospital.areas[id];
      const count = h("span", { class: "count" });
      const button = h(
        "button",
        { type: "button", class: "name", onclick: () => this.choose({ run: this.run, room: id }) },
        h("span", { class: "what" }, plain(named(about?.name, id))),
        count,
      );
      button.dataset["size"] = room.width >= 12 ? "large" : "small";
      this.labels.set(id, { button, count, shown: -1 });
    }
    put(this.names, ...[...this.labels.values()].map((label) => label.button));
  }

  /** Puts the names where their rooms are. */
  private lay(): void {
    const stage = this.stage;
    if (!stage) return;
    const { zoom } = stage.look;
    this.names.dataset["far"] = String(zoom < LEGIBLE);
    for (const [id, { button }] of this.labels) {
      const room = this.run.plan.rooms.get(id);
      if (!room) continue;
      const [x, y] = stage.screen(room.x + room.width / 2, room.y + 0.1);
      button.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px) translate(-50%, -100%)`;
      button.style.maxWidth = `${Math.max(64, room.width * 16 * zoom + 36)}px`;
    }
  }

  /** Draws the run as it is. */
  draw(clock: { speed: number }, seconds: number, now: number): void {
    const { look } = this.stage ?? {};
    const state = `${this.run.world.t} ${this.run.world.seq} ${look?.x} ${look?.y} ${look?.zoom} ${this.chosen} ${this.follow} ${this.picture.clientWidth} ${this.picture.clientHeight}`;
    if (state !== this.state) {
      this.state = state;
      this.changed = now;
    }
    // Whoever changes place takes a moment, and bubbles are fetched.
    const resting = now - this.changed > STILL;
    this.stage?.rest(resting);
    if (resting) return;
    this.run.place(clock.speed, seconds, this.follow || this.chosen);
    const stage = this.stage;
    if (!stage) return;
    const { world, actors } = this.run;
    const followed = this.follow ? actors.all.get(this.follow) : undefined;
    if (followed) {
      const look = stage.look;
      stage.see({ ...look, x: look.x + (followed.x - look.x) * 0.15, y: look.y + (followed.y - look.y) * 0.15 });
    }
    stage.draw({
      actors: actors.all.values(),
      acuity: (who) => {
        const person = world.people.get(who);
        return person && !person.bed ? person.acuity : null;
      },
      hour: (world.t / 3600) % 24,
      chosen: this.chosen,
    });
    this.count();
    this.say(clock.speed);
  }

  private count(): void {
    const inside = new Map<string, number>();
    for (const person of this.run.world.people.values()) {
      const arrives = person.times[person.times.length - 1];
      if (arrives !== undefined && this.run.world.t < arrives) continue;
      inside.set(person.area, (inside.get(person.area) ?? 0) + 1);
    }
    for (const [id, label] of this.labels) {
      const n = inside.get(id) ?? 0;
      if (n === label.shown) continue;
      label.shown = n;
      label.count.textContent = n ? String(n) : "";
    }
  }

  private say(speed: number): void {
    const stage = this.stage;
    if (!stage) return;
    const { zoom } = stage.look;
    const said = zoom > 0.5 ? this.talk.now(this.run, this.chosen, speed) : [];
    let used = 0;
    const taken: [number, number][] = []; // where bubbles are, as none lies over another
    for (const one of said) {
      const actor = this.run.actors.all.get(one.who);
      if (!actor || used >= BUBBLES) continue;
      const [x, y] = stage.screen(actor.x, actor.y - 1.35);
      if (taken.some(([left, top]) => Math.abs(left - x) < 225 && Math.abs(top - y) < 70)) continue;
      if (x < 0 || y < 0 || x > this.picture.clientWidth || y > this.picture.clientHeight) continue;
      taken.push([x, y]);
      let bubble = this.spoken[used];
      if (!bubble) {
        bubble = h("div", { class: "bubble" });
        this.spoken[used] = bubble;
        this.bubbles.append(bubble);
      }
      used++;
      const text = plain(one.text, LONGEST);
      if (bubble.dataset["text"] !== text) {
        bubble.dataset["text"] = text;
        put(bubble, h("bdi", { dir: "auto" }, text));
      }
      bubble.dataset["voice"] = one.voice;
      bubble.hidden = false;
      const left = Math.min(Math.max(x, 115), Math.max(115, this.picture.clientWidth - 115));
      bubble.style.transform = `translate(${Math.round(left)}px, ${Math.round(y)}px) translate(-50%, -100%)`;
    }
    for (let n = used; n < this.spoken.length; n++) (this.spoken[n] as HTMLElement).hidden = true;
  }

  private zoom(times: number, left = this.picture.clientWidth / 2, top = this.picture.clientHeight / 2): void {
    const stage = this.stage;
    if (!stage) return;
    const [x, y] = stage.place(left, top);
    const zoom = Math.min(6, Math.max(0.15, stage.look.zoom * times));
    const real = zoom / stage.look.zoom;
    stage.see({ x: x + (stage.look.x - x) / real, y: y + (stage.look.y - y) / real, zoom });
  }

  private pan(x: number, y: number): void {
    const stage = this.stage;
    if (!stage) return;
    this.follow = "";
    const size = 16 * stage.look.zoom;
    stage.see({ ...stage.look, x: stage.look.x + x / size, y: stage.look.y + y / size });
  }

  private listen(): void {
    const fingers = new Map<number, [number, number]>();
    let moved = 0;
    this.picture.addEventListener("pointerdown", (event) => {
      this.picture.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, [event.clientX, event.clientY]);
      moved = 0;
    });
    this.picture.addEventListener("pointermove", (event) => {
      const from = fingers.get(event.pointerId);
      if (!from) return;
      const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
      const to: [number, number] = [event.clientX, event.clientY];
      moved += Math.hypot(to[0] - from[0], to[1] - from[1]);
      if (other) {
        const far = (one: [number, number]): number => Math.hypot(one[0] - other[0], one[1] - other[1]);
        const box = this.picture.getBoundingClientRect();
        this.zoom(far(to) / Math.max(1, far(from)), (to[0] + other[0]) / 2 - box.left, (to[1] + other[1]) / 2 - box.top);
      } else if (moved > 4) this.pan(from[0] - to[0], from[1] - to[1]);
      fingers.set(event.pointerId, to);
    });
    const up = (event: PointerEvent): void => {
      if (fingers.delete(event.pointerId) && moved <= 4 && event.type === "pointerup") this.click(event);
    };
    this.picture.addEventListener("pointerup", up);
    this.picture.addEventListener("pointercancel", up);
    this.picture.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const box = this.picture.getBoundingClientRect();
        this.zoom(Math.exp(-event.deltaY / 400), event.clientX - box.left, event.clientY - box.top);
      },
      { passive: false },
    );
    this.picture.addEventListener("keydown", (event) => {
      const step = 60;
      const act: Record<string, () => void> = {
        ArrowLeft: () => this.pan(-step, 0),
        ArrowRight: () => this.pan(step, 0),
        ArrowUp: () => this.pan(0, -step),
        ArrowDown: () => this.pan(0, step),
        "+": () => this.zoom(1.3),
        "=": () => this.zoom(1.3),
        "-": () => this.zoom(1 / 1.3),
      };
      if (!act[event.key] || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      event.stopPropagation();
      act[event.key]?.();
    });
  }

  private click(event: PointerEvent): void {
    const stage = this.stage;
    if (!stage) return;
    const box = this.picture.getBoundingClientRect();
    const [x, y] = stage.place(event.clientX - box.left, event.clientY - box.top);
    let [who, far] = ["", NEAR];
    for (const actor of this.run.actors.all.values()) {
      const one = Math.hypot(actor.x - x, actor.y - 0.55 - y);
      if (one < far) [who, far] = [actor.who, one];
    }
    if (who) this.choose({ run: this.run, who });
    else
      for (const [id, room] of this.run.plan.rooms)
        if (x >= room.x && y >= room.y && x < room.x + room.width && y < room.y + room.height) this.choose({ run: this.run, room: id });
  }

  close(): void {
    this.stage?.close();
    this.run.close();
  }
}
