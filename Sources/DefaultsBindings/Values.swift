import DefaultsClient
import DefaultsCore
public import DefaultsKit
public import PropertyList

extension UserDefaultsController {
    /// A controller's values by key.
    ///
    /// They are read from the controller's buffer, then from its defaults, then from its initial values. They are set
    /// in the buffer or, if edits apply immediately, in the defaults. Observation tracks reads. Any thread may use the
    /// values.
    ///
    /// ```swift
    /// controller.values[.quality] = 0.5
    /// controller.values.userName = "Ada"
    /// controller.values["a key with spaces"] = nil
    /// ```
    @dynamicMemberLookup
    public struct Values: Sendable {
        private let controller: UserDefaultsController

        init(_ controller: UserDefaultsController) {
            self.controller = controller
        }

        /// A typed key's value, or its default; setting an `Optional` key to `nil` removes it.
        ///
        /// A value that can't be stored is reported to the handler of `UserDefaults.setProblemHandler(_:)`, and the key
        /// keeps its value.
        public subscript<Value>(key: DefaultsKey<Value>) -> Value {
            get {
                guard controller.defaults.owns(key) else { return key.defaultValue }
                return key.read(self[key.name], in: controller.defaults)
            }
            nonmutating set {
                guard controller.defaults.owns(key) else { return }
                do throws(DefaultsError) {
                    self[key.name] = try PropertyListValue(storing: newValue, for: key)
                } catch {
                    ProblemHandler.report(DefaultsProblem(.value, because: error))
                }
            }
        }

        /// A key's value; `nil` if the key has none.
        ///
        /// Setting `nil` removes the key.
        public subscript(key: String) -> PropertyListValue? {
            get {
                controller.access(key)
                return controller.propertyListValue(forKey: key)
            }
            nonmutating set { controller.set(newValue, forKey: key) }
        }

        /// A key's value, with the key written as a property.
        public subscript(dynamicMember key: String) -> PropertyListValue? {
            get { self[key] }
            nonmutating set { self[key] = newValue }
        }

        /// Returns a key's value as a native Swift type, as `UserDefaults.object(forKey:)` does.
        public func value(forKey key: String) -> Any? { self[key]?.anyValue }

        /// Sets a key to any value that can be stored; `nil` removes it.
        ///
        /// A value that can't be stored is reported to the handler of `UserDefaults.setProblemHandler(_:)`, and nothing
        /// is set.
        public func setValue(_ value: Any?, forKey key: String) {
            do throws(DefaultsError) {
                var stored: PropertyListValue?
                if let value { stored = try PropertyListValue(any: value, forKey: key) }
                self[key] = stored
            } catch {
                ProblemHandler.report(DefaultsProblem(.value, because: error))
            }
        }
    }
}
