import DefaultsCore
import TestSupport
import Testing

@Suite("Content hashes")
struct ContentHashTests {
    /// Values from the tests and documentation of https://github.com/Cyan4973/xxHash, with seed 0.
    @Test(
        "A content hash is the xxHash64 of the bytes",
        arguments: [
            ("", "ef46db3751d8e999"), ("a", "d24ec4f1a98c6e5b"), ("abc", "44bc2cf5ad770999"),
            ("Nobody inspects the spammish repetition", "fbcea83c8a378bf1"),
            ("xxhash", "32dd38952c4bc720"),
        ])
    func vectors(text: String, hash: String) {
        #expect(ContentHash(Array(text.utf8)).description == hash)
    }

    /// The generator and values of xxHash's own sanity check (`tests/sanity_test_vectors.h`), with seed 0.
    @Test(
        "Content hashes agree with xxHash's sanity check",
        arguments: [
            (1, 0xE934_A84A_DB05_2768), (4, 0x9136_A0DC_A574_57EE),
            (14, 0x8282_DCC4_994E_35C8), (222, 0xB641_AE8C_B691_C174),
        ] as [(Int, UInt64)])
    func sanityCheck(length: Int, hash: UInt64) {
        var generator: UInt64 = 2_654_435_761
        var bytes: [UInt8] = []
        for _ in 0..<length {
            bytes.append(UInt8(generator >> 56))
            generator &*= 11_400_714_785_074_694_797
        }
        #expect(ContentHash(bytes) == ContentHash(value: hash))
    }

    @Test("Flipping any bit changes the hash, at every length up to three blocks")
    func avalanche() {
        for length in 1...100 {
            let bytes = [UInt8](repeating: 0x5A, count: length)
            var seen: Set<ContentHash> = [ContentHash(bytes)]
            for position in 0..<length * 8 {
                var other = bytes
                other[position / 8] ^= 1 << (position % 8)
                seen.insert(ContentHash(other))
            }
            #expect(seen.count == length * 8 + 1)
        }
    }

    @Test(
        "A hash's text always has sixteen digits",
        arguments: [(0, "0000000000000000"), (255, "00000000000000ff")] as [(UInt64, String)])
    func text(value: UInt64, text: String) {
        #expect(ContentHash(value: value).description == text)
    }
}
