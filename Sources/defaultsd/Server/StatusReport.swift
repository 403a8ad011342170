import DefaultsCore
import DirectoryWatcher
import Manifests
import NIOCore
import PropertyList

/// The agent's part of the output of `defaults status`.
enum StatusReport {
    /// Returns the report's fields; called on the server's event loop.
    static func fields(of server: Server) -> DomainValues {
        let store = server.store
        let watch = server.engine.assumeIsolated { $0.events.status }
        let cursor = store.cursor
        return store.system.fields.merging([
            "pid": .integer(Int64(AppIdentity.current.pid)),
            "version": .string(Version.current),
            "executable": .string(AppIdentity.current.executable),
            "protocol": .integer(Request.protocolVersions.upperBound),
            "uptime": .real((ContinuousClock.now - server.started) / .seconds(1)),
            "directory": .string(server.directory.path),
            "socket": .string(server.address.socketPath),
            "watch": .dictionary([
                "mode": .string(watch.mode.description),
                "kind": .string(watch.mode.names.kind),
                "reason": .string(watch.mode.names.reason),
                "companions": .dictionary(watch.companions.mapValues { .string($0.description) }),
                "watches": .integer(Int64(watch.watches)),
                "overflows": .integer(Int64(watch.overflows)),
                "rescans": .integer(Int64(watch.rescans)),
                "rearms": .integer(Int64(watch.rearms)),
                "undecodableNames": .integer(Int64(watch.undecodableNames)),
            ]),
            "domains": .integer(Int64(store.domains().count)),
            "cursor": .string(cursor.description),
            "revision": .number(cursor.revision),
            "connections": .integer(Int64(server.connections.value.count)),
            "subscribers": .array(server.connections.value.values.flatMap { subscribers($0, in: store) }),
            "pending": .array(
                store.pending().map { domain, edits in
                    .dictionary(domain.fields.merging(["edits": .integer(Int64(edits))]) { $1 })
                }),
            "forced": .array(
                store.snapshots(of: .managed).filter { !$0.values.isEmpty }.map { snapshot in
                    let keys = snapshot.values.keys.sorted().map { PropertyListValue.string($0) }
                    return .dictionary(snapshot.domain.fields.merging(["keys": .array(keys)]) { $1 })
                }),
            "violations": .array(violations(in: store)),
            "history": .array(
                (store.journal?.files ?? []).map { file in
                    ["path": .string(file.path), "bytes": .integer(Int64(file.bytes))]
                }),
            "errors": .array(errors(of: store, server.engine.assumeIsolated { $0.restartProblem })),
        ]) { $1 }
    }

    /// The maximum number of violations in a report.
    private static let maximumViolations = 200

    private static func violations(in store: Store) -> [PropertyListValue] {
        var violations: [PropertyListValue] = []
        for (domain, broken) in store.violations() {
            violations += broken.map { .dictionary(domain.fields.merging($0.fields) { $1 }) }
        }
        return Array(violations.prefix(maximumViolations))
    }

    private static func errors(of store: Store, _ restartProblem: DefaultsError?) -> [PropertyListValue] {
        let own = [
            store.directory.problem, store.directory.exposure, store.journal?.problem, store.journal?.archiveProblem,
            restartProblem,
        ].compactMap(\.self)
        let ofDirectories = (own + store.system.problems).map {
            $0.fields
        }
        let ofDomains = store.failures().map { domain, error in
            domain.fields.merging(error.fields) { $1 }
        }
        return (ofDirectories + ofDomains).map { .dictionary($0) }
    }

    private static func subscribers(_ connection: ConnectionHandler, in store: Store) -> [PropertyListValue] {
        connection.subscriptions.sorted { $0.key < $1.key }.map { _, subscription in
            var fields: DomainValues = [
                "pid": .integer(Int64(connection.app.pid)),
                "executable": .string(connection.app.executable),
                "mode": .string(subscription.mode.rawValue),
                "domains": .array(subscription.filter.domains.map { .string($0.text) }),
                "keys": .array(subscription.filter.keys.map { .string($0.text) }),
                "lag": .number(store.lag(of: subscription)),
            ]
            fields["version"] = connection.clientVersion.map { .string($0) }
            return .dictionary(fields)
        }
    }
}
