// The first view: all that is here, by kind; and all evaluations in one table.

import { h, plain, put, quoted } from "../shell/dom";
import { figure, language, texts } from "../shell/language";
import { at, table, way } from "./parts";
import type { Child } from "./parts";
import { comparisons, resultsTable } from "./evaluation";
import { isCopy, load } from "./source";
import type { Compared, Listed, Measure, Table } from "./types";

const t = texts({
  title: ["Results", "结果"],
  lead: ["Everything that lies in the folders, down to each sentence that was said.", "文件夹中的全部内容，直到每一句话。"],
  copy: ["A copy, made to be read anywhere. It holds the truth of its cases: keep it from whoever is still to be examined on them.", "此为可离线阅读的副本，其中含有病例的真实情况：请勿交给尚待用这些病例考核的人。"],
  none: ["There is nothing here yet. Make something:", "这里还没有内容。先运行："],
  evaluation: ["Evaluations", "评测"],
  hospital: ["Runs of the hospital", "医院运行"],
  learning: ["Learning", "学习"],
  recording: ["Recordings", "记录"],
  journal: ["Journals of calls", "调用日志"],
  together: ["All evaluations in one table", "全部评测合为一表"],
  name: ["Name", "名称"],
  what: ["What", "内容"],
  who: ["Who", "参与者"],
  items: ["Items", "项目"],
  when: ["When", "时间"],
  visits: ["{0} visits", "{0}次就诊"],
  going: ["goes on", "进行中"],
  notes: ["Notes", "说明"],
  search: ["Search everything that was said", "搜索全部对话"],
  find: ["Search", "搜索"],
});

const KINDS = ["evaluation", "hospital", "learning", "recording", "journal"] as const;

/** Draws a field for words to be looked for. */
export function searchField(question = ""): HTMLElement {
  const input = h("input", { type: "search", id: "question", name: "q", maxlength: 200, value: question, autocomplete: "off" });
  return h("form", { role: "search", class: "row find", onsubmit: (event) => {
    event.preventDefault();
    if (input.value.trim()) location.hash = at("search", { q: input.value.trim() }).slice(1);
  } }, h("label", { for: "question", class: "unseen" }, t("search")), input, h("button", { type: "submit" }, t("find")));
}

export async function drawAll(main: HTMLElement): Promise<void> {
  const { holdings } = await load<{ holdings: Listed[] }>("all");
  const input = searchField();
  input.querySelector("input")?.setAttribute("placeholder", t("search"));
  const evaluations = holdings.filter((one) => one.holds === "evaluation");
  put(main,
    h("h1", {}, t("title")),
    h("p", { class: "soft" }, t(isCopy ? "copy" : "lead")),
    holdings.length ? input : h("p", {}, t("none"), " ", h("code", {}, "polyclinic eval aie --cases shipped --doctor rules --out aie")),
    evaluations.length > 1 ? h("p", {}, h("a", { href: at("together") }, t("together"))) : null,
    ...KINDS.map((kind) => section(kind, holdings.filter((one) => one.holds === kind))));
}

/** Returns the key of what is opened first. */
function first(one: Listed): string {
  if (one.holds === "journal") return `calls/${one.id}/0`;
  return one.holds === "recording" ? `list/${one.id}/0/0` : `about/${one.id}`;
}

function section(kind: (typeof KINDS)[number], holdings: Listed[]): Child {
  if (!holdings.length) return null;
  const rows = holdings.map((one): Child[] => [
    h("a", { href: at(first(one)) }, quoted(one.title || one.name)),
    one.problem ? h("span", { class: "wrong" }, plain(one.problem)) : plain(one.kind ?? ""),
    plain((one.models ?? []).join(", ")),
    one.items != null ? figure(one.items) : one.visits != null ? figure(one.visits) : one.over === false ? t("going") : "",
    time(one.changed),
  ]);
  const counted = holdings.some((one) => one.items != null || one.visits != null || one.over === false);
  const known = holdings.some((one) => one.models?.length);
  const heads: [string, boolean?][] = [[t("name")], [t("what")], [t("who")], [t("items"), true], [t("when")]];
  const keep = (n: number): boolean => (n !== 2 || known) && (n !== 3 || counted) && (n !== 1 || holdings.some((one) => one.kind || one.problem));
  return h("section", {}, h("h2", {}, t(kind)), table(t(kind), heads.filter((_, n) => keep(n)), rows.map((row) => row.filter((_, n) => keep(n)))));
}

function time(seconds: number): HTMLElement {
  const moment = new Date(seconds * 1000);
  return h("time", { datetime: moment.toISOString() }, moment.toLocaleString(language() === "zh" ? "zh-CN" : "en-GB", { dateStyle: "medium", timeStyle: "short" }));
}

export async function drawTogether(main: HTMLElement): Promise<void> {
  const told = await load<{ of: Listed[]; table: Table; measures: Record<string, Measure>; compared: Compared }>("together");
  put(main, way([t("together"), ""]), h("h1", {}, t("together")),
    resultsTable(told.table, told.measures, null),
    comparisons(told.compared));
}
