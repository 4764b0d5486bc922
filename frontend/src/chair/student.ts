// What a student with a link sees: the cases of the class.

import { get, post, ServerError } from "../shell/api";
import { h, put, quoted } from "../shell/dom";
import { texts } from "../shell/language";
import type { Page } from "../shell/shell";
import type { StudentsClass } from "./types";
import { w } from "./words";

const t = texts({
  hello: ["{0}, these are your cases", "{0}，以下是您的病例"],
  lead: ["See each patient once. You may leave a visit and go on later with this same link; keep the link to yourself.", "每位病人只看一次。可以中途离开，之后用同一链接继续；请勿把链接给别人。"],
  case: ["Case {0}", "病例{0}"],
  begin: ["Begin", "开始"],
  goOn: ["Go on", "继续"],
  look: ["Look at the score", "看评分"],
  heldBack: ["handed in", "已提交"],
  comment: ["Your teacher says", "老师的评语"],
});

/** Draws a student's page. */
export async function openStudent(page: Page, key: string, isOpen: () => boolean): Promise<void> {
  let seen: StudentsClass;
  try {
    seen = await get<StudentsClass>(`api/chair/by-link/${key}`);
  } catch (error) {
    page.notice((error as ServerError).message);
    return;
  }
  if (!isOpen()) return;
  const open = async (number: number): Promise<void> => {
    try {
      await post(`api/chair/by-link/${key}/visits/${number}`, {});
      location.hash = `#/link/${key}/${number}`;
    } catch (error) {
      page.notice((error as ServerError).message);
    }
  };
  put(
    page.main,
    h("h1", {}, quoted(seen.title)),
    h("p", { class: "lead" }, quoted(t("hello", seen.name))),
    h("p", { class: "soft" }, t("lead")),
    h("ol", { class: "list" }, ...seen.cases.map((one) => h("li", { class: "row" },
      h("strong", { class: "grow" }, t("case", one.number)),
      h("span", { class: "soft" }, one.state === "done" ? (one.points === null ? t("heldBack") : `${one.points} ${w("points")}`) : w(one.state)),
      h("button", { type: "button", class: one.state === "done" ? null : "main", "aria-label": `${t("case", one.number)}: ${t(one.state === "new" ? "begin" : one.state === "begun" ? "goOn" : "look")}`, onclick: () => void open(one.number) }, t(one.state === "new" ? "begin" : one.state === "begun" ? "goOn" : "look")),
      one.comment ? h("p", { class: "comment" }, h("span", { class: "soft small" }, `${t("comment")}: `), quoted(one.comment)) : null))),
  );
}
