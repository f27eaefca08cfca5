// T21 to T27: streaming, large arguments, concurrent and lost connections, headers and other origins.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { client, createAgent, id, input, post, tool, toolResult, url, user } from './kit.mjs';

const headers = { 'content-type': 'application/json' };

/** Reads a text that the model writes slowly. Returns the times at which its pieces arrived. */
async function measureArrivals() {
  const body = JSON.stringify(input({ messages: [user('slow Grüße an 👩‍👩‍👧 und 日本 und noch mehr davon')] }));
  const response = await fetch(url, { method: 'POST', headers, body });
  assert.match(response.headers.get('cache-control'), /no-cache/);
  assert.equal(response.headers.get('x-accel-buffering'), 'no');
  const times = [];
  let stream = '';
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const chunk of response.body) {
    const text = decoder.decode(chunk, { stream: true });
    if (text.includes('TEXT_MESSAGE_CONTENT')) times.push(performance.now());
    stream += text;
  }
  const frames = stream.trim().split('\n\n').map(frame => JSON.parse(frame.slice(6)));
  const text = frames.map(frame => frame.delta ?? '').join('');
  assert.equal(text, 'Grüße an 👩‍👩‍👧 und 日本 und noch mehr davon');
  return times;
}

test('T21 the client receives the pieces of a text while the model writes', async () => {
  const isGradual = times => times.length >= 5 && times.at(-1) - times[0] > 400;
  const all = [];
  // A client on a busy machine reads several pieces at once, so the test tries up to five times.
  while (all.length < 5 && !all.some(isGradual)) all.push(await measureArrivals());
  assert.ok(all.some(isGradual), JSON.stringify(all));
});

test('T22 the client receives a megabyte of arguments in large pieces', async () => {
  const agent = createAgent();
  const tools = [tool('store')];
  const value = '0123456789abcdeü'.repeat(65_536);
  const began = performance.now();
  const { calls } = await agent.runChecked(`call store ${JSON.stringify({ value })}`, { tools });
  assert.equal(JSON.parse(calls[0].arguments).value, value);
  assert.ok(calls[0].deltas > 4 && calls[0].deltas < 200, `${calls[0].deltas} pieces`);
  assert.ok(performance.now() - began < 20_000);
  assert.equal((await agent.runChecked(toolResult(calls[0].id, 'kept'), { tools })).text, 'tool results: kept');
});

test('T22 the server joins small pieces of arguments', async () => {
  const { calls } = await createAgent().runChecked(`call get_weather {"city":"${'x'.repeat(600)}"}`);
  // The model writes 51 pieces.
  assert.ok(calls[0].deltas <= 12, `${calls[0].deltas} pieces`);
});

test('T23 the server runs twenty conversations concurrently', async () => {
  await Promise.all(Array.from({ length: 20 }, async (_, number) => {
    const agent = createAgent();
    const first = await agent.runChecked(`call get_weather {"city":"C${number}"}`);
    assert.equal(JSON.parse(first.calls[0].result).city, `C${number}`);
    assert.equal((await agent.runChecked(`say I am ${number}.`)).text, `I am ${number}.`);
  }));
});

// The model writes this text for 24 seconds.
const slowPrompt = `slow ${'word '.repeat(200)}`;

test('T24 the server ends a run when its client disconnects', async () => {
  const threadId = id();
  const message = user(slowPrompt);
  const stop = new AbortController();
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(input({ threadId, messages: [message] })), signal: stop.signal });
  const reader = response.body.getReader();
  await reader.read();
  await sleep(200);
  stop.abort();
  await reader.read().catch(() => {});
  const began = performance.now();
  const next = await post(input({ threadId, messages: [message, user('say Back.')] }));
  assert.equal(next.text, 'Back.');
  assert.ok(performance.now() - began < 10_000, 'the previous run has ended early');
});

test('T24 the client aborts a run, and starts the next', async () => {
  const agent = createAgent();
  const run = agent.runChecked(slowPrompt);
  await sleep(300);
  agent.abortRun();
  await run.catch(() => {});
  assert.equal((await agent.runChecked('say Back.')).text, 'Back.');
});

test('T25 each run has the client tools of its own request', async () => {
  const agent = createAgent();
  const { calls } = await agent.runChecked('call paint {}', { tools: [tool('paint')] });
  const run = await agent.runChecked(toolResult(calls[0].id, 'painted'), { tools: [tool('play')] });
  assert.equal(run.text, 'tool results: painted');
  const gone = await agent.runChecked('call paint {}', { tools: [tool('play')] });
  assert.match(gone.calls[0].result, /no tool called `paint`/);
  const changed = await agent.runChecked('call play {"a":1}', { tools: [tool('play', { type: 'object', required: ['a'] })] });
  assert.equal(changed.calls[0].result, undefined);
  const other = tool('play', { type: 'object', required: ['b'] });
  assert.equal((await agent.runChecked(toolResult(changed.calls[0].id, 'played'), { tools: [other] })).text, 'tool results: played');
});

test('T26 client middleware and other Accept headers do not change the response', async () => {
  const agent = createAgent();
  const seen = [];
  agent.use((input, next) => {
    seen.push(input.messages.length);
    return next.run(input);
  });
  assert.equal((await agent.runChecked('say Hi')).text, 'Hi');
  assert.deepEqual(seen, [1]);
  assert.ok(client.HttpAgent);
  for (const accept of ['text/event-stream', '*/*', 'application/json, text/event-stream', 'application/vnd.ag-ui.event+proto, text/event-stream']) {
    const { status, text } = await post(input(), { accept });
    assert.deepEqual([status, text], [200, 'Hi']);
  }
});

test('T27 the server accepts requests from other origins', async () => {
  const origin = 'https://app.example';
  const preflight = await fetch(url, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type,authorization' } });
  assert.ok(preflight.ok);
  assert.ok(['*', origin].includes(preflight.headers.get('access-control-allow-origin')));
  assert.match(preflight.headers.get('access-control-allow-headers'), /content-type|\*/i);
  const response = await fetch(url, { method: 'POST', headers: { ...headers, origin }, body: JSON.stringify(input()) });
  await response.text();
  assert.ok(['*', origin].includes(response.headers.get('access-control-allow-origin')));
});
