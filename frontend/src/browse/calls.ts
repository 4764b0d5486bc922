// Calls of models as they came: what for, what was asked, the reply, what was thought before it, and what went wrong.

import { h, plain } from "../shell/dom";
import { texts } from "../shell/language";
import { facts, inWords, number, raw } from "./parts";
import type { Asked, Call, Messages, Plain } from "./types";

const t = texts({
  thought: ["Thought", "思考"],
  reply: ["Reply", "回复"],
  asked: ["Asked", "提问"],
  before: ["{0} messages as in this role's call before", "{0} 条消息与上一次调用相同"],
  form: ["Form of the answer", "答案格式"],
  system: ["system", "系统"],
  user: ["user", "用户"],
  assistant: ["assistant", "助手"],
  gone: ["(not kept)", "（未保存）"],
  failed: ["Failed", "失败"],
  usage: ["Used", "用量"],
  seconds: ["Seconds", "秒"],
  attempts: ["Attempts", "尝试"],
  round: ["round trip {0}", "第{0}轮往返"],
  open: ["Open all", "全部展开"],
  close: ["Close all", "全部收起"],
});

/** Returns what was asked; what the call before had asked already is folded up. */
function asked(one: Asked, before: Asked | undefined, messages: Messages): HTMLElement {
  let same = 0;
  while (same < one.messages.length - 1 && one.messages[same] === before?.messages[same]) same++;
  const item = (id: string): HTMLElement => {
    const [who, text] = messages[id] ?? ["", t("gone")];
    const name = who === "system" || who === "user" || who === "assistant" ? t(who) : plain(who, 40);
    // What a model is told before everything is long, and seldom what one looks for.
    if (who === "system") return h("li", {}, h("details", {}, h("summary", { class: "soft small" }, name), raw(text)));
    return h("li", {}, h("span", { class: "soft small" }, name), raw(text));
  };
  return h("div", {}, h("h3", {}, t("asked")),
    same ? h("details", {}, h("summary", { class: "soft small" }, t("before", same)), h("ol", { class: "asked" }, ...one.messages.slice(0, same).map(item))) : null,
    h("ol", { class: "asked" }, ...one.messages.slice(same).map(item)),
    one.answer ? h("details", {}, h("summary", { class: "soft small" }, t("form")), raw(one.answer)) : null);
}

export function calls(told: Call[], messages: Messages = {}): HTMLElement {
  const before = new Map<string, Asked>(); // what each role asked last
  const rows = told.map((call) => {
    const last = before.get(call.asked?.role ?? "");
    if (call.asked) before.set(call.asked.role, call.asked);
    return row(call, last, messages);
  });
  const open = h("button", { type: "button", "aria-pressed": "false", onclick: () => {
    const all = open.getAttribute("aria-pressed") !== "true";
    open.setAttribute("aria-pressed", String(all));
    open.textContent = t(all ? "close" : "open");
    for (const one of rows) one.open = all;
  } }, t("open"));
  return h("div", { class: "calls" }, rows.length > 1 ? open : null, ...rows);
}

function row(call: Call, last: Asked | undefined, messages: Messages): HTMLDetailsElement {
  const said = [call.asked?.role, call.asked?.model].filter(Boolean).map((one) => plain(one, 80)).join(" · ");
  return h("details", { class: "call", "data-seq": call.seq ?? null },
    h("summary", {}, h("strong", {}, plain(call.purpose || "–")), call.round_trip ? h("span", { class: "soft small" }, ` ${t("round", call.round_trip)}`) : null,
      said ? h("span", { class: "soft small" }, ` ${said}`) : null,
      h("span", { class: "soft begin" }, ` ${plain(call.text || call.problem || "").slice(0, 100)}`)),
    call.problem || call.error || call.failure ? h("p", { class: "wrong" }, `${t("failed")}: ${plain([call.error, call.failure, call.problem].filter(Boolean).join(": "))}`) : null,
    call.asked ? asked(call.asked, last, messages) : null,
    call.thought ? h("div", {}, h("h3", {}, t("thought")), raw(call.thought)) : null,
    call.text ? h("div", {}, h("h3", {}, t("reply")), raw(call.text)) : null,
    facts([[t("usage"), inWords((call.usage ?? {}) as Record<string, Plain>)], [t("seconds"), call.seconds ? number(call.seconds, 3) : ""], [t("attempts"), call.attempts && call.attempts > 1 ? call.attempts : ""]]));
}
