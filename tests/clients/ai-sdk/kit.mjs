// What the scenarios share: the server, the real client of either version, and a look at every chunk that it gets.
import assert from 'node:assert/strict';
import { startAcceptanceServer } from '../server.mjs';
import { until } from '../until.mjs';

export { until };

export const sdk = await import(process.env.SDK === '6' ? './v6/sdk.mjs' : './v7/sdk.mjs');
const other = await import(process.env.SDK === '6' ? './v7/sdk.mjs' : './v6/sdk.mjs');

/** Whether the server keeps nothing, and the client all of it. */
export const stateless = process.env.STATELESS === '1';
export const base = await startAcceptanceServer(...(stateless ? ['--stateless'] : []));

export const counters = async () => (await fetch(`${base}/probe/counters`)).json();
export const reset = async () => assert.ok((await fetch(`${base}/probe/reset`, { method: 'POST' })).ok);
export const executions = async tool => (await counters()).executions[tool] ?? 0;
/** Ends the calls of `slow`. */
export const release = async () => assert.ok((await fetch(`${base}/probe/release`, { method: 'POST' })).ok);

export const script = (...steps) => `SCRIPT ${JSON.stringify({ steps })}`;
export const call = (id, tool, input, more = {}) => ({ call: { id, tool, input, ...more } });
export const text = text => ({ text });
export const echo = { echo: true };

/** Ends the calls of `slow` once a chat reads an answer. */
export async function releaseOnceRead(it) {
  await until('the answer is read', () => it.log.raw.some(raw => raw !== ''));
  await release();
}

/** Waits until the answer of a chat cannot be resumed. Its readers have its end a moment before. */
export const untilOver = id => until('the answer is over', async () => (await fetch(`${base}/api/chat/${id}/stream`)).status === 204);

/** The chunks of a raw stream, each checked with the SDK's own schema. */
export async function chunks(raw, level = sdk.level) {
  const frames = raw.split('\n\n').filter(frame => frame !== '');
  const found = [];
  for (const frame of frames) {
    if (frame.startsWith(':')) continue;
    assert.match(frame, /^data: [^\n]*$/, `not one line: ${frame}`);
    const data = frame.slice('data: '.length);
    if (data === '[DONE]') continue;
    const chunk = JSON.parse(data);
    found.push(chunk);
    await check(sdk, chunk);
    if (level === 6) await check(other.level === 6 ? other : sdk, chunk);
  }
  return found;
}

async function check(sdk, chunk) {
  const schema = typeof sdk.uiMessageChunkSchema === 'function' ? sdk.uiMessageChunkSchema() : sdk.uiMessageChunkSchema;
  const result = await schema.validate(chunk);
  assert.ok(result.success, `${JSON.stringify(chunk)} is refused by ai ${sdk.level}: ${result.error}`);
}

/** Whether a whole stream is in the order that the protocol wants. */
export function assertLegal(all) {
  assert.equal(all[0]?.type, 'start', 'the first chunk');
  const last = all.at(-1)?.type;
  assert.ok(['finish', 'abort', 'error'].includes(last), `the last chunk is ${last}`);
  let inStep = false;
  const open = new Map();
  const done = new Set();
  for (const chunk of all) {
    for (const [key, value] of Object.entries(chunk)) {
      assert.ok(value !== null || key === 'input' || key === 'output', `${chunk.type}.${key} is null`);
    }
    const { type } = chunk;
    if (type === 'start-step') assert.ok(!inStep, 'a step in a step'), (inStep = true);
    if (type === 'finish-step') assert.ok(inStep, 'no step to finish'), (inStep = false), assert.equal(open.size, 0);
    if (type === 'reset-step') assert.ok(inStep, 'no step to void'), open.clear();
    const part = type.match(/^(text|reasoning)-(start|delta|end)$/);
    if (part) {
      const key = `${part[1]} ${chunk.id}`;
      assert.equal(open.has(key), part[2] !== 'start', `${type} of ${key}`);
      if (part[2] === 'start') open.set(key, true);
      if (part[2] === 'end') open.delete(key);
    }
    if (chunk.toolCallId) {
      assert.ok(!done.has(chunk.toolCallId), `${type} after the end of ${chunk.toolCallId}`);
      const ends = ['tool-output-error', 'tool-output-denied', 'tool-input-error'].includes(type);
      if (ends || (type === 'tool-output-available' && !chunk.preliminary)) done.add(chunk.toolCallId);
    }
  }
}

/** A chat of the real client. `raw` holds each response as it came, `requests` what was sent. */
export function chat({ messages, id, auto = true, onToolCall, body, endpoint = sdk.endpoint, legal = true } = {}) {
  const log = { raw: [], responses: [], requests: [], errors: [], reading: [] };
  const transport = new sdk.DefaultChatTransport({
    api: base + endpoint,
    body,
    fetch: async (url, init) => {
      if (init?.body) log.requests.push(JSON.parse(init.body));
      const response = await fetch(url, init);
      log.responses.push(response);
      if (!response.body || !response.ok) return response;
      const at = log.raw.push('') - 1;
      const [mine, theirs] = response.body.tee();
      log.reading.push(
        (async () => {
          for await (const piece of mine.pipeThrough(new TextDecoderStream())) log.raw[at] += piece;
        })().catch(() => {}),
      );
      return new Response(theirs, { status: response.status, headers: response.headers });
    },
  });
  const automatic = options =>
    sdk.lastAssistantMessageIsCompleteWithToolCalls(options) ||
    sdk.lastAssistantMessageIsCompleteWithApprovalResponses(options);
  const it = new sdk.Chat({
    id,
    messages,
    transport,
    sendAutomaticallyWhen: auto ? automatic : undefined,
    onError: error => log.errors.push(error),
    onToolCall: onToolCall && (options => onToolCall(it, options)),
  });
  const settled = async () => {
    // What is sent by itself begins a moment after the answer before has ended.
    await until('the chat rests', async () => {
      if (it.status === 'submitted' || it.status === 'streaming') return false;
      const before = log.requests.length;
      await new Promise(resolve => setTimeout(resolve, 60));
      return log.requests.length === before && it.status !== 'submitted' && it.status !== 'streaming';
    });
    await Promise.all(log.reading);
    if (!legal) return;
    for (const raw of log.raw) assertLegal(await chunks(raw));
  };
  return Object.assign(it, {
    log,
    settled,
    say: async (...steps) => {
      await it.sendMessage({ text: script(...steps) });
      await settled();
    },
    parts: () => it.messages.at(-1).parts,
    part: toolCallId => it.messages.flatMap(m => m.parts).findLast(part => part.toolCallId === toolCallId),
    spoken: () => it.messages.at(-1).parts.filter(part => part.type === 'text').map(part => part.text).join('\n'),
    seen: () => {
      const last = it.messages.at(-1).parts.filter(part => part.type === 'text' && part.text.startsWith('SEEN ')).at(-1);
      assert.ok(last, `the model has told nothing: ${JSON.stringify(it.messages.at(-1))}`);
      return JSON.parse(last.text.slice('SEEN '.length));
    },
    ok: () => assert.deepEqual([it.status, log.errors], ['ready', []]),
  });
}

/** A request without a client. */
export async function post(body, endpoint = sdk.endpoint, init = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const headers = { 'content-type': 'application/json' };
  return fetch(base + endpoint, { method: 'POST', headers, body: text, ...init });
}

export const user = (text, id = `user-${Math.random()}`) => ({ id, role: 'user', parts: [{ type: 'text', text }] });
