// The score: what was got and why, beside what is so and beside another doctor's visit to the same patient.

import { h, plain, quoted } from "../shell/dom";
import { figure, texts } from "../shell/language";
import { development } from "./differential";
import type { PlayScore, Report, Scored, SittingView } from "./types";
import { still } from "./lines";
import { doctorName, percent, w } from "./words";

const t = texts({
  score: ["Your score", "您的得分"],
  took: ["{0} minutes, {1} turns, {2} taken back, hints cost {3} points", "用时{0}分钟，{1}轮，撤回{2}次，提示扣{3}分"],
  verdict: ["Your diagnosis is {0}.", "您的诊断：{0}。"],
  parts: ["Where the points come from", "得分明细"],
  part: ["Part", "部分"],
  got: ["Points", "得分"],
  less: ["Hints", "提示"],
  truth: ["What is so", "真实情况"],
  mild: ["mild", "轻度"],
  moderate: ["moderate", "中度"],
  severe: ["severe", "重度"],
  severity: ["Severity", "严重程度"],
  beside: ["Side by side", "并排比较"],
  own: ["You", "您"],
  so: ["The record", "病历"],
  grades: ["The report, aspect by aspect", "报告逐项评分"],
  gradedBy: ["Graded A to D by {0}.", "由{0}评为A至D。"],
  byRules: ["rules", "规则"],
  rulesSee: [
    "Rules compare what is meant, as far as they know the words: “fever” counts for a fever above 39 degrees. They do not know every word for a symptom, cannot tell whether reasons hold together, and do not see how you spoke: a single grade is rough, and a teacher or a model may grade otherwise.",
    "规则按其所知的词汇比较所写的含义：记录为39度以上高热时，写“发热”也算。规则不认识症状的所有说法，看不出理由是否成立，也看不出您怎样与病人交谈：单项评分较粗，老师或模型的评分可能不同。",
  ],
  talkSees: [
    "Made of what the simulated patient took each question for. A short question (“fever?”) counts as specific as a whole sentence; how clear or kind it was is not measured.",
    "依据模拟病人对每个提问的理解计算。简短的提问（“发烧？”）与完整的句子同样算作具体；是否清楚、是否亲切不在计算之内。",
  ],
  aspect: ["Aspect", "项目"],
  why: ["Why", "原因"],
  treatment: ["Treatment, point by point", "治疗逐项"],
  treatmentNote: ["The grade by rules goes by what is meant. Doses are told and cost nothing, unless nobody survives them; nor does it count to put off what cannot wait.", "规则评分看所写的含义。剂量仅作提示、不扣分，但足以致命的剂量不得分；把不能等的处理推迟也不得分。"],
  deadly: ["written, but in a dose that nobody survives", "已写，但剂量足以致命"],
  putOff: ["written, but put off: it cannot wait", "已写，但被推迟：不能等"],
  dosed: ["named, with its dose", "已写出，含剂量"],
  undosed: ["named; the dose is not said, or another", "已写出；未写剂量或剂量不同"],
  named: ["named", "已写出"],
  unnamed: ["not named", "未写出"],
  noGrade: ["no grade", "无评分"],
  examinations: ["Examinations", "检查"],
  needed: ["Had, and needed", "已做，且需要"],
  neededMissed: ["Needed, and not had", "需要，但未做"],
  helpful: ["Had, and helpful", "已做，有帮助"],
  helpfulMissed: ["Would have helped", "做了会有帮助"],
  notIndicated: ["Had, and not indicated", "已做，但无指征"],
  other: ["Had, neither needed nor wrong", "已做，可做可不做"],
  unjudged: ["What this disease needs is not known here; only the cost is.", "此病所需检查未收录，仅列出费用。"],
  cost: ["Cost, in blood counts", "费用（以血常规为单位）"],
  minutes: ["Slowest result, minutes", "最慢的结果（分钟）"],
  radiation: ["Radiation, mSv", "辐射（mSv）"],
  danger: ["Danger signs", "危险征象"],
  dangerNone: ["None of the listed danger signs stands in what this patient told.", "病史中没有列入清单的危险征象。"],
  dangerFound: ["Found and reported", "已发现并写入报告"],
  dangerMissed: ["Never found", "未发现"],
  dangerUnreported: ["Heard, and not in the report", "听到但未写入报告"],
  talk: ["The conversation", "问诊过程"],
  metric: ["Measure of AIE", "AIE指标"],
  without: ["Not measured: {0}", "未计算：{0}"],
  COVERAGE: ["how much of what is known of the patient was found out, %", "获取的病人信息占比（%）"],
  INQUIRY_ACC: ["questions that found something, %", "有效提问占比（%）"],
  INQUIRY_SPECIFIC: ["questions that were specific, %", "具体提问占比（%）"],
  INQUIRY_LOGIC: ["how far the order is a record's, %", "提问顺序与病历的接近度（%）"],
  ADVICE_ACC: ["advice and orders that found something, %", "有效建议占比（%）"],
  ADVICE_SPECIFIC: ["advice and orders that were specific, %", "具体建议占比（%）"],
  DISTINCT: ["how little is repeated, %", "用语不重复程度（%）"],
  AVG_TURN: ["turns, the opening among them", "轮数（含开场）"],
  AVG_LEN: ["words a turn", "每轮字数"],
  DIAGNOSIS: ["right option chosen, %", "选项正确（%）"],
  beliefs: ["How likely you held what is so, as you noted it", "您记录的正确诊断的可能性"],
  after: ["after turn {0}: {1}", "第{0}轮后：{1}"],
  transcript: ["What was said", "对话全文"],
  trace: ["Download the trace", "下载记录"],
  comment: ["Your teacher says", "老师的评语"],
  complications: ["May lead to", "可能并发"],
  prevention: ["Kept away by", "预防"],
  looksLike: ["Looks like", "需鉴别"],
});

