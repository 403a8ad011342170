/// Corrections to the completion scripts that the parser generates.
enum CompletionScript {
    /// Corrects the output of `--generate-completion-script`; any other text is returned unchanged.
    static func finished(_ text: String) -> String {
        if text.hasPrefix("#!/bin/bash\n") { return "\(text)\n\n\(bash)" }
        // Without banghist, zsh inserts an exclamation mark unquoted, and then expands it as a history event.
        if text.hasPrefix("#compdef ") { return text.replacing("unsetopt aliases banghist", with: "unsetopt aliases") }
        if text.hasPrefix("function __defaults_") { return "\(text)\n\n\(fish)" }
        return text
    }

    /// The replacements for functions of the bash script.
    private static let bash = #"""
        # The script above splits the line as bash does, at colons and equals signs, too. It also lets bash quote what
        # it inserts, but bash leaves expansions unquoted, so that a name from a file could run a program. The functions
        # below split the line at blanks only and insert words as they are: the command quotes names. bash completes
        # files.
        __defaults_cursor_index_in_current_word() {
            printf %s "${#cur}"
        }

        __defaults_custom_complete() {
            "${COMP_WORDS[0]}" "${@}" "${COMP_WORDS[@]}"
        }

        __defaults_add_completions() {
            local completion
            case "${1}" in
            -d)
                compopt -o dirnames
                ;;
            -f)
                compopt -o default
                ;;
            *)
                while IFS='' read -r completion; do
                    COMPREPLY+=("${completion}")
                done <<<"${2}"
                ;;
            esac
        }

        __defaults_complete() {
            local -r line="${COMP_LINE:0:${COMP_POINT}}"
            local -a words=('')
            local quote='' part
            local -i index
            for ((index = 0; index < ${#line}; index++)); do
                part="${line:${index}:1}"
                if [[ -z "${quote}" && "${part}" == [[:blank:]] ]]; then
                    [[ -n "${words[-1]}" ]] && words+=('')
                    continue
                elif [[ "${part}" == '\' && "${quote}" != "'" ]]; then
                    part="${line:${index}:2}"
                    ((index++))
                elif [[ -z "${quote}" && "${part}" == [\'\"] ]]; then
                    quote="${part}"
                elif [[ "${part}" == "${quote}" ]]; then
                    quote=''
                fi
                words[-1]+="${part}"
            done

            local -a COMP_WORDS=("${words[@]}")
            local -i COMP_CWORD="$((${#words[@]} - 1))"
            local -r word="${words[-1]}"
            COMPREPLY=()
            _defaults "${1}" "${word}" "${words[-2]-}"

            # bash replaces only its own word, which begins after an open quote or, for example, after a colon.
            local -r before="${word%"${2}"}"
            local -a completions=()
            local completion
            for completion in "${COMPREPLY[@]}"; do
                [[ -n "${completion}" && "${completion}" == "${word}"* ]] && completions+=("${completion#"${before}"}")
            done
            COMPREPLY=("${completions[@]}")
            # A directory's name can be continued.
            [[ "${#COMPREPLY[@]}" -eq 1 && "${COMPREPLY[0]}" == */ ]] && compopt -o nospace
            return 0
        }

        complete -F __defaults_complete defaults
        """#

    /// The replacements for functions of the fish script.
    private static let fish = #"""
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
        """#
}
