// How a question was answered: what was chosen, who voted how in each round, and every call.

import { h, plain, quoted } from "../shell/dom";
import { texts } from "../shell/language";
import { calls } from "./calls";
import { facts, raw, table } from "./parts";
import type { Child } from "./parts";
import type { Call, Outcome } from "./types";

const t = texts({
  chosen: ["Chosen", "所选"],
  key: ["Right", "正确答案"],
  nothing: ["nothing", "无"],
  end: ["End", "结束"],
  problem: ["Problem", "问题"],
  rationale: ["Rationale", "理由"],
  votes: ["Votes", "投票"],
  who: ["Who", "投票人"],
  round: ["Round {0}", "第{0}轮"],
  samples: ["What the samples chose", "各次采样所选"],
  answer: ["Answer", "答案"],
  times: ["times", "次数"],
  calls: ["Calls", "调用"],
  right: ["right", "正确"],
  wrong: ["wrong", "错误"],
});

export function outcome(told: Outcome): Child[] {
  const { answers = [], rationale, end, problem, trace = [] } = told.outcome;
  return [
    h("p", {}, h("span", { class: `mark ${told.right ? "good" : "bad"}` }, t(told.right ? "right" : "wrong"))),
    facts([[t("chosen"), answers.map((one) => plain(one)).join(", ") || t("nothing")], [t("key"), told.key.map((one) => plain(one)).join(", ")], [t("end"), plain(end)], [t("problem"), plain(problem ?? "")]]),
    votes(trace), samples(trace),
    rationale ? h("section", {}, h("h2", {}, t("rationale")), raw(rationale)) : null,
    trace.length ? h("section", {}, h("h2", {}, t("calls")), calls(trace)) : null,
  ];
}

function votes(trace: Call[]): Child {
  const cast = new Map<string, Map<number, string>>();
  let last = 0;
  for (const call of trace) {
    const found = /^vote (\d+), (.+)$/.exec(call.purpose);
    if (!found) continue;
    const round = Number(found[1]);
    last = Math.max(last, Math.min(round, 50));
    const mine = cast.get(found[2]!) ?? new Map<number, string>();
    mine.set(round, vote(call.text ?? ""));
    cast.set(found[2]!, mine);
  }
  if (!cast.size) return null;
  const rounds = Array.from({ length: last }, (_, n) => n + 1);
  return h("section", {}, h("h2", {}, t("votes")), table(t("votes"), [[t("who")], ...rounds.map((n): [string] => [t("round", n)])],
    [...cast].map(([who, mine]) => [quoted(who), ...rounds.map((n) => {
      const told = mine.get(n);
      return told === undefined ? "" : h("span", { class: `mark ${told === "yes" ? "good" : told === "no" ? "bad" : ""}` }, plain(told));
    })])));
}

function vote(text: string): string {
  try {
    const told = (JSON.parse(text) as { vote?: unknown }).vote;
    if (typeof told === "string") return told.slice(0, 20);
  } catch {
    // Not in the form that was asked for: a word of it says as much.
  }
  return /\b(yes|no)\b/i.exec(text)?.[0].toLowerCase() ?? "?";
}

function samples(trace: Call[]): Child {
  const told = trace.filter((call) => /^sample \d+$/.test(call.purpose));
  if (told.length < 2) return null;
  const counts = new Map<string, number>();
  for (const call of told) {
    const answer = /answer[^A-Z]{0,12}([A-Z])\b/i.exec(call.text ?? "")?.[1]?.toUpperCase() ?? "?";
    counts.set(answer, (counts.get(answer) ?? 0) + 1);
  }
  return h("section", {}, h("h2", {}, t("samples")), table(t("samples"), [[t("answer")], [t("times"), true]], [...counts].sort((one, other) => other[1] - one[1]).map(([answer, n]) => [answer, n])));
}
