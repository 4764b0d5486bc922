// Names of forms and answers.

import { plain } from "../shell/dom";
import { texts } from "../shell/language";

const t = texts({
  "pairs doctor": ["Which doctor is better, as a doctor sees it (five criteria)", "哪位医生更好：以医生的眼光（五项）"],
  "pairs patient": ["Which doctor is better, as a patient sees it (five criteria)", "哪位医生更好：以病人的眼光（五项）"],
  rounds: ["Each turn: four questions", "每一轮：四个问题"],
  records: ["Are the records right?", "病历是否正确？"],
  grades: ["The report in five aspects, A to D", "报告五项评分（A至D）"],
  explanations: ["Explanations: relevance and completeness", "解释：相关性和完整性"],
  failures: ["Why a diagnosis missed", "诊断为何错误"],
  first: ["first", "第一位"],
  second: ["second", "第二位"],
  tie: ["neither", "不分高下"],
  yes: ["yes", "是"],
  no: ["no", "否"],
  omission: ["an examination was left out", "遗漏检查"],
  complications: ["only complications were seen", "只关注并发症"],
  erroneous: ["judged wrongly", "判断错误"],
});
const FORMS = ["pairs doctor", "pairs patient", "rounds", "records", "grades", "explanations", "failures"];
const ANSWERS = ["first", "second", "tie", "yes", "no", "omission", "complications", "erroneous"];

export function formName(name: string): string {
  return FORMS.includes(name) ? t(name as "rounds") : plain(name);
}

export function answerName(name: string): string {
  return ANSWERS.includes(name) ? t(name as "yes") : plain(name);
}
