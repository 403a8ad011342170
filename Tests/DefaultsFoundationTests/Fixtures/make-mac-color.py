"""Makes MacColor.plist: preferences with an NSColor as NSKeyedArchiver on a Mac archives it, as data and as a tree."""
import plistlib
from plistlib import UID

archive = {
    "$version": 100000, "$archiver": "NSKeyedArchiver", "$top": {"root": UID(1)},
    "$objects": [
        "$null",
        {"$class": UID(4), "NSColorSpace": 1, "NSRGB": b"0.1 0.2 0.3\0", "NSComponents": b"0.1 0.2 0.3 1",
         "NSCustomColorSpace": UID(2)},
        {"$class": UID(3), "NSID": 7},
        {"$classname": "NSColorSpace", "$classes": ["NSColorSpace", "NSObject"]},
        {"$classname": "NSColor", "$classes": ["NSColor", "NSObject"]},
    ],
}
with open("MacColor.plist", "wb") as file:
    plistlib.dump(
        {"color": plistlib.dumps(archive, fmt=plistlib.FMT_BINARY), "tree": archive, "size": 12}, file,
        fmt=plistlib.FMT_BINARY)
