// The state of a hospital, made from what happened: the same as polyclinic.hospital.record.world makes, from the same
// log, live or again. A test has both read one run and compares them.

export type Acuity = "emergency" | "urgent" | "routine";
export const ACUITIES: readonly Acuity[] = ["emergency", "urgent", "routine"];

/** What happened, as the log has it; fields that say nothing are left out. */
export interface What {
  what: string;
  [field: string]: unknown;
}

/** A line of the log: number, time in seconds, to whom, what. */
export type Happening = [seq: number, t: number, who: string, what: What];

export interface Visitor {
  home: string;
  area: string;
  path: string[];
  times: number[];
  began: number;
  queue: string;
  since: number;
  staff: string;
  served: string;
  department: string;
  acuity: Acuity | null;
  bed: string;
  activity: string | null;
  examination: string;
}

/** Who is ill: the name, and where it lives. What somebody has is told where the truth is asked for, and not here. */
export type Ill = [name: string, home: number[]];
export type StaffWalk = [path: string[], times: number[], began: number];
export interface Duty {
  area: string;
  since: number;
  serves: string[];
}
/** 0 of an emergency, 1 of who was with a doctor, 2 of the others; rank of the acuity; number of the line; who. */
export type Place = [first: number, rank: number, seq: number, who: string];

/** A state as the server sends it, where what says nothing is left out. */
export interface SentWorld {
  t: number;
  seq: number;
  people: Record<string, Partial<Visitor>>;
  ill: number;
  duty: Record<string, Partial<Duty>>;
  staff_walks: Record<string, StaffWalk>;
  queues: Record<string, Place[]>;
  counts: Record<string, number>;
}

const COUNTED: Record<string, string> = {
  "fell ill": "fell_ill",
  triaged: "triaged",
  referred: "referred",
  examined: "examined",
  diagnosed: "diagnosed",
  "went home": "went_home",
  "left unseen": "left_unseen",
  "visit failed": "failed",
  "follow-up failed": "follow_ups_failed",
  admitted: "admitted",
  discharged: "discharged",
  died: "died",
};

function visitor(known: Partial<Visitor> = {}): Visitor {
  return {
    home: "", area: "", path: [], times: [], began: 0, queue: "", since: 0, staff: "", served: "", department: "",
    acuity: null, bed: "", activity: null, examination: "", ...known,
  };
}

function rank(acuity: Acuity | null): number {
  return acuity === null ? ACUITIES.length : ACUITIES.indexOf(acuity);
}

function before(a: Place, b: Place): boolean {
  for (let n = 0; n < 3; n++) if (a[n] !== b[n]) return (a[n] as number) < (b[n] as number);
  return a[3] < b[3];
}

function insert(line: Place[], place: Place): void {
  let at = line.length;
  while (at > 0 && before(place, line[at - 1] as Place)) at--;
  line.splice(at, 0, place);
}

/** What somebody does who is not at home. */
export type Doing = "walking" | "waiting" | "in consultation" | "served" | "in a bed" | "there";

export function doing(person: Visitor, t: number): Doing {
  const arrives = person.times[person.times.length - 1];
  if (arrives !== undefined && t < arrives) return "walking";
  if (person.served) return person.served === person.department ? "in consultation" : "served";
  if (person.bed) return "in a bed";
  return person.queue ? "waiting" : "there";
}

/** The hospital at one time. */
export class World {
  t = 0;
  seq = -1;
  people = new Map<string, Visitor>();
  ill = new Map<string, Ill>();
  duty = new Map<string, Duty>();
  staffWalks = new Map<string, StaffWalk>();
  queues = new Map<string, Place[]>();
  counts: Record<string, number> = {};
  private homecoming: [number, string][] = [];
  private untold = 0; // who was ill before, and is not known by name yet
  private readonly gone = new Set<string>(); // who got well meanwhile

  /** How many are ill in the town. */
  get illness(): number {
    return this.ill.size + Math.max(0, this.untold - this.gone.size);
  }

  /** Takes who was ill at the time of the state that was sent. */
  meet(ill: Record<string, Ill>): void {
    for (const [who, one] of Object.entries(ill)) if (!this.gone.has(who) && !this.ill.has(who)) this.ill.set(who, one);
    this.untold = 0;
    this.gone.clear();
  }

