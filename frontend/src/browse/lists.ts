// Lists of records and of calls, one item, and one record.

import { h, plain, put, quoted } from "../shell/dom";
import { figure, texts } from "../shell/language";
import { calls } from "./calls";
import { label } from "./evaluation";
import { meeting } from "./meeting";
import { outcome } from "./outcome";
import { at, facts, neighbours, number, ofAll, table, way } from "./parts";
import type { Child, Step } from "./parts";
import { load, search } from "./source";
import { searchField } from "./overview";
import { episode, role, visit } from "./visit";
import type { About, Call, Hit, ItemDocument, Messages, RecordDocument, Recorded, RecordLine } from "./types";

const t = texts({
  records: ["Records", "记录"],
  visits: ["Visits", "就诊"],
  line: ["Line", "行"],
  record: ["Case or question", "病例或问题"],
  who: ["Who", "参与者"],
  right: ["right", "正确"],
  yes: ["yes", "是"],
  no: ["no", "否"],
  department: ["Department", "科室"],
  diagnosis: ["Diagnosis", "诊断"],
  pages: ["{0} to {1} of {2}", "第{0}至{1}项，共{2}项"],
  item: ["Item", "项目"],
  items: ["Items", "项目"],
  set: ["Set", "数据集"],
  end: ["End", "结束"],
  calls: ["Calls", "调用"],
  tokens: ["Tokens", "词元"],
  cost: ["Cost", "费用"],
  seconds: ["Seconds", "秒"],
  seed: ["Seed", "种子"],
  others: ["The same, by others", "其他参与者的同一项"],
  noRecord: ["What was said is not kept beside this evaluation.", "此评测未保留对话。"],
  episodes: ["Episodes", "片段"],
  episode: ["Episode", "片段"],
  run: ["Run", "运行"],
  replies: ["Every call, with what was asked", "每次调用及其提问"],
  journalNote: ["A journal keeps each reply as it came, and what was asked, each message once. Runs of a hospital keep what was asked where they keep dialogues (--traces).", "日志按原样保存每条回复以及所提的问题，每条消息只存一次。医院的运行仅在保存对话时（--traces）保存问题。"],
  found: ["What was found", "搜索结果"],
  hits: ["{0} found in {1} of {2} looked at", "在{2}中的{1}处查看，找到{0}条"],
  goOn: ["Look further", "继续搜索"],
});

/** Returns what a list of records lies in; a file that lies by itself in nothing. */
function above(about: About): Step[] {
  return about.holds === "recording" ? [] : [[about.name, `about/${about.id}`]];
}

/** Draws the records of a file, or the visits of a run. */
export async function drawList(main: HTMLElement, id: string, file: number, page: number): Promise<void> {
  const [about, told] = await Promise.all([load<About>(`about/${id}`), load<{ name: string; kind: string; total: number; rows: RecordLine[] }>(`list/${id}/${file}/${page}`)]);
  const hospital = about.holds === "hospital";
  const judged = told.rows.some((row) => row.right != null);
  const heads: [string, boolean?][] = [[t("record")], [t("who")], ...(hospital ? [[t("department")], [t("diagnosis")]] as [string][] : []), ...(judged ? [[t("right")]] as [string][] : []), ...(hospital ? [] : [[t("line"), true]] as [string, boolean][])];
  put(main, way(...above(about), [told.name || t("visits"), ""]), h("h1", {}, hospital ? t("visits") : quoted(told.name)),
    table(t("records"), heads, told.rows.map((row): Child[] => [
      h("a", { href: at(`record/${id}/${file}/${row.line}`) }, quoted(row.item)), quoted(row.who),
      ...(hospital ? [plain(row.department ?? ""), quoted(row.diagnosis ?? "")] : []),
      ...(judged ? [row.right == null ? "" : t(row.right ? "yes" : "no")] : []),
      ...(hospital ? [] : [figure(row.line)])])),
    pager(`list/${id}/${file}`, page, told.rows.length, told.total));
}

function pager(key: string, page: number, here: number, total: number): HTMLElement | null {
  if (total <= here && !page) return null;
  const begin = page * 200;
  return neighbours(page ? at(`${key}/${page - 1}`) : null, begin + here < total ? at(`${key}/${page + 1}`) : null, t("pages", figure(begin + 1), figure(begin + here), figure(total)));
}

