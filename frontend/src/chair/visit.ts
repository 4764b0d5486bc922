// A visit: the talk, what was found, what it may be; then the report, and the score.

import { get, post, ServerError } from "../shell/api";
import { h, plain, put, quoted } from "../shell/dom";
import { language, texts } from "../shell/language";
import type { Page } from "../shell/shell";
import { differentialPanel } from "./differential";
import type { DifferentialPanel } from "./differential";
import { orderBox } from "./order";
import { still } from "./lines";
import { reportForm } from "./report";
import { resultsPanel } from "./results";
import { scorePage } from "./score";
import type { CasePicture, Diagnosis, GivenHint, Scored, SittingView, SpokenLine } from "./types";
import { percent, w, who } from "./words";

const t = texts({
  title: ["Visit", "问诊"],
  dialogue: ["Conversation", "对话"],
  say: ["Say to the patient", "对病人说"],
  placeholder: ["Such as: Since when do you have it?", "例如：这种情况有多久了？"],
  send: ["Say", "说"],
  sendHint: ["Enter says it; Shift and Enter begin a new line.", "回车发送；Shift+回车换行。"],
  left: ["{0} turns left", "还可说{0}次"],
  leftOne: ["1 turn left", "还可说1次"],
  end: ["End the talk, write the report", "结束问诊，写报告"],
  undo: ["Take back", "撤回"],
  undone: ["Taken back.", "已撤回。"],
  hint: ["Hint (costs {0})", "提示（扣{0}分）"],
  hints: ["Hints", "提示"],
  noHint: ["No further hint here", "此处没有更多提示"],
  results: ["Results", "检查结果"],
  differential: ["What may it be?", "可能是什么病？"],
  waiting: ["The patient is thinking …", "病人正在思考……"],
  ask: ["Ask the patient something more.", "再向病人问一些问题。"],
  orderNow: ["Order an examination.", "开一项检查。"],
  concludeNow: ["Enough is known: conclude.", "情况已足够：可以下结论。"],
  would: ["A doctor by rules would say: ", "规则医生会说："],
  thinks: ["A doctor by rules thinks of: ", "规则医生考虑："],
  openMind: ["A doctor by rules has no disease in mind yet.", "规则医生尚未想到任何疾病。"],
  afterTurn: ["turn {0}", "第{0}轮"],
  talkOver: ["The talk is over. Now the report.", "问诊结束，请写报告。"],
  handedIn: ["Your report is handed in.", "报告已提交。"],
  held: ["Your teacher lets the scores out later.", "老师稍后公布成绩。"],
  picture: ["Picture {0}, which belongs to this case; opens at its full size", "本病例的图片{0}；点击查看原图"],
  unshown: ["Picture {0} belongs to this case and cannot be shown here.", "本病例附有图片{0}，此处无法显示。"],
  elsewhere: ["Picture {0} belongs to this case and lies at an address elsewhere, from which nothing is fetched.", "本病例附有图片{0}，位于外部网址，本程序不会下载。"],
  lost: ["Your words are kept; send them again.", "您输入的内容已保留，请再次发送。"],
});

export interface Place { base: string; visit: string; back: string; comment?: string }

/** Opens a visit and plays it. */
export async function openVisit(page: Page, place: Place, isOpen: () => boolean): Promise<void> {
  let seen: SittingView;
  try {
    seen = await get<SittingView>(`${place.base}/${place.visit}`);
  } catch (error) {
    page.notice((error as ServerError).message);
    return;
  }
  if (isOpen()) new Visit(page, place, seen, isOpen).draw();
}

class Visit {
  private busy = false;
  private running: Promise<boolean> = Promise.resolve(true);
  private draft = "";
  private readonly kept: string;
  private dialogue!: HTMLElement;
  private log!: HTMLElement;
  private results!: HTMLElement;
  private hints!: HTMLElement;
  private problem!: HTMLElement;
  private actions!: HTMLElement;
  private differential!: DifferentialPanel;
  private told = 0;

