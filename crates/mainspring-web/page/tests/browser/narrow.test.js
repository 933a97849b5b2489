// Every page on a telephone.

import { looks } from "../looks.js";

looks(375);
