// A visit as it went: who said what, with the state of what was said; results; the report, with links to where its
// findings stand; the truth behind a switch.

import { h, plain, quoted } from "../shell/dom";
import { figure, texts } from "../shell/language";
import { facts, inWords } from "./parts";
import type { Child } from "./parts";
import type { Diagnosis, Episode, Finding, Plain, VisitEvent } from "./types";

const t = texts({
  turns: ["Turns by state", "各轮状态"],
  turn: ["turn {0}", "第{0}轮"],
  doctor: ["Doctor", "医生"],
  patient: ["Patient", "病人"],
  examiner: ["Examiner", "检查员"],
  nurse: ["Nurse", "护士"],
  pharmacist: ["Pharmacist", "药师"],
  director: ["Director", "主任"],
  results: ["Results", "检查结果"],
  what: ["What", "项目"],
  value: ["Value", "结果"],
  reference: ["Reference", "参考值"],
  notRecorded: ["Not recorded: {0}", "无记录：{0}"],
  report: ["Report", "报告"],
  reportOf: ["Doctor {0}, round {1}", "医生{0}，第{1}轮"],
  symptoms: ["Symptoms", "症状"],
  examinations: ["Examinations", "检查"],
  diagnoses: ["Diagnoses", "诊断"],
  rationale: ["Reasons", "依据"],
  treatment: ["Treatment", "治疗"],
  differential: ["Also thought of", "鉴别诊断"],
  disputed: ["In dispute", "有争议"],
  ended: ["Ended", "结束"],
  endedBy: ["{0}, after {1} turns", "{0}，共{1}轮"],
  truth: ["Show the truth of the case", "显示病例真相"],
  failed: ["Failed", "失败"],
  chose: ["Chose", "选择"],
  nothing: ["nothing", "无"],
  looked: ["Looked up", "查阅"],
  severity: ["Severity", "严重程度"],
  triage: ["Triage", "分诊"],
  consultation: ["Consultation {0}: {1}", "第{0}次就诊：{1}"],
  noWords: ["The run kept no dialogues; --traces keeps them.", "此运行未保留对话；使用--traces可保留。"],
  person: ["Patient", "病人"],
  minds: ["Who plays", "角色"],
  other: ["More", "其他"],
});

const states = texts({
  "O": ["opening", "开场"],
  "A-A-A": ["inquiry: told", "询问：有答"],
  "A-A-B": ["inquiry: not in the record", "询问：无记录"],
  "A-B": ["inquiry too vague", "询问含糊"],
  "B-A-A": ["advice: has a result", "建议：有结果"],
  "B-A-B": ["advice: no result", "建议：无结果"],
  "B-B": ["advice too vague", "建议含糊"],
  "C": ["demand", "要求"],
  "D": ["another topic", "其他话题"],
  "E": ["conclusion", "结束"],
});
const STATES = new Set(["O", "A-A-A", "A-A-B", "A-B", "B-A-A", "B-A-B", "B-B", "C", "D", "E"]);
const ROLES = new Set(["doctor", "patient", "examiner", "nurse", "pharmacist", "director"]);

type State = Parameters<typeof states>[0];
const stateName = (state: string): string => (STATES.has(state) ? states(state as State) : plain(state));
const stateClass = (state: string): string => `state s-${STATES.has(state) ? state.toLowerCase() : "d"}`;
/** Returns who says something, in words: a role, or the report. */
export const role = (who: string): string => (ROLES.has(who) ? t(who as "doctor") : who === "reported" ? t("report") : plain(who));

export function visit(events: VisitEvent[], before = ""): Child[] {
  const name = (seq: number, n?: number): string => `e${before}-${seq}${n === undefined ? "" : `-${n}`}`;
  const findings = events.flatMap((event) => (event.findings ?? []).map((finding, n): Linked => ({ name: plain(finding.item ?? finding.examination ?? ""), to: name(event.seq, n) })));
  const told = events.filter((event) => event.event === "said" && event.state);
  const strip = told.length ? h("nav", { class: "strip", "aria-label": t("turns") }, ...told.map((event) =>
    h("a", { class: stateClass(event.state!), href: `#${name(event.seq)}`, title: `${t("turn", event.turn ?? 0)}: ${stateName(event.state!)}`, onclick: jump },
      h("span", { class: "unseen" }, `${t("turn", event.turn ?? 0)}: ${stateName(event.state!)} `), h("span", { "aria-hidden": "true" }, plain(event.state))))) : null;
  return [strip, h("ol", { class: "events" }, ...events.map((event) => drawn(event, name, findings, events)).filter((one) => one !== null))];
}

interface Linked { name: string; to: string }

/** Goes to a place of this record; the address stays that of the record. */
function jump(event: Event): void {
  event.preventDefault();
  const there = document.getElementById((event.currentTarget as HTMLAnchorElement).hash.slice(1));
  if (!there) return;
  for (const one of document.querySelectorAll(".sought")) one.classList.remove("sought");
  there.classList.add("sought");
  there.tabIndex = -1;
  there.focus({ preventScroll: true });
  there.scrollIntoView({ block: "center" });
}

