public import DefaultsKit
public import Foundation
public import PropertyList

extension DefaultsKit.UserDefaults {
    /// Registers the factory defaults in a property-list file of any format.
    ///
    /// The file's values replace registered values for the same keys. If the call throws, nothing is registered.
    ///
    /// ```swift
    /// let factory = try defaults.registerDefaults(contentsOf: url)
    /// let initialValues = factory.filter { ["color", "font"].contains($0.key) }
    /// ```
    ///
    /// - Parameter url: The URL of the file.
    /// - Returns: All values in the file; you can use some of them as a controller's initial values.
    /// - Throws: A `DefaultsProblem` if the file can't be read, isn't a valid property list, or doesn't contain a
    ///   dictionary.
    @discardableResult
    public func registerDefaults(contentsOf url: URL) throws(DefaultsProblem) -> [String: PropertyListValue] {
        guard url.isFileURL else {
            throw DefaultsProblem(
                factoryDefaults: "\(url.absoluteString)", "is not a file URL. Use the URL of a local file.")
        }
        return try registerDefaults(contentsOf: url.path)
    }

    /// Registers the factory defaults in a property-list file of any format.
    ///
    /// This is `registerDefaults(contentsOf:)` with a path instead of a URL.
    ///
    /// - Parameter path: The path of the file.
    /// - Returns: All values in the file.
    /// - Throws: A `DefaultsProblem` if the file can't be read, isn't a valid property list, or doesn't contain a
    ///   dictionary.
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
                "is not a valid property list. Correct it, or install it again. \(error)")
        }
        guard case .dictionary(let values) = value else {
            throw DefaultsProblem(
                factoryDefaults: path,
                "does not contain a dictionary. Its top-level value must be one, with the defaults by key.")
        }
        register(defaults: values)
        return values
    }

    /// Registers the factory defaults in a resource of a bundle.
    ///
    /// ```swift
    /// try defaults.registerDefaults(fromResource: "FactoryDefaults", in: .module)
    /// ```
    ///
    /// - Parameters:
    ///   - name: The name of the resource, without its extension.
    ///   - fileExtension: The extension of the resource.
    ///   - bundle: The bundle that contains the resource.
    /// - Returns: All values in the resource.
    /// - Throws: A `DefaultsProblem` if the bundle has no such resource, or for the reasons listed at
    ///   `registerDefaults(contentsOf:)`.
    @discardableResult
    public func registerDefaults(
        fromResource name: String, withExtension fileExtension: String = "plist", in bundle: Bundle = .main
    ) throws(DefaultsProblem) -> [String: PropertyListValue] {
        guard let url = bundle.url(forResource: name, withExtension: fileExtension) else {
            throw DefaultsProblem(
                factoryDefaults: "\(name).\(fileExtension)",
                "is not a resource of the bundle \(bundle.bundlePath). Add it to the target's resources.")
        }
        return try registerDefaults(contentsOf: url)
    }
}

extension DefaultsProblem {
    fileprivate init(factoryDefaults path: String, _ predicate: String) {
        self.init(.file, describedBy: "Can't register factory defaults: \"\(path)\" \(predicate)")
    }

    /// Returns the reason why a file can't be read, with a remedy, as the end of a sentence.
    fileprivate static func why(_ error: any Error, isUnreadable path: String) -> String {
        var isDirectory: ObjCBool = false
        if FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), isDirectory.boolValue {
            return "is a directory. Use the path of a property-list file in it."
        }
        return switch (error as? CocoaError)?.code {
        case .fileReadNoSuchFile: "does not exist. Install it with the program, or correct the path."
        case .fileReadNoPermission: "can't be read: permission denied. Check its permissions."
        default: "can't be read. Check that it is an intact, regular file."
        }
    }
}
