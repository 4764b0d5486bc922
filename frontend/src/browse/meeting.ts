// A meeting of doctors over a whole record: the trees as they grew, beside the record, each piece of evidence with
// where in the record it stands.

import { h, plain, quoted } from "../shell/dom";
import { texts } from "../shell/language";
import { table } from "./parts";
import type { Child } from "./parts";
import type { Evidence, Meeting, Stage } from "./types";

const t = texts({
  chosen: ["What was chosen", "所选结果"],
  method: ["Method", "方法"],
  option: ["Option", "选项"],
  right: ["right", "正确"],
  trees: ["Trees", "推理树"],
  record: ["Record", "病历"],
  head: ["The head concludes", "组长结论"],
  first: ["{0}, first", "{0}，初次"],
  after: ["{0}, after round {1}", "{0}，第{1}轮后"],
  heard: ["{0} remarks heard", "听到{0}条意见"],
  supported: ["in the record", "病历中有"],
  contradicted: ["contradicted by the record", "与病历矛盾"],
  "not there": ["not in the record", "病历中没有"],
  new: ["new", "新增"],
  dropped: ["dropped", "删除"],
  show: ["Show where", "显示出处"],
});

export function meeting(told: Meeting): Child[] {
  const texts = new Map(told.texts.map((one) => [one.field, { ...one, body: h("p", {}, quoted(one.text)) }]));
  const point = (at: NonNullable<Evidence["at"]>): void => {
    for (const one of texts.values()) one.body.replaceChildren(quoted(one.text));
    const there = texts.get(at.field);
    if (!there) return;
    const mark = h("mark", { tabindex: -1 }, plain(there.text.slice(at.start, at.end)));
    there.body.replaceChildren(h("bdi", { dir: "auto" }, plain(there.text.slice(0, at.start)), mark, plain(there.text.slice(at.end))));
    mark.focus({ preventScroll: true });
    mark.scrollIntoView({ block: "center" });
  };
  return [
    choices(told),
    h("div", { class: "sides" },
      h("section", { class: "trees" }, h("h2", {}, t("trees")), ...told.stages.map((stage, n) => drawn(stage, n, n === told.stages.length - 1, point))),
      h("section", { class: "paper", tabindex: 0, "aria-label": t("record") }, h("h2", {}, t("record")), ...[...texts.values()].map((one) => h("div", { class: "text" }, h("h3", {}, plain(one.label)), one.body)))),
  ];
}

function choices(told: Meeting): HTMLElement {
  const methods = Object.keys(told.chose);
  return h("section", {}, h("h2", {}, t("chosen")), table(t("chosen"), [[t("option")], [t("right")], ...methods.map((name): [string] => [plain(name)])],
    Object.entries(told.options).map(([letter, name]) => [h("span", {}, `${plain(letter)} `, quoted(name)), told.key.includes(letter) ? "✓" : "", ...methods.map((method) => (told.chose[method]?.includes(letter) ? "✓" : ""))])));
}

function drawn(stage: Stage, n: number, open: boolean, point: (at: NonNullable<Evidence["at"]>) => void): HTMLElement {
  const name = stage.by === "head" ? t("head") : stage.round ? t("after", plain(stage.by), stage.round) : t("first", plain(stage.by));
  return h("details", { open, "data-seq": n, class: "stage" }, h("summary", {}, name),
    stage.heard.length ? h("details", {}, h("summary", {}, t("heard", stage.heard.length)), h("ul", {}, ...stage.heard.map((one) => h("li", {}, h("strong", {}, `${plain(one.by)} → ${plain(one.to)} `), quoted(one.text))))) : null,
    stage.text ? h("p", {}, quoted(stage.text)) : null,
    h("ul", { class: "tree" }, ...stage.diagnoses.map((one) => h("li", { class: one.change }, h("strong", {}, quoted(one.diagnosis)), change(one.change),
      h("ul", {}, ...one.reasonings.map((reasoning) => h("li", { class: reasoning.change }, quoted(reasoning.analysis), change(reasoning.change),
        h("ul", {}, ...reasoning.evidence.map((piece) => h("li", { class: piece.change }, evidence(piece, point), change(piece.change)))))))))));
}

function change(told: string): Child {
  return told === "new" || told === "dropped" ? h("span", { class: `mark ${told}` }, `${told === "new" ? "+" : "−"} ${t(told)}`) : null;
}

function evidence(piece: Evidence, point: (at: NonNullable<Evidence["at"]>) => void): HTMLElement {
  const sign = { supported: "✓", contradicted: "✗", "not there": "?" }[piece.status];
  const kind = { supported: "good", contradicted: "bad", "not there": "open" }[piece.status];
  const at = piece.at;
  const told = h("span", { class: `mark ${kind}`, title: t(piece.status) }, sign, h("span", { class: "unseen" }, ` ${t(piece.status)}`));
  return at ? h("span", {}, told, " ", h("button", { type: "button", class: "evidence", title: t("show"), onclick: () => point(at) }, quoted(piece.text))) : h("span", {}, told, " ", quoted(piece.text));
}
