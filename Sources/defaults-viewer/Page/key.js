// A selected key: its editor, where its value comes from, and what can be done with it.

import { beginning } from "./difference.js";
import { button, confirm, h, heading, input, notify, redraw, scroll, table } from "./dom.js";
import { damage } from "./domain.js";
import { editor } from "./edit.js";
import { described, isSecret, scopeNote, shown } from "./manifests.js";
import { link } from "./records.js";
import { attempt, send } from "./send.js";
import { parse, run } from "./server.js";
import { addressOf, isEditable, isForced, place, replacement, shortPath } from "./store.js";
import { areSame, command, editable, json, python, swift, typeName, typeOf, visible } from "./values.js";

// Draws keys into an element. `page` has functions: `editorOf` returns the editor that was left, or makes one, `goTo`
// shows another key, `refresh` and `redraw` show this one again, and `watch` returns a function that tells whether it
// is still shown.
export function keyPart(side, page) {
    // The editor of the key.
    let edited = null;
    let hadValue = false;
    // The value that was shown as forced, with its place.
    let drawnLock = null;
    // The value that was shown as the one in effect.
    let drawnEffect;

    function draw(domain, key) {
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
            const made = page.editorOf(name, () => editor(domain, hadValue ? { key, value, done: page.refresh }
                : { name: () => key, done: () => setTimeout(() => { if (edited === made) page.redraw(); }) }));
            edited = made;
            parts.push(edited.form);
        } else if (hadValue) {
            const isSecretHere = isSecret(domain.name, key);
            parts.push(h("p", typeName(typeOf(value))),
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
        refresh(domain, key);
    }

    // Looks up what may have changed; what is being typed stays.
    function refresh(domain, key) {
        redraw(side.querySelector(".facts"), ...damage(domain));
        drawLayers(domain, key);
        drawViolations(domain, key);
    }

    // Shows a value that has changed; returns false if everything must be drawn anew for it.
    function update(domain, key) {
        const value = domain.values.get(key);
        const lock = isForced(domain, key) ? replacement(domain, key) : null;
        if (!isSameEffect(lock, drawnLock) && !edited?.isDirty) return false;
        drawEffect(domain, key);
        if ((value !== undefined) !== hadValue && isEditable(domain) && !lock && !edited?.isDirty) return false;
        edited?.update(value);
        return true;
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
        const marks = [about.rule, about.required && "required", scopeNote(about)].filter(Boolean);
        return [...[about.description, about.reference, about.note].filter(Boolean).map((text) =>
            h("p.description", text)), h("p.rule", marks.join("; ")), h("div.violations")];
    }

    // Shows what a value breaks in the manifest.
    async function drawViolations(domain, key) {
        const isShown = page.watch();
        const place = side.querySelector(".violations");
        if (!place) return;
        const { output } = await run({ verb: "describe", domain: domain.name, host: domain.host, key })
            .catch(() => ({ output: "" }));
        if (!isShown()) return;
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
        if (await attempt(() => send(domain, edit), "Renamed.")) page.goTo(domain, name);
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

    async function drawLayers(domain, key) {
        const isShown = page.watch();
        const place = side.querySelector(".layers");
        try {
            const { name, host } = domain;
            const { status, output, errors } = await run({ verb: "explain", domain: name, host, key });
            if (!isShown()) return;
            // Without the key in any layer, the status is 1.
            if (status === 1) return place.replaceChildren();
            if (status !== 0) throw new Error(errors);
            const rows = parse(output, true).layers.map((layer) => [
                layer.wins ? h("strong", `${layer.layer} (in effect)`) : layer.layer,
                h("code", shown(domain.name, key, layer.value, 120)),
                h("span.file", { title: layer.file },
                    `${shortPath(layer.file)}${layer.format ? ` (${layer.format})` : ""}`),
            ]);
            const standard = parse(output, true).default;
            if (standard !== undefined) rows.push(["default", h("code", shown(domain.name, key, standard, 120)),
                "in the manifest"]);
            redraw(place, h("h3", "Where the value comes from"),
                scroll("Layers", table(["Layer", "Value", "File"], rows)));
        } catch (error) {
            if (isShown() && !error.isLost) place.replaceChildren(h("p.problem", error.message));
        }
    }

    return { draw, refresh, update, clear() { edited = null; }, get edited() { return edited; } };
}

// Returns whether two values in effect are the same, and come from the same place. Either may be missing.
function isSameEffect(a, b) {
    if (!a || !b) return !a && !b;
    return a.reason === b.reason && a.place.name === b.place.name && areSame(a.value, b.value);
}
