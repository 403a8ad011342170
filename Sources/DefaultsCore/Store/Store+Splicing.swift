import Glibc
import Linux
import PropertyList

extension Store {
    /// Reads the text file that a plan replaces.
    ///
    /// - Parameters:
    ///   - plan: the plan.
    ///   - file: the file.
    /// - Returns: its bytes; `nil` if it isn't a text file, or is no longer in the expected state.
    func text(replacedBy plan: SavePlan, in file: DomainFile) -> [UInt8]? {
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
        // Whatever is written to the file from now on, the save replaces these bytes or nothing.
        return ContentHash(bytes) == expected.hash ? bytes : nil
    }

    /// Makes a plan's edits in the bytes of the text file that it replaces, and leaves everything else in it as it is.
    ///
    /// - Parameters:
    ///   - plan: the plan.
    ///   - bytes: the file's bytes.
    /// - Returns: the new version's bytes; `nil` if the file must be written as a whole.
    func splice(_ plan: SavePlan, into bytes: [UInt8]) -> [UInt8]? {
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
