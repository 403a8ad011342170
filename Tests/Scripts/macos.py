"""Checks the values that the script `macos` has set: macos.py HOME PREFERENCES [HOST]."""

import datetime
import os
import plistlib
import sys

home, preferences = sys.argv[1:3]


def tile(name):
    return {"tile-data": {"file-data": {"_CFURLString": f"/Applications/{name}.app", "_CFURLStringType": 0}}}


def utc(*parts):
    return datetime.datetime(*parts)


expected = {
    f"{preferences}/.GlobalPreferences": {
        "AppleInterfaceStyleSwitchesAutomatically": True,
        "AppleShowScrollBars": "WhenScrolling",
        "NSTableViewDefaultSizeMode": 2,
        "AppleHighlightColor": "0.847 0.847 0.863 Graphite",
        "AppleScrollerPagingBehavior": 1,
        "com.apple.mouse.scaling": 2.5,
        "KeyRepeat": 2,
        "InitialKeyRepeat": 15,
        "ApplePressAndHoldEnabled": False,
        "NSAutomaticCapitalizationEnabled": False,
        "NSAutomaticDashSubstitutionEnabled": False,
        "NSAutomaticQuoteSubstitutionEnabled": False,
        "NSUserDictionaryReplacementItems": [
            {"on": "1", "replace": "omw", "with": "On my way!"},
            {"on": "0", "replace": "(c)", "with": "©"},
        ],
        "AppleLanguages": ["en-GB", "de", "zh-Hans"],
        "AppleLocale": "en_GB@currency=EUR",
        "AppleMetricUnits": True,
        "AppleMeasurementUnits": "Centimeters",
        "AppleFirstWeekday": {"gregorian": 2},
        "AppleICUDateFormatStrings": {"1": "y-MM-dd", "2": "d MMM y", "3": "d. MMMM y", "4": "EEEE, d. MMMM y"},
        "NSNavPanelExpandedStateForSaveMode": True,
        "PMPrintingExpandedStateForPrint2": True,
        "NSWindowResizeTime": 0.001,
        "NSScrollAnimationEnabled": False,
        "NSDocumentSaveNewDocumentsToCloud": False,
        "NSUserKeyEquivalents": {"Zoom": "@~^z", "Save As…": "@$s"},
    },
    f"{preferences}/org.example.editor": {
        "NSUserKeyEquivalents": {"Close All": "@~w", "Minimise": "@m"},
        "FontName": "Menlo",
        "FontSize": 12.0,
        "HasUsualSize": True,
        "Recent": [f"{home}/notes.txt", "a\tb"],
    },
    f"{preferences}/org.example.files": {
        "ShowPathbar": True,
        "_FXShowPosixPathInTitle": True,
        "FXPreferredViewStyle": "Nlsv",
        "NewWindowTarget": "PfLo",
        "NewWindowTargetPath": f"file://{home}/My Files/",
        "FXInfoPanesExpanded": {"General": True, "OpenWith": True, "Privileges": False},
        "NSToolbar Configuration Browser": {
            "TB Display Mode": 2,
            "TB Item Identifiers": ["com.apple.finder.BACK", "NSToolbarFlexibleSpaceItem", "com.apple.finder.SRCH"],
        },
        "DesktopViewSettings": {"GroupBy": "Kind", "IconViewSettings": {"gridSpacing": 54.0, "showItemInfo": True}},
        "WarnOnEmptyTrash": False,
        "SidebarWidth": -1,
    },
    f"{preferences}/org.example.dock": {
        "persistent-apps": [tile("Mail"), tile("Text Editor"), tile("R&D <Beta>"), {"tile-type": "spacer-tile"}],
        "persistent-others": [],
        "autohide": True,
        "autohide-delay": 0.0,
        "tilesize": 36,
        "largesize": 64.5,
        "orientation": "left",
        "mineffect": "scale",
        **{f"wvous-{name}-corner": number * 5 for number, name in enumerate(["tl", "tr", "bl", "br"])},
        **{f"wvous-{name}-modifier": 0 for name in ["tl", "tr", "bl", "br"]},
    },
    f"{home}/Library/Containers/org.example.Mail/Data/Library/Preferences/org.example.Mail": {
        "DisableReplyAnimations": True,
        "ConversationViewSortDescending": False,
        "NSUserKeyEquivalents": {"Send": "@↩"},
    },
    f"{home}/Library/Containers/org.example.notes/Data/Library/Preferences/org.example.notes": {"FontSize": 14},
    f"{home}/Library/Preferences/org.example.archive": {"dearchive-move-after": "~/.Trash"},
    f"{preferences}/org.example.terminal": {
        "StringEncodings": ["4", 30],
        "BackgroundColor": bytes.fromhex("62706c6973743030d1"),
        "Default Window Settings": "Solarised (dark)",
        "SecureKeyboardEntry": True,
        "Bell": "",
        "prompt": '\\u@\\h:\\w\\$ "%s"',
    },
    f"{preferences}/org.example.updates": {
        "ScheduleFrequency": 1,
        "LastCheck": utc(2024, 2, 29, 12, 30),
        "FirstCheck": utc(2019, 2, 19, 10, 10, 10),
        "Skipped": [utc(2019, 12, 31, 23), False, 1000.0, b""],
        "BigNumber": 18446744073709551615,
    },
    f"{preferences}/org.example.chat": {
        "nickname": "ada",
        "rooms": ["#swift", "#linux dev"],
        "colours": {"me": b"\xff\x80\x00"},
    },
    f"{preferences}/org.example.imported": {"a": [1, 0.5], "b": "é"},
    f"{preferences}/org.example.copied": {"a": [1, 0.5], "b": "é"},
}
for host in sys.argv[3:]:
    expected[f"{preferences}/ByHost/.GlobalPreferences.{host}"] = {"AppleFontSmoothing": 1}
    expected[f"{preferences}/ByHost/org.example.screensaver.{host}"] = {
        "idleTime": 300,
        "moduleDict": {"moduleName": "Flurry", "type": 0},
    }


def typed(value):
    """Returns the value together with types that `==` doesn't distinguish."""
    if isinstance(value, dict):
        return {key: typed(value) for key, value in value.items()}
    if isinstance(value, list):
        return [typed(value) for value in value]
    return type(value).__name__, value


for path, values in expected.items():
    with open(f"{path}.plist", "rb") as file:
        found = plistlib.load(file)
    for key in sorted(found.keys() | values.keys()):
        if typed(found.get(key)) != typed(values.get(key)):
            print(f"{path} {key}: {found.get(key)!r} instead of {values.get(key)!r}")

# A domain without keys may still have a file.
for directory, _, names in os.walk(preferences):
    for name in names:
        path = os.path.join(directory, name)
        if name.endswith(".plist") and path.removesuffix(".plist") not in expected:
            with open(path, "rb") as file:
                if plistlib.load(file):
                    print(f"{path} is not expected.")
