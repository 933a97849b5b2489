//! The lab from outside.

mod advice;
mod generate;
mod report;
mod results;
mod subjects;
