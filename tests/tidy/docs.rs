//! Rules for the guide: pages are listed, links have targets, and readers see the code that is compiled.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use super::{report, root};

/// The folder of comparisons with other frameworks, whose code no test here can compile.
const SIDE_BY_SIDE: &str = "coming-from";

/// The folder of pages for contributors, which are not part of the guide.
const DEV: &str = "dev";

/// The maximum number of lines in ARCHITECTURE.md.
const MAX_LINES: usize = 200;

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

/// Returns the pages in `src/docs` of a crate, which are the documentation of its items.
pub fn of_items(name: &str) -> Vec<String> {
    let folder = root().join(name).join("src/docs");
    let mut found = Vec::new();
    if folder.is_dir() {
        pages(&folder, &mut found);
    }
    found.into_iter().map(|path| fs::read_to_string(path).unwrap()).collect()
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

/// Returns the titles and paths of the guide's pages, in the order of docs/SUMMARY.md.
fn summary(text: &str) -> Vec<(&str, &str)> {
    let items = text.lines().filter_map(|line| line.strip_prefix("- [")?.strip_suffix(')')?.split_once("]("));
    items.collect()
}

/// The comparisons are read alone, so they have no next page.
#[test]
fn pages_follow_the_summary() {
    let read = |page: &str| fs::read_to_string(root().join("docs").join(page)).unwrap();
    let (book, index) = (read("SUMMARY.md"), read("README.md"));
    let pages = summary(&book);
    assert!(pages.len() > 20);
    let mut broken = Vec::new();
    let places: Vec<_> = pages.iter().map(|(title, page)| index.find(&format!("| [{title}]({page}) |"))).collect();
    if places.contains(&None) || !places.is_sorted() {
        broken.push("docs/README.md does not list the pages of docs/SUMMARY.md in their order".to_owned());
    }
    let pages: Vec<_> = pages.into_iter().filter(|(_, page)| !page.starts_with(SIDE_BY_SIDE)).collect();
    for pair in pages.windows(2) {
        let ((_, page), (title, next)) = (pair[0], pair[1]);
        let last = format!("\n\nNext: [{title}]({next}).\n");
        let text = read(page);
        if !text.ends_with(&last) || text.matches("\nNext: ").count() != 1 {
            broken.push(format!("docs/{page} does not end with `{}`, and with nothing else of this kind", last.trim()));
        }
    }
    report(&broken);
}

/// Each option of `#[tool]` is in the macro's documentation and in the guide.
#[test]
fn every_option_is_described() {
    let read = |page: &str| fs::read_to_string(root().join(page)).unwrap();
    let source = read("tool-derive/src/syntax/options.rs");
    let table = &source[source.find("\"name\" =>").unwrap()..source.find("\"crate\" =>").unwrap()];
    let keys: Vec<&str> = table
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix('"')?.split_once("\" => "))
        .map(|(key, _)| key)
        .collect();
    assert!(keys.len() > 20, "{keys:?}");
    let mut broken = Vec::new();
    for page in ["tool-derive/src/docs/tool.md", "docs/options.md"] {
        let text = read(page);
        let described: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next()).collect();
        let is_described = |key: &str| {
            described.iter().flat_map(|cell| cell.split('`').skip(1).step_by(2)).any(|code| {
                let rest = code.strip_prefix(key);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '(']))
            })
        };
        broken.extend(
            keys.iter().filter(|key| !is_described(key)).map(|key| format!("{page} does not describe `{key}`")),
        );
    }
    report(&broken);
}

#[test]
fn the_readme_counts_the_errors_that_it_shows() {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    let pinned = fs::read_to_string(root().join("tests/ui/option/several.stderr")).unwrap();
    let errors = pinned.lines().filter(|line| line.starts_with("error")).count();
    assert_eq!(errors, 9, "README.md states this number in words");
    assert!(text.contains("nine errors"), "README.md shows some of the errors of tests/ui/option/several.rs");
    let shown = text.lines().filter(|line| line.starts_with("error: "));
    assert!(shown.map(|line| assert!(pinned.contains(line), "{line}")).count() > 0);
}

