function __defaults_should_offer_completions_for_flags_or_options -a expected_commands
    set -l non_repeating_flags_or_options $argv[2..]
    set -l non_repeating_flags_or_options_absent 0
    set -l positional_index 0
    set -l commands
    __defaults_parse_tokens
    test "$commands" = "$expected_commands"; and return $non_repeating_flags_or_options_absent
end

function __defaults_should_offer_completions_for_positional -a expected_commands positional_index_comparison expected_positional_index
    set -l non_repeating_flags_or_options
    set -l non_repeating_flags_or_options_absent 0
    set -l positional_index 0
    set -l commands
    __defaults_parse_tokens
    test "$commands" = "$expected_commands" -a \( "$positional_index" "$positional_index_comparison" "$expected_positional_index" \)
end

function __defaults_parse_tokens -S
    set -l unparsed_tokens (__defaults_tokens -pc)
    switch $unparsed_tokens[1]
    case 'defaults'
        __defaults_parse_subcommand 0 'directory=' 'socket=' 'version' 'h/help'
        switch $unparsed_tokens[1]
        case 'read'
            __defaults_parse_subcommand 2 'directory=' 'socket=' 'json' 'plist=' 'raw' 'key-path' 'literal-key' 'effective' 'at=' 'version' 'h/help'
        case 'read-type'
            __defaults_parse_subcommand 2 'directory=' 'socket=' 'key-path' 'literal-key' 'version' 'h/help'
        case 'write'
            __defaults_parse_subcommand -r 2 'directory=' 'socket=' 'key-path' 'literal-key' 'force' 'strict' 'json' 'version' 'h/help'
        case 'rename'
            __defaults_parse_subcommand 3 'directory=' 'socket=' 'version' 'h/help'
        case 'delete'
            __defaults_parse_subcommand 2 'directory=' 'socket=' 'key-path' 'literal-key' 'version' 'h/help'
        case 'delete-all'
            __defaults_parse_subcommand 2 'directory=' 'socket=' 'version' 'h/help'
        case 'domains'
            __defaults_parse_subcommand 0 'directory=' 'socket=' 'json' 'version' 'h/help'
        case 'find'
            __defaults_parse_subcommand 1 'directory=' 'socket=' 'version' 'h/help'
        case 'explain'
            __defaults_parse_subcommand 2 'directory=' 'socket=' 'json' 'color=' 'version' 'h/help'
        case 'describe'
            __defaults_parse_subcommand 2 'directory=' 'socket=' 'json' 'color=' 'version' 'h/help'
        case 'edit'
            __defaults_parse_subcommand 1 'directory=' 'socket=' 'strict' 'xml' 'version' 'h/help'
        case 'reset'
            __defaults_parse_subcommand -r 2 'directory=' 'socket=' 'dry-run' 'color=' 'version' 'h/help'
        case 'import'
            __defaults_parse_subcommand 2 'directory=' 'socket=' 'force' 'strict' 'version' 'h/help'
        case 'export'
            __defaults_parse_subcommand 2 'directory=' 'socket=' 'settings-only' 'json-schema' 'version' 'h/help'
        case 'convert'
            __defaults_parse_subcommand 2 'to=' 'version' 'h/help'
        case 'diff'
            __defaults_parse_subcommand 2 'directory=' 'socket=' 'json' 'color=' 'since=' 'until=' 'version' 'h/help'
        case 'manifest'
            __defaults_parse_subcommand -r 2 'quiet' 'to=' 'force' 'language=' 'version' 'h/help'
        case 'log'
            __defaults_parse_subcommand -r 2 'directory=' 'socket=' 'by=' 'since=' 'until=' 'n=' 'json' 'color=' 'version' 'h/help'
        case 'undo'
            __defaults_parse_subcommand -r 2 'directory=' 'socket=' 'last=' 'since=' 'until=' 'by=' 'dry-run' 'color=' 'version' 'h/help'
        case 'redo'
            __defaults_parse_subcommand -r 2 'directory=' 'socket=' 'last=' 'since=' 'until=' 'by=' 'dry-run' 'color=' 'version' 'h/help'
        case 'record'
            __defaults_parse_subcommand -r 1 'directory=' 'socket=' 'by=' 'since=' 'until=' 'all' 'commands' 'without-secrets' 'version' 'h/help'
        case 'apply'
            __defaults_parse_subcommand 1 'directory=' 'socket=' 'dry-run' 'strict' 'prune' 'name=' 'undo=' 'color=' 'version' 'h/help'
        case 'tail'
            __defaults_parse_subcommand -r 2 'directory=' 'socket=' 'json' 'since=' 'cursor-file=' 'initial' 'n=' 'timeout=' 'mode=' 'exec=' 'color=' 'version' 'h/help'
        case 'view'
            __defaults_parse_subcommand 1 'directory=' 'socket=' 'read-only' 'print-url' 'allow-root' 'version' 'h/help'
        case 'fleet'
            __defaults_parse_subcommand -r 1 'directory=' 'socket=' 'version' 'h/help'
        case 'gsettings'
            __defaults_parse_subcommand 1 'directory=' 'socket=' 'prefer=' 'json' 'version' 'h/help'
        case 'status'
            __defaults_parse_subcommand 0 'directory=' 'socket=' 'json' 'version' 'h/help'
        case 'doctor'
            __defaults_parse_subcommand 0 'directory=' 'socket=' 'json' 'color=' 'version' 'h/help'
        case 'sync'
            __defaults_parse_subcommand -r 1 'directory=' 'socket=' 'version' 'h/help'
        case 'socket'
            __defaults_parse_subcommand 0 'directory=' 'socket=' 'version' 'h/help'
        case 'bridge'
            __defaults_parse_subcommand 0 'directory=' 'socket=' 'version' 'h/help'
        case 'help'
            __defaults_parse_subcommand -r 1 'version'
        end
    end
