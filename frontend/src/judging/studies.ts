// For whoever holds a study: what is judged, by whom, how far they have come, and how far they agree.

import { get, post, ServerError } from "../shell/api";
import { h, once, plain, put, quoted } from "../shell/dom";
import { figure, texts } from "../shell/language";
import { follow } from "../shell/follow";
import type { Page } from "../shell/shell";
import type { JudgingSettings, StudyState } from "./types";
import { formName } from "./words";

const t = texts({
  title: ["Studies", "评判研究"],
  lead: ["Let people judge what was recorded: each by a link of their own, blind to whose it is, in an order of their own. What they say is kept in the form that the scorers read.", "请人评判已记录的内容：每人一个链接，不知道出自谁，顺序各不相同。结果以评分程序可读的格式保存。"],
  make: ["Make a study", "新建研究"],
  none: ["There is no study yet.", "还没有研究。"],
  items: ["{0} items, {1} people", "{0}项，{1}人"],
  back: ["Back", "返回"],
  name: ["Title", "名称"],
  forms: ["What is asked", "评判内容"],
  material: ["What is judged", "评判对象"],
  noMaterial: ["There are no traces in the folders that are served. Make some: polyclinic consult shipped --out traces.jsonl. Records can be judged without.", "所提供的文件夹中没有记录。可先运行：polyclinic consult shipped --out traces.jsonl。评判病历不需要记录。"],
  played: ["Visits that people played here", "在此由人进行的问诊"],
  traces: ["traces", "对话记录"],
  outcomes: ["outcomes", "作答结果"],
  cases: ["The cases that they were made with", "所用的病例"],
  people: ["Who judges everything, a name a line (two or more)", "评判全部的人，每行一个名字（两人或更多）"],
  thirds: ["Who decides where these differ, a name a line", "意见不一时的裁定人，每行一个名字"],
  sample: ["Items of each form, drawn (0: all)", "每项内容抽取的数量（0为全部）"],
  seed: ["Seed", "随机种子"],
  missing: ["Give the study a title, something to ask, and two people who judge everything.", "请填写名称、评判内容和至少两名评判人。"],
  progress: ["Progress", "进度"],
  person: ["Person", "评判人"],
  judged: ["Judged", "已评判"],
  third: ["decides where others differ", "裁定"],
  link: ["Link", "链接"],
  copy: ["Copy", "复制"],
  copied: ["Copied.", "已复制。"],
  agreement: ["Agreement", "一致性"],
  noAgreement: ["Nobody has judged anything yet.", "还没有评判结果。"],
  question: ["Question", "问题"],
  shared: ["by two or more", "两人以上评判"],
  alike: ["Equal pairs, %", "一致的答案对（%）"],
  kappa: ["Cohen's κ", "Cohen κ"],
  alpha: ["Krippendorff's α", "Krippendorff α"],
  undecided: ["still undecided", "仍未定"],
  disputed: ["{0}: items on which two people differ: {1}", "{0}：有{1}项意见不一"],
  download: ["Download the verdicts", "下载评判结果"],
  use: ["Scorers read them: polyclinic verdicts agreement FILE; eval aie, mvme, tor and reliability with --verdicts FILE.", "评分程序可读取：polyclinic verdicts agreement FILE；eval aie、mvme、tor、reliability 用 --verdicts FILE。"],
  figures: ["What it comes to so far", "目前结果"],
  refresh: ["Look again", "刷新"],
  of: ["{0} of {1}", "{0}/{1}"],
  local: ["These links lead to this machine alone. For others, begin the server with: polyclinic serve --host 0.0.0.0", "这些链接只能在本机打开。要让别人访问，请用以下命令启动：polyclinic serve --host 0.0.0.0"],
});

async function loaded<T>(page: Page, path: string): Promise<T | null> {
  try {
    return await get<T>(path);
  } catch (error) {
    page.notice((error as ServerError).message);
    return null;
  }
}

