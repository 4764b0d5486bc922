// Where documents come from: the server, or the files of a copy. A file opened from disk may fetch nothing, but it may
// load scripts that lie beside it; in a copy every document is a script that tells it.

import { get, ServerError } from "../shell/api";
import { texts } from "../shell/language";
import type { Hit } from "./types";

const t = texts({
  missing: ["That is not in this copy.", "此副本中没有该内容。"],
});

export const isCopy = document.querySelector('meta[name="polyclinic-copy"]') !== null;

declare global {
  interface Window {
    polyclinicTells?: (key: string, document: unknown) => void;
  }
}

const told = new Map<string, unknown>();
if (isCopy) window.polyclinicTells = (key, document) => void told.set(key, document);

/** Returns the document of a key. */
export async function load<T>(key: string): Promise<T> {
  const path = key.split("/").map(encodeURIComponent).join("/");
  return isCopy ? ((await fromScript(key, path)) as T) : get<T>(`api/browse/of/${path}`);
}

function fromScript(key: string, path: string): Promise<unknown> {
  if (told.has(key)) return Promise.resolve(told.get(key));
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    const missing = (): void => reject(new ServerError(t("missing"), 404));
    script.onload = () => {
      script.remove();
      if (told.has(key)) resolve(told.get(key));
      else missing();
    };
    script.onerror = () => {
      script.remove();
      missing();
    };
    script.src = `./data/${path}.js`;
    document.head.append(script);
  });
}

export interface Found {
  hits: Hit[];
  looked: number;
  total: number;
  next: number | null;
}

type Said = [line: number, seq: number, who: string, text: string];
const AROUND = 90;
const MOST = 100;
const PATIENCE = 2000; // milliseconds of a search before it waits to be asked for more

/** Searches everything that was said, from a place on; what was said is listed with the records. */
export async function search(question: string, begin: number): Promise<Found> {
  const { pages } = await load<{ pages: [id: string, file: number, page: number][] }>("said");
  const words = question.toLowerCase().split(/\s+/).filter(Boolean);
  const hits: Hit[] = [];
  const until = performance.now() + PATIENCE;
  let at = words.length ? begin : pages.length;
  for (; at < pages.length && hits.length < MOST && performance.now() < until; at++) {
    const [id, file, page] = pages[at] as [string, number, number];
    const { said } = await load<{ said: Said[] }>(`words/${id}/${file}/${page}`);
    for (const [line, seq, who, text] of said) {
      const low = text.toLowerCase();
      if (words.every((word) => low.includes(word))) hits.push({ id, file, line, seq, who, text: around(text, words[0] as string) });
    }
  }
  return { hits, looked: at, total: pages.length, next: at < pages.length ? at : null };
}

function around(text: string, word: string): string {
  const at = Math.max(text.toLowerCase().indexOf(word), 0);
  const [begin, end] = [Math.max(at - AROUND, 0), at + word.length + AROUND];
  return (begin ? "… " : "") + text.slice(begin, end).trim() + (end < text.length ? " …" : "");
}
