// What the page tells of a person or a room, as far as the clock has come.

import { get, ServerError } from "../shell/api";
import { h, plain, put, quoted } from "../shell/dom";
import { named, type Name } from "../shell/language";
import { doing } from "./record";
import type { ShownRun } from "./shown";
import { does, happened, lasting, t } from "./words";

export interface Moment {
  t: number;
  at: string;
  what: string;
  about: Record<string, unknown>;
}

export interface Person {
  who: string;
  resident: {
    name: string; age: number; sex: string; occupation: string; about: string;
    past: string; medications: string; allergies: string; personal: string;
  } | null;
  visits: { visit: Record<string, unknown> & { id: string; number: number; begin: number }; told: boolean; moments: Moment[] }[];
}

type Words = Record<"diseases" | "examinations" | "drugs" | "departments", Record<string, Name>>;

let names: Promise<Words> | undefined;
let known: Words = { diseases: {}, examinations: {}, drugs: {}, departments: {} };

/** Fetches the names of diseases, examinations and drugs, once. */
function fetchNames(): Promise<Words> {
  names ??= get<Words>("api/town/words").then((words) => (known = words));
  return names;
}

const SHOWN = 400; // lines of a visit
const QUIET = new Set(["walked", "queued", "called", "began", "ended", "sampled", "fell ill"]);

