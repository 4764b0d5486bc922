// The report, in five parts; what is written stays in this browser until it is handed in.

import { h, plain, put } from "../shell/dom";
import { keep, read, texts } from "../shell/language";
import type { Diagnosis, Report, ShownResult, SittingView } from "./types";
import { w } from "./words";

const t = texts({
  title: ["Your report", "您的报告"],
  lead: ["One point a line. It is compared with the record, so be plain and complete.", "每行一条。报告将与病历比较，请写得清楚、完整。"],
  diagnoses: ["Diagnoses that you hold, the principal one first", "您的诊断（主要诊断在前）"],
  considered: ["What else you thought of, and do not hold", "还考虑过、但不成立的诊断"],
  symptoms: ["What the patient has", "病人的症状"],
  examinations: ["What was found", "检查所见"],
  rationale: ["Why", "诊断理由"],
  treatment: ["What is to be done", "治疗和处理"],
  one: ["Diagnosis {0}", "诊断{0}"],
  chance: ["How sure of diagnosis {0}, percent", "诊断{0}的把握（%）"],
  other: ["Considered {0}", "考虑过{0}"],
  add: ["Another one", "再加一个"],
  take: ["Add the results: what is out of range, and what has no range", "加入结果：异常值及无参考范围的结果"],
  inRange: ["nothing out of range", "未见异常值"],
  handIn: ["Hand in the report", "提交报告"],
  sure: ["There is no diagnosis in it. Press again to hand it in so.", "报告中没有诊断。再按一次即如此提交。"],
  final: ["What is handed in cannot be taken back.", "提交后不能撤回。"],
  back: ["Back to the patient", "回到病人"],
});

interface Row { name: string; chance: string }
interface Draft { diagnoses: Row[]; considered: Row[]; symptoms: string; examinations: string; rationale: string; treatment: string }
const PARTS = ["symptoms", "examinations", "rationale", "treatment"] as const;

/** Makes the form; `send` hands it in, `back` goes back to the talk, where that is allowed. */
export function reportForm(seen: SittingView, send: (report: Report) => Promise<boolean>, back: (() => void) | null): HTMLElement {
  const place = `polyclinic.report.${seen.id}`;
  const draft = stored(place) ?? begun(seen);
  let warned = false;
  const warning = h("p", { class: "problem", role: "alert", hidden: true }, t("sure"));
  const changed = (): void => { warned = false; warning.hidden = true; keep(place, JSON.stringify(draft)); };
  const areas = Object.fromEntries(PARTS.map((part) => {
    const area = h("textarea", { id: `report-${part}`, rows: part === "treatment" ? 5 : 4, maxlength: 12000, oninput: (event) => { draft[part] = (event.target as HTMLTextAreaElement).value; changed(); } });
    area.value = draft[part];
    return [part, area];
  })) as Record<(typeof PARTS)[number], HTMLTextAreaElement>;
  const found = worthTelling(seen.results);
  return h(
    "form",
    { class: "card report", onsubmit: async (event) => {
      event.preventDefault();
      const report = made(draft);
      if (!report.diagnoses.length && !warned) { warned = true; warning.hidden = false; return; }
      if (await send(report)) keep(place, "");
    } },
    h("h2", {}, t("title")),
    h("p", { class: "soft small" }, t("lead")),
    h("fieldset", {}, h("legend", {}, t("diagnoses")), rowsOf(draft.diagnoses, "one", changed)),
    h("fieldset", {}, h("legend", {}, t("considered")), rowsOf(draft.considered, "other", changed)),
    ...PARTS.flatMap((part) => [
      h("div", { class: "row" }, h("label", { for: `report-${part}` }, t(part)), h("span", { class: "grow" }),
        part === "examinations" && found.length ? h("button", { type: "button", class: "quiet small", onclick: () => {
          const lines = draft.examinations.split("\n").filter(Boolean);
          draft.examinations = [...lines, ...found.filter((one) => !lines.includes(one))].join("\n");
          areas.examinations.value = draft.examinations;
          changed();
        } }, t("take")) : null),
      areas[part],
    ]),
    warning,
    h("div", { class: "row" },
      h("button", { type: "submit", class: "main" }, t("handIn")),
      back ? h("button", { type: "button", onclick: back }, t("back")) : null,
      h("span", { class: "soft small" }, t("final"))),
  );
}