  private recover(who: string): void {
    if (!this.ill.delete(who) && this.untold) this.gone.add(who);
  }

  static from(sent: SentWorld): World {
    const world = new World();
    world.t = sent.t;
    world.seq = sent.seq;
    for (const [who, person] of Object.entries(sent.people)) world.people.set(who, visitor(person));
    world.untold = sent.ill;
    for (const [who, duty] of Object.entries(sent.duty)) world.duty.set(who, { area: "", since: 0, serves: [], ...duty });
    for (const [who, walk] of Object.entries(sent.staff_walks)) world.staffWalks.set(who, walk);
    for (const [name, line] of Object.entries(sent.queues)) world.queues.set(name, line);
    world.counts = { ...sent.counts };
    const walks: [string, string[], number[]][] = [...world.staffWalks].map(([who, [path, times]]) => [who, path, times]);
    for (const [who, { path, times, home }] of world.people) if (path[path.length - 1] === home) walks.push([who, path, times]);
    world.homecoming = walks.filter(([, , times]) => times.length).map(([who, , times]) => [times[times.length - 1] as number, who]);
    world.homecoming.sort((a, b) => a[0] - b[0] || (a[1] < b[1] ? -1 : 1));
    return world;
  }

  /** Goes on to a time at which nothing else happens. */
  advance(t: number): void {
    this.t = t;
    while (this.homecoming.length && (this.homecoming[0] as [number, string])[0] <= t) {
      const [arrives, who] = this.homecoming.shift() as [number, string];
      const walk = this.staffWalks.get(who);
      if (walk && walk[1][walk[1].length - 1] === arrives) {
        this.staffWalks.delete(who);
        continue;
      }
      const person = this.people.get(who);
      if (person?.times.length && person.times[person.times.length - 1] === arrives && person.path[person.path.length - 1] === person.home) {
        this.leave(who);
      }
    }
  }

  apply([seq, t, who, what]: Happening): void {
    this.advance(t);
    this.seq = seq;
    const counted = COUNTED[what.what];
    if (counted) this.counts[counted] = (this.counts[counted] ?? 0) + 1;
    this.change(who, what);
  }

  private change(who: string, what: What): void {
    switch (what.what) {
      case "fell ill":
        this.ill.set(who, [(what["name"] as string) ?? "", (what["home"] as number[]) ?? []]);
        break;
      case "walked":
        this.walk(who, what["path"] as string[], what["times"] as number[]);
        break;
      case "staff walked": {
        const times = what["times"] as number[];
        this.staffWalks.set(who, [what["path"] as string[], times, this.t]);
        this.comesHome(times[times.length - 1] ?? this.t, who);
        break;
      }
      case "shift began":
        this.duty.set(who, { area: what["area"] as string, since: this.t, serves: [] });
        break;
      case "shift ended":
        this.duty.delete(who);
        break;
      case "queued":
        this.queue(who, what);
        break;
      case "called":
        this.call(who, what);
        break;
      case "began": {
        const person = this.person(who);
        person.activity = what["activity"] as string;
        person.examination = (what["examination"] as string) ?? "";
        break;
      }
      case "ended":
      case "sampled":
      case "consulted":
      case "examined": {
        const person = this.person(who);
        // A result that comes later ends nothing.
        if (what.what !== "examined" || what["examination"] === person.examination) {
          person.activity = null;
          person.examination = "";
        }
        break;
      }
      case "interrupted": {
        const person = this.person(who);
        const served = person.served;
        this.endService(who);
        person.served = served;
        break;
      }
      case "resumed":
        this.resume(who, what["staff"] as string);
        break;
      case "triaged":
      case "registered": {
        const person = this.person(who);
        this.endService(who);
        person.department = what["department"] as string;
        if (what.what === "triaged") person.acuity = what["acuity"] as Acuity;
        break;
      }
      case "triaged again":
        this.moveUp(who, what["acuity"] as Acuity);
        break;
      case "referred":
      case "prescribed":
      case "dispensed":
        this.person(who);
        this.endService(who);
        break;
      case "admitted":
      case "moved": {
        const person = this.person(who);
        this.endWait(who);
        this.endService(who);
        person.bed = person.area = what["area"] as string;
        person.since = this.t;
        break;
      }
      case "discharged": {
        const person = this.person(who);
        this.endWait(who);
        person.bed = "";
        break;
      }
      case "died":
        this.recover(who);
        this.leave(who);
        break;
      case "left unseen":
      case "visit failed": {
        const person = this.person(who);
        this.endWait(who);
        this.endService(who);
        if (!person.home) this.leave(who);
        break;
      }
      case "went home":
        this.leave(who);
        break;
      case "followed up": {
        const outcome = what["outcome"] as string;
        this.counts[outcome] = (this.counts[outcome] ?? 0) + 1;
        if (outcome === "recovered") this.recover(who);
        break;
      }
    }
  }