end

function __defaults_tokens
    if test (string split -m 1 -f 1 -- . "$FISH_VERSION") -gt 3
        commandline --tokens-raw $argv
    else
        commandline -o $argv
    end
end

function __defaults_parse_subcommand -S -a positional_count
    argparse -s r -- $argv
    set -l option_specs $argv[2..]
    set -l is_repeating_positional $_flag_r
    set -el _flag_r
    set -a commands $unparsed_tokens[1]
    set positional_index 0
    while true
        set -e unparsed_tokens[1]
        argparse -sn "$commands" $option_specs -- $unparsed_tokens 2> /dev/null
        set unparsed_tokens $argv
        set positional_index (math $positional_index + 1)
        for non_repeating_flag_or_option in $non_repeating_flags_or_options
            if set -ql "_flag_$(string replace -a - _ -- $non_repeating_flag_or_option)"
                set non_repeating_flags_or_options_absent 1
                break
            end
        end
        test (count $unparsed_tokens) -eq 0 -o \( -z "$is_repeating_positional" -a "$positional_index" -gt "$positional_count" \) && break
    end
end

function __defaults_complete_directories
    set -l token (commandline -t)
    string match -- '*/' $token
    set -l subdirs $token*/
    printf %s\n $subdirs
end

function __defaults_custom_completion
    set -x SAP_SHELL fish
    set -x SAP_SHELL_VERSION $FISH_VERSION
    set -l tokens (__defaults_tokens -p)
    if test -z "$(__defaults_tokens -t)"
        set -l index (count (__defaults_tokens -pc))
        set tokens $tokens[..$index] \'\' $tokens[(math $index + 1)..]
    end
    command $tokens[1] $argv $tokens
end

