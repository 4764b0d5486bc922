// What several views have: headings with the way back, tables, numbers, pages.

import { h, plain, quoted } from "../shell/dom";
import { figure, texts } from "../shell/language";
import type { Plain } from "./types";

const t = texts({
  way: ["Where this is", "所在位置"],
  results: ["Results", "结果"],
  before: ["Before", "上一个"],
  after: ["Next", "下一个"],
  neighbours: ["Neighbours", "相邻"],
  of: ["{0} of {1}", "第{0}项，共{1}项"],
});

export type Child = Node | string | number | null | undefined | false;
export type Step = [label: string, key: string];

/** Returns the address of a key on this page. */
export function at(key: string, query: Record<string, string> = {}): string {
  const told = new URLSearchParams(Object.entries(query).filter(([, value]) => value)).toString();
  return `#/${key.split("/").map(encodeURIComponent).join("/")}${told ? `?${told}` : ""}`;
}

/** Draws the way from the first page to this one. */
export function way(...steps: Step[]): HTMLElement {
  return h("nav", { "aria-label": t("way"), class: "way small" },
    h("ol", {}, h("li", {}, h("a", { href: "#/" }, t("results"))), ...steps.map(([label, key]) => h("li", {}, key ? h("a", { href: at(key) }, plain(label)) : h("span", {}, plain(label))))));
}

/** Draws a table that scrolls within itself where the page is too narrow. */
export function table(label: string, heads: [name: string, number?: boolean][], rows: Child[][]): HTMLElement {
  return h("div", { class: "scrolls", tabindex: 0, role: "region", "aria-label": label }, h("table", {},
    h("thead", {}, h("tr", {}, ...heads.map(([name, number]) => h("th", { scope: "col", class: number ? "number" : null }, name)))),
    h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((cell, n) => (n ? h("td", { class: heads[n]?.[1] ? "number" : null }, cell) : h("th", { scope: "row" }, cell))))))));
}

export function number(value: number | null | undefined, digits = 2): string {
  return value == null ? "–" : figure(value, digits);
}

export function facts(pairs: [string, Child][]): HTMLElement {
  return h("dl", { class: "facts" }, ...pairs.filter(([, value]) => value !== "" && value != null).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

/** Draws links to the neighbours of something. */
export function neighbours(before: string | null, after: string | null, place = ""): HTMLElement {
  return h("nav", { "aria-label": t("neighbours"), class: "row neighbours" },
    before ? h("a", { class: "button", href: before, rel: "prev" }, `← ${t("before")}`) : null,
    place ? h("span", { class: "soft" }, place) : null,
    after ? h("a", { class: "button", href: after, rel: "next" }, `${t("after")} →`) : null);
}

export function ofAll(n: number, total: number): string {
  return t("of", figure(n), figure(total));
}

/** Returns plain values as one text. */
export function inWords(value: Plain | undefined): string {
  if (value == null) return "";
  if (Array.isArray(value)) return value.map(inWords).filter(Boolean).join(", ");
  if (typeof value === "object") return Object.entries(value).filter(([name, one]) => name !== "code" && inWords(one)).map(([name, one]) => `${name.replaceAll("_", " ")} ${inWords(one)}`).join(", ");
  return plain(value);
}

/** Draws a long text as it is, in letters of one width. */
export function raw(text: string): HTMLElement {
  return h("pre", { dir: "auto", tabindex: 0 }, quoted(text));
}