  private person(who: string): Visitor {
    let person = this.people.get(who);
    if (!person) this.people.set(who, (person = visitor()));
    return person;
  }

  private leave(who: string): void {
    if (!this.people.has(who)) return;
    this.endWait(who);
    this.endService(who);
    this.people.delete(who);
  }

  private endWait(who: string): void {
    const person = this.people.get(who) as Visitor;
    if (!person.queue) return;
    const line = (this.queues.get(person.queue) ?? []).filter((place) => place[3] !== who);
    if (line.length) this.queues.set(person.queue, line);
    else this.queues.delete(person.queue);
    person.queue = "";
  }

  private endService(who: string): void {
    const person = this.people.get(who) as Visitor;
    const duty = this.duty.get(person.staff);
    if (duty) duty.serves = duty.serves.filter((one) => one !== who);
    person.staff = person.served = person.examination = "";
    person.activity = null;
  }

  private comesHome(t: number, who: string): void {
    let at = this.homecoming.length;
    while (at > 0 && (this.homecoming[at - 1] as [number, string])[0] > t) at--;
    this.homecoming.splice(at, 0, [t, who]);
  }

  private walk(who: string, path: string[], times: number[]): void {
    const last = path[path.length - 1] as string;
    if (!this.people.has(who)) {
      this.counts["came"] = (this.counts["came"] ?? 0) + 1;
      this.people.set(who, visitor({ home: path[0] as string }));
    }
    const person = this.person(who);
    this.endWait(who);
    if (person.served && person.area !== last) this.endService(who);
    Object.assign(person, { path, times, began: this.t, area: last });
    if (last === person.home) this.comesHome(times[times.length - 1] ?? this.t, who);
  }

  private queue(who: string, what: What): void {
    const person = this.person(who);
    this.endWait(who);
    this.endService(who);
    const acuity = (what["acuity"] as Acuity | undefined) ?? null;
    const name = what["queue"] as string;
    person.queue = name;
    person.since = this.t;
    const line = this.queues.get(name) ?? [];
    insert(line, [acuity === "emergency" ? 0 : what["again"] ? 1 : 2, rank(acuity), this.seq, who]);
    this.queues.set(name, line);
  }

  private call(who: string, what: What): void {
    const person = this.person(who);
    this.endWait(who);
    this.endService(who);
    person.staff = what["staff"] as string;
    person.served = what["queue"] as string;
    person.since = this.t;
    person.area = what["area"] as string;
    this.serve(person.staff, who, person.area);
  }

  private resume(who: string, staff: string): void {
    const person = this.person(who);
    person.staff = staff;
    this.serve(staff, who, person.area);
  }

  private serve(staff: string, who: string, area: string): void {
    const duty = this.duty.get(staff);
    if (!duty) return;
    duty.serves.push(who);
    duty.area = area;
  }

  private moveUp(who: string, acuity: Acuity): void {
    const person = this.person(who);
    person.acuity = acuity;
    const line = this.queues.get(person.queue) ?? [];
    for (const place of line.filter((one) => one[3] === who)) {
      line.splice(line.indexOf(place), 1);
      insert(line, [acuity === "emergency" ? 0 : place[0], rank(acuity), place[2], who]);
    }
  }
}
