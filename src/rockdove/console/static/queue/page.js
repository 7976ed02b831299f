// The page of one queue: its parts, and the stream that they live on.

import "./chart.js";
import "./peek.js";
import "./send.js";
import "./held.js";
import "./physical.js";
import "./lease.js";
import "./redrive.js";
import "./attributes.js";
import "./tag.js";
import "./access.js";
import "./use.js";
import { subscribe } from "../page.js";
import { account, name } from "./part.js";

subscribe({ page: "queue", account, name });
