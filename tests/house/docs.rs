//! Rules for the guide: pages are listed, links have targets, and readers see the code that is compiled.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{report, root};

/// The folder of comparisons with other frameworks, whose code no test here can compile.
const SIDE_BY_SIDE: &str = "coming-from";

/// The folder of pages for contributors, which are not part of the guide.
const DEV: &str = "dev";

/// The maximum number of lines in ARCHITECTURE.md.
const MOST_LINES: usize = 200;

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

/// Returns the guide's pages: paths below `docs`, and texts.
pub fn guide() -> Vec<(PathBuf, String)> {
    let docs = root().join("docs");
    let mut found = Vec::new();
    pages(&docs, &mut found);
    assert!(found.len() > 10);
    found
        .into_iter()
        .map(|path| (path.strip_prefix(&docs).unwrap().into(), fs::read_to_string(&path).unwrap()))
        .filter(|(page, _): &(PathBuf, String)| !page.starts_with(DEV))
        .collect()
}

/// Returns ARCHITECTURE.md, and the pages below it.
fn dev() -> Vec<PathBuf> {
    let mut found = vec![root().join("ARCHITECTURE.md")];
    pages(&root().join("docs").join(DEV), &mut found);
    assert!(found.len() > 10);
    found
}

#[test]
fn every_page_is_listed_and_compiled() {
    let read = |page: &str| fs::read_to_string(root().join(page)).unwrap();
    let (book, index, tests) = (read("docs/SUMMARY.md"), read("docs/README.md"), read("tests/guide.rs"));
    let mut broken = Vec::new();
    for (page, _) in guide() {
        let name = page.to_string_lossy().replace('\\', "/");
        if name == "SUMMARY.md" {
            continue;
        }
        if !book.contains(&format!("({name})")) || !(index.contains(&format!("({name})")) || name == "README.md") {
            broken.push(format!("docs/{name} is not listed in both docs/SUMMARY.md and docs/README.md"));
        }
        if !tests.contains(&format!("\"docs/{}\"", name.trim_end_matches(".md"))) {
            broken.push(format!("docs/{name} is not in tests/guide.rs, so nothing compiles its code"));
        }
    }
    report(&broken);
}

#[test]
fn the_architecture_is_one_page() {
    let lines = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap().lines().count();
    assert!(lines <= MOST_LINES, "ARCHITECTURE.md has {lines} lines; move what is no map to docs/dev");
}

#[test]
fn every_dev_page_is_listed() {
    let mut broken = Vec::new();
    for page in dev() {
        let folder = page.parent().unwrap();
        let index = match folder.join("README.md") {
            index if folder != root() && index.exists() => index,
            _ => root().join("ARCHITECTURE.md"),
        };
        let name = page.strip_prefix(index.parent().unwrap()).unwrap().to_string_lossy().replace('\\', "/");
        if page != index && !fs::read_to_string(&index).unwrap().contains(&format!("({name})")) {
            broken.push(format!("{} is not in {}", page.display(), index.display()));
        }
    }
    report(&broken);
}

/// A path in backticks must exist, like a link's target. Decisions are exempt, because they describe the code of their date.
#[test]
fn paths_lead_somewhere() {
    let mut broken = Vec::new();
    for page in dev().into_iter().filter(|page| page.parent().is_none_or(|folder| !folder.ends_with("decisions"))) {
        let text = fs::read_to_string(&page).unwrap();
        for path in text.split('`').skip(1).step_by(2).filter(|code| code.find('/').is_some_and(|at| at > 0)) {
            let is_ours = root().join(path.split('/').next().unwrap()).is_dir();
            if is_ours && !path.contains([' ', '*', '{']) && !root().join(path).exists() {
                broken.push(format!("{}: `{path}` is not there", page.display()));
            }
        }
    }
    report(&broken);
}

#[test]
fn links_lead_somewhere() {
    let mut all = Vec::new();
    pages(&root().join("docs"), &mut all);
    all.extend(
        ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
            .map(|name| root().join(name)),
    );
    let mut broken = Vec::new();
    for page in all {
        let text = fs::read_to_string(&page).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            // A path in the documentation is rustdoc's to check, which does.
            if file.contains("::") || target.starts_with("http") || !target.contains(['.', '/', '#']) {
                continue;
            }
            let to = if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            if !to.exists() {
                broken.push(format!("{}: `{target}` is not there", page.display()));
            } else if !anchor.is_empty() && !anchors(&fs::read_to_string(&to).unwrap()).any(|name| name == anchor) {
                broken.push(format!("{}: `{target}`: no heading has this anchor", page.display()));
            }
        }
    }
    report(&broken);
}

/// Returns the anchors of a page's headings.
fn anchors(text: &str) -> impl Iterator<Item = String> {
    let headings = text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    headings.map(|heading| {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
    })
}

#[test]
fn anchors_are_those_of_the_book() {
    let text = "# The AI SDK's `useChat`\n\nText.\n## `#[tool(…)]`\n";
    assert_eq!(anchors(text).collect::<Vec<_>>(), ["the-ai-sdks-usechat", "tool"]);
}

/// The glossary names the type that stands for a term, so that type is public. Methods and variants are not in the lists.
#[test]
fn the_glossary_names_public_items() {
    let lists = fs::read_dir(root().join("tests/public")).unwrap();
    let public: Vec<String> = lists
        .flat_map(|list| {
            fs::read_to_string(list.unwrap().path()).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .filter_map(|line| Some(line.rsplit([' ', ':']).next()?.to_owned()))
        .collect();
    let text = fs::read_to_string(root().join("docs/glossary.md")).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_suffix(" |")?.rsplit_once(" | "));
    let mut seen = 0;
    let mut broken = Vec::new();
    for name in rows.flat_map(|(_, names)| names.split('`').skip(1).step_by(2)).filter(|name| name.contains("::")) {
        let parts = || name.split("::");
        let item = parts().find(|part| part.starts_with(char::is_uppercase)).or_else(|| parts().last()).unwrap();
        seen += 1;
        if !public.iter().any(|public| public == item) {
            broken.push(format!("docs/glossary.md: `{name}` is not public"));
        }
    }
    assert!(seen > 40, "{seen} names");
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
