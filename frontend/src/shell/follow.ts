// Looks again at what others may change meanwhile, as long as it is open and seen.

import { get } from "./api";

const AGAIN = 5_000; // milliseconds from one look to the next

/** Calls `draw` whenever a document differs from what was drawn; not while somebody types on the page. */
export function follow<T>(path: string, drawn: T, isOpen: () => boolean, draw: (next: T) => void): void {
  let last = JSON.stringify(drawn);
  const look = async (): Promise<void> => {
    if (!isOpen()) return;
    try {
      if (!document.hidden && !isTyping()) {
        const next = await get<T>(path);
        const told = JSON.stringify(next);
        if (!isOpen()) return;
        if (told !== last && !isTyping()) {
          last = told;
          const open = kept();
          draw(next);
          open();
        }
      }
    } catch {
      // It is asked again; whatever is done on the page says that the server is gone.
    }
    setTimeout(() => void look(), AGAIN);
  };
  setTimeout(() => void look(), AGAIN);
}

function isTyping(): boolean {
  const on = document.activeElement;
  if (on instanceof HTMLInputElement || on instanceof HTMLTextAreaElement) return on.type !== "checkbox" && on.value !== on.defaultValue;
  return on instanceof HTMLSelectElement;
}

/** Returns what puts back where somebody was: what was unfolded, how far the page was moved, and what had the focus. */
function kept(): () => void {
  const at = (): HTMLDetailsElement[] => [...document.querySelectorAll<HTMLDetailsElement>("main details")];
  const [unfolded, y] = [at().map((one) => one.open), scrollY];
  const focusable = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>("main :is(a, button, summary, [tabindex])")];
  const focus = focusable().indexOf(document.activeElement as HTMLElement);
  return () => {
    at().forEach((one, n) => { one.open = unfolded[n] ?? one.open; });
    if (focus >= 0) focusable()[focus]?.focus({ preventScroll: true });
    scrollTo(0, y);
  };
}
