# Shared by the scripts in this folder; sourced, not run. Needs bash.
# shellcheck shell=bash

say() { printf '%s\n' "==> $*" >&2; }

# One clear line, and exit code 2: something is missing that the user has to provide.
die() {
    printf '%s\n' "error: $*" >&2
    exit 2
}

# Run a command as root, if that is possible without asking for a password.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

can_be_root() {
    [ "$(id -u)" -eq 0 ] || { command -v sudo >/dev/null && sudo -n true 2>/dev/null; }
}

# install_hint PACKAGE... : what the user may type.
install_hint() {
    if command -v apt-get >/dev/null; then
        echo "run 'sudo apt-get install $*'"
    else
        echo "install the equivalent of the Debian package(s) $* and try again"
    fi
}

# apt_install PACKAGE... : install from the distribution, saying so. Fails where that is not possible.
apt_install() {
    command -v apt-get >/dev/null && can_be_root || return 1
    if ! apt_has "$@"; then
        say "refreshing the distribution's package lists"
        as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq </dev/null >&2 || true
        apt_has "$@" || return 1
    fi
    say "installing from the distribution: $*"
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "$@" </dev/null >&2
}

# Whether the package lists offer all of these.
apt_has() {
    local package
    for package in "$@"; do
        apt-cache show "$package" >/dev/null 2>&1 || return 1
    done
}

# The first interpreter that really starts and is new enough (a name on PATH may be a stub).
find_python() {
    local candidate
    for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return 0
        fi
    done
    return 1
}
