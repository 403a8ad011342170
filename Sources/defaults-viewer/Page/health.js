// The view of the agent's health, and of how much changes.

import { button, h, table, time } from "./dom.js";
import { ask, run } from "./model.js";
import { bars, line } from "./plots.js";
import { program, recent } from "./records.js";
import { store } from "./store.js";

const minutes = 60;
// The number of change sets that are read at once.
const limit = 20000;

export function health() {
    let records = [];
    let timer = null;
    let problem = "";
    const status = h("div", {});
    const findings = h("div", {});
    const plots = h("div", {});
    const view = h("section", { class: "page", "aria-label": "Health" }, h("h2", {}, "Agent"), status,
        h("h2", {}, "Findings"), h("p", { class: "buttons" }, button("Examine again", examine)), findings,
        h("h2", {}, "Changes in the last hour"), plots);

    async function readStatus() {
        try {
            const { status: now } = await ask({ type: "status" });
            const rows = [["Directory", now.directory], ["Agent", `version ${now.version}, process ${now.pid}`],
                ["Running since", time((Date.now() - Number(now.uptime.$real ?? now.uptime) * 1000) * 1e6)],
                    ["Domains", `${now.domains}`],
                ["Clients", `${now.connections}`], ["Watches", now.watch?.mode ?? ""],
                    ["History", now.history?.map((file) =>
                    `${file.path} (${file.bytes.toLocaleString()} bytes)`).join(", ") ?? ""],
                ["Unsaved", now.pending?.length
                    ? now.pending.map((domain) => typeof domain === "string" ? domain : domain.domain).join(", ")
                    : "nothing"]];
            status.replaceChildren(h("dl", {},
                rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
                ...(now.errors ?? []).map((error) => h("p", { class: "problem" }, error.message)));
        } catch (error) {
            status.replaceChildren(h("p", { class: "problem" }, error.message));
        }
    }

    async function examine() {
        findings.replaceChildren(h("p", { role: "status" }, "Examining…"));
        try {
            const { output, errors } = await run({ verb: "doctor" });
            if (!output) throw new Error(errors);
            const all = JSON.parse(output).findings;
            findings.replaceChildren(all.length
                ? h("ul", { class: "findings" }, all.map((finding) => h("li", { class: finding.severity },
                h("strong", {}, finding.severity), " ", finding.message, " ",
                    h("span", { class: "remedy" }, finding.remedy)))) : h("p", {}, "Nothing needs attention."));
        } catch (error) {
            findings.replaceChildren(h("p", { class: "problem" }, error.message));
        }
    }

    async function readRecords() {
        problem = "";
        try {
            records = (await recent({ count: limit, since: `${minutes}m` })).reverse();
            if (records.length === limit) problem = `Only the last ${limit.toLocaleString()} change sets are counted.`;
        } catch (error) { problem = error.message; }
        draw();
    }

    function draw() {
        const now = Date.now();
        records = records.filter((record) => record.time / 1e6 >= now - minutes * 60000);
        const buckets = Array.from({ length: minutes },
            (_, index) => ({ time: now - (minutes - 1 - index) * 60000, count: 0 }));
        const byDomain = new Map();
        const byProgram = new Map();
        for (const record of records) {
            const age = Math.floor((now - record.time / 1e6) / 60000);
            if (buckets[minutes - 1 - age]) buckets[minutes - 1 - age].count += 1;
            if (record.domain) byDomain.set(record.domain, (byDomain.get(record.domain) ?? 0) + 1);
            byProgram.set(program(record), (byProgram.get(program(record)) ?? 0) + 1);
        }
        const delays = store.feed.filter((event) => event.type === "change").slice(-100)
            .map((event) => ({ x: event.arrived,
                y: Math.max(0, Math.round((event.arrived - event.time / 1e6) * 10) / 10) }));
        plots.replaceChildren(
            ...(problem ? [h("p", { class: "note" }, problem)] : []),
            bars({ title: "Change sets a minute", unit: "change sets", buckets }),
            h("div", { class: "columns" }, ranking("By domain", byDomain, records.length),
                ranking("By program", byProgram, records.length)),
            delays.length > 1 ? line({ title: "Time from the agent to this page", unit: "ms", points: delays })
                : h("p", {}, "The time from the agent to this page is shown when something has changed."));
    }

    function ranking(title, counts, total) {
        const first = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 10);
        const share = (name, count) => h("meter", { min: 0, max: total, value: count, "aria-label": `${name}: share` });
        const rows = first.map(([name, count]) =>
            [name, h("span", {}, share(name, count), ` ${count.toLocaleString()}`)]);
        return table(["Name", "Change sets"], rows, title);
    }

    return {
        view,
        show() {
            readStatus();
            examine();
            readRecords();
        },
        update(update) {
            if (!view.isConnected) return;
            records.push(...update.events.filter((event) => event.time));
            if (records.length > limit) records.splice(0, records.length - limit);
            timer ??= setTimeout(() => { timer = null; if (view.isConnected) draw(); }, 1000);
        },
    };
}
