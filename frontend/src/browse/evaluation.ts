// An evaluation: its table with intervals, comparisons, what it was, and its items.

import { h, plain, put, quoted, svg } from "../shell/dom";
import { figure, texts } from "../shell/language";
import { curves } from "./curves";
import { at, facts, inWords, number, table, way } from "./parts";
import type { Child } from "./parts";
import { isCopy, load } from "./source";
import type { About, Compared, Estimate, FileHere, Measure, Plain, Row, Table } from "./types";

const t = texts({
  table: ["Table", "结果表"],
  set: ["Set", "数据集"],
  who: ["Who", "参与者"],
  failed: ["failed", "失败"],
  calls: ["calls", "调用"],
  tokens: ["tokens", "词元"],
  cost: ["cost", "费用"],
  seconds: ["seconds", "秒"],
  each: ["Intervals of 95 %, over cases. Calls, tokens, cost and seconds are an item's.", "区间为95%，按病例计算；调用、词元、费用和时间为每项平均。"],
  published: ["published", "已发表"],
  differences: ["Differences", "差异"],
  measure: ["Measure", "指标"],
  first: ["First", "前者"],
  second: ["Second", "后者"],
  difference: ["difference", "差"],
  interval: ["95 % interval", "95%区间"],
  detectable: ["detectable", "可检出"],
  detectableNote: ["detectable: where no difference was found, the smallest that so many cases show four times in five.", "可检出：未发现差异时，这些病例有五分之四机会检出的最小差异。"],
  items: ["Items", "项目"],
  allItems: ["All {0} items", "全部{0}项"],
  files: ["Recordings", "记录"],
  records: ["{0} records", "{0}条"],
  was: ["What was run", "运行说明"],
  command: ["Command", "命令"],
  finished: ["Finished", "完成时间"],
  seed: ["Seed", "种子"],
  versions: ["Versions", "版本"],
  data: ["Data", "数据"],
  models: ["Models", "模型"],
  options: ["Options", "选项"],
  spent: ["Calls", "调用"],
  item: ["Item", "项目"],
  end: ["end", "结束"],
  everybody: ["everybody", "全部"],
  filter: ["Filter", "筛选"],
  named: ["Item", "项目"],
  lowest: ["lowest first", "从低到高"],
  asRun: ["as it was run", "按运行顺序"],
  order: ["Order", "顺序"],
  more: ["Show more", "显示更多"],
  shown: ["{0} items", "{0}项"],
  many: ["The first {0} are here; the others are in items.jsonl.", "此处为前{0}项；其余见items.jsonl。"],
  visits: ["Visits", "就诊"],
  town: ["Watch it in the town", "在小镇中观看"],
  doctor: ["Doctor", "医生"],
  version: ["Version", "版本"],
});

const NO_NAME = "–";
export const label = (row: { model?: string; method?: string }): string => [row.model, row.method].filter(Boolean).join(", ") || NO_NAME;

function cell(one: Estimate | undefined, percent: boolean): Child {
  if (!one || one.mean === null) return "–";
  const told = number(one.mean);
  if (one.low === null || one.high === null) return told;
  return h("span", { class: "estimate" }, told, h("span", { class: "soft small" }, ` [${number(one.low)}, ${number(one.high)}]`), percent ? bar(one.mean, one.low, one.high) : null);
}

/** Draws a point with its interval, on a line from 0 to 100. */
function bar(mean: number, low: number, high: number): SVGElement {
  const x = (value: number): number => Math.round(2 + 0.96 * Math.min(100, Math.max(0, value)));
  return svg("svg", { viewBox: "0 0 100 8", class: "bar", "aria-hidden": "true" },
    svg("line", { x1: 2, x2: 98, y1: 4, y2: 4, class: "axis" }),
    svg("line", { x1: x(low), x2: x(high), y1: 4, y2: 4, class: "span" }),
    svg("circle", { cx: x(mean), cy: 4, r: 3 }));
}

