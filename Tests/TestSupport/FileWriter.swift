/// A program that writes a preferences file around the time at which one of its keys is set through `defaultsd`.
///
/// The file has `size = 12` and `name = old`. Then `size` is set to 16. The table of all writers says which values must
/// be there at the end; `WriterTests` runs their scripts, and the merge's model draws its writers from it.
package struct FileWriter: Sendable {
    /// The program's way of working.
    package let name: String
    /// The script that runs before `size` is set, in the directory of the file.
    package var before = "true"
    /// The script that runs afterwards.
    package let after: String
    /// The tool without which the scripts can't run.
    package var tool = "sh"
    /// The version to which the program's changes apply.
    package let basis: Basis
    /// The keys that the program changes in that version.
    package var changes: [String: Change] = [:]
    /// Whether it writes into the file, rather than replacing it.
    package var isInPlace = false
    /// The values at the end.
    package let expected: Expected

    /// The version that a program has loaded, or that it puts back.
    package enum Basis: Sendable {
        /// The newest version, which the program reads.
        case newest
        /// The version before `size` was set; the program doesn't know the newest.
        case before
        /// The version before, which is put back as a whole, without a look at the newest.
        case restored
        /// The newest version, which was put back after the one before.
        case restoredTwice
        /// An old file that has never been a version.
        case copy
    }

    /// A value that a program sets.
    package enum Change: Sendable {
        /// The value that the key had before `size` was set.
        case back
        /// A value that the key never had.
        case new
    }

    /// The values that must be there at the end.
    package struct Expected: Sendable {
        /// The value of `name`.
        let name: String
        /// The value of `size` if it is known whether a program has read the newest version.
        let size: Int
        /// The value of `size` if that isn't known, and the file was written soon after the set.
        var ifUnknown: Int?
        /// The value of `size` if all of the file is meant.
        var ifWhole: Int?

        package init(size: Int, name: String, ifUnknown: Int? = nil, ifWhole: Int? = nil) {
            self.name = name
            self.size = size
            self.ifUnknown = ifUnknown
            self.ifWhole = ifWhole
        }
    }

    /// The evidence when a file is merged, which decides which values of the table apply.
    package enum Evidence: Sendable {
        /// It is known whether a program has read the newest version.
        case recorded
        /// It isn't known, and the file was written within seconds after the set.
        case unknown
        /// The file is an old copy by its time, or was written long after the set, and nothing is known of reads.
        case whole
    }

    /// Returns the values of `size` and `name` at the end.
    package func outcome(_ evidence: Evidence) -> (size: Int, name: String) {
        switch evidence {
        case .recorded: (expected.size, expected.name)
        case .unknown: (expected.ifUnknown ?? expected.size, expected.name)
        case .whole: (expected.ifWhole ?? expected.size, expected.name)
        }
    }

    /// The writers of all kinds.
    package static let all = current + restoring + stale

    /// Writers that have loaded the newest version: everything that they change is meant.
    package static let current = [
        FileWriter(
            name: "sed -i", after: "sed -i s/16/18/ a.b.plist", basis: .newest, changes: ["size": .new],
            expected: Expected(size: 18, name: "old")),
        FileWriter(
            name: "sed -i, back to the value before", after: "sed -i 's/16/12/; s/old/new/' a.b.plist", basis: .newest,
            changes: ["size": .back, "name": .new], expected: Expected(size: 12, name: "new", ifUnknown: 16)),
        FileWriter(
            name: "vim, with a backup", after: "vim -u NONE -es -c 'set backupcopy=yes' -c '%s/16/18/' -c wq a.b.plist",
            tool: "vim", basis: .newest, changes: ["size": .new], isInPlace: true,
            expected: Expected(size: 18, name: "old")),
        FileWriter(
            name: "vim, which moves the file away",
            after: "vim -u NONE -es -c 'set backup backupcopy=no backupskip=' -c '%s/16/12/' -c '%s/old/new/' -c wq "
                + "a.b.plist",
            tool: "vim", basis: .newest, changes: ["size": .back, "name": .new],
            expected: Expected(size: 12, name: "new", ifUnknown: 16)),
        FileWriter(
            name: "python, in place",
            after: python("a.b.plist", "d['size'] = 18; d['name'] = 'new'", isInPlace: true), tool: "python3",
            basis: .newest, changes: ["size": .new, "name": .new], isInPlace: true,
            expected: Expected(size: 18, name: "new")),
        FileWriter(
            name: "python, by os.replace",
            after: python("a.b.plist", "d['size'] = 12; d['name'] = 'new'", isInPlace: false), tool: "python3",
            basis: .newest, changes: ["size": .back, "name": .new],
            expected: Expected(size: 12, name: "new", ifUnknown: 16)),
        FileWriter(
            name: "an edited copy", after: "sed 's/16/12/; s/old/new/' a.b.plist > ../new; mv ../new a.b.plist",
            basis: .newest, changes: ["size": .back, "name": .new],
            expected: Expected(size: 12, name: "new", ifUnknown: 16)),
    ]

    /// Writers that put an older version back: all of it is meant.
    package static let restoring = [
        FileWriter(
            name: "git checkout of the file", before: "git init -q; git add a.b.plist; \(commit)",
            after: "git checkout -q a.b.plist", tool: "git", basis: .restored,
            expected: Expected(size: 12, name: "old")),
        FileWriter(
            name: "git stash", before: "git init -q; git add a.b.plist; \(commit)",
            after: "git -c user.name=t -c user.email=t stash -q", tool: "git", basis: .restored,
            expected: Expected(size: 12, name: "old")),
        FileWriter(
            name: "git stash, and pop", before: "git init -q; git add a.b.plist; \(commit)",
            after: "git -c user.name=t -c user.email=t stash -q; git stash pop -q", tool: "git", basis: .restoredTwice,
            expected: Expected(size: 16, name: "old")),
        FileWriter(
            name: "cp of a copy", before: "cp a.b.plist ../kept", after: "cp ../kept a.b.plist", basis: .restored,
            isInPlace: true, expected: Expected(size: 12, name: "old")),
        FileWriter(
            name: "cp -a of a copy that has never been the file",
            before: "sed s/old/kept/ a.b.plist > ../kept; touch -d '1 hour ago' ../kept",
            after: "cp -a ../kept a.b.plist", basis: .copy, changes: ["size": .back, "name": .new], isInPlace: true,
            expected: Expected(size: 12, name: "kept")),
    ]

    /// Writers that had loaded the version before, and can't know the newest: they didn't mean to change `size`.
    package static let stale = [
        FileWriter(
            name: "python with old values, in place", before: "cp a.b.plist ../loaded",
            after: python("../loaded", "d['name'] = 'new'", isInPlace: true), tool: "python3", basis: .before,
            changes: ["name": .new], isInPlace: true, expected: Expected(size: 16, name: "new", ifWhole: 12)),
        FileWriter(
            name: "python with old values, by os.replace", before: "cp a.b.plist ../loaded",
            after: python("../loaded", "d['name'] = 'new'", isInPlace: false), tool: "python3", basis: .before,
            changes: ["name": .new], expected: Expected(size: 16, name: "new", ifWhole: 12)),
        FileWriter(
            name: "old values, by cp", before: "cp a.b.plist ../loaded",
            after: "sed -i s/old/new/ ../loaded; cp ../loaded a.b.plist", basis: .before, changes: ["name": .new],
            isInPlace: true, expected: Expected(size: 16, name: "new", ifWhole: 12)),
        FileWriter(
            name: "old values, by rm and cp", before: "cp a.b.plist ../loaded",
            after: "sed -i s/old/new/ ../loaded; rm a.b.plist; cp ../loaded a.b.plist", basis: .before,
            changes: ["name": .new], expected: Expected(size: 16, name: "new", ifWhole: 12)),
        FileWriter(
            name: "old values, but an own one of the same key", before: "cp a.b.plist ../loaded",
            after: "sed -i 's/12/14/; s/old/new/' ../loaded; mv ../loaded a.b.plist", basis: .before,
            changes: ["size": .new, "name": .new], expected: Expected(size: 14, name: "new")),
    ]

    private static let commit = "git -c user.name=t -c user.email=t commit -qm old"

    /// Sets keys of the file in place, or by `os.replace`, with values that were loaded from a file.
    package static func python(_ source: String, _ assignments: String, isInPlace: Bool) -> String {
        let target = isInPlace ? "a.b.plist" : "../new"
        return """
            python3 -c "
            import os, plistlib
            d = plistlib.load(open('\(source)', 'rb'))
            \(assignments)
            f = open('\(target)', 'wb'); plistlib.dump(d, f); f.close()
            \(isInPlace ? "" : "os.replace('../new', 'a.b.plist')")"
            """
    }
}
