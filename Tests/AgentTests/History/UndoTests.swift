import DefaultsClient
import DefaultsCore
import Foundation
import ProgramSupport
import PropertyList
import TestSupport
import Testing

@Suite("Undo, redo and past values, as people type them")
struct UndoTests {
    private func write(_ agent: AgentProcess, _ arguments: String...) throws {
        let outcome = try agent.run(["write"] + arguments)
        #expect(outcome.status == 0, "\(outcome.errors)")
    }

    @Test("Change sets that can't be undone or redone are named, with the reason")
    func refusals() throws {
        try AgentProcess.withAgent { agent in
            for value in ["1", "2"] { try write(agent, "org.a", "key", value) }
            #expect(try agent.defaults("undo", "2").status == 0)
            let cases: [([String], String)] = [
                (["undo", "2"], "Number 2 has already been undone, by number 3."),
                (["redo", "1"], "Number 1 isn't an undo, so it can't be redone."),
                (["undo", "9"], "There is no change 9 yet; the last one is 3."),
                (["log", "--since", "9"], "There is no change 9 yet; the last one is 3."),
                (["read", "org.a", "--at", "9"], "There is no change 9 yet; the last one is 3."),
                (
                    ["read", "org.none", "--at", "1m"],
                    "The domain org.none does not exist, and the history has no change to it."
                ),
                (["redo", "--last", "1", "org.none"], "There is nothing to redo."),
            ]
            for (arguments, message) in cases {
                let outcome = try agent.run(arguments)
                #expect(outcome.status == 1 && outcome.errors.hasPrefix("defaults: \(message)"), "\(outcome.errors)")
            }
            #expect(try agent.defaults("undo", "2", "--since", "1h").status == 64)
            let none = try agent.defaults("log", "org.none")
            #expect(none.status == 0 && none.errors == "defaults: The history has no such changes.\n")
            let unknown = try agent.defaults("diff", "org.none", "--since", "1")
            #expect(unknown.status == 66 && unknown.errors.contains("org.none does not exist, and has no history."))
            #expect(try agent.defaults("redo", "3").status == 0)
            let again = try agent.defaults("redo", "3")
            #expect(again.errors == "defaults: Number 3 has already been redone, by number 4.\n")
            #expect(try agent.defaults("undo", "2").status == 0, "A change that was redone can be undone again.")
            #expect(try agent.defaults("read", "org.a", "key").output == "1\n")
        }
    }

    @Test("The agent's own settings are undone only if their domain or the change is named")
    func settings() throws {
        try AgentProcess.withAgent { agent in
            let settings = "org.defaultsd.agent"
            for value in ["1", "2"] { try write(agent, "org.a", "key", value) }
            try write(agent, settings, "HistoryExcludes", "-array", "-string", "*/password")
            let undo = try agent.defaults("undo")
            #expect(undo.output == "org.a key  \"2\" → \"1\"\n" && undo.errors.contains("settings were left alone"))
            #expect(try agent.defaults("undo", "--since", "1h").status == 0)
            #expect(try agent.defaults("read", "org.a", "key").status == 1)
            #expect(try agent.defaults("read", settings, "HistoryExcludes").output.contains("password"))
            for arguments in [["undo", settings], ["redo"], ["undo", "3"]] {
                let outcome = try agent.run(arguments)
                #expect(outcome.status == 0 && outcome.output.contains("HistoryExcludes"), "\(outcome)")
            }
        }
    }

    @Test("A change with a later one isn't undone, even if its value is in effect again")
    func overtaken() throws {
        try AgentProcess.withAgent { agent in
            for value in ["A", "B", "C", "B"] { try write(agent, "org.a", "key", value) }
            let outcome = try agent.defaults("undo", "2")
            #expect(outcome.status == 1 && outcome.errors.contains("org.a key was changed later"), "\(outcome)")
            #expect(try agent.defaults("read", "org.a", "key").output == "B\n")
            #expect(try agent.defaults("undo", "4").output == "org.a key  \"B\" → \"C\"\n")
            #expect(try agent.defaults("undo", "2").status == 1)
            #expect(try agent.defaults("undo", "3").output == "org.a key  \"C\" → \"B\"\n")
            #expect(try agent.defaults("undo", "2").output == "org.a key  \"B\" → \"A\"\n")
            // Those were changes 5 to 7.
            let redo = try agent.defaults("redo", "5")
            #expect(redo.status == 1 && redo.errors.contains("org.a key was changed later"), "\(redo)")
            #expect(try agent.defaults("redo", "--last", "3").status == 0)
            #expect(try agent.defaults("read", "org.a", "key").output == "B\n")
            #expect(try agent.defaults("undo", "--since", "1").status == 0)
            #expect(try agent.defaults("read", "org.a", "key").output == "A\n")
            // The later changes may have restored the former value.
            for value in ["B", "C", "A"] { try write(agent, "org.b", "key", value) }
            try write(agent, "org.b", "key", "B")
            let number = try agent.connect().welcome.cursor.revision
            try write(agent, "org.b", "key", "A")
            let restored = try agent.defaults("undo", "\(number)")
            #expect(restored.status == 1 && restored.errors.contains("org.b key was changed later"), "\(restored)")
        }
    }

