#if !OVER_FOUNDATION
import DefaultsClient
package import DefaultsCore
public import FoundationEssentials
import PropertyList

extension DefaultsProblem {
    package init(_ code: Code, because error: DefaultsError) {
        self.init(Problem(code.kind, because: error))
    }

    /// Creates the problem of an edit that was refused.
    init(refusal error: DefaultsError) {
        self.init(error.code == .invalidValue ? .value : .edit, because: error)
    }

    /// Creates the problem of edits that aren't durable, or else of edits that were refused; `nil` if the outcome has
    /// neither.
    fileprivate init?(_ outcome: SavingOutcome) {
        if let failure = outcome.failures.first {
            self.init(.saving, because: failure)
        } else if let refusal = outcome.refusals.first {
            self.init(refusal: refusal)
        } else {
            return nil
        }
    }
}

extension UserDefaults {
    /// Sets a key in the application's or the suite's domain; `nil` removes it.
    ///
    /// - Parameters:
    ///   - value: Any value that a property list can hold, at any depth (see `DefaultsValue`). Anything else is
    ///     reported to the handler of `setProblemHandler(_:)`, and nothing is set.
    ///   - key: The key.
    public func set(_ value: Any?, forKey key: String) {
        guard let value else {
            removeObject(forKey: key)
            return
        }
        do throws(DefaultsError) {
            set(try PropertyListValue(any: value, forKey: key), for: key)
        } catch {
            ProblemHandler.report(DefaultsProblem(.value, because: error))
        }
    }

    /// Sets a key to an integer.
    public func set(_ value: Int, forKey key: String) { set(.integer(Int64(value)), for: key) }

    /// Sets a key to a 32-bit real.
    public func set(_ value: Float, forKey key: String) { set(.real32(value), for: key) }

    /// Sets a key to a real.
    public func set(_ value: Double, forKey key: String) { set(.real(value), for: key) }

    /// Sets a key to a Boolean.
    public func set(_ value: Bool, forKey key: String) { set(.boolean(value), for: key) }

    /// Sets a key to a URL; `nil` removes the key.
    ///
    /// The URL of a file is stored as its path, any other URL as Foundation archives it.
    public func set(_ url: URL?, forKey key: String) {
        guard let url else {
            removeObject(forKey: key)
            return
        }
        do throws(PropertyListError) {
            set(try PropertyListValue(url: url), for: key)
        } catch {
            ProblemHandler.report(DefaultsProblem(.value, because: .init(.invalidValue, "\"\(key)\": \(error)")))
        }
    }

    /// Removes a key from the application's or the suite's domain.
    ///
    /// If another domain of the search list has the key, reads find that value from then on.
    public func removeObject(forKey key: String) { set(nil as PropertyListValue?, for: key) }

    /// Sets or removes a key.
    func set(_ value: PropertyListValue?, for key: String) {
        edit([key: value])
    }

    /// Sets and removes keys as one change set.
    ///
    /// - Returns: The keys that can't be set to their values. These are reported, and the keys keep their values.
    @discardableResult
    package func edit(_ values: Difference) -> Set<String> { edit(domain, of: client, with: values) }

    /// Sets and removes keys of one of a client's domains, like `edit(_:)`.
    @discardableResult
    func edit(_ domain: Domain, of client: Client, with values: Difference) -> Set<String> {
        let refusals = client.edit(domain, with: values)
        Self.report(refusals)
        let keys = values.keys.filter { refusals[$0] == nil }
        if !keys.isEmpty {
            OwnChanges.publish(OwnChange(defaults: self, domain: domain.name.description, keys: keys))
        }
        return Set(refusals.keys)
    }

    /// Makes the edits of a transaction, or none if one is refused, which is reported.
    func edit(asWhole values: Difference) {
        let refusals = client.edit(domain, with: values, asWhole: true)
        Self.report(refusals)
        if refusals.isEmpty { publishEdit(of: values.keys) }
    }

    /// Reports edits that were refused.
    static func report(_ refusals: [String: DefaultsError]) {
        for error in refusals.values { ProblemHandler.report(DefaultsProblem(refusal: error)) }
    }

    /// Publishes an edit to this process's observers.
    func publishEdit(of keys: some Sequence<String>) {
        OwnChanges.publish(OwnChange(defaults: self, domain: domain.name.description, keys: keys))
    }

    /// Waits until earlier edits are durable and earlier changes by others are visible here.
    ///
    /// Calling this is optional: edits are saved within a second, or when the process ends normally.
    ///
    /// - Returns: False if an edit can't be saved, in which case it stays in effect and saving is retried, or if one
    ///   was refused. The reason is reported to the handler of `setProblemHandler(_:)`.
    @discardableResult
    public func synchronize() -> Bool {
        (try? save()) != nil
    }

    /// Waits until earlier edits are durable and earlier changes by others are visible here.
    ///
    /// This is `synchronize()` with an error instead of a Boolean result.
    ///
    /// - Throws: A `DefaultsProblem` with the code `saving` if an edit can't be saved; it stays in effect, and saving
    ///   is retried. Otherwise, a problem with the code `value` or `edit` if an edit was refused since the last call,
    ///   for example by an enforced manifest; it isn't in effect anymore.
    public func save() throws(DefaultsProblem) {
        client.prepare(client.names(of: list))
        if let problem = DefaultsProblem(client.synchronize()) { throw problem }
    }

    /// Suspends until earlier edits are durable and earlier changes by others are visible here.
    ///
    /// It doesn't block a thread. If the task is canceled, the wait ends, but the edits are still saved.
    ///
    /// - Throws: A `DefaultsProblem` as the other form does, or with the code `cancellation` if the task was canceled
    ///   first.
    public func save() async throws(DefaultsProblem) {
        guard await client.load(client.names(of: list)), let outcome = await client.synchronized() else {
            throw DefaultsProblem(.cancellation, describedBy: "The wait for \(domain.name) to be saved was canceled.")
        }
        if let problem = DefaultsProblem(outcome) { throw problem }
    }
}
#endif
