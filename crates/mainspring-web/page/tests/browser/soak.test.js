// A few rounds of the soak, over the real program at $MAINSPRING: a descriptor or thread that each browser leaves
// behind is seen at once.

import { test } from "node:test";
import { PROGRAM } from "../program.js";

const playwright = await import("playwright-core").catch(() => null);
const skip =
  PROGRAM === "" ? "$MAINSPRING names no program" : playwright === null && "playwright-core is not installed";

test("browsers that come and go leave nothing behind in the server", { skip }, async () => {
  const { soak } = await import("../soak.js");
  await soak({ rounds: 10, seconds: Infinity });
});