  constructor(private readonly page: Page, private readonly place: Place, private seen: SittingView, private readonly isOpen: () => boolean) {
    this.kept = `polyclinic.draft.${seen.id}`;
    try { this.draft = sessionStorage.getItem(this.kept) ?? ""; } catch { this.draft = ""; }
  }

  draw(): void {
    this.page.notice("");
    if (this.seen.phase === "over") { void this.showScore(); return; }
    if (this.seen.phase === "report") { this.drawReport(); return; }
    this.drawTalk();
  }

  private header(): HTMLElement {
    const person = this.seen.patient;
    return h("header", { class: "case" },
      h("a", { href: this.place.back, class: "small" }, `← ${w("back")}`),
      h("h1", {}, quoted(who(person) || w("patient"))),
      h("p", { class: "complaint" }, quoted(person.complaint)),
      this.seen.pictures.length ? h("ul", { class: "pictures" }, ...this.seen.pictures.map((one) => h("li", {}, this.picture(one)))) : null);
  }

  private picture({ number, here }: CasePicture): HTMLElement {
    if (!here) return h("p", { class: "soft" }, t("elsewhere", number));
    const src = `${this.place.base}/${this.place.visit}/pictures/${number}`;
    const shown = h("a", { href: src, target: "_blank", rel: "noopener" },
      h("img", { src, alt: t("picture", number), onerror: () => shown.replaceWith(h("p", { class: "soft" }, t("unshown", number))) }));
    return shown;
  }

  private drawTalk(): void {
    this.told = this.seen.lines.length;
    this.dialogue = h("ol", {});
    put(this.dialogue, ...this.seen.lines.map((line) => this.line(line)));
    this.log = h("div", { class: "dialogue", role: "log", "aria-label": t("dialogue"), tabindex: 0, lang: tongue(this.seen) }, this.dialogue);
    this.problem = h("p", { class: "problem", role: "alert", hidden: true });
    this.results = h("div", { class: "found", tabindex: 0, role: "group", "aria-label": t("results") });
    this.hints = h("div", { class: "hints", "aria-live": "polite" });
    this.actions = h("div", { class: "row actions" });
    this.differential = differentialPanel(this.seen.differential, (diagnoses) => this.note(diagnoses));
    const words = h("textarea", { id: "say", rows: 2, maxlength: 4000, placeholder: t("placeholder"), "aria-describedby": "say-hint", oninput: (event) => this.keepDraft((event.target as HTMLTextAreaElement).value), onkeydown: (event) => {
      const key = event as KeyboardEvent;
      if (key.key === "Enter" && !key.shiftKey && !key.isComposing) { key.preventDefault(); void say(); }
    } });
    words.value = this.draft;
    const say = async (): Promise<void> => {
      const text = words.value.trim();
      if (!text || this.busy) return;
      if (await this.move({ do: "say", text })) { words.value = ""; this.keepDraft(""); words.focus(); }
    };
    put(
      this.page.main,
      this.header(),
      h("div", { class: "visit" },
        h("section", { class: "talk card", "aria-labelledby": "talk-title" },
          h("h2", { id: "talk-title" }, t("dialogue")),
          this.log,
          this.problem,
          h("form", { class: "say", onsubmit: (event) => { event.preventDefault(); void say(); } },
            h("label", { for: "say" }, t("say")),
            h("div", { class: "row" }, words, h("button", { type: "submit", class: "main" }, t("send"))),
            h("p", { id: "say-hint", class: "soft small" }, t("sendHint"))),
          this.seen.with_examiner ? orderBox(this.place.base, this.seen.patient.language, (names) => this.move({ do: "order", names })) : null,
          this.actions,
          this.hints),
        h("div", { class: "aside" },
          h("section", { class: "card", "aria-labelledby": "differential-title" }, h("h2", { id: "differential-title" }, t("differential")), this.differential.element),
          h("section", { class: "card", "aria-labelledby": "results-title" }, h("h2", { id: "results-title" }, t("results")), this.results)),
      ),
    );
    this.refresh();
    this.log.scrollTop = this.log.scrollHeight;
  }

