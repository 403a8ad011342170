import DefaultsKit

extension DefaultsKey where Value == Int {
    static var fontSize: Self { Self("fontSize", default: 12) }
}

let defaults = Defaults.standard
defaults[.fontSize] += 2
for await size in defaults.updates(of: .fontSize) {
    print("fontSize is \(size)")
}