function rowsOf(rows: Row[], label: "one" | "other", changed: () => void): HTMLElement {
  const list = h("div", { class: "rows" });
  const draw = (focus = -1): void => {
    if (!rows.length) rows.push({ name: "", chance: "" });
    put(
      list,
      ...rows.map((row, n) => {
        const name = h("input", { type: "text", value: row.name, maxlength: 200, "aria-label": t(label, n + 1), autocomplete: "off", oninput: (event) => { row.name = (event.target as HTMLInputElement).value; changed(); } });
        if (n === focus) queueMicrotask(() => name.focus());
        return h("div", { class: "chance" }, name,
          label === "one" ? h("input", { type: "number", min: 0, max: 100, value: row.chance, "aria-label": t("chance", n + 1), oninput: (event) => { row.chance = (event.target as HTMLInputElement).value; changed(); } }) : null,
          label === "one" ? h("span", { "aria-hidden": "true" }, "%") : null,
          h("button", { type: "button", class: "quiet", "aria-label": `${w("remove")}: ${plain(row.name) || n + 1}`, onclick: () => { rows.splice(n, 1); changed(); draw(); } }, "✕"));
      }),
      h("button", { type: "button", class: "small", onclick: () => { rows.push({ name: "", chance: "" }); draw(rows.length - 1); } }, t("add")),
    );
  };
  draw();
  return list;
}

/** Returns a report to begin with: what was noted last, the likeliest as the diagnosis. */
function begun(seen: SittingView): Draft {
  const noted = [...(seen.differential[seen.differential.length - 1]?.diagnoses ?? [])].sort((a, b) => (b.probability ?? 0) - (a.probability ?? 0));
  const rows = noted.map((one) => ({ name: one.name, chance: one.probability === undefined ? "" : String(Math.round(100 * one.probability)) }));
  return { diagnoses: rows.slice(0, 1), considered: rows.slice(1), symptoms: "", examinations: "", rationale: "", treatment: "" };
}

function stored(place: string): Draft | null {
  try {
    return JSON.parse(read(place) || "null") as Draft | null;
  } catch {
    return null;
  }
}

function made(draft: Draft): Report {
  const lines = (text: string): string[] => text.split("\n").map((line) => line.trim()).filter(Boolean).slice(0, 40);
  const named = (rows: Row[]): Diagnosis[] => rows.filter((row) => row.name.trim()).map((row) => {
    const chance = Number(row.chance);
    return row.chance.trim() && chance >= 0 && chance <= 100 ? { name: row.name.trim(), probability: chance / 100 } : { name: row.name.trim() };
  });
  return { diagnoses: named(draft.diagnoses), differential: named(draft.considered), symptoms: lines(draft.symptoms), examinations: lines(draft.examinations), rationale: lines(draft.rationale), treatment: lines(draft.treatment) };
}

/** Returns a line for each examination: what is out of range, and what is told in words. */
function worthTelling(results: ShownResult[]): string[] {
  const told = new Map<string, string[]>();
  for (const one of results) {
    const last = one.values[one.values.length - 1];
    if (!last) continue;
    const lines = told.get(one.examination) ?? [];
    told.set(one.examination, lines);
    if (last.side === "low" || last.side === "high" || last.number === null) lines.push(`${one.item} ${last.value} ${one.unit}`.trim());
  }
  return [...told].map(([examination, lines]) => `${plain(examination)}: ${plain(lines.join("; ") || t("inRange"))}`);
}

