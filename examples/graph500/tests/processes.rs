//! The program itself: ranks as processes.

#![allow(clippy::unwrap_used)]

use std::process::{Command, Output, Stdio};

fn run(line: &str) -> Output {
    let program = env!("CARGO_BIN_EXE_graph500");
    Command::new(program).args(line.split_whitespace()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn every_tree_of_every_kernel_is_valid_on_any_number_of_ranks() {
    let mut edges = Vec::new();
    for kernel in ["levels", "directions"] {
        for ranks in [1, 2, 5] {
            let output = run(&format!("--scale 9 --ranks {ranks} --kernel {kernel}"));
            let printed = text(&output.stdout);
            assert!(output.status.success(), "{}", text(&output.stderr));
            let line = |name: &str| printed.lines().find(|line| line.starts_with(name)).unwrap();
            assert_eq!(line("NBFS").split_whitespace().last(), Some("64"));
            assert!(line("validation").ends_with("all trees are valid"));
            edges.push(line("mean_nedge").to_owned());
        }
    }
    // The same graph and the same roots each time.
    edges.dedup();
    assert_eq!(edges.len(), 1, "{edges:?}");
}

fn is_valid(output: &Output) -> bool {
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    printed.lines().any(|line| line.starts_with("validation") && line.ends_with("are valid"))
}

#[test]
fn every_tree_is_valid_where_ranks_meet_by_tcp() {
    let folder = std::env::temp_dir().join(format!("graph500-tcp-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (kernel, ranks) in [("levels", 1), ("directions", 3)] {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let start = |rank: u32| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_graph500"));
            command.args(["--scale", "8", "--kernel", kernel]);
            command.env("FREESTONE_EVENTS_MEETING", free.to_string());
            command.env("FREESTONE_EVENTS_IDENTITY", folder.join("run.pem"));
            command.env("FREESTONE_EVENTS_RANKS", ranks.to_string());
            command.env("FREESTONE_EVENTS_RANK", rank.to_string());
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let started: Vec<_> = (0..ranks).map(start).collect();
        let ended: Vec<_> =
            started.into_iter().map(|one| one.wait_with_output().unwrap()).collect();
        assert!(is_valid(&ended[0]));
        assert!(ended[1..].iter().all(|one| one.status.success() && one.stdout.is_empty()));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn every_tree_is_valid_under_mpiexec() {
    // Beside the library that tests are given, if there is one.
    let library = std::env::var("FREESTONE_EVENTS_MPI").unwrap_or_default();
    let Some(prefix) = std::path::Path::new(&library).ancestors().nth(2) else { return };
    let mpiexec = prefix.join("bin").join("mpiexec");
    if !mpiexec.exists() {
        println!("there is no mpiexec");
        return;
    }
    for (kernel, ranks) in [("levels", "1"), ("directions", "2"), ("levels", "4")] {
        let mut command = Command::new(&mpiexec);
        command.args(["-n", ranks, env!("CARGO_BIN_EXE_graph500")]);
        command.args(["--scale", "7", "--roots", "8", "--kernel", kernel]);
        assert!(is_valid(&command.output().unwrap()));
    }
}

#[test]
fn what_is_wrong_is_reported_and_nothing_hangs() {
    for (line, wanted) in [
        ("--scale 0", "graph500: --scale 0: must be 1 to 30"),
        ("--scale 3 --roots 64", "roots were found: a graph of this scale has no more"),
        ("--child 0:999", "descriptor 999 is not of"),
    ] {
        let output = run(line);
        assert!(!output.status.success());
        assert!(text(&output.stderr).contains(wanted), "{}", text(&output.stderr));
    }
}

#[test]
fn the_list_of_edges_can_be_written() {
    let path = std::env::temp_dir().join(format!("graph500-{}.edges", std::process::id()));
    assert!(run(&format!("--scale 6 --edges {}", path.display())).status.success());
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let ends = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
    assert_eq!(ends.clone().count(), 2 * (16 << 6));
    assert!(ends.clone().all(|end| end < 64));
}

#[test]
fn a_rank_that_dies_ends_the_run() {
    let program = env!("CARGO_BIN_EXE_graph500");
    let line = "--scale 18 --ranks 3 --roots 1000";
    let mut command = Command::new(program);
    command.args(line.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::piped());
    let run = command.spawn().unwrap();
    let listed = format!("/proc/{0}/task/{0}/children", run.id());
    let ranks = loop {
        let ranks = std::fs::read_to_string(&listed).unwrap();
        if ranks.split_whitespace().count() == 3 {
            break ranks;
        }
        std::thread::yield_now();
    };
    let one = ranks.split_whitespace().nth(1).unwrap().parse().unwrap();
    // SAFETY: a child of our own child, which has not been waited for.
    unsafe { libc::kill(one, libc::SIGKILL) };
    let output = run.wait_with_output().unwrap();
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("is lost"), "{}", text(&output.stderr));
}