  private refresh(): void {
    const seen = this.seen;
    this.dialogue.append(...seen.lines.slice(this.told).map((line) => this.line(line)));
    this.told = seen.lines.length;
    this.log.scrollTop = this.log.scrollHeight;
    put(this.results, ...resultsPanel(seen.results, seen.not_recorded, () => this.refresh()));
    put(this.hints, ...(seen.hints.length ? [h("h3", {}, t("hints")), h("ul", {}, ...seen.hints.map((one) => hintLine(one)))] : []));
    const failed = seen.phase === "failed";
    this.problem.hidden = !failed;
    if (failed) this.problem.textContent = plain(seen.problem);
    put(
      this.actions,
      h("span", { class: "soft", role: "status" }, seen.turns_left === 1 ? t("leftOne") : t("left", seen.turns_left)),
      h("span", { class: "grow" }),
      seen.undo ? h("button", { type: "button", onclick: () => void this.undo() }, t("undo")) : null,
      seen.next_hint ? h("button", { type: "button", onclick: () => void this.move({ do: "hint", rung: seen.next_hint }) }, t("hint", seen.hint_cost)) : null,
      h("button", { type: "button", class: "main", onclick: () => void this.move({ do: "conclude" }) }, t("end")),
    );
    this.differential.show(seen.differential);
  }

  private drawReport(): void {
    const seen = this.seen;
    put(
      this.page.main,
      this.header(),
      h("p", { class: "soft" }, t("talkOver")),
      h("div", { class: "visit" },
        reportForm(seen, (report) => this.move({ do: "report", ...report }), seen.undo ? () => void this.undo() : null),
        h("div", { class: "aside" },
          h("section", { class: "card", "aria-label": t("results") }, h("h2", {}, t("results")), ...resultsPanel(seen.results, seen.not_recorded, () => this.drawReport())),
          h("details", { class: "card", open: true }, h("summary", {}, t("dialogue")), still(t("dialogue"), seen.lines.map((line) => this.line(line)), tongue(seen)))),
      ),
    );
    this.page.main.querySelector<HTMLInputElement>("form input")?.focus();
  }

  private line(line: SpokenLine): HTMLElement {
    const from = line.who === "doctor" ? w("doctor") : line.who === "examiner" ? w("examiner") : line.to === "examiner" ? w("toExaminer") : w("patient");
    return h("li", { class: `line ${line.who}` }, h("span", { class: "from" }, from), line.who === "examiner" ? this.readOut(line) : quoted(line.text));
  }

  /** What the examiner read out, in short: its values stand among the results. */
  private readOut(line: SpokenLine): HTMLElement {
    const names = new Set(this.seen.results.filter((one) => one.values.some((value) => value.turn === line.turn)).map((one) => one.examination));
    if (!names.size) return quoted(line.text);
    return h("details", {}, h("summary", {}, quoted([...names].join(", "))), quoted(line.text));
  }

  private async undo(): Promise<void> {
    if (await this.move({ do: "undo" })) this.page.announce(t("undone"));
  }

  private async note(diagnoses: Diagnosis[]): Promise<void> {
    await this.running;  // what is noted while the patient still thinks comes after it
    if (diagnoses.length) await this.move({ do: "note", diagnoses });
  }

  /** Makes a move; says whether it was made. What was typed stays where it was not. */
  private move(move: Record<string, unknown>): Promise<boolean> {
    if (this.busy) return Promise.resolve(false);
    this.setBusy(true);
    this.running = this.moved(move);
    return this.running;
  }