/** Draws a table of entrants; those of one evaluation lead to their items. */
export function resultsTable(told: Table, measures: Record<string, Measure>, id: string | null): HTMLElement {
  const ours = told.rows.filter((row) => !row.published);
  const has = (name: "calls" | "tokens" | "cost" | "seconds"): boolean => ours.some((row) => row[name]);
  const extras = (["calls", "tokens", "cost", "seconds"] as const).filter(has);
  const heads: [string, boolean?][] = [[t("who")], [t("set")], ...told.measures.map((name): [string, boolean] => [plain(name), true]), ["n", true], [t("failed"), true], ...extras.map((name): [string, boolean] => [t(name), true])];
  const rows = told.rows.map((row): Child[] => [
    row.published ? h("span", {}, quoted(label(row)), ` (${t("published")})`) : id === null ? quoted(label(row)) : h("a", { href: at(`items/${id}`, { who: label(row) }) }, quoted(label(row))),
    quoted(row.set),
    ...told.measures.map((name) => cell(row.measures[name], measures[name]?.percent !== false)),
    row.published ? "–" : figure(row.n), row.published ? "–" : figure(row.failed),
    ...extras.map((name) => (row.published ? "–" : number(row[name], name === "cost" ? 5 : 1))),
  ]);
  return h("section", {}, h("h2", {}, t("table")), table(t("table"), heads, rows),
    ...told.notes.map((note) => h("p", { class: "soft small" }, quoted(note))), h("p", { class: "soft small" }, t("each")));
}

/** Draws every two entrants held against each other. */
export function comparisons(told: Compared): Child {
  if (!told.rows.length) return told.problem ? h("p", { class: "soft" }, plain(told.problem)) : null;
  const sign = (value: number | null): string => (value !== null && value > 0 ? "+" : "") + number(value);
  const heads: [string, boolean?][] = [[t("first")], [t("second")], [t("set")], [t("measure")], [t("difference"), true], [t("interval"), true], ["p", true], ["p (Holm)", true], ["n", true], [t("detectable"), true]];
  const rows = told.rows.map(({ first, second, set, measure, p_holm: holm, difference: d }): Child[] => [
    quoted(first), quoted(second), quoted(set), plain(measure), sign(d.mean),
    d.low === null ? "–" : `${sign(d.low)} … ${sign(d.high)}`, number(d.p, 4), number(holm, 4), figure(d.n),
    holm !== null && holm < 0.05 ? "–" : number(d.detectable)]);
  return h("section", {}, h("h2", {}, t("differences")), table(t("differences"), heads, rows), h("p", { class: "soft small" }, t("detectableNote")));
}

export async function drawAbout(main: HTMLElement, id: string): Promise<void> {
  const told = await load<About>(`about/${id}`);
  const compared = told.items && told.table?.rows.length !== 1 ? await load<Compared>(`compared/${id}`) : null;
  put(main, way([told.name, ""]), h("h1", {}, quoted(inWords(told.record?.["title"]) || told.name)),
    told.record ? h("p", { class: "soft" }, plain(inWords(told.record["paper"]) || inWords(told.record["kind"]))) : null,
    told.holds === "hospital" ? hospital(told) : null,
    told.learning ? curves(told) : null,
    told.table?.rows.length ? resultsTable(told.table, told.measures ?? {}, id) : null,
    told.items ? h("p", {}, h("a", { class: "button main", href: at(`items/${id}`) }, t("allItems", figure(told.items)))) : null,
    compared ? comparisons(compared) : null,
    told.files.length ? recordings(id, told.files) : null,
    told.record ? was(told.record) : told.settings ? was({ configuration: told.settings }) : null);
}

function hospital(told: About): HTMLElement {
  return h("section", {},
    facts([[t("doctor"), plain(told.minds?.["doctor"] ?? "")], [t("seed"), told.seed ?? ""], [t("version"), plain(told.package ?? "")], [t("visits"), told.visits ?? 0]]),
    h("p", { class: "row" }, told.visits ? h("a", { class: "button main", href: at(`list/${told.id}/0/0`) }, t("visits")) : null,
      isCopy ? null : h("a", { class: "button", href: `./town?run=${encodeURIComponent(told.name)}` }, t("town"))));
}

function recordings(id: string, files: FileHere[]): HTMLElement {
  return h("section", {}, h("h2", {}, t("files")), h("ul", {}, ...files.map((file, n) =>
    h("li", {}, h("a", { href: at(`list/${id}/${n}/0`) }, quoted(file.name)), h("span", { class: "soft" }, ` ${t("records", figure(file.records))}`)))));
}