const METRICS = ["COVERAGE", "INQUIRY_ACC", "INQUIRY_SPECIFIC", "INQUIRY_LOGIC", "ADVICE_ACC", "ADVICE_SPECIFIC", "DISTINCT", "AVG_TURN", "AVG_LEN", "DIAGNOSIS"] as const;

/** Draws a score; `lines` is the dialogue as it was drawn. */
export function scorePage(seen: SittingView, scored: Scored, more: { trace: string; comment: string; lines: HTMLElement[] }): Node[] {
  const { own, truth, beside } = scored;
  return [
    more.comment ? h("section", { class: "card comment", "aria-label": t("comment") }, h("h2", {}, t("comment")), h("p", {}, quoted(more.comment))) : h("span"),
    h("div", { class: "cards score" }, total(scored), parts(own), soIt(truth)),
    h("section", { class: "card" }, h("h2", {}, t("beside")), sideBySide(scored)),
    h("section", { class: "card" }, h("h2", {}, t("grades")), h("p", { class: "soft small" }, t("gradedBy", own.judge === "rules" ? t("byRules") : plain(own.judge)), own.judge === "rules" ? ` ${t("rulesSee")}` : ""), grades(own, beside), treatment(own)),
    h("div", { class: "cards two" }, examinations(own), danger(own)),
    h("section", { class: "card" }, h("h2", {}, t("talk")), h("p", { class: "soft small" }, t("talkSees")), metrics(own, beside), beliefs(own) ?? h("span"), development(seen.differential)),
    h("details", { class: "card" }, h("summary", {}, t("transcript")), still(t("transcript"), more.lines), more.trace ? h("p", {}, h("a", { href: more.trace, download: "visit.trace.jsonl" }, t("trace"))) : null),
  ];
}

function total(scored: Scored): HTMLElement {
  const { own } = scored;
  const minutes = figure(scored.seconds / 60, 1);
  return h("section", { class: `card total ${own.verdict === "right" ? "right" : "wrong"}` },
    h("h2", {}, t("score")),
    h("p", { class: "big" }, String(own.points.total), h("span", { class: "soft" }, " / 100")),
    h("p", {}, h("strong", {}, own.verdict === "right" ? "✓ " : "✗ "), t("verdict", w(own.verdict as "right"))),
    h("p", { class: "soft small" }, t("took", minutes, own.turns, scored.taken_back, own.points.hints)));
}

