#!/bin/sh
# Installs the C library, its header, the Fortran module and what build tools look for.
# install.sh FOLDER-OF-THE-BUILT-LIBRARIES PREFIX VERSION
set -eu
built=$1 prefix=$2 version=$3
here=$(cd "$(dirname "$0")/.." && pwd)

mkdir -p "$prefix/include" "$prefix/lib/pkgconfig" "$prefix/lib/cmake/freestone_events"
prefix=$(cd "$prefix" && pwd)
install -m 644 "$here/include/freestone_events.h" "$here/include/freestone_events.hpp" \
    "$here/fortran/freestone_events.f90" "$prefix/include"
install -m 755 "$built/libfreestone_events_c.so" "$prefix/lib/libfreestone_events.so.0"
install -m 644 "$built/libfreestone_events_c.a" "$prefix/lib/libfreestone_events.a"
ln -sf libfreestone_events.so.0 "$prefix/lib/libfreestone_events.so"
filled() {
    sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" "$here/install/$1.in"
}
filled freestone_events.pc > "$prefix/lib/pkgconfig/freestone_events.pc"
filled freestone_events-config.cmake \
    > "$prefix/lib/cmake/freestone_events/freestone_events-config.cmake"
