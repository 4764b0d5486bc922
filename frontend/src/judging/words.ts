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
  errors: ["Exams: what went wrong first in a wrong answer", "考试：错误答案最先错在哪里"],
  failures: ["Why a diagnosis missed", "诊断为何错误"],
  first: ["first", "第一位"],
  second: ["second", "第二位"],
  tie: ["neither", "不分高下"],
  yes: ["yes", "是"],
  no: ["no", "否"],
  omission: ["an examination was left out", "遗漏检查"],
  complications: ["only complications were seen", "只关注并发症"],
  lack_of_knowledge: ["knowledge was lacking", "缺乏知识"],
  mis_retrieval: ["what is known was not used rightly", "未正确调用知识"],
  consistency: ["it contradicts itself", "前后矛盾"],
  cot: ["a step of the reasoning is wrong", "推理步骤错误"],
  erroneous: ["judged wrongly", "判断错误"],
});
const FORMS = ["pairs doctor", "pairs patient", "rounds", "records", "grades", "explanations", "errors", "failures"];
const ANSWERS = ["first", "second", "tie", "yes", "no", "omission", "complications", "erroneous", "lack_of_knowledge", "mis_retrieval", "consistency", "cot"];

export function formName(name: string): string {
  return FORMS.includes(name) ? t(name as "rounds") : plain(name);
}

export function answerName(name: string): string {
  return ANSWERS.includes(name) ? t(name as "yes") : plain(name);
}
