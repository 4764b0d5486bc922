// Elements from code. What models, cases and people wrote goes in as text and never as markup.

type Child = Node | string | number | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: Event) => void)>;

/** Makes an element. Attributes that begin with `on` are listeners; false, null and undefined leave one out. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  fill(made, attributes, children);
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

/** Makes an element of a picture. */
export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  const made = document.createElementNS(SVG, tag);
  fill(made, attributes, children);
  return made;
}

function fill(made: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, String(value));
  }
  made.append(...children.filter((child) => child != null && child !== false).map((child) => asNode(child as Node)));
}

function asNode(child: Node | string | number): Node | string {
  return child instanceof Node ? child : String(child);
}

// Control characters, and those that turn the direction of what stands around them.
// eslint-disable-next-line no-control-regex
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
const LONGEST = 20_000;

/** Returns a text of somebody's as it can be shown: nothing unseen in it, and no longer than anybody reads. */
export function plain(text: unknown, longest = LONGEST): string {
  const told = String(text ?? "");
  const short = told.length > longest ? `${told.slice(0, longest)} …` : told;
  return short.replace(UNSEEN, "\u{FFFD}");
}

/** Makes an element that holds somebody's text, whatever language and direction it has. */
export function quoted(text: unknown, attributes: Attributes = {}): HTMLElement {
  return h("bdi", { dir: "auto", ...attributes }, plain(text));
}

/** Makes of something that leads to another page what is begun once, however often it is pressed; again where it failed. */
export function once<A extends unknown[]>(act: (...told: A) => Promise<void>, failed: (error: Error) => void): (...told: A) => void {
  let begun = false;
  return (...told) => {
    if (begun) return;
    begun = true;
    act(...told).catch((error: Error) => { begun = false; failed(error); });
  };
}

/** Puts other children into an element. */
export function put(element: Element, ...children: Child[]): void {
  element.replaceChildren(...children.filter((child) => child != null && child !== false).map((c) => asNode(c as Node)));
}
