/// The NextStep character set, in which old-style property lists number characters by octal escapes.
enum NextStepEncoding {
    /// The characters 128 to 255; below, it is ASCII, and the last two stand for nothing.
    private static let upperHalf: [Unicode.Scalar] = Array(
        ("\u{A0}ÀÁÂÃÄÅÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖÙÚÛÜÝÞµ×÷©¡¢£⁄¥ƒ§¤’“«‹›ﬁﬂ®–†‡·¦¶•‚„”»…‰¬¿¹ˋ´ˆ˜¯˘˙¨²˚¸³˝˛ˇ"
            + "—±¼½¾àáâãäåçèéêëìÆíªîïðñŁØŒºòóôõöæùúûıüýłøœßþÿ\u{FFFD}\u{FFFD}").unicodeScalars)

    static func scalar(_ code: UInt8) -> Unicode.Scalar {
        code < 0x80 ? Unicode.Scalar(code) : upperHalf[Int(code) - 0x80]
    }
}
