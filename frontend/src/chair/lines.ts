// A dialogue that is read, and not held.

import { h } from "../shell/dom";

/** Makes a dialogue of its lines. */
export function still(label: string, lines: HTMLElement[], lang: string | null = null): HTMLElement {
  return h("div", { class: "dialogue still", tabindex: 0, role: "group", "aria-label": label, lang }, h("ol", {}, ...lines));
}
