# shellcheck shell=dash disable=SC2154,SC3013
# Functions of Config/install and the Debian package that find, restart and end agents and the other services. The
# variable `program` has the path of the installed agent.

# Prints the user IDs of the running systemd user managers.
managed_users() {
    for socket in /run/user/*/systemd/private; do
        [ -S "$socket" ] || continue
        user=${socket#/run/user/}
        printf '%s\n' "${user%%/*}"
    done
}

# Runs a command as a user, by ID, for at most 100 seconds; a service may need 90 to stop.
as_user() {
    user=$1
    shift
    timeout 100 setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups \
        env -i PATH=/usr/bin:/bin XDG_RUNTIME_DIR="/run/user/$user" "$@"
}

# Starts the socket of a logged-in user, if it is enabled, without waiting for the next login.
start_socket() {
    as_user "$1" systemctl --user daemon-reload
    as_user "$1" systemctl --user is-enabled --quiet defaultsd.socket || return 0
    if as_user "$1" systemctl --user is-active --quiet defaultsd.socket; then return 0; fi
    # An agent that the user started by hand keeps its socket.
    # shellcheck disable=SC2016
    as_user "$1" sh -c '[ ! -e "$1" ] || flock --nonblock "$1" true' sh "/run/user/$1/defaultsd/socket.lock" || return 0
    as_user "$1" systemctl --user start defaultsd.socket
}

# Does that for all users who are logged in.
start_sockets() {
    for user in $(managed_users); do
        start_socket "$user" || echo "defaultsd: The agent's socket didn't start for user $user." >&2
    done
}

# Stops the units of all users who are logged in, unless theirs aren't the ones in the given directory.
stop_units() {
    for user in $(managed_users); do
        for unit in defaults-fleet.service defaults-portal.service defaultsd.socket defaultsd.service; do
            path=$(as_user "$user" systemctl --user show --property=FragmentPath --value "$unit" || true)
            if [ "$path" -ef "$1/$unit" ]; then as_user "$user" systemctl --user stop "$unit" || true; fi
        done
    done
}

# Makes the service managers of all users who are logged in read the unit files again.
reload_units() {
    for user in $(managed_users); do as_user "$user" systemctl --user daemon-reload || true; done
}

# Prints the process IDs of the agents that run the installed program, or an earlier one from the same path.
agents() {
    for process in /proc/[0-9]*; do
        case $(readlink "$process/exe") in
            "$program" | "$program (deleted)")
                # In a container, the same path is another file.
                if [ "$process/root" -ef / ]; then printf '%s\n' "${process#/proc/}"; fi ;;
        esac
    done 2>/dev/null
}

# Restarts all agents as the installed version. Their clients miss no change.
restart_agents() {
    for pid in $(agents); do
        blocked=$(sed -n 's/^SigBlk:[[:space:]]*//p' "/proc/$pid/status" 2>/dev/null) || continue
        # Since 0.2.0, agents block SIGUSR2 (12), wait for it, and restart in place. The signal would kill an older one.
        if [ $((0x${blocked:-0} >> 11 & 1)) = 1 ]; then
            if kill -s USR2 "$pid" 2>/dev/null; then echo "The running agent (pid $pid) restarts as this version."; fi
        elif kill "$pid" 2>/dev/null; then
            echo "The running agent (pid $pid), an older version, has been told to exit."
        fi
    done
}

# Ends an agent, which saves pending edits first. Waits for at most 90 seconds.
end_agent() {
    kill "$1" 2>/dev/null || return 0
    tries=900
    while kill -0 "$1" 2>/dev/null; do
        if [ $((tries -= 1)) -le 0 ]; then
            echo "The agent (pid $1) hasn't ended yet. It keeps running until it has saved." >&2
            return 0
        fi
        sleep 0.1
    done
}

end_agents() {
    for pid in $(agents); do end_agent "$pid"; done
}

# Restarts the settings portals and the connectors of all users who are logged in, as the installed version.
restart_services() {
    for user in $(managed_users); do
        for unit in defaults-portal.service defaults-fleet.service; do
            as_user "$user" systemctl --user try-restart "$unit" 2>/dev/null || true
        done
    done
}

# Ends all settings portals, which D-Bus has started without systemd, and all connectors.
end_services() {
    (
        directory=${program%/bin/*}/libexec
        for program in "$directory/defaults-portal" "$directory/defaults-fleet"; do
            for pid in $(agents); do kill "$pid" 2>/dev/null || true; done
        done
    )
}
