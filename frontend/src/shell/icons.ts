// Small pictures for buttons, drawn here so that they look alike everywhere.

import { svg } from "./dom";

const PATHS = {
  play: "M5 3l9 5-9 5z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  back: "M8 8l6-5v10zM2 8l6-5v10z",
  on: "M8 8L2 3v10zM14 8L8 3v10z",
  plus: "M7 2h2v5h5v2H9v5H7V9H2V7h5z",
  minus: "M2 7h12v2H2z",
  whole: "M2 2h4v2H4v2H2zM10 2h4v4h-2V4h-2zM2 10h2v2h2v2H2zM12 10h2v4h-4v-2h2z",
  link: "M6.5 9.5l3-3M7 5l2-2a2.8 2.8 0 0 1 4 4l-2 2M9 11l-2 2a2.8 2.8 0 0 1-4-4l2-2",
  close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
} as const;

/** Returns a picture, to be put into a button that has a name. */
export function icon(name: keyof typeof PATHS): SVGElement {
  const drawn = name === "link" || name === "close";
  return svg(
    "svg",
    { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true", focusable: "false" },
    svg("path", { d: PATHS[name], ...(drawn ? { fill: "none", stroke: "currentColor", "stroke-width": 1.75, "stroke-linecap": "round" } : { fill: "currentColor" }) }),
  );
}
