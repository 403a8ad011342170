#!/bin/bash

__defaults_cursor_index_in_current_word() {
    local remaining="${COMP_LINE}"

    local word
    for word in "${COMP_WORDS[@]::COMP_CWORD}"; do
        remaining="${remaining##*([[:space:]])"${word}"*([[:space:]])}"
    done

    local -ir index="$((COMP_POINT - ${#COMP_LINE} + ${#remaining}))"
    if [[ "${index}" -le 0 ]]; then
        printf 0
    else
        printf %s "${index}"
    fi
}

# positional arguments:
#
# - 1: the current (sub)command's count of positional arguments
#
# required variables:
#
# - repeating_flags: the repeating flags that the current (sub)command can accept
# - non_repeating_flags: the non-repeating flags that the current (sub)command can accept
# - repeating_options: the repeating options that the current (sub)command can accept
# - non_repeating_options: the non-repeating options that the current (sub)command can accept
# - positional_number: value ignored
# - unparsed_words: unparsed words from the current command line
#
# modified variables:
#
# - non_repeating_flags: remove flags for this (sub)command that are already on the command line
# - non_repeating_options: remove options for this (sub)command that are already on the command line
# - positional_number: set to the current positional number
# - unparsed_words: remove all flags, options, and option values for this (sub)command
__defaults_offer_flags_options() {
    local -ir positional_count="${1}"
    positional_number=0

    local was_flag_option_terminator_seen=false
    local is_parsing_option_value=false

    local -ar unparsed_word_indices=("${!unparsed_words[@]}")
    local -i word_index
    for word_index in "${unparsed_word_indices[@]}"; do
        if "${is_parsing_option_value}"; then
            # This word is an option value:
            # Reset marker for next word iff not currently the last word
            [[ "${word_index}" -ne "${unparsed_word_indices[${#unparsed_word_indices[@]} - 1]}" ]] && is_parsing_option_value=false
            unset "unparsed_words[${word_index}]"
            # Do not process this word as a flag or an option
            continue
        fi

        local word="${unparsed_words["${word_index}"]}"
        if ! "${was_flag_option_terminator_seen}"; then
            case "${word}" in
            --)
                unset "unparsed_words[${word_index}]"
                # by itself -- is a flag/option terminator, but if it is the last word, it is the start of a completion
                if [[ "${word_index}" -ne "${unparsed_word_indices[${#unparsed_word_indices[@]} - 1]}" ]]; then
                    was_flag_option_terminator_seen=true
                fi
                continue
                ;;
            -*)
                # ${word} is a flag or an option
                # If ${word} is an option, mark that the next word to be parsed is an option value
                local option
                for option in "${repeating_options[@]}" "${non_repeating_options[@]}"; do
                    [[ "${word}" = "${option}" ]] && is_parsing_option_value=true && break
                done

                # Remove ${word} from ${non_repeating_flags} or ${non_repeating_options} so it isn't offered again
                local not_found=true
                local -i index
                for index in "${!non_repeating_flags[@]}"; do
                    if [[ "${non_repeating_flags[${index}]}" = "${word}" ]]; then
                        unset "non_repeating_flags[${index}]"
                        non_repeating_flags=("${non_repeating_flags[@]}")
                        not_found=false
                        break
                    fi
                done
                if "${not_found}"; then
                    for index in "${!non_repeating_flags[@]}"; do
                        if [[ "${non_repeating_flags[${index}]}" = "${word}" ]]; then
                            unset "non_repeating_flags[${index}]"
                            non_repeating_flags=("${non_repeating_flags[@]}")
                            break
                        fi
                    done
                fi
                unset "unparsed_words[${word_index}]"
                continue
                ;;
            esac
        fi

        # ${word} is neither a flag, nor an option, nor an option value
        if [[ "${positional_number}" -lt "${positional_count}" || "${positional_count}" -lt 0 ]]; then
            # ${word} is a positional
            ((positional_number++))
            unset "unparsed_words[${word_index}]"
        else
            if [[ -z "${word}" ]]; then
                # Could be completing a flag, option, or subcommand
                positional_number=-1
            else
                # ${word} is a subcommand or invalid, so stop processing this (sub)command
                positional_number=-2
            fi
            break
        fi
    done

    unparsed_words=("${unparsed_words[@]}")

    if\
        ! "${was_flag_option_terminator_seen}"\
        && ! "${is_parsing_option_value}"\
        && [[ ("${cur}" = -* && "${positional_number}" -ge 0) || "${positional_number}" -eq -1 ]]
    then
        COMPREPLY+=($(compgen -W "${repeating_flags[*]} ${non_repeating_flags[*]} ${repeating_options[*]} ${non_repeating_options[*]}" -- "${cur}"))
    fi
}

