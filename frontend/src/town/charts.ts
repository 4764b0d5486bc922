// Small charts that move with the clock: solid until now, faint for what is still to come.

import { get } from "../shell/api";
import { h, put, svg } from "../shell/dom";
import { figure } from "../shell/language";
import { ACUITIES } from "./record";
import type { ShownRun } from "./shown";
import { t } from "./words";

type Point = [
  t: number, waiting: [number, number, number], served: number, lying: number, walking: number,
  calls: [number, number, number], waited: [number, number, number],
  diagnosed: number, right: number, recovered: number, better: number, worse: number, died: number,
];
export type Note = [t: number, what: string, who: string, about: string];

interface Read {
  every: number;
  points: Point[];
  notes: Note[];
  more: boolean;
  over: boolean;
}

const [WIDTH, HEIGHT] = [320, 76];
const MOST = 240; // points of a line
const WINDOW = 6 * 3600;
const AGAIN = 4_000;
const BETWEEN = 25; // milliseconds from one piece of a long log to the next

interface Line {
  name: string;
  mark: string;
  value(point: Point, before: Point): number | null;
}

interface Chart {
  title: string;
  lines: Line[];
  least: number;
}

const perCent = (part: number, whole: number): number | null => (whole > 0 ? (100 * part) / whole : null);

function charts(): Chart[] {
  return [
    {
      title: t("census"),
      least: 4,
      lines: [
        { name: t("waiting"), mark: "a", value: (p) => p[1][0] + p[1][1] + p[1][2] },
        { name: t("served"), mark: "b", value: (p) => p[2] },
        { name: t("lying"), mark: "c", value: (p) => p[3] },
      ],
    },
    {
      title: t("waits"),
      least: 10,
      lines: ACUITIES.map((acuity, n) => ({
        name: t(acuity),
        mark: acuity,
        value: (p: Point, b: Point) => {
          const calls = (p[5][n] ?? 0) - (b[5][n] ?? 0);
          return calls > 0 ? ((p[6][n] ?? 0) - (b[6][n] ?? 0)) / calls / 60 : null;
        },
      })),
    },
    { title: t("accuracy"), least: 100, lines: [{ name: t("right"), mark: "b", value: (p) => perCent(p[8], p[7]) }] },
    {
      title: t("outcomes"),
      least: 4,
      lines: [
        { name: t("recovered"), mark: "routine", value: (p) => p[9] },
        { name: t("better"), mark: "b", value: (p) => p[10] },
        { name: t("worse"), mark: "urgent", value: (p) => p[11] },
        { name: t("died"), mark: "emergency", value: (p) => p[12] },
      ],
    },
  ];
}

/** The charts of one run. */
export class Charts {
  readonly element = h("div", { class: "charts" });
  notes: Note[] = [];
  onNotes: () => void = () => {};
  private points: Point[] = [];
  private every = 1_800;
  private drawn: { now: SVGElement; values: HTMLElement[]; chart: Chart; top: number }[] = [];
  private closed = false;
  private reading = true;
  private painted = 0; // points that were there when they were drawn last
  private at = -1;

  constructor(private readonly run: ShownRun) {
    void this.read();
  }

  close(): void {
    this.closed = true;
  }

  private async read(): Promise<void> {
    let more = true;
    while (!this.closed) {
      try {
        const read = await get<Read>("api/town/course", { run: this.run.about.id, points: this.points.length, notes: this.notes.length });
        this.every = read.every;
        more = read.more;
        this.reading = more;
        this.points.push(...read.points);
        if (read.notes.length) {
          this.notes.push(...read.notes);
          this.onNotes();
        }
        if ((read.points.length && !more) || this.points.length > 1.3 * this.painted || !this.drawn.length) this.paint(more);
        if (!more && read.over) return;
        if (more) {
          // Whoever seeks meanwhile goes first.
          await new Promise((done) => setTimeout(done, BETWEEN));
          continue;
        }
      } catch {
        // The page says so already; asked again below.
      }
      await new Promise((done) => setTimeout(done, AGAIN));
    }
  }

  private before(n: number): Point {
    return this.points[Math.max(0, n - Math.round(WINDOW / this.every))] as Point;
  }

  /** Draws them anew. */
  paint(reading = false): void {
    const { points } = this;
    if (points.length < 2) {
      put(this.element, h("p", { class: "soft small" }, t("reading")));
      return;
    }
    const step = Math.max(1, Math.ceil(points.length / MOST));
    const [from, to] = [(points[0] as Point)[0], (points[points.length - 1] as Point)[0]];
    this.drawn = [];
    this.painted = points.length;
    const made = charts().map((chart) => {
      const values = chart.lines.map((line) => points.map((point, n) => line.value(point, this.before(n))));
      const top = values.reduce((most, line) => line.reduce<number>((m, value) => Math.max(m, value ?? 0), most), chart.least);
      const lines = values.map((line, place) => {
        let path = "";
        let pen = false;
        for (let n = 0; n < line.length; n += step) {
          const value = line[n];
          if (value == null) {
            pen = false;
            continue;
          }
          const x = (WIDTH * ((points[n] as Point)[0] - from)) / (to - from);
          const y = HEIGHT - 2 - ((HEIGHT - 6) * value) / top;
          path += `${pen ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
          pen = true;
        }
        return svg("path", { d: path, class: `line ${(chart.lines[place] as Line).mark}` });
      });
      const now = svg("rect", { class: "future", x: WIDTH, y: 0, width: 0, height: HEIGHT });
      const told = chart.lines.map((line) => h("span", { class: `value ${line.mark}` }));
      this.drawn.push({ now, values: told, chart, top });
      return h(
        "figure",
        { class: "chart" },
        h("figcaption", {}, chart.title, h("span", { class: "soft" }, ` 0–${figure(top)}`)),
        svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" }, ...lines, now) as unknown as Node,
        h("div", { class: "legend" }, ...chart.lines.map((line, n) => h("span", {}, h("i", { class: `key ${line.mark}` }), `${line.name} `, told[n] ?? ""))),
      );
    });
    put(this.element, ...made, reading && h("p", { class: "soft small" }, t("reading")));
    this.at = -1;
  }

  /** Moves them to a time. */
  show(time: number): void {
    const { points } = this;
    if (points.length < 2) return;
    // Where the log has not been read so far there is nothing to say yet.
    const read = time < (points[points.length - 1] as Point)[0] + 2 * this.every || !this.reading;
    const n = Math.max(0, Math.min(points.length - 1, Math.floor((time - (points[0] as Point)[0]) / this.every)));
    if (n === this.at) return;
    this.at = read ? n : -1;
    const point = points[n] as Point;
    const x = (WIDTH * n) / (points.length - 1);
    for (const { now, values, chart } of this.drawn) {
      now.setAttribute("x", x.toFixed(1));
      now.setAttribute("width", (WIDTH - x).toFixed(1));
      chart.lines.forEach((line, place) => {
        const value = line.value(point, this.before(n));
        (values[place] as HTMLElement).textContent = !read ? "…" : value === null ? "–" : figure(value, value < 100 && chart.least === 100 ? 1 : 0);
      });
    }
  }
}
