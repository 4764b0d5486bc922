// The town on its map.

import { h, put } from "../shell/dom";
import { texts } from "../shell/language";
import { openPage } from "../shell/shell";

const t = texts({ title: ["Town", "小镇"] });

openPage("town", () => t("title"), ({ main }) => put(main, h("h1", {}, t("title"))));
