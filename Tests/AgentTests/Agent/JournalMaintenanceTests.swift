import Testing

@testable import defaultsd

/// The state of the journal's maintenance, and the barriers that wait for it.
@Suite("The maintenance of the journal")
struct JournalMaintenanceTests {
    /// An owner of the state, as the engine is.
    private actor Owner {
        private var maintenance = JournalMaintenance()
        private(set) var requests = 0
        private(set) var ended: [Int] = []

        /// Asks for an attempt and waits for it, as a sync of everything does.
        func waitForAttempt(_ number: Int) async {
            await withCheckedContinuation { continuation in
                maintenance.waiting.append(continuation)
                _ = maintenance.begin()
                requests += 1
            }
            ended.append(number)
        }

        /// Ends the attempt, and begins the next one if it is wanted.
        func finish() -> Bool {
            let isWanted = maintenance.finish()
            return isWanted && maintenance.begin()
        }
    }

    private func holds(_ condition: () async -> Bool) async -> Bool {
        let deadline = ContinuousClock.now + .seconds(10)
        while await !condition() {
            if .now >= deadline { return false }
            await Task.yield()
        }
        return true
    }

    @Test("A sync waits for one attempt, although others ask for further ones meanwhile")
    func manySyncs() async throws {
        let owner = Owner()
        func ask(_ number: Int) async throws -> Task<Void, Never> {
            let task = Task { await owner.waitForAttempt(number) }
            try #require(await holds { await owner.requests == number })
            return task
        }
        var tasks = [try await ask(1)]
        for number in 2...20 {
            tasks.append(try await ask(number))
            #expect(await owner.finish())
            let hasEnded = await holds { await owner.ended == Array(1..<number) }
            #expect(hasEnded, "The attempts of later syncs hold up sync \(number - 1).")
        }
        #expect(await !owner.finish())
        for task in tasks { await task.value }
    }
}
