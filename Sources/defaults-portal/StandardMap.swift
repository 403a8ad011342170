#if Portal
extension SettingsMap {
    /// The standard map, as a property list: for each namespace and key, the rule or rules of the setting.
    ///
    /// The settings are those of the page *Settings* in https://flatpak.github.io/xdg-desktop-portal/docs/.
    /// The colors are the accent colors of macOS in the light appearance.
    static let standard = """
        {
            "org.freedesktop.appearance" = {
                "color-scheme" = {
                    Key = AppleInterfaceStyle;
                    Type = u;
                    Values = { Dark = 1; Light = 2; };
                    Default = 0;
                };
                "accent-color" = (
                    {
                        Key = AppleAccentColor;
                        Type = "(ddd)";
                        Values = {
                            "-1" = "0.549 0.549 0.549";
                            0 = "1.000 0.220 0.235";
                            1 = "1.000 0.553 0.157";
                            2 = "1.000 0.800 0.000";
                            3 = "0.204 0.780 0.349";
                            4 = "0.000 0.533 1.000";
                            5 = "0.647 0.310 0.655";
                            6 = "0.969 0.310 0.620";
                        };
                        Default = "-1 -1 -1";
                    },
                    { Key = AppleHighlightColor; Type = "(ddd)"; }
                );
                contrast = {
                    Domain = "com.apple.universalaccess";
                    Key = increaseContrast;
                    Type = u;
                    Values = { NO = 0; YES = 1; 0 = 0; 1 = 1; };
                    Default = 0;
                };
                "reduced-motion" = {
                    Domain = "com.apple.universalaccess";
                    Key = reduceMotion;
                    Type = u;
                    Values = { NO = 0; YES = 1; 0 = 0; 1 = 1; };
                    Default = 0;
                };
            };
        }
        """
}
#endif
