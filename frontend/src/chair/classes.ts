// For teachers: classes, their links, results, comments and the table.

import { get, post, ServerError } from "../shell/api";
import { h, once, plain, put, quoted } from "../shell/dom";
import { figure, texts } from "../shell/language";
import { follow } from "../shell/follow";
import type { Page } from "../shell/shell";
import { still } from "./lines";
import { scorePage } from "./score";
import { caseFinder, firstSet } from "./start";
import type { ClassRow, ClassTold, KeptClass, OfferedCase, Scored, Settings, SittingView } from "./types";
import { w, who } from "./words";

const t = texts({
  classes: ["Classes", "班级"],
  lead: ["Choose cases, name your students, hand each of them a link. Nobody sees what is so before the end of a visit.", "选择病例，填写学生名单，把链接发给每位学生。就诊结束前没有人能看到真实情况。"],
  make: ["Make a class", "新建班级"],
  none: ["There is no class yet.", "还没有班级。"],
  students: ["{0} students", "{0}名学生"],
  title: ["Title", "名称"],
  names: ["Students, a name a line", "学生名单，每行一个"],
  cases: ["Cases", "病例"],
  chosen: ["Chosen: {0}", "已选：{0}"],
  add: ["Add", "加入"],
  added: ["Added", "已加入"],
  hints: ["Students may have hints, which cost points", "允许提示（扣分）"],
  undo: ["Students may take a step back", "允许撤回"],
  scores: ["Students see score and truth as soon as they hand in", "提交后立即看到评分和真实情况"],
  turns: ["Turns", "可说的次数"],
  patient: ["Who plays the patients", "病人由谁扮演"],
  links: ["Links", "链接"],
  linksLead: ["Each link opens one student's visits, without any password. Hand it to that student alone.", "每个链接只对应一名学生，无需密码。请只发给本人。"],
  loopback: ["These links lead to this machine alone. For others, begin the server with: polyclinic serve --host 0.0.0.0", "这些链接只能在本机打开。要让别人访问，请用以下命令启动：polyclinic serve --host 0.0.0.0"],
  copy: ["Copy", "复制"],
  copyAll: ["Copy all, a name and a link a line", "全部复制（每行：姓名和链接）"],
  copied: ["Copied.", "已复制。"],
  results: ["Results", "结果"],
  student: ["Student", "学生"],
  case: ["Case {0}", "病例{0}"],
  mean: ["Mean", "平均"],
  csv: ["Download as CSV", "下载CSV"],
  letOut: ["Let the scores out", "公布成绩"],
  holdBack: ["Hold the scores back", "收回成绩"],
  more: ["More students", "增加学生"],
  refresh: ["Look again", "刷新"],
  comment: ["Your comment; the student reads it with the score", "您的评语；学生看评分时可见"],
  save: ["Keep the comment", "保存评语"],
  saved: ["Kept.", "已保存。"],
  notOver: ["This visit is not over.", "该次就诊尚未结束。"],
  transcript: ["What was said so far", "目前的对话"],
  noTitle: ["Give the class a title, at least one case and one student.", "请填写名称，并至少选择一个病例和一名学生。"],
});

/** Draws all classes. */
export async function openClasses(page: Page, isOpen: () => boolean): Promise<void> {
  const told = await loaded<{ classes: { id: string; title: string; students: number }[] }>(page, "api/chair/classes");
  if (told === null || !isOpen()) return;
  put(
    page.main,
    h("a", { href: "#/", class: "small" }, `← ${w("back")}`),
    h("h1", {}, t("classes")),
    h("p", { class: "lead" }, t("lead")),
    h("p", {}, h("a", { class: "button main", href: "#/class/new" }, t("make"))),
    told.classes.length ? h("ul", { class: "list" }, ...told.classes.map((one) => h("li", { class: "row" }, h("a", { class: "grow", href: `#/class/${one.id}` }, quoted(one.title)), h("span", { class: "soft" }, t("students", one.students))))) : h("p", { class: "soft" }, t("none")),
  );
}

async function loaded<T>(page: Page, path: string, query: Record<string, string> = {}): Promise<T | null> {
  try {
    return await get<T>(path, query);
  } catch (error) {
    page.notice((error as ServerError).message);
    return null;
  }
}

