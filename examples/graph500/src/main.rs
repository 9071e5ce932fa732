//! `graph500`: the benchmark on ranks that are processes of this machine, those that `mpiexec` started,
//! or those that meet by TCP.

use freestone_events::{Failure, Rank};
use graph500::benchmark::{Measured, RunError, run};
use graph500::kronecker::Kronecker;
use graph500::launch::{Placed, join, launch};
use graph500::options::{Options, OptionsError};
use graph500::output;
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match Options::parse(words.clone()) {
        Err(OptionsError::Help) => {
            println!("{}", OptionsError::Help);
            return ExitCode::SUCCESS;
        }
        Err(error) => Err(error.into()),
        Ok(options) => work(&options, &words),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("graph500: {error}");
            ExitCode::FAILURE
        }
    }
}

fn work(options: &Options, words: &[String]) -> Result<bool, Box<dyn Error>> {
    if let Some(path) = &options.edges {
        write_edges(options, path)?;
        return Ok(true);
    }
    if let Some((number, fd)) = options.child {
        measure_and_say(&join(options, number, fd)?, options)?;
    } else if let Some(placed) = Placed::find()? {
        let options = Options { ranks: placed.rank.ranks(), ..options.clone() };
        let measured = measure_and_say(&placed.rank, &options);
        placed.leave();
        measured?;
    } else {
        return Ok(launch(options, words)?);
    }
    Ok(true)
}

/// Runs the benchmark; rank 0 says what it found.
fn measure_and_say(rank: &Rank, options: &Options) -> Result<(), Box<dyn Error>> {
    let measured = measure(rank, options)?;
    if rank.rank() == 0 {
        print!("{}", output::text(options, &measured));
        if let Some(path) = &options.json {
            std::fs::write(path, output::json(options, &measured))?;
        }
    }
    Ok(())
}

/// Runs the benchmark, and ends the run for all if it fails here.
fn measure(rank: &Rank, options: &Options) -> Result<Measured, RunError> {
    let measured = run(rank, options);
    if let Err(error) = &measured {
        rank.fail(Failure::text(&error.to_string()));
    }
    let ended = rank.finish();
    let measured = measured?;
    ended?;
    Ok(measured)
}

fn write_edges(options: &Options, path: &str) -> std::io::Result<()> {
    let list = Kronecker::new(options.scale, options.edge_factor, options.seed);
    let mut file = BufWriter::new(File::create(path)?);
    for part in 0..64 {
        for (u, v) in list.part(part, 64).iter().map(|edge| edge.ends()) {
            file.write_all(&u.to_le_bytes())?;
            file.write_all(&v.to_le_bytes())?;
        }
    }
    file.flush()
}
