// The doctor's chair.

import { h, put } from "../shell/dom";
import { texts } from "../shell/language";
import { openPage } from "../shell/shell";

const t = texts({ title: ["Doctor's chair", "医生的椅子"] });

openPage("chair", () => t("title"), ({ main }) => put(main, h("h1", {}, t("title"))));
