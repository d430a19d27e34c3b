//! Compiled scripts that ask the clock often enough.
//!
//! Luau asks the interrupt at calls, returns and loop turns only. A script without any of these
//! can still compute for minutes: `t = a < b` a few thousand times over, with texts of some
//! megabytes, or `s + 0` with a text of digits. So we count the operations that may take long,
//! and where a function has many of them, we compile it so that every expression asks.
//!
//! There is no such option, but there is one that puts an instruction which counts hits in front
//! of every expression. We replace it by a jump back of length nothing: that one asks.

use std::ops::Range;

use mlua::chunk::Compiler;

/// How many operations that may take long a function may have without asking.
const MOST: usize = 24;

/// Compiles a script.
pub(crate) fn compile(script: &str) -> mlua::Result<Vec<u8>> {
    let code = compiler(0).compile(script)?;
    if most_long_operations(&code)? <= MOST {
        return Ok(code);
    }
    let mut code = compiler(2).compile(script)?;
    for function in functions(&code).ok_or_else(not_understood)? {
        replace_counters(&mut code[function]);
    }
    Ok(code)
}

/// Inlining and loop unrolling stay off: they let a short script compile into a long one. The
/// functions we replace must not be called past us.
fn compiler(coverage: u8) -> Compiler {
    Compiler::new()
        .set_optimization_level(1)
        .set_debug_level(1)
        .set_coverage_level(coverage)
        .set_disabled_builtins(REPLACED.iter().copied())
}

/// What `prelude.luau` replaces. The compiler has shortcuts for none of them today.
const REPLACED: &[&str] = &[
    "pcall",
    "xpcall",
    "coroutine.create",
    "coroutine.resume",
    "coroutine.wrap",
    "coroutine.yield",
    "coroutine.running",
    "coroutine.isyieldable",
    "coroutine.close",
    "os.date",
    "string.find",
    "string.split",
    "table.move",
    "table.sort",
];

fn not_understood() -> mlua::Error {
    mlua::Error::runtime("the compiler gave something unknown")
}

/// The size of an instruction word.
const WORD: usize = 4;

/// Instructions by number, as far as we must tell them apart.
mod operation {
    pub(super) const JUMP_BACK: u8 = 24;
    pub(super) const COUNT_HITS: u8 = 69;

    /// Those that may take long: arithmetic (texts of digits), order (long texts),
    /// concatenation, lists out of arguments, and built-ins without a call.
    pub(super) fn may_take_long(operation: u8) -> bool {
        matches!(operation, 28 | 29 | 31..=44 | 49 | 51 | 55 | 60 | 63 | 68 | 71..=75 | 81 | 82 | 89)
    }

    /// Those that are followed by a word of data.
    pub(super) fn has_data(operation: u8) -> bool {
        matches!(
            operation,
            7 | 8 | 12 | 15 | 16 | 20 | 27..=32 | 53 | 55 | 58 | 60 | 66 | 74 | 75 | 77..=80 | 83..=88 | 90
        )
    }
}

fn most_long_operations(code: &[u8]) -> mlua::Result<usize> {
    let functions = functions(code).ok_or_else(not_understood)?;
    let count = |function: Range<usize>| {
        let words = &code[function];
        positions(words)
            .filter(|at| operation::may_take_long(operation_at(words, *at)))
            .count()
    };
    Ok(functions.into_iter().map(count).max().unwrap_or_default())
}

fn replace_counters(words: &mut [u8]) {
    let counters: Vec<usize> = positions(words)
        .filter(|at| operation_at(words, *at) == operation::COUNT_HITS)
        .collect();
    for at in counters {
        let jump = u32::from(operation::JUMP_BACK).to_ne_bytes();
        words[at..at + WORD].copy_from_slice(&jump);
    }
}

/// Where the instructions of a function start.
fn positions(words: &[u8]) -> impl Iterator<Item = usize> {
    let next = |at: &usize| {
        let data = usize::from(operation::has_data(operation_at(words, *at)));
        Some(at + WORD * (1 + data))
    };
    std::iter::successors(Some(0), next).take_while(|at| at + WORD <= words.len())
}

/// The lowest byte of a word says what it does.
fn operation_at(words: &[u8], at: usize) -> u8 {
    let word = words
        .get(at..at + WORD)
        .and_then(|word| <[u8; WORD]>::try_from(word).ok());
    u32::from_ne_bytes(word.unwrap_or_default()).to_le_bytes()[0]
}

/// Where the instructions of each function are.
fn functions(code: &[u8]) -> Option<Vec<Range<usize>>> {
    let mut reader = Reader { code, at: 0 };
    let version = reader.byte()?;
    if !(4..=9).contains(&version) {
        return None;
    }
    let types = reader.byte()?;
    for _ in 0..reader.number()? {
        let length = reader.number()?;
        reader.skip(length)?;
    }
    if types == 3 {
        while reader.byte()? != 0 {
            reader.number()?;
        }
    }
    (0..reader.number()?).map(|_| reader.function()).collect()
}

