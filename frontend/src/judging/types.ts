// What the server sends to the annotator's desk.

export interface ShownQuestion { id: string; en: string; zh: string; answers: string[]; scale: [number, number] | null }
export interface JudgingTask { number: number; form: string; shown: Record<string, string>; questions: ShownQuestion[]; answers: Record<string, string | number>; comment: string }
export interface AnnotatorsDesk { title: string; name: string; third: boolean; items: [string, boolean][] }
export interface FormTold { name: string; source: string; questions: Record<string, { en: string; zh: string }> }
export interface JudgingSettings { forms: FormTold[]; material: { name: string; kind: "traces" | "outcomes" }[]; sets: { name: string; cases: number }[] }
export interface QuestionAgreement { form: string; question: string; items: number; shared: number; people: string[]; alike: number | null; kappa: number | null; fleiss: number | null; alpha: { alpha: number | null }; decided: number; undecided: number }
export interface StudyState {
  id: string; title: string; set: { forms: string[]; material: string[]; cases: string; seed: number };
  people: { name: string; key: string; third: boolean }[]; items: Record<string, number>;
  progress: { name: string; third: boolean; done: number; of: number }[]; disputed: Record<string, number>;
  agreement: QuestionAgreement[]; figures: Record<string, Record<string, unknown>>;
}
