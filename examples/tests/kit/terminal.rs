//! A terminal of a test's own.

use std::{
    ffi::OsString,
    fs::{File, OpenOptions},
    io::Read as _,
    os::unix::ffi::OsStringExt as _,
    process::{Command, Stdio},
};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Runs `command` in a terminal: how it ended, and all that was to be seen.
pub(super) fn run(mut command: Command) -> (Option<i32>, String) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = OsString::from_vec(ptsname(&ours, Vec::new()).unwrap().into_bytes());
    let theirs = OpenOptions::new().read(true).write(true).open(name).unwrap();
    let end = || Stdio::from(theirs.try_clone().unwrap());
    let mut child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
    // The program's ends are the last: when they are closed, there is nothing more to read.
    drop((command, theirs));
    let (mut screen, mut piece) = (Vec::new(), [0; 4096]);
    let mut ours = File::from(ours);
    // On Linux the end is an error.
    while let Ok(length @ 1..) = ours.read(&mut piece) {
        screen.extend_from_slice(&piece[..length]);
    }
    (child.wait().unwrap().code(), String::from_utf8(screen).unwrap())
}
