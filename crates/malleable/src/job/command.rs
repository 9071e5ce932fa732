//! The command by which joining ranks are started: that of this process, as launchers can take it.

use crate::guard;
use crate::mpi::{Command, Mpi};
use std::ffi::CString;
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

/// What a launcher sets for the processes that it starts.
const LAUNCHED: [&str; 4] = ["PMI_RANK", "PMI_FD", "PMIX_RANK", "PMI_PORT"];
/// How long a command may be for MPICH's launcher, which reads at most 64 KiB of a spawn and ends the
/// job at a longer one; the rest is for what MPI adds.
const MAX_NBYTES: usize = 60_000;
/// What each argument takes beside its own bytes.
const PER_ARGUMENT: usize = 12;

/// The command by which this process was started, under a guard for so long if there can be one.
///
/// # Errors
///
/// Why it can't be started again.
pub fn guarded_command(mpi: &dyn Mpi, timeout: Duration) -> Result<Command, String> {
    let mut command = own_command()?;
    if mpi.has_guards() {
        let setting = format!("{}={}", guard::VARIABLE, timeout.as_secs_f64());
        let program = std::mem::replace(&mut command.program, c"/usr/bin/env".into());
        command.arguments.splice(0..0, [text(setting.into_bytes()), program]);
    }
    let command = speakable(command);
    let nbytes = |word: &CString| word.as_bytes().len() + PER_ARGUMENT;
    let length: usize = command.arguments.iter().map(nbytes).sum();
    if mpi.has_guards() && length > MAX_NBYTES {
        return Err(format!(
            "the program's arguments take {length} bytes, and MPICH's launcher takes {MAX_NBYTES} of a \
             process that joins: pass long ones in a file"
        ));
    }
    Ok(command)
}

fn own_command() -> Result<Command, String> {
    if !LAUNCHED.iter().any(|name| std::env::var_os(name).is_some()) {
        let text = "the program was not started by a launcher; start it by mpiexec -n 2 PROGRAM";
        return Err(text.to_owned());
    }
    if let Some(problem) = freestone_mpi::spawn_problem() {
        return Err(problem);
    }
    let program = std::fs::read_link("/proc/self/exe").map_err(|error| error.to_string())?;
    if !program.is_file() {
        return Err(format!(
            "{} does not exist any more, so nothing can run it",
            program.display()
        ));
    }
    let words = std::fs::read("/proc/self/cmdline").map_err(|error| error.to_string())?;
    let arguments = words.split(|byte| *byte == 0).skip(1);
    let mut arguments: Vec<_> = arguments.map(|word| text(word.to_vec())).collect();
    // Each argument ends with a zero.
    arguments.pop();
    let folder = std::env::current_dir().map_err(|error| error.to_string())?;
    Ok(Command {
        program: text(program.into_os_string().into_vec()),
        arguments,
        folder: text(folder.into_os_string().into_vec()),
    })
}

/// What begins a shell's script: a new line in `n`, and in `b` a backslash, whether two of them arrive
/// as one or not.
const BEFORE: &str = r#"n=$(echo; echo .); n=${n%.}; b='\\'; b=${b%"${b#?}"}; exec"#;

/// The same, by a shell if it has words that MPICH's messages can't carry: an empty one ends the job,
/// one of several lines arrives as its first line, and backslashes are lost.
fn speakable(command: Command) -> Command {
    let is_mute = |word: &CString| {
        word.is_empty() || word.as_bytes().iter().any(|byte| [b'\n', b'\\'].contains(byte))
    };
    if !command.arguments.iter().any(is_mute) && !is_mute(&command.program) {
        return command;
    }
    let mut script = BEFORE.as_bytes().to_vec();
    for word in std::iter::once(&command.program).chain(&command.arguments) {
        script.push(b' ');
        script.extend(quoted(word.as_bytes()));
    }
    let arguments = vec![c"-c".into(), text(script)];
    Command { program: c"/bin/sh".into(), arguments, folder: command.folder }
}

/// A word as a shell reads it after [`BEFORE`], on one line and without backslashes.
fn quoted(word: &[u8]) -> Vec<u8> {
    let mut found = vec![b'\''];
    for byte in word {
        match byte {
            b'\'' => found.extend(br#"'"'"'"#),
            b'\n' => found.extend(br#"'"$n"'"#),
            b'\\' => found.extend(br#"'"$b"'"#),
            _ => found.push(*byte),
        }
    }
    found.push(b'\'');
    found
}

fn text(bytes: Vec<u8>) -> CString {
    // A name of the system has no zero inside.
    CString::new(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(arguments: &[&str]) -> Command {
        let text = |word: &str| CString::new(word).unwrap();
        let arguments = arguments.iter().map(|word| text(word)).collect();
        Command { program: text("/usr/bin/printf"), arguments, folder: text("/") }
    }

    fn printed(command: &Command) -> Vec<u8> {
        let words = command.arguments.iter().map(|word| word.to_str().unwrap());
        let program = command.program.to_str().unwrap();
        std::process::Command::new(program).args(words).output().unwrap().stdout
    }

    #[test]
    fn words_that_messages_can_not_carry_go_by_a_shell() {
        let plain = command(&["[%s]", "a b", "$x", "it's"]);
        assert_eq!(speakable(plain.clone()).program, plain.program);
        for words in [
            ["[%s]", "", "it's", "\""],
            ["[%s]", "a\n\n", "$n `x`", "\n"],
            ["[%s]", r"\", r"a\\b\n", r#"\"'"#],
        ] {
            let by_shell = speakable(command(&words));
            assert_eq!(by_shell.program.as_c_str(), c"/bin/sh");
            assert!(by_shell.arguments.iter().all(|word| !word.as_bytes().contains(&b'\n')));
            assert_eq!(printed(&by_shell), printed(&command(&words)));
            // As MPICH has it arrive.
            let script = by_shell.arguments[1].to_str().unwrap().replace(r"\\", r"\");
            let lossy = command(&["-c", &script]);
            let lossy = Command { program: c"/bin/sh".into(), ..lossy };
            assert_eq!(printed(&lossy), printed(&command(&words)));
        }
    }
}
