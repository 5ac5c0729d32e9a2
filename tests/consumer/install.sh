#!/bin/sh
# install.sh CMAKE BUILD PREFIX: install the build into a folder, then move that to PREFIX: nothing may know where it was.
set -eu
rm -rf "$3" "$3.before"
"$1" --install "$2" --prefix "$3.before" >/dev/null
mv "$3.before" "$3"
"$3/bin/ctune" --version
