//! A directory as a set of tools: list, read, search, write, and delete after an approval. The crate cap-std keeps every path
//! inside: the kernel resolves it below the opened directory. Neither `..` nor a symbolic link leads out, even if the link is
//! created while the path is resolved.

use std::{
    io::{self, Read},
    path::Path,
};

use cap_std::{ambient_authority, fs::Dir};
use schemars::JsonSchema;
use serde::Serialize;
use tool_runtime::{Context, Failure, tools};

/// The maximum size of a file that is read, in bytes.
const MAX_READ: u64 = 256 * 1024;

/// The largest number of matches that a search returns.
const MAX_MATCHES: usize = 100;

/// A directory that tools work on.
#[derive(Debug)]
pub struct Workspace {
    root: Dir,
}

/// The entries of a directory.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct Entry {
    name: String,
    is_directory: bool,
    /// The size in bytes.
    size: u64,
}

/// A line that was found.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct Match {
    path: String,
    /// The number of the line, from 1.
    line: usize,
    text: String,
}

impl Workspace {
    /// Opens a directory.
    ///
    /// Fails when there is no such directory, or when it cannot be opened.
    pub fn open(root: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self { root: Dir::open_ambient_dir(root, ambient_authority())? })
    }
}

#[tools]
impl Workspace {
    /// List the files of a directory.
    #[tool(effect = read_only, title = "List files")]
    fn list(
        &self,
        /// The directory, relative to the root.
        #[arg(default = ".".to_owned())]
        path: String,
    ) -> Result<Vec<Entry>, Failure> {
        let mut entries = Vec::new();
        for entry in self.root.read_dir(&path).map_err(|error| describe(&path, &error))? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            let name = entry.file_name().to_string_lossy().into_owned();
            entries.push(Entry { name, is_directory: metadata.is_dir(), size: metadata.len() });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// Read a text file.
    #[tool(effect = read_only, title = "Read a file", untrusted)]
    fn read(
        &self,
        /// The file, relative to the root.
        #[arg(length(1..=4096))]
        path: String,
    ) -> Result<String, Failure> {
        let file = self.root.open(&path).map_err(|error| describe(&path, &error))?;
        let mut bytes = Vec::new();
        file.take(MAX_READ + 1).read_to_end(&mut bytes).map_err(|error| describe(&path, &error))?;
        if bytes.len() as u64 > MAX_READ {
            return Err(Failure::new(format!("`{path}` is larger than {MAX_READ} bytes")));
        }
        String::from_utf8(bytes).map_err(|error| Failure::new(format!("`{path}` is no text file")).source(error))
    }

    /// Search all files for a text.
    #[tool(effect = read_only, title = "Search", untrusted, blocking)]
    fn search(
        &self,
        /// The text to look for; upper and lower case are different.
        #[arg(length(1..=200))]
        text: String,
        #[context] cx: &Context,
    ) -> Result<Vec<Match>, Failure> {
        let mut found = Vec::new();
        let mut open = vec![String::from(".")];
        let mut done = 0_u32;
        while let Some(directory) = open.pop() {
            let known = done.saturating_add(u32::try_from(open.len()).unwrap_or(u32::MAX)).saturating_add(1);
            cx.report_progress(done.into(), Some(known.into()), directory.as_str());
            done += 1;
            if cx.cancellation().is_cancelled() || found.len() >= MAX_MATCHES {
                break;
            }
            for entry in self.list(directory.clone())? {
                let path = if directory == "." { entry.name.clone() } else { format!("{directory}/{}", entry.name) };
                if entry.is_directory {
                    open.push(path);
                } else if let Ok(content) = self.read(path.clone()) {
                    let lines = content.lines().enumerate().filter(|(_, line)| line.contains(&text));
                    let matches = lines.map(|(index, line)| Match {
                        path: path.clone(),
                        line: index + 1,
                        text: line.trim().chars().take(200).collect(),
                    });
                    found.extend(matches.take(MAX_MATCHES - found.len()));
                }
            }
        }
        Ok(found)
    }

    /// Write a text file, in place of what was there.
    #[tool(effect = write, approval = always, idempotent, title = "Write a file")]
    fn write(
        &self,
        /// The file, relative to the root.
        #[arg(length(1..=4096))]
        path: String,
        /// The whole content.
        content: String,
    ) -> Result<String, Failure> {
        if let Some(parent) = Path::new(&path).parent() {
            self.root.create_dir_all(parent).map_err(|error| describe(&path, &error))?;
        }
        self.root.write(&path, &content).map_err(|error| describe(&path, &error))?;
        Ok(format!("{} bytes written to `{path}`", content.len()))
    }

    /// Delete a file.
    #[tool(effect = destructive, approval = always, title = "Delete a file", challenge = "Delete {path}?")]
    fn delete(
        &self,
        /// The file, relative to the root.
        #[arg(length(1..=4096))]
        path: String,
    ) -> Result<String, Failure> {
        self.root.remove_file(&path).map_err(|error| describe(&path, &error))?;
        Ok(format!("`{path}` deleted"))
    }
}

/// Returns an error whose text names what the model can correct, and nothing of the system.
fn describe(path: &str, error: &io::Error) -> Failure {
    let text = match error.kind() {
        io::ErrorKind::NotFound => format!("there is no `{path}`"),
        io::ErrorKind::PermissionDenied => format!("`{path}` is not accessible, or outside of the root"),
        io::ErrorKind::NotADirectory => format!("`{path}` is no directory"),
        io::ErrorKind::IsADirectory => format!("`{path}` is a directory"),
        _ => format!("`{path}` cannot be used"),
    };
    Failure::new(text).source(error)
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        path::{Path, PathBuf},
    };

