// The selection: a domain or a key, each with its history.

import { h, input, notify, redraw, time } from "./dom.js";
import { domainPart } from "./domain.js";
import { editor } from "./edit.js";
import { keyPart } from "./key.js";
import { isSecret, settings } from "./manifests.js";
import { line } from "./plots.js";
import { address, pattern, recentOf, recordItem, writer } from "./records.js";
import { absence, addressOf, consulted, domainAt, isDraft, store } from "./store.js";
import { typeOf, visible } from "./values.js";

// The number of records that are listed, and of those in a plot.
const listLimit = 50;
const plotLimit = 500;

export function detail(side, go) {
    let current = { id: null, key: null };
    // The editors that are shown, with their names.
    let editors = [];
    // Whether the key that is shown next was just made.
    let isMade = false;
    // Counts what is shown, so that late answers for something else are dropped.
    let turn = 0;
    let refreshing = null;
    // Whether the selected domain was there when it was drawn, and the manifests by which that was done.
    let isDrawn = false;
    let manifests;

    const domains = domainPart(side, newKey);
    const keys = keyPart(side, { editorOf, goTo, refresh, redraw: draw, watch });
    const domainNow = () => domainAt(current.id);

    // Draws everything anew, for another selection.
    function draw() {
        turn += 1;
        for (const [name, editor] of editors) if (editor.isDirty) store.drafts.set(name, editor);
        keys.clear();
        editors = [];
        const isFocused = side.contains(document.activeElement);
        const domain = domainNow();
        isDrawn = current.id === null || domain !== undefined;
        manifests = store.manifests;
        if (!current.id) drawWelcome();
        else if (!domain) side.replaceChildren(h("p", absence(`There is no domain ${JSON.parse(current.id)[0]}.`)));
        else {
            if (current.key === null) domains.draw(domain); else keys.draw(domain, current.key);
            history(domain, current.key);
        }
        // The focus would be lost with what had it.
        if (isMade && keys.edited) keys.edited.focus(); else if (isFocused) side.querySelector("h2")?.focus();
        if (keys.edited) isMade = false;
    }

    // Returns a function that tells whether the same is still shown.
    function watch() {
        const asked = turn;
        return () => asked === turn;
    }

    // Returns the editor that was left without saving, or a new one.
    function editorOf(name, make) {
        const editor = isDraft(name) ? store.drafts.get(name) : make();
        store.drafts.delete(name);
        editors.push([name, editor]);
        return editor;
    }

    function goTo(domain, key) {
        isMade = true;
        go({ ...addressOf(domain), key });
    }

    window.addEventListener("beforeunload", (event) => {
        const all = [...store.drafts.values(), ...editors.map(([, editor]) => editor)];
        if (all.some((editor) => editor.isDirty)) event.preventDefault();
    });

    function drawWelcome() {
        const name = input({ id: "new-domain" });
        side.replaceChildren(h("h2", "Preferences, live"),
            h("p", "Choose a key to see where its value comes from, who changed it, and to change it. Keys "
                + "light up when programs change them."),
            newKey("New domain…", { get name() { return name.value.trim(); } },
                h("p", h("label", { for: "new-domain" }, "Name, such as org.example.editor"), name)));
    }

    // Draws the same anew; opened parts stay open.
    function drawAgain() {
        const summaries = () => [...side.querySelectorAll("summary")];
        const open = new Set(summaries().filter((one) => one.parentElement.open).map((one) => one.textContent));
        draw();
        for (const one of summaries()) if (open.has(one.textContent)) one.parentElement.open = true;
    }

    // Draws the welcome anew; typed text stays, too.
    function redrawWelcome() {
        const former = side.querySelector("#new-domain");
        const isFocused = former !== null && former === document.activeElement;
        drawAgain();
        if (!former) return;
        const name = side.querySelector("#new-domain");
        name.value = former.value;
        if (isFocused) name.focus();
    }

    // Returns a form for a new key. The inputs before it may name the domain.
    function newKey(title, domain, ...inputs) {
        const { form, isDirty } = editorOf(`${current.id}\n${title}`, () => {
            const id = `new-key-${turn}`;
            const names = h("datalist", { id: `${id}-names` });
            const complete = () => names.replaceChildren(...settings(domain.name)
                .map(({ key, title }) => h("option", { value: key }, title ?? "")));
            const key = input({ id, list: names.id, onfocus: complete, onchange: () => made.describe() });
            const made = editor(domain, { name: () => key.value, done: (key) => goTo(domain, key) });
            made.form.prepend(...inputs, h("p", h("label", { for: id }, "Key"), key, names));
            return made;
        });
        return h("details.writing", { open: isDirty }, h("summary", title), form);
    }

    // Shows the latest records of a domain or a key, who made the last change, and numbers as a plot.
    async function history(domain, key) {
        if (domain.user) return;
        const isShown = watch();
        // A plot needs more than a person reads.
        const isPlotted = key !== null && !isSecret(domain.name, key)
            && ["integer", "real"].includes(typeOf(domain.values.get(key) ?? ""));
        try {
            const all = await recentOf(domain, key, isPlotted ? plotLimit : listLimit);
            if (!isShown()) return;
            const own = all.slice(0, listLimit);
            const old = side.querySelector(".history")
                ?? side.appendChild(h("section.history", { "aria-label": "History" }));
            const parts = [h("h3", "History")];
            const last = own.find((record) => record.changes?.length);
            if (last) parts.push(h("p", "Last changed at ", time(last.time), " by ", h("strong", writer(last)), "."));
            const use = keys.edited && { current: domain.values.get(key), begin: (value) => keys.edited?.use(value) };
            const points = all.flatMap((record) => (record.changes ?? []).filter((change) => change.key === key)
                .map((change) => ({ x: record.time / 1e6, y: numeric(change.new) }))).reverse();
            if (isPlotted && points.filter(({ y }) => Number.isFinite(y)).length > 2) {
                const title = `${visible(key)} over time`;
                parts.push(line({ title, unit: "value", points, place: side, step: true }));
            }
            parts.push(own.length
                ? h("ul.records", own.map((record) => recordItem(record, { names: key === null, use })))
                : h("p", "Nothing is recorded."));
            // The field there can't hold every key.
            const isTypable = /^\S(.*\S)?$/.test(key ?? "");
            if (isTypable && own.length === listLimit) parts.push(h("p", h("a", { href: address({ view: "history",
                domain: pattern(domain.name), key: pattern(key) }) }, "All its changes")));
            redraw(old, ...parts);
        } catch (error) {
            if (isShown() && !error.isLost) notify(error.message);
        }
    }

    // Looks up what may have changed about the selection; text being typed stays.
    function refresh() {
        clearTimeout(refreshing);
        refreshing = null;
        const domain = domainNow();
        if (!domain || !side.isConnected) return;
        turn += 1;
        if (current.key === null) domains.refresh(domain); else keys.refresh(domain, current.key);
        history(domain, current.key);
    }

    return {
        show(id, key) {
            current = { id, key };
            draw();
        },
        update(update) {
            if (!current.id) {
                // Until the manifests are known, everything is secret.
                if (manifests !== store.manifests && !editors.some(([, editor]) => editor.isDirty)) redrawWelcome();
                return;
            }
            const domain = domainNow();
            const { edited } = keys;
            if (!domain || !isDrawn || manifests !== store.manifests && !edited?.isDirty) {
                if (!edited?.isDirty) drawAgain();
                return;
            }
            if (manifests !== store.manifests) edited.reveal();
            if (current.key !== null && !keys.update(domain, current.key)) return draw();
            if (!update.isReset && !consulted(domain).some((id) => update.domains.has(id))) return;
            // Frequent changes are looked up only once a second.
            refreshing ??= setTimeout(refresh, 1000);
        },
    };
}

// Returns a number that is held as JSON.
function numeric(value) { return Number(value?.$real ?? value?.$integer ?? value); }
