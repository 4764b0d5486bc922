// The doctor's chair. What is open stands behind the # of the address, which reaches no server and no log.

import "./chair.css";
import { texts } from "../shell/language";
import { openPage } from "../shell/shell";
import type { Page } from "../shell/shell";
import { openClass, openClasses, openNewClass, openStudentsVisit } from "./classes";
import { openShift } from "./nurse";
import { openStart } from "./start";
import { openStudent } from "./student";
import { openVisit } from "./visit";

const t = texts({ title: ["Doctor's chair", "医生的椅子"] });
const PART = /^[\w-]{1,64}$/;
let shown = 0;

function route(page: Page): void {
  const mine = ++shown;
  const isOpen = (): boolean => mine === shown;
  const [kind = "", first = "", second = "", third = ""] = location.hash.replace(/^#\/?/, "").split("/");
  page.notice("");
  if (kind === "visit" && PART.test(first)) void openVisit(page, { base: "api/chair", visit: `visits/${first}`, back: "#/" }, isOpen);
  else if (kind === "link" && PART.test(first) && /^\d+$/.test(second)) void openVisit(page, { base: `api/chair/by-link/${first}`, visit: `visits/${second}`, back: `#/link/${first}` }, isOpen);
  else if (kind === "link" && PART.test(first)) void openStudent(page, first, isOpen);
  else if (kind === "shift" && PART.test(first)) void openShift(page, first, isOpen);
  else if (kind === "classes") void openClasses(page, isOpen);
  else if (kind === "class" && first === "new") void openNewClass(page, isOpen);
  else if (kind === "class" && PART.test(first) && second && /^\d+$/.test(third)) void openStudentsVisit(page, first, decodeURIComponent(second), Number(third), isOpen);
  else if (kind === "class" && PART.test(first)) void openClass(page, first, isOpen);
  else void openStart(page, isOpen);
}

const page = openPage("chair", () => t("title"), route);
window.addEventListener("hashchange", () => {
  route(page);
  window.scrollTo(0, 0);
  page.main.focus({ preventScroll: true });
});
