// Every page on a desk.

import { looks } from "../looks.js";

looks(1_280);
