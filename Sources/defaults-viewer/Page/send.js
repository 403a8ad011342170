// Edits, as they are sent to the agent.

import { notify } from "./dom.js";
import { revision } from "./model.js";
import { ask } from "./server.js";
import { areSame, packed, typeOf, unpacked } from "./values.js";

// Sends an edit that applies only if the keys have the values that were shown; throws if another program has changed
// them.
export async function send(domain, { set = {}, remove = [], expected = {}, absent = [] }) {
    const request = { type: "edit", domain: domain.name, host: domain.host, set: packed(set), remove };
    try {
        return await ask({ ...request, expected: packed(expected), absent });
    } catch (error) {
        if (error.code !== "changed") throw error;
        // In JSON, a real of 32 bits looks like one of 64, which is another value. If everything looks as it was shown,
        // no program has changed it.
        const others = Object.fromEntries(Object.entries(expected).filter(([, value]) => !hasReal(value)));
        if (Object.keys(others).length === Object.keys(expected).length) throw error;
        const [now] = await valuesNow(domain, [...Object.keys(expected), ...absent]);
        const isSame = Object.keys(expected).every((key) => areSame(now.get(key), expected[key]));
        if (!isSame || absent.some((key) => now.has(key))) throw error;
        return ask({ ...request, expected: packed(others), absent });
    }
}

// Returns whether a value is or contains a real.
function hasReal(value) {
    const type = typeOf(value);
    return type === "real" || /array|dictionary/.test(type) && Object.values(value).some(hasReal);
}

// Returns the current values of keys, and the number of the last change.
export async function valuesNow(domain, keys) {
    const { values, cursor } = await ask({ type: "read", domain: domain.name, host: domain.host, keys });
    return [new Map(unpacked(values)), revision(cursor)];
}

// Does something, and shows its outcome or why it failed; returns whether it was done.
export async function attempt(action, success, ...buttons) {
    try {
        const outcome = await action();
        notify(success ?? outcome, ...buttons);
        return true;
    } catch (error) {
        notify(error.code === "changed"
            ? "Another program has changed this meanwhile, so nothing was done. Look at it again." : error.message);
        return false;
    }
}
