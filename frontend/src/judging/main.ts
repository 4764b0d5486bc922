// The annotator's desk. What is open stands behind the # of the address, which reaches no server and no log.

import "./judging.css";
import { texts } from "../shell/language";
import { openPage } from "../shell/shell";
import type { Page } from "../shell/shell";
import { openDesk } from "./desk";
import { openNewStudy, openStudies, openStudy } from "./studies";

const t = texts({ title: ["Judge", "评判"] });
const PART = /^[\w-]{1,64}$/;
let shown = 0;

function route(page: Page): void {
  const mine = ++shown;
  const isOpen = (): boolean => mine === shown;
  const [kind = "", first = "", second = ""] = location.hash.replace(/^#\/?/, "").split("/");
  page.notice("");
  if (kind === "link" && PART.test(first)) void openDesk(page, first, /^\d+$/.test(second) ? Number(second) : 0, isOpen);
  else if (kind === "study" && first === "new") void openNewStudy(page, isOpen);
  else if (kind === "study" && PART.test(first)) void openStudy(page, first, isOpen);
  else void openStudies(page, isOpen);
}

const page = openPage("judging", () => t("title"), route);
window.addEventListener("hashchange", () => {
  route(page);
  window.scrollTo(0, 0);
});
