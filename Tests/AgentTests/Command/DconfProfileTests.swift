import DefaultsCore
import Glibc
import TestSupport
import Testing

@testable import DefaultsCommand

@Suite("The profile that dconf uses")
struct DconfProfileTests {
    /// Returns the name of the user's database among files below a root, or the failure.
    private func name(_ files: [String: String], _ variables: [String: String] = [:]) throws -> String {
        try withTemporaryDirectory { root in
            for (path, text) in files {
                let file = "\(root)/\(path)"
                try LogLocation(log: file).makeDirectory()
                try RawFile.write(Array(text.utf8), to: file)
            }
            let environment = Environment(variables.mapValues { $0.replacing("ROOT", with: root) })
            do throws(Failure) { return try DconfProfile(in: environment, root: root).name } catch {
                return error.message
            }
        }
    }

    @Test("The first file that exists says which database is the user's")
    func order() throws {
        let mandatory = "run/dconf/user/\(getuid())"
        var files = [String: String]()
        #expect(try name(files) == "user")
        files["usr/share/dconf/profile/user"] = "user-db:shared"
        #expect(try name(files) == "shared")
        files["etc/dconf/profile/user"] = "\n# A comment.\n  user-db:local  # The user's.\nsystem-db:site\n"
        #expect(try name(files) == "local")
        files["run/dconf/profile"] = "user-db:session"
        #expect(try name(files) == "local")
        #expect(try name(files, ["XDG_RUNTIME_DIR": "ROOT/run"]) == "session")
        files["opt/dconf/profile/mine"] = "user-db:mine"
        #expect(try name(files, ["DCONF_PROFILE": "mine", "XDG_DATA_DIRS": "/usr/share:/opt"]) == "mine")
        #expect(try name(files, ["DCONF_PROFILE": "ROOT/run/dconf/profile"]) == "session")
        files[mandatory] = "user-db:mandatory\n"
        #expect(try name(files, ["DCONF_PROFILE": "ROOT/run/dconf/profile"]) == "mandatory")
    }

    @Test("A profile without a database that can be switched is refused")
    func refusals() throws {
        let mandatory = "run/dconf/user/\(getuid())"
        for text in ["", "service-db:keyfile/user", "system-db:site\nuser-db:user", "nonsense\nfile-db:/x\nuser-db:u"] {
            #expect(try name(["etc/dconf/profile/user": text]).contains("isn't a user-db"))
        }
        #expect(try name([:], ["DCONF_PROFILE": "lost"]).contains("dconf's profile lost is missing"))
        #expect(try name([mandatory: "user-db:user\nsystem-db:site"]).contains("can't be told from yours"))
        #expect(try name(["etc/dconf/profile/user/directory": ""]).contains("etc/dconf/profile/user"))
    }
}
