// A selected domain: its keys, its settings, and what can be done with all of it.

import { button, confirm, h, heading, redraw, scroll, table } from "./dom.js";
import { groups, isSecret, shown, titleOf } from "./manifests.js";
import { saveProfile } from "./profiles.js";
import { address, link, pattern } from "./records.js";
import { attempt, send } from "./send.js";
import { addressOf, inEffect, isEditable, label, place, replacement, sortedKeys, store } from "./store.js";
import { areSame, text, unpacked, visible } from "./values.js";

// The number of keys that are listed.
const listLimit = 500;

// Draws domains into an element. `newKey` returns a form for a new key of one.
export function domainPart(side, newKey) {
    function draw(domain) {
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
            isEditable(domain) ? button("Remove all keys…", () => removeAll(domain.id), { class: "removal" }) : null));
        side.replaceChildren(...parts);
        refresh(domain);
    }

    // Shows anew what may have changed.
    function refresh(domain) {
        const count = domain.values.size;
        redraw(side.querySelector(".facts"), ...damage(domain),
            h("p", `${count} ${count === 1 ? "key" : "keys"}. `,
                domain.user ? "Only an administrator can change them." : ""),
            h("ul.keys", sortedKeys(domain).slice(0, listLimit).map((key) =>
                h("li", link(addressOf(domain), key), " ",
                    h("code", shown(domain.name, key, inEffect(domain, key), 60)), " ",
                    h("span.place", replacement(domain, key)?.reason ?? "")))),
            count > listLimit ? h("p", `The first ${listLimit} are shown. Search for the others.`) : "");
        const removal = side.querySelector(".removal");
        if (removal) removal.hidden = count === 0;
        drawSettings(domain);
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

    return { draw, refresh };
}

// Returns what is said about a domain whose file is damaged.
export function damage(domain) {
    return domain.damage ? [h("p.problem", `The file can't be used: ${domain.damage}`),
        h("p", "These are its last good values. Saving replaces the file, and keeps a copy beside it.")] : [];
}
