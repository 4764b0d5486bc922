// A shift at the door: who comes, what is measured, a few questions, and how soon the patient must be seen.

import { get, post, ServerError } from "../shell/api";
import { h, plain, put, quoted } from "../shell/dom";
import { language, texts } from "../shell/language";
import { follow } from "../shell/follow";
import type { Page } from "../shell/shell";
import { resultsPanel } from "./results";
import type { ShiftView } from "./types";
import { w, who } from "./words";

const t = texts({
  title: ["At the door", "分诊台"],
  patient: ["Patient {0} of {1}", "第{0}位，共{1}位"],
  signs: ["Measured", "测量结果"],
  ask: ["A question to the patient ({0} left)", "向病人提问（还可问{0}次）"],
  askIt: ["Ask", "问"],
  level: ["How soon must this patient be seen?", "这位病人应多快就诊？"],
  level1: ["at once: life must be saved now", "立即：需要抢救"],
  level2: ["within minutes: waiting is dangerous", "数分钟内：等待有危险"],
  level3: ["soon: several kinds of examinations or treatment", "尽快：需要多种检查或治疗"],
  level4: ["can wait: one kind", "可等待：只需一种"],
  level5: ["can wait long: none", "可久等：不需要"],
  over: ["The shift is over", "值班结束"],
  right: ["{0} of {1} right, {2} judged as too light, {3} as too heavy. The rules had {4} right.", "{1}位中{0}位判断正确，{2}位判轻了，{3}位判重了。规则护士{4}位正确。"],
  who: ["Patient", "病人"],
  given: ["You", "您"],
  so: ["So", "真实"],
  rules: ["Rules", "规则"],
  what: ["What it was", "真实诊断"],
  light: ["too light", "判轻"],
  heavy: ["too heavy", "判重"],
  exact: ["right", "正确"],
  again: ["Another shift", "再值一班"],
  index: ["Levels are those of the Emergency Severity Index.", "级别采用急诊严重程度指数（ESI）。"],
  keys: ["Keys 1 to 5 judge, where no question is being typed.", "未输入问题时，按1至5键判断。"],
});

/** Begins a shift. */
export async function beginShift(set: string): Promise<void> {
  const seen = await post<ShiftView>("api/chair/shifts", { set, seed: Math.floor(Math.random() * 2 ** 31) });
  location.hash = `#/shift/${seen.id}`;
}

/** Opens a shift. */
export async function openShift(page: Page, id: string, isOpen: () => boolean): Promise<void> {
  try {
    const seen = await get<ShiftView>(`api/chair/shifts/${id}`);
    if (!isOpen()) return;
    draw(page, seen, isOpen);
    // The shift may go on in another window.
    follow(`api/chair/shifts/${id}`, seen, isOpen, (next: ShiftView) => { if (next.moves > latest) draw(page, next, isOpen); });
  } catch (error) {
    page.notice((error as ServerError).message);
  }
}

let latest = 0; // moves of what is drawn

function draw(page: Page, seen: ShiftView, isOpen: () => boolean): void {
  latest = seen.moves;
  let busy = false;
  const move = async (made: { ask: string } | { level: number }): Promise<void> => {
    if (busy) return;
    busy = true;
    try {
      const next = await post<ShiftView>(`api/chair/shifts/${seen.id}/moves`, { after: seen.moves, move: made });
      page.notice("");
      if (isOpen()) draw(page, next, isOpen);
    } catch (error) {
      busy = false;
      const problem = error as ServerError;
      page.notice(problem.message);
      if (problem.status === 409 && isOpen()) void openShift(page, seen.id, isOpen);
    }
  };
  const head = [h("a", { href: "#/", class: "small" }, `← ${w("back")}`), h("h1", {}, seen.patient ? t("title") : t("over"))];
  if (!seen.patient) {
    put(page.main, ...head, ...over(seen));
    page.announce(t("over"));
    return;
  }
  const question = h("input", { type: "text", id: "question", maxlength: 1000, autocomplete: "off" });
  const levels = [1, 2, 3, 4, 5].map((level) => h("li", {}, h("button", { type: "button", class: "level", onclick: () => void move({ level }) }, h("strong", {}, level), ` ${t(`level${level}` as "level1")}`)));
  put(
    page.main,
    ...head,
    h("p", { class: "soft", role: "status" }, t("patient", seen.number, seen.of)),
    h("div", { class: "visit", onkeydown: (event) => {
      const { key, target, ctrlKey, altKey, metaKey } = event as KeyboardEvent;
      if (/^[1-5]$/.test(key) && !(target instanceof HTMLInputElement) && !ctrlKey && !altKey && !metaKey) void move({ level: Number(key) });
    } },
      h("section", { class: "card" },
        h("h2", {}, quoted(who(seen.patient) || w("patient"))),
        h("p", { class: "complaint", lang: seen.patient.language === language() ? null : seen.patient.language === "zh" ? "zh-Hans" : "en" }, quoted(seen.patient.complaint)),
        h("ul", { class: "points", "aria-live": "polite" }, ...seen.exchanges.map(([asked, told]) => h("li", {}, quoted(asked, { class: "soft" }), " ", quoted(told)))),
        seen.questions_left > 0 ? h("form", { onsubmit: (event) => { event.preventDefault(); if (question.value.trim()) void move({ ask: question.value.trim() }); } },
          h("label", { for: "question" }, t("ask", seen.questions_left)),
          h("div", { class: "row" }, h("div", { class: "combo" }, question), h("button", { type: "submit" }, t("askIt")))) : null,
        h("h2", {}, t("level")),
        h("ol", { class: "list" }, ...levels),
        h("p", { class: "soft small" }, `${t("index")} ${t("keys")}`)),
      h("section", { class: "card", "aria-label": t("signs") }, h("h2", {}, t("signs")), ...resultsPanel(seen.signs, [], () => draw(page, seen, isOpen)))),
  );
  (seen.questions_left > 0 ? question : levels[0]?.querySelector("button"))?.focus();
}

function over(seen: ShiftView): Node[] {
  const rows = seen.received;
  const count = (is: (given: number, so: number) => boolean): number => rows.filter((row) => is(row.given, row.so)).length;
  const verdict = (given: number, so: number): string => (given === so ? `✓ ${t("exact")}` : given > so ? `✗ ${t("light")}` : `✗ ${t("heavy")}`);
  return [
    h("p", { class: "lead" }, t("right", count((a, b) => a === b), rows.length, count((a, b) => a > b), count((a, b) => a < b), rows.filter((row) => row.rules === row.so).length)),
    h("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": t("over") }, h("table", {},
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("who")), ...(["given", "so", "rules"] as const).map((name) => h("th", { scope: "col", class: "number" }, t(name))), h("td", {}), h("th", { scope: "col" }, t("what")))),
      h("tbody", {}, ...rows.map((row) => h("tr", {},
        h("th", { scope: "row" }, quoted(who(row.patient)), " ", quoted(plain(row.patient.complaint, 120), { class: "soft" })),
        h("td", { class: "number" }, row.given), h("td", { class: "number" }, row.so), h("td", { class: "number" }, row.rules),
        h("td", {}, verdict(row.given, row.so)), h("td", {}, quoted(row.diagnosis))))))),
    h("p", {}, h("a", { class: "button main", href: "#/" }, t("again"))),
  ];
}
