import PropertyList

extension KeyedArchive {
    /// Refuses what `KeyedArchiveDecoder` would, of what an encoder makes: cycles, and what is too deep or too large.
    func checkSoundness() throws(ArchiveFailure) {
        var sizes: [Int: Int] = [:]
        var underWay: Set<Int> = []
        _ = try size(of: root, &sizes, &underWay)
    }

    private func size(
        of reference: PropertyListValue, _ sizes: inout [Int: Int], _ underWay: inout Set<Int>
    ) throws(ArchiveFailure) -> Int {
        guard let index = try index(of: reference) else { return 0 }
        if let size = sizes[index] { return size }
        guard case .dictionary(let fields) = self[index] else { return 1 }
        guard underWay.insert(index).inserted else {
            throw ArchiveFailure("an object of \(try className(of: fields)) holds itself")
        }
        guard underWay.count <= Self.maximumDepth else { throw ArchiveFailure("it is too deep") }
        var size = 1
        for (key, value) in fields where key != "$class" {
            let references: [PropertyListValue] = if case .array(let elements) = value { elements } else { [value] }
            for case .uid(let number) in references { size += try self.size(of: .uid(number), &sizes, &underWay) }
            if size > Self.maximumSize { throw ArchiveFailure("it is too large when it is laid out") }
        }
        underWay.remove(index)
        sizes[index] = size
        return size
    }
}
