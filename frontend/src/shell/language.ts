// The two languages of the pages. Each page has a table of its own.

export type Language = "en" | "zh";
export type Name = { en: string; zh: string };

const KEPT = "polyclinic.language";
const listeners = new Set<() => void>();
let current: Language = chosen();

function chosen(): Language {
  const kept = read(KEPT);
  if (kept === "en" || kept === "zh") return kept;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

/** Returns something that this browser keeps; null where it keeps nothing. */
export function read(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Has this browser keep something, where it lets us. */
export function keep(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // A browser that keeps nothing forgets it with the page.
  }
}

export function language(): Language {
  return current;
}

export function setLanguage(to: Language): void {
  current = to;
  keep(KEPT, to);
  document.documentElement.lang = to === "zh" ? "zh-Hans" : "en";
  for (const listener of listeners) listener();
}

/** Calls something whenever the language changes. */
export function onLanguage(listener: () => void): void {
  listeners.add(listener);
}

/** Returns what says a word of a table in the language of the page; `{0}` stands for the first value. */
export function texts<K extends string>(table: Record<K, readonly [en: string, zh: string]>) {
  return (key: K, ...values: (string | number)[]): string => {
    const told = table[key][current === "zh" ? 1 : 0];
    return told.replace(/\{(\d)\}/g, (_, place: string) => String(values[Number(place)] ?? ""));
  };
}

/** Returns a name in the language of the page. */
export function named(name: Partial<Name> | null | undefined, otherwise = ""): string {
  return name?.[current] || name?.en || name?.zh || otherwise;
}

/** Returns a number as people write it. */
export function figure(value: number, digits = 0): string {
  return value.toLocaleString(current === "zh" ? "zh-CN" : "en-GB", { maximumFractionDigits: digits });
}
