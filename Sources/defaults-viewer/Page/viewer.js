// The page: its views, and the place in its address.

import { browse } from "./browse.js";
import { changes } from "./changes.js";
import { health } from "./health.js";
import { history } from "./history.js";
import { onUpdate, receive, store } from "./store.js";
import { follow } from "./stream.js";

const main = document.getElementById("main");
const views = { browse: browse(go), changes: changes(), history: history(), health: health() };
let current = null;

// Goes to a place: a view, or a domain and a key.
function go(place) {
    const parts = Object.entries(place).filter(([, value]) => value !== undefined && value !== null);
    location.hash = `${new URLSearchParams(parts)}`;
}

function show() {
    const place = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
    const name = Object.hasOwn(views, place.view ?? "") ? place.view : "browse";
    for (const link of document.querySelectorAll("nav a")) {
        if (link.dataset.view === name) link.setAttribute("aria-current",
            "page"); else link.removeAttribute("aria-current");
    }
    if (current !== name) main.replaceChildren(views[name].view);
    current = name;
    views[name].show(place);
    document.title = place.key ?? place.domain ?? (name === "browse" ? "Preferences" : `Preferences: ${name}`);
}

const states = {
    reading: "Reading…", live: "Live", lost: "Not connected. If this lasts, run `defaults view` again.",
};

onUpdate((update) => {
    const state = document.getElementById("state");
    state.dataset.state = store.state.name;
    const text = (store.state.reason ? `${store.state.reason} ` : "") + states[store.state.name] + (store.info.readOnly
        ? ", read-only" : "");
    if (state.textContent !== text) state.textContent = text;
    for (const view of Object.values(views)) view.update(update);
});

document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
});
window.addEventListener("hashchange", show);
show();
follow(receive);