/** Returns a time of day, `09:12`. */
export function clockOf(time: number): string {
  const minutes = Math.floor(time / 60) % 1440;
  return `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;
}

/** Returns what an id of a run or of the knowledge means. */
export function meaning(run: ShownRun, id: unknown): string {
  const told = String(id ?? "");
  const { hospital } = run.about;
  const [first = "", ...rest] = told.split(":");
  const name = hospital.areas[first]?.name ?? hospital.staff[first]?.name ?? hospital.departments[first] ??
    known.examinations[first] ?? known.drugs[first] ?? known.diseases[first] ?? known.departments[first];
  return plain(named(name, first) + (rest.length ? `: ${rest.join(":").trim()}` : ""), 300);
}

function several(run: ShownRun, ids: unknown): string {
  return Array.isArray(ids) && ids.length ? ids.map((id) => meaning(run, id)).join(", ") : "–";
}

function told(run: ShownRun, { what, about }: Moment): string {
  const of = (name: string): string => meaning(run, about[name]);
  switch (what) {
    case "walked":
      return happened(what, meaning(run, (about["path"] as string[] | undefined)?.at(-1)));
    case "triaged":
      return happened(what, of("department"), acuity(about["acuity"]));
    case "triaged again":
      return happened(what, acuity(about["acuity"]));
    case "registered":
      return happened(what, of("department"));
    case "queued":
      return happened(what, of("queue"));
    case "called":
      return happened(what, of("staff") || of("area"));
    case "began":
    case "ended":
      return happened(what, about["examination"] ? of("examination") : plain(about["activity"], 60));
    case "consulted":
      return happened(what, several(run, about["ordered"]));
    case "examined":
      return happened(what, of("examination"));
    case "referred":
      return happened(what, of("to_department"));
    case "diagnosed":
      return happened(what, plain(about["diagnosis"], 200) || "–");
    case "prescribed":
      return happened(what, several(run, about["treatment"]));
    case "dispensed":
      return happened(what, several(run, about["drugs"]));
    case "admitted":
    case "moved":
      return happened(what, of("area"));
    case "left unseen":
      return happened(what, plain(about["reason"], 100));
    case "visit failed":
      return happened(what, plain(about["error"], 100));
    case "followed up":
      return happened(what, outcome(about["outcome"]));
    case "measured":
      return happened(what, Object.entries((about["vital_signs"] ?? {}) as Record<string, unknown>).map(([sign, value]) => `${sign.replaceAll("_", " ")} ${String(value)}`).join(", "));
    case "reported":
      return happened(what, plain(about["diagnosis"], 300));
    default:
      return happened(what);
  }
}

function acuity(id: unknown): string {
  return id === "emergency" || id === "urgent" || id === "routine" ? t(id) : String(id ?? "");
}

function outcome(id: unknown): string {
  return id === "recovered" || id === "better" || id === "worse" ? t(id) : String(id ?? "");
}

function voice(id: unknown): string {
  return id === "doctor" || id === "nurse" || id === "patient" || id === "examiner" ? t(id) : plain(id, 20);
}

/** Tells of one person, and more of it as the clock goes on. */
export class Dossier {
  readonly element = h("div", { class: "dossier" });
  private person: Person | undefined;
  private truth = false;
  private shown = "";
  private readonly head = h("div");
  private readonly body = h("div");

  constructor(
    private readonly run: ShownRun,
    readonly who: string,
  ) {
    put(this.element, this.head, this.body);
    void this.fetch();
  }

  private async fetch(): Promise<void> {
    try {
      const [person] = await Promise.all([
        // Of the staff all that is known stands in the hospital file.
        this.run.about.hospital.staff[this.who] ? undefined : get<Person>("api/town/person", { run: this.run.about.id, who: this.who, truth: this.truth ? 1 : 0 }),
        fetchNames(),
      ]);
      this.person = person;
    } catch (error) {
      put(this.body, h("p", { class: "soft" }, (error as ServerError).message));
    }
    this.shown = "";
    this.show(this.run.world.t);
  }

  /** Shows what had happened by a time. */
  show(time: number): void {
    const here = this.run.world.people.get(this.who);
    const visits = this.person?.visits.filter((visit) => visit.visit.begin <= time) ?? [];
    const until = visits.reduce((n, visit) => n + visit.moments.filter((moment) => moment.t <= time).length, 0);
    const state = `${until} ${here?.area} ${here ? doing(here, time) : ""} ${Math.floor(time / 60)}`;
    if (state === this.shown) return;
    const grown = !this.shown.startsWith(`${until} `);
    this.shown = state;
    this.showHead(time);
    if (grown && this.person) this.showVisits(visits, time);
  }

  private showHead(time: number): void {
    const { run, who, person } = this;
    const staff = run.about.hospital.staff[who];
    const ill = run.world.ill.get(who);
    const here = run.world.people.get(who);
    const duty = run.world.duty.get(who);
    const one = person?.resident;
    const name = staff ? named(staff.name, who) : one?.name || ill?.[0] || String(person?.visits[0]?.visit["name"] ?? "") || who;
    const facts: [string, HTMLElement | string][] = [];
    const does_ = here ? `${does(doing(here, time))} · ${meaning(run, here.area)} · ${t("since", lasting(time - (here.since || here.began)))}` : "";
    if (staff) {
      facts.push([t("doing"), duty ? `${meaning(run, duty.area)}${duty.serves.length ? ` · ${duty.serves.map((id) => plain(run.world.ill.get(id)?.[0] ?? id, 60)).join(", ")}` : ""}` : t("home")]);
    } else facts.push([t("doing"), does_ || t("home")]);
    if (here?.staff) facts.push(["", t("with", meaning(run, here.staff))]);
    if (here?.acuity) facts.push(["", h("span", { class: `acuity ${here.acuity}` }, t(here.acuity))]);
    const now = this.truth && ill ? person?.visits.filter((visit) => visit.visit.begin <= time).at(-1)?.visit : undefined;
    if (now?.["disease"]) facts.push([t("has"), `${meaning(run, now["disease"])}, ${plain(now["severity"], 20)}`]);
    for (const field of ["past", "medications", "allergies", "personal"] as const) if (one?.[field]) facts.push([t(field), quoted(one[field])]);
    const line = staff
      ? [t(staff.job as "doctor"), ...(staff.departments ?? []).map((id) => meaning(run, id))].join(" · ")
      : one ? [t("year", one.age), one.sex === "female" || one.sex === "male" ? t(one.sex) : one.sex, plain(one.occupation, 100)].join(" · ") : who;
    put(
      this.head,
      h("h2", {}, quoted(name)),
      h("p", { class: "soft small" }, line),
      staff?.about ? h("p", { class: "small" }, quoted(named(staff.about as unknown as Name))) : one?.about ? h("p", { class: "small" }, quoted(one.about)) : null,
      h("dl", { class: "facts small" }, ...facts.flatMap(([label, value]) => [h("dt", {}, label), h("dd", {}, value)])),
    );
  }

  private showVisits(visits: Person["visits"], time: number): void {
    const { run } = this;
    if (run.about.hospital.staff[this.who]) {
      put(this.body);
      return;
    }
    const open = this.body.querySelector("details.knew")?.hasAttribute("open") ?? false;
    const toggle = h(
      "label",
      { class: "row small switch" },
      h("input", {
        type: "checkbox",
        checked: this.truth,
        onchange: (event) => {
          this.truth = (event.target as HTMLInputElement).checked;
          void this.fetch();
        },
      }),
      t("truth"),
    );
    const last = visits.at(-1);
    const parts = [...visits].reverse().map((visit, n) => {
      const until = visit.moments.filter((moment) => moment.t <= time);
      const more = visit.moments.length > until.length;
      const begin = Math.floor(visit.visit.begin / 86_400);
      return h(
        "details",
        { open: n === 0, class: "visit" },
        h("summary", {}, `${t("visit", visits.length - n)} · ${t("day", begin + 1)} ${clockOf(visit.visit.begin)}`),
        this.truth && visit.visit["disease"] ? h("p", { class: "small truth" }, `${t("has")}: ${meaning(run, visit.visit["disease"])}, ${plain(visit.visit["severity"], 20)}`) : null,
        until.length > SHOWN ? h("p", { class: "soft small" }, t("earlier", until.length - SHOWN)) : null,
        h("ol", { class: "moments" }, ...until.slice(-SHOWN).map((moment) => this.line(moment))),
        more ? h("p", { class: "soft small" }, t("later")) : null,
        this.truth && !more ? h("p", { class: "small" }, this.whole(visit.visit.id)) : null,
        !visit.told ? h("p", { class: "soft small" }, t("untold")) : null,
      );
    });
    put(
      this.body,
      toggle,
      last ? this.knew(last.moments.filter((moment) => moment.t <= time), open) : null,
      h("h3", {}, t("visits")),
      ...(parts.length ? parts : [h("p", { class: "soft small" }, t("noVisit"))]),
    );
  }

  /** Leads to all that is kept of a visit; with the truth in it, and so behind the switch. */
  private whole(visit: string): HTMLElement {
    const button = h("button", { type: "button", class: "link", onclick: () => {
      get<{ key: string }>("api/browse/visit", { run: this.run.about.id, visit }).then(
        ({ key }) => { location.href = `./browse#/${key}`; },
        (error: ServerError) => { button.replaceWith(error.message); },
      );
    } }, t("whole"));
    return button;
  }

  private line(moment: Moment): HTMLElement {
    const { what, about } = moment;
    const time = h("time", { class: "soft" }, clockOf(moment.t));
    if (what === "said") {
      return h("li", { class: `said ${plain(about["who"], 20)}` }, time, h("b", {}, voice(about["who"])), " ", quoted(about["text"]));
    }
    if (what === "results") return h("li", { class: "results" }, time, quoted(about["text"]));
    const right = about["right"];
    const mark = typeof right === "boolean" ? h("span", { class: right ? "good" : "bad" }, right ? " ✓" : " ✗") : null;
    return h("li", { class: QUIET.has(what) ? "quiet" : "event" }, time, told(this.run, moment), mark);
  }

  /** What the doctor had been told and shown by now: answers and results, and nothing that came later. */
  private knew(until: Moment[], open: boolean): HTMLElement {
    const heard = until.filter((moment) => moment.what === "results" || moment.what === "measured" || (moment.what === "said" && moment.about["who"] === "patient"));
    const list = heard.map((moment) => h("li", {}, moment.what === "measured" ? told(this.run, moment) : quoted(moment.about["text"])));
    return h("details", { class: "knew", open }, h("summary", {}, t("knew")), list.length ? h("ul", {}, ...list) : h("p", { class: "soft small" }, t("knewNothing")));
  }
}

