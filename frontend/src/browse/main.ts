// The page of results. What is open stands behind the # of the address: a key of `web/browse/documents.py`, or a search.

import "./browse.css";
import type { ServerError } from "../shell/api";
import { h, put } from "../shell/dom";
import { texts } from "../shell/language";
import { openPage } from "../shell/shell";
import type { Page } from "../shell/shell";
import { drawAbout, drawItems } from "./evaluation";
import { drawCalls, drawEpisodes, drawFound, drawItem, drawList, drawRecord } from "./lists";
import { drawAll, drawTogether } from "./overview";

const t = texts({
  title: ["Results", "结果"],
  back: ["All results", "全部结果"],
});
let shown = 0;

function draw(main: HTMLElement, isOpen: () => boolean): Promise<void> {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [kind = "", id = "", ...places] = path.split("/").map(decoded);
  const [first = 0, second = 0, third = null] = places.map((one) => (/^\d{1,11}$/.test(one) ? Number(one) : 0));
  const asked = new URLSearchParams(query);
  switch (kind) {
    case "together": return drawTogether(main);
    case "about": return drawAbout(main, id);
    case "items": return drawItems(main, id, asked, isOpen);
    case "item": return drawItem(main, id, first, isOpen);
    case "list": return drawList(main, id, first, second);
    case "record": return drawRecord(main, id, first, second, third, isOpen);
    case "calls": return drawEpisodes(main, id, first);
    case "call": return drawCalls(main, id, first);
    case "search": return drawFound(main, asked.get("q") ?? "", isOpen);
    default: return drawAll(main);
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function route(page: Page, moved = false): Promise<void> {
  const mine = ++shown;
  const main = h("div", {});
  page.notice("");
  delete document.body.dataset["ready"];
  // What is drawn elsewhere first is not seen where somebody has gone on meanwhile.
  put(page.main, main);
  try {
    await draw(main, () => mine === shown);
  } catch (error) {
    if (mine !== shown) return;
    page.notice((error as ServerError).message);
    put(main, h("h1", {}, t("title")), h("p", {}, h("a", { href: "#/" }, t("back"))));
  }
  if (mine !== shown) return;
  const heading = main.querySelector("h1");
  if (heading) page.announce(heading.textContent ?? "");
  if (moved && heading && !main.querySelector(".sought")) {
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  }
  document.body.dataset["ready"] = "";
}

const page = openPage("browse", () => t("title"), (page) => void route(page));
let last = location.hash;
window.addEventListener("hashchange", () => {
  if (location.hash === "#main") {
    // The way to the content leads to no other page.
    history.replaceState(null, "", last || "#/");
    page.main.focus();
    return;
  }
  last = location.hash;
  window.scrollTo(0, 0);
  void route(page, true);
});