__defaults_add_completions() {
    local completion
    while IFS='' read -r completion; do
        COMPREPLY+=("${completion}")
    done < <(IFS=$'\n' compgen "${@}" -- "${cur}")
}

__defaults_custom_complete() {
    if [[ -n "${cur}" || -z ${COMP_WORDS[${COMP_CWORD}]} || "${COMP_LINE:${COMP_POINT}:1}" != ' ' ]]; then
        local -ar words=("${COMP_WORDS[@]}")
    else
        local -ar words=("${COMP_WORDS[@]::${COMP_CWORD}}" '' "${COMP_WORDS[@]:${COMP_CWORD}}")
    fi

    "${COMP_WORDS[0]}" "${@}" "${words[@]}"
}

_defaults() {
    local state
    state="$(shopt -p;shopt -po)"
    trap "${state//$'\n'/;}" RETURN
    shopt -s extglob
    set +o history +o posix

    local -xr SAP_SHELL=bash
    local -x SAP_SHELL_VERSION
    SAP_SHELL_VERSION="$(IFS='.';printf %s "${BASH_VERSINFO[*]}")"
    local -r SAP_SHELL_VERSION

    local -r cur="${2}"
    local -r prev="${3}"

    local -i positional_number
    local -a unparsed_words=("${COMP_WORDS[@]:1:${COMP_CWORD}}")

    local -a repeating_flags=()
    local -a non_repeating_flags=(-currentHost --version -h --help)
    local -a repeating_options=()
    local -a non_repeating_options=(--directory --socket -host -app)
    __defaults_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac

    # Offer subcommand / subcommand argument completions
    local -r subcommand="${unparsed_words[0]}"
    unset 'unparsed_words[0]'
    unparsed_words=("${unparsed_words[@]}")
    case "${subcommand}" in
    read|read-type|write|rename|delete|delete-all|domains|find|explain|describe|edit|reset|import|export|convert|diff|manifest|log|undo|redo|record|apply|tail|view|fleet|gsettings|status|doctor|sync|socket|bridge|help)
        # Offer subcommand argument completions
        "_defaults_${subcommand}"
        ;;
    *)
        # Offer subcommand completions
        COMPREPLY+=($(compgen -W 'read read-type write rename delete delete-all domains find explain describe edit reset import export convert diff manifest log undo redo record apply tail view fleet gsettings status doctor sync socket bridge help' -- "${cur}"))
        ;;
    esac
}

