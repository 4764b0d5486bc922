// What somebody who judges sees: an item after the other, its questions beside it. Every answer is kept at once.

import { get, post, ServerError } from "../shell/api";
import { h, plain, put, quoted } from "../shell/dom";
import { language, texts } from "../shell/language";
import type { Page } from "../shell/shell";
import { answerName, formName } from "./words";
import type { AnnotatorsDesk, JudgingTask, ShownQuestion } from "./types";

const t = texts({
  lead: ["{0}, please judge each item by itself. Every answer is kept at once; you may leave, and go on later with this same link.", "{0}，请逐项独立评判。每个答案会立即保存；可以离开，之后用同一链接继续。"],
  third: ["You decide where two others differ. Nothing tells you what they said.", "您负责裁定两位评判者意见不一的项目。不会告诉您他们的答案。"],
  nothing: ["There is nothing for you to judge now.", "目前没有需要您评判的项目。"],
  all: ["All {0} are judged. Thank you.", "全部{0}项已评判，谢谢。"],
  item: ["Item {0} of {1}", "第{0}项，共{1}项"],
  done: ["{0} of {1} judged", "已评判{0}/{1}"],
  previous: ["Back", "上一项"],
  next: ["Next", "下一项"],
  open: ["Next that is open", "下一个未评判的"],
  keys: ["Keys: a number answers the marked question, and the next one is marked; n is the next item, p the one before.", "快捷键：数字键回答当前问题并跳到下一题；n为下一项，p为上一项。"],
  kept: ["Kept.", "已保存。"],
  comment: ["Comment (if you wish)", "备注（可不填）"],
  clear: ["Take this answer back", "撤回此答案"],
  first_dialogue: ["First doctor", "第一位医生"],
  second_dialogue: ["Second doctor", "第二位医生"],
  right: ["What is right", "正确诊断"],
  record: ["The record", "病历"],
  said: ["What was said", "对话"],
  department: ["Department", "科室"],
  reference: ["What is so", "参考（真实情况）"],
  report: ["The report", "报告"],
  diagnoses: ["Diagnoses that are so", "真实诊断"],
  explanation: ["The explanation", "解释"],
  done_examinations: ["Examinations done", "已做检查"],
  asked: ["The question", "题目"],
  key: ["What is right", "正确答案"],
  answer: ["What was answered", "给出的答案"],
  lost: ["Your answer is not kept yet; give it again.", "您的答案尚未保存，请再答一次。"],
});
const SIDE = ["first_dialogue", "second_dialogue"];

/** Opens somebody's desk at an item; at the first open one where none is named. */
export async function openDesk(page: Page, key: string, number: number, isOpen: () => boolean): Promise<void> {
  try {
    const desk = await get<AnnotatorsDesk>(`api/judging/by-link/${key}`);
    if (!isOpen()) return;
    if (!desk.items.length) {
      put(page.main, h("h1", {}, quoted(desk.title)), h("p", { class: "lead" }, t(desk.third ? "third" : "nothing")), desk.third ? h("p", {}, t("nothing")) : null);
      return;
    }
    const open = desk.items.findIndex(([, done]) => !done) + 1;
    const at = Math.min(number || open || 1, desk.items.length);
    const task = await get<JudgingTask>(`api/judging/by-link/${key}/items/${at}`);
    if (isOpen()) new Item(page, key, desk, task).draw();
  } catch (error) {
    page.notice((error as ServerError).message);
  }
}

class Item {
  private marked = 0;
  private saving: Promise<void> = Promise.resolve();
  private readonly answers: Record<string, string | number>;
  private comment: string;
  private groups: HTMLFieldSetElement[] = [];
  private state = h("p", { class: "soft", role: "status" });

  constructor(private readonly page: Page, private readonly key: string, private desk: AnnotatorsDesk, private readonly task: JudgingTask) {
    this.answers = { ...task.answers };
    this.comment = task.comment;
  }

  draw(): void {
    const { task, desk } = this;
    const shown = Object.entries(task.shown);
    this.groups = task.questions.map((question, n) => this.question(question, n));
    const comment = h("textarea", { id: "comment", rows: 2, maxlength: 8000, onchange: (event) => { this.comment = (event.target as HTMLTextAreaElement).value; void this.save(); } });
    comment.value = this.comment;
    const first = this.task.questions.findIndex((question) => this.answers[question.id] === undefined);
    this.marked = Math.max(0, first);
    put(
      this.page.main,
      h("div", { class: "row" }, h("h1", { class: "grow" }, quoted(desk.title)), h("span", { class: "soft" }, formName(task.form))),
      h("p", { class: "soft small" }, t("lead", plain(desk.name))),
      desk.third ? h("p", { class: "soft small" }, t("third")) : null,
      this.state,
      h("div", { class: `item ${task.shown["first_dialogue"] === undefined ? "" : "pair"}` },
        h("div", { class: "shown" },
          ...shown.filter(([name]) => !SIDE.includes(name)).map(([name, text]) => this.piece(name, text)),
          task.shown["first_dialogue"] === undefined ? null : h("div", { class: "sides" }, ...SIDE.map((name) => this.piece(name, task.shown[name] ?? "")))),
        h("form", { class: "card questions", onsubmit: (event) => event.preventDefault(), onkeydown: (event) => this.pressed(event as KeyboardEvent) },
          ...this.groups,
          h("label", { for: "comment" }, t("comment")), comment,
          h("div", { class: "row" },
            h("button", { type: "button", disabled: task.number === 1, onclick: () => void this.go(task.number - 1) }, t("previous")),
            h("button", { type: "button", class: "main", disabled: task.number === desk.items.length, onclick: () => void this.go(task.number + 1) }, t("next")),
            h("button", { type: "button", onclick: () => void this.go(desk.items.findIndex(([, done]) => !done) + 1) }, t("open"))),
          h("p", { class: "soft small" }, t("keys")))),
    );
    this.tell();
    this.mark();
    this.groups[this.marked]?.querySelector<HTMLInputElement>("input")?.focus();
  }

