// The page's connection to the model, in the worker that all pages share, or in the page itself.

import { Model } from "./model.js";
import { whenOver } from "./server.js";

// Calls a function with each batch of messages; the first begins with `all`.
export function follow(receive) {
    if (!("SharedWorker" in window)) {
        receive([new Model(receive).all]);
        return;
    }
    const { port } = new SharedWorker("worker.js", { type: "module", name: "preferences" });
    port.addEventListener("message", ({ data }) => receive(data));
    port.start();
    whenOver((reason) => port.postMessage({ over: reason }));
    window.addEventListener("pagehide", (event) => { if (!event.persisted) port.postMessage("close"); });
}
