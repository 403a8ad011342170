// Profiles: files for `defaults apply`.

import { confirm, h } from "./dom.js";
import { isSecret } from "./manifests.js";
import { run } from "./server.js";
import { store } from "./store.js";
import { bytes } from "./values.js";

// Saves a text or bytes as a file in the browser's downloads.
export function save(name, contents, type = "application/octet-stream") {
    const address = URL.createObjectURL(new Blob([contents], { type }));
    h("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
}

// Returns the number of secrets that a domain has.
function secretsOf(name) {
    const keys = [...store.domains.values()].filter((domain) => domain.name === name && !domain.user)
        .flatMap((domain) => [...domain.values.keys()]);
    return new Set(keys.filter((key) => isSecret(name, key))).size;
}

// Saves the values of a domain, or its changes between two times, as a profile; returns any errors.
export async function saveProfile({ domain, since = "", until = "" }) {
    const count = secretsOf(domain);
    let choice = 1;
    if (count) {
        choice = await confirm(`Save ${domain} as a profile`,
            h("p", `This domain has ${count} ${count === 1 ? "secret" : "secrets"}, which others could read in the `
                + "file."),
            "Leave out secrets", "Save secrets, too");
        if (!choice) return "";
    }
    const { status, output, errors } = await run({ verb: "record", domain, since, until, secrets: choice === 2 });
    if (status !== 0) return errors;
    save(`${domain}.plist`, typeof output === "string" ? output : bytes(output), "application/x-plist");
    return errors;
}
