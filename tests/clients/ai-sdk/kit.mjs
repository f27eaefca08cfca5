// The kit of the AI SDK's tests: an acceptance server, the real client of version 6 or 7, and checks of every chunk in a response.
import assert from 'node:assert/strict';
import { startAcceptanceServer } from '../server.mjs';
import { until } from '../until.mjs';

export { until };

/** The AI SDK under test, in the version that the environment variable SDK selects. */
export const sdk = await import(process.env.SDK === '6' ? './v6/sdk.mjs' : './v7/sdk.mjs');
const otherSdk = await import(process.env.SDK === '6' ? './v7/sdk.mjs' : './v6/sdk.mjs');

/** True if the server stores nothing, and the client keeps the runs. */
export const stateless = process.env.STATELESS === '1';
/** The base URL of the acceptance server. */
export const base = await startAcceptanceServer(...(stateless ? ['--stateless'] : []));

/** Returns how often each tool was executed, and how often it was aborted. */
export const counters = async () => (await fetch(`${base}/probe/counters`)).json();
/** Resets the counters. */
export const reset = async () => assert.ok((await fetch(`${base}/probe/reset`, { method: 'POST' })).ok);
/** Returns how often the server executed a tool since the last reset. */
export const executions = async tool => (await counters()).executions[tool] ?? 0;
/** Ends the running calls of the tool `slow`. */
export const releaseSlow = async () => assert.ok((await fetch(`${base}/probe/release`, { method: 'POST' })).ok);

/** Returns a prompt that is a script for the model: a list of items for each turn. */
export const script = (...steps) => `SCRIPT ${JSON.stringify({ steps })}`;
/** An item of a script: the model calls a tool. */
export const call = (id, tool, input, more = {}) => ({ call: { id, tool, input, ...more } });
/** An item of a script: the model writes a text. */
export const text = text => ({ text });
/** An item of a script: the model writes "SEEN " and the results that it received. */
export const echo = { echo: true };

/** Ends the running calls of `slow` once the client of `chat` has received a part of a response. */
export async function releaseSlowOnceRead(chat) {
  await until('the client receives a part of a response', () => chat.log.raw.some(raw => raw !== ''));
  await releaseSlow();
}

/** Waits until no response of a chat can be resumed. Clients receive the end of a response a moment before. */
export const untilNotResumable = id =>
  until('there is no response to resume', async () => (await fetch(`${base}/api/chat/${id}/stream`)).status === 204);

/** Returns the chunks of a raw stream. Checks each chunk with the SDK's own schema. */
export async function parseChunks(raw, version = sdk.version) {
  const frames = raw.split('\n\n').filter(frame => frame !== '');
  const found = [];
  for (const frame of frames) {
    if (frame.startsWith(':')) continue;
    assert.match(frame, /^data: [^\n]*$/, `the frame is not one line: ${frame}`);
    const data = frame.slice('data: '.length);
    if (data === '[DONE]') continue;
    const chunk = JSON.parse(data);
    found.push(chunk);
    await assertValid(sdk, chunk);
    if (version === 6) await assertValid(otherSdk.version === 6 ? otherSdk : sdk, chunk);
  }
  return found;
}

/** Asserts that a version of the SDK accepts a chunk. */
async function assertValid(sdk, chunk) {
  const schema = typeof sdk.uiMessageChunkSchema === 'function' ? sdk.uiMessageChunkSchema() : sdk.uiMessageChunkSchema;
  const result = await schema.validate(chunk);
  assert.ok(result.success, `version ${sdk.version} of the SDK rejects ${JSON.stringify(chunk)}: ${result.error}`);
}

/** Asserts that the chunks of a whole response are in an order that the protocol allows. */
export function assertLegal(all) {
  assert.equal(all[0]?.type, 'start', 'the type of the first chunk');
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
    if (type === 'start-step') assert.ok(!inStep, 'a step starts inside a step'), (inStep = true);
    if (type === 'finish-step') assert.ok(inStep, 'finish-step without a step'), (inStep = false), assert.equal(open.size, 0);
    if (type === 'reset-step') assert.ok(inStep, 'reset-step without a step'), open.clear();
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

/**
 * Creates a chat of the real client. Its `log` has the requests that the client sent, and each response as the server sent it.
 * With `auto`, the client sends the next request when its calls have results. With `legal`, every response must be legal.
 */
export function createChat({ messages, id, auto = true, onToolCall, body, endpoint = sdk.endpoint, legal = true } = {}) {
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
      const [forLog, forClient] = response.body.tee();
      log.reading.push(
        (async () => {
          for await (const piece of forLog.pipeThrough(new TextDecoderStream())) log.raw[at] += piece;
        })().catch(() => {}),
      );
      return new Response(forClient, { status: response.status, headers: response.headers });
    },
  });
  const isComplete = options =>
    sdk.lastAssistantMessageIsCompleteWithToolCalls(options) ||
    sdk.lastAssistantMessageIsCompleteWithApprovalResponses(options);
  const chat = new sdk.Chat({
    id,
    messages,
    transport,
    sendAutomaticallyWhen: auto ? isComplete : undefined,
    onError: error => log.errors.push(error),
    onToolCall: onToolCall && (options => onToolCall(chat, options)),
  });
  /** Waits until the client neither sends nor receives, and checks the responses. */
  const untilSettled = async () => {
    // The client sends an automatic request a moment after the previous response has ended.
    await until('the chat settles', async () => {
      if (chat.status === 'submitted' || chat.status === 'streaming') return false;
      const before = log.requests.length;
      await new Promise(resolve => setTimeout(resolve, 60));
      return log.requests.length === before && chat.status !== 'submitted' && chat.status !== 'streaming';
    });
    await Promise.all(log.reading);
    if (!legal) return;
    for (const raw of log.raw) assertLegal(await parseChunks(raw));
  };
  return Object.assign(chat, {
    log,
    untilSettled,
    /** Sends a script for the model, and waits until the chat settles. */
    sendScript: async (...steps) => {
      await chat.sendMessage({ text: script(...steps) });
      await untilSettled();
    },
    /** Returns the parts of the last message. */
    parts: () => chat.messages.at(-1).parts,
    /** Returns the last part for a call. */
    part: toolCallId => chat.messages.flatMap(m => m.parts).findLast(part => part.toolCallId === toolCallId),
    /** Returns the texts of the last message, one a line. */
    lastText: () => chat.messages.at(-1).parts.filter(part => part.type === 'text').map(part => part.text).join('\n'),
    /** Returns the results that the model received, from its last `echo`. */
    resultsForModel: () => {
      const last = chat.messages.at(-1).parts.filter(part => part.type === 'text' && part.text.startsWith('SEEN ')).at(-1);
      assert.ok(last, `the last message has no echo of the model: ${JSON.stringify(chat.messages.at(-1))}`);
      return JSON.parse(last.text.slice('SEEN '.length));
    },
    /** Asserts that the client is ready, and has reported no error. */
    assertOk: () => assert.deepEqual([chat.status, log.errors], ['ready', []]),
  });
}

/** Sends a request without a client. */
export async function post(body, endpoint = sdk.endpoint, init = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const headers = { 'content-type': 'application/json' };
  return fetch(base + endpoint, { method: 'POST', headers, body: text, ...init });
}

/** Returns a message of the user. */
export const user = (text, id = `user-${Math.random()}`) => ({ id, role: 'user', parts: [{ type: 'text', text }] });
