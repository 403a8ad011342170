#if Portal
import CSettingsBus
import Glibc

/// The settings on the session's D-Bus, for one thread.
///
/// The program ends with the bus: D-Bus starts it again when the portal of the next session asks for settings.
final class SettingsBus {
    /// The name that the portal's file gives.
    static let name = "org.freedesktop.impl.portal.desktop.defaultsd"

    /// The current settings, with which calls are answered.
    var settings = PortalSettings()
    private let bus: OpaquePointer
    private let object = UnsafeMutablePointer<settings_object>.allocate(capacity: 1)

    struct Failure: Error, CustomStringConvertible {
        let description: String

        init(_ what: String, _ result: Int32 = 0) {
            description = result == 0 ? "\(what)." : "\(what): \(String(cString: strerror(-result)))."
        }
    }

    /// Connects to the session's bus, and takes the portal's name.
    ///
    /// - Throws: `Failure` if there is no bus, or another program owns the name.
    init() throws(Failure) {
        var bus: OpaquePointer?
        let result = sd_bus_open_user(&bus)
        guard result >= 0, let bus else { throw Failure("The session's D-Bus can't be reached", result) }
        self.bus = bus
        object.initialize(
            to: settings_object(
                context: Unmanaged.passUnretained(self).toOpaque(),
                read: { context, name, key, answer, error in
                    SettingsBus.at(context).read(String(cString: name), String(cString: key), into: answer, or: error)
                },
                read_all: { context, patterns, answer, _ in SettingsBus.at(context).readAll(patterns, into: answer) }))
        try check(settings_object_add(bus, object), "The settings can't be put on D-Bus")
        let outcome = sd_bus_request_name(bus, Self.name, 0)
        if outcome == -EEXIST { throw Failure("Another program already owns the name \(Self.name) on D-Bus") }
        try check(outcome, "The name \(Self.name) can't be taken on D-Bus")
    }

    deinit {
        sd_bus_flush_close_unref(bus)
        object.deallocate()
    }

    private func check(_ result: Int32, _ what: String) throws(Failure) {
        if result < 0 { throw Failure(what, result) }
    }

    private static func at(_ context: UnsafeMutableRawPointer) -> SettingsBus {
        Unmanaged<SettingsBus>.fromOpaque(context).takeUnretainedValue()
    }

    /// Returns why programs don't get some settings from the desktop's portal; `nil` if they get them.
    ///
    /// - Throws: `Failure` if there is no bus, or no portal is running.
    static func findObstacle(to settings: PortalSettings) throws(Failure) -> String? {
        if settings.isEmpty { return nil }
        if try read(SettingsMap.marker.name, SettingsMap.marker.key) == nil {
            return "The desktop's portal doesn't ask defaults-portal for settings."
        }
        // A number that other backends have, too, tells which one is asked first.
        let (name, key) = ("org.freedesktop.appearance", "color-scheme")
        guard case .unsigned(let number)? = settings.values[name]?[key], try read(name, key) != number else {
            return nil
        }
        return "The desktop's portal asks another backend for settings first."
    }

    /// Asks the desktop's portal for a setting.
    ///
    /// - Returns: The setting if it is a number, or else 0; `nil` if there is no such setting.
    private static func read(_ name: String, _ key: String) throws(Failure) -> UInt32? {
        var bus: OpaquePointer?
        let opened = sd_bus_open_user(&bus)
        defer { sd_bus_flush_close_unref(bus) }
        guard opened >= 0, let bus else { throw Failure("The session's D-Bus can't be reached", opened) }
        var (error, answer) = (sd_bus_error(), nil as OpaquePointer?)
        let result = settings_read(bus, name, key, &error, &answer)
        defer {
            sd_bus_error_free(&error)
            sd_bus_message_unref(answer)
        }
        if result >= 0, let answer {
            var number: UInt32 = 0
            return settings_number(answer, &number) < 0 ? 0 : number
        }
        func isError(_ names: String...) -> Bool {
            names.contains { sd_bus_error_has_name(&error, "org.freedesktop.\($0)") != 0 }
        }
        // Without any backend for settings, the portal lacks the interface.
        if isError("portal.Error.NotFound", "DBus.Error.UnknownMethod", "DBus.Error.UnknownInterface") { return nil }
        if isError("DBus.Error.ServiceUnknown", "DBus.Error.NameHasNoOwner") {
            throw Failure("The desktop's portal isn't running")
        }
        throw Failure("The desktop's portal doesn't answer", result)
    }

