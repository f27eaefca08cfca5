//! What must hold for the guide: its pages are listed, its links lead somewhere, and its code is what a reader sees.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{report, root};

/// Where code of other frameworks stands beside ours, which no test here can compile.
const SIDE_BY_SIDE: &str = "coming-from";

fn pages(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// The guide's pages: where each is below `docs`, and its text.
fn guide() -> Vec<(PathBuf, String)> {
    let docs = root().join("docs");
    let mut found = Vec::new();
    pages(&docs, &mut found);
    assert!(found.len() > 10);
    found
        .into_iter()
        .map(|path| (path.strip_prefix(&docs).unwrap().into(), fs::read_to_string(&path).unwrap()))
        .collect()
}

#[test]
fn every_page_is_listed_and_compiled() {
    let index = fs::read_to_string(root().join("docs/README.md")).unwrap();
    let tests = fs::read_to_string(root().join("tests/guide.rs")).unwrap();
    let mut broken = Vec::new();
    for (page, _) in guide() {
        let name = page.to_string_lossy().replace('\\', "/");
        if name != "README.md" && !index.contains(&format!("({name})")) {
            broken.push(format!("docs/{name} is not in the index, docs/README.md"));
        }
        if !tests.contains(&format!("\"{}\"", name.trim_end_matches(".md"))) {
            broken.push(format!("docs/{name} is not in tests/guide.rs, so nothing compiles its code"));
        }
    }
    report(&broken);
}

#[test]
fn links_lead_somewhere() {
    let mut all = Vec::new();
    pages(&root().join("docs"), &mut all);
    all.extend(["README.md", "ARCHITECTURE.md", "CHANGELOG.md"].map(|name| root().join(name)));
    let mut broken = Vec::new();
    for page in all {
        let text = fs::read_to_string(&page).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap();
            // A path in the documentation is rustdoc's to check, which does.
            if file.is_empty() || file.contains("::") || target.starts_with("http") || !file.contains(['.', '/']) {
                continue;
            }
            if !page.parent().unwrap().join(file).exists() {
                broken.push(format!("{}: `{target}` is not there", page.display()));
            }
        }
    }
    report(&broken);
}

/// Lines that rustdoc hides are there for whoever reads the file, and code that is ignored may be wrong.
#[test]
fn code_is_what_a_reader_sees() {
    let mut broken = Vec::new();
    for (page, text) in guide() {
        let mut rust = false;
        for (number, line) in text.lines().enumerate() {
            let place = || format!("docs/{}:{}", page.display(), number + 1);
            if let Some(kind) = line.strip_prefix("```") {
                rust = !rust && (kind.is_empty() || kind.starts_with("rust"));
                if kind.contains("ignore") && !page.starts_with(SIDE_BY_SIDE) {
                    broken.push(format!("{}: code that no test compiles", place()));
                }
            } else if rust && (line == "#" || line.starts_with("# ")) {
                broken.push(format!("{}: a hidden line; write a whole program", place()));
            }
        }
    }
    report(&broken);
}