_defaults_read() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --json --raw --key-path --literal-key --effective --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app --plist --at)
    __defaults_offer_flags_options 2

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion read -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    '--plist')
        __defaults_add_completions -W 'xml'$'\n''binary'
        return
        ;;
    '--at')
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion read -- positional@0 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    2)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion read -- positional@1 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_defaults_read-type() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --key-path --literal-key --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app)
    __defaults_offer_flags_options 2

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion read-type -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion read-type -- positional@0 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    2)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion read-type -- positional@1 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_defaults_write() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --key-path --literal-key --force --strict --json --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app)
    __defaults_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion write -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion write -- positional@0 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    *)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion write -- positional@1 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_defaults_rename() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app)
    __defaults_offer_flags_options 3

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion rename -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion rename -- positional@0 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    2)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion rename -- positional@1 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_defaults_delete() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --key-path --literal-key --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app)
    __defaults_offer_flags_options 2

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion delete -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion delete -- positional@0 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    2)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion delete -- positional@1 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_defaults_delete-all() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app)
    __defaults_offer_flags_options 2

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion delete-all -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion delete-all -- positional@0 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    2)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion delete-all -- positional@1 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_defaults_domains() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --json --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app)
    __defaults_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion domains -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_defaults_find() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app)
    __defaults_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion find -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_defaults_explain() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --json --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app --color)
    __defaults_offer_flags_options 2

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion explain -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    '--color')
        __defaults_add_completions -W 'auto'$'\n''always'$'\n''never'
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion explain -- positional@0 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    2)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion explain -- positional@1 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_defaults_describe() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --json --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app --color)
    __defaults_offer_flags_options 2

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion describe -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    '--color')
        __defaults_add_completions -W 'auto'$'\n''always'$'\n''never'
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion describe -- positional@0 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    2)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion describe -- positional@1 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_defaults_edit() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --strict --xml --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app)
    __defaults_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion edit -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion edit -- positional@0 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_defaults_reset() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --dry-run --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app --color)
    __defaults_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion reset -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    '--color')
        __defaults_add_completions -W 'auto'$'\n''always'$'\n''never'
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion reset -- positional@0 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    *)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion reset -- positional@1 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_defaults_import() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --force --strict --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app)
    __defaults_offer_flags_options 2

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion import -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion import -- positional@0 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    2)
        __defaults_add_completions -f
        return
        ;;
    esac
}

_defaults_export() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --settings-only --json-schema --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app)
    __defaults_offer_flags_options 2

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion export -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion export -- positional@0 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    2)
        __defaults_add_completions -f
        return
        ;;
    esac
}

_defaults_convert() {
    repeating_flags=()
    non_repeating_flags=(--version -h --help)
    repeating_options=()
    non_repeating_options=(--to)
    __defaults_offer_flags_options 2

    # Offer option value completions
    case "${prev}" in
    '--to')
        __defaults_add_completions -W 'xml'$'\n''binary'$'\n''old-style'$'\n''json'
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __defaults_add_completions -f
        return
        ;;
    2)
        __defaults_add_completions -f
        return
        ;;
    esac
}

_defaults_diff() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --json --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app --color --since --until)
    __defaults_offer_flags_options 2

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion diff -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    '--color')
        __defaults_add_completions -W 'auto'$'\n''always'$'\n''never'
        return
        ;;
    '--since')
        return
        ;;
    '--until')
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion diff -- positional@0 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    2)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion diff -- positional@1 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_defaults_manifest() {
    repeating_flags=()
    non_repeating_flags=(--quiet --force --version -h --help)
    repeating_options=()
    non_repeating_options=(--to --language)
    __defaults_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--to')
        __defaults_add_completions -d
        return
        ;;
    '--language')
        __defaults_add_completions -W 'swift'$'\n''python'
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __defaults_add_completions -W 'check'$'\n''import'$'\n''keys'
        return
        ;;
    *)
        __defaults_add_completions -f
        return
        ;;
    esac
}