function was(record: Record<string, Plain>): HTMLElement {
  const list = (name: string): Record<string, Plain>[] => (Array.isArray(record[name]) ? (record[name] as Record<string, Plain>[]) : []);
  const configuration = Object.entries((record["configuration"] ?? {}) as Record<string, Plain>).filter(([, value]) => value !== false && inWords(value) !== "");
  return h("details", { class: "was" }, h("summary", {}, t("was")), facts([
    [t("command"), record["command"] && inWords(record["command"]) ? h("code", {}, plain(`polyclinic ${(record["command"] as string[]).join(" ")}`)) : ""],
    [t("finished"), inWords(record["finished"])],
    [t("seed"), inWords(record["seed"])],
    [t("versions"), inWords(record["versions"])],
    [t("options"), configuration.map(([name, value]) => `${name} ${inWords(value)}`).join("; ")],
    [t("data"), list("data").map((file) => `${inWords(file["file"])} (SHA-256 ${inWords(file["sha256"])})`).join("; ")],
    [t("models"), list("models").map((model) => inWords(model)).join("; ")],
    [t("spent"), list("calls").map((call) => inWords(call)).join("; ")],
  ]));
}

const PAGES = 25;
const AT_ONCE = 200;

/** Draws the items of an evaluation; who, which and in which order stands in the address. */
export async function drawItems(main: HTMLElement, id: string, query: URLSearchParams, isOpen: () => boolean): Promise<void> {
  type Numbered = Row & { n: number };
  const about = await load<About>(`about/${id}`);
  const first = await load<{ total: number; rows: Numbered[] }>(`items/${id}/0`);
  const pages = Math.min(PAGES, Math.ceil(first.total / Math.max(first.rows.length, 1)));
  const others = await Promise.all(Array.from({ length: Math.max(0, pages - 1) }, (_, n) => load<{ rows: Numbered[] }>(`items/${id}/${n + 1}`)));
  if (!isOpen()) return;
  const all = [...first.rows, ...others.flatMap((one) => one.rows)];
  const measures = about.table?.measures ?? [];
  const who = h("select", { id: "who" }, h("option", { value: "" }, t("everybody")),
    ...[...new Set(all.map(label))].map((name) => h("option", { value: name, selected: query.get("who") === name }, plain(name))));
  const name = h("input", { type: "search", id: "named", value: query.get("item") ?? "", maxlength: 100 });
  const order = h("select", { id: "order" }, h("option", { value: "" }, t("asRun")),
    ...measures.map((one) => h("option", { value: one, selected: query.get("by") === one }, `${plain(one)}, ${t("lowest")}`)));
  const count = h("p", { class: "soft", role: "status" });
  const body = h("div", {});
  let room = AT_ONCE;
  const draw = (): void => {
    const wanted = name.value.trim().toLowerCase();
    const found = all.filter((row) => (!who.value || label(row) === who.value) && row.item.toLowerCase().includes(wanted));
    if (order.value) found.sort((one, other) => (one.values[order.value] ?? -Infinity) - (other.values[order.value] ?? -Infinity));
    const heads: [string, boolean?][] = [[t("item")], [t("who")], ...measures.map((one): [string, boolean] => [plain(one), true]), [t("end")]];
    put(count, t("shown", figure(found.length)));
    put(body, table(t("items"), heads, found.slice(0, room).map((row): Child[] => [
      h("a", { href: at(`item/${id}/${row.n}`) }, quoted(row.item)), quoted(label(row)),
      ...measures.map((one) => number(row.values[one])), plain(row.end ?? "")])),
      found.length > room ? h("button", { type: "button", onclick: () => { room += 5 * AT_ONCE; draw(); } }, t("more")) : null,
      all.length < first.total ? h("p", { class: "soft small" }, t("many", figure(all.length))) : null);
  };
  const changed = (): void => {
    room = AT_ONCE;
    history.replaceState(null, "", at(`items/${id}`, { who: who.value, item: name.value.trim(), by: order.value }));
    draw();
  };
  who.addEventListener("change", changed);
  order.addEventListener("change", changed);
  name.addEventListener("input", changed);
  put(main, way([about.name, `about/${id}`], [t("items"), ""]), h("h1", {}, t("items")),
    h("div", { class: "row filters", role: "group", "aria-label": t("filter") },
      h("label", { for: "who" }, t("who")), who, h("label", { for: "named" }, t("named")), name, h("label", { for: "order" }, t("order")), order),
    count, body);
  draw();
}

