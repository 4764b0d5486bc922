// What the server, or the files of a copy, tell.

export interface Listed {
  id: string;
  name: string;
  holds: "evaluation" | "hospital" | "learning" | "recording" | "journal";
  changed: number;
  kind?: string;
  title?: string;
  finished?: string;
  items?: number;
  models?: string[];
  visits?: number | null;
  over?: boolean;
  problem?: string;
}
export interface Estimate { mean: number | null; stderr: number | null; low: number | null; high: number | null; n: number }
export interface TableRow {
  set: string; model: string; method: string; seeds: number[]; measures: Record<string, Estimate>;
  n: number; failed: number; calls: number; round_trips: number; tokens: number; cost: number | null; seconds: number; published: boolean;
}
export interface Table { rows: TableRow[]; measures: string[]; notes: string[] }
export interface Measure { name: string; percent?: boolean; less_is_better?: boolean }
export interface Compared {
  rows: { set: string; measure: string; first: string; second: string; p_holm: number | null;
    difference: { mean: number | null; low: number | null; high: number | null; p: number | null; n: number; detectable: number | null } }[];
  problem: string;
}
export interface FileHere { name: string; kind: string; records: number }
export type Plain = string | number | boolean | null | Plain[] | { [name: string]: Plain };
export interface About {
  id: string; name: string; holds: Listed["holds"]; changed: number; files: FileHere[];
  record?: Record<string, Plain>; items?: number; table?: Table; measures?: Record<string, Measure>;
  summary?: Record<string, Plain> | null; visits?: number; minds?: Record<string, string | null>; seed?: number | null; package?: string;
  learning?: Learning; tests?: number; settings?: Record<string, Plain>;
}
export interface CurvePoint { patients: number; intervals: Record<string, [number, number]>; [task: string]: unknown }
export interface Learning {
  doctor: string; curve: CurvePoint[]; cap?: Record<string, number>; constant?: Record<string, number>;
  records?: number; experience?: number; wrong?: number; by_disease?: Record<string, Record<string, number>>;
}
export interface Row {
  item: string; values: Record<string, number>; set?: string; model?: string; method?: string; seed?: number;
  end?: string; calls?: number; round_trips?: number; tokens?: number; cost?: number; seconds?: number; at?: string;
}
export interface ItemDocument {
  n: number; total: number; row: Row; record: { file: number; line: number } | null;
  same: { n: number; model: string; method: string; seed: number; values: Record<string, number> }[];
  replies: { id: string; n: number; episode: string }[];
}
export interface RecordLine { line: number; item: string; who: string; right?: boolean | null; department?: string; diagnosis?: string }
export interface RecordDocument { before: number | null; after: number | null; record: Recorded; replies?: ItemDocument["replies"] }
export type Recorded = Visit | Outcome | Meeting | Episode;
export interface Finding { examination?: string; item?: string; value?: string | number; unit?: string; reference?: string }
export interface Diagnosis { name: string; icd10?: string; probability?: number }
export interface VisitEvent {
  event: string; seq: number; turn?: number; round?: number; doctor?: number; who?: string; to?: string; text?: string; state?: string; name?: string;
  findings?: Finding[]; not_recorded?: string[]; report?: Record<string, Plain[]>; case?: string; minds?: Record<string, string>;
  doctors?: string[]; presentation?: Record<string, Plain>; reason?: string; turns?: number; problem?: string; error?: string; answer?: string | null;
  points?: string[]; diagnoses?: Diagnosis[]; references?: Plain[]; kept?: boolean; [more: string]: unknown;
}
export interface Visit { kind: "visit"; events: VisitEvent[] }
/** A question by the ids of its messages; each stands once beside the calls: who, and what it says. */
export interface Asked { model: string; role: string; messages: string[]; answer: string }
export type Messages = Record<string, [who: string, text: string]>;
export interface Call { asked?: Asked; seq?: number; round_trip?: number; purpose: string; text?: string; thought?: string; problem?: string; error?: string; failure?: string; seconds?: number; attempts?: number; usage?: Record<string, number> }
export interface Outcome {
  kind: "outcome"; id: string; key: string[]; right: boolean; seconds?: number; subject?: string;
  outcome: { answers?: string[]; rationale?: string; end: string; problem?: string; trace?: Call[] };
}
export interface Evidence { text: string; change: string; status: "supported" | "contradicted" | "not there"; at: { field: string; start: number; end: number; how: string } | null }
export interface Stage {
  by: string; round: number; text: string; heard: { by: string; to: string; text: string }[];
  diagnoses: { diagnosis: string; change: string; reasonings: { analysis: string; change: string; evidence: Evidence[] }[] }[];
}
export interface Meeting {
  kind: "meeting"; id: string; options: Record<string, string>; key: string[]; chose: Record<string, string[]>;
  texts: { field: string; label: string; text: string }[]; stages: Stage[];
}
export interface Episode { kind: "episode"; key: string; seen?: ({ department: string; doctor?: string; diagnosis?: string; events: VisitEvent[] } & Record<string, Plain>)[]; [more: string]: unknown }
export interface Hit { id: string; file: number; line: number; seq: number; who: string; text: string }