#[test]
fn the_architecture_is_one_page() {
    let lines = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap().lines().count();
    assert!(lines <= MAX_LINES, "ARCHITECTURE.md has {lines} lines; move what is no map to docs/dev");
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

/// Returns the pages that describe the present code, with their texts. Decisions describe the code of their date.
fn present() -> Vec<(PathBuf, String)> {
    let mut all = dev();
    all.retain(|page| page.parent().is_none_or(|folder| !folder.ends_with("decisions")));
    let others = ["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(|name| root().join(name));
    all.extend(others.into_iter().chain(readmes()));
    let guide = guide().into_iter().filter(|(page, _)| !page.starts_with(SIDE_BY_SIDE));
    all.extend(guide.map(|(page, _)| root().join("docs").join(page)));
    all.into_iter().map(|page| (page.clone(), fs::read_to_string(&page).unwrap())).collect()
}

/// Returns the READMEs of the folders that belong to no crate.
fn readmes() -> impl Iterator<Item = PathBuf> {
    ["benches", "examples", "fuzz", "scripts", "tests"].into_iter().map(|folder| root().join(folder).join("README.md"))
}

/// Returns the code in backticks outside of code blocks.
fn inline_code(text: &str) -> Vec<&str> {
    let prose = text.split("```").step_by(2);
    prose.flat_map(|prose| prose.split('`').skip(1).step_by(2)).collect()
}

/// Returns `path` with each choice of its first `{a,b}`.
fn choices(path: &str) -> Vec<String> {
    let group = path.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    let Some((before, (group, after))) = group else { return vec![path.to_owned()] };
    group.split(',').map(|choice| format!("{before}{choice}{after}")).collect()
}

/// A path in backticks must exist, like a link's target.
#[test]
fn paths_lead_somewhere() {
    let mut broken = Vec::new();
    for (page, text) in present() {
        let paths = inline_code(&text).into_iter().filter(|code| code.find('/').is_some_and(|at| at > 0));
        for path in paths.flat_map(choices) {
            let folder = path.split('/').next().unwrap();
            // The scripts make files below `target`, which a fresh clone does not have.
            let is_ours = folder != "target" && root().join(folder).is_dir();
            if is_ours && !path.contains([' ', '*', '<']) && !root().join(&path).exists() {
                broken.push(format!("{}: `{path}` is not there", page.display()));
            }
        }
    }
    report(&broken);
}

/// Types of others that the pages name.
const FOREIGN: [&str; 2] = ["CopilotKitProvider", "ServiceBuilder"];

/// A type or a variant in backticks must be in a source, or in a code block of the page.
#[test]
fn names_in_backticks_exist() {
    fn words(text: &str) -> impl Iterator<Item = &str> {
        text.split(|c: char| !c.is_alphanumeric() && c != '_')
    }
    let sources = super::files(&["tool-derive", "examples", "tests", "benches"]);
    let sources: Vec<_> = sources.into_iter().chain(super::files(&super::sources())).collect();
    let known: HashSet<&str> = sources.iter().flat_map(|(_, text)| words(text)).chain(FOREIGN).collect();
    let is_name = |part: &&str| {
        part.starts_with(|c: char| c.is_ascii_uppercase()) && part.contains(|c: char| c.is_ascii_lowercase())
    };
    let mut broken = Vec::new();
    for (page, text) in present() {
        let blocks: HashSet<&str> = text.split("```").skip(1).step_by(2).flat_map(words).collect();
        let parts = inline_code(&text).into_iter().flat_map(|code| code.split("::"));
        for name in parts.filter(is_name).filter(|part| part.chars().all(|c| c.is_alphanumeric() || c == '_')) {
            if !known.contains(name) && !blocks.contains(name) {
                broken.push(format!("{}: `{name}` is in no source", page.display()));
            }
        }
    }
    report(&broken);
}

/// An item in backticks before a link to a source, as in "`step` ([step/mod.rs](…))", must be in that file.
#[test]
fn items_are_in_the_linked_files() {
    let mut broken = Vec::new();
    for page in dev() {
        let text = fs::read_to_string(&page).unwrap();
        let parts: Vec<&str> = text.split('`').collect();
        for (code, after) in parts.iter().skip(1).zip(parts.iter().skip(2)).step_by(2) {
            let after = after.trim_start();
            let after = after.strip_prefix("in").map_or(after, str::trim_start).trim_start_matches('(');
            let Some((name, target)) = after.strip_prefix('[').and_then(|link| link.split_once("](")) else { continue };
            let target = target.split(')').next().unwrap();
            let path = page.parent().unwrap().join(target);
            let item = code.rsplit("::").next().unwrap().trim_end_matches("()");
            let is_item = item.chars().all(|c| c.is_alphanumeric() || c == '_');
            if !is_item || name.contains(']') || path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let is_module =
                path.components().rev().take(2).any(|part| Path::new(&part).file_stem().unwrap_or_default() == item);
            let is_there = || fs::read_to_string(&path).is_ok_and(|source| source.contains(item));
            if !is_module && !is_there() {
                broken.push(format!("{}: `{code}` is not in {target}", page.display()));
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
    all.extend(readmes());
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
    let lists = fs::read_dir(root().join("tests/data/public")).unwrap();
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