/** Draws all studies. */
export async function openStudies(page: Page, isOpen: () => boolean): Promise<void> {
  const told = await loaded<{ studies: { id: string; title: string; items: number; people: number }[] }>(page, "api/judging/studies");
  if (told === null || !isOpen()) return;
  put(
    page.main,
    h("h1", {}, t("title")),
    h("p", { class: "lead" }, t("lead")),
    h("p", {}, h("a", { class: "button main", href: "#/study/new" }, t("make"))),
    told.studies.length ? h("ul", { class: "list" }, ...told.studies.map((one) => h("li", { class: "row" }, h("a", { class: "grow", href: `#/study/${one.id}` }, quoted(one.title)), h("span", { class: "soft" }, t("items", one.items, one.people))))) : h("p", { class: "soft" }, t("none")),
  );
}

/** Draws the form of a new study. */
export async function openNewStudy(page: Page, isOpen: () => boolean): Promise<void> {
  const settings = await loaded<JudgingSettings>(page, "api/judging/settings");
  if (settings === null || !isOpen()) return;
  const title = h("input", { type: "text", id: "title", maxlength: 120 });
  const people = h("textarea", { id: "people", rows: 3, maxlength: 8000 });
  const thirds = h("textarea", { id: "thirds", rows: 2, maxlength: 8000 });
  const sample = h("input", { type: "number", id: "sample", min: 0, max: 5000, value: 0 });
  const seed = h("input", { type: "number", id: "seed", min: 0, value: 0 });
  const cases = h("select", { id: "cases" }, ...settings.sets.map((one) => h("option", { value: one.name }, `${plain(one.name)} (${one.cases})`)));
  const tick = (value: string, label: string, more = ""): [HTMLInputElement, HTMLElement] => {
    const input = h("input", { type: "checkbox", value });
    return [input, h("label", { class: "tick" }, input, h("span", {}, quoted(label), more ? h("span", { class: "soft small" }, ` ${more}`) : null))];
  };
  const forms = settings.forms.map((one) => tick(one.name, formName(one.name), one.source));
  const material = settings.material.map((one) => tick(one.name, one.name === "played visits" ? t("played") : one.name, t(one.kind)));
  const chosen = (ticks: [HTMLInputElement, HTMLElement][]): string[] => ticks.filter(([input]) => input.checked).map(([input]) => input.value);
  const lines = (area: HTMLTextAreaElement): string[] => area.value.split("\n").map((line) => line.trim()).filter(Boolean);
  const make = once(async (told: object) => {
    const made = await post<StudyState>("api/judging/studies", told);
    location.hash = `#/study/${made.id}`;
  }, (error) => {
    page.notice(error.message);
    window.scrollTo(0, 0);
  });
  put(
    page.main,
    h("a", { href: "#/", class: "small" }, `← ${t("back")}`),
    h("h1", {}, t("make")),
    h("form", { class: "card new-study", novalidate: true, onsubmit: (event) => {
      event.preventDefault();
      if (!title.value.trim() || !chosen(forms).length || lines(people).length < 2) { page.notice(t("missing")); return; }
      make({
        title: title.value.trim(), forms: chosen(forms), material: chosen(material), cases: cases.value, people: lines(people), thirds: lines(thirds),
        sample: Math.max(0, Math.min(5000, Math.floor(Number(sample.value) || 0))), seed: Math.max(0, Math.floor(Number(seed.value) || 0)),
      });
    } },
      h("label", { for: "title" }, t("name")), title,
      h("fieldset", {}, h("legend", {}, t("forms")), ...forms.map(([, label]) => label)),
      h("fieldset", {}, h("legend", {}, t("material")), ...(material.length ? material.map(([, label]) => label) : [h("p", { class: "soft" }, t("noMaterial"))])),
      h("label", { for: "cases" }, t("cases")), cases,
      h("label", { for: "people" }, t("people")), people,
      h("label", { for: "thirds" }, t("thirds")), thirds,
      h("div", { class: "row" }, h("label", { for: "sample" }, t("sample")), sample, h("label", { for: "seed" }, t("seed")), seed),
      h("button", { type: "submit", class: "main" }, t("make"))),
  );
}

/** Draws how a study stands. */
export async function openStudy(page: Page, id: string, isOpen: () => boolean): Promise<void> {
  const state = await loaded<StudyState>(page, `api/judging/studies/${id}`);
  if (state === null || !isOpen()) return;
  drawStudy(page, state, isOpen);
  follow(`api/judging/studies/${id}`, state, isOpen, (next: StudyState) => drawStudy(page, next, isOpen));
}