    @Test("An undo of several change sets is one edit for each domain, with the net result, and one redo reverses it")
    func several() throws {
        try AgentProcess.withAgent { agent in
            for value in ["1", "2"] { try write(agent, "org.a", "key", value) }
            for value in ["x", "y"] { try write(agent, "org.b", "key", value) }
            try write(agent, "org.a", "key", "3")
            let net = "org.a key  \"3\" → \"1\"\norg.b key  \"y\" → (none)\n"
            #expect(try agent.defaults("undo", "--last", "4", "--dry-run").output == net)
            #expect(try agent.defaults("undo", "--last", "4").output == net)
            #expect(try agent.connect().welcome.cursor.revision == 7)
            let log = try agent.defaults("log", "-n", "2").output
            #expect(log.contains("undo of 2 to 5") && log.contains("undo of 3 to 4"), "\(log)")
            let again = try agent.defaults("undo", "4")
            #expect(again.errors == "defaults: Number 4 has already been undone, by number 7.\n")
            let back = "org.b key  (none) → \"y\"\norg.a key  \"1\" → \"3\"\n"
            #expect(try agent.defaults("redo").output == back)
            #expect(try agent.defaults("redo").status == 1)
            #expect(try agent.defaults("undo", "--last", "5").output == net.replacing("\"1\"", with: "(none)"))
        }
    }

    @Test("An undo since some time reverses a redo that was made since then")
    func redone() throws {
        try AgentProcess.withAgent { agent in
            for value in ["1", "2"] { try write(agent, "org.a", "key", value) }
            #expect(try agent.defaults("undo").status == 0)
            #expect(try agent.defaults("redo").status == 0)
            #expect(try agent.defaults("undo", "--since", "3").output == "org.a key  \"2\" → \"1\"\n")
            #expect(try agent.defaults("undo", "2").errors.contains("Number 2 has already been undone, by number 3."))
            #expect(try agent.defaults("redo").output == "org.a key  \"1\" → \"2\"\n")
            #expect(try agent.defaults("undo", "--since", "0").output == "org.a key  \"2\" → (none)\n")
        }
    }

    @Test("An undo since some time also reverses the undos that were made since then")
    func undone() throws {
        try AgentProcess.withAgent { agent in
            for value in ["1", "2"] { try write(agent, "org.a", "key", value) }
            #expect(try agent.defaults("undo").status == 0)
            #expect(try agent.defaults("undo", "--since", "2").output == "org.a key  \"1\" → \"2\"\n")
            #expect(try agent.defaults("redo", "3").errors.contains("Number 3 has already been redone, by number 4."))
            #expect(try agent.defaults("undo").output == "org.a key  \"2\" → \"1\"\n")
            for redo in ["\"1\" → \"2\"", "\"2\" → \"1\"", "\"1\" → \"2\""] {
                #expect(try agent.defaults("redo").output == "org.a key  \(redo)\n")
            }
            #expect(try agent.defaults("redo").status == 1)
        }
    }

