// Results: numbers within their reference range, drawn and in words; and their trend, where they were measured again.

import { h, plain, quoted, svg } from "../shell/dom";
import { texts } from "../shell/language";
import type { ResultAt, ShownResult } from "./types";

const t = texts({
  none: ["No results yet. What you order is shown here.", "暂无结果。您开的检查会显示在这里。"],
  low: ["low", "偏低"],
  high: ["high", "偏高"],
  normal: ["normal", "正常"],
  reference: ["reference {0}", "参考值 {0}"],
  onlyOff: ["Only what is out of range", "只看异常"],
  turn: ["turn {0}", "第{0}轮"],
  notRecorded: ["Ordered, but the record says nothing of it:", "已开单，但记录中没有："],
  nothingOff: ["Nothing is out of its range.", "没有异常值。"],
});

let onlyOff = false;

/** Draws all results. */
export function resultsPanel(results: ShownResult[], missing: string[], redraw: () => void): Node[] {
  if (!results.length && !missing.length) return [h("p", { class: "soft" }, t("none"))];
  const shown = results.filter((one) => !onlyOff || one.values.some((value) => value.side === "low" || value.side === "high"));
  const groups = new Map<string, ShownResult[]>();
  for (const one of shown) groups.set(one.examination, [...(groups.get(one.examination) ?? []), one]);
  const numbers = results.some((one) => one.values.some((value) => value.side !== null));
  return [
    numbers ? h("label", { class: "tick" }, h("input", { type: "checkbox", checked: onlyOff, onchange: (event) => {
      onlyOff = (event.target as HTMLInputElement).checked;
      redraw();
    } }), t("onlyOff")) : h("span"),
    ...(shown.length ? [...groups].map(([name, items]) => group(name, items)) : results.length ? [h("p", { class: "soft" }, t("nothingOff"))] : []),
    ...(missing.length ? [h("p", { class: "soft small" }, t("notRecorded"), " ", quoted(missing.join(", ")))] : []),
  ];
}

function group(name: string, items: ShownResult[]): HTMLElement {
  return h("section", { class: "examination" }, h("h3", {}, quoted(name)), h("ul", { class: "results" }, ...items.map(row)));
}

function row(one: ShownResult): HTMLElement {
  const last = one.values[one.values.length - 1] as ResultAt;
  const off = last.side === "low" || last.side === "high";
  const side = last.side === null ? "" : t(last.side);
  return h(
    "li",
    { class: `result ${last.side ?? "text"}` },
    one.item || one.reference ? h("span", { class: "item" }, quoted(one.item), one.reference ? h("span", { class: "soft small", title: t("reference", plain(one.reference)) }, ` ${plain(one.reference)}`) : null) : null,
    last.number !== null && (one.low !== null || one.high !== null) ? scale(one, last.number, side) : null,
    h("span", { class: "value" }, quoted(last.value), one.unit ? ` ${plain(one.unit)}` : "", off ? h("strong", { class: "flag" }, ` ${last.side === "low" ? "↓" : "↑"} ${side}`) : null),
    one.values.length > 1 ? trend(one) : null,
  );
}

/** Draws where a number lies: the band is the reference range. */
function scale(one: ShownResult, value: number, side: string): SVGElement {
  const low = one.low ?? 0;
  const high = one.high ?? Math.max(low * 1.5, low + 1);
  const span = high - low || 1;
  const left = Math.min(low - span * 0.6, value - span * 0.15);
  const right = Math.max(high + span * 0.6, value + span * 0.15);
  const at = (x: number): number => 2 + (96 * (x - left)) / (right - left);
  const from = one.low === null ? 0 : at(low);
  const to = one.high === null ? 100 : at(high);
  return svg(
    "svg",
    { class: "scale", viewBox: "0 0 100 12", role: "img", preserveAspectRatio: "none", "aria-label": `${value} ${one.unit}, ${side}, ${t("reference", one.reference)}` },
    svg("rect", { x: 0, y: 5, width: 100, height: 2, class: "line" }),
    svg("rect", { x: from, y: 3, width: Math.max(1, to - from), height: 6, class: "band" }),
    svg("rect", { x: at(value) - 1, y: 0, width: 2, height: 12, class: "mark" }),
  );
}

/** Says how a value went over the visit. */
function trend(one: ShownResult): HTMLElement {
  const numbers = one.values.map((value) => value.number);
  const told = one.values.map((value) => `${t("turn", value.turn)}: ${plain(value.value)}`).join(" → ");
  const known = numbers.filter((value): value is number => value !== null);
  if (known.length < 2) return h("span", { class: "trend small soft" }, told);
  const least = Math.min(...known, one.low ?? Infinity);
  const most = Math.max(...known, one.high ?? -Infinity);
  const points = known.map((value, n) => `${(90 * n) / (known.length - 1) + 5},${22 - (20 * (value - least)) / (most - least || 1)}`).join(" ");
  return h(
    "span",
    { class: "trend small soft" },
    svg("svg", { viewBox: "0 0 100 24", class: "spark", "aria-hidden": "true" }, svg("polyline", { points, class: "stroke" })),
    told,
  );
}
