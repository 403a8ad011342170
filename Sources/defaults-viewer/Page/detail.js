// What is selected: a domain, or a key with its layers and its history.

import { button, confirm, h, notify, scroll, table, time } from "./dom.js";
import { editor, send } from "./edit.js";
import { run } from "./model.js";
import { line } from "./plots.js";
import { link, recent, recordItem, writer } from "./records.js";
import { forced, isEditable, label, place, store } from "./store.js";
import { bytes, command, editable, json, parse, python, swift, text, typeNames, typeOf } from "./values.js";

export function detail(side, go) {
    let current = { id: null, key: null };
    let edited = null;
    // Counts what is shown, so that late answers for something else are dropped.
    let turn = 0;
    let refreshing = null;
    // Whether what is selected was there when it was drawn.
    let isDrawn = false;

    const domainNow = () => store.domains.get(current.id);

    // Draws everything anew, for another selection.
    function draw(asked) {
        turn += 1;
        edited = null;
        const domain = domainNow();
        isDrawn = current.id === null || domain !== undefined;
        if (!current.id) side.replaceChildren(welcome());
        else if (!domain) side.replaceChildren(h("p", {},
            store.state.name === "reading" ? "Reading…" : `There is no domain ${asked?.domain ?? ""}.`));
        else if (current.key === null) drawDomain(domain);
        else drawKey(domain, current.key);
    }

    function welcome() {
        return h("div", { class: "welcome" },
            h("h2", {}, "Preferences, live"),
            h("p", {}, "Choose a key to see where its value comes from, who changed it, and to change it. Keys "
                + "light up when programs change them."),
            newDomain());
    }

    function newDomain() {
        const name = h("input", { type: "text", id: "new-domain", autocomplete: "off", spellcheck: "false" });
        return h("details", { class: "writing" }, h("summary", {}, "New domain…"),
            h("p", {}, h("label", { for: "new-domain" }, "Name, such as org.example.editor"), name),
            newKey({}, () => name.value.trim(), (key) => go({ domain: name.value.trim(), key })));
    }

    // MARK: A domain

    function drawDomain(domain) {
        const parts = [heading(label(domain), place(domain)), h("div", { class: "facts" })];
        if (isEditable(domain)) {
            parts.push(h("details", {}, h("summary", {}, "Add a key…"),
                newKey(domain, () => domain.name, (key) => go({ domain: domain.name, host: domain.host, key }))));
            parts.push(h("p", { class: "buttons" }, button("Remove all keys…", () => removeAll(current.id))));
        }
        // A profile is for any host.
        if (!domain.user && !domain.host) parts.push(h("p", { class: "buttons" },
            button("Save as a profile", () => saveProfile(domain.name, ""))));
        side.replaceChildren(...parts);
        drawFacts(domain);
        if (!domain.user) history(domain, null, 20);
    }

    function drawFacts(domain) {
        const count = domain.values.size;
        const parts = [h("p", {}, `${count} ${count === 1 ? "key" : "keys"}. `,
            domain.user ? "Only an administrator can change them." : "")];
        if (domain.damage) parts.push(h("p", { class: "problem" }, `The file can't be used: ${domain.damage}`));
        side.querySelector(".facts").replaceChildren(...parts);
    }

    function newKey(domain, domainName, done) {
        const id = `new-key-${turn}`;
        const key = h("input", { type: "text", id, autocomplete: "off", spellcheck: "false" });
        const target = { host: domain.host, get name() { return domainName(); } };
        const { form } = editor(target, { value: undefined, name: () => key.value, done });
        form.prepend(h("p", {}, h("label", { for: id }, "Key"), key));
        return form;
    }

    async function removeAll(id) {
        const domain = store.domains.get(id);
        const values = Object.fromEntries(domain?.values ?? []);
        const keys = Object.keys(values);
        if (!keys.length || !await confirm(`Remove all ${keys.length} keys of ${label(domain)}?`,
            h("p", {}, "The history can undo it."), "Remove")) return;
        attempt(() => send(domain, { remove: keys, expected: values }), "Removed.");
    }

    // MARK: A key

    function drawKey(domain, key) {
        const value = domain.values.get(key);
        const lock = forced(domain, key);
        const address = { domain: domain.name, host: domain.host, user: domain.user };
        const parts = [heading(key, link(address), place(domain))];
        if (lock) parts.push(h("p", { class: "lock" }, "An administrator forces the value ",
            h("code", {}, text(lock.value)), "."));
        if (value === undefined) {
            parts.push(h("p", {}, "This key has no value here."));
        } else if (isEditable(domain) && !lock) {
            edited = editor(domain, { key, value });
            parts.push(edited.form);
        } else {
            parts.push(h("p", { class: "type" }, typeNames[typeOf(value)]),
                h("pre", { class: "shown" }, editable(value)));
        }
        const buttons = [copies(domain, key, value)];
        if (isEditable(domain) && value !== undefined) {
            const title = "Then the value of the next layer counts.";
            buttons.push(button("Rename…", () => rename(domain, key)),
                button("Remove", () => remove(domain, key), { title }));
        }
        parts.push(h("p", { class: "buttons" }, buttons));
        const layers = h("div", { class: "layers" });
        parts.push(layers);
        side.replaceChildren(...parts);
        drawLayers(layers, domain, key);
        history(domain, key, 50);
    }

    function copies(domain, key, value) {
        const forms = { command, swift, python, json: () => json(value ?? null) };
        const names = { command: "as a command", swift: "as Swift", python: "as Python", json: "as JSON" };
        const isPossible = (form) => form === "command"
            || value !== undefined && forms[form](domain, key, value) !== null;
        const options = Object.keys(forms).filter(isPossible).map((form) =>
            h("option", { value: form }, names[form]));
        const menu = h("select", { "aria-label": "Copy", onchange: copy },
            h("option", { value: "" }, "Copy…"), options);
        async function copy() {
            const copied = forms[menu.value](domain, key, domain.values.get(key));
            menu.value = "";
            try {
                await navigator.clipboard.writeText(copied);
                notify(`Copied: ${copied}`);
            } catch {
                await confirm("Copy this", h("pre", {}, copied));
            }
        }
        return menu;
    }

    async function rename(domain, key) {
        const name = h("input",
            { type: "text", value: key, "aria-label": "New name", autocomplete: "off", autofocus: true });
        if (!await confirm(`Rename ${key}`, h("p", {}, name), "Rename") || !name.value || name.value === key) return;
        const value = domain.values.get(key);
        const done = await attempt(() => send(domain,
            { set: { [name.value]: value }, remove: [key], expected: { [key]: value }, absent: [name.value] }),
            "Renamed.");
        if (done) go({ domain: domain.name, host: domain.host, key: name.value });
    }

    function remove(domain, key) {
        attempt(() => send(domain, { remove: [key], expected: { [key]: domain.values.get(key) } }),
            `${key} was removed. The history below can undo it.`);
    }

    async function attempt(edit, success) {
        try {
            await edit();
            notify(success);
            return true;
        } catch (error) {
            notify(error.code === "changed"
                ? "Another program has changed this meanwhile, so nothing was done. Look at it again." : error.message);
            return false;
        }
    }

    async function drawLayers(place, domain, key) {
        const asked = turn;
        try {
            const { status, output, errors } = await run({ verb: "explain", domain: domain.name, host: domain.host,
                key });
            if (asked !== turn) return;
            // Without the key in any layer, the status is 1.
            if (status === 1) return place.replaceChildren();
            if (status !== 0) throw new Error(errors);
            const rows = parse(output, true).layers.map((layer) => [
                layer.wins ? h("strong", {}, `${layer.layer} (in effect)`) : layer.layer,
                h("code", {}, text(layer.value, 120)),
                h("span", { class: "file" }, `${layer.file}${layer.format ? ` (${layer.format})` : ""}`),
            ]);
            keep(place, h("h3", {}, "Where the value comes from"),
                scroll("Layers", table(["Layer", "Value", "File"], rows)));
        } catch (error) {
            place.replaceChildren(h("p", { class: "problem" }, error.message));
        }
    }

    // Shows the latest records of a domain or a key, who made the last change, and numbers as a plot.
    async function history(domain, key, limit) {
        if (domain.user) return;
        const asked = turn;
        try {
            const records = await recent({ domain: pattern(domain.name), key: key === null ? "" : pattern(key),
                count: limit });
            if (asked !== turn) return;
            const own = records.filter((record) => (record.host ?? "") === (domain.host ?? "") && !record.user);
            const old = side.querySelector(".history") ?? side.appendChild(h("section",
                { class: "history", "aria-label": "History" }));
            const parts = [h("h3", {}, "History")];
            const last = own.find((record) => record.changes?.length);
            if (last) parts.push(h("p", {}, "Last changed at ", time(last.time), " by ", h("strong", {}, writer(last)),
                "."));
            const values = own.flatMap((record) => (record.changes ?? []).map((change) => ({ record, change })))
                .filter(({ change }) => change.key === key && "new" in change);
            const points = values.map(({ record, change }) => ({ x: record.time / 1e6, y: numeric(change.new) }))
                .filter(({ y }) => Number.isFinite(y)).reverse();
            if (points.length > 2 && ["integer", "real"].includes(typeOf(domain.values.get(key) ?? ""))) {
                parts.push(line({ title: `${key} over time`, unit: "value", points, step: true }));
            }
            parts.push(own.length
                ? h("ul", { class: "records" }, own.map((record) => recordItem(record, { names: key === null })))
                : h("p", {}, "Nothing is recorded."));
            keep(old, ...parts);
        } catch (error) {
            if (asked === turn) side.append(h("p", { class: "problem" }, error.message));
        }
    }

    // Looks up what may have changed about the selection; what is being typed stays.
    function refresh() {
        refreshing = null;
        const domain = domainNow();
        if (!domain || !side.isConnected) return;
        turn += 1;
        if (current.key === null) {
            drawFacts(domain);
            if (!domain.user) history(domain, null, 20);
        } else {
            drawLayers(side.querySelector(".layers"), domain, current.key);
            history(domain, current.key, 50);
        }
    }

    return {
        show(id, key, asked) {
            current = { id, key };
            draw(asked);
        },
        update(update) {
            if (!current.id) {
                // Whether the page may write is known soon after it has begun.
                const writing = side.querySelector(".writing");
                if (writing) writing.hidden = store.info.readOnly === true;
                return;
            }
            const domain = domainNow();
            if (!domain || !isDrawn) { if (!edited?.isDirty) draw(); return; }
            if (current.key !== null) {
                const value = domain.values.get(current.key);
                const isEdited = edited !== null;
                if ((value !== undefined) !== isEdited && isEditable(domain) && !forced(domain, current.key)
                    && !edited?.isDirty) return draw();
                edited?.update(value);
            }
            if (!update.isReset && !update.domains.has(current.id)) return;
            // What changes all the time is looked up once a second.
            refreshing ??= setTimeout(refresh, 1000);
        },
    };
}

