// An attacker in the victim's browser, for every route: pages of a foreign origin, a name of the attacker's own that leads to
// the server (DNS rebinding), and foreign tabs. The server asks nobody who they are, so nothing but its guard is in the way.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { after, test } from 'node:test';
import { chromium } from 'playwright-core';

// The table of the tests in Rust, which fail when a route is not in it.
const table = readFileSync(new URL('../../../tool-server/tests/guard/routes.rs', import.meta.url), 'utf8');
const routes = [...table.split('];')[0].matchAll(/\("([A-Z]+)", "([^"]+)"\)/g)].map(([, method, path]) => ({ method, path }));

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: [
    '--no-sandbox',
    '--host-resolver-rules=MAP *.example 127.0.0.1',
    // Newer browsers ask before a page reaches for the visitor's own machine. This one is as those that do not.
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
  server.on('exit', code => reject(new Error(`the server ended with ${code}`)));
});
const { port } = new URL(base);
await new Promise(ready => evil.listen(0, '127.0.0.1', ready));

/** What the attacker is after: everything that the server keeps, and what it has done. */
async function state() {
  const get = async path => (await fetch(`${base}${path}`)).json();
  const chats = await get('/api/chats');
  return { chats, messages: await Promise.all(chats.map(({ id }) => get(`/api/chat/${id}`))), removed: await get('/probe/removed') };
}

