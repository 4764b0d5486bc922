// Examinations are ordered by name; what is typed in part is completed.

import { get } from "../shell/api";
import { h, plain, put } from "../shell/dom";
import { texts } from "../shell/language";
import { w } from "./words";

const t = texts({
  label: ["Order examinations", "开检查"],
  hint: ["Type part of a name, choose with the arrow keys, Enter takes it.", "输入部分名称，用方向键选择，回车确认。"],
  order: ["Order {0}", "开单（{0}项）"],
  chosen: ["To be ordered", "待开"],
  found: ["{0} found", "找到{0}项"],
  asWritten: ["No such name is known; Enter orders it as written.", "没有此名称；回车则按所写开单。"],
});

/** Makes the box in which examinations are chosen; `send` orders them. */
export function orderBox(base: string, language: string, send: (names: string[]) => Promise<boolean>): HTMLElement {
  let chosen: string[] = [];
  let found: string[] = [];
  let at = -1;
  let asked = 0;
  const input = h("input", {
    type: "text", id: "order", role: "combobox", "aria-expanded": "false", "aria-controls": "order-list", "aria-autocomplete": "list",
    autocomplete: "off", maxlength: 200, "aria-describedby": "order-hint",
    oninput: () => void look(), onkeydown: (event) => key(event as KeyboardEvent), onblur: () => setTimeout(close, 150),
  });
  const list = h("ul", { id: "order-list", role: "listbox", class: "options", hidden: true, "aria-label": t("label") });
  const chips = h("ul", { class: "chips", "aria-label": t("chosen") });
  const button = h("button", { type: "submit", disabled: true }, t("order", 0));
  const told = h("span", { class: "unseen", role: "status" });

  const close = (): void => {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    at = -1;
  };
  const draw = (): void => {
    put(list, ...found.map((name, n) => h("li", { id: `order-${n}`, role: "option", "aria-selected": n === at ? "true" : "false", onmousedown: (event) => { event.preventDefault(); take(name); } }, plain(name))));
    list.hidden = !found.length;
    input.setAttribute("aria-expanded", found.length ? "true" : "false");
    if (at >= 0) input.setAttribute("aria-activedescendant", `order-${at}`);
    else input.removeAttribute("aria-activedescendant");
    // The list of what is found may be below the edge of the page.
    (list.children[at] ?? list).scrollIntoView({ block: "nearest" });
  };
  const look = async (): Promise<void> => {
    const words = input.value.trim();
    const mine = ++asked;
    if (!words) { found = []; close(); return; }
    const answer = await get<{ names: string[]; found: number }>(`${base}/names`, { words, language }).catch(() => ({ names: [], found: 0 }));
    if (mine !== asked) return;
    found = answer.names;
    at = -1;
    told.textContent = found.length ? t("found", answer.found) : t("asWritten");
    draw();
  };
  const take = (name: string): void => {
    const clean = name.trim();
    if (clean && !chosen.includes(clean)) chosen = [...chosen, clean];
    input.value = "";
    found = [];
    asked++;
    close();
    drawChips();
    input.focus();
  };
  const drawChips = (): void => {
    put(chips, ...chosen.map((name) => h("li", {}, h("button", { type: "button", "aria-label": `${w("remove")}: ${plain(name)}`, onclick: () => { chosen = chosen.filter((one) => one !== name); drawChips(); input.focus(); } }, plain(name), " ✕"))));
    button.disabled = !chosen.length;
    button.textContent = t("order", chosen.length);
  };
  const key = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!found.length) return;
      event.preventDefault();
      at = (at + (event.key === "ArrowDown" ? 1 : -1) + found.length) % found.length;
      draw();
    } else if (event.key === "Enter" && input.value.trim()) {
      event.preventDefault();
      take(found[at] ?? (found.length === 1 ? (found[0] as string) : input.value));
    } else if (event.key === "Escape") close();
  };
  return h(
    "form",
    { class: "order", onsubmit: async (event) => {
      event.preventDefault();
      if (input.value.trim()) take(input.value);
      if (chosen.length && (await send(chosen))) { chosen = []; drawChips(); }
    } },
    h("label", { for: "order" }, t("label")),
    h("div", { class: "row" }, h("div", { class: "combo" }, input, list), button),
    chips,
    h("p", { id: "order-hint", class: "soft small" }, t("hint")),
    told,
  );
}
