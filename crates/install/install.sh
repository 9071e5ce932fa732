#!/bin/sh
# Installs a C library, its headers, its Fortran module and what build tools look for.
# install.sh events|malleable FOLDER-OF-THE-BUILT-LIBRARIES PREFIX VERSION
set -eu
name=$1 built=$2 prefix=$3 version=$4
here=$(cd "$(dirname "$0")" && pwd)
crate=$here/../$name-c
description=$(sed -n 's/^description = "[^:]*: \(.*\)"/\1/p' "$crate/Cargo.toml")

mkdir -p "$prefix/include" "$prefix/lib/pkgconfig" "$prefix/lib/cmake/freestone_$name"
prefix=$(cd "$prefix" && pwd)
install -m 644 "$crate/include/freestone_$name.h" "$crate/include/freestone_$name.hpp" \
    "$crate/fortran/freestone_$name.f90" "$prefix/include"
install -m 755 "$built/libfreestone_${name}_c.so" "$prefix/lib/libfreestone_$name.so.0"
install -m 644 "$built/libfreestone_${name}_c.a" "$prefix/lib/libfreestone_$name.a"
ln -sf "libfreestone_$name.so.0" "$prefix/lib/libfreestone_$name.so"
filled() {
    sed -e "s|@PREFIX@|$prefix|g" -e "s|@VERSION@|$version|g" -e "s|@NAME@|$name|g" \
        -e "s|@DESCRIPTION@|$description|" "$here/$1.in"
}
filled library.pc > "$prefix/lib/pkgconfig/freestone_$name.pc"
filled library-config.cmake \
    > "$prefix/lib/cmake/freestone_$name/freestone_$name-config.cmake"