  private async moved(move: Record<string, unknown>): Promise<boolean> {
    const waiting = h("li", { class: "line waiting", "aria-hidden": "true" }, t("waiting"));
    const slow = setTimeout(() => { if (this.seen.phase === "talk") { this.dialogue.append(waiting); this.log.scrollTop = this.log.scrollHeight; } }, 400);
    try {
      const seen = await post<SittingView>(`${this.place.base}/${this.place.visit}/moves`, { after: this.seen.moves, move });
      if (!this.isOpen()) return true;
      const [before, undone] = [this.seen.phase, move["do"] === "undo"];
      // What was said and is taken back can be said in other words.
      if (undone && before !== "report" && !this.draft) this.keepDraft([...this.seen.lines].reverse().find((line) => line.who === "doctor")?.text ?? "");
      this.seen = seen;
      this.page.notice("");
      clearTimeout(slow);
      waiting.remove();
      this.setBusy(false);
      if (seen.phase !== before && !(before === "failed" && seen.phase === "talk") && seen.phase !== "failed") this.draw();
      else if (undone) this.drawTalk();
      else this.refresh();
      return true;
    } catch (error) {
      const problem = error as ServerError;
      this.page.notice(problem.status === 0 ? `${problem.message} ${t("lost")}` : problem.message);
      if (problem.status === 409) await this.again();
      return false;
    } finally {
      clearTimeout(slow);
      waiting.remove();
      this.setBusy(false);
    }
  }

  /** Shows that nothing can be done for a moment; the focus stays where it is. */
  private setBusy(busy: boolean): void {
    this.busy = busy;
    for (const button of this.page.main.querySelectorAll(".actions button, .say button, .order button[type=submit], .report button[type=submit]")) {
      if (busy) button.setAttribute("aria-disabled", "true");
      else button.removeAttribute("aria-disabled");
    }
  }

  /** Loads the visit as it stands, which another window may have moved on. */
  private async again(): Promise<void> {
    const seen = await get<SittingView>(`${this.place.base}/${this.place.visit}`).catch(() => null);
    if (seen === null || !this.isOpen() || seen.moves === this.seen.moves) return;
    this.seen = seen;
    const notice = document.querySelector(".notice")?.textContent ?? "";
    this.draw();
    this.page.notice(notice);
  }

  private keepDraft(text: string): void {
    this.draft = text;
    try { sessionStorage.setItem(this.kept, text); } catch { /* It is kept on the page alone. */ }
  }

  private async showScore(): Promise<void> {
    try {
      const scored = await get<Scored>(`${this.place.base}/${this.place.visit}/score`);
      if (!this.isOpen()) return;
      put(this.page.main, this.header(), ...scorePage(this.seen, scored, { trace: `${this.place.base}/${this.place.visit}/trace`, comment: this.place.comment ?? "", lines: this.seen.lines.map((line) => this.line(line)) }));
      this.page.main.focus({ preventScroll: true });
      this.page.announce(`${t("handedIn")} ${scored.own.points.total} ${w("points")}`);
    } catch (error) {
      if (!this.isOpen()) return;
      const held = (error as ServerError).status === 409;
      put(this.page.main, this.header(), h("section", { class: "card" }, h("h2", {}, t("handedIn")), h("p", {}, held ? t("held") : (error as ServerError).message)));
    }
  }
}

function hintLine(given: GivenHint): HTMLElement {
  const { hint } = given;
  const step = { ask: t("ask"), order: t("orderNow"), conclude: t("concludeNow") };
  let told: Node | string = hint.step ? step[hint.step] : "";
  if (hint.rung === "turn" && hint.turn) told = h("span", {}, t("would"), quoted(hint.turn));
  if (hint.rung === "diseases") {
    const named = (hint.diseases ?? []).map((one) => (one.probability === undefined ? one.name : `${one.name} (${percent(one.probability)})`)).join(", ");
    told = named ? h("span", {}, t("thinks"), quoted(named)) : t("openMind");
  }
  return h("li", {}, h("span", { class: "soft small" }, `${t("afterTurn", given.turn)}: `), told);
}

function tongue(seen: SittingView): string | null {
  return seen.patient.language === language() ? null : seen.patient.language === "zh" ? "zh-Hans" : "en";
}

