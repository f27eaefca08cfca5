// An attacker in the victim's browser attacks every route: from pages of a foreign origin, by DNS rebinding, and from foreign tabs.
// The server admits anonymous clients, so only its guard stops the attacker.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { after, test } from 'node:test';
import { chromium } from 'playwright-core';

// The table belongs to the tests in Rust. These fail if a route is missing in it.
const table = readFileSync(new URL('../../../tool-server/tests/guard/routes.rs', import.meta.url), 'utf8');
const routes = [...table.split('];')[0].matchAll(/\("([A-Z]+)", "([^"]+)"\)/g)].map(([, method, path]) => ({ method, path }));

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: [
    '--no-sandbox',
    '--host-resolver-rules=MAP *.example 127.0.0.1',
    // Newer browsers ask before a page sends requests to the visitor's own machine. This option restores the behaviour of older ones.
    '--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets,BlockInsecurePrivateNetworkRequests',
  ],
});
const server = spawn(process.env.PAGE_SERVER, ['--everybody'], { stdio: ['ignore', 'pipe', 'inherit'] });
const evil = http.createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<title>Evil</title>'));
after(async () => {
  await browser.close();
  server.kill();
  evil.close();
});
const base = await new Promise((resolve, reject) => {
  server.stdout.on('data', data => resolve(String(data).match(/listening on (\S+)/)[1]));
  server.on('exit', code => reject(new Error(`the server exited with code ${code}`)));
});
const { port } = new URL(base);
await new Promise(ready => evil.listen(0, '127.0.0.1', ready));

/** Returns everything that the attacker wants to read or change: the chats, their messages, and the removed items. */
async function readState() {
  const get = async path => (await fetch(`${base}${path}`)).json();
  const chats = await get('/api/chats');
  return { chats, messages: await Promise.all(chats.map(({ id }) => get(`/api/chat/${id}`))), removed: await get('/probe/removed') };
}

