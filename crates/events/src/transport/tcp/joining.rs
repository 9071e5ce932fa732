//! Ranks that a batch system, or a person, starts on several machines: the environment of each says
//! where all meet, and whether others may join later.
//!
//! See docs/decisions/067-ranks-join-over-tcp-admitted-by-rank-0.md

use super::{Meeting, Tcp};
use crate::event::Rank;
use crate::limits;
use crate::transport::hybrid::{Met, Sharing};
use crate::transport::{Transport, TransportError};
use freestone_tls::{Access, Identity};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const MEETING: &str = "FREESTONE_EVENTS_MEETING";
const IDENTITY: &str = "FREESTONE_EVENTS_IDENTITY";
/// What says which rank a process is: ours, then what launchers set.
const RANK: [&str; 5] =
    ["FREESTONE_EVENTS_RANK", "PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"];
const RANKS: [&str; 4] =
    ["FREESTONE_EVENTS_RANKS", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"];
/// As how many ranks a run may end; rank 0 says so.
const MOST: &str = "FREESTONE_EVENTS_MOST";
/// There is a place for each, whether it is taken or not.
const LIMIT: u32 = 1 << 16;
/// What a process says instead of its rank that joins a run that is on.
const JOIN: &str = "join";

/// What a process is told that is to be a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    meeting: String,
    identity: PathBuf,
    /// None, if it joins a run that is on.
    assigned: Option<Assigned>,
}

/// One of the ranks that a run begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Assigned {
    rank: Rank,
    ranks: u32,
    most: u32,
}