function drawn(event: VisitEvent, name: (seq: number, n?: number) => string, findings: Linked[], events: VisitEvent[]): HTMLElement | null {
  const here = (kind: string, ...children: Child[]): HTMLElement => h("li", { id: name(event.seq), class: kind, "data-seq": event.seq }, ...children);
  switch (event.event) {
    case "opened":
    case "convened":
      return here("opened", facts([
        [t("person"), inWords(event.presentation)],
        [t("minds"), event.minds ? Object.entries(event.minds).map(([who, mind]) => `${role(who)}: ${plain(mind)}`).join("; ") : plain((event.doctors ?? []).join(", "))]]));
    case "said":
      return here(`said by-${ROLES.has(event.who ?? "") ? event.who : "other"}`,
        h("p", { class: "who small" }, h("strong", {}, role(event.who ?? "")), event.to && event.to !== "doctor" && event.to !== "patient" ? ` → ${role(event.to)}` : "", h("span", { class: "soft" }, ` ${t("turn", event.turn ?? 0)} `),
          event.state ? h("span", { class: stateClass(event.state) }, `${plain(event.state)} ${stateName(event.state)}`) : null),
        h("p", {}, quoted(event.text)));
    case "examined":
      return here("examined", h("h3", {}, t("results")), results(event, name),
        event.not_recorded?.length ? h("p", { class: "soft" }, t("notRecorded", event.not_recorded.map((one) => plain(one)).join(", "))) : null);
    case "reported":
    case "revised":
      return here("report", h("h2", {}, event.event === "reported" ? t("report") : t("reportOf", event.doctor ?? 0, event.round ?? 0)), ...report(event.report ?? {}, findings, said(events, name)));
    case "disputed":
      return here("disputed", h("h3", {}, t("disputed")), list(event.points ?? []));
    case "retrieved":
      return here("retrieved", h("details", {}, h("summary", {}, t("looked")), ...(event.references ?? []).map((one) => h("p", {}, quoted(inWords(one))))));
    case "chosen":
      return here("chosen", h("p", {}, `${t("chose")}: `, quoted(event.answer ?? t("nothing"))));
    case "failed":
      return here("failed", h("p", { class: "wrong" }, `${t("failed")} (${plain(event.who ?? "")}): ${plain(event.error ?? "")} ${plain(event.problem ?? "")}`));
    case "ended":
      return here("ended", h("p", {}, `${t("ended")}: ${t("endedBy", plain(event.reason ?? ""), event.turns ?? 0)}`));
    case "revealed":
      return here("revealed", h("details", {}, h("summary", {}, t("truth")), ...truth(event)));
    default:
      return here("other", h("details", {}, h("summary", {}, plain(event.event)), h("p", {}, quoted(inWords(rest(event))))));
  }
}

function rest(event: VisitEvent): Plain {
  return Object.fromEntries(Object.entries(event).filter(([name]) => name !== "event" && name !== "seq")) as Record<string, Plain>;
}

function results(event: VisitEvent, name: (seq: number, n?: number) => string): HTMLElement {
  return h("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": t("results") }, h("table", {},
    h("thead", {}, h("tr", {}, ...[t("what"), t("value"), t("reference")].map((one) => h("th", { scope: "col" }, one)))),
    h("tbody", {}, ...(event.findings ?? []).map((finding, n) => h("tr", { id: name(event.seq, n) },
      h("th", { scope: "row" }, quoted(finding.item ?? ""), h("span", { class: "soft small" }, ` ${plain(finding.examination ?? "")}`)),
      h("td", {}, quoted(value(finding))), h("td", {}, quoted(finding.reference ?? "")))))));
}

/** Returns a unit as people write it; a record has them in UCUM. */
const unit = (told: string): string => told.replace(/\{[^}]*\}/g, "").replace("mm[Hg]", "mmHg").replace(/^Cel$/, "°C");

const value = (finding: Finding): string => [typeof finding.value === "number" ? figure(finding.value, 4) : finding.value, unit(finding.unit ?? "")].filter((one) => one !== undefined && one !== "").join(" ");

function said(events: VisitEvent[], name: (seq: number) => string): { text: string; to: string }[] {
  return events.filter((event) => event.event === "said" && event.who === "patient" && event.to === "doctor").map((event) => ({ text: (event.text ?? "").toLowerCase(), to: name(event.seq) }));
}

