// The town's page: one run on its map, live or again, or two side by side on one clock.

import "./town.css";
import { get, ServerError } from "../shell/api";
import { h, plain, put } from "../shell/dom";
import { figure, named, onLanguage } from "../shell/language";
import { icon } from "../shell/icons";
import { openPage } from "../shell/shell";
import { Charts } from "./charts";
import { Clock, DAY, SPEEDS } from "./clock";
import { clockOf, Dossier, meaning, roomPage } from "./dossier";
import { doing } from "./record";
import { ShownRun } from "./shown";
import { Talk } from "./talk";
import { type Chosen, View } from "./view";
import { happened, t } from "./words";

const page = openPage("town", () => t("title"));
const asked = new URLSearchParams(location.search);
const problems = new Map<string, string>();

function problem(id: string, text: string): void {
  if ((problems.get(id) ?? "") === text) return;
  problems.set(id, text);
  page.notice([...new Set(problems.values())].filter(Boolean).join(" "));
}

async function choose(): Promise<string[]> {
  const wanted = [asked.get("run"), asked.get("with")].filter((id): id is string => Boolean(id));
  if (wanted.length) return wanted;
  const { runs, live } = await get<{ runs: { id: string; name: string; problem: string }[]; live: string }>("api/town/runs");
  const good = runs.filter((run) => !run.problem);
  if (live) return [live];
  if (good.length === 1) return [(good[0] as { id: string }).id];
  put(
    page.main,
    h("h1", {}, t("choose")),
    good.length
      ? h("ul", {}, ...good.map((run) => h("li", {}, h("a", { href: `./town?run=${encodeURIComponent(run.id)}` }, plain(run.name)))))
      : h("p", {}, t("none"), " ", h("code", {}, "polyclinic run --days 1 --out town")),
    good.length < runs.length ? h("ul", { class: "soft" }, ...runs.filter((run) => run.problem).map((run) => h("li", {}, t("unshown", plain(run.name), plain(run.problem))))) : null,
  );
  return [];
}

class Town {
  private readonly clock = new Clock();
  private readonly talk = new Talk();
  private views: View[] = [];
  private charts: Charts[] = [];
  private dossier: Dossier | undefined;
  private chosen: Chosen | undefined;
  private last = 0;
  private told = 0;
  private moving = false;
  private painted = "";
  private wanted: number | undefined; // where a dragged slider is
  private sought: number | undefined; // since when a time is sought that is not drawn yet
  private readonly panel = h("aside", { class: "panel", "aria-label": t("now") });
  private readonly maps = h("div", { class: "maps" });
  private readonly summary = h("div", { class: "now" });
  private readonly detail = h("section", { class: "card detail", hidden: true, "aria-live": "off" });
  private readonly play = h("button", { type: "button", class: "main play", onclick: () => this.toggle() });
  private readonly speed = h("select", { onchange: () => this.setSpeed(Number(this.speed.value)) });
  private readonly slider = h("input", { type: "range", min: 0, max: 1, step: 1, value: 0 });
  private readonly time = h("output", { class: "time" });
  private readonly live = h("button", { type: "button", onclick: () => this.goLive() });
  private readonly jump = h("select", { onchange: () => this.leap() });

  constructor(private readonly runs: ShownRun[]) {}

  private get first(): ShownRun {
    return this.runs[0] as ShownRun;
  }

  /** The time of the last line that is there, of any run. */
  private get end(): number {
    return Math.max(...this.runs.map((run) => run.feed.head), 1);
  }

  private get going(): boolean {
    return this.runs.some((run) => !run.feed.over && !run.feed.stopped);
  }