function parts(own: PlayScore): HTMLElement {
  return h("section", { class: "card" }, h("h2", {}, t("parts")),
    h("table", {},
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("part")), h("th", { scope: "col", class: "number" }, t("got")))),
      h("tbody", {},
        ...Object.entries(own.points.parts).map(([name, [got, of]]) => h("tr", {}, h("th", { scope: "row" }, w(name as "danger")), h("td", { class: "number" }, w("of", figure(got, 1), of), bar(got / of)))),
        own.points.hints ? h("tr", {}, h("th", { scope: "row" }, t("less")), h("td", { class: "number" }, `−${own.points.hints}`)) : null)));
}

function bar(share: number): HTMLElement {
  return h("progress", { max: 1, value: share, "aria-hidden": "true" });
}

function soIt(truth: Scored["truth"]): HTMLElement {
  return h("section", { class: "card" }, h("h2", {}, t("truth")),
    h("p", { class: "named" }, quoted(truth.diagnoses.map((one) => one.name).join("; "))),
    h("dl", { class: "facts" },
      ...fact(t("severity"), truth.severity ? [t(truth.severity as "mild")] : []),
      ...fact(t("looksLike"), truth.differential),
      ...fact(t("complications"), truth.complications),
      ...fact(t("prevention"), truth.prevention)));
}

function fact(name: string, values: string[]): Node[] {
  return values.length ? [h("dt", {}, name), h("dd", {}, quoted(values.join("; ")))] : [];
}

function sideBySide(scored: Scored): HTMLElement {
  const columns: [string, Partial<Report>][] = [
    [t("own"), scored.own.report ?? {}],
    [t("so"), { ...scored.record, diagnoses: scored.truth.diagnoses, rationale: scored.truth.rationale, treatment: scored.truth.treatment }],
    ...scored.beside.map((one): [string, Partial<Report>] => [`${doctorName(one.doctor)} (${one.points.total})`, one.report ?? {}]),
  ];
  const points = (report: Partial<Report>, part: "symptoms" | "examinations" | "rationale" | "treatment"): string[] => report[part] ?? [];
  const named = (report: Partial<Report>): string[] => (report.diagnoses ?? []).map((one) => (one.probability === undefined ? one.name : `${one.name} (${percent(one.probability)})`));
  const cell = (texts: string[]): HTMLElement => (texts.length ? h("ul", { class: "points" }, ...texts.map((text) => h("li", {}, quoted(plain(text, 600))))) : h("span", { class: "soft" }, "–"));
  const rows: [string, (report: Partial<Report>) => string[]][] = [
    [w("diagnosis"), named],
    ...(["symptoms", "examinations", "rationale", "treatment"] as const).map((part): [string, (report: Partial<Report>) => string[]] => [w(part), (report) => points(report, part)]),
  ];
  return h("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": t("beside") }, h("table", { class: "wide" },
    h("thead", {}, h("tr", {}, h("td", {}), ...columns.map(([name]) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, ...rows.map(([name, of]) => h("tr", {}, h("th", { scope: "row" }, name), ...columns.map(([column, report]) => h("td", { "data-name": column }, cell(of(report)))))))));
}

function grades(own: PlayScore, beside: PlayScore[]): HTMLElement {
  return h("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": t("grades") }, h("table", {},
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("aspect")), h("th", { scope: "col" }, t("own")), ...beside.map((one) => h("th", { scope: "col" }, doctorName(one.doctor))), h("th", { scope: "col" }, t("why")))),
    h("tbody", {}, ...own.aspects.map((one) => h("tr", {},
      h("th", { scope: "row" }, w(one.aspect as "symptoms")),
      h("td", {}, grade(one.grade)),
      ...beside.map((other) => h("td", {}, grade(other.aspects.find((their) => their.aspect === one.aspect)?.grade ?? null))),
      h("td", { class: "small why" }, quoted(one.analysis)))))));
}

