// The first page: the runs that are here.

import { get, ServerError } from "../shell/api";
import { h, plain, put } from "../shell/dom";
import { figure, named, texts } from "../shell/language";
import type { Name } from "../shell/language";
import { openPage } from "../shell/shell";

interface ShelvedRun {
  id: string;
  name: string;
  problem: string;
  over: boolean;
  stopped: boolean;
  summary: {
    events?: number;
    t?: number;
    residents?: number;
    seed?: number;
    visits?: number;
    hospital?: Name;
    minds?: Record<string, string>;
    accuracy?: { diagnosis?: number };
  };
}

const t = texts({
  title: ["Runs", "运行"],
  none: ["There is no run here yet. Make one:", "这里还没有运行。先运行："],
  lead: ["Hospitals that were simulated. Watch one on its map, or sit down in the doctor's chair.", "已模拟的医院。可在地图上观看，也可坐上医生的椅子。"],
  watch: ["Watch", "观看"],
  twice: ["Two side by side", "两个并排"],
  going: ["goes on", "进行中"],
  over: ["over", "已结束"],
  stopped: ["stopped on day {0}, {1}, before its end", "第 {0} 天 {1} 中断"],
  resume: ["The command that began it goes on", "用原命令可继续"],
  visits: ["visits", "就诊"],
  residents: ["residents", "居民"],
  right: ["right diagnoses", "诊断正确"],
  doctor: ["doctor", "医生"],
  seed: ["seed", "种子"],
  events: ["events", "事件"],
  broken: ["cannot be shown", "无法显示"],
  compare: ["Compare on one clock", "同一时钟比较"],
});

function stoppedAt(time: number): string {
  const minutes = Math.floor(time / 60) % 1440;
  return t("stopped", Math.floor(time / 86_400) + 1, `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`);
}

function card(run: ShelvedRun): HTMLElement {
  if (run.problem) {
    return h("article", { class: "card" }, h("h2", {}, plain(run.name)), h("p", { class: "soft" }, `${t("broken")}: ${plain(run.problem)}`));
  }
  const about = run.summary;
  const facts: [string, string][] = [
    [t("doctor"), plain(about.minds?.["doctor"] ?? "")],
    [t("residents"), figure(about.residents ?? 0)],
    [t("seed"), String(about.seed ?? 0)],
    [t("events"), figure(about.events ?? 0)],
  ];
  if (about.visits !== undefined) facts.push([t("visits"), figure(about.visits)]);
  if (about.accuracy?.diagnosis != null) facts.push([t("right"), `${figure(about.accuracy.diagnosis, 1)} %`]);
  return h(
    "article",
    { class: "card run" },
    h("h2", {}, plain(run.name)),
    h("p", { class: "soft small" }, `${plain(named(about.hospital))} · ${run.stopped ? stoppedAt(about.t ?? 0) : t(run.over ? "over" : "going")}`),
    run.stopped && h("p", { class: "small" }, t("resume")),
    h("dl", { class: "facts" }, ...facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
    h("p", {}, h("a", { class: "button main", href: `./town?run=${encodeURIComponent(run.id)}` }, t("watch"))),
  );
}

openPage("home", () => t("title"), ({ main, notice }) => {
  get<{ runs: ShelvedRun[] }>("api/town/runs").then(
    ({ runs }) => {
      put(
        main,
        h("h1", {}, t("title")),
        h("p", { class: "soft" }, t("lead")),
        runs.length
          ? h("div", { class: "cards" }, ...runs.map(card))
          : h("p", {}, t("none"), " ", h("code", {}, "polyclinic run --days 1 --out town")),
        runs.filter((run) => !run.problem).length > 1 && compare(runs.filter((run) => !run.problem)),
      );
    },
    (error: ServerError) => notice(error.message),
  );
});

function compare(runs: ShelvedRun[]): HTMLElement {
  const choose = (label: string, at: number): HTMLSelectElement =>
    h("select", { "aria-label": label }, ...runs.map((run, n) => h("option", { value: run.id, selected: n === at }, plain(run.name))));
  const [first, second] = [choose("1", 0), choose("2", 1)];
  return h(
    "section",
    {},
    h("h2", {}, t("twice")),
    h("div", { class: "row" }, first, second,
      h("button", { type: "button", onclick: () => {
        location.href = `./town?run=${encodeURIComponent(first.value)}&with=${encodeURIComponent(second.value)}`;
      } }, t("compare"))),
  );
}
