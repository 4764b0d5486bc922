// Calls of models as they came: what for, the reply, what was thought before it, and what went wrong.

import { h, plain } from "../shell/dom";
import { texts } from "../shell/language";
import { facts, inWords, number, raw } from "./parts";
import type { Call, Plain } from "./types";

const t = texts({
  thought: ["Thought", "思考"],
  reply: ["Reply", "回复"],
  failed: ["Failed", "失败"],
  usage: ["Used", "用量"],
  seconds: ["Seconds", "秒"],
  attempts: ["Attempts", "尝试"],
  round: ["round trip {0}", "第{0}轮往返"],
  open: ["Open all", "全部展开"],
  close: ["Close all", "全部收起"],
});

export function calls(told: Call[]): HTMLElement {
  const rows = told.map((call) => h("details", { class: "call", "data-seq": call.seq ?? null },
    h("summary", {}, h("strong", {}, plain(call.purpose || "–")), call.round_trip ? h("span", { class: "soft small" }, ` ${t("round", call.round_trip)}`) : null,
      h("span", { class: "soft begin" }, ` ${plain(call.text || call.problem || "").slice(0, 100)}`)),
    call.problem || call.error || call.failure ? h("p", { class: "wrong" }, `${t("failed")}: ${plain([call.error, call.failure, call.problem].filter(Boolean).join(": "))}`) : null,
    call.thought ? h("div", {}, h("h3", {}, t("thought")), raw(call.thought)) : null,
    call.text ? h("div", {}, h("h3", {}, t("reply")), raw(call.text)) : null,
    facts([[t("usage"), inWords((call.usage ?? {}) as Record<string, Plain>)], [t("seconds"), call.seconds ? number(call.seconds, 3) : ""], [t("attempts"), call.attempts && call.attempts > 1 ? call.attempts : ""]])));
  const open = h("button", { type: "button", "aria-pressed": "false", onclick: () => {
    const all = open.getAttribute("aria-pressed") !== "true";
    open.setAttribute("aria-pressed", String(all));
    open.textContent = t(all ? "close" : "open");
    for (const row of rows) row.open = all;
  } }, t("open"));
  return h("div", { class: "calls" }, rows.length > 1 ? open : null, ...rows);
}
