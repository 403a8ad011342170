package import PropertyList

extension Manifest {
    /// The manifest as a property list, which `read` reads back.
    package var propertyList: PropertyListValue {
        var entries = texts.entries
        entries["pfm_domain"] = domain.map { .string($0) }
        if isEnforced { entries["pfm_enforced"] = true }
        entries["pfm_subkeys"] = .array(root.subkeys.map { .dictionary($0.entries) })
        return .dictionary(entries)
    }
}

extension ManifestKey {
    fileprivate var entries: [String: PropertyListValue] {
        var entries = texts.entries
        if !name.isEmpty { entries["pfm_name"] = .string(name) }
        entries["pfm_type"] = .string(kind?.rawValue ?? "any")
        entries["pfm_default"] = defaultValue
        if isRequired { entries["pfm_require"] = "always" }
        if !subkeys.isEmpty { entries["pfm_subkeys"] = .array(subkeys.map { .dictionary($0.entries) }) }
        if !choices.isEmpty {
            entries["pfm_range_list"] = .array(choices.map(\.value))
            if choices.contains(where: { $0.title != nil }) {
                entries["pfm_range_list_titles"] = .array(choices.map { .string($0.title ?? $0.value.plainText) })
            }
        }
        entries["pfm_range_min"] = minimum
        entries["pfm_range_max"] = maximum
        entries["pfm_format"] = format.map { .string($0.pattern) }
        if !exclusions.isEmpty {
            entries["pfm_exclude"] = .array(
                exclusions.map { ["pfm_target_conditions": [.dictionary($0.entries)]] })
        }
        if !requirements.isEmpty {
            entries["pfm_conditionals"] = .array(
                requirements.map { group in
                    [
                        "pfm_require": "always",
                        "pfm_target_conditions": .array(group.map { .dictionary($0.entries) }),
                    ]
                })
        }
        for (name, isSet) in [
            ("pfm_range_list_allow_custom_value", allowsOtherValues), ("pfm_flags", isBitField),
            ("pfm_hidden", isHidden), ("pfm_sensitive", isSensitive),
        ] where isSet { entries[name] = true }
        if scope != .roaming { entries["pfm_scope"] = .string(scope.rawValue) }
        return entries
    }
}

extension Texts {
    fileprivate var entries: [String: PropertyListValue] {
        let named = [
            ("pfm_title", title), ("pfm_description", description), ("pfm_description_reference", reference),
            ("pfm_note", note), ("pfm_value_unit", unit),
        ]
        return named.reduce(into: other) { entries, text in if let value = text.1 { entries[text.0] = .string(value) } }
    }
}

extension Condition {
    fileprivate var entries: [String: PropertyListValue] {
        let (name, value): (String, PropertyListValue) =
            switch test {
            case .isPresent(let isPresent): ("pfm_present", .boolean(isPresent))
            case .isEmpty(let isEmpty): ("pfm_value_empty", .boolean(isEmpty))
            case .isAmong(let list, let isAmong): (isAmong ? "pfm_range_list" : "pfm_n_range_list", .array(list))
            case .containsAny(let list, let contains):
                (contains ? "pfm_contains_any" : "pfm_n_contains_any", .array(list))
            }
        return ["pfm_target": .string(target), name: value]
    }
}
