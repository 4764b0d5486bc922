// What is said at a moment: the dialogues of those who are with somebody now, fetched when they begin.

import { get } from "../shell/api";
import type { Person } from "./dossier";
import type { ShownRun } from "./shown";

const TOO_FAST = 180; // simulated seconds a second above which nobody could read it
const KEPT = 40;
const AT_ONCE = 4;
const SHOWN = 90; // simulated seconds for which a line stands, at least; more at higher speeds

export interface Spoken {
  who: string;
  text: string;
  voice: string;
}

interface Line {
  t: number;
  who: string;
  text: string;
}

export class Talk {
  private readonly known = new Map<string, Line[]>();
  private asking = 0;

  /** Returns what is being said in a run. */
  now(run: ShownRun, chosen: string, speed: number): Spoken[] {
    if (!run.about.traces || speed > TOO_FAST) return [];
    const { world } = run;
    const said: Spoken[] = [];
    const talking = [...world.people].filter(([, person]) => person.served && (person.activity === "consultation" || person.activity === "results" || person.served === "triage"));
    talking.sort(([a], [b]) => Number(b === chosen) - Number(a === chosen));
    for (const [who, person] of talking.slice(0, 12)) {
      const lines = this.lines(run, who, person.since);
      if (!lines) continue;
      let last: Line | undefined;
      for (const line of lines) if (line.t <= world.t) last = line;
      if (!last || world.t - last.t > Math.max(SHOWN, speed * 3)) continue;
      const speaker = last.who === "patient" ? who : person.staff;
      if (speaker) said.push({ who: speaker, text: last.text, voice: last.who });
    }
    return said;
  }

  private lines(run: ShownRun, who: string, since: number): Line[] | undefined {
    const key = `${run.about.id} ${who} ${since}`;
    const known = this.known.get(key);
    if (known || this.asking >= AT_ONCE) return known;
    this.asking++;
    this.known.set(key, []);
    get<Person>("api/town/person", { run: run.about.id, who })
      .then((person) => {
        const lines = person.visits.flatMap((visit) => visit.moments).filter((moment) => moment.what === "said");
        this.known.set(key, lines.map((one) => ({ t: one.t, who: String(one.about["who"]), text: String(one.about["text"]) })));
        for (const old of this.known.keys()) if (this.known.size > KEPT) this.known.delete(old);
      })
      .catch(() => this.known.set(key, []))
      .finally(() => this.asking--);
    return undefined;
  }
}
