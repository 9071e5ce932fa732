//! The command line.

/// What a run does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The graph has 2^scale vertices.
    pub scale: u32,
    /// And so many times as many edges.
    pub edge_factor: u64,
    /// How many ranks.
    pub ranks: u32,
    /// From how many roots.
    pub roots: usize,
    /// Whether searches turn their direction.
    pub turns: bool,
    /// Whether every tree is checked.
    pub check: bool,
    /// Which of all random graphs.
    pub seed: u64,
    /// Where to write the result as JSON.
    pub json: Option<String>,
    /// Where to write the list of edges, 16 bytes for each.
    pub edges: Option<String>,
    /// In a process that is a rank: which, and the descriptor of the memory that ranks share.
    pub child: Option<(u32, i32)>,
}

/// Something on the command line is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// Help was asked for.
    #[error("{USAGE}")]
    Help,
    /// There is no such option.
    #[error("there is no option '{0}'\n{USAGE}")]
    Unknown(String),
    /// An option needs a value.
    #[error("{0} needs a value")]
    NoValue(String),
    /// A value is not possible.
    #[error("{option} {value}: must be {wanted}")]
    Value {
        /// Of which option.
        option: String,
        /// What was given.
        value: String,
        /// What is possible.
        wanted: &'static str,
    },
}

/// What help says.
pub const USAGE: &str = "\
graph500 [--scale N] [--ranks N] [--kernel levels|directions] ...

  --scale N          2^N vertices, 1 to 30 (16)
  --edge-factor N    edges for each vertex (16)
  --ranks N          processes, 1 to 64 (2); under mpiexec, and where FREESTONE_EVENTS_MEETING
                     is set, the ranks are those that were started
  --kernel NAME      levels: from the frontier to its neighbours, as in the paper;
                     directions: from below where that is less work (directions)
  --roots N          searches (64)
  --seed N           which of all random graphs (2)
  --skip-check       do not check the trees; the result is no Graph500 result then
  --json FILE        write the result as JSON
  --edges FILE       write the list of edges, as pairs of 64-bit words, and search nothing";

impl Default for Options {
    fn default() -> Self {
        Self {
            scale: 16,
            edge_factor: 16,
            ranks: 2,
            roots: 64,
            turns: true,
            check: true,
            seed: 2,
            json: None,
            edges: None,
            child: None,
        }
    }
}

impl Options {
    /// Reads a command line, without the program's name.
    ///
    /// # Errors
    ///
    /// If an option is unknown or a value is not possible.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, OptionsError> {
        let (mut options, mut words) = (Self::default(), words.into_iter());
        while let Some(option) = words.next() {
            let mut value = || words.next().ok_or_else(|| OptionsError::NoValue(option.clone()));
            match option.as_str() {
                "--help" | "-h" => return Err(OptionsError::Help),
                "--skip-check" => options.check = false,
                "--scale" => options.scale = number(&option, &value()?, 1..=30, "1 to 30")?,
                "--edge-factor" => {
                    options.edge_factor = number(&option, &value()?, 1..=1024, "1 to 1024")?;
                }
                "--ranks" => options.ranks = number(&option, &value()?, 1..=64, "1 to 64")?,
                "--roots" => {
                    options.roots = number(&option, &value()?, 1..=1 << 20, "1 to 1048576")?;
                }
                "--seed" => options.seed = number(&option, &value()?, 0..=u64::MAX, "a number")?,
                "--kernel" => options.turns = kernel(&option, value()?)?,
                "--json" => options.json = Some(value()?),
                "--edges" => options.edges = Some(value()?),
                "--child" => options.child = Some(child(&option, value()?)?),
                _ => return Err(OptionsError::Unknown(option)),
            }
        }
        Ok(options)
    }
}

fn number<T: std::str::FromStr + PartialOrd>(
    option: &str,
    value: &str,
    range: std::ops::RangeInclusive<T>,
    wanted: &'static str,
) -> Result<T, OptionsError> {
    let found = value.parse().ok().filter(|number| range.contains(number));
    let (option, value) = (option.to_owned(), value.to_owned());
    found.ok_or(OptionsError::Value { option, value, wanted })
}

fn kernel(option: &str, value: String) -> Result<bool, OptionsError> {
    match value.as_str() {
        "levels" => Ok(false),
        "directions" => Ok(true),
        _ => {
            let wanted = "levels or directions";
            Err(OptionsError::Value { option: option.to_owned(), value, wanted })
        }
    }
}

fn child(option: &str, value: String) -> Result<(u32, i32), OptionsError> {
    let parts = value.split_once(':');
    let parsed = parts.and_then(|(rank, fd)| Some((rank.parse().ok()?, fd.parse().ok()?)));
    let wanted = "RANK:DESCRIPTOR; it is for processes that graph500 starts itself";
    parsed.ok_or(OptionsError::Value { option: option.to_owned(), value, wanted })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, OptionsError> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_are_read() {
        let options = parse("--scale 20 --kernel levels --ranks 4 --skip-check").unwrap();
        let wanted =
            Options { scale: 20, ranks: 4, turns: false, check: false, ..Options::default() };
        assert_eq!(options, wanted);
        assert_eq!(parse("--child 3:17").unwrap().child, Some((3, 17)));
    }

    #[test]
    fn what_is_wrong_is_reported() {
        for (line, text) in [
            ("--scale 31", "--scale 31: must be 1 to 30"),
            ("--ranks 0", "--ranks 0: must be 1 to 64"),
            ("--roots many", "--roots many: must be 1 to 1048576"),
            ("--kernel best", "--kernel best: must be levels or directions"),
            ("--json", "--json needs a value"),
        ] {
            assert_eq!(parse(line).unwrap_err().to_string(), text);
        }
        assert!(
            parse("--sale 3").unwrap_err().to_string().starts_with("there is no option '--sale'")
        );
    }
}