  private piece(name: string, text: string): HTMLElement {
    const label = name === "done" ? t("done_examinations") : t(name as "record");
    const lines = plain(text, 60_000).split("\n");
    return h("section", { class: "card piece", "aria-label": label }, h("h2", {}, label), h("div", { class: "text", tabindex: 0, role: "group", "aria-label": label }, ...lines.map((line) => h("p", {}, quoted(line)))));
  }

  private question(question: ShownQuestion, n: number): HTMLFieldSetElement {
    const name = `q-${question.id}`;
    const choices: (string | number)[] = question.scale ? Array.from({ length: question.scale[1] - question.scale[0] + 1 }, (_, k) => (question.scale as [number, number])[0] + k) : question.answers;
    const group = h("fieldset", { "data-n": n, onfocusin: () => { this.marked = n; this.mark(); } },
      h("legend", {}, question[language()]),
      h("div", { class: "choices" }, ...choices.map((choice, k) => h("label", { class: "choice" },
        h("input", { type: "radio", name, value: String(choice), checked: String(this.answers[question.id] ?? "") === String(choice), onchange: () => void this.answer(question.id, choice) }),
        h("span", {}, answerName(String(choice))),
        h("kbd", { "aria-hidden": "true" }, question.scale ? choice : k + 1))),
      h("button", { type: "button", class: "quiet small clear", "aria-label": `${t("clear")}: ${question[language()]}`, onclick: () => {
        delete this.answers[question.id];
        for (const input of group.querySelectorAll("input")) input.checked = false;
        void this.save();
      } }, "✕")));
    return group;
  }

  private pressed(event: KeyboardEvent): void {
    if ((event.target as HTMLElement).tagName === "TEXTAREA" || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "p" && this.task.number > 1) { event.preventDefault(); void this.go(this.task.number - 1); return; }
    if (event.key === "n" && this.task.number < this.desk.items.length) { event.preventDefault(); void this.go(this.task.number + 1); return; }
    if (!/^\d$/.test(event.key)) return;
    const question = this.task.questions[this.marked];
    if (!question) return;
    const wanted = question.scale ? Number(event.key) : question.answers[Number(event.key) - 1];
    const input = [...(this.groups[this.marked]?.querySelectorAll("input") ?? [])].find((one) => one.value === String(wanted));
    if (!input || wanted === undefined) return;
    event.preventDefault();
    input.checked = true;
    void this.answer(question.id, wanted);
    if (this.marked < this.groups.length - 1) {
      this.marked++;
      this.groups[this.marked]?.querySelector<HTMLInputElement>("input:checked, input")?.focus();
      this.mark();
    }
  }

  private mark(): void {
    this.groups.forEach((group, n) => group.classList.toggle("marked", n === this.marked));
  }

  private async answer(id: string, value: string | number): Promise<void> {
    this.answers[id] = value;
    await this.save();
  }

  /** Keeps the answers as they are now, one sending after the other. */
  private save(): Promise<void> {
    this.saving = this.saving.then(() => this.send());
    return this.saving;
  }

  private async send(): Promise<void> {
    try {
      this.desk = await post<AnnotatorsDesk>(`api/judging/by-link/${this.key}/items/${this.task.number}`, { answers: this.answers, comment: this.comment });
      this.page.notice("");
      this.tell(true);
    } catch (error) {
      const problem = error as ServerError;
      this.page.notice(problem.status === 0 ? `${problem.message} ${t("lost")}` : problem.message);
    }
  }

  private tell(kept = false): void {
    const { items } = this.desk;
    const done = items.filter(([, one]) => one).length;
    const parts = [t("item", this.task.number, items.length), done === items.length ? t("all", items.length) : t("done", done, items.length)];
    put(this.state, parts.join(" · "), kept ? h("span", { class: "kept" }, ` ${t("kept")}`) : null, h("progress", { max: items.length, value: done, "aria-hidden": "true" }));
  }

  private async go(to: number): Promise<void> {
    await this.saving;
    if (to > 0) location.hash = `#/link/${this.key}/${to}`;
  }
}
