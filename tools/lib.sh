# shellcheck shell=bash
# What the scripts in this folder share; sourced, not run. Messages go to stderr.

say() { printf '%s\n' "==> $*" >&2; }

# One clear line and exit code 2: something is missing that the user has to provide.
die() {
    printf '%s\n' "error: $*" >&2
    exit 2
}

# Run a command as root; only where can_be_root says yes.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

# Whether root is to be had without asking for a password.
can_be_root() {
    [ "$(id -u)" -eq 0 ] || { command -v sudo && sudo -n true; } >/dev/null 2>&1
}

# install_hint PACKAGE... : what the user may type.
install_hint() {
    if command -v apt-get >/dev/null; then
        echo "run 'sudo apt-get install $*'"
    else
        echo "install what Debian calls $*, and try again"
    fi
}

# Quiet; what it said is shown if it fails.
apt_get() {
    local output
    output=$(as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" </dev/null 2>&1) || {
        printf '%s\n' "$output" >&2
        return 1
    }
}

# Whether the package lists offer all of these.
apt_has() {
    local package
    for package in "$@"; do
        [ -n "$(apt-cache --quiet=0 madison "$package" 2>/dev/null)" ] || return 1
    done
}

# apt_install PACKAGE... : install from the distribution, after saying so. Fails where that is not
# possible, or not without a password.
apt_install() {
    command -v apt-get >/dev/null && can_be_root || return 1
    if apt_has "$@"; then
        say "installing from the distribution: $*"
        apt_get install -y --no-install-recommends "$@" && return 0
    fi
    say "refreshing the distribution's package lists"
    apt_get update || return 1
    apt_has "$@" || return 1
    say "installing from the distribution: $*"
    apt_get install -y --no-install-recommends "$@"
}

# Whether this interpreter starts (a name on PATH may be a stub that does not) and is new enough.
python_ok() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

# The interpreter to build with: $PYTHON if set, else the first that will do.
find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
        if python_ok "$candidate"; then
            command -v "$candidate"
            return 0
        fi
    done
    return 1
}

# install_service PACKAGE... : the same without letting them start their services, on the default ports and
# all interfaces.
install_service() {
    local policy=/usr/sbin/policy-rc.d ours="" status=0
    if can_be_root && [ ! -e "$policy" ]; then
        printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
        as_root chmod 755 "$policy"
        ours=1
    fi
    apt_install "$@" || status=$?
    [ -z "$ours" ] || as_root rm -f "$policy"
    return "$status"
}