function report(told: Record<string, Plain[]>, findings: Linked[], spoken: { text: string; to: string }[]): Child[] {
  const diagnoses = ((told["diagnoses"] ?? []) as unknown as Diagnosis[]).map(diagnosis);
  const thought = ((told["differential"] ?? []) as unknown as Diagnosis[]).map(diagnosis);
  const texts = (name: string): string[] => (told[name] ?? []).map((one) => inWords(one));
  return [
    part(t("diagnoses"), diagnoses),
    part(t("symptoms"), texts("symptoms").map((text) => {
      const there = spoken.find((one) => one.text.includes(text.toLowerCase()));
      return there ? h("a", { href: `#${there.to}`, onclick: jump }, quoted(text)) : quoted(text);
    })),
    part(t("examinations"), texts("examinations").map((text) => linked(text, findings))),
    part(t("rationale"), texts("rationale").map((text) => linked(text, findings))),
    part(t("treatment"), texts("treatment").map((text) => quoted(text))),
    part(t("differential"), thought),
  ];
}

function part(name: string, items: HTMLElement[]): HTMLElement | null {
  return items.length ? h("section", {}, h("h3", {}, name), h("ul", {}, ...items.map((one) => h("li", {}, one)))) : null;
}

const list = (items: string[]): HTMLElement => h("ul", {}, ...items.map((one) => h("li", {}, quoted(one))));

function diagnosis(one: Diagnosis): HTMLElement {
  return h("span", {}, quoted(one.name), one.icd10 ? h("span", { class: "soft" }, ` ${plain(one.icd10)}`) : null, one.probability != null ? ` ${figure(100 * one.probability)} %` : null);
}

/** Draws a text in which each result that it names leads to where that stands. */
function linked(text: string, findings: Linked[]): HTMLElement {
  const named = findings.filter((one) => one.name.length > 1).sort((one, other) => other.name.length - one.name.length);
  const made = h("bdi", { dir: "auto" });
  const low = text.toLowerCase();
  let begin = 0;
  while (begin < text.length) {
    let next: { at: number; one: Linked } | null = null;
    for (const one of named) {
      const at = low.indexOf(one.name.toLowerCase(), begin);
      if (at >= 0 && (next === null || at < next.at)) next = { at, one };
    }
    if (next === null || low.length !== text.length) break;
    made.append(plain(text.slice(begin, next.at)), h("a", { href: `#${next.one.to}`, onclick: jump }, plain(text.slice(next.at, next.at + next.one.name.length))));
    begin = next.at + next.one.name.length;
  }
  made.append(plain(text.slice(begin)));
  return made;
}

function truth(event: VisitEvent): Child[] {
  const told = (name: string): string[] => (Array.isArray(event[name]) ? (event[name] as Plain[]).map(inWords) : []);
  return [
    part(t("diagnoses"), (event.diagnoses ?? []).map(diagnosis)),
    facts([[t("severity"), plain(event["severity"] ?? "")], [t("triage"), plain(event["acuity"] ?? "")]]),
    ...(["rationale", "treatment", "differential"] as const).map((name) => part(t(name), told(name).map((text) => quoted(text)))),
  ];
}

/** What of a visit to the hospital is held against what is so. */
const TRUE = /^(right_|care$)/;

interface AtDoor { level?: number; reason?: string; vital_signs?: { finding: Finding }[]; told?: [string, string][] }

/** Draws what the nurse learnt at the door. */
function atDoor(told: AtDoor | undefined): Child {
  if (!told) return null;
  const findings = (told.vital_signs ?? []).map((one) => one.finding);
  return h("section", {}, h("h2", {}, t("triage")), h("p", {}, quoted([told.level, told.reason].filter((one) => one != null && one !== "").join(": "))),
    findings.length ? results({ event: "examined", seq: 0, findings }, (_, n) => `door-${n ?? 0}`) : null,
    told.told?.length ? h("ul", {}, ...told.told.map(([asked, answered]) => h("li", {}, quoted(asked), " – ", quoted(answered)))) : null);
}

function pairs(told: [string, unknown][]): HTMLElement {
  return facts(told.map(([name, value]) => [plain(name.replaceAll("_", " ")), quoted(inWords(value as Plain))]));
}

/** Draws the medical part of a visit to the hospital. */
export function episode(told: Episode): Child[] {
  const flat = Object.entries(told).filter(([name, value]) => !["kind", "key", "seen", "answered", "noted", "worse", "at_door", "calls", "tokens"].includes(name) && inWords(value as Plain));
  const seen = told.seen ?? [];
  return [
    h("details", { open: true }, h("summary", {}, t("other")), pairs(flat.filter(([name]) => !TRUE.test(name)))),
    atDoor(told["at_door"] as AtDoor | undefined),
    h("details", {}, h("summary", {}, t("truth")), pairs(flat.filter(([name]) => TRUE.test(name)))),
    ...seen.flatMap((held, n): Child[] => [
      h("h2", {}, t("consultation", n + 1, plain([held.department, held.doctor].filter(Boolean).join(", ")))),
      facts([[t("diagnoses"), quoted(held.diagnosis ?? "")], [t("examinations"), quoted(inWords(held["examinations"]))], [t("rationale"), quoted(inWords(held["reason"]))]]),
      ...(held.events.length ? visit(held.events, String(n)) : [h("p", { class: "soft" }, t("noWords"))])]),
  ];
}