function treatment(own: PlayScore): HTMLElement {
  const due = own.treatment ?? [];
  if (!due.length) return h("span");
  const told = (one: (typeof due)[number]): string => one.against ? `✗ ${t(one.against === "dose" ? "deadly" : "putOff")}` : !one.named ? `✗ ${t("unnamed")}` : one.dosed === null ? `✓ ${t("named")}` : one.dosed ? `✓ ${t("dosed")}` : `○ ${t("undosed")}`;
  return h("div", {}, h("h3", {}, t("treatment")), own.judge === "rules" ? h("p", { class: "soft small" }, t("treatmentNote")) : null,
    h("ul", { class: "points due" }, ...due.map((one) => h("li", {}, quoted(plain(one.text, 600)), h("br"), h("span", { class: one.named ? "soft small" : "small" }, told(one))))));
}

function grade(letter: string | null): HTMLElement {
  return letter === null ? h("span", { class: "soft small" }, t("noGrade")) : h("span", { class: `grade ${letter}` }, letter);
}

function examinations(own: PlayScore): HTMLElement {
  const chosen = own.stewardship;
  return h("section", { class: "card" }, h("h2", {}, t("examinations")),
    chosen.judged ? null : h("p", { class: "soft" }, t("unjudged")),
    h("dl", { class: "facts stacked" },
      ...fact(`✓ ${t("needed")}`, chosen.needed),
      ...fact(`✗ ${t("neededMissed")}`, chosen.needed_missed),
      ...fact(`✓ ${t("helpful")}`, chosen.helpful),
      ...fact(`○ ${t("helpfulMissed")}`, chosen.helpful_missed),
      ...fact(`✗ ${t("notIndicated")}`, chosen.not_indicated),
      ...fact(t("other"), chosen.other),
      ...fact(t("cost"), [figure(chosen.cost, 1)]),
      ...fact(t("minutes"), chosen.minutes ? [figure(chosen.minutes)] : []),
      ...fact(t("radiation"), chosen.radiation ? [figure(chosen.radiation, 2)] : [])));
}

function danger(own: PlayScore): HTMLElement {
  const signs = own.danger;
  const good = signs.has.filter((one) => !signs.missed.includes(one) && !signs.unreported.includes(one));
  return h("section", { class: "card" }, h("h2", {}, t("danger")),
    signs.has.length ? h("dl", { class: "facts stacked" }, ...fact(`✓ ${t("dangerFound")}`, good), ...fact(`✗ ${t("dangerMissed")}`, signs.missed), ...fact(`○ ${t("dangerUnreported")}`, signs.unreported)) : h("p", { class: "soft" }, t("dangerNone")));
}

function metrics(own: PlayScore, beside: PlayScore[]): HTMLElement {
  const had = METRICS.filter((name) => own.metrics[name] !== undefined);
  return h("div", {},
    had.length ? h("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": t("metric") }, h("table", {},
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("metric")), h("th", { scope: "col", class: "number" }, t("own")), ...beside.map((one) => h("th", { scope: "col", class: "number" }, doctorName(one.doctor))))),
      h("tbody", {}, ...had.map((name) => h("tr", {}, h("th", { scope: "row" }, h("span", { class: "code" }, name), h("span", { class: "soft small" }, ` ${t(name)}`)),
        ...[own, ...beside].map((one) => h("td", { class: "number" }, one.metrics[name] === undefined ? "–" : figure(one.metrics[name] as number, 1)))))))) : null,
    own.without.length ? h("p", { class: "soft small" }, t("without", plain(own.without.join("; ")))) : null);
}

function beliefs(own: PlayScore): HTMLElement | null {
  if (!own.beliefs.length) return null;
  return h("p", {}, `${t("beliefs")}: ${own.beliefs.map(([turn, held]) => t("after", turn, percent(held))).join(", ")}`);
}
