// The values of all domains, kept up to date from the server's stream of events.

import { ask, ended, giveUp, parse, prove, whenOver } from "./server.js";
import { unpacked } from "./values.js";

// Returns what tells domains apart: the name, the host and the user, each of which may be missing.
export function identity(message) { return JSON.stringify([message.domain, message.host ?? "", message.user ?? ""]); }

// Creates the page's or the worker's form of a domain from an event with all its values.
function domainOf(message) {
    return {
        id: identity(message), name: message.domain, host: message.host, user: message.user, damage: message.damage,
        values: new Map(unpacked(message.values)),
    };
}

// Applies a change to a map of domains, and returns its domain.
export function apply(domains, message) {
    const id = identity(message);
    let domain = domains.get(id);
    if (!domain) domains.set(id, domain = domainOf({ ...message, values: {} }));
    for (const change of message.changes ?? []) {
        if ("new" in change) domain.values.set(change.key, change.new);
        else domain.values.delete(change.key);
    }
    if (message.type === "damaged") domain.damage = message.reason;
    if (message.type === "recovered") domain.damage = undefined;
    return domain;
}

export const revision = (cursor) => Number(cursor.split(":")[1]);

// Follows the stream, and passes on what happens in small batches: `clear` (there are no domains now), `domain` (one,
// with all its values), `event` (a change set or another event), `info`, `state`, and `proof` (the viewer's number while
// the stream comes from it, or null).
export class Model {
    constructor(send) {
        this.send = send;
        this.domains = new Map();
        this.state = { name: "reading" };
        this.info = {};
        this.cursor = null;
        this.batch = [];
        // The revision of each domain's last event, and the one up to which its values are known from reading it again.
        this.last = new Map();
        this.known = new Map();
        // The number of the viewer that answered first, which is the only one to be trusted.
        this.number = null;
        this.proof = null;
        whenOver((reason) => this.end(reason));
        this.start();
    }

    // Everything that a page must know to begin.
    get all() {
        const { info, state, proof } = this;
        return { kind: "all", domains: [...this.domains.values()], info, state, proof };
    }

    start() {
        if (this.state.isOver) return;
        const after = this.cursor ? `?after=${this.cursor}` : "";
        const source = new EventSource(`events${after}`);
        this.source = source;
        const read = (event) => parse(event.data);
        source.addEventListener("begin", (event) => {
            const { number, ...info } = read(event);
            this.number ??= number;
            // Another program that has taken the port doesn't know it.
            if (!number || number !== this.number) return this.end(ended);
            this.setProof(number);
            this.inform(info);
        });
        const listen = (name, receive) => source.addEventListener(name, (event) => {
            if (!this.proof) return this.end(ended);
            receive(read(event));
            if (event.lastEventId) this.cursor = event.lastEventId;
        });
        listen("welcome", (agent) => this.inform({ agent }));
        listen("problem", ({ message }) => { this.problem = message; });
        listen("message", (message) => this.receive(message));
        source.addEventListener("error", () => {
            this.setProof(null);
            this.setState({ name: "lost", reason: this.problem });
            this.problem = undefined;
            if (source.readyState !== EventSource.CLOSED) return;
            // The browser tries no more, as after an answer that isn't a stream.
            setTimeout(() => this.start(), 2000);
        });
    }

    // Ends for good, and says why. Another program may serve pages on this port now, which must find nothing here.
    end(reason) {
        this.source.close();
        this.setState({ name: "lost", reason, isOver: true });
        this.proof = null;
        giveUp(reason);
        this.domains.clear();
    }

    setProof(number) {
        if (number === this.proof) return;
        this.proof = number;
        prove(number);
        this.post({ kind: "proof", proof: number });
    }

    inform(info) {
        Object.assign(this.info, info);
        this.post({ kind: "info", info: this.info });
    }

    setState(state) {
        if (this.state.isOver || state.name === this.state.name && state.reason === this.state.reason) return;
        this.state = state;
        this.post({ kind: "state", state });
    }

    receive(message) {
        switch (message.type) {
            case "initial": {
                const domain = domainOf(message);
                this.domains.set(domain.id, domain);
                this.post({ kind: "domain", domain });
                break;
            }
            case "gap":
                // All domains follow.
                this.domains.clear();
                this.last.clear();
                this.known.clear();
                this.setState({ name: "reading" });
                this.post({ kind: "clear" });
                this.post({ kind: "event", message });
                break;
            case "bookmark": this.setState({ name: "live" }); break;
            default:
                if (!message.domain) break;
                this.last.set(identity(message), message.revision);
                this.setState({ name: "live" });
                // Values that were read again have the change already.
                message.isApplied = message.revision <= (this.known.get(identity(message)) ?? 0);
                if (!message.isApplied) apply(this.domains, message);
                this.post({ kind: "event", message });
                if (message.type === "unknown") this.reread(message);
        }
    }

    // Reads a domain again, of which keys have changed that the event doesn't name.
    async reread({ domain, host, user }) {
        try {
            const answer = await ask({ type: "read", domain, host, user });
            const found = domainOf({ ...answer, host, user });
            // If a later change has arrived already, these values are too old.
            if ((this.last.get(found.id) ?? 0) > revision(answer.cursor)) return this.reread({ domain, host, user });
            this.known.set(found.id, revision(answer.cursor));
            this.domains.set(found.id, found);
            this.post({ kind: "domain", domain: found });
        } catch {
            // The agent or the viewer is just being started again.
            if (!this.state.isOver) setTimeout(() => this.reread({ domain, host, user }), 1000);
        }
    }

    post(message) {
        this.batch.push(message);
        if (this.batch.length === 1) setTimeout(() => this.flush(), 15);
    }

    flush() {
        const batch = this.batch;
        this.batch = [];
        this.send(batch);
    }
}