function drawStudy(page: Page, state: StudyState, isOpen: () => boolean): void {
  const { id } = state;
  const link = (key: string): string => `${location.origin}${location.pathname}#/link/${key}`;
  const local = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
  const differ = Object.entries(state.disputed).filter(([, count]) => count > 0);
  put(
    page.main,
    h("a", { href: "#/", class: "small" }, `← ${t("back")}`),
    h("div", { class: "row" }, h("h1", { class: "grow" }, quoted(state.title)), h("button", { type: "button", onclick: () => void openStudy(page, id, isOpen) }, t("refresh"))),
    h("p", { class: "soft" }, Object.entries(state.items).map(([form, count]) => `${formName(form)}: ${count}`).join(" · ")),
    h("section", {}, h("h2", {}, t("progress")),
      local ? h("p", { class: "soft small" }, t("local")) : null,
      h("ul", { class: "list" }, ...state.people.map((person) => {
        const how = state.progress.find((one) => one.name === person.name) ?? { done: 0, of: 0 };
        return h("li", { class: "row" },
          h("span", { class: "who" }, h("strong", {}, quoted(person.name)), person.third ? h("span", { class: "soft small" }, ` ${t("third")}`) : null),
          h("span", { class: "how" }, t("of", how.done, how.of), h("progress", { max: Math.max(1, how.of), value: how.done, "aria-hidden": "true" })),
          h("a", { class: "grow address small", href: link(person.key) }, link(person.key)),
          h("button", { type: "button", "aria-label": `${t("copy")}: ${plain(person.name)}`, onclick: async () => {
            await navigator.clipboard?.writeText(link(person.key)).then(() => page.announce(t("copied")), () => undefined);
          } }, t("copy")));
      }))),
    h("section", {}, h("h2", {}, t("agreement")),
      ...differ.map(([form, count]) => h("p", { class: "soft" }, t("disputed", formName(form), count))),
      state.agreement.length ? agreement(state) : h("p", { class: "soft" }, t("noAgreement"))),
    state.agreement.length ? h("section", {}, h("h2", {}, t("figures")), ...Object.entries(state.figures).map(([form, doctors]) => figures(form, doctors))) : null,
    h("section", {}, h("h2", {}, t("download")),
      h("div", { class: "row" }, ...["csv", "jsonl"].map((ending) => h("a", { class: "button", href: `api/judging/studies/${id}/verdicts.${ending}`, download: `verdicts.${ending}` }, `verdicts.${ending}`))),
      h("p", { class: "soft small" }, t("use"))),
  );
}

function number(value: number | null | undefined, digits = 2): string {
  return value === null || value === undefined ? "–" : figure(value, digits);
}

function agreement(state: StudyState): HTMLElement {
  return h("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": t("agreement") }, h("table", {},
    h("thead", {}, h("tr", {}, ...[t("question"), t("judged"), t("shared"), t("alike"), t("kappa"), t("alpha"), t("undecided")].map((name, n) => h("th", { scope: "col", class: n ? "number" : null }, name)))),
    h("tbody", {}, ...state.agreement.map((one) => h("tr", {},
      h("th", { scope: "row" }, `${plain(one.question)} `, h("span", { class: "soft small" }, formName(one.form))),
      ...[number(one.items, 0), number(one.shared, 0), number(one.alike, 1), number(one.kappa), number(one.alpha?.alpha), number(one.undecided, 0)].map((told) => h("td", { class: "number" }, told)))))));
}

/** Draws what the verdicts of a form come to: every figure by its name, those within others after a dot. */
function figures(form: string, doctors: Record<string, unknown>): HTMLElement {
  const rows = Object.entries(doctors).flatMap(([doctor, told]) => flat(told).map(([name, value]) => ({ doctor, name, value })));
  return h("details", {}, h("summary", {}, formName(form)), h("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": formName(form) }, h("table", {}, h("tbody", {}, ...rows.map((row) =>
    h("tr", {}, h("td", {}, quoted(row.doctor)), h("th", { scope: "row" }, plain(row.name)), h("td", { class: "number" }, row.value)))))));
}

function flat(told: unknown, before = ""): [string, string][] {
  if (typeof told === "number") return [[before, figure(told, 2)]];
  if (told === null || typeof told !== "object") return [[before, plain(told)]];
  return Object.entries(told).filter(([, value]) => value !== null).flatMap(([name, value]) => flat(value, before ? `${before}.${name}` : name));
}
