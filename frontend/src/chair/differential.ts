// What it may be: named with probabilities as it develops, and how that went.

import { h, plain, put, quoted, svg } from "../shell/dom";
import { texts } from "../shell/language";
import type { Diagnosis, Noted } from "./types";
import { percent, w } from "./words";

const t = texts({
  lead: ["What may it be, and how likely? Note it whenever you change your mind; the patient hears nothing of it.", "可能是什么病？可能性多大？想法变了就记下来；病人听不到。"],
  name: ["Disease {0}", "疾病{0}"],
  chance: ["How likely is disease {0}, percent", "疾病{0}的可能性（%）"],
  add: ["Another one", "再加一个"],
  note: ["Note it", "记下"],
  rest: ["Something else: {0}", "其他：{0}"],
  over: ["Together more than 100 %: they are taken as shares.", "合计超过100%：将按比例计算。"],
  noted: ["Noted after turn {0}", "已于第{0}轮后记下"],
  history: ["How it developed", "变化过程"],
  turn: ["After turn", "轮次后"],
});

interface Row { name: string; chance: string }

export interface DifferentialPanel { element: HTMLElement; show(noted: Noted[]): void; rows(): Diagnosis[] }

/** Makes the panel; `save` sends what is noted. */
export function differentialPanel(noted: Noted[], save: (diagnoses: Diagnosis[]) => Promise<void>): DifferentialPanel {
  const last = noted[noted.length - 1];
  const rows: Row[] = (last?.diagnoses ?? []).map((one) => ({ name: one.name, chance: one.probability === undefined ? "" : String(Math.round(100 * one.probability)) }));
  const list = h("div", { class: "rows" });
  const sum = h("p", { class: "soft small", role: "status" });
  const history = h("div");
  const element = h(
    "form",
    { onsubmit: (event) => { event.preventDefault(); void save(read()); } },
    h("p", { class: "soft small" }, t("lead")),
    list,
    sum,
    h("div", { class: "row" },
      h("button", { type: "button", onclick: () => { rows.push({ name: "", chance: "" }); draw(rows.length - 1); } }, t("add")),
      h("button", { type: "submit" }, t("note"))),
    history,
  );
  const read = (): Diagnosis[] =>
    rows.filter((row) => row.name.trim()).map((row) => {
      const chance = Number(row.chance);
      return row.chance.trim() && chance >= 0 && chance <= 100 ? { name: row.name.trim(), probability: chance / 100 } : { name: row.name.trim() };
    });
  const count = (): void => {
    const all = read().reduce((total, one) => total + (one.probability ?? 0), 0);
    sum.textContent = !read().length ? "" : all > 1.001 ? t("over") : t("rest", percent(1 - all));
  };
  const draw = (focus = -1): void => {
    if (!rows.length) rows.push({ name: "", chance: "" });
    put(list, ...rows.map((row, n) => {
      const name = h("input", { type: "text", value: row.name, maxlength: 200, "aria-label": t("name", n + 1), autocomplete: "off", oninput: (event) => { row.name = (event.target as HTMLInputElement).value; count(); } });
      if (n === focus) queueMicrotask(() => name.focus());
      return h("div", { class: "chance" }, name,
        h("input", { type: "number", min: 0, max: 100, step: 1, value: row.chance, "aria-label": t("chance", n + 1), oninput: (event) => { row.chance = (event.target as HTMLInputElement).value; count(); } }),
        h("span", { "aria-hidden": "true" }, "%"),
        h("button", { type: "button", class: "quiet", "aria-label": `${w("remove")}: ${plain(row.name) || n + 1}`, onclick: () => { rows.splice(n, 1); draw(); } }, "✕"));
    }));
    count();
  };
  const show = (all: Noted[]): void => put(history, ...(all.length ? [h("p", { class: "soft small", role: "status" }, t("noted", (all[all.length - 1] as Noted).turn)), development(all)] : []));
  draw();
  show(noted);
  return { element, show, rows: read };
}

/** Draws how likely each disease was held, turn after turn, and says it in a table. */
export function development(noted: Noted[]): HTMLElement {
  const names = [...new Set(noted.flatMap((one) => one.diagnoses.map((diagnosis) => diagnosis.name)))].slice(0, 6);
  if (noted.length < 2 || !names.length) return h("span");
  const chance = (one: Noted, name: string): number => one.diagnoses.find((diagnosis) => diagnosis.name === name)?.probability ?? 0;
  const x = (n: number): number => 6 + (188 * n) / (noted.length - 1);
  const lines = names.map((name, kind) => svg("polyline", { class: `line-${kind}`, points: noted.map((one, n) => `${x(n)},${66 - 60 * chance(one, name)}`).join(" ") }));
  return h(
    "details",
    { class: "development", open: true },
    h("summary", {}, t("history")),
    svg("svg", { viewBox: "0 0 200 72", class: "chart", "aria-hidden": "true" }, svg("line", { x1: 6, x2: 194, y1: 66, y2: 66, class: "axis" }), svg("line", { x1: 6, x2: 194, y1: 6, y2: 6, class: "axis" }), ...lines),
    h("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": t("history") }, h("table", {},
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("turn")), ...noted.map((one) => h("th", { scope: "col", class: "number" }, one.turn)))),
      h("tbody", {}, ...names.map((name, kind) => h("tr", {}, h("th", { scope: "row" }, h("span", { class: `key line-${kind}`, "aria-hidden": "true" }), quoted(name)), ...noted.map((one) => h("td", { class: "number" }, percent(chance(one, name))))))),
    )),
  );
}
