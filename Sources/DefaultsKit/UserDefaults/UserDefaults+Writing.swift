import DefaultsCore
public import FoundationEssentials
import PropertyList

extension UserDefaults {
    /// Sets a key in the application's or the suite's domain; `nil` removes it.
    ///
    /// - Parameters:
    ///   - value: any value that a property list can hold, at any depth, see `DefaultsValue`; anything else is reported to
    ///     `onProblem`, and nothing is set.
    ///   - key: the key.
    public func set(_ value: Any?, forKey key: String) {
        guard let value else {
            removeObject(forKey: key)
            return
        }
        do throws(DefaultsError) {
            set(try PropertyListValue(any: value, forKey: key), for: key)
        } catch {
            ProblemHandler.report(DefaultsProblem(.value, error))
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

    /// Sets a key to a URL, of a file as its path, of anything else as Foundation archives it; `nil` removes the key.
    public func set(_ url: URL?, forKey key: String) {
        guard let url else {
            removeObject(forKey: key)
            return
        }
        do throws(PropertyListError) {
            set(try PropertyListValue(url: url), for: key)
        } catch {
            ProblemHandler.report(DefaultsProblem(.value, DefaultsError(.invalidValue, "\"\(key)\": \(error)")))
        }
    }

    /// Removes a key from the application's or the suite's domain; the next domain that has it shows through.
    public func removeObject(forKey key: String) { set(nil as PropertyListValue?, for: key) }

    /// Sets or removes a key.
    func set(_ value: PropertyListValue?, for key: String) {
        edit([key: value])
    }

    /// Sets and removes keys as one change set.
    func edit(_ values: Difference) {
        live.edit(domain, values)
        postEdit(of: values.keys)
    }

    /// Tells this process's observers of an edit.
    func postEdit(of keys: some Sequence<String>) {
        LocalEdits.post(LocalEdit(defaults: self, domain: domain.name.description, keys: keys))
    }

    /// Waits until all that was set before is durable, and all that others changed before is visible here.
    ///
    /// It need not be called: what was set is saved within a second, and when the process ends normally.
    ///
    /// - Returns: false when something can't be saved, which `onProblem` tells; it is kept and tried again.
    @discardableResult
    public func synchronize() -> Bool {
        (try? save()) != nil
    }

    /// Waits until all that was set before is durable, and all that others changed before is visible here.
    ///
    /// - Throws: why something can't be saved; it is kept and tried again.
    public func save() throws(DefaultsProblem) {
        live.prepare(live.names(of: list))
        if let failure = live.synchronize().first { throw DefaultsProblem(.saving, failure) }
    }
}
