// The selection: a domain, or a key with its layers and its history.

import { beginning } from "./difference.js";
import { button, confirm, h, input, notify, redraw, scroll, table, time } from "./dom.js";
import { editor, send } from "./edit.js";
import { described, groups, isSecret, scopeNote, settings, shown, titleOf } from "./manifests.js";
import { line } from "./plots.js";
import { saveProfile } from "./profiles.js";
import { address, link, pattern, recentOf, recordItem, writer } from "./records.js";
import { parse, run } from "./server.js";
import {
    absence, addressOf, consulted, domainAt, inEffect, isDraft, isEditable, isForced, label, place, replacement,
    sortedKeys, store,
} from "./store.js";
import {
    areSame, command, editable, json, python, swift, text, typeNames, typeOf, unpacked, visible,
} from "./values.js";

export function detail(side, go) {
    let current = { id: null, key: null };
    // The editor of the selected key, and those of new ones, with their names.
    let edited = null;
    let editors = [];
    // Whether the key that is shown next was just made.
    let isMade = false;
    // Counts what is shown, so that late answers for something else are dropped.
    let turn = 0;
    let refreshing = null;
    // Whether the selected domain and key were there when they were drawn, and the manifests by which that was done.
    let isDrawn = false;
    let hadValue = false;
    // The value that was shown as forced, with its place.
    let drawnLock = null;
    let manifests;
    // The value that was shown as the one in effect.
    let drawnEffect;

    const domainNow = () => domainAt(current.id);

    // Draws everything anew, for another selection.
    function draw() {
        turn += 1;
        for (const [name, editor] of editors) if (editor.isDirty) store.drafts.set(name, editor);
        edited = null;
        editors = [];
        const isFocused = side.contains(document.activeElement);
        const domain = domainNow();
        isDrawn = current.id === null || domain !== undefined;
        manifests = store.manifests;
        if (!current.id) drawWelcome();
        else if (!domain) side.replaceChildren(h("p", absence(`There is no domain ${JSON.parse(current.id)[0]}.`)));
        else if (current.key === null) drawDomain(domain);
        else drawKey(domain, current.key);
        // The focus would be lost with what had it.
        if (isMade && edited) edited.focus(); else if (isFocused) side.querySelector("h2")?.focus();
        if (edited) isMade = false;
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

    // Draws the same anew; opened parts and typed text stay.
    function redrawWelcome() {
        const former = side.querySelector("#new-domain");
        const isFocused = former !== null && former === document.activeElement;
        draw();
        if (!former) return;
        const name = side.querySelector("#new-domain");
        name.value = former.value;
        name.closest("details").open = former.closest("details").open;
        if (isFocused) name.focus();
    }

    // MARK: A domain

    function drawDomain(domain) {
        const parts = [heading(label(domain), titleOf(domain.name), place(domain)), h("div.facts"), h("div.settings")];
        if (isEditable(domain)) parts.push(newKey("Add a key…", domain));
        // The history has only the user's domains.
        if (!domain.user) parts.push(h("p",
            h("a", { href: address({ view: "history", domain: pattern(domain.name) }) }, "All its changes"), " · ",
            h("a", { href: address({ view: "history", compare: domain.name, since: "1h" }) }, "Compare two moments…")));
        // A profile is for any host.
        parts.push(h("p.buttons.quiet",
            domain.user || domain.host ? null
                : button("Save as a profile", () => attempt(() => saveProfile({ domain: domain.name }))),
            isEditable(domain) ? button("Remove all keys…", () => removeAll(current.id), { class: "removal" }) : null));
        side.replaceChildren(...parts);
        drawFacts(domain);
        drawSettings(domain);
        history(domain, null);
    }

    function drawFacts(domain) {
        const count = domain.values.size;
        const parts = [];
        if (domain.damage) parts.push(h("p.problem", `The file can't be used: ${domain.damage}`),
            h("p", "These are its last good values. Saving replaces the file, and keeps a copy beside it."));
        if (current.key === null) parts.push(h("p", `${count} ${count === 1 ? "key" : "keys"}. `,
            domain.user ? "Only an administrator can change them." : ""));
        if (current.key === null) parts.push(
            h("ul.keys", sortedKeys(domain).slice(0, 500).map((key) =>
                h("li", link(addressOf(domain), key), " ",
                    h("code", shown(domain.name, key, inEffect(domain, key), 60)), " ",
                    h("span.place", replacement(domain, key)?.reason ?? "")))),
            count > 500 ? h("p", "The first 500 are shown. Search for the others.") : "");
        redraw(side.querySelector(".facts"), ...parts);
        const removal = side.querySelector(".removal");
        if (removal) removal.hidden = count === 0;
    }

    // Lists what the manifest describes, also keys without a value, which then have the default.
    function drawSettings(domain) {
        const form = ({ sensitive, choices = [] }, key, value) => {
            if (sensitive || isSecret(domain.name, key)) return "••••••";
            const choice = choices.find((choice) => choice.title && areSame(choice.value, value));
            return choice?.title ?? text(value, 60);
        };
        const row = ({ about, path: [key, ...names] }) => {
            const value = names.reduce((all, name) => Object(all) === all ? new Map(unpacked(all)).get(name)
                : undefined, inEffect(domain, key));
            const standard = about.default;
            return [link(addressOf(domain), key, [key, ...names].map(visible).join(".")), about.title ?? "",
                value !== undefined ? h("code", form(about, key, value))
                    : standard === undefined ? "" : h("code.standard", `(${form(about, key, standard)})`), about.rule];
        };
        redraw(side.querySelector(".settings"), ...groups(domain.name).flatMap(([title, rows]) => [h("h3", title),
            scroll(title, table(["Key", "Title", "Value", "What it may be"], rows.map(row)))]));
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

    async function removeAll(id) {
        const domain = store.domains.get(id);
        const values = Object.fromEntries(domain?.values ?? []);
        const keys = Object.keys(values);
        if (!keys.length || !await confirm(`Remove all ${keys.length} keys of ${label(domain)}?`,
            h("p", keys.some((key) => isSecret(domain.name, key))
                ? "The values of secrets aren't in the history, so you can't undo all of this."
                : "You can undo this in the history."),
            "Remove")) return;
        attempt(() => send(domain, { remove: keys, expected: values }), "Removed.");
    }

    // MARK: A key

    function drawKey(domain, key) {
        const value = domain.values.get(key);
        const lock = isForced(domain, key) ? replacement(domain, key) : null;
        const name = `${domain.id}\n${key}`;
        const about = described(domain.name, key);
        const parts = [heading(visible(key), about?.title, link(addressOf(domain)), place(domain)),
            ...description(about), h("div.facts")];
        if (lock) parts.push(h("p.lock", "An administrator forces the value ",
            h("code", shown(domain.name, key, lock.value)), "."));
        else parts.push(h("div.effect"));
        drawnEffect = undefined;
        drawnLock = lock;
        hadValue = value !== undefined;
        if (!hadValue) parts.push(h("p", "This key has no value here."));
        if (isEditable(domain) && !lock) {
            const made = editorOf(name, () => editor(domain, hadValue ? { key, value, done: refresh }
                : { name: () => key, done: () => setTimeout(() => { if (edited === made) draw(); }) }));
            edited = made;
            parts.push(edited.form);
        } else if (hadValue) {
            const isSecretHere = isSecret(domain.name, key);
            parts.push(h("p", typeNames[typeOf(value)]),
                h("pre.shown", isSecretHere ? shown(domain.name, key, value) : beginning(editable(value))));
        }
        const buttons = copies(domain, key, value);
        if (isEditable(domain) && value !== undefined) {
            const title = "Without this value, that of the next layer is in effect.";
            buttons.push(button("Rename…", () => rename(domain, key)),
                button("Remove", () => remove(domain, key), { title }));
        }
        side.replaceChildren(...parts, h("p.buttons.quiet", buttons), h("div.layers"));
        edited?.update(value);
        drawEffect(domain, key);
        drawFacts(domain);
        drawLayers(domain, key);
        drawViolations(domain, key);
        history(domain, key);
    }

    // Says which value is in effect instead of this domain's, and why.
    function drawEffect(domain, key) {
        const other = replacement(domain, key);
        if (isSameEffect(other, drawnEffect)) return;
        drawnEffect = other;
        const place = side.querySelector(".effect");
        if (place) redraw(place, ...(other ? [h("p.note", "Another value is in effect: ",
            h("code", shown(domain.name, key, other.value)), `, ${other.reason}. `,
            link(addressOf(other.place), key, "Show it"))] : []));
    }

    // Returns what the manifest says about a key.
    function description(about) {
        if (!about) return [];
        const marks = [about.rule, about.required && "required",
            scopeNote(about)].filter(Boolean);
        return [...[about.description, about.reference, about.note].filter(Boolean).map((text) =>
            h("p.description", text)), h("p.rule", marks.join("; ")), h("div.violations")];
    }

    // Shows what a value breaks in the manifest.
    async function drawViolations(domain, key) {
        const asked = turn;
        const place = side.querySelector(".violations");
        if (!place) return;
        const { output } = await run({ verb: "describe", domain: domain.name, host: domain.host, key })
            .catch(() => ({ output: "" }));
        if (asked !== turn) return;
        const violations = output ? parse(output, true).violations ?? [] : [];
        redraw(place, ...violations.map((text) => h("p.problem", text)));
    }

    function copies(domain, key, value) {
        const forms = { "as a command": command, "as Swift": swift, "as Python": python,
            "as JSON": (_, __, value) => json(value) };
        const isPossible = (name) => forms[name] === command
            || value !== undefined && forms[name](domain, key, value) !== null;
        const menu = h("select", { "aria-label": "Form" },
            Object.keys(forms).filter(isPossible).map((name) => h("option", name)));
        async function copy() {
            const copied = forms[menu.value](domain, key, domain.values.get(key));
            if (isSecret(domain.name, key) && value !== undefined && !await confirm("Copy the secret?",
                h("p", "The text has the secret. A shell's history stores commands, and others may read it there."),
                "Copy")) return;
            try {
                await navigator.clipboard.writeText(copied);
                notify(isSecret(domain.name, key) ? "Copied." : `Copied: ${copied}`);
            } catch {
                await confirm("Copy this", h("pre", copied));
            }
        }
        return [button("Copy", copy), menu];
    }

    async function rename(domain, key) {
        // A field can't hold line ends, and others can't be seen in it.
        const isEscaped = visible(key) !== key && key !== "";
        const field = input({ value: isEscaped ? JSON.stringify(key).slice(1, -1) : key, "aria-label": "New name",
            autofocus: true });
        const begun = field.value;
        const note = isEscaped
            ? h("p.note", "Some characters can't be seen, so the name is written as in JSON.") : null;
        const isWanted = await confirm(`Rename ${visible(key)}`, [h("p", field), note], "Rename");
        if (!isWanted || field.value === begun) return;
        let name = field.value;
        try { if (isEscaped) name = JSON.parse(`"${name}"`); } catch {
            return notify("This isn't a name as in JSON. Write \\n for a line end, and \\\\ for a backslash.");
        }
        if (name === key) return;
        if (domain.values.has(name)) return notify(`${visible(name)} exists already.`);
        const value = domain.values.get(key);
        const edit = { set: { [name]: value }, remove: [key], expected: { [key]: value }, absent: [name] };
        if (await attempt(() => send(domain, edit), "Renamed.")) goTo(domain, name);
    }

    const unrecorded = "The values of secrets aren't in the history, so you can't undo this.";

    async function remove(domain, key) {
        const isHidden = isSecret(domain.name, key);
        if (isHidden && !await confirm(`Remove ${visible(key)}?`, h("p", unrecorded), "Remove")) return;
        const value = domain.values.get(key);
        const restore = () => attempt(() => send(domain, { set: { [key]: value }, absent: [key] }),
            `${visible(key)} is back.`);
        attempt(() => send(domain, { remove: [key], expected: { [key]: value } }), `${visible(key)} was removed. `,
            isHidden ? "" : button("Undo", restore));
    }

    async function attempt(action, success, ...buttons) {
        try {
            const outcome = await action();
            notify(success ?? outcome, ...buttons);
            return true;
        } catch (error) {
            notify(error.code === "changed"
                ? "Another program has changed this meanwhile, so nothing was done. Look at it again." : error.message);
        }
    }

    async function drawLayers(domain, key) {
        const asked = turn;
        const place = side.querySelector(".layers");
        try {
            const { name, host } = domain;
            const { status, output, errors } = await run({ verb: "explain", domain: name, host, key });
            if (asked !== turn) return;
            // Without the key in any layer, the status is 1.
            if (status === 1) return place.replaceChildren();
            if (status !== 0) throw new Error(errors);
            const rows = parse(output, true).layers.map((layer) => [
                layer.wins ? h("strong", `${layer.layer} (in effect)`) : layer.layer,
                h("code", shown(domain.name, key, layer.value, 120)),
                h("span.file", `${layer.file}${layer.format ? ` (${layer.format})` : ""}`),
            ]);
            const standard = parse(output, true).default;
            if (standard !== undefined) rows.push(["default", h("code", shown(domain.name, key, standard, 120)),
                "in the manifest"]);
            redraw(place, h("h3", "Where the value comes from"),
                scroll("Layers", table(["Layer", "Value", "File"], rows)));
        } catch (error) {
            if (!error.isLost) place.replaceChildren(h("p.problem", error.message));
        }
    }

    // Shows the latest records of a domain or a key, who made the last change, and numbers as a plot.
    async function history(domain, key) {
        if (domain.user) return;
        const asked = turn;
        try {
            const own = await recentOf(domain, key, 50);
            if (asked !== turn) return;
            const old = side.querySelector(".history")
                ?? side.appendChild(h("section.history", { "aria-label": "History" }));
            const parts = [h("h3", "History")];
            const last = own.find((record) => record.changes?.length);
            if (last) parts.push(h("p", "Last changed at ", time(last.time), " by ", h("strong", writer(last)), "."));
            const use = edited && { current: domain.values.get(key), begin: (value) => edited?.use(value) };
            const points = own.flatMap((record) => (record.changes ?? []).filter((change) => change.key === key)
                .map((change) => ({ x: record.time / 1e6, y: numeric(change.new) }))).reverse();
            if (points.filter(({ y }) => Number.isFinite(y)).length > 2 && !isSecret(domain.name, key)
                && ["integer", "real"].includes(typeOf(domain.values.get(key) ?? ""))) {
                parts.push(line({ title: `${visible(key)} over time`, unit: "value", points, step: true }));
            }
            parts.push(own.length
                ? h("ul.records", own.map((record) => recordItem(record, { names: key === null, use })))
                : h("p", "Nothing is recorded."));
            redraw(old, ...parts);
        } catch (error) {
            if (asked === turn && !error.isLost) notify(error.message);
        }
    }

    // Looks up what may have changed about the selection; text being typed stays.
    function refresh() {
        clearTimeout(refreshing);
        refreshing = null;
        const domain = domainNow();
        if (!domain || !side.isConnected) return;
        turn += 1;
        drawFacts(domain);
        if (current.key === null) drawSettings(domain);
        else {
            drawLayers(domain, current.key);
            drawViolations(domain, current.key);
        }
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
            if (!domain || !isDrawn || manifests !== store.manifests && !edited?.isDirty) {
                if (!edited?.isDirty) draw();
                return;
            }
            if (manifests !== store.manifests) edited.reveal();
            if (current.key !== null) {
                const value = domain.values.get(current.key);
                const lock = isForced(domain, current.key) ? replacement(domain, current.key) : null;
                if (!isSameEffect(lock, drawnLock) && !edited?.isDirty) return draw();
                drawEffect(domain, current.key);
                if ((value !== undefined) !== hadValue && isEditable(domain) && !lock && !edited?.isDirty) {
                    return draw();
                }
                edited?.update(value);
            }
            if (!update.isReset && !consulted(domain).some((id) => update.domains.has(id))) return;
            // Frequent changes are looked up only once a second.
            refreshing ??= setTimeout(refresh, 1000);
        },
    };
}

// Returns whether two values in effect are the same, and come from the same place. Either may be missing.
function isSameEffect(a, b) {
    if (!a || !b) return !a && !b;
    return a.reason === b.reason && a.place.name === b.place.name && areSame(a.value, b.value);
}

// Returns a number that is held as JSON.
function numeric(value) { return Number(value?.$real ?? value?.$integer ?? value); }

function heading(name, ...about) {
    return h("header", h("h2", { tabindex: "-1" }, name),
        h("p.about", about.filter(Boolean).flatMap((part) => [part, " "])));
}
