// Serves everything under one origin: the built pages, CopilotKit's own runtime, and the routes of `page-server`.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HttpAgent, runHttpRequest, transformHttpEventStream } from '@ag-ui/client';
import { CopilotRuntime, InMemoryAgentRunner } from '@copilotkit/runtime/v2';
import { createCopilotNodeListener } from '@copilotkit/runtime/v2/node';
import { build } from 'esbuild';

const folder = mkdtempSync(join(tmpdir(), 'pages-'));
const closers = [];

/** Stops all servers of this module. */
export function close() {
  closers.forEach(closeOne => closeOne());
  rmSync(folder, { recursive: true, force: true });
}

await build({
  entryPoints: [new URL('page.jsx', import.meta.url).pathname],
  outdir: folder,
  bundle: true,
  splitting: true,
  minify: true,
  format: 'esm',
  jsx: 'automatic',
  define: { 'process.env.NODE_ENV': '"production"' },
  loader: { '.woff': 'empty', '.woff2': 'empty', '.ttf': 'empty' },
  logLevel: 'error',
});

/** A runner of CopilotKit that loads threads from the server, and not from its own memory. */
class ServerRunner extends InMemoryAgentRunner {
  constructor(url) {
    super();
    this.url = url;
  }

  connect({ threadId, headers }) {
    const body = { threadId, runId: randomUUID(), messages: [], tools: [], context: [], state: {}, forwardedProps: {} };
    const send = () =>
      fetch(`${this.url}/connect`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    return transformHttpEventStream(runHttpRequest(send));
  }
}

/** Starts a page-server, and a server with the pages in front of it. Returns the base URL of the pages. */
export async function startPages({ isSealed = false } = {}) {
  const server = await startPageServer(isSealed ? ['--stateless'] : []);
  const runtime = (name, runner) =>
    createCopilotNodeListener({
      runtime: new CopilotRuntime({ agents: { default: new HttpAgent({ url: `${server}/agent` }) }, runner }),
      basePath: `/${name}`,
    });
  const runtimes = {
    'copilotkit-memory': runtime('copilotkit-memory', new InMemoryAgentRunner()),
    'copilotkit-server': runtime('copilotkit-server', new ServerRunner(`${server}/agent`)),
  };
  const pages = http.createServer((request, response) => {
    const first = request.url.split(/[/?]/)[1];
    if (runtimes[first]) return void runtimes[first](request, response);
    if (['api', 'agent', 'probe'].includes(first)) return forward(server, request, response);
    servePage(request, response);
  });
  closers.push(() => (pages.closeAllConnections(), pages.close()));
  await new Promise(ready => pages.listen(0, '127.0.0.1', ready));
  return `http://127.0.0.1:${pages.address().port}`;
}

/** Starts a page-server, and returns its base URL. */
function startPageServer(options) {
  const server = spawn(process.env.PAGE_SERVER, options, { stdio: ['ignore', 'pipe', 'inherit'] });
  closers.push(() => server.kill());
  return new Promise((resolve, reject) => {
    let stdout = '';
    server.stdout.on('data', data => {
      const found = (stdout += data).match(/listening on (\S+)/);
      if (found) resolve(found[1]);
    });
    server.on('exit', code => reject(new Error(`the server exited with code ${code}`)));
  });
}

/** Forwards a request unchanged. Disconnects from the page-server when the client disconnects. */
function forward(server, request, response) {
  const { method, headers, url } = request;
  const upstream = http.request(`${server}${url}`, { method, headers }, upstreamResponse => {
    response.writeHead(upstreamResponse.statusCode, upstreamResponse.headers);
    upstreamResponse.pipe(response);
  });
  upstream.on('error', () => response.destroy());
  response.on('close', () => upstream.destroy());
  request.pipe(upstream);
}

const TYPES = { js: 'text/javascript', css: 'text/css' };
const SHELL = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Page</title><link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/page.css"><style>body{margin:0;height:100vh}</style>
<div id="root" style="height:100vh"></div><script type="module" src="/page.js"></script>`;

/** Serves a built file, or the HTML document for every other path. */
function servePage(request, response) {
  const name = request.url.match(/^\/([\w.-]+\.(js|css))$/);
  try {
    const text = name ? readFileSync(join(folder, name[1])) : SHELL;
    response.writeHead(200, { 'content-type': name ? TYPES[name[2]] : 'text/html' }).end(text);
  } catch {
    response.writeHead(404).end();
  }
}
