// Where one begins: a case, a patient, visits that were begun, and classes.

import { get, post, ServerError } from "../shell/api";
import { h, once, plain, put, quoted } from "../shell/dom";
import { language, texts } from "../shell/language";
import type { Page } from "../shell/shell";
import { beginShift } from "./nurse";
import type { OfferedCase, Presentation, Settings, SittingView } from "./types";
import { w, who } from "./words";

const t = texts({
  title: ["Doctor's chair", "医生的椅子"],
  lead: [
    "Sit down, and see a simulated patient: ask, order examinations, say what it may be, write a report. Then you are scored beside what is so, and beside another doctor.",
    "请坐，为一位模拟病人看病：提问、开检查、说出可能的诊断、写报告。之后与真实情况和另一位医生比较评分。",
  ],
  any: ["See any patient", "随机一位病人"],
  nurse: ["Be the nurse at the door", "当分诊护士"],
  choose: ["Or choose one", "或自选一位"],
  set: ["Cases", "病例"],
  search: ["Search", "搜索"],
  patient: ["Who plays the patient", "病人由谁扮演"],
  turns: ["Turns you may take", "可说的次数"],
  see: ["See", "看病"],
  more: ["More", "更多"],
  found: ["{0} cases", "{0}个病例"],
  visits: ["Your visits", "您的就诊"],
  goOn: ["Go on", "继续"],
  look: ["Look at the score", "看评分"],
  moves: ["{0} moves", "{0}步"],
  teach: ["For teachers: classes", "教师：班级"],
  "shipped": ["Respiratory, English", "呼吸科（英文）"],
  "shipped-zh": ["Respiratory, Chinese", "呼吸科（中文）"],
  "inpatients": ["Inpatients, English", "住院病人（英文）"],
  "inpatients-zh": ["Inpatients, Chinese", "住院病人（中文）"],
});

/** Returns the name of a set as the page says it. */
export function setName(name: string): string {
  return name === "shipped" || name === "shipped-zh" || name === "inpatients" || name === "inpatients-zh" ? t(name) : plain(name);
}

/** Returns the set to begin with: one in the language of the page. */
export function firstSet(settings: Settings): string {
  return settings.sets.find((one) => one.languages.includes(language()))?.name ?? settings.sets[0]?.name ?? "";
}

const SHOWN = 12;

interface BegunVisit { id: string; begun: number; patient: Presentation; moves: number; points: number | null }

/** Draws the first page. */
export async function openStart(page: Page, isOpen: () => boolean): Promise<void> {
  let settings: Settings, begun: BegunVisit[];
  try {
    [settings, { visits: begun }] = await Promise.all([get<Settings>("api/chair/settings"), get<{ visits: BegunVisit[] }>("api/chair/visits")]);
  } catch (error) {
    page.notice((error as ServerError).message);
    return;
  }
  if (!isOpen()) return;
  const state = { set: firstSet(settings), patient: settings.patients[0] ?? "rules", turns: settings.max_turns };
  const begin = once(async (key: string) => {
    const seen = await post<SittingView>("api/chair/visits", { set: state.set, key, patient: state.patient, max_turns: state.turns });
    location.hash = `#/visit/${seen.id}`;
  }, (error) => page.notice(error.message));
  const shift = once(() => beginShift(state.set), (error) => page.notice(error.message));
  const finder = caseFinder(settings, () => state.set, (set) => { state.set = set; }, (one) => h("button", { type: "button", onclick: () => begin(one.key), "aria-label": `${t("see")}: ${who(one.presentation)}` }, t("see")), page);
  put(
    page.main,
    h("div", { class: "row" }, h("h1", { class: "grow" }, t("title")), h("a", { class: "button", href: "#/classes" }, t("teach"))),
    h("p", { class: "lead" }, t("lead")),
    h("section", { class: "card begin", "aria-label": t("any") },
      h("div", { class: "row" },
        finder.chooser,
        settings.patients.length > 1 ? field(t("patient"), h("select", { onchange: (event) => { state.patient = (event.target as HTMLSelectElement).value; } }, ...settings.patients.map((one) => h("option", { value: one }, one === "rules" ? w("rules") : plain(one))))) : null,
        field(t("turns"), h("input", { type: "number", min: 1, max: 50, value: state.turns, oninput: (event) => { state.turns = Math.min(50, Math.max(1, Number((event.target as HTMLInputElement).value) || settings.max_turns)); } })),
        h("button", { type: "button", class: "main", onclick: () => begin("") }, t("any")),
        h("button", { type: "button", class: "nurse", onclick: () => shift() }, t("nurse")))),
    begun.length ? h("section", {}, h("h2", {}, t("visits")), h("ul", { class: "list" }, ...begun.map((one) => h("li", { class: "row" },
      h("span", { class: "grow" }, h("strong", {}, quoted(who(one.patient))), " ", quoted(plain(one.patient.complaint, 120), { class: "soft" })),
      h("span", { class: "soft" }, one.points === null ? t("moves", one.moves) : `${one.points} ${w("points")}`),
      h("a", { class: "button", href: `#/visit/${one.id}` }, t(one.points === null ? "goOn" : "look")))))) : null,
    h("section", {}, h("h2", {}, t("choose")), finder.element),
  );
}

function field(label: string, control: HTMLElement): HTMLElement {
  return h("label", { class: "field" }, h("span", { class: "small soft" }, label), control);
}

/** Makes a list of cases that can be searched; `act` is what stands beside each. */
export function caseFinder(settings: Settings, chosen: () => string, choose: (set: string) => void, act: (one: OfferedCase) => HTMLElement, page: Page): { chooser: HTMLElement; element: HTMLElement } {
  let cases: OfferedCase[] = [];
  let words = "";
  let found = 0;
  let shown = SHOWN;
  let asked = 0;
  const list = h("ul", { class: "list" });
  const told = h("p", { class: "soft small", role: "status" });
  const more = h("button", { type: "button", hidden: true, onclick: () => { shown += SHOWN; if (shown > cases.length && cases.length < found) void look(cases.length); else draw(); } }, t("more"));
  const draw = (): void => {
    put(list, ...cases.slice(0, shown).map((one) => h("li", { class: "row" },
      h("span", { class: "grow" }, h("span", { class: "soft" }, `${one.number} `), h("strong", {}, quoted(who(one.presentation))), " ", quoted(plain(one.presentation.complaint, 300))),
      act(one))));
    told.textContent = t("found", found);
    more.hidden = shown >= found;
  };
  const look = async (start: number): Promise<void> => {
    const mine = ++asked;
    try {
      const answer = await get<{ cases: OfferedCase[]; found: number }>("api/chair/cases", { set: chosen(), words, start });
      if (mine !== asked) return;
      cases = start ? [...cases, ...answer.cases] : answer.cases;
      found = answer.found;
      if (!start) shown = SHOWN;
      draw();
    } catch (error) {
      page.notice((error as ServerError).message);
    }
  };
  const select = h("select", { onchange: (event) => { choose((event.target as HTMLSelectElement).value); void look(0); } }, ...settings.sets.map((one) => h("option", { value: one.name, selected: one.name === chosen() }, `${setName(one.name)} (${one.cases})`)));
  void look(0);
  return {
    chooser: field(t("set"), select),
    element: h("div", {}, h("div", { class: "row" }, field(t("search"), h("input", { type: "search", maxlength: 100, oninput: (event) => { words = (event.target as HTMLInputElement).value; void look(0); } })), told), list, more),
  };
}
