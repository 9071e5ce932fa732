//! The library is installed under a name of its own, which programs look for when they start.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libfreestone_malleable.so.0");
    println!("cargo:rerun-if-changed=build.rs");
}
