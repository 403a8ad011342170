// The view of the agent's health, and of how much changes.

import { button, h, table, time } from "./dom.js";
import { bars } from "./plots.js";
import { program, recent } from "./records.js";
import { ask, now as currentTime, run } from "./server.js";
import { shortPath, store } from "./store.js";

const minutes = 60;
// The number of change sets that are read at once.
const limit = 20000;

export function health() {
    let records = [];
    let timer = null;
    let problem = "";
    // The announcement of the agent that was asked last.
    let agent;
    const status = h("div");
    const findings = h("div");
    const fleet = h("div");
    const plots = h("div");
    const view = h("section.page", { "aria-label": "Health" }, h("h2", "Agent"), status,
        h("h2", "Findings"), h("p.buttons", button("Check again", examine)), findings, fleet,
        h("h2", "Changes in the last hour"), plots);

    // Shows what a function finds, or why it can't.
    async function fill(place, find) {
        try { place.replaceChildren(...await find()); } catch (error) {
            place.replaceChildren(h("p.problem", error.message));
        }
    }

    function readStatus() {
        return fill(status, async () => {
            const { status: now } = await ask({ type: "status" });
            const start = currentTime() - Number(now.uptime.$real ?? now.uptime) * 1000;
            const files = (now.history ?? []).map((file) =>
                `${shortPath(file.path)} (${file.bytes.toLocaleString()} bytes)`);
            const rows = { Directory: shortPath(now.directory), Agent: `version ${now.version}, process ${now.pid}`,
                "Running since": time(start * 1e6), Domains: now.domains, Clients: now.connections,
                Watches: now.watch?.mode ?? "", History: files.join(", "),
                Unsaved: now.pending?.map((domain) => domain.domain ?? domain).join(", ") || "nothing" };
            return [h("dl", Object.entries(rows).flatMap(([name, value]) => [h("dt", name), h("dd", value)])),
                ...(now.errors ?? []).map((error) => h("p.problem", error.message))];
        });
    }

    function examine() {
        findings.replaceChildren(h("p", { role: "status" }, "Checking…"));
        fill(findings, async () => {
            const { output, errors } = await run({ verb: "doctor" });
            if (!output) throw new Error(errors);
            const all = JSON.parse(output).findings.map(({ severity, message, remedy }) => h("li",
                h(`strong.${severity}`, severity), ` ${message} `, h("span.remedy", remedy)));
            return [all.length ? h("ul.findings", all) : h("p", "Nothing needs attention.")];
        });
    }

    // Shows the machines of the fleet, and the keys held back; nothing if this machine is in none.
    async function readFleet() {
        const { status: code, output } = await run({ verb: "fleet" }).catch(() => ({}));
        if (code !== 0) return fleet.replaceChildren();
        const { name, folder, travelling, waiting, machines, held } = JSON.parse(output);
        const rows = { "This machine": name, Folder: folder, "Keys that travel": travelling,
            "Values to be set": waiting };
        fleet.replaceChildren(h("h2", "Fleet"),
            h("dl", Object.entries(rows).flatMap(([title, value]) => [h("dt", title), h("dd", value)])),
            table(["Machine", "Newest edit", "Files not read yet"], machines.map((machine) => [
                machine.name ?? machine.machine, machine.newest ? time(machine.newest * 1e9) : "none",
                machine.unread]), "Other machines"),
            ...(held.length ? [table(["Domain", "Key", "Reason"],
                held.map(({ domain, key, reason }) => [domain, key, reason]), "Held back")] : []));
    }

    async function readRecords() {
        problem = "";
        try {
            records = (await recent({ count: limit, since: `${minutes}m` })).reverse();
            if (records.hasMore) problem = `Only the last ${records.length.toLocaleString()} change sets are counted.`;
        } catch (error) { problem = error.message; }
        draw();
    }

    function draw() {
        const now = currentTime();
        records = records.filter((record) => record.time / 1e6 >= now - minutes * 60000);
        const buckets = Array.from({ length: minutes },
            (_, index) => ({ time: now - (minutes - 1 - index) * 60000, count: 0 }));
        const [domains, programs] = [new Map(), new Map()];
        const count = (map, name) => map.set(name, (map.get(name) ?? 0) + 1);
        for (const record of records) {
            // A change may be newer than the time of the last answer.
            const age = Math.max(0, Math.floor((now - record.time / 1e6) / 60000));
            const bucket = buckets[minutes - 1 - age];
            if (bucket) bucket.count += 1;
            if (record.domain) count(domains, record.domain);
            count(programs, program(record));
        }
        plots.replaceChildren(
            ...(problem ? [h("p.note", problem)] : []),
            bars({ title: "Change sets a minute", unit: "change sets", buckets, place: plots }),
            h("div.columns", ranking("By domain", domains), ranking("By program", programs)));
    }

    function ranking(title, counts) {
        const first = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 10);
        const max = records.length;
        return table(["Name", "Change sets"], first.map(([name, value]) => [name, h("span",
            h("meter", { min: 0, max, value, "aria-label": `${name}: share` }), ` ${value.toLocaleString()}`)]), title);
    }

    function show() {
        agent = store.info.agent;
        readStatus();
        examine();
        readFleet();
        readRecords();
    }

    setInterval(() => { if (view.isConnected && !document.hidden) { readStatus(); readFleet(); } }, 10000);
    return {
        view, show,
        update(update) {
            if (!view.isConnected) return;
            if (agent !== store.info.agent) show();
            records.push(...update.events.filter((event) => event.time));
            if (records.length > limit) records.splice(0, records.length - limit);
            timer ??= setTimeout(() => { timer = null; if (view.isConnected) draw(); }, 1000);
        },
    };
}
