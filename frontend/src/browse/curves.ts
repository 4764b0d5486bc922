// A learning curve: three tasks over the patients treated, each with its interval; the same as a table.

import { h, plain, svg } from "../shell/dom";
import { figure, texts } from "../shell/language";
import { facts, number, table } from "./parts";
import type { About, CurvePoint } from "./types";

const t = texts({
  curve: ["How it learnt", "学习曲线"],
  examination: ["examination", "检查"],
  diagnosis: ["diagnosis", "诊断"],
  treatment: ["treatment", "治疗"],
  patients: ["patients", "病人"],
  right: ["right, %", "正确率（%）"],
  picture: ["Share of right answers over patients treated; the table below has the same.", "正确率随治疗病人数的变化；下表内容相同。"],
  intervals: ["Bands: Wilson's intervals of 95 % over {0} test patients. Dashed: what there is to be had, where that is known.", "色带：{0}名测试病人的Wilson 95%区间。虚线：可达上限（如已知）。"],
  doctor: ["Doctor", "医生"],
  records: ["Records kept", "保留的病历"],
  experience: ["Experience kept", "保留的经验"],
  wrong: ["Wrong answers", "答错"],
  by: ["By disease", "按疾病"],
  disease: ["Disease", "疾病"],
});

const TASKS = ["examination", "diagnosis", "treatment"] as const;
const [WIDE, HIGH, LEFT, LOW, TOP] = [640, 300, 44, 34, 12];

export function curves(told: About): HTMLElement {
  const learning = told.learning!;
  const by = Object.entries(learning.by_disease ?? {});
  return h("section", {}, h("h2", {}, t("curve")),
    facts([[t("doctor"), plain(learning.doctor)], [t("records"), learning.records ?? ""], [t("experience"), learning.experience ?? ""], [t("wrong"), learning.wrong ?? ""]]),
    h("figure", {}, picture(learning.curve, learning.cap ?? {}),
      h("figcaption", { class: "soft small" }, h("span", { class: "legend" }, ...TASKS.map((task) => h("span", { class: `key ${task}` }, t(task)))), told.tests ? t("intervals", figure(told.tests)) : "")),
    table(t("curve"), [[t("patients")], ...TASKS.map((task): [string, boolean] => [`${t(task)}, %`, true])],
      learning.curve.map((point) => [figure(point.patients), ...TASKS.map((task) => {
        const ends = point.intervals[task];
        return `${number(point[task] as number, 1)}${ends ? ` [${number(ends[0], 1)}, ${number(ends[1], 1)}]` : ""}`;
      })])),
    by.length ? h("details", {}, h("summary", {}, t("by")), table(t("by"), [[t("disease")], ["n", true], ...TASKS.map((task): [string, boolean] => [`${t(task)}, %`, true])],
      by.map(([name, one]) => [plain(name), number(one["n"], 0), ...TASKS.map((task) => number(one[task], 1))]))) : null);
}

function picture(points: CurvePoint[], cap: Record<string, number>): SVGElement {
  const most = Math.max(1, ...points.map((point) => point.patients));
  const x = (value: number): number => Math.round((LEFT + (value / most) * (WIDE - LEFT - 12)) * 10) / 10;
  const y = (value: number): number => Math.round((TOP + (1 - value / 100) * (HIGH - TOP - LOW)) * 10) / 10;
  const line = (task: string): string => points.map((point) => `${x(point.patients)},${y(point[task] as number)}`).join(" ");
  const band = (task: string): string => {
    const having = points.filter((point) => point.intervals[task]);
    const end = (n: 0 | 1) => (point: CurvePoint): string => `${x(point.patients)},${y(point.intervals[task]![n])}`;
    return [...having.map(end(1)), ...having.map(end(0)).reverse()].join(" ");
  };
  return svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "curve", role: "img", "aria-label": t("picture") },
    ...[0, 25, 50, 75, 100].flatMap((value) => [
      svg("line", { x1: LEFT, x2: WIDE - 12, y1: y(value), y2: y(value), class: "axis" }),
      svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, String(value))]),
    ...[0, 0.25, 0.5, 0.75, 1].map((part) => svg("text", { x: x(part * most), y: HIGH - 16, "text-anchor": "middle" }, figure(Math.round(part * most)))),
    svg("text", { x: (LEFT + WIDE) / 2, y: HIGH - 2, "text-anchor": "middle" }, t("patients")),
    ...TASKS.flatMap((task) => [
      svg("polygon", { points: band(task), class: `band ${task}` }),
      cap[task] === undefined ? null : svg("line", { x1: LEFT, x2: WIDE - 12, y1: y(cap[task]), y2: y(cap[task]), class: `cap ${task}` }),
      svg("polyline", { points: line(task), class: `line ${task}` }),
      ...points.map((point) => svg("circle", { cx: x(point.patients), cy: y(point[task] as number), r: 3, class: `dot ${task}` }))]));
}
