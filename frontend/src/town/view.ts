// A run's map with what lies above it: names of the rooms, bubbles of what is said, and a hand that moves the map.

import { h, plain, put } from "../shell/dom";
import { icon } from "../shell/icons";
import { type Box, bubblePlace, placed } from "./layout";
import { named } from "../shell/language";
import type { Talk } from "./talk";
import { type ShownRun } from "./shown";
import { Stage } from "./stage";
import { t } from "./words";

const BUBBLES = 5;
const STILL = 1_500; // milliseconds after which a picture in which nothing changes is left alone
const LONGEST = 140; // letters of a bubble
const NEAR = 1.1; // tiles within which somebody is meant by a click
const HEAD = 20; // pixels of the map from somebody's feet to the top of its head
const AGAIN = 400; // milliseconds until names are put anew, as there are more or fewer in the rooms

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
  private readonly labels = new Map<string, { button: HTMLElement; count: HTMLElement; shown: number; wide: number; said: string }>();
  private readonly spoken: { bubble: HTMLElement; tail: HTMLElement; who: string; size: { width: number; height: number }; box: Box | undefined }[] = [];
  private standing: Box[] = []; // the names that are seen
  private stale = true; // whether somebody came into a room or left it since names were put
  private laid = 0;
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
    for (const id of this.run.plan.rooms.keys()) {
      const about = this.run.about.hospital.areas[id];
      const count = h("span", { class: "count" });
      const button = h(
        "button",
        { type: "button", class: "name", onclick: () => this.choose({ run: this.run, room: id }) },
        h("span", { class: "what" }, plain(named(about?.name, id))),
        count,
      );
      this.labels.set(id, { button, count, shown: -1, wide: 0, said: "" });
    }
    put(this.names, ...[...this.labels.values()].map((label) => label.button));
  }

  /** Puts the names where their rooms are, as far as there is room for them. */
  private lay(): void {
    const stage = this.stage;
    if (!stage) return;
    const { zoom } = stage.look;
    const all = [...this.labels];
    for (const [, label] of all) {
      const said = label.button.firstChild?.textContent ?? "";
      if (label.said === said && label.wide) continue;
      // Measured as wide as it would be; anew where the language has changed.
      label.button.style.maxWidth = "none";
      label.button.dataset["form"] = "whole";
      const count = label.count.textContent;
      label.count.textContent = "";
      [label.said, label.wide] = [said, label.button.offsetWidth];
      label.count.textContent = count;
    }
    const height = all[0]?.[1].button.offsetHeight ?? 24;
    const places = placed(all.map(([id, label]) => {
      const room = this.run.plan.rooms.get(id) ?? { x: 0, y: 0, width: 0, height: 0 };
      const [left, top] = stage.screen(room.x, room.y);
      const wide = room.width * 16 * zoom;
      const digits = label.shown > 0 ? 5 + 8 * String(label.shown).length : 0;
      return { room: { left, top, width: wide, height: room.height * 16 * zoom }, natural: label.wide + digits, clipped: Math.min(label.wide + digits, Math.max(72, wide + 28)), count: digits ? digits + 14 : 0, height };
    }));
    this.standing = [];
    for (const [n, box] of places.entries()) {
      const { form, left, top, width } = box;
      const [id, { button }] = all[n] as (typeof all)[number];
      const room = this.run.plan.rooms.get(id);
      button.dataset["form"] = form;
      const [x, y] = form === "none" && room ? stage.screen(room.x + room.width / 2, room.y) : [left, top];
      button.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
      button.style.maxWidth = form === "whole" ? `${Math.ceil(width) + 1}px` : "none";
      if (form !== "none") this.standing.push(box);
    }
    this.stale = false;
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
    this.count(now);
    this.say(clock.speed);
  }

  private count(now: number): void {
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
      this.stale = true;
    }
    if (this.stale && now - this.laid > AGAIN) {
      this.laid = now;
      this.lay();
    }
  }

  private say(speed: number): void {
    const stage = this.stage;
    if (!stage) return;
    const { zoom } = stage.look;
    const said = zoom > 0.5 ? this.talk.now(this.run, this.chosen, speed) : [];
    const whole = { width: this.picture.clientWidth, height: this.picture.clientHeight };
    const people = said.length ? [...this.run.actors.all.values()].map((one) => stage.screen(one.x, one.y)) : [];
    const taken: Box[] = [];
    const before = new Map(this.spoken.map((one) => [one.who, one.box]));
    let used = 0;
    for (const one of said) {
      const actor = this.run.actors.all.get(one.who);
      if (!actor || used >= BUBBLES) continue;
      const at = stage.screen(actor.x, actor.y);
      if (at[0] < 0 || at[1] < 0 || at[0] > whole.width || at[1] > whole.height) continue;
      const bubble = this.bubble(used, plain(one.text, LONGEST), one.voice);
      const box = bubblePlace(at, HEAD * zoom, bubble.size, whole, taken, people, this.standing, before.get(one.who));
      if (!box) continue;
      used++;
      taken.push(box);
      [bubble.who, bubble.box] = [one.who, box];
      bubble.bubble.hidden = bubble.tail.hidden = false;
      bubble.bubble.style.transform = `translate(${Math.round(box.left)}px, ${Math.round(box.top)}px)`;
      // From the bubble to the head of who says it.
      const above = box.top < at[1];
      const from: [number, number] = [Math.min(Math.max(at[0], box.left + 12), box.left + box.width - 12), above ? box.top + box.height - 2 : box.top + 2];
      const to: [number, number] = [at[0], above ? at[1] - HEAD * zoom : at[1]];
      const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
      bubble.tail.style.width = `${Math.round(Math.hypot(dx, dy))}px`;
      bubble.tail.style.transform = `translate(${Math.round(from[0])}px, ${Math.round(from[1])}px) rotate(${Math.atan2(dy, dx).toFixed(3)}rad)`;
    }
    for (const one of this.spoken.slice(used)) {
      one.bubble.hidden = one.tail.hidden = true;
      [one.who, one.box] = ["", undefined];
    }
  }

  /** Returns a bubble with a text, and how large it is. */
  private bubble(number: number, text: string, voice: string): (typeof this.spoken)[number] {
    let made = this.spoken[number];
    if (!made) {
      made = { bubble: h("div", { class: "bubble" }), tail: h("div", { class: "tail" }), who: "", size: { width: 0, height: 0 }, box: undefined };
      this.spoken[number] = made;
      this.bubbles.append(made.tail, made.bubble);
    }
    const { bubble, tail } = made;
    bubble.dataset["voice"] = tail.dataset["voice"] = voice;
    if (bubble.dataset["text"] !== text) {
      bubble.dataset["text"] = text;
      put(bubble, h("bdi", { dir: "auto" }, text));
      bubble.hidden = false;
      made.size = { width: bubble.offsetWidth, height: bubble.offsetHeight };
    }
    return made;
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