/** Creates a chat and a thread with open approvals. Returns the chat's id, and the requests of an attacker who knows all ids. */
async function createVictim() {
  const id = randomUUID();
  const text = `g ${JSON.stringify([[{ tool: 'remove', pieces: [JSON.stringify({ what: id })] }], ['Over.']])}`;
  const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text }] };
  const send = (path, body) => fetch(`${base}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  await (await send('/api/chat', { id, messages: [message] })).text();
  const messages = await (await fetch(`${base}/api/chat/${id}`)).json();
  const part = messages[1].parts.find(part => part.toolCallId);
  Object.assign(part, { state: 'approval-responded', approval: { ...part.approval, approved: true } });
  const waiting = (await (await fetch(`${base}/api/waiting`)).json()).find(listed => JSON.stringify(listed).includes(id));
  const thread = `thread-${id}`;
  const input = { threadId: thread, runId: 'r', messages: [{ id: 'm1', role: 'user', content: text }], tools: [], context: [], state: {}, forwardedProps: {} };
  const stream = await (await send('/agent', input)).text();
  const [, interruptId] = stream.match(/"interrupts":\[\{"id":"([^"]+)"/);
  const resume = [{ interruptId, status: 'resolved', payload: { approved: true } }];
  const initialize = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'evil', version: '1' } };
  const bodies = {
    'POST /api/chat': { id, messages },
    'POST /api/v6/chat': { id, messages },
    'POST /api/chat/{id}/steer': { message: { id: 'm2', role: 'user', parts: [{ type: 'text', text: 'Evil.' }] } },
    'POST /api/chat/{id}/stop': {},
    'PATCH /api/chat/{id}': { title: 'Evil' },
    'POST /api/waiting': { run: waiting.run, id: waiting.id, decision: 'approve' },
    'POST /agent': { ...input, resume },
    'POST /agent/connect': input,
    'POST /mcp': { jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize },
  };
  const requests = routes.map(({ method, path }) => ({
    method,
    path: path.replace('{id}', id).replace('{thread}', thread),
    body: bodies[`${method} ${path}`] && JSON.stringify(bodies[`${method} ${path}`]),
  }));
  const missing = routes.filter(({ method, path }) => ['POST', 'PATCH'].includes(method) && !bodies[`${method} ${path}`]);
  assert.deepEqual(missing, [], 'every route that needs a body has one');
  return { id, requests };
}

/** Opens a page at an address that only this test serves. All other requests go to the network. */
async function openPage(address) {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.route(address, route => route.fulfill({ contentType: 'text/html', body: '<title>Evil</title>' }));
  await page.goto(address);
  return page;
}

/** Sends requests from a page with `fetch`. Returns the status, type and text of each response, or the error. */
const sendFromPage = (page, base, requests, options) =>
  page.evaluate(
    async ([base, requests, { mode = 'cors', type = 'application/json' }]) => {
      const send = async ({ method, path, body }) => {
        const stop = AbortSignal.timeout(30_000);
        const isSimple = mode === 'no-cors' && !['GET', 'POST'].includes(method);
        const headers = { accept: 'application/json, text/event-stream', ...(body && { 'content-type': type }) };
        try {
          const response = await fetch(base + path, { method: isSimple ? 'POST' : method, mode, headers, body: method === 'GET' ? undefined : body, signal: stop });
          const text = await response.text();
          return { method, path, status: response.status, kind: response.type, text };
        } catch (error) {
          return { method, path, blocked: String(error) };
        }
      };
      const all = [];
      for (const request of requests) all.push(await send(request));
      return all;
    },
    [base, requests, options ?? {}],
  );

test('the requests work from a page of the server itself', async () => {
  assert.ok(routes.length >= 18, `${routes.length} routes`);
  const { id, requests } = await createVictim();
  const own = await openPage(`${base}/page`);
  const wanted = requests.filter(({ method, path }) => method === 'POST' && ['/api/chat', '/agent'].includes(path));
  for (const { path, status } of await sendFromPage(own, '', wanted)) assert.equal(status, 200, path);
  assert.equal((await readState()).removed.filter(removed => removed === id).length, 2);
  const [renamed] = await sendFromPage(own, '', requests.filter(({ method }) => method === 'PATCH'));
  assert.ok(renamed.status < 300, JSON.stringify(renamed));
});

test('pages of a foreign origin neither read nor change anything', async () => {
  const { requests } = await createVictim();
  const before = await readState();
  const foreign = await openPage(`http://evil.example:${evil.address().port}/`);
  for (const type of ['application/json', 'text/plain']) {
    for (const got of await sendFromPage(foreign, base, requests, { type })) assert.ok(got.blocked, JSON.stringify(got));
    for (const got of await sendFromPage(foreign, base, requests, { mode: 'no-cors', type })) {
      assert.ok(got.blocked || (got.kind === 'opaque' && got.text === ''), JSON.stringify(got));
    }
  }
  // The page also submits forms of every type, and embeds every path in every way.
  const forms = requests.map(({ path, body }) => ({ path, body: body ?? '{}' }));
  const submitted = await foreign.evaluate(
    async ([base, forms]) => {
      const frame = document.body.appendChild(Object.assign(document.createElement('iframe'), { name: 'sink' }));
      let submitted = 0;
      for (const enctype of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
        for (const { path, body } of forms) {
          const form = Object.assign(document.createElement('form'), { method: 'post', action: base + path, enctype, target: 'sink' });
          // As `text/plain` the form sends this body. The `=` is inside a member that the server ignores.
          const field = Object.assign(document.createElement('input'), { name: `${body.slice(0, -1)}${body === '{}' ? '' : ','}"x":"`, value: '"}' });
          form.append(field);
          document.body.append(form);
          const loaded = new Promise(done => frame.addEventListener('load', done, { once: true }));
          form.submit();
          await loaded;
          submitted += 1;
          try {
            if (frame.contentDocument) throw new Error(`${path} could be read: ${frame.contentDocument.body.innerText}`);
          } catch (error) {
            if (error.name !== 'SecurityError') throw error;
          }
        }
      }
      return submitted;
    },
    [base, forms],
  );
  assert.equal(submitted, 3 * requests.length);
  const embedded = await foreign.evaluate(
    async ([base, paths]) => {
      const got = [];
      const outcomeOf = element => new Promise(done => (element.addEventListener('load', () => done('loaded')), element.addEventListener('error', () => done('failed'))));
      for (const path of paths) {
        const source = new EventSource(base + path);
        got.push(await new Promise(done => ((source.onmessage = ({ data }) => done(data)), (source.onerror = () => done('failed')))));
        source.close();
        const script = Object.assign(document.createElement('script'), { src: base + path });
        document.head.append(script);
        await outcomeOf(script);
        const image = Object.assign(new Image(), { src: base + path });
        got.push(await outcomeOf(image));
        navigator.sendBeacon(base + path, '{}');
      }
      return got;
    },
    [base, requests.map(({ path }) => path)],
  );
  assert.ok(embedded.every(got => got === 'failed'), `${embedded}`);
  assert.deepEqual(await readState(), before);
  await foreign.context().close();
});

test('the server rejects requests to a host name of the attacker', async () => {
  const { requests } = await createVictim();
  const before = await readState();
  for (const name of ['rebind.example', 'localhost.example', '127.0.0.1.example']) {
    const rebound = await openPage(`http://${name}:${port}/page`);
    // The page and the server have the same origin, so the browser sends every request and shows every response.
    for (const { method, path, status, text, blocked } of await sendFromPage(rebound, '', requests)) {
      const isPublic = path === '/health';
      assert.equal(status, isPublic ? 200 : 403, `${method} ${path}: ${text ?? blocked}`);
      if (!isPublic) assert.match(text, /invalid_host/);
    }
    await rebound.context().close();
  }
  assert.deepEqual(await readState(), before);
});

test('a foreign page neither reads nor changes a tab of the server', async () => {
  const { requests } = await createVictim();
  const before = await readState();
  const foreign = await openPage(`http://evil.example:${evil.address().port}/`);
  for (const { path } of requests.filter(({ method, path }) => method === 'GET' && !path.endsWith('/stream'))) {
    const popup = foreign.waitForEvent('popup');
    await foreign.evaluate(address => void (window.tab = window.open(address, '_blank')), base + path);
    const tab = await popup;
    await tab.waitForLoadState();
    const read = await foreign.evaluate(() => {
      window.tab.postMessage({ approved: true }, '*');
      try {
        return window.tab.document.body.innerText;
      } catch (error) {
        return error.name;
      }
    });
    assert.equal(read, 'SecurityError', path);
    await tab.close();
  }
  assert.deepEqual(await readState(), before);
});
