/// The watches that are set, by what they are for and by their numbers.
///
/// Two places can be one directory, and then share a watch.
struct Watches {
    struct Watch {
        var identity: DirectoryIdentity
        var number: Int32
        /// Whether the kernel may have ended the watch without our having been told.
        var isDoubtful = false
    }

    private var watches: [WatcherState.Place: Watch] = [:]
    private var places: [Int32: Set<WatcherState.Place>] = [:]

    /// How many there are.
    var count: Int { places.count }

    /// All places that have one.
    var allPlaces: some Sequence<WatcherState.Place> { watches.keys }

    /// All numbers.
    var numbers: Set<Int32> { Set(places.keys) }

    /// The places that share a watch.
    func places(of number: Int32) -> Set<WatcherState.Place> { places[number] ?? [] }

    /// The watch of a place.
    subscript(place: WatcherState.Place) -> Watch? {
        get { watches[place] }
        set {
            if let old = watches[place] {
                places[old.number]?.remove(place)
                if places[old.number]?.isEmpty == true { places[old.number] = nil }
            }
            watches[place] = newValue
            if let newValue { places[newValue.number, default: []].insert(place) }
        }
    }

    /// Doubts every watch.
    mutating func doubt() {
        for place in watches.keys { watches[place]?.isDoubtful = true }
    }
}
