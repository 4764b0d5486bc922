// What every page has around it: header, languages, light and dark, a live region, and what says that the server is gone.

import "./shell.css";
import { h, put } from "./dom";
import { keep, language, onLanguage, read, setLanguage, texts } from "./language";

const t = texts({
  title: ["Polyclinic", "综合门诊"],
  skip: ["Skip to the content", "跳到正文"],
  home: ["Runs", "运行"],
  town: ["Town", "小镇"],
  browse: ["Results", "结果"],
  chair: ["Doctor's chair", "医生的椅子"],
  judging: ["Judge", "评判"],
  language: ["中文", "English"],
  languageLabel: ["中文 (change the language)", "English（切换语言）"],
  dark: ["Dark", "深色"],
  light: ["Light", "浅色"],
  pages: ["Pages", "页面"],
  renewed: ["This page is older than its server.", "本页比服务器旧。"],
  reload: ["Load it anew", "重新加载"],
  never: [
    "Simulated patients only. For research and teaching; never for the care of real people.",
    "全部为模拟病人。仅供研究与教学，绝不用于真实医疗。",
  ],
});

/** A page that the header leads to. */
type PageName = "home" | "town" | "browse" | "chair" | "judging";
const ADDRESSES: Record<PageName, string> = { home: "./", town: "./town", browse: "./browse", chair: "./chair", judging: "./judging" };

// A copy of the results lies anywhere, without a server and its other pages.
const COPY = document.querySelector('meta[name="polyclinic-copy"]') !== null;
// Who came by a link of their own may see what lies under it, and nothing else.
const BY_LINK = location.hash.startsWith("#/link/");
const PAGES = COPY || BY_LINK ? [] : (Object.keys(ADDRESSES) as PageName[]);

const THEME = "polyclinic.theme";

function isDark(): boolean {
  const kept = read(THEME);
  return kept === null ? matchMedia("(prefers-color-scheme: dark)").matches : kept === "dark";
}

function paint(): void {
  document.documentElement.dataset["theme"] = isDark() ? "dark" : "light";
}

export interface Page {
  /** Where the page puts what it shows. */
  main: HTMLElement;
  /** Says something to whoever listens to the page instead of looking at it. */
  announce(text: string): void;
  /** Shows one line above the page until it is taken back by "". */
  notice(text: string): void;
}

/** Opens a page: builds what is around it, and draws it; anew whenever the language changes, where `draw` is given. */
export function openPage(name: PageName, title: () => string, draw?: (page: Page) => void): Page {
  paint();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  document.documentElement.lang = language() === "zh" ? "zh-Hans" : "en";
  const header = h("header", { class: "top" });
  const main = h("main", { id: "main", tabindex: -1 });
  const said = h("div", { class: "unseen", role: "status", "aria-live": "polite" });
  const notices = h("div", { class: "notice", role: "alert", hidden: true });
  const footer = h("footer", { class: "bottom" });
  document.body.dataset["page"] = name;
  document.body.append(header, notices, main, footer, said);
  const page: Page = {
    main,
    announce(text) {
      said.textContent = text;
    },
    notice(text) {
      notices.hidden = !text;
      if (notices.textContent !== text) notices.textContent = text;
    },
  };
  const around = (): void => {
    document.title = `${title()} · ${t("title")}`;
    put(
      header,
      h("a", { class: "skip", href: "#main" }, t("skip")),
      h("a", { class: "brand", href: COPY ? "#/" : BY_LINK ? location.hash : ADDRESSES.home }, h("img", { src: "./icon.svg", alt: "", width: 22, height: 22 }), t("title")),
      PAGES.length > 0 && h(
        "nav",
        { "aria-label": t("pages") },
        ...PAGES.map((one) =>
          h("a", { href: ADDRESSES[one], "aria-current": one === name ? "page" : null }, t(one)),
        ),
      ),
      h("span", { class: "grow" }),
      h(
        "button",
        { type: "button", class: "quiet", lang: language() === "zh" ? "en" : "zh-Hans", "aria-label": t("languageLabel"),
          onclick: () => setLanguage(language() === "zh" ? "en" : "zh") },
        t("language"),
      ),
      h(
        "button",
        { type: "button", class: "quiet", onclick: () => { keep(THEME, isDark() ? "light" : "dark"); paint(); around(); } },
        t(isDark() ? "light" : "dark"),
      ),
    );
    footer.textContent = t("never");
  };
  around();
  addEventListener("polyclinic-renewed", () => {
    notices.before(h("div", { class: "notice renewed", role: "alert" }, `${t("renewed")} `, h("button", { type: "button", onclick: () => location.reload() }, t("reload"))));
  });
  draw?.(page);
  onLanguage(() => {
    around();
    draw?.(page);
  });
  return page;
}
