// Brings what happened, piece by piece: pages of a run that is recorded, and, at the end of one that goes on, its stream.

import { get, ServerError } from "../shell/api";
import { type Happening, type Ill, type SentWorld, World } from "./record";

export interface About {
  id: string;
  hospital: Hospital;
  language: "en" | "zh";
  residents: number;
  seed: number;
  minds: Record<string, string>;
  traces: boolean;
  happenings: number;
  t: number;
  over: boolean;
  stopped: boolean;
}

export interface Hospital {
  name: { en: string; zh: string };
  first_day: string;
  departments: Record<string, { en: string; zh: string }>;
  areas: Record<string, { name: { en: string; zh: string }; kind: string; capacity?: number; beds?: number; seats?: number }>;
  staff: Record<string, { name: { en: string; zh: string }; job: string; area: string; departments?: string[]; about?: Record<string, string>; skill?: string }>;
}

const FIRST = 500; // lines of the first page after a seek
const PAGE = 2_000;
const LOW = 3_000; // lines ahead below which more are fetched
const HIGH = 12_000; // lines ahead above which a stream is left, until they are used up
const LATER = 400; // milliseconds after a seek until it is asked who is ill at home
const REST = 600; // milliseconds after a seek until lines are fetched, where the clock stands: whoever seeks goes on seeking
const AGAIN = 1_000; // milliseconds until a server that does not answer is asked again

/** The lines of a run, from any time on. */
export class Feed {
  /** Whether the run has come to its end, as far as is known. */
  over: boolean;
  /** Whether it has not, and nobody is at it any more. */
  stopped: boolean;
  /** Time of the last line that is known to be there, in seconds. */
  head: number;
  private ahead: Happening[] = [];
  private taken = 0; // of those ahead
  private next = 0; // number of the line to be fetched
  private asking = false;
  private stream: EventSource | null = null;
  private done = false; // whether all lines there were have been fetched
  private turn = 0; // of seeking: what was asked for before it is thrown away
  private asks = new AbortController(); // of this turn
  private sought = -Infinity;

  constructor(
    readonly about: About,
    private readonly problem: (text: string) => void,
  ) {
    this.over = about.over;
    this.stopped = about.stopped;
    this.head = about.t;
  }

  /** Returns the state at a time, and goes on from there. */
  async seek(t: number): Promise<World> {
    const turn = this.begin();
    const at = Math.max(0, Math.floor(t));
    const { world, over, stopped } = await this.state(at, turn);
    if (turn !== this.turn) throw new DOMException("sought elsewhere", "AbortError");
    this.sought = performance.now();
    this.problem("");
    this.leave();
    this.over = over;
    this.stopped = stopped;
    this.ahead = [];
    this.taken = 0;
    this.next = world.seq + 1;
    this.asking = false;
    const made = World.from(world);
    // When the map stands: who is ill at home is not on it.
    setTimeout(() => void this.meet(made, at, turn), LATER);
    return made;
  }

  /** Asks for the state at a time, as often as it takes: a server that is gone may come back. */
  private async state(at: number, turn: number): Promise<{ world: SentWorld; over: boolean; stopped: boolean }> {
    for (;;) {
      try {
        return await get("api/town/state", { run: this.about.id, t: at }, this.asks.signal);
      } catch (error) {
        if (!(error instanceof ServerError) || error.status || turn !== this.turn) throw error;
        this.problem(error.message);
        await new Promise((done) => setTimeout(done, AGAIN));
        if (turn !== this.turn) throw new DOMException("sought elsewhere", "AbortError");
      }
    }
  }

  /** Begins a turn: nothing that was asked for before stands in the way of what is asked for now. */
  private begin(): number {
    this.asks.abort();
    this.asks = new AbortController();
    return ++this.turn;
  }

  /** Asks who was ill, by name. */
  private async meet(world: World, at: number, turn: number): Promise<void> {
    if (turn !== this.turn) return;
    try {
      const ill = await get<Record<string, Ill>>("api/town/ill", { run: this.about.id, t: at }, this.asks.signal);
      if (turn === this.turn) world.meet(ill);
    } catch {
      // Those have no name on the map, and the page says already that the server is gone.
    }
  }

  /** Returns the next line, if it is there already and happened by a time. */
  take(t: number): Happening | undefined {
    const one = this.ahead[this.taken];
    if (!one || one[1] > t) return undefined;
    this.taken++;
    return one;
  }

  /** Returns until when it is known what happens, in seconds: no line that is still to come is earlier. */
  known(): number {
    const last = this.ahead[this.ahead.length - 1];
    if (this.done && this.over) return Infinity;
    return last !== undefined && this.taken < this.ahead.length ? last[1] : this.done ? this.head : -1;
  }

  /** Sees to it that there is enough ahead. */
  fill(playing: boolean): void {
    if (!playing && performance.now() - this.sought < REST) return;
    if (this.taken > 4_000) {
      this.ahead = this.ahead.slice(this.taken);
      this.taken = 0;
    }
    const left = this.ahead.length - this.taken;
    if (this.stream) {
      if (left > HIGH) this.leave();
      return;
    }
    if (left < LOW && !this.asking && !(this.over && this.done)) void this.fetch();
  }

  close(): void {
    this.begin();
    this.leave();
  }

  private leave(): void {
    this.stream?.close();
    this.stream = null;
    this.done = false;
  }

  private async fetch(): Promise<void> {
    this.asking = true;
    const turn = this.turn;
    try {
      const { rows } = await get<{ rows: Happening[] }>(
        "api/town/happenings",
        { run: this.about.id, begin: this.next, n: this.ahead.length ? PAGE : FIRST },
        this.asks.signal,
      );
      if (turn !== this.turn) return;
      this.problem("");
      this.add(rows);
      this.done = rows.length === 0;
      if (this.done && !this.over) this.listen();
    } catch (error) {
      if (turn !== this.turn) return;
      this.problem((error as ServerError).message);
      await new Promise((done) => setTimeout(done, AGAIN));
    } finally {
      if (turn === this.turn) this.asking = false;
    }
  }

  private add(rows: Happening[]): void {
    if (rows.length) this.stopped = false;
    for (const row of rows) {
      if (row[0] < this.next) continue; // sent again after a break
      this.ahead.push(row);
      this.next = row[0] + 1;
      this.head = Math.max(this.head, row[1]);
    }
  }

  private listen(): void {
    const stream = new EventSource(`api/town/live?${new URLSearchParams({ run: this.about.id, after: String(this.next) })}`);
    this.stream = stream;
    stream.onmessage = (event) => {
      this.problem("");
      this.add(JSON.parse(event.data as string) as Happening[]);
    };
    stream.addEventListener("stopped", (event) => (this.stopped = (event as MessageEvent<string>).data === "true"));
    stream.addEventListener("over", () => {
      this.over = true;
      this.stopped = false;
      this.done = true;
      stream.close();
      this.stream = null;
    });
    stream.addEventListener("broken", (event) => {
      this.problem((JSON.parse((event as MessageEvent<string>).data) as { error: string }).error);
      stream.close();
    });
    // The browser asks again by itself, from the last line that it has; one that gives up is asked for by us.
    stream.onerror = () => {
      void get("api/about").catch((error: ServerError) => this.problem(error.message));
      if (stream.readyState === EventSource.CLOSED && this.stream === stream) {
        this.stream = null;
        this.asking = true;
        setTimeout(() => (this.asking = false), AGAIN);
      }
    };
  }
}