export async function drawItem(main: HTMLElement, id: string, n: number, isOpen: () => boolean): Promise<void> {
  const [about, told] = await Promise.all([load<About>(`about/${id}`), load<ItemDocument>(`item/${id}/${n}`)]);
  const record = told.record ? await load<RecordDocument>(`record/${id}/${told.record.file}/${told.record.line}`) : null;
  if (!isOpen()) return;
  const row = told.row;
  const measures = Object.entries(row.values);
  put(main, way([about.name, `about/${id}`], [t("items"), `items/${id}`], [row.item, ""]),
    h("h1", {}, quoted(row.item)), h("p", { class: "soft" }, quoted(label(row))),
    neighbours(n > 0 ? at(`item/${id}/${n - 1}`) : null, n + 1 < told.total ? at(`item/${id}/${n + 1}`) : null, ofAll(n + 1, told.total)),
    facts([
      ...measures.map(([name, value]): [string, Child] => [plain(name), number(value)]),
      [t("set"), plain(row.set ?? "")], [t("end"), plain(row.end ?? "")], [t("seed"), row.seed ?? ""],
      [t("calls"), row.calls ? number(row.calls, 0) : ""], [t("tokens"), row.tokens ? number(row.tokens, 0) : ""],
      [t("cost"), row.cost ? number(row.cost, 5) : ""], [t("seconds"), row.seconds ? number(row.seconds, 3) : ""]]),
    told.same.length ? h("details", {}, h("summary", {}, t("others")), h("ul", {}, ...told.same.map((one) =>
      h("li", {}, h("a", { href: at(`item/${id}/${one.n}`) }, quoted(label(one))), ` ${Object.entries(one.values).slice(0, 3).map(([name, value]) => `${plain(name)} ${number(value)}`).join(", ")}`)))) : null,
    replies(told.replies),
    ...(record ? shown(record.record) : [h("p", { class: "soft" }, t("noRecord"))]));
}

function replies(told: ItemDocument["replies"] | undefined): Child {
  if (!told?.length) return null;
  return h("section", {}, h("h2", {}, t("replies")), h("ul", {}, ...told.map((one) => h("li", {}, h("a", { href: at(`call/${one.id}/${one.n}`) }, quoted(one.episode))))));
}

function shown(record: Recorded): Child[] {
  switch (record.kind) {
    case "visit": return visit(record.events);
    case "outcome": return outcome(record);
    case "meeting": return meeting(record);
    case "episode": return episode(record);
  }
}

export async function drawRecord(main: HTMLElement, id: string, file: number, line: number, seq: number | null, isOpen: () => boolean): Promise<void> {
  const [about, told] = await Promise.all([load<About>(`about/${id}`), load<RecordDocument>(`record/${id}/${file}/${line}`)]);
  if (!isOpen()) return;
  const to = (other: number | null): string | null => (other === null ? null : at(`record/${id}/${file}/${other}`));
  const record = told.record;
  const name = record.kind === "visit" ? plain(record.events[0]?.case ?? "") : record.kind === "episode" ? record.key : record.id;
  put(main, way(...above(about), [about.files[file]?.name ?? t("visits"), `list/${id}/${file}/0`], [name, ""]),
    h("h1", {}, quoted(name)), neighbours(to(told.before), to(told.after)), replies(told.replies), ...shown(record));
  const there = seq === null ? null : main.querySelector<HTMLElement>(`[data-seq="${seq}"]`);
  if (there) {
    for (let up: HTMLElement | null = there; up; up = up.parentElement) if (up instanceof HTMLDetailsElement) up.open = true;
    there.classList.add("sought");
    there.tabIndex = -1;
    there.focus({ preventScroll: true });
    there.scrollIntoView({ block: "center" });
  }
}

export async function drawEpisodes(main: HTMLElement, id: string, page: number): Promise<void> {
  const [about, told] = await Promise.all([load<About>(`about/${id}`), load<{ total: number; rows: { n: number; run: string; episode: string; calls: number }[] }>(`calls/${id}/${page}`)]);
  put(main, way([about.name, ""]), h("h1", {}, quoted(about.name)), h("p", { class: "soft" }, t("journalNote")),
    table(t("episodes"), [[t("episode")], [t("run")], [t("calls"), true]], told.rows.map((row): Child[] => [
      h("a", { href: at(`call/${id}/${row.n}`) }, quoted(row.episode || "–")), quoted(row.run), figure(row.calls)])),
    pager(`calls/${id}`, page, told.rows.length, told.total));
}

export async function drawCalls(main: HTMLElement, id: string, n: number): Promise<void> {
  const [about, told] = await Promise.all([load<About>(`about/${id}`), load<{ run: string; episode: string; replies: Call[]; messages: Messages }>(`call/${id}/${n}`)]);
  put(main, way([about.name, `calls/${id}/0`], [told.episode, ""]), h("h1", {}, quoted(told.episode || "–")), h("p", { class: "soft" }, quoted(told.run)),
    h("p", { class: "soft small" }, t("journalNote")), calls(told.replies, told.messages));
}

export async function drawFound(main: HTMLElement, question: string, isOpen: () => boolean): Promise<void> {
  const count = h("p", { class: "soft", role: "status" });
  const list = h("ol", { class: "hits" });
  const more = h("button", { type: "button", hidden: true }, t("goOn"));
  put(main, way([t("found"), ""]), h("h1", {}, t("found")), searchField(question), count, list, more);
  let hits: Hit[] = [];
  const on = async (begin: number): Promise<void> => {
    more.hidden = true;
    const told = await search(question, begin);
    if (!isOpen()) return;
    hits = [...hits, ...told.hits];
    list.append(...told.hits.map((hit) => h("li", {}, h("a", { href: at(`record/${hit.id}/${hit.file}/${hit.line}/${hit.seq}`) }, plain(hit.id)),
      h("span", { class: "soft small" }, ` ${role(hit.who)} `), h("p", {}, quoted(hit.text)))));
    put(count, t("hits", figure(hits.length), figure(told.looked), figure(told.total)));
    more.hidden = told.next === null;
    more.onclick = () => void on(told.next ?? 0);
  };
  await on(0);
}