  async open(): Promise<void> {
    document.body.classList.add("wide");
    this.build();
    this.label();
    onLanguage(() => this.rebuild());
    const at = /(?:^#|&)t=(\d+)/.exec(location.hash)?.[1];
    const live = at === undefined && this.going;
    await this.seek(at !== undefined ? Number(at) : live ? this.end : this.beginning());
    this.setSpeed(Number(asked.get("speed")) || 60);
    if (live) this.goLive();
    if (asked.get("paused") !== null) this.toggle(false);
    requestAnimationFrame((now) => this.frame(now));
    await Promise.all(this.views.map((view) => view.start(asked.get("renderer"))));
    document.body.dataset["ready"] = "true";
    addEventListener("hashchange", () => {
      const to = /(?:^#|&)t=(\d+)/.exec(location.hash)?.[1];
      if (to !== undefined) void this.seek(Number(to));
    });
    addEventListener("keydown", (event) => this.key(event));
  }

  /** A run is opened in the morning, when people begin to come. */
  private beginning(): number {
    return Math.min(7 * 3600, Math.max(0, this.end - 60));
  }

  private build(): void {
    for (const view of this.views) view.close();
    for (const charts of this.charts) charts.close();
    this.views = this.runs.map((run) => new View(run, (chosen) => this.choose(chosen), this.talk));
    this.charts = this.runs.map((run) => new Charts(run));
    (this.charts[0] as Charts).onNotes = () => this.listNotes();
    this.slider.addEventListener("input", () => void this.drag(Number(this.slider.value)));
    put(
      this.maps,
      ...this.views.map((view, n) =>
        h("section", { class: "map" }, this.runs.length > 1 && h("h2", { class: "runName" }, plain(this.runs[n]?.about.id), h("span", { class: "soft small" }, ` ${plain(this.runs[n]?.about.minds["doctor"] ?? "")}`)), view.element),
      ),
    );
    put(
      this.panel,
      this.detail,
      this.summary,
      h("h2", { class: "charts-title" }, t("charts")),
      ...this.charts.map((charts, n) => h("div", {}, this.runs.length > 1 && h("h3", {}, plain(this.runs[n]?.about.id)), charts.element)),
    );
    const step = (label: string, name: "back" | "on", by: number): HTMLElement =>
      h("button", { type: "button", class: "step", "aria-label": label, title: label, onclick: () => void this.seek(this.clock.t + by) }, icon(name));
    put(
      page.main,
      h("h1", { class: "unseen" }, `${t("title")}: ${plain(named(this.first.about.hospital.name))}`),
      h(
        "div",
        { class: "town", "data-runs": this.runs.length },
        this.maps,
        this.panel,
        h(
          "div",
          { class: "controls", role: "group", "aria-label": t("time") },
          h("div", { class: "row" }, this.play, step(t("back"), "back", -3600), step(t("on"), "on", 3600), this.speed, this.live, h("span", { class: "grow" }), this.time, this.jump,
            h("button", { type: "button", class: "quiet step", title: t("link"), "aria-label": t("link"), onclick: () => this.copy() }, icon("link"))),
          this.slider,
        ),
      ),
    );
  }

  private label(): void {
    put(this.speed, ...SPEEDS.map((speed) => h("option", { value: speed, selected: speed === this.clock.speed }, `${figure(speed)}×`)));
    this.speed.setAttribute("aria-label", t("speed"));
    this.slider.setAttribute("aria-label", t("time"));
    this.jump.setAttribute("aria-label", t("jump"));
    this.live.textContent = `● ${t("live")}`;
    this.panel.setAttribute("aria-label", t("now"));
    this.paintPlay();
    this.listNotes();
  }

  private rebuild(): void {
    // The map and its run stay; what is written on the page is written anew.
    const title = this.panel.querySelector(".charts-title");
    if (title) title.textContent = t("charts");
    this.label();
    for (const charts of this.charts) charts.paint();
    for (const [n, view] of this.views.entries()) {
      for (const [place, button] of [...view.element.querySelectorAll(".name")].entries()) {
        const id = [...(this.runs[n] as ShownRun).plan.rooms.keys()][place] ?? "";
        (button.firstChild as HTMLElement).textContent = plain(named(this.runs[n]?.about.hospital.areas[id]?.name, id));
      }
    }
    if (this.chosen) this.choose(this.chosen);
    this.told = 0;
  }

  private listNotes(): void {
    const notes = this.charts[0]?.notes ?? [];
    put(
      this.jump,
      h("option", { value: "" }, `${t("jump")} …`),
      ...notes.slice(0, 400).map(([time, what, who, about]) => {
        const name = this.first.about.hospital.staff[who] ? meaning(this.first, who) : about || who;
        return h("option", { value: time }, `${t("day", Math.floor(time / DAY) + 1)} ${clockOf(time)} · ${happened(what, plain(meaning(this.first, about), 60))} · ${plain(name, 40)}`);
      }),
    );
    this.jump.hidden = notes.length === 0;
  }

  private leap(): void {
    if (this.jump.value) void this.seek(Math.max(0, Number(this.jump.value) - 5));
    this.jump.value = "";
  }

  private key(event: KeyboardEvent): void {
    const on = event.target as HTMLElement;
    if (/^(INPUT|SELECT|TEXTAREA|BUTTON|A|SUMMARY)$/.test(on.tagName) || event.ctrlKey || event.metaKey || event.altKey) {
      if (event.key === "Escape") this.choose(undefined);
      return;
    }
    if (event.key === " ") this.toggle();
    else if (event.key === "Escape") this.choose(undefined);
    else return;
    event.preventDefault();
  }

  private toggle(playing = !this.clock.playing): void {
    this.clock.playing = playing;
    if (!playing) {
      this.clock.live = false;
      history.replaceState(null, "", `#t=${Math.floor(this.clock.t)}`);
    }
    this.paintPlay();
  }

  private setSpeed(speed: number): void {
    this.clock.speed = SPEEDS.find((one) => one >= speed) ?? 60;
    this.speed.value = String(this.clock.speed);
    if (this.clock.live) {
      this.clock.live = false;
      this.paintPlay();
    }
  }

  private goLive(): void {
    this.clock.live = true;
    this.clock.playing = true;
    if (this.clock.t < this.end - DAY) void this.seek(this.end, true);
    this.paintPlay();
  }

  private paintPlay(): void {
    const told = `${this.clock.playing} ${this.clock.live} ${this.going} ${document.documentElement.lang}`;
    if (told === this.painted) return;
    this.painted = told;
    put(this.play, icon(this.clock.playing ? "pause" : "play"));
    this.play.setAttribute("aria-label", t(this.clock.playing ? "pause" : "play"));
    this.live.hidden = !this.going && !this.clock.live;
    this.live.setAttribute("aria-pressed", String(this.clock.live));
  }

  private async seek(time: number, live = false): Promise<void> {
    const to = Math.max(0, Math.min(time, this.end));
    const began = performance.now();
    this.moving = true;
    if (!live) this.clock.live = false;
    this.clock.t = to;
    try {
      const came = await Promise.all(this.runs.map((run) => run.seek(to)));
      if (!came.every(Boolean)) return;
      problem("seek", "");
      this.sought ??= began;
      history.replaceState(null, "", `#t=${Math.floor(to)}`);
    } catch (error) {
      problem("seek", (error as ServerError).message);
    } finally {
      this.moving = false;
    }
    this.told = 0;
    this.paintPlay();
  }

  /** Seeks while the slider is dragged: the time where it is by then, and none of those between. */
  private async drag(time: number): Promise<void> {
    const dragging = this.wanted !== undefined;
    this.wanted = time;
    if (dragging) return;
    for (let to: number | undefined = time; to !== undefined; ) {
      await this.seek(to);
      const next: number = this.wanted;
      to = next === to ? undefined : next;
    }
    this.wanted = undefined;
  }

  private frame(now: number): void {
    const seconds = this.last ? Math.min(0.25, (now - this.last) / 1000) : 0;
    this.last = now;
    if (!this.moving) {
      const goal = this.clock.next(seconds, this.end);
      const bounded = this.going ? goal : Math.min(goal, this.end);
      const reached = Math.min(...this.runs.map((run) => run.step(bounded, this.clock.playing)));
      this.clock.reach(Math.max(this.clock.t, reached), seconds);
      if (!this.going && this.clock.t >= this.end && this.clock.playing) {
        this.toggle(false);
        if (this.runs.every((run) => run.feed.over)) {
          page.announce(t("over"));
          document.body.dataset["over"] = "true";
        }
      }
    }
    const pace = { speed: this.clock.live ? Math.abs(this.clock.pace) : this.clock.speed };
    for (const view of this.views) view.draw(pace, seconds, now);
    if (!this.moving && this.sought !== undefined) {
      document.body.dataset["seek"] = String(Math.round(performance.now() - this.sought));
      this.sought = undefined;
    }
    if (now - this.told > 250) {
      this.told = now;
      this.tell();
    }
    requestAnimationFrame((next) => this.frame(next));
  }

  private tell(): void {
    const { t: time } = this.clock;
    const day = Math.floor(time / DAY);
    this.time.textContent = `${this.date(day)} · ${clockOf(time)}`;
    this.slider.max = String(Math.ceil(this.end));
    if (document.activeElement !== this.slider || this.clock.playing) this.slider.value = String(Math.floor(time));
    this.slider.setAttribute("aria-valuetext", this.time.textContent);
    put(this.summary, ...this.runs.map((run) => this.counts(run)));
    for (const charts of this.charts) charts.show(time);
    if (this.dossier) this.dossier.show(time);
    else if (this.chosen?.room && !this.detail.contains(document.activeElement)) this.showRoom();
    document.body.dataset["t"] = String(Math.floor(time));
    document.body.dataset["seq"] = String(this.first.world.seq);
    document.body.dataset["rate"] = String(Math.round(this.views[0]?.stage?.rate ?? 0));
    if (!this.going) this.paintPlay();
    for (const { about, feed } of this.runs) {
      const told = feed.stopped ? t("stopped", plain(about.id, 80), this.date(Math.floor(feed.head / DAY)), clockOf(feed.head)) : "";
      problem(`stopped ${about.id}`, told);
    }
  }

  private date(day: number): string {
    const first = new Date(`${this.first.about.hospital.first_day}T00:00:00Z`);
    first.setUTCDate(first.getUTCDate() + day);
    const told = Number.isNaN(first.getTime()) ? "" : first.toLocaleDateString(document.documentElement.lang === "en" ? "en-GB" : "zh-CN", { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" });
    return `${t("day", day + 1)}, ${told}`;
  }

  private counts(run: ShownRun): HTMLElement {
    const { world } = run;
    const counted = { waiting: 0, served: 0, lying: 0, walking: 0 };
    for (const person of world.people.values()) {
      const does = doing(person, world.t);
      if (does === "waiting") counted.waiting++;
      else if (does === "in a bed") counted.lying++;
      else if (does === "walking" || does === "there") counted.walking++;
      else counted.served++;
    }
    const tile = (n: number, label: string): HTMLElement => h("div", { class: "tile" }, h("b", {}, figure(n)), h("span", {}, label));
    return h(
      "section",
      { class: "card counts" },
      this.runs.length > 1 && h("h3", {}, plain(run.about.id)),
      h(
        "div",
        { class: "tiles" },
        tile(counted.waiting, t("waiting")),
        tile(counted.served, t("served")),
        tile(counted.lying, t("lying")),
        tile(counted.walking, t("walking")),
        tile(world.illness, t("ill")),
        tile(world.duty.size, t("staff")),
      ),
      run.actors.more > 0 && h("p", { class: "soft small" }, t("undrawn", figure(run.actors.more))),
    );
  }

  private choose(chosen: Chosen | undefined): void {
    this.chosen = chosen;
    this.dossier = undefined;
    for (const view of this.views) {
      view.chosen = chosen?.who ?? "";
      if (view.follow && view.follow !== view.chosen) view.follow = "";
    }
    this.detail.hidden = !chosen;
    if (!chosen) return;
    if (chosen.who) {
      this.dossier = new Dossier(chosen.run, chosen.who);
      this.fillDetail(this.dossier.element, chosen.who);
      page.announce(t("person"));
    } else this.showRoom();
    if (matchMedia("(max-width: 60rem)").matches) this.detail.scrollIntoView({ block: "nearest" });
  }

  private fillDetail(content: HTMLElement, who = ""): void {
    const view = this.views.find((one) => one.run === this.chosen?.run);
    const follow = h("button", { type: "button", "aria-pressed": view?.follow === who, onclick: () => {
      if (!view) return;
      view.follow = view.follow === who ? "" : who;
      follow.setAttribute("aria-pressed", String(view.follow === who));
      if (view.follow && view.stage && view.stage.look.zoom < 1.2) view.stage.see({ ...view.stage.look, zoom: 1.6 });
    } }, t("follow"));
    put(
      this.detail,
      h("div", { class: "row detailTools" }, who ? follow : null, h("span", { class: "grow" }), h("button", { type: "button", class: "quiet", "aria-label": t("close"), onclick: () => this.choose(undefined) }, icon("close"))),
      content,
    );
  }

  private showRoom(): void {
    const chosen = this.chosen;
    if (chosen?.room) this.fillDetail(roomPage(chosen.run, chosen.room, (who) => this.choose({ run: chosen.run, who })));
  }

  private copy(): void {
    const link = `${location.origin}${location.pathname}${location.search}#t=${Math.floor(this.clock.t)}`;
    history.replaceState(null, "", `#t=${Math.floor(this.clock.t)}`);
    void navigator.clipboard?.writeText(link).then(() => page.announce(t("linked")));
  }

  /** What the page knows, for whoever tests it. */
  state(): unknown {
    const { world } = this.first;
    return {
      t: world.t,
      seq: world.seq,
      people: Object.fromEntries(world.people),
      queues: Object.fromEntries(world.queues),
      duty: Object.fromEntries(world.duty),
      ill: world.illness,
      named: Object.fromEntries(world.ill),
      counts: world.counts,
      drawn: this.first.actors.all.size,
    };
  }
}

async function start(): Promise<void> {
  put(page.main, h("p", { class: "soft" }, t("opening")));
  for (;;) {
    try {
      const ids = await choose();
      if (!ids.length) return;
      // What draws the map is large: it comes while the run is asked for.
      void import("phaser");
      const runs = await Promise.all(ids.slice(0, 2).map((id) => ShownRun.open(id, (text) => problem(id, text))));
      page.notice("");
      const town = new Town(runs);
      (globalThis as { town?: Town }).town = town;
      await town.open();
      return;
    } catch (error) {
      page.notice((error as Error).message);
      if (!(error instanceof ServerError) || error.status) throw error;
      await new Promise((done) => setTimeout(done, 2_000));
    }
  }
}

void start();
