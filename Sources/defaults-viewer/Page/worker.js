// The one stream of events, which all pages of the browser share: a browser opens at most six connections to a server.

import { Model } from "./model.js";

const ports = new Set();
const model = new Model((batch) => { for (const port of ports) port.postMessage(batch); });

self.addEventListener("connect", ({ ports: [port] }) => {
    model.flush();
    ports.add(port);
    port.postMessage([model.all]);
    port.addEventListener("message", ({ data }) => {
        if (data === "close") ports.delete(port); else model.end(data.over);
    });
    port.start();
});
