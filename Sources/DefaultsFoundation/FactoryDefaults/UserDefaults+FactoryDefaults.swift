public import DefaultsKit
public import Foundation
public import PropertyList

extension DefaultsKit.UserDefaults {
    /// Registers the factory defaults that are in a property-list file of any format.
    ///
    /// What the file has replaces what was registered for the same keys; nothing is registered when it throws.
    ///
    /// ```swift
    /// let factory = try defaults.registerDefaults(contentsOf: url)
    /// let initialValues = factory.filter { ["color", "font"].contains($0.key) }
    /// ```
    ///
    /// - Parameter url: where the file is.
    /// - Returns: all that the file has, of which a controller's initial values may be a part.
    /// - Throws: why the file can't be read, where it isn't a property list, or that it is no dictionary.
    @discardableResult
    public func registerDefaults(contentsOf url: URL) throws(DefaultsProblem) -> [String: PropertyListValue] {
        guard url.isFileURL else {
            throw DefaultsProblem(
                factoryDefaults: "\(url.absoluteString)", "is no file; name one on this computer.")
        }
        return try registerDefaults(contentsOf: url.path)
    }

    /// Registers the factory defaults that are in a property-list file of any format.
    ///
    /// It does what `registerDefaults(contentsOf:)` does with a URL.
    ///
    /// - Parameter path: where the file is.
    /// - Returns: all that the file has.
    /// - Throws: why the file can't be read, where it isn't a property list, or that it is no dictionary.
    @discardableResult
    public func registerDefaults(contentsOf path: String) throws(DefaultsProblem) -> [String: PropertyListValue] {
        let contents: Data
        do {
            contents = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw DefaultsProblem(factoryDefaults: path, DefaultsProblem.why(error, isUnreadable: path))
        }
        let value: PropertyListValue
        do throws(PropertyListError) {
            value = try PropertyListValue(parsing: [UInt8](contents))
        } catch {
            throw DefaultsProblem(
                factoryDefaults: path,
                "is not a property list, or is damaged; correct it or install it again. \(error)")
        }
        guard case .dictionary(let values) = value else {
            throw DefaultsProblem(
                factoryDefaults: path,
                "holds no dictionary; its outermost value must be one, with the defaults by key.")
        }
        register(defaults: values)
        return values
    }

    /// Registers the factory defaults that are in a resource of a bundle.
    ///
    /// ```swift
    /// try defaults.registerDefaults(fromResource: "FactoryDefaults", in: .module)
    /// ```
    ///
    /// - Parameters:
    ///   - name: the name of the resource, without its extension.
    ///   - fileExtension: its extension.
    ///   - bundle: the bundle that has it.
    /// - Returns: all that the resource has.
    /// - Throws: that the bundle has no such resource, else what `registerDefaults(contentsOf:)` throws.
    @discardableResult
    public func registerDefaults(
        fromResource name: String, withExtension fileExtension: String = "plist", in bundle: Bundle = .main
    ) throws(DefaultsProblem) -> [String: PropertyListValue] {
        guard let url = bundle.url(forResource: name, withExtension: fileExtension) else {
            throw DefaultsProblem(
                factoryDefaults: "\(name).\(fileExtension)",
                "is no resource of the bundle \(bundle.bundlePath); add it to the resources of the target.")
        }
        return try registerDefaults(contentsOf: url)
    }
}

extension DefaultsProblem {
    fileprivate init(factoryDefaults path: String, _ predicate: String) {
        self.init(.file, describedBy: "The factory defaults: \"\(path)\" \(predicate)")
    }

    /// Why a file can't be read, for people.
    fileprivate static func why(_ error: any Error, isUnreadable path: String) -> String {
        var isDirectory: ObjCBool = false
        if FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), isDirectory.boolValue {
            return "is a directory; name the property-list file that is in it."
        }
        return switch (error as? CocoaError)?.code {
        case .fileReadNoSuchFile: "does not exist; install it with the program, or correct the path."
        case .fileReadNoPermission: "may not be read; see that its permissions allow it."
        default: "can't be read; see that it is a file, and whole."
        }
    }
}
