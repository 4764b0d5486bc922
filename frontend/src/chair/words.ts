// Words that several of the chair's views use.

import { plain } from "../shell/dom";
import { language, texts } from "../shell/language";
import type { Presentation } from "./types";

export const w = texts({
  doctor: ["You", "您"],
  patient: ["Patient", "病人"],
  examiner: ["Results", "检查结果"],
  toExaminer: ["Patient to the examiner", "病人对检查科"],
  female: ["woman", "女"],
  male: ["man", "男"],
  girl: ["girl", "女孩"],
  boy: ["boy", "男孩"],
  years: ["{0} years", "{0}岁"],
  infant: ["under one year", "不满一岁"],
  companion: ["somebody who came along speaks", "由陪同者代述"],
  back: ["Back", "返回"],
  points: ["points", "分"],
  of: ["{0} of {1}", "{0}/{1}"],
  new: ["not begun", "未开始"],
  begun: ["begun", "进行中"],
  done: ["done", "已完成"],
  right: ["right", "正确"],
  wrong: ["wrong", "错误"],
  "no diagnosis": ["no diagnosis", "无诊断"],
  failed: ["failed", "失败"],
  rules: ["rules", "规则医生"],
  human: ["you", "您"],
  diagnosis: ["Diagnosis", "诊断"],
  symptoms: ["Symptoms", "症状"],
  examinations: ["Examinations", "检查"],
  rationale: ["Reasons", "诊断理由"],
  treatment: ["Treatment", "治疗"],
  choice: ["Choice of examinations", "检查的选择"],
  danger: ["Danger signs", "危险征象"],
  remove: ["Remove", "删除"],
  none: ["none", "无"],
});

/** Returns who a patient is, in a few words. */
export function who(person: Presentation): string {
  const child = person.age !== undefined && person.age < 16;
  const sex = person.sex === undefined ? "" : w(person.sex === "female" ? (child ? "girl" : "female") : child ? "boy" : "male");
  const age = person.age === undefined ? "" : person.age < 1 ? w("infant") : w("years", Math.floor(person.age));
  return [plain(person.about ?? ""), sex, age, person.companion ? w("companion") : ""].filter(Boolean).join(language() === "zh" ? "，" : ", ");
}

/** Returns a doctor's name as the page says it. */
export function doctorName(name: string): string {
  return name === "rules" || name === "human" ? w(name) : plain(name);
}

export const percent = (share: number): string => `${Math.round(100 * share)} %`;
