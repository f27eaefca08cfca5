//! Tests of several servers as processes on one PostgreSQL, behind a proxy that sends each request to the next server. Some
//! servers are killed.
//!
//! `scripts/fleet` runs the whole series. The tests of servers in one process are in `both_protocols::shared_store`.

mod client;
mod deaths;
mod proxy;
mod requests;
mod service;
mod takeover;
mod world;

use std::{
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use tool_test_kit::stores::{File, Schema};

use client::Client;
use proxy::Proxy;
use world::World;

/// Servers, with the proxy, the database and the folder that outlive them.
struct Fleet {
    servers: Vec<(Child, SocketAddr)>,
    proxy: Proxy,
    schema: Schema,
    folder: File,
    lease: Duration,
}

impl Fleet {
    /// Starts three servers whose leases last for `lease`.
    async fn start(lease: Duration) -> Self {
        let schema = Schema::new();
        // Create the tables before servers compete to create them, and before a test reads them.
        drop(schema.open().await);
        let mut fleet = Self { servers: Vec::new(), proxy: Proxy::start().await, schema, folder: File::new(), lease };
        for _ in 0..3 {
            let server = fleet.start_server();
            fleet.servers.push(server);
        }
        fleet.proxy.send_to(fleet.addresses());
        fleet
    }

    fn dir(&self) -> PathBuf {
        self.folder.path().parent().unwrap().to_owned()
    }

    fn world(&self) -> World {
        World::of(&self.dir())
    }

    fn client(&self, chat: impl Into<String>) -> Client {
        Client::new(self.proxy.address, chat.into())
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        self.servers.iter().map(|(_, address)| *address).collect()
    }

    /// Starts a server in a process of its own.
    fn start_server(&self) -> (Child, SocketAddr) {
        let mut server = Command::new(std::env::current_exe().unwrap())
            .args(["fleet::service::serves", "--exact", "--ignored", "--nocapture"])
            .env(service::URL, self.schema.named_url())
            .env(service::SCHEMA, &self.schema.name)
            .env(service::DIR, self.dir())
            .env(service::LEASE, self.lease.as_millis().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines().map_while(Result::ok);
        let address = lines.find_map(|line| Some(line.split_once(service::READY)?.1.to_owned()));
        let address = address.expect("the server starts").parse().unwrap();
        // Without a reader of its output, the process would end when its test reports that it has run for a minute.
        std::thread::spawn(move || lines.for_each(drop));
        (server, address)
    }

    /// Kills a server, as a power failure does.
    fn kill(&mut self, number: usize) {
        let server = &mut self.servers[number].0;
        server.kill().unwrap();
        server.wait().unwrap();
    }

    /// Replaces a killed server by a new one at another address.
    fn replace(&mut self, number: usize) {
        self.servers[number] = self.start_server();
        self.proxy.send_to(self.addresses());
    }

    async fn end(mut self) {
        (0..self.servers.len()).for_each(|number| self.kill(number));
        self.schema.clone().remove().await;
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for (server, _) in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// Returns the number in the environment variable, or `default`.
fn read_number(variable: &str, default: usize) -> usize {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}