    /// Returns the names on the bus: those that are owned, and those of programs that D-Bus can start.
    func names() throws(Failure) -> Set<String> {
        var lists: [UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?] = [nil, nil]
        let result = lists.withUnsafeMutableBufferPointer { lists in
            guard let first = lists.baseAddress else { return Int32(0) }
            return sd_bus_list_names(bus, first, first + 1)
        }
        try check(result, "The names on D-Bus can't be listed")
        var names: Set<String> = []
        for case let list? in lists {
            var entry = list
            while let name = entry.pointee {
                names.insert(String(cString: name))
                free(name)
                entry += 1
            }
            free(list)
        }
        return names
    }

    // MARK: The loop

    /// Answers the calls that have arrived.
    ///
    /// - Throws: `Failure` if the bus is gone.
    func process() throws(Failure) {
        while true {
            let result = sd_bus_process(bus, nil)
            try check(result, "The session's D-Bus is gone")
            if result == 0 { return }
        }
    }

    /// Waits until the bus or another descriptor has something to read.
    func wait(orFor other: Int32) {
        var timeout = UInt64.max
        sd_bus_get_timeout(bus, &timeout)
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        let microseconds = UInt64(now.tv_sec) * 1_000_000 + UInt64(now.tv_nsec) / 1_000
        let left = timeout == .max ? -1 : Int32(clamping: (max(timeout, microseconds) - microseconds + 999) / 1_000)
        var polls = [
            pollfd(fd: sd_bus_get_fd(bus), events: Int16(clamping: sd_bus_get_events(bus)), revents: 0),
            pollfd(fd: other, events: Int16(POLLIN), revents: 0),
        ]
        poll(&polls, 2, left)
    }

    /// Replaces the settings, and signals those that are new or have changed.
    ///
    /// - Throws: `Failure` if the bus is gone.
    func update(_ new: PortalSettings) throws(Failure) {
        let changes = new.changes(from: settings)
        settings = new
        for (name, key, value) in changes {
            var signal: OpaquePointer?
            try check(
                sd_bus_message_new_signal(bus, &signal, SETTINGS_PATH, SETTINGS_INTERFACE, "SettingChanged"),
                "A change can't be signaled")
            defer { sd_bus_message_unref(signal) }
            guard let signal else { continue }
            let message = BusMessage(signal)
            message.append(name)
            message.append(key)
            message.appendVariant(value)
            if message.result < 0 {
                DefaultsPortal.log("\(Failure("The change of \(key) can't be signaled", message.result))")
                continue
            }
            try check(sd_bus_message_send(signal), "The session's D-Bus is gone")
            try check(sd_bus_flush(bus), "The session's D-Bus is gone")
        }
    }

    // MARK: Calls

    private func read(
        _ name: String, _ key: String, into answer: OpaquePointer, or error: UnsafeMutablePointer<sd_bus_error>
    ) -> Int32 {
        guard let value = settings.values[name]?[key] else {
            return sd_bus_error_set(
                error, "org.freedesktop.portal.Error.NotFound", "There is no setting \(key) in \(name).")
        }
        let message = BusMessage(answer)
        message.appendVariant(value)
        return message.result
    }

    private func readAll(_ patterns: OpaquePointer, into answer: OpaquePointer) -> Int32 {
        let (question, message) = (BusMessage(patterns), BusMessage(answer))
        let wanted = question.strings()
        if question.result < 0 { return question.result }
        message.appendDictionary(settings.matching(wanted), of: "{sa{sv}}") { name, settings in
            message.append(name)
            message.append(settings)
        }
        return message.result
    }
}
#endif
