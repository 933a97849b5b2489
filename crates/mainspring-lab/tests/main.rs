//! The lab from outside.

mod advice;
mod report;
mod results;
mod subjects;