/** Draws the form of a new class. */
export async function openNewClass(page: Page, isOpen: () => boolean): Promise<void> {
  const settings = await loaded<Settings>(page, "api/chair/settings");
  if (settings === null || !isOpen()) return;
  const state = { set: firstSet(settings), chosen: [] as { set: string; one: OfferedCase }[] };
  const title = h("input", { type: "text", id: "title", maxlength: 120, required: true });
  const names = h("textarea", { id: "names", rows: 6, maxlength: 40000 });
  const turns = h("input", { type: "number", id: "turns", min: 1, max: 50, value: settings.max_turns });
  const patient = h("select", { id: "patient" }, ...settings.patients.map((one) => h("option", { value: one }, one === "rules" ? w("rules") : plain(one))));
  const [hints, undo, scores] = [true, true, true].map((on) => h("input", { type: "checkbox", checked: on })) as [HTMLInputElement, HTMLInputElement, HTMLInputElement];
  const chosen = h("ol", { class: "chosen" });
  const count = h("p", { class: "soft small", role: "status" });
  const draw = (): void => {
    count.textContent = t("chosen", state.chosen.length);
    put(chosen, ...state.chosen.map(({ one }, n) => h("li", {}, quoted(who(one.presentation)), " ", quoted(plain(one.presentation.complaint, 100), { class: "soft" }), " ",
      h("button", { type: "button", class: "quiet small", "aria-label": `${w("remove")}: ${n + 1}`, onclick: () => { state.chosen.splice(n, 1); draw(); } }, "✕"))));
  };
  const finder = caseFinder(settings, () => state.set, (set) => { state.set = set; }, (one) => h("button", { type: "button", "aria-label": `${t("add")}: ${who(one.presentation)}`, onclick: () => {
    if (!state.chosen.some((other) => other.set === state.set && other.one.key === one.key)) state.chosen.push({ set: state.set, one });
    draw();
  } }, t("add")), page);
  draw();
  const make = once(async (told: object) => {
    const made = await post<ClassTold>("api/chair/classes", told);
    location.hash = `#/class/${made.class.id}`;
  }, (error) => page.notice(error.message));
  put(
    page.main,
    h("a", { href: "#/classes", class: "small" }, `← ${w("back")}`),
    h("h1", {}, t("make")),
    h("form", { class: "card new-class", novalidate: true, onsubmit: (event) => {
      event.preventDefault();
      const students = names.value.split("\n").map((name) => name.trim()).filter(Boolean);
      if (!title.value.trim() || !state.chosen.length || !students.length) { page.notice(t("noTitle")); return; }
      make({
        title: title.value.trim(), students, cases: state.chosen.map(({ set, one }) => ({ set, key: one.key })),
        max_turns: Math.min(50, Math.max(1, Number(turns.value) || settings.max_turns)), hints: hints.checked, undo: undo.checked, scores: scores.checked,
        patient: patient.value,
      });
    } },
      h("label", { for: "title" }, t("title")), title,
      h("label", { for: "names" }, t("names")), names,
      h("label", { for: "turns" }, t("turns")), turns,
      ...(settings.patients.length > 1 ? [h("label", { for: "patient" }, t("patient")), patient] : []),
      h("label", { class: "tick" }, hints, t("hints")),
      h("label", { class: "tick" }, undo, t("undo")),
      h("label", { class: "tick" }, scores, t("scores")),
      h("h2", {}, t("cases")), count, chosen,
      h("button", { type: "submit", class: "main" }, t("make"))),
    h("section", {}, finder.chooser, finder.element),
  );
}

/** Draws one class: links and results. */
export async function openClass(page: Page, id: string, isOpen: () => boolean): Promise<void> {
  const told = await loaded<ClassTold>(page, `api/chair/classes/${id}`);
  if (told === null || !isOpen()) return;
  drawClass(page, told, isOpen);
  follow(`api/chair/classes/${id}`, told, isOpen, (next: ClassTold) => drawClass(page, next, isOpen));
}

function drawClass(page: Page, told: ClassTold, isOpen: () => boolean): void {
  const kept = told.class;
  const act = async (path: string, document: unknown): Promise<void> => {
    try {
      const again = await post<ClassTold>(`api/chair/classes/${kept.id}/${path}`, document);
      page.notice("");
      if (isOpen()) drawClass(page, again, isOpen);
    } catch (error) {
      page.notice((error as ServerError).message);
    }
  };
  const more = h("input", { type: "text", id: "more-students", maxlength: 120 });
  const local = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
  put(
    page.main,
    h("a", { href: "#/classes", class: "small" }, `← ${w("back")}`),
    h("h1", {}, quoted(kept.set.title)),
    h("div", { class: "row" },
      h("a", { class: "button", href: `api/chair/classes/${kept.id}/results.csv`, download: "results.csv" }, t("csv")),
      kept.set.scores ? null : h("button", { type: "button", onclick: () => void act("scores", { out: !kept.scores_out }) }, t(kept.scores_out ? "holdBack" : "letOut")),
      h("button", { type: "button", onclick: () => void openClass(page, kept.id, isOpen) }, t("refresh"))),
    h("section", {}, h("h2", {}, t("results")), matrix(told)),
    h("section", {}, h("h2", {}, t("links")), h("p", { class: "soft" }, t("linksLead")), local ? h("p", { class: "soft small" }, t("loopback")) : null,
      h("p", {}, h("button", { type: "button", onclick: () => void copy(page, kept.students.map((one) => `${plain(one.name)}\t${link(one.key)}`).join("\n")) }, t("copyAll"))),
      h("ul", { class: "list links" }, ...kept.students.map((one) => h("li", { class: "row" }, h("strong", {}, quoted(one.name)), h("a", { class: "grow address", href: link(one.key) }, link(one.key)),
        h("button", { type: "button", "aria-label": `${t("copy")}: ${plain(one.name)}`, onclick: () => void copy(page, link(one.key)) }, t("copy"))))),
      h("form", { class: "row", onsubmit: (event) => { event.preventDefault(); if (more.value.trim()) void act("students", { students: [more.value.trim()] }); } },
        h("label", { for: "more-students" }, t("more")), more, h("button", { type: "submit" }, t("add")))),
    h("section", {}, h("h2", {}, t("cases")), h("ol", {}, ...told.cases.map((person) => h("li", {}, person ? quoted(`${who(person)}: ${plain(person.complaint, 300)}`) : w("none"))))),
  );
}