impl Invitation {
    /// What the environment says; none, if it names no meeting.
    ///
    /// # Errors
    ///
    /// If it names one, and not who this is or how many there are.
    pub fn from_environment() -> Result<Option<Self>, TransportError> {
        Self::read(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, TransportError> {
        let joins = variable(RANK[0]).is_some_and(|value| value == JOIN);
        let Some(meeting) = variable(MEETING) else {
            // As many as they began with: memory that is laid out for them, processes of MPI.
            let must = "HOST:PORT of rank 0; only a run whose ranks meet by TCP can be joined";
            let name = if joins { Some(RANK[0]) } else { variable(MOST).map(|_| MOST) };
            return name.map_or(Ok(None), |name| {
                Err(bad(MEETING, "", &format!("{must}, and {name} is set")))
            });
        };
        let assigned = if joins { None } else { Some(Assigned::read(&variable)?) };
        let identity = variable(IDENTITY).map(PathBuf::from);
        let identity = identity.ok_or_else(|| {
            bad(IDENTITY, "", "a file that all ranks can read; rank 0 makes it if it is not there")
        })?;
        Ok(Some(Self { meeting, identity, assigned }))
    }

    /// How many ranks there are, as far as this process knows: one, if it joins others.
    pub fn ranks(&self) -> u32 {
        self.assigned.map_or(1, |assigned| assigned.ranks)
    }

    /// Meets all other ranks, or joins them; those of one node share memory, in which the large payloads of
    /// each may take `arena` bytes. Rank 0 holds the meeting, and keeps it if others may join later.
    ///
    /// # Errors
    ///
    /// If they have not come by `timeout`, the certificate is not to be read, or the run is over or
    /// has no room.
    pub fn accept(
        &self,
        timeout: Duration,
        arena: usize,
    ) -> Result<Box<dyn Transport>, TransportError> {
        let sharing = Sharing::from_environment(arena)?;
        let access = self.access(Instant::now() + timeout)?;
        let Some(Assigned { rank, ranks, most }) = self.assigned else {
            return Ok(Box::new(Tcp::join(&self.meeting, &access, timeout)?));
        };
        let come = || Met::new(&self.meeting, rank, ranks, &access, timeout, &sharing);
        let met = if rank > 0 { come()? } else { self.hold(ranks, most, &access, timeout, come)? };
        Ok(met.transport())
    }

    fn hold(
        &self,
        ranks: u32,
        most: u32,
        access: &Access,
        timeout: Duration,
        come: impl Fn() -> Result<Met, TransportError>,
    ) -> Result<Met, TransportError> {
        let meeting = Meeting::new(&self.meeting, access)?;
        std::thread::scope(|scope| {
            let held = scope.spawn(move || {
                let addresses = meeting.hold(ranks, most, timeout)?;
                // Who is still in the queue is not to wait for an answer, if none may join.
                Ok::<_, TransportError>((most > ranks).then_some((meeting, addresses)))
            });
            let met = come();
            // It knows who has not come.
            let kept = held.join().unwrap_or(Ok(None))?;
            let met = met?;
            if let Some((meeting, addresses)) = kept {
                met.tcp().keep(meeting, addresses)?;
            }
            Ok(met)
        })
    }

    fn access(&self, end: Instant) -> Result<Access, TransportError> {
        let failed = |source| TransportError::Io {
            what: format!("the certificate of the run, {}", self.identity.display()),
            source,
        };
        if self.assigned.is_some_and(|assigned| assigned.rank == 0) && !self.identity.exists() {
            make(&self.identity).map_err(failed)?;
        }
        let text = read_private(&self.identity, end).map_err(failed)?;
        // The certificate first, then its key.
        let cut = text.rfind("-----BEGIN").unwrap_or_default();
        let (certificate, private_key) = text.split_at(cut);
        let identity =
            Identity { certificate: certificate.to_owned(), private_key: private_key.to_owned() };
        Access::new(&identity).map_err(|error| failed(io::Error::other(error.to_string())))
    }
}

impl Assigned {
    fn read(variable: &impl Fn(&str) -> Option<String>) -> Result<Self, TransportError> {
        let ranks = number(variable, &RANKS, "a number of ranks, at least 1")?;
        let rank = number(variable, &RANK, "a rank, from 0; or 'join', to join a run that is on")?;
        if rank >= ranks {
            let must = format!("less than the number of ranks, {ranks}");
            return Err(bad(RANK[0], &rank.to_string(), &must));
        }
        let limits = format!(
            "a number of ranks, at least those that there are, {ranks}, and at most {LIMIT}"
        );
        let found = variable(MOST).map(|_| number(variable, &[MOST], &limits)).transpose()?;
        let most = found.unwrap_or(ranks);
        if most < ranks || most > LIMIT {
            return Err(bad(MOST, &most.to_string(), &limits));
        }
        Ok(Self { rank, ranks, most })
    }
}

fn number(
    variable: &impl Fn(&str) -> Option<String>,
    names: &[&'static str],
    must: &str,
) -> Result<u32, TransportError> {
    let found = names.iter().find_map(|name| Some((*name, variable(name)?)));
    let (name, value) = found.unwrap_or((names[0], String::new()));
    value.trim().parse().map_err(|_| bad(name, &value, must))
}

fn bad(name: &'static str, value: &str, must: &str) -> TransportError {
    TransportError::Setting { name, value: value.to_owned(), must: must.to_owned() }
}

/// Makes a certificate that only this user can read; whole, as soon as it is there.
fn make(path: &Path) -> io::Result<()> {
    if let Ok(target) = path.read_link() {
        // The file would take the link's place, and others look for it where the link leads.
        let what = format!("it is a link to {}, which is not there; name that", target.display());
        return Err(io::Error::new(ErrorKind::NotFound, what));
    }
    let identity = Identity::make(limits::get().certificate_days as u32)
        .map_err(|error| io::Error::other(error.to_string()))?;
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&partial)?;
    file.write_all(identity.certificate.as_bytes())?;
    file.write_all(b"\n")?;
    file.write_all(identity.private_key.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&partial, path)
}

/// Reads a file that may not be there yet.
fn read_private(path: &Path, end: Instant) -> io::Result<String> {
    loop {
        match File::open(path) {
            Ok(file) if file.metadata()?.mode() & 0o077 != 0 => {
                let what = "others can read it, and be a rank then; make it private: chmod 600";
                return Err(io::Error::new(ErrorKind::PermissionDenied, what));
            }
            Ok(file) => return io::read_to_string(file),
            Err(error) if error.kind() == ErrorKind::NotFound && Instant::now() < end => {
                std::thread::sleep(limits::get().retry_interval);
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Option<Invitation>, String> {
        let variable = |name: &str| {
            pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        Invitation::read(variable).map_err(|error| error.to_string())
    }

    #[test]
    fn launchers_are_understood() {
        assert_eq!(read(&[("SLURM_PROCID", "1")]), Ok(None));
        let ours = [(MEETING, "node1:7777"), (IDENTITY, "run.pem")];
        for (rank, ranks) in
            [(RANK[0], RANKS[0]), ("SLURM_PROCID", "SLURM_NTASKS"), ("PMI_RANK", "PMI_SIZE")]
        {
            let found = read(&[ours[0], ours[1], (rank, "2"), (ranks, "3")]).unwrap().unwrap();
            assert_eq!(found.assigned, Some(Assigned { rank: 2, ranks: 3, most: 3 }));
        }
        let joins = read(&[ours[0], ours[1], (RANK[0], "join")]).unwrap().unwrap();
        assert_eq!((joins.assigned, joins.ranks()), (None, 1));
        let open = [ours[0], ours[1], (RANK[0], "0"), (RANKS[0], "2"), (MOST, "5")];
        let found = read(&open).unwrap().unwrap();
        assert_eq!(found.assigned, Some(Assigned { rank: 0, ranks: 2, most: 5 }));
    }

    #[test]
    fn a_link_is_not_replaced_by_the_certificate() {
        let name = format!("freestone-identity-{}", std::process::id());
        let link = std::env::temp_dir().join(name);
        std::os::unix::fs::symlink("nowhere.pem", &link).unwrap();
        let error = make(&link).unwrap_err().to_string();
        assert_eq!(error, "it is a link to nowhere.pem, which is not there; name that");
        assert!(link.is_symlink());
        std::fs::remove_file(&link).unwrap();
    }

    #[test]
    fn what_is_missing_is_reported() {
        let ours = [(MEETING, "node1:7777"), (IDENTITY, "run.pem"), (RANKS[0], "3")];
        for (pairs, wanted) in [
            (&ours[..2], "FREESTONE_EVENTS_RANKS is '': it must be a number of ranks"),
            (&ours, "FREESTONE_EVENTS_RANK is '': it must be a rank, from 0"),
            (&[ours[0], ours[2], (RANK[0], "0")], "FREESTONE_EVENTS_IDENTITY is ''"),
            (&[ours[0], ours[2], (RANK[0], "x")], "FREESTONE_EVENTS_RANK is 'x'"),
            (&[ours[0], ours[2], (RANK[0], "3")], "it must be less than the number of ranks, 3"),
            (&[ours[0], ours[2], (RANK[0], "0"), (MOST, "2")], "FREESTONE_EVENTS_MOST is '2'"),
            (&[ours[0], ours[2], (RANK[0], "0"), (MOST, "x")], "at least those that there are, 3"),
            (
                &[(RANK[0], "join")],
                "FREESTONE_EVENTS_MEETING is '': it must be HOST:PORT of rank 0",
            ),
            (&[(MOST, "4"), ("PMI_RANK", "0")], "and FREESTONE_EVENTS_MOST is set"),
        ] {
            let error = read(pairs).unwrap_err();
            assert!(error.contains(wanted), "{error}");
        }
    }

    #[test]
    fn ranks_meet_and_who_does_not_come_is_named() {
        let folder = std::env::temp_dir().join(format!("joining-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let invited = |rank, ranks| Invitation {
            meeting: free.to_string(),
            identity: folder.join("run.pem"),
            assigned: Some(Assigned { rank, ranks, most: ranks }),
        };
        std::thread::scope(|scope| {
            let accept =
                |rank| scope.spawn(move || invited(rank, 3).accept(Duration::from_secs(60), 4096));
            let met = [2, 1, 0].map(accept);
            for one in met {
                one.join().unwrap().unwrap();
            }
        });
        let error = invited(0, 2).accept(Duration::from_millis(300), 0).err().unwrap().to_string();
        assert!(error.contains(" for ranks 1, at the meeting, "), "{error}");
        let shared = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        std::fs::set_permissions(folder.join("run.pem"), shared).unwrap();
        let error = invited(0, 1).accept(Duration::from_secs(1), 0).err().unwrap().to_string();
        assert!(error.contains("others can read it"), "{error}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
