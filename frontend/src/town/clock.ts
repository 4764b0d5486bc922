// The time that is shown: one clock for all runs of a page.

export const SPEEDS = [1, 10, 60, 300, 1_000, 3_000, 10_000] as const;
export const DAY = 86_400;

/** Simulated time, in seconds since midnight of the first day. */
export class Clock {
  t = 0;
  speed = 60;
  playing = true;
  /** Whether it keeps up with a run that goes on. */
  live = false;
  /** Simulated seconds a second, as it really goes. */
  pace = 0;

  /** Returns the time that is to be reached after some seconds on the wall; `head` is how far the runs have come. */
  next(seconds: number, head: number): number {
    if (!this.playing) return this.t;
    if (!this.live) return this.t + seconds * this.speed;
    // Half of what it lags behind, every half second; never slower than the run would be watched.
    return Math.min(head, this.t + Math.max((head - this.t) * (1 - Math.exp(-seconds / 0.7)), Math.min(head - this.t, seconds * 10)));
  }

  reach(t: number, seconds: number): void {
    const pace = seconds > 0 ? (t - this.t) / seconds : 0;
    this.pace = this.pace * 0.9 + pace * 0.1;
    this.t = t;
  }
}
