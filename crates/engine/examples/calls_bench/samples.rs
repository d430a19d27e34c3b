//! Wall and CPU time of many executions, and how they compare.

use std::{fs, time::Instant};

use rustix::time::{ClockId, clock_gettime};

/// Wall and CPU time of single executions, in microseconds.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    wall: Vec<f64>,
    cpu: Vec<f64>,
}

impl Samples {
    /// Runs the body many times; the first tenth warms up.
    pub(crate) async fn of<F: Future>(times: usize, mut body: impl FnMut() -> F) -> Self {
        let mut samples = Self::default();
        for number in 0..times + times / 10 {
            let sample = once(body()).await;
            if times / 10 <= number {
                samples.add(sample.0, sample.1);
            }
        }
        samples
    }

    /// Runs two bodies many times, a while one and a while the other: whatever else the machine
    /// does, it does to both, and each finds its things where it left them.
    pub(crate) async fn of_both<F: Future, G: Future>(
        times: usize,
        mut one: impl FnMut() -> F,
        mut other: impl FnMut() -> G,
    ) -> (Self, Self) {
        const IN_A_ROW: usize = 100;
        let mut samples = (Self::default(), Self::default());
        for round in 0..=times / IN_A_ROW {
            for _ in 0..IN_A_ROW {
                let (wall, cpu) = once(one()).await;
                if 0 < round {
                    samples.0.add(wall, cpu);
                }
            }
            for _ in 0..IN_A_ROW {
                let (wall, cpu) = once(other()).await;
                if 0 < round {
                    samples.1.add(wall, cpu);
                }
            }
        }
        samples
    }

    /// One more execution, in microseconds.
    pub(crate) fn add(&mut self, wall: f64, cpu: f64) {
        self.wall.push(wall);
        self.cpu.push(cpu);
    }

    pub(crate) fn line(&mut self, what: &str) {
        println!(
            "{what:<52} cpu p50 {:>8.1} us  p99 {:>8.1} us   wall p50 {:>8.1} us  p99 {:>8.1} us",
            percentile(&mut self.cpu, 0.5),
            percentile(&mut self.cpu, 0.99),
            self.wall(),
            percentile(&mut self.wall, 0.99),
        );
    }

    /// The middle of the wall times.
    pub(crate) fn wall(&mut self) -> f64 {
        percentile(&mut self.wall, 0.5)
    }

    /// The middle of the CPU times.
    pub(crate) fn cpu(&mut self) -> f64 {
        percentile(&mut self.cpu, 0.5)
    }
}

/// Wall and CPU time of one execution.
async fn once(body: impl Future) -> (f64, f64) {
    let (begun, before) = (Instant::now(), cpu());
    body.await;
    (microseconds(begun), cpu() - before)
}

/// How long ago something began.
pub(crate) fn microseconds(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e6
}

fn percentile(samples: &mut [f64], part: f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index"
    )]
    let at = (samples.len() as f64 * part) as usize;
    samples[at.min(samples.len() - 1)]
}

/// CPU time of this process so far, in microseconds. The other side is another process.
#[expect(
    clippy::cast_precision_loss,
    reason = "a program that runs for minutes"
)]
pub(crate) fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// CPU time of another process so far, in microseconds.
pub(crate) fn cpu_of(process: u32) -> f64 {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let spent = |task: fs::DirEntry| -> f64 {
        let text = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        let nanoseconds = text.split(' ').next().and_then(|word| word.parse().ok());
        nanoseconds.unwrap_or(0.0) / 1e3
    };
    tasks.map(|task| spent(task.unwrap())).sum()
}