_defaults_log() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --json --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app --by --since --until -n --color)
    __defaults_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion log -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    '--by')
        return
        ;;
    '--since')
        return
        ;;
    '--until')
        return
        ;;
    '-n')
        return
        ;;
    '--color')
        __defaults_add_completions -W 'auto'$'\n''always'$'\n''never'
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion log -- positional@0 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    *)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion log -- positional@1 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_defaults_undo() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --dry-run --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app --last --since --until --by --color)
    __defaults_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion undo -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    '--last')
        return
        ;;
    '--since')
        return
        ;;
    '--until')
        return
        ;;
    '--by')
        return
        ;;
    '--color')
        __defaults_add_completions -W 'auto'$'\n''always'$'\n''never'
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion undo -- positional@0 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    *)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion undo -- positional@1 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_defaults_redo() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --dry-run --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app --last --since --until --by --color)
    __defaults_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion redo -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    '--last')
        return
        ;;
    '--since')
        return
        ;;
    '--until')
        return
        ;;
    '--by')
        return
        ;;
    '--color')
        __defaults_add_completions -W 'auto'$'\n''always'$'\n''never'
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion redo -- positional@0 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    *)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion redo -- positional@1 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_defaults_record() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --all --commands --without-secrets --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app --by --since --until)
    __defaults_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion record -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    '--by')
        return
        ;;
    '--since')
        return
        ;;
    '--until')
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    *)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion record -- positional@0 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_defaults_apply() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --dry-run --strict --prune --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app --name --undo --color)
    __defaults_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion apply -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    '--name')
        return
        ;;
    '--undo')
        return
        ;;
    '--color')
        __defaults_add_completions -W 'auto'$'\n''always'$'\n''never'
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __defaults_add_completions -f
        return
        ;;
    esac
}

_defaults_tail() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --json --initial --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app --since --cursor-file -n --timeout --mode --exec --color)
    __defaults_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion tail -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    '--since')
        return
        ;;
    '--cursor-file')
        __defaults_add_completions -f
        return
        ;;
    '-n')
        return
        ;;
    '--timeout')
        return
        ;;
    '--mode')
        __defaults_add_completions -W 'latest'$'\n''everything'
        return
        ;;
    '--exec')
        return
        ;;
    '--color')
        __defaults_add_completions -W 'auto'$'\n''always'$'\n''never'
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion tail -- positional@0 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    *)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion tail -- positional@1 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_defaults_view() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --read-only --print-url --allow-root --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app)
    __defaults_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion view -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion view -- positional@0 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_defaults_fleet() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app)
    __defaults_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion fleet -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    *)
        __defaults_add_completions -W 'join'$'\n''approve'$'\n''add'$'\n''remove'$'\n''status'$'\n''review'$'\n''leave'$'\n''run'$'\n''init'$'\n''receive'$'\n''push'$'\n''rollout'
        return
        ;;
    esac
}

_defaults_gsettings() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --json --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app --prefer)
    __defaults_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion gsettings -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    '--prefer')
        __defaults_add_completions -W 'dconf'$'\n''defaultsd'
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __defaults_add_completions -W 'enable'$'\n''disable'$'\n''status'$'\n''noise'
        return
        ;;
    esac
}

_defaults_status() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --json --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app)
    __defaults_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion status -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_defaults_doctor() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --json --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app --color)
    __defaults_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion doctor -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    '--color')
        __defaults_add_completions -W 'auto'$'\n''always'$'\n''never'
        return
        ;;
    esac
}

_defaults_sync() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app)
    __defaults_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion sync -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    *)
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion sync -- positional@0 "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_defaults_socket() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app)
    __defaults_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion socket -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_defaults_bridge() {
    repeating_flags=()
    non_repeating_flags=(-currentHost --version -h --help)
    repeating_options=()
    non_repeating_options=(--directory --socket -host -app)
    __defaults_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--directory')
        __defaults_add_completions -d
        return
        ;;
    '--socket')
        __defaults_add_completions -f
        return
        ;;
    '-host')
        return
        ;;
    '-app')
        __defaults_add_completions -W "$(__defaults_custom_complete ---completion bridge -- -app "${COMP_CWORD}" "$(__defaults_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_defaults_help() {
    repeating_flags=()
    non_repeating_flags=(--version)
    repeating_options=()
    non_repeating_options=()
    __defaults_offer_flags_options -1
}

complete -o filenames -F _defaults defaults

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