/** Returns what there is to say of a room at a time. */
export function roomPage(run: ShownRun, id: string, choose: (who: string) => void): HTMLElement {
  const { world, about } = run;
  const area = about.hospital.areas[id];
  const here = [...world.people].filter(([, person]) => person.area === id && doing(person, world.t) !== "walking");
  const staff = [...world.duty].filter(([, duty]) => duty.area === id);
  const queues = [...world.queues].filter(([, line]) => line.some((place) => world.people.get(place[3])?.area === id));
  const order = new Map(queues.flatMap(([, line]) => line.map((place, n) => [place[3], n] as const)));
  here.sort(([a], [b]) => (order.get(a) ?? 1e6) - (order.get(b) ?? 1e6));
  const inBeds = here.filter(([, person]) => person.bed === id).length;
  return h(
    "div",
    {},
    h("h2", {}, plain(named(area?.name, id))),
    h(
      "p",
      { class: "soft small" },
      [area?.beds ? t("beds", inBeds, area.beds) : t("places", area?.capacity ?? 1), ...queues.map(([name, line]) => `${meaning(run, name)}: ${line.length} ${t("waiting")}`)].join(" · "),
    ),
    staff.length ? h("ul", { class: "people" }, ...staff.map(([who]) => h("li", {}, person(meaning(run, who), () => choose(who)), h("span", { class: "soft small" }, t((about.hospital.staff[who]?.job ?? "clerk") as "clerk"))))) : null,
    here.length
      ? h(
          "ul",
          { class: "people" },
          ...here.slice(0, 200).map(([who, one]) =>
            h(
              "li",
              {},
              person(plain(world.ill.get(who)?.[0] ?? who, 80), () => choose(who)),
              one.acuity ? h("span", { class: `acuity ${one.acuity}` }, t(one.acuity)) : null,
              h("span", { class: "soft small" }, `${does(doing(one, world.t))} ${t("since", lasting(world.t - (one.since || one.began)))}`),
            ),
          ),
        )
      : h("p", { class: "soft" }, t("nobody")),
  );
}

function person(name: string, act: () => void): HTMLElement {
  return h("button", { type: "button", class: "link", onclick: act }, quoted(name));
}
