// Asking the server. Every failure has one line for a person.

import { texts } from "./language";

const t = texts({
  gone: ["The server does not answer. It may have ended; this page goes on when it is back.", "服务器没有回应，可能已经结束；恢复后本页会继续。"],
});

/** What the server would not do, in one line; `status` 0 where it does not answer at all. */
export class ServerError extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

// Of which build this page is; pages that Vite serves do not say.
let build = typeof document === "undefined" ? "" : (document.querySelector<HTMLMetaElement>('meta[name="polyclinic-build"]')?.content ?? "");
let renewed = false;

function notice(told: string | null): void {
  build ||= told ?? "";
  if (renewed || !told || told === build) return;
  renewed = true;
  dispatchEvent(new Event("polyclinic-renewed"));
}

async function asked<T>(path: string, how: RequestInit): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(path, { credentials: "same-origin", ...how });
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new ServerError(t("gone"), 0);
  }
  notice(answer.headers.get("x-polyclinic-build"));
  const document = (await answer.json().catch(() => ({}))) as { error?: string };
  if (!answer.ok) throw new ServerError(document.error ?? `${answer.status} ${answer.statusText}`, answer.status);
  return document as T;
}

/** Returns what stands under an address, `get("api/town/state", {run: "a", t: 60})`. */
export function get<T>(path: string, query: Record<string, string | number | undefined> = {}, signal?: AbortSignal): Promise<T> {
  const told = Object.entries(query).filter(([, value]) => value !== undefined);
  const asks = new URLSearchParams(told.map(([name, value]) => [name, String(value)])).toString();
  return asked<T>(asks ? `${path}?${asks}` : path, signal ? { signal } : {});
}

/** Sends a document, and returns the answer. */
export function post<T>(path: string, document: unknown): Promise<T> {
  return asked<T>(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(document),
  });
}
