//! The lab from outside.

mod subjects;