function link(key: string): string {
  return `${location.origin}${location.pathname}#/link/${key}`;
}

async function copy(page: Page, text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    page.announce(t("copied"));
  } catch {
    // Without a clipboard (no https) the text is shown to be copied by hand.
    const area = h("textarea", { class: "copy", rows: 6, readonly: true, "aria-label": t("links") });
    area.value = text;
    page.main.prepend(area);
    area.focus();
    area.select();
  }
}

function matrix(told: ClassTold): HTMLElement {
  const numbers = told.class.set.cases.map((_, n) => n + 1);
  const by = new Map(told.rows.map((row) => [`${row.student}\n${row.case}`, row]));
  const mean = (rows: (ClassRow | undefined)[]): string => {
    const had = rows.map((row) => row?.points).filter((points): points is number => points != null);
    return had.length ? figure(had.reduce((a, b) => a + b, 0) / had.length, 0) : "–";
  };
  const students = told.class.students.map((one) => one.name);
  return h("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": t("results") }, h("table", { class: "matrix" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("student")), ...numbers.map((n) => h("th", { scope: "col", class: "number" }, t("case", n))), h("th", { scope: "col", class: "number" }, t("mean")))),
    h("tbody", {}, ...students.map((name) => h("tr", {}, h("th", { scope: "row" }, quoted(name)), ...numbers.map((n) => h("td", { class: "number" }, result(told.class, by.get(`${name}\n${n}`)))), h("td", { class: "number" }, mean(numbers.map((n) => by.get(`${name}\n${n}`))))))),
    h("tfoot", {}, h("tr", {}, h("th", { scope: "row" }, t("mean")), ...numbers.map((n) => h("td", { class: "number" }, mean(students.map((name) => by.get(`${name}\n${n}`))))), h("td", { class: "number" }, mean(told.rows))))));
}

function result(kept: KeptClass, row: ClassRow | undefined): Node {
  if (!row || row.state === "new") return h("span", { class: "soft" }, "–");
  const told = row.points == null ? w("begun") : `${row.points} ${row.verdict === "right" ? "✓" : "✗"}${row.comment ? " ✎" : ""}`;
  return h("a", { href: `#/class/${kept.id}/${encodeURIComponent(row.student)}/${row.case}`, "aria-label": `${plain(row.student)}, ${t("case", row.case)}: ${told}` }, told);
}

/** Draws one student's visit, with what the teacher says of it. */
export async function openStudentsVisit(page: Page, id: string, student: string, number: number, isOpen: () => boolean): Promise<void> {
  const told = await loaded<{ visit: SittingView; score: Scored | null }>(page, `api/chair/classes/${id}/visits/${number}`, { student });
  const about = await loaded<ClassTold>(page, `api/chair/classes/${id}`);
  if (told === null || about === null || !isOpen()) return;
  const before = about.rows.find((row) => row.student === student && row.case === number)?.comment ?? "";
  const comment = h("textarea", { id: "comment", rows: 3, maxlength: 8000 });
  comment.value = before;
  const lines = told.visit.lines.map((line) => h("li", { class: `line ${line.who}` }, h("span", { class: "from" }, line.who === "doctor" ? plain(student) : w(line.who === "examiner" ? "examiner" : "patient")), quoted(line.text)));
  put(
    page.main,
    h("a", { href: `#/class/${id}`, class: "small" }, `← ${w("back")}`),
    h("h1", {}, quoted(student), ` · ${t("case", number)}`),
    h("p", { class: "complaint" }, quoted(`${who(told.visit.patient)}: ${told.visit.patient.complaint}`)),
    h("form", { class: "card", onsubmit: async (event) => {
      event.preventDefault();
      try {
        await post(`api/chair/classes/${id}/comments`, { student, case: number, text: comment.value.trim() });
        page.announce(t("saved"));
        page.notice(t("saved"));
      } catch (error) {
        page.notice((error as ServerError).message);
      }
    } }, h("label", { for: "comment" }, t("comment")), comment, h("p", {}, h("button", { type: "submit" }, t("save")))),
    ...(told.score ? scorePage(told.visit, told.score, { trace: "", comment: "", lines }) : [h("p", { class: "soft" }, t("notOver")), h("section", { class: "card" }, h("h2", {}, t("transcript")), still(t("transcript"), lines))]),
  );
}