complete -c 'defaults' -f
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'read' -d 'Print all domains, one domain, or the value of a key.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'read-type' -d 'Print the type of a key\'s value.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'write' -d 'Set a key, or replace a domain with a dictionary.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'rename' -d 'Rename a key.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'delete' -d 'Delete a domain or a key.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'delete-all' -d 'Delete a domain or a key for all hosts.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'domains' -d 'List all domains except the global one.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'find' -d 'Search domain names, keys and strings for a word.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'explain' -d 'Show which layers have a key, and which one wins.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'describe' -d 'Show what the keys of a domain mean.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'edit' -d 'Edit a domain in your editor.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'reset' -d 'Remove settings, so that their defaults apply.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'import' -d 'Set the keys of a domain from a property list or JSON.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'export' -d 'Write a domain to a property list file.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'convert' -d 'Convert a property list to another format.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'diff' -d 'Compare two domains, a domain and a file, or a domain and its past.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'manifest' -d 'Check manifests, import schemas, and make typed keys.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'log' -d 'Show earlier changes, newest first.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'undo' -d 'Undo earlier changes.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'redo' -d 'Redo changes that were undone.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'record' -d 'Record changes, and print them as a profile.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'apply' -d 'Apply a profile.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'tail' -d 'Show changes as they happen.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'view' -d 'See preferences live in a browser.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'fleet' -d 'Keep preferences the same on several machines.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'gsettings' -d 'Use the agent for GNOME\'s settings.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'status' -d 'Show the agent\'s status.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'doctor' -d 'Find what keeps changes from taking effect at once.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'sync' -d 'Wait until earlier changes are on disk and delivered.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'socket' -d 'Print the path of the agent\'s socket.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'bridge' -d 'Talk to the agent in lines of JSON.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults" -eq 1' -fa 'help' -d 'Show subcommand help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults read" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults read" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults read" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults read" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults read" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion read -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults read" json' -l 'json' -d 'Print JSON.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults read" plist' -l 'plist' -d 'Print a property list: xml or binary.' -rfka 'xml binary'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults read" raw' -l 'raw' -d 'Print data as raw bytes, and other values as text.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults read" key-path' -l 'key-path' -d 'Always treat the key as a path, whether or not it leads to a value.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults read" literal-key' -l 'literal-key' -d 'Treat the key as literal text, with dots and backslashes.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults read" effective' -l 'effective' -d 'Print the values that an app of that name finds in all layers.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults read" at' -l 'at' -d 'Print the values at this time, number or cursor.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults read" -eq 1' -fka '(__defaults_custom_completion ---completion read -- positional@0 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults read" -eq 2' -fka '(__defaults_custom_completion ---completion read -- positional@1 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults read" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults read" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults read-type" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults read-type" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults read-type" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults read-type" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults read-type" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion read-type -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults read-type" key-path' -l 'key-path' -d 'Always treat the key as a path, whether or not it leads to a value.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults read-type" literal-key' -l 'literal-key' -d 'Treat the key as literal text, with dots and backslashes.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults read-type" -eq 1' -fka '(__defaults_custom_completion ---completion read-type -- positional@0 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults read-type" -eq 2' -fka '(__defaults_custom_completion ---completion read-type -- positional@1 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults read-type" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults read-type" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults write" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults write" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults write" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults write" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults write" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion write -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults write" key-path' -l 'key-path' -d 'Always treat the key as a path, whether or not it leads to a value.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults write" literal-key' -l 'literal-key' -d 'Treat the key as literal text, with dots and backslashes.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults write" force' -l 'force' -d 'Replace a linked file, or one named by its path, that isn\'t a property list; a copy is kept.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults write" strict' -l 'strict' -d 'Change nothing if a value breaks the domain\'s manifest.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults write" json' -l 'json' -d 'Read the value as JSON, as `read --json` prints it.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults write" -eq 1' -fka '(__defaults_custom_completion ---completion write -- positional@0 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults write" -ge 2' -fka '(__defaults_custom_completion ---completion write -- positional@1 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults write" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults write" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults rename" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults rename" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults rename" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults rename" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults rename" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion rename -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults rename" -eq 1' -fka '(__defaults_custom_completion ---completion rename -- positional@0 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults rename" -eq 2' -fka '(__defaults_custom_completion ---completion rename -- positional@1 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults rename" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults rename" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults delete" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults delete" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults delete" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults delete" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults delete" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion delete -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults delete" key-path' -l 'key-path' -d 'Always treat the key as a path, whether or not it leads to a value.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults delete" literal-key' -l 'literal-key' -d 'Treat the key as literal text, with dots and backslashes.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults delete" -eq 1' -fka '(__defaults_custom_completion ---completion delete -- positional@0 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults delete" -eq 2' -fka '(__defaults_custom_completion ---completion delete -- positional@1 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults delete" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults delete" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults delete-all" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults delete-all" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults delete-all" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults delete-all" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults delete-all" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion delete-all -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults delete-all" -eq 1' -fka '(__defaults_custom_completion ---completion delete-all -- positional@0 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults delete-all" -eq 2' -fka '(__defaults_custom_completion ---completion delete-all -- positional@1 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults delete-all" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults delete-all" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults domains" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults domains" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults domains" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults domains" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults domains" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion domains -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults domains" json' -l 'json' -d 'Print JSON.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults domains" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults domains" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults find" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults find" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults find" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults find" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults find" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion find -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults find" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults find" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults explain" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults explain" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults explain" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults explain" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults explain" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion explain -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults explain" json' -l 'json' -d 'Print JSON.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults explain" color' -l 'color' -d 'Use colors: auto, always or never.' -rfka 'auto always never'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults explain" -eq 1' -fka '(__defaults_custom_completion ---completion explain -- positional@0 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults explain" -eq 2' -fka '(__defaults_custom_completion ---completion explain -- positional@1 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults explain" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults explain" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults describe" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults describe" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults describe" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults describe" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults describe" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion describe -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults describe" json' -l 'json' -d 'Print JSON.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults describe" color' -l 'color' -d 'Use colors: auto, always or never.' -rfka 'auto always never'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults describe" -eq 1' -fka '(__defaults_custom_completion ---completion describe -- positional@0 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults describe" -eq 2' -fka '(__defaults_custom_completion ---completion describe -- positional@1 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults describe" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults describe" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults edit" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults edit" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults edit" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults edit" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults edit" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion edit -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults edit" strict' -l 'strict' -d 'Change nothing if a value breaks the domain\'s manifest.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults edit" xml' -l 'xml' -d 'Edit the domain as XML.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults edit" -eq 1' -fka '(__defaults_custom_completion ---completion edit -- positional@0 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults edit" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults edit" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults reset" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults reset" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults reset" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults reset" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults reset" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion reset -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults reset" dry-run' -l 'dry-run' -d 'Show what would be changed, but change nothing.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults reset" color' -l 'color' -d 'Use colors: auto, always or never.' -rfka 'auto always never'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults reset" -eq 1' -fka '(__defaults_custom_completion ---completion reset -- positional@0 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults reset" -ge 2' -fka '(__defaults_custom_completion ---completion reset -- positional@1 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults reset" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults reset" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults import" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults import" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults import" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults import" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults import" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion import -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults import" force' -l 'force' -d 'Replace a linked file, or one named by its path, that isn\'t a property list; a copy is kept.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults import" strict' -l 'strict' -d 'Change nothing if a value breaks the domain\'s manifest.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults import" -eq 1' -fka '(__defaults_custom_completion ---completion import -- positional@0 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults import" -eq 2' -F
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults import" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults import" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults export" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults export" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults export" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults export" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults export" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion export -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults export" settings-only' -l 'settings-only' -d 'Leave out keys that aren\'t settings for all machines.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults export" json-schema' -l 'json-schema' -d 'Write a JSON Schema of the domain\'s manifest.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults export" -eq 1' -fka '(__defaults_custom_completion ---completion export -- positional@0 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults export" -eq 2' -F
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults export" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults export" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults convert" to' -l 'to' -d 'The format: xml, binary, old-style or json (default: json for a .json file, else xml).' -rfka 'xml binary old-style json'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults convert" -eq 1' -F
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults convert" -eq 2' -F
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults convert" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults convert" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults diff" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults diff" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults diff" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults diff" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults diff" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion diff -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults diff" json' -l 'json' -d 'Print JSON.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults diff" color' -l 'color' -d 'Use colors: auto, always or never.' -rfka 'auto always never'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults diff" -eq 1' -fka '(__defaults_custom_completion ---completion diff -- positional@0 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults diff" -eq 2' -fka '(__defaults_custom_completion ---completion diff -- positional@1 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults diff" since' -l 'since' -d 'The start: a time, a number or a cursor.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults diff" until' -l 'until' -d 'The end: a time, a number or a cursor.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults diff" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults diff" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults manifest" quiet' -l 'quiet' -d 'With check: don\'t name the entries that aren\'t used.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults manifest" to' -l 'to' -d 'With import: the directory for the manifests.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults manifest" force' -l 'force' -d 'With import: replace existing files.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults manifest" language' -l 'language' -d 'With keys: swift (default) or python.' -rfka 'swift python'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults manifest" -eq 1' -fka 'check import keys'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults manifest" -ge 2' -F
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults manifest" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults manifest" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults log" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults log" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults log" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults log" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults log" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion log -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults log" by' -l 'by' -d 'Only changes by this program.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults log" since' -l 'since' -d 'The start: a time, a number or a cursor.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults log" until' -l 'until' -d 'The end: a time, a number or a cursor.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults log" n' -s 'n' -d 'Show at most this many change sets.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults log" json' -l 'json' -d 'Print one JSON object per line, as `defaults tail --json` does.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults log" color' -l 'color' -d 'Use colors: auto, always or never.' -rfka 'auto always never'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults log" -eq 1' -fka '(__defaults_custom_completion ---completion log -- positional@0 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults log" -ge 2' -fka '(__defaults_custom_completion ---completion log -- positional@1 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults log" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults log" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults undo" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults undo" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults undo" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults undo" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults undo" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion undo -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults undo" last' -l 'last' -d 'Undo or redo this many change sets.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults undo" since' -l 'since' -d 'The start: a time, a number or a cursor.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults undo" until' -l 'until' -d 'The end: a time, a number or a cursor.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults undo" by' -l 'by' -d 'Only changes by this program.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults undo" dry-run' -l 'dry-run' -d 'Show what would be changed, but change nothing.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults undo" color' -l 'color' -d 'Use colors: auto, always or never.' -rfka 'auto always never'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults undo" -eq 1' -fka '(__defaults_custom_completion ---completion undo -- positional@0 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults undo" -ge 2' -fka '(__defaults_custom_completion ---completion undo -- positional@1 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults undo" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults undo" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults redo" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults redo" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults redo" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults redo" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults redo" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion redo -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults redo" last' -l 'last' -d 'Undo or redo this many change sets.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults redo" since' -l 'since' -d 'The start: a time, a number or a cursor.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults redo" until' -l 'until' -d 'The end: a time, a number or a cursor.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults redo" by' -l 'by' -d 'Only changes by this program.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults redo" dry-run' -l 'dry-run' -d 'Show what would be changed, but change nothing.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults redo" color' -l 'color' -d 'Use colors: auto, always or never.' -rfka 'auto always never'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults redo" -eq 1' -fka '(__defaults_custom_completion ---completion redo -- positional@0 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults redo" -ge 2' -fka '(__defaults_custom_completion ---completion redo -- positional@1 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults redo" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults redo" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults record" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults record" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults record" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults record" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults record" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion record -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults record" by' -l 'by' -d 'Only changes by this program.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults record" since' -l 'since' -d 'The start: a time, a number or a cursor.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults record" until' -l 'until' -d 'The end: a time, a number or a cursor.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults record" all' -l 'all' -d 'Print the profile of all values that you have set.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults record" commands' -l 'commands' -d 'Print commands instead of a profile.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults record" without-secrets' -l 'without-secrets' -d 'Leave out the values that a manifest says are secret.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults record" -ge 1' -fka '(__defaults_custom_completion ---completion record -- positional@0 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults record" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults record" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults apply" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults apply" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults apply" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults apply" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults apply" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion apply -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults apply" dry-run' -l 'dry-run' -d 'Show what would be changed, but change nothing.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults apply" strict' -l 'strict' -d 'Change nothing if a value breaks the domain\'s manifest.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults apply" prune' -l 'prune' -d 'Reset keys that the profile no longer mentions.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults apply" name' -l 'name' -d 'The profile\'s name (default: the name of the file).' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults apply" undo' -l 'undo' -d 'Reset all keys that the profile of this name has set.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults apply" color' -l 'color' -d 'Use colors: auto, always or never.' -rfka 'auto always never'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults apply" -eq 1' -F
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults apply" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults apply" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults tail" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults tail" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults tail" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults tail" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults tail" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion tail -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults tail" json' -l 'json' -d 'Print one JSON object per line.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults tail" since' -l 'since' -d 'Start after this time, number or cursor, unless the cursor file has one.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults tail" cursor-file' -l 'cursor-file' -d 'Start where the last run with this file ended, and record progress in it.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults tail" initial' -l 'initial' -d 'Show the current values first.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults tail" n' -s 'n' -d 'Exit after this many change sets, not counting current values.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults tail" timeout' -l 'timeout' -d 'Exit after this many seconds.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults tail" mode' -l 'mode' -d 'If output falls behind: latest (show only each key\'s latest change) or everything.' -rfka 'latest everything'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults tail" exec' -l 'exec' -d 'Run this shell command for each change set instead of printing it.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults tail" color' -l 'color' -d 'Use colors: auto, always or never.' -rfka 'auto always never'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults tail" -eq 1' -fka '(__defaults_custom_completion ---completion tail -- positional@0 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults tail" -ge 2' -fka '(__defaults_custom_completion ---completion tail -- positional@1 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults tail" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults tail" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults view" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults view" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults view" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults view" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults view" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion view -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults view" read-only' -l 'read-only' -d 'Let the page change nothing.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults view" print-url' -l 'print-url' -d 'Print the page\'s address, instead of starting a browser.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults view" allow-root' -l 'allow-root' -d 'Run also as root, to show root\'s preferences.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults view" -eq 1' -fka '(__defaults_custom_completion ---completion view -- positional@0 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults view" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults view" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults fleet" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults fleet" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults fleet" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults fleet" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults fleet" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion fleet -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults fleet" -ge 1' -fka 'join approve add remove status review leave run init receive push rollout'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults fleet" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults fleet" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults gsettings" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults gsettings" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults gsettings" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults gsettings" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults gsettings" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion gsettings -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults gsettings" prefer' -l 'prefer' -d 'With enable and disable: the side whose values to use, dconf or defaultsd.' -rfka 'dconf defaultsd'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults gsettings" json' -l 'json' -d 'With status: print JSON.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults gsettings" -eq 1' -fka 'enable disable status noise'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults gsettings" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults gsettings" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults status" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults status" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults status" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults status" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults status" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion status -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults status" json' -l 'json' -d 'Print JSON.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults status" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults status" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults doctor" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults doctor" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults doctor" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults doctor" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults doctor" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion doctor -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults doctor" json' -l 'json' -d 'Print JSON.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults doctor" color' -l 'color' -d 'Use colors: auto, always or never.' -rfka 'auto always never'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults doctor" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults doctor" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults sync" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults sync" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults sync" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults sync" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults sync" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion sync -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_positional "defaults sync" -ge 1' -fka '(__defaults_custom_completion ---completion sync -- positional@0 (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults sync" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults sync" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults socket" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults socket" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults socket" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults socket" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults socket" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion socket -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults socket" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults socket" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults bridge" directory' -l 'directory' -d 'The preferences directory, instead of DEFAULTS_DIRECTORY or the default directory.' -rfa '(__defaults_complete_directories)'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults bridge" socket' -l 'socket' -d 'The agent\'s socket, instead of DEFAULTSD_SOCKET or the default path.' -rF
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults bridge" currentHost' -o 'currentHost' -d 'Use only preferences for this host.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults bridge" host' -o 'host' -d 'Use only preferences for the host with this identifier.' -rfka ''
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults bridge" app' -o 'app' -d 'Use the domain of an application, given its name, desktop file or executable.' -rfka '(__defaults_custom_completion ---completion bridge -- -app (count (__defaults_tokens -pc)) (__defaults_tokens -tC))'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults bridge" version' -l 'version' -d 'Show the version.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults bridge" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'defaults' -n '__defaults_should_offer_completions_for_flags_or_options "defaults help" version' -l 'version' -d 'Show the version.'

# fish's argparse reads an option with a single dash as letters, so these options are removed before the verb
# and the domain are searched.
functions -c __defaults_parse_subcommand __defaults_parse_subcommand_of_letters
function __defaults_parse_subcommand -S
    set unparsed_tokens (__defaults_without_single_dashes $unparsed_tokens)
    __defaults_parse_subcommand_of_letters $argv
end

function __defaults_without_single_dashes
    set -l before
    set -l words 0
    for token in $argv
        if test "$before" = -host
            set before
            continue
        else if test "$before" = -app
            set before
            # An application's domain is the verb's first operand.
            test $words -lt 2; and continue
        else if contains -- $token -host -app
            set before $token
            continue
        else if test "$token" = -currentHost
            continue
        else if contains -- $token -g -globalDomain
            set token NSGlobalDomain
        end
        string match -q -- '-*' $token; or set words (math $words + 1)
        printf '%s\n' $token
    end
end

# At each completion, fish checks some 280 conditions, nearly all of them about other verbs. Parsing the line
# for each would take half a second.
for __defaults_kind in flags_or_options positional
    functions -c __defaults_should_offer_completions_for_$__defaults_kind __defaults_offer_$__defaults_kind
    function __defaults_should_offer_completions_for_$__defaults_kind -V __defaults_kind -a expected_commands
        contains -- (string split ' ' $expected_commands)[-1] (__defaults_tokens -pc)
        and __defaults_offer_$__defaults_kind $argv
    end
end
set -e __defaults_kind