    @Test("Changes that cancel each other out are undone, too")
    func canceled() throws {
        try AgentProcess.withAgent { agent in
            let connection = try agent.connect()
            let domain = Domain(try DomainName("org.a"))
            for values in [["key": 1, "other": 1], ["key": 2, "other": 2], ["key": 1], ["other": 3]] as [DomainValues] {
                try connection.edit(domain, with: values.mapValues(Optional.some), replacesAll: false)
            }
            #expect(try agent.defaults("undo", "--last", "3").output == "org.a other  3 → 1\n")
            // Number 2 isn't undone again.
            #expect(try agent.defaults("undo").output == "org.a key  1 → (none)\norg.a other  1 → (none)\n")
            #expect(try agent.defaults("redo", "--last", "2").status == 0)
            #expect(try agent.defaults("undo", "--last", "2").output == "org.a key  1 → 2\norg.a other  3 → 2\n")
            #expect(try agent.defaults("redo").output == "org.a key  2 → 1\norg.a other  2 → 3\n")
            // Alone, they leave nothing to do.
            try write(agent, "org.b", "key", "1")
            for value in ["2", "1"] { try write(agent, "org.b", "key", value) }
            let outcome = try agent.defaults("undo", "--last", "2")
            #expect(outcome.status == 0 && outcome.errors.contains("org.b already has its earlier values."))
        }
    }

