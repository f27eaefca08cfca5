//! The size of the machine code that an optimized build makes of a crate's tools.

use std::{fs, io};

use object::{Object as _, ObjectSection as _, SectionKind, read::archive::ArchiveFile};

use super::{MODES, Subject, compile, scratch};
use crate::report::Report;

const NAME: &str = "compile/text";

/// Measures the machine code of our tools against that of `Deserialize` with a function that uses it, and reports the target.
pub(super) fn measure(report: &mut Report, subjects: &[Subject]) {
    if !report.wants(NAME) {
        return;
    }
    let kilobytes = |name| -> io::Result<f64> {
        let subject = subjects.iter().find(|subject| subject.name == name).ok_or(io::ErrorKind::NotFound)?;
        measure_size(subject)
    };
    let all = || -> io::Result<[f64; 4]> {
        Ok([kilobytes("ours")?, kilobytes("decoded")?, kilobytes("derives")?, kilobytes("floor")?])
    };
    match all() {
        Ok([ours, decoded, derives, floor]) => {
            let how = format!(
                "KB of machine code, release: ours {ours:.0}, `Deserialize` and a function that reads each {decoded:.0}, \
                 derives that make tools {derives:.0}, the functions alone {floor:.0}"
            );
            report.at_most(NAME, ours / decoded, 1.0, &how);
        }
        Err(error) => report.fail(NAME, &error.to_string()),
    }
}

/// Builds a crate, optimized. Returns the kilobytes of machine code in its own library.
pub(crate) fn measure_size(subject: &Subject) -> io::Result<f64> {
    let [.., release] = MODES;
    compile(subject, release.args, false)?;
    let library = fs::read(scratch()?.join(format!("target/release/lib{}.rlib", subject.name)))?;
    let mut bytes = 0;
    for member in ArchiveFile::parse(&*library).map_err(io::Error::other)?.members() {
        let data = member.and_then(|member| member.data(&*library)).map_err(io::Error::other)?;
        // The crate's metadata is a member too, but not an object file.
        let Ok(file) = object::File::parse(data) else { continue };
        bytes +=
            file.sections().filter(|section| section.kind() == SectionKind::Text).map(|text| text.size()).sum::<u64>();
    }
    #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
    let bytes = bytes as f64;
    Ok(bytes / 1024.0)
}