    use tool_runtime::Context;

    use super::Workspace;

    fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("files-example-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(dir.join("root/sub")).unwrap();
        fs::write(dir.join("root/a.txt"), "one\ntwo tools\n").unwrap();
        fs::write(dir.join("root/sub/b.txt"), "tools").unwrap();
        fs::write(dir.join("secret.txt"), "secret").unwrap();
        dir
    }

    async fn call(workspace: &Path, name: &str, arguments: serde_json::Value) -> Result<String, String> {
        let tools = Workspace::open(workspace.join("root")).unwrap().toolset();
        let result = tools.call(name, &arguments.to_string(), &Context::new("1")).await;
        result.map(|output| output.as_json().unwrap().to_owned()).map_err(|error| error.to_string())
    }

    #[test]
    fn decoder_and_schema_accept_the_same() {
        let dir = scratch("agree");
        tool_test_kit::agreement::check(&Workspace::open(dir.join("root")).unwrap().toolset(), 2000);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn types_are_current() {
        let dir = scratch("types");
        tool_test_kit::types::check("workspace", &Workspace::open(dir.join("root")).unwrap().toolset());
        fs::remove_dir_all(dir).unwrap();
    }

    #[tokio::test]
    async fn works_below_the_root() {
        let dir = scratch("works");
        let json = serde_json::json!({"text": "tools"});
        let found = call(&dir, "search", json).await.unwrap();
        assert!(found.contains("a.txt") && found.contains("sub/b.txt"), "{found}");
        call(&dir, "write", serde_json::json!({"path": "new/c.txt", "content": "c"})).await.unwrap();
        assert_eq!(call(&dir, "read", serde_json::json!({"path": "new/c.txt"})).await.unwrap(), "\"c\"");
        call(&dir, "delete", serde_json::json!({"path": "new/c.txt"})).await.unwrap();
        let gone = call(&dir, "read", serde_json::json!({"path": "new/c.txt"})).await;
        assert_eq!(gone.unwrap_err(), "there is no `new/c.txt`");
        fs::remove_dir_all(dir).unwrap();
    }

    #[tokio::test]
    async fn never_leaves_the_root() {
        let dir = scratch("never");
        std::os::unix::fs::symlink("../secret.txt", dir.join("root/link")).unwrap();
        std::os::unix::fs::symlink("/", dir.join("root/top")).unwrap();
        let absolute = dir.join("secret.txt").to_string_lossy().into_owned();
        for path in ["../secret.txt", "sub/../../secret.txt", "link", "top/etc/passwd", "/etc/passwd", &absolute] {
            for tool in ["read", "write", "delete"] {
                let arguments = serde_json::json!({"path": path, "content": "x"});
                let arguments = if tool == "write" { arguments } else { serde_json::json!({"path": path}) };
                let result = call(&dir, tool, arguments).await;
                // Deleting a link deletes the link, which is inside.
                assert!(result.is_err() || (tool == "delete" && path == "link"), "{tool} {path}: {result:?}");
            }
        }
        assert_eq!(fs::read_to_string(dir.join("secret.txt")).unwrap(), "secret");
        fs::remove_dir_all(dir).unwrap();
    }
}