/** A chat that waits for an approval; the requests with which somebody who knew all of its ids would act in it. */
async function victim() {
  const id = randomUUID();
  const text = `g ${JSON.stringify([[{ tool: 'remove', pieces: [JSON.stringify({ what: id })] }], ['Over.']])}`;
  const said = { id: 'm1', role: 'user', parts: [{ type: 'text', text }] };
  const send = (path, body) => fetch(`${base}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  await (await send('/api/chat', { id, messages: [said] })).text();
  const messages = await (await fetch(`${base}/api/chat/${id}`)).json();
  const part = messages[1].parts.find(part => part.toolCallId);
  Object.assign(part, { state: 'approval-responded', approval: { ...part.approval, approved: true } });
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
  assert.deepEqual(missing, [], 'a route without a request to attack it with');
  return { id, requests };
}

/** A page at an address that only this test answers; everything else goes to the network. */
async function page(address) {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.route(address, route => route.fulfill({ contentType: 'text/html', body: '<title>Evil</title>' }));
  await page.goto(address);
  return page;
}

/** In the page: asks for everything with `fetch`; the statuses and types of the responses, or why there is none. */
const ask = (page, base, requests, options) =>
  page.evaluate(
    async ([base, requests, { mode = 'cors', type = 'application/json' }]) => {
      const one = async ({ method, path, body }) => {
        const stop = AbortSignal.timeout(30_000);
        const isSimple = mode === 'no-cors' && !['GET', 'POST'].includes(method);
        const headers = { accept: 'application/json, text/event-stream', ...(body && { 'content-type': type }) };
        try {
          const answer = await fetch(base + path, { method: isSimple ? 'POST' : method, mode, headers, body: method === 'GET' ? undefined : body, signal: stop });
          const text = await answer.text();
          return { method, path, status: answer.status, kind: answer.type, text };
        } catch (error) {
          return { method, path, blocked: String(error) };
        }
      };
      const all = [];
      for (const request of requests) all.push(await one(request));
      return all;
    },
    [base, requests, options ?? {}],
  );

test('the requests are such that they work from the page of the server', async () => {
  assert.ok(routes.length >= 18, `${routes.length} routes`);
  const { id, requests } = await victim();
  const own = await page(`${base}/page`);
  const wanted = requests.filter(({ method, path }) => method === 'POST' && ['/api/chat', '/agent'].includes(path));
  for (const { path, status } of await ask(own, '', wanted)) assert.equal(status, 200, path);
  assert.equal((await state()).removed.filter(removed => removed === id).length, 2);
  const [renamed] = await ask(own, '', requests.filter(({ method }) => method === 'PATCH'));
  assert.ok(renamed.status < 300, JSON.stringify(renamed));
});

test('pages of a foreign origin neither read nor change anything', async () => {
  const { requests } = await victim();
  const before = await state();
  const foreign = await page(`http://evil.example:${evil.address().port}/`);
  for (const type of ['application/json', 'text/plain']) {
    for (const got of await ask(foreign, base, requests, { type })) assert.ok(got.blocked, JSON.stringify(got));
    for (const got of await ask(foreign, base, requests, { mode: 'no-cors', type })) {
      assert.ok(got.blocked || (got.kind === 'opaque' && got.text === ''), JSON.stringify(got));
    }
  }
  // What needs no script: forms of every type, and everything that a page can embed.
  const forms = requests.map(({ path, body }) => ({ path, body: body ?? '{}' }));
  const answered = await foreign.evaluate(
    async ([base, forms]) => {
      const frame = document.body.appendChild(Object.assign(document.createElement('iframe'), { name: 'sink' }));
      let answered = 0;
      for (const enctype of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
        for (const { path, body } of forms) {
          const form = Object.assign(document.createElement('form'), { method: 'post', action: base + path, enctype, target: 'sink' });
          // As `text/plain` this is the body, with a `=` in a member that nobody reads.
          const field = Object.assign(document.createElement('input'), { name: `${body.slice(0, -1)}${body === '{}' ? '' : ','}"x":"`, value: '"}' });
          form.append(field);
          document.body.append(form);
          const loaded = new Promise(done => frame.addEventListener('load', done, { once: true }));
          form.submit();
          await loaded;
          answered += 1;
          try {
            if (frame.contentDocument) throw new Error(`${path} could be read: ${frame.contentDocument.body.innerText}`);
          } catch (error) {
            if (error.name !== 'SecurityError') throw error;
          }
        }
      }
      return answered;
    },
    [base, forms],
  );
  assert.equal(answered, 3 * requests.length);
  const embedded = await foreign.evaluate(
    async ([base, paths]) => {
      const got = [];
      const tried = element => new Promise(done => (element.addEventListener('load', () => done('loaded')), element.addEventListener('error', () => done('failed'))));
      for (const path of paths) {
        const source = new EventSource(base + path);
        got.push(await new Promise(done => ((source.onmessage = ({ data }) => done(data)), (source.onerror = () => done('failed')))));
        source.close();
        const script = Object.assign(document.createElement('script'), { src: base + path });
        document.head.append(script);
        await tried(script);
        const image = Object.assign(new Image(), { src: base + path });
        got.push(await tried(image));
        navigator.sendBeacon(base + path, '{}');
      }
      return got;
    },
    [base, requests.map(({ path }) => path)],
  );
  assert.ok(embedded.every(got => got === 'failed'), `${embedded}`);
  assert.deepEqual(await state(), before);
  await foreign.context().close();
});

test('a name of the attacker that leads to the server gets nothing', async () => {
  const { requests } = await victim();
  const before = await state();
  for (const name of ['rebind.example', 'localhost.example', '127.0.0.1.example']) {
    const rebound = await page(`http://${name}:${port}/page`);
    // For the browser it is one origin: it sends everything, and shows every response.
    for (const { method, path, status, text, blocked } of await ask(rebound, '', requests)) {
      const isPublic = path === '/health';
      assert.equal(status, isPublic ? 200 : 403, `${method} ${path}: ${text ?? blocked}`);
      if (!isPublic) assert.match(text, /invalid_host/);
    }
    await rebound.context().close();
  }
  assert.deepEqual(await state(), before);
});

test('a foreign tab is not read, and changes nothing', async () => {
  const { requests } = await victim();
  const before = await state();
  const foreign = await page(`http://evil.example:${evil.address().port}/`);
  for (const { path } of requests.filter(({ method, path }) => method === 'GET' && !path.endsWith('/stream'))) {
    const opened = foreign.waitForEvent('popup');
    await foreign.evaluate(address => void (window.tab = window.open(address, '_blank')), base + path);
    const tab = await opened;
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
  assert.deepEqual(await state(), before);
});
