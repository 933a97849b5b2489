//! The program `mainspring`.

fn main() {}
