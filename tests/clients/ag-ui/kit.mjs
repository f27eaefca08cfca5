// The kit of AG-UI's tests: an acceptance server, the real client of version 1.0 or 0.x, and checks of every event in a response.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { checkStream } from './check_stream.mjs';
import { startAcceptanceServer } from '../server.mjs';

/** The client under test, in the version that the environment variable AG_UI selects. */
export const client = await import(process.env.AG_UI === '0' ? './v0/client.mjs' : './v1/client.mjs');
export const isV1 = client.version === 1;

/** True if the server stores nothing, and the client keeps the runs. */
export const stateless = process.env.STATELESS === '1';
/** The base URL of the acceptance server. */
export const base = await startAcceptanceServer(...(stateless ? ['--stateless'] : []));
/** The address of the agent. */
export const url = `${base}/agent`;

export const id = () => randomUUID();
/** Returns a message of the user. Its lines are a script for the model. */
export const user = content => ({ id: id(), role: 'user', content });
/** Returns a message with the result of a client tool, or with its error. */
export const toolResult = (toolCallId, content, error) => ({
  id: id(), role: 'tool', toolCallId, content, ...(error === undefined ? {} : { error }),
});
/** Returns the declaration of a client tool. */
export const tool = (name, parameters = { type: 'object', properties: {} }) => ({ name, description: `The tool ${name}.`, parameters });

// The client warns on the console when it repairs a stream. No stream of the server needs a repair.
const warnings = [];
for (const level of ['warn', 'error']) {
  console[level] = (...args) => warnings.push(args.map(String).join(' '));
}

/** Creates an agent of the real client, for a new thread. */
export function createAgent(options = {}) {
  let raw;
  const agent = new client.HttpAgent({
    url,
    threadId: id(),
    ...options,
    fetch: async (...request) => {
      const response = await fetch(...request);
      raw = { type: response.headers.get('content-type'), bytes: [] };
      const current = raw;
      const recorder = new TransformStream({
        transform(chunk, to) {
          current.bytes.push(chunk);
          to.enqueue(chunk);
        },
        flush() {
          current.isWhole = response.ok;
        },
      });
      return new Response(response.body?.pipeThrough(recorder), { status: response.status, headers: response.headers });
    },
  });
  /** Adds a message, if there is one, and runs the agent. Checks all events of the response, and returns what they contain. */
  agent.runChecked = async (message, parameters = {}) => {
    if (message !== undefined) agent.addMessage(typeof message === 'string' ? user(message) : message);
    raw = undefined;
    warnings.length = 0;
    const runId = parameters.runId ?? id();
    const events = [];
    const subscriber = { onEvent: ({ event }) => void events.push(event) };
    let failure;
    await agent.runAgent({ ...parameters, runId }, subscriber).catch(error => (failure = error));
    const warningsOfRun = [...warnings];
    if (failure && !raw?.isWhole) return { failure, events };
    const { frames, calls, outcome } = checkStream(raw, { threadId: agent.threadId, runId, tools: parameters.tools ?? [], isV1, conversation: agent });
    if (outcome.type !== 'error') {
      assert.equal(failure, undefined, 'the client rejects the run');
      assert.deepEqual(warningsOfRun, [], 'the client warns about the run');
    }
    return { frames, calls, outcome, events, text: textOf(frames), raw };
  };
  return agent;
}

/** Returns the text that the assistant wrote. */
const textOf = frames =>
  frames.filter(frame => frame.type === 'TEXT_MESSAGE_CONTENT').map(frame => frame.delta).join('');

/** Returns the body of a request (AG-UI's RunAgentInput), with the fields of `more`. */
export const input = more => ({
  threadId: id(), runId: id(), messages: [user('say Hi')], tools: [], context: [], state: {}, forwardedProps: {},
  ...(isV1 ? { protocolVersion: '1.0' } : {}),
  ...more,
});

/** Returns the messages with the sealed runs in `frames`, as a client keeps them for a stateless server. */
export const withSealedRuns = (messages, frames) => messages.map(message => {
  const sealed = frames.findLast(frame => frame.type === 'REASONING_ENCRYPTED_VALUE' && frame.entityId === message.id);
  return sealed ? { ...message, encryptedValue: sealed.encryptedValue } : message;
});

/** Sends a request without the client. Checks all events of the response, and returns what they contain. */
export async function post(body, headers = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const raw = { type: response.headers.get('content-type'), bytes: [bytes] };
  const checked = response.ok
    ? checkStream(raw, { threadId: body.threadId, runId: body.runId, tools: body.tools ?? [], isV1: (body.protocolVersion ?? '').startsWith('1'), conversation: {} })
    : {};
  return { status: response.status, headers: response.headers, ...checked, text: checked.frames && textOf(checked.frames), body: response.ok ? undefined : new TextDecoder().decode(bytes) };
}

/** Returns the paths that the tool `delete_file` has deleted. */
export async function deletedPaths() {
  const { calls } = await createAgent().runChecked('call executed_log');
  return JSON.parse(calls[0].result);
}
