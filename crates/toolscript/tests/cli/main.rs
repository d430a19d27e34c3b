//! The program from outside: what it prints, and the code it ends with.

mod bad_input;
mod demo;
mod discover;
mod exec;
mod generate;
mod help;
mod sandbox;
mod serve;
