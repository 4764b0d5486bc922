// What the server sends to the doctor's chair.

export interface Presentation { complaint: string; language: "en" | "zh"; age?: number; sex?: "female" | "male"; about?: string; companion?: boolean }
export interface Diagnosis { name: string; icd10?: string; probability?: number }
export interface SpokenLine { turn: number; who: string; to: string; text: string }
export interface ResultAt { turn: number; value: string; number: number | null; side: "low" | "normal" | "high" | null }
export interface ShownResult { examination: string; item: string; unit: string; reference: string; low: number | null; high: number | null; values: ResultAt[] }
export interface Noted { turn: number; diagnoses: Diagnosis[] }
export type Rung = "step" | "turn" | "diseases";
export interface GivenHint { turn: number; hint: { rung: Rung; step?: "ask" | "order" | "conclude"; turn?: string; diseases?: Diagnosis[] } }
/** A picture of the case; not `here` where it lies at an address, from which nothing is fetched. */
export interface CasePicture { number: number; here: boolean }
export interface SittingView {
  id: string; phase: "talk" | "report" | "over" | "failed"; problem: string; moves: number; patient: Presentation;
  pictures: CasePicture[]; max_turns: number; turns_left: number; lines: SpokenLine[]; results: ShownResult[]; not_recorded: string[];
  differential: Noted[]; hints: GivenHint[]; next_hint: Rung | null; hint_cost: number; undo: boolean; taken_back: number;
  with_examiner: boolean;
}
export interface Report { symptoms: string[]; examinations: string[]; diagnoses: Diagnosis[]; rationale: string[]; treatment: string[]; differential?: Diagnosis[] }
export interface Stewardship {
  judged: boolean; needed: string[]; needed_missed: string[]; helpful: string[]; helpful_missed: string[]; not_indicated: string[];
  other: string[]; cost: number; minutes: number; radiation: number; burden: number;
}
/** A point of the treatment that is due; `dosed` null where there is no dose to say, `against` why it does not count. */
export interface DuePoint { text: string; named: boolean; dosed: boolean | null; against?: "dose" | "put off" | null }
export interface PlayScore {
  doctor: string; verdict: string; turns: number; report: Report | null; metrics: Record<string, number>; without: string[]; judge: string;
  aspects: { aspect: string; grade: string | null; analysis: string }[]; stewardship: Stewardship;
  danger: { has: string[]; missed: string[]; unreported: string[] };
  points: { parts: Record<string, [number, number]>; hints: number; total: number }; treatment?: DuePoint[]; beliefs: [number, number][];
}
export interface Truth { diagnoses: Diagnosis[]; rationale: string[]; treatment: string[]; severity: string | null; complications: string[]; differential: string[]; prevention: string[] }
export interface Scored { truth: Truth; record: { symptoms: string[]; examinations: string[] }; own: PlayScore; beside: PlayScore[]; taken_back: number; seconds: number }
export interface OfferedCase { key: string; number: number; presentation: Presentation }
export interface OfferedSet { name: string; cases: number; languages: string[] }
export interface Settings { sets: OfferedSet[]; patients: string[]; beside: string[]; judge: string; max_turns: number }
export interface Student { name: string; key: string; visits?: Record<string, string>; comments?: Record<string, string> }
export interface KeptClass { id: string; made: number; scores_out: boolean; students: Student[]; set: { title: string; cases: { set: string; key: string }[]; patient: string; max_turns: number; hints: boolean; undo: boolean; scores: boolean } }
export interface ClassRow { student: string; case: number; case_id: string; state: "new" | "begun" | "done"; points?: number; verdict?: string; diagnosis?: string; hint_points?: number; taken_back?: number; minutes?: number; turns?: number; comment?: string }
export interface ClassTold { class: KeptClass; cases: (Presentation | null)[]; rows: ClassRow[] }
export interface StudentsClass { title: string; name: string; scores: boolean; cases: { number: number; state: "new" | "begun" | "done"; points: number | null; comment: string }[] }
export interface TriagedPatient { patient: Presentation; diagnosis: string; given: number; so: number; rules: number }
export interface ShiftView { id: string; moves: number; number: number; of: number; patient: Presentation | null; signs: ShownResult[]; exchanges: [string, string][]; questions_left: number; received: TriagedPatient[] }