struct Reader<'a> {
    code: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn skip(&mut self, bytes: usize) -> Option<()> {
        let end = self.at.checked_add(bytes)?;
        self.code.get(self.at..end)?;
        self.at = end;
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.code.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// A number in groups of seven bits, lowest first.
    fn number(&mut self) -> Option<usize> {
        let mut number = 0_usize;
        for shift in (0..).step_by(7) {
            let byte = self.byte()?;
            number |= usize::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                break;
            }
        }
        Some(number)
    }

    fn numbers(&mut self, count: usize) -> Option<()> {
        (0..count).try_for_each(|_| self.number().map(drop))
    }

    fn function(&mut self) -> Option<Range<usize>> {
        // Stack size, parameters, captured variables, varargs, flags.
        self.skip(5)?;
        let types = self.number()?;
        self.skip(types)?;
        let length = self.number()?;
        let start = self.at;
        self.skip(length.checked_mul(WORD)?)?;
        let end = self.at;
        for _ in 0..self.number()? {
            self.constant()?;
        }
        let inner = self.number()?;
        self.numbers(inner)?;
        // The line and the name.
        self.numbers(2)?;
        self.lines(length)?;
        self.names()?;
        Some(start..end)
    }

    fn constant(&mut self) -> Option<()> {
        match self.byte()? {
            0 => Some(()),
            1 => self.skip(1),
            2 => self.skip(8),
            3 | 6 => self.numbers(1),
            4 => self.skip(4),
            5 => {
                let keys = self.number()?;
                self.numbers(keys)
            }
            7 => self.skip(16),
            8 => {
                for _ in 0..self.number()? {
                    self.number()?;
                    self.skip(4)?;
                }
                Some(())
            }
            9 => {
                self.skip(1)?;
                self.numbers(1)
            }
            _ => None,
        }
    }

    fn lines(&mut self, length: usize) -> Option<()> {
        if self.byte()? == 0 {
            return Some(());
        }
        let gap = u32::from(self.byte()?);
        let intervals = length.checked_sub(1)?.checked_shr(gap)? + 1;
        self.skip(length)?;
        self.skip(intervals * WORD)
    }

    fn names(&mut self) -> Option<()> {
        if self.byte()? == 0 {
            return Some(());
        }
        for _ in 0..self.number()? {
            self.numbers(3)?;
            self.skip(1)?;
        }
        let captured = self.number()?;
        self.numbers(captured)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long_operations(script: &str) -> usize {
        most_long_operations(&compiler(0).compile(script).unwrap()).unwrap()
    }

    #[test]
    fn what_may_take_long_is_counted() {
        let check = |script: &str, count| assert_eq!(long_operations(script), count, "{script}");
        check("local a, b = ...; return a", 1);
        check(
            "local a, b = f(); return a + b, a - b, a * 2, a / b, a % b, a ^ b, a // b, -a",
            8,
        );
        check("local a, b = f(); return a < b, a <= b, a > b, a >= b", 4);
        check(
            "local a, b = f(); return a == b, a ~= b, not a, #a, a.b, a[b]",
            0,
        );
        check("local a, b = f(); return a .. b .. a", 1);
        check("local a = f(); return { a, ... }", 2);
        check(
            "local a = f(); return type(a), tonumber(a), math.max(a, 1), a:sub(1)",
            3,
        );
        check(
            "f(function(a, b) return a + b end, function(a) return -a, a + 1 end)",
            2,
        );
    }

    #[test]
    fn every_kind_of_constant_is_read() {
        let script = r#"
            local t = { a = 1, b = "x", c = nil, d = true, [1] = 2.5 }
            local u = { x = 0, y = 0 }
            local function outer() local v = t; return function() return v, u, math.pi end end
            for i = 1, 10 do t[i] = `{i} of {#t}` end
            return outer, 1e300, -7, "text", nil, false, string.format, 9007199254740993
        "#;
        for coverage in [0, 2] {
            let code = compiler(coverage).compile(script).unwrap();
            let functions = functions(&code).unwrap();
            assert_eq!(functions.len(), 3);
            for function in functions {
                let words = &code[function];
                let last = positions(words).last().unwrap();
                assert_eq!(
                    operation_at(words, last),
                    22,
                    "a function ends with a return"
                );
            }
        }
    }

    #[test]
    fn a_busy_script_asks_at_every_expression() {
        let script = format!("local a, b = f()\n{}return a", "a = a + b\n".repeat(100));
        let code = compile(&script).unwrap();
        let asks: usize = functions(&code)
            .unwrap()
            .into_iter()
            .map(|function| {
                let words = &code[function];
                assert!(
                    positions(words).all(|at| operation_at(words, at) != operation::COUNT_HITS)
                );
                positions(words)
                    .filter(|at| operation_at(words, *at) == operation::JUMP_BACK)
                    .count()
            })
            .sum();
        assert!(100 <= asks, "{asks}");
    }
}