// Replaces the contents of an element, and keeps what is open and focused in it.
function keep(element, ...contents) {
    const isOpen = element.querySelector("details")?.open;
    const active = document.activeElement;
    const focused = element.contains(active) ? active.getAttribute("aria-label") ?? active.textContent : null;
    element.replaceChildren(...contents);
    const details = element.querySelector("details");
    if (details && isOpen) details.open = true;
    if (focused === null) return;
    const all = [...element.querySelectorAll("a, button, summary, [tabindex]")];
    all.find((one) => (one.getAttribute("aria-label") ?? one.textContent) === focused)?.focus();
}

// Saves the values of a domain, or those that have changed since a time, as a file for `defaults apply`.
export async function saveProfile(domain, since) {
    try {
        const { status, output, errors } = await run({ verb: "record", domain, since });
        if (status !== 0) return notify(errors);
        const contents = typeof output === "string" ? output : bytes(output);
        const address = URL.createObjectURL(new Blob([contents], { type: "application/x-plist" }));
        h("a", { href: address, download: `${domain}.plist` }).click();
        setTimeout(() => URL.revokeObjectURL(address), 10000);
    } catch (error) {
        notify(error.message);
    }
}

// Returns a number that is held as JSON.
function numeric(value) { return Number(value?.$real ?? value?.$integer ?? value); }

// Returns the pattern that matches only a name.
export function pattern(name) { return name.replace(/[\\*?]/g, "\\$&"); }

function heading(name, ...about) {
    return h("header", {}, h("h2", {}, name),
        h("p", { class: "about" }, about.filter(Boolean).flatMap((part) => [part, " "])));
}
