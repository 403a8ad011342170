/// What the completion script for fish has beside what the parser makes of the command.
enum FishAddition {
    /// Functions that replace those of the script.
    static let text = #"""

        # fish's argparse takes an option of one dash for letters, so these are left out where the verb and the domain are sought.
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

        """#
}