    @Test("What another program changes meanwhile stays, even if its value is the same again")
    func meanwhile() throws {
        try AgentProcess.withAgent { agent in
            let (connection, domain) = (try agent.connect(), Domain(try DomainName("org.a")))
            for values in [["a": 1, "b": 1], ["a": 2], ["b": 2]] as [DomainValues] {
                try connection.edit(domain, with: values.mapValues(Optional.some), replacesAll: false)
            }
            var plan = try UndoPlan(connection)
            for _ in 0..<3 { try plan.take(#require(try plan.next())) }
            #expect(plan.outcomes.first?.changes.count == 2)
            for value in [5, 1] as [Int64] {
                try connection.edit(domain, with: ["b": .integer(value)], replacesAll: false)
            }
            let outcome = try plan.commit(domain)
            #expect(outcome.changes == [KeyChange(key: "a", old: 2, new: nil)])
            #expect(outcome.kept.mapValues { $0?.revision } == ["b": 5])
            #expect(try connection.snapshot(of: domain).values == ["b": 1])
        }
    }

    @Test("After a restart, values that XML doesn't hold exactly can be undone")
    func restarted() throws {
        try AgentProcess.withPlace { place in
            let values: DomainValues = [
                "date": .date(PropertyListDate(secondsSinceReferenceDate: 0.25)), "real": .real32(0.1),
            ]
            let first = try AgentProcess(place)
            let domain = Domain(try DomainName("org.a"))
            try first.connect().edit(domain, with: values.mapValues(Optional.some), replacesAll: false)
            try first.synchronize()
            first.terminate()
            let second = try AgentProcess(place)
            defer { second.kill() }
            let outcome = try second.defaults("undo")
            #expect(outcome.status == 0 && outcome.errors == "", "\(outcome)")
            #expect(try second.connect().snapshot(of: domain).values.isEmpty)
        }
    }

    @Test("The global domain, and a domain whose name is a number, can be undone")
    func domains() throws {
        try AgentProcess.withAgent { agent in
            try write(agent, "-g", "key", "1")
            try write(agent, "4711", "key", "2")
            #expect(try agent.defaults("undo", "-g").output == "NSGlobalDomain key  \"1\" → (none)\n")
            #expect(try agent.defaults("undo", "--last", "1", "4711").output == "4711 key  \"2\" → (none)\n")
            #expect(try agent.defaults("log", "-g", "-n", "1").output.contains("undo of 1"))
        }
    }

    @Test("Past values leave out keys that are excluded from the history, and say so")
    func excluded() throws {
        try AgentProcess.withAgent { agent in
            try write(agent, "org.defaultsd.agent", "HistoryExcludes", "-array", "-g/secret", "org.a/pass*")
            try agent.synchronize()
            try write(agent, "org.a", "password", "old")
            try write(agent, "org.a", "user", "ada")
            let connection = try agent.connect()
            let domain = Domain(try DomainName("org.a"))
            try connection.edit(domain, with: ["password": "new", "user": "grace"], replacesAll: false)
            let log = try agent.defaults("log", "org.a", "-n", "1").output
            #expect(log.contains("user  \"ada\" → \"grace\"") && log.contains("keys excluded from the history changed"))
            let past = try agent.defaults("read", "org.a", "--at", "0s")
            #expect(past.output == "{\n    user = grace;\n}\n")
            #expect(past.errors.contains("password is left out: HistoryExcludes or a manifest keeps it"))
            let revision = try #require(log.split(separator: " ").first.flatMap { Int($0) })
            let before = try agent.defaults("read", "org.a", "user", "--at", "\(revision - 1)")
            #expect(before.output == "ada\n")
            try write(agent, "-g", "secret", "hunter2")
            #expect(try !agent.defaults("log", "-g").output.contains("hunter2"))
            // The undo of a change set restores the keys that the history has.
            let undo = try agent.defaults("undo", "org.a")
            #expect(undo.output == "org.a user  \"grace\" → \"ada\"\n")
            let note =
                "defaults: org.a: keys that HistoryExcludes or a manifest keeps out of the history keep their values.\n"
            #expect(undo.errors == note && undo.status == 1)
            #expect(try agent.defaults("read", "org.a", "password").output == "new\n")
            // A change that isn't in the history at all is passed over, but not silently.
            try write(agent, "org.a", "password", "newer")
            let older = try agent.defaults("undo", "org.a")
            #expect(older.output == "org.a user  \"ada\" → (none)\n" && older.errors == note && older.status == 1)
            let number = try agent.connect().welcome.cursor.revision - 1
            let named = try agent.defaults("undo", "\(number)")
            #expect(named.errors.contains("Number \(number) changed only keys that HistoryExcludes or a manifest"))
        }
    }

    @Test("A part of the history that can't be read is reported, and doesn't keep newer changes from being undone")
    func unreadable() throws {
        try withShortLog { agent, archive in
            for value in 1...40 { try write(agent, "org.a", "key", "\(value)") }
            let isThere = try eventually {
                try write(agent, "org.a", "other", "\(Int.random(in: 0..<1_000))")
                return RawFile.exists(archive)
            }
            #expect(isThere)
            let whole = try agent.defaults("log", "org.a", "key").output
            #expect(whole.contains("(none) → \"1\""))
            // The archive leads elsewhere, as it may in a container.
            try FileManager.default.moveItem(atPath: archive, toPath: archive + ".moved")
            try FileManager.default.createSymbolicLink(atPath: archive, withDestinationPath: archive + ".moved")
            let log = try agent.defaults("log", "org.a", "key")
            #expect(log.status != 0 && log.errors.contains("The older part of the history, \(archive)"))
            #expect(whole.hasPrefix(log.output), "What can be read is shown.")
            let undo = try agent.defaults("undo", "--since", "1d", "org.a", "key")
            #expect(undo.errors.contains("The older part of the history"), "\(undo.errors)")
            #expect(undo.output.hasPrefix("org.a key  \"40\" → "), "\(undo.output)")
            let past = try agent.defaults("read", "org.a", "--at", "1d")
            #expect(past.errors.contains("These are the oldest known values."), "\(past.errors)")
        }
    }

    /// Calls a closure with an agent that soon moves changes to the archive, and the archive's path.
    private func withShortLog(
        _ settings: DomainValues = [:], _ body: (_ agent: AgentProcess, _ archive: String) throws -> Void
    ) throws {
        try AgentProcess.withPlace { place in
            let settings = settings.merging(["LogRecords": 4, "LogBytes": 1_024]) { $1 }
            try RawFile.replace(
                place.path("org.defaultsd.agent"), with: try PropertyListValue.dictionary(settings).write(as: .xml))
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            try body(agent, String(try place.log().dropLast(4)) + ".archive")
        }
    }

    @Test("Past values that depend on thinned changes are named, and the others are certain")
    func thinned() throws {
        try withShortLog(["HistoryBytes": 2_048, "HistoryDays": 0, "HistoryChanges": 3]) { agent, archive in
            let (connection, domain) = (try agent.connect(), Domain(try DomainName("org.a")))
            try connection.edit(domain, with: ["rare": 1, "busy": 0], replacesAll: false)
            var number: Int64 = 0
            // The archive is written and thinned after a save, on a thread of its own.
            let isThinned = try eventually {
                number += 1
                try connection.edit(domain, with: ["busy": .integer(number)], replacesAll: false)
                _ = try connection.barrier()
                let file = try HistoryFile(reading: archive)
                return file?.thinned.keys(in: domain, after: 2, among: []) == ["busy"]
            }
            #expect(isThinned)
            try write(agent, "org.a", "rare", "2")
            let past = try agent.defaults("read", "org.a", "--at", "2")
            #expect(past.status == 65 && past.output.contains("rare = 1;"), "\(past)")
            #expect(
                past.errors == "defaults: busy may have had another value then, since not all of its changes are "
                    + "in the history.\n")
            let rare = try agent.defaults("read", "org.a", "rare", "--at", "2")
            #expect(rare.status == 0 && rare.output == "1\n" && rare.errors == "", "\(rare)")
            #expect(try agent.defaults("read", "org.a", "busy", "--at", "2").status == 65)
            let last = try agent.connect().welcome.cursor.revision
            #expect(try agent.defaults("read", "org.a", "--at", "\(last - 1)").status == 0)
            #expect(try agent.defaults("diff", "org.a", "--since", "2").status == 65)
            #expect(try agent.defaults("diff", "org.a", "--since", "\(last - 1)").status == 1)
            let undo = try agent.defaults("undo", "--since", "2", "--dry-run")
            #expect(undo.errors.contains("Not all changes since then are in the history"), "\(undo.errors)")
            #expect(try agent.defaults("undo", "--since", "2", "--dry-run", "org.a", "rare").errors == "")
        }
    }

    @Test(
        "Past values that depend on a lost change are named, and later ones are certain", arguments: [nil, 2, 4, 6])
    func lostChange(number: Int?) throws {
        try AgentProcess.withPlace { place in
            let first = try AgentProcess(place)
            for number in 1...6 { try write(first, "org.a", "key", "value\(number)") }
            first.kill()
            let log = try place.log()
            if let number {
                var bytes = try RawFile.read(log)
                // The first record with the text; the value is also the old one in the next record.
                let text = Array("value\(number)".utf8)
                let index = try #require(bytes.indices.first { bytes[$0...].starts(with: text) })
                bytes[index] ^= 1
                try RawFile.replace(log, with: bytes)
            } else {
                var archive = HistoryArchive(path: String(log.dropLast(4)) + ".archive")
                let recovered = try RecoveredLog.read(from: log, limits: Frame.messageLimits).intactLog
                try archive.append(Array(try #require(recovered).records.prefix(3)))
                unlink(log)
            }
            let agent = try AgentProcess(place)
            defer { agent.kill() }
            try write(agent, "org.a", "other", "1")
            for past in 1...6 {
                let outcome = try agent.defaults("read", "org.a", "key", "--at", "\(past)")
                let isCertain = number.map { past >= $0 && $0 < 6 } ?? false
                #expect(outcome.status == (isCertain ? 0 : 65), "\(past): \(outcome)")
                if isCertain { #expect(outcome.output == "value\(past)\n") }
            }
            let last = try agent.connect().welcome.cursor.revision
            #expect(try agent.defaults("read", "org.a", "key", "--at", "\(last)").status == 0)
            #expect(try agent.defaults("diff", "org.a", "--since", "1").status == 65)
            #expect(try agent.defaults("diff", "org.a", "--since", "\(last)").status == 0)
        }
    }

    @Test("What lies behind damage in the archive is shown, and the damage is reported")
    func damagedArchive() throws {
        try withShortLog { agent, archive in
            var number = 0
            let isThere = try eventually {
                number += 1
                try write(agent, "org.a", "key", "\(number)")
                return try HistoryFile(reading: archive).map { $0.count > 3 } ?? false
            }
            #expect(isThere)
            let whole = try agent.defaults("log").output.split(separator: "\n").count
            var bytes = try RawFile.read(archive)
            // The length of the first entry.
            bytes[16] = 0x7F
            try RawFile.write(bytes, to: archive)
            let log = try agent.defaults("log")
            #expect(log.output.split(separator: "\n").count == whole - 1, "\(log.output)")
            #expect(log.status == 65 && log.errors.contains("\(archive), is damaged"), "\(log)")
            let past = try agent.defaults("read", "org.a", "key", "--at", "3")
            #expect(past.status == 65 && past.output == "3\n" && past.errors.contains("is damaged"), "\(past)")
        }
    }

    @Test("`status` and `doctor` show the files of the history, and damaged ones")
    func status() throws {
        try AgentProcess.withPlace { place in
            let first = try AgentProcess(place)
            try write(first, "org.a", "key", "1")
            first.terminate()
            let log = try place.log()
            var bytes = try RawFile.read(log)
            bytes[60] ^= 1
            try RawFile.write(bytes, to: log)
            let second = try AgentProcess(place)
            defer { second.kill() }
            #expect(try second.defaults("status").output.contains("history      \(log), "))
            let doctor = try second.defaults("doctor").output
            let finding = "What was left is in \(log).damaged-1."
            #expect(doctor.contains(finding), "\(doctor)")
            second.terminate()
            #expect(second.complaints().contains("The change log is damaged, so a new one begins."))
        }
    }
}
