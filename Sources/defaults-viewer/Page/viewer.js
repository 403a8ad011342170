// The page: its views, and the place in its address.

import { browse } from "./browse.js";
import { changes } from "./changes.js";
import { h, notify } from "./dom.js";
import { health } from "./health.js";
import { history } from "./history.js";
import { learn } from "./manifests.js";
import { identity } from "./model.js";
import { ask, run } from "./server.js";
import { address } from "./records.js";
import { forgetTexts, onUpdate, receive, store } from "./store.js";
import { follow } from "./stream.js";

const main = document.getElementById("main");
const views = { browse: browse(go), changes: changes(), history: history(go), health: health() };
let current = null;
document.querySelector("nav").append(...Object.keys(views).map((name) =>
    h("a", { href: `#view=${name}`, "data-view": name }, name[0].toUpperCase() + name.slice(1))));

// The place that is shown belongs to the browser's entry, and isn't in the address: browsers record addresses, and may
// send them to other machines.
const shownPlace = () => window.history.state ?? {};
const placeIn = (address) => Object.fromEntries(new URLSearchParams(address));

// Shows another place, and returns whether it is another one.
function go(place) {
    if (address(place) === address(shownPlace())) return false;
    window.history.pushState(place, "");
    show();
    return true;
}

// Moves a place from the address, or from what the server says at first, to the browser's entry.
function adopt() {
    const { dataset } = document.documentElement;
    const place = location.hash.slice(1) || dataset.place;
    if (place !== undefined) window.history.replaceState(placeIn(place), "", "./");
    delete dataset.place;
}

function show() {
    const place = shownPlace();
    const name = Object.hasOwn(views, place.view ?? "") ? place.view : "browse";
    for (const link of document.querySelectorAll("nav a")) {
        if (link.dataset.view !== name) link.removeAttribute("aria-current");
        else link.setAttribute("aria-current", "page");
        // The selection stays while another view is shown.
        if (name === "browse" && link.dataset.view === name) link.href = Object.keys(place).length ? address(place) : "#view=browse";
    }
    if (current !== name) main.replaceChildren(views[name].view);
    current = name;
    guard(() => views[name].show(place));
    // Titles are recorded, too.
    document.title = name === "browse" ? "Preferences" : `Preferences: ${name}`;
}

const states = {
    reading: "Reading…", live: "Live", lost: "Not connected. If this lasts, run `defaults view` again.",
};

onUpdate((update) => {
    const state = document.getElementById("state");
    const { name, reason, isOver } = store.state;
    const silence = name !== "lost" && store.silence;
    const unsaved = name === "live" ? unsavedText() : "";
    state.dataset.state = silence ? "silent" : unsaved ? "unsaved" : name;
    const text = silence || unsaved || (isOver ? reason : (reason ? `${reason} ` : "") + states[name]
        + (store.info.readOnly ? ", read-only" : ""));
    if (state.textContent !== text) state.textContent = text;
    document.body.toggleAttribute("data-read-only", store.info.readOnly === true);
    for (const view of Object.values(views)) guard(() => view.update(update));
});

// Does something for a view. If it fails, the other views go on.
function guard(action) {
    try { action(); } catch (error) {
        notify(`A part of this page has failed: ${error.message}. Reload the page.`);
        reportError(error);
    }
}

// Asks for the agent's status every five seconds, since a stopped agent looks like one to which nothing happens.
async function beat() {
    try {
        if (!document.hidden) {
            const { status } = await ask({ type: "status" });
            if (store.silence) say("");
            findUnsaved(status);
        }
    } catch (error) {
        if (error.silent === "viewer") say(`The viewer is not answering (process ${store.info.pid}).`);
        if (error.silent === "agent" && !store.silence) say(error.message);
        // The command knows why.
        if (error.silent === "agent") {
            run({ verb: "explain", domain: "NSGlobalDomain", key: "-" }).then(({ status, errors }) => {
                if (store.silence && status === 75) say(errors);
            }, () => {});
        }
    }
    setTimeout(beat, 5000);
}

// Finds the domains that have unsaved edits and an error.
function findUnsaved({ pending = [], errors = [] }) {
    const waiting = new Set(pending.map(identity));
    const unsaved = new Map(errors.filter((error) => error.domain && waiting.has(identity(error)))
        .map((error) => [identity(error), error.message]));
    if (JSON.stringify([...unsaved]) === JSON.stringify([...store.unsaved])) return;
    receive([{ kind: "unsaved", unsaved }]);
}

// Returns the sentence about domains that can't be saved, if there are any.
function unsavedText() {
    const all = [...store.unsaved];
    if (!all.length) return "";
    const names = all.length > 3 ? `${all.length} domains` : all.map(([id]) => JSON.parse(id)[0]).join(", ");
    return `Not saved: ${names}. ${all[0][1]}`;
}

// Reads the manifests, which may have changed.
function readManifests() {
    learn(() => {
        forgetTexts();
        receive([{ kind: "manifests", manifests: {} }]);
    }).catch(() => {});
}

function say(silence) { receive([{ kind: "silence", silence }]); }

document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
});
document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    const isElsewhere = event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
    if (!link || isElsewhere || event.defaultPrevented) return;
    event.preventDefault();
    go(placeIn(link.getAttribute("href").slice(1)));
});
window.addEventListener("popstate", () => {
    adopt();
    show();
});
adopt();
show();
follow(receive);
beat();
readManifests();
window.addEventListener("focus", readManifests);
setInterval(() => { if (!document.hidden) readManifests(); }, 20_000);
