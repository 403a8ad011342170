import Glibc
import PropertyList

extension Store {
    /// Reads the text file that a plan replaces.
    ///
    /// - Parameters:
    ///   - plan: the plan.
    ///   - file: the file.
    /// - Returns: its bytes; `nil` when it is none, or isn't as expected any more.
    func text(replacedBy plan: PublicationPlan, in file: DomainFile) -> [UInt8]? {
        guard plan.format != .binary, plan.damage == nil, !plan.losesEquivalentKeys, let expected = plan.expected else {
            return nil
        }
        let bytes: [UInt8]
        do throws(SystemCall.Failure) {
            let source = try FileDescriptor(opening: file.path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
            bytes = try source.read(upTo: Int(expected.identity.size))
        } catch {
            return nil
        }
        // Whatever comes into the file from now on, what is replaced are these bytes, or nothing is.
        return ContentHash(bytes) == expected.hash ? bytes : nil
    }

    /// Makes a plan's edits in the bytes of the text file that it replaces, so that everything else in it stays as it is.
    ///
    /// - Parameters:
    ///   - plan: the plan.
    ///   - bytes: the file's bytes.
    /// - Returns: the new version's bytes; `nil` when it has to be written whole.
    func splice(_ plan: PublicationPlan, into bytes: [UInt8]) -> [UInt8]? {
        let result = TextSplice.splice(
            plan.edits.mapValues(\.value), into: bytes, resultingCount: plan.values.count)
        guard let result, result.count <= limits.bytes else { return nil }
        // Layouts vary endlessly: a result that doesn't read back as planned is never written.
        guard case .dictionary(let values)? = try? PropertyListValue(parsing: result),
            Difference(from: plan.values, to: values, readFrom: plan.format).isEmpty
        else { return nil }
        return result
    }
}
