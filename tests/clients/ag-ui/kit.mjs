// What the scenarios share: the server, the real client of either version, and everything that it gets and says.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { check } from './check_stream.mjs';
import { startAcceptanceServer } from '../server.mjs';

export const client = await import(process.env.AG_UI === '0' ? './v0/client.mjs' : './v1/client.mjs');
export const isV1 = client.level === 1;

/** Whether the server keeps nothing, and the client all of it. */
export const stateless = process.env.STATELESS === '1';
export const base = await startAcceptanceServer(...(stateless ? ['--stateless'] : []));
export const url = `${base}/agent`;

export const id = () => randomUUID();
export const user = content => ({ id: id(), role: 'user', content });
export const answer = (toolCallId, content, error) => ({
  id: id(), role: 'tool', toolCallId, content, ...(error === undefined ? {} : { error }),
});
export const tool = (name, parameters = { type: 'object', properties: {} }) => ({ name, description: `The tool ${name}.`, parameters });

// The client speaks up about what it repairs; nothing is there to be repaired.
const complaints = [];
for (const level of ['warn', 'error']) {
  console[level] = (...args) => complaints.push(args.map(String).join(' '));
}

/** A conversation with the real client, which keeps what it is sent. */
export function chat(options = {}) {
  let raw;
  const agent = new client.HttpAgent({
    url,
    threadId: id(),
    ...options,
    fetch: async (...request) => {
      const response = await fetch(...request);
      raw = { type: response.headers.get('content-type'), bytes: [] };
      const mine = raw;
      const keep = new TransformStream({
        transform(chunk, to) {
          mine.bytes.push(chunk);
          to.enqueue(chunk);
        },
        flush() {
          mine.isWhole = response.ok;
        },
      });
      return new Response(response.body?.pipeThrough(keep), { status: response.status, headers: response.headers });
    },
  });
  /** Lets the agent run, and looks at all of what came. */
  agent.go = async (said, parameters = {}) => {
    if (said !== undefined) agent.addMessage(typeof said === 'string' ? user(said) : said);
    raw = undefined;
    complaints.length = 0;
    const runId = parameters.runId ?? id();
    const events = [];
    const subscriber = { onEvent: ({ event }) => void events.push(event) };
    let failure;
    await agent.runAgent({ ...parameters, runId }, subscriber).catch(error => (failure = error));
    const told = [...complaints];
    if (failure && !raw?.isWhole) return { failure, events };
    const { frames, calls, outcome } = check(raw, { threadId: agent.threadId, runId, tools: parameters.tools ?? [], isV1, seen: agent });
    if (outcome.type !== 'error') {
      assert.equal(failure, undefined, 'the client refuses the run');
      assert.deepEqual(told, [], 'the client complains');
    }
    return { frames, calls, outcome, events, text: text(frames), raw };
  };
  return agent;
}

/** What the assistant said. */
export const text = frames =>
  frames.filter(frame => frame.type === 'TEXT_MESSAGE_CONTENT').map(frame => frame.delta).join('');

export const input = more => ({
  threadId: id(), runId: id(), messages: [user('say Hi')], tools: [], context: [], state: {}, forwardedProps: {},
  ...(isV1 ? { protocolVersion: '1.0' } : {}),
  ...more,
});

/** The messages, with what a client keeps for a server that keeps nothing. */
export const keeping = (messages, frames) => messages.map(message => {
  const kept = frames.findLast(frame => frame.type === 'REASONING_ENCRYPTED_VALUE' && frame.entityId === message.id);
  return kept ? { ...message, encryptedValue: kept.encryptedValue } : message;
});

/** A request without the client. */
export async function post(body, headers = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const raw = { type: response.headers.get('content-type'), bytes: [bytes] };
  const checked = response.ok
    ? check(raw, { threadId: body.threadId, runId: body.runId, tools: body.tools ?? [], isV1: (body.protocolVersion ?? '').startsWith('1'), seen: {} })
    : {};
  return { status: response.status, headers: response.headers, ...checked, text: checked.frames && text(checked.frames), body: response.ok ? undefined : new TextDecoder().decode(bytes) };
}

/** The paths that were deleted. */
export async function deleted() {
  const { calls } = await chat().go('call executed_log');
  return JSON.parse(calls[0].result);
}
