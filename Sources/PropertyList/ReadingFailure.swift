/// What a reader throws inside; `PropertyListValue.read` makes a `PropertyListError` of it.
///
/// It holds only an offset: lines are counted once, when there is an error to report.
struct ReadingFailure: Error {
    /// What kind of failure it is.
    var code: PropertyListError.Code
    /// Bytes before the place in what the reader was given; for text, in its UTF-8 form.
    var offset: Int
    /// What was expected and found.
    var message: String
}
