// Checks every stream more strictly than the clients do: with the official schema, and with the protocol's rules for producers
// that no client enforces.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

const { Ajv } = await import(process.env.AG_UI === '0' ? './v0/client.mjs' : './v1/client.mjs');
const schema = JSON.parse(readFileSync(new URL('schema-1.0.json', import.meta.url), 'utf8'));
const ajv = new Ajv({ strict: false, allErrors: true });
ajv.addSchema(schema);
const isEvent = ajv.compile({ $ref: `${schema.$id}#/$defs/Event` });
/** The field with the id of what an event opens, by the prefix of the event's type. */
const ID_FIELDS = { TEXT_MESSAGE: 'messageId', TOOL_CALL: 'toolCallId', REASONING: 'messageId', REASONING_MESSAGE: 'messageId', STEP: 'stepName' };

/**
 * Checks the bytes of one response, and returns its frames, its calls and its outcome.
 * Stores the ids that occur in `conversation`, and asserts that none occurs twice.
 */
export function checkStream({ type, bytes }, { threadId, runId, tools, isV1, conversation }) {
  assert.match(type ?? '', /^text\/event-stream/, 'the content type is an event stream');
  const raw = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(bytes));
  assert.ok(!raw.includes('\r'), 'the lines end in LF');
  assert.ok(raw.endsWith('\n\n'), 'the last frame is complete');
  const frames = [];
  for (const frame of raw.split('\n\n').slice(0, -1)) {
    if (frame.startsWith(':')) continue;
    assert.match(frame, /^data: [^\n]*$/, 'a frame has one line');
    frames.push(JSON.parse(frame.slice('data: '.length)));
  }
  for (const frame of frames) {
    assert.ok(isEvent(frame), `${JSON.stringify(frame)}: ${ajv.errorsText(isEvent.errors)}`);
  }
  const last = frames.at(-1);
  assert.ok(['RUN_FINISHED', 'RUN_ERROR'].includes(last?.type), `the last event is ${last?.type}`);
  const ends = frames.filter(frame => ['RUN_FINISHED', 'RUN_ERROR'].includes(frame.type));
  assert.equal(ends.length, 1, 'exactly one event ends the run');
  if (frames[0].type === 'RUN_STARTED' || last.type !== 'RUN_ERROR') {
    assert.equal(frames[0].type, 'RUN_STARTED');
    assert.equal(frames[0].protocolVersion, '1.0');
    assert.deepEqual([frames[0].threadId, frames[0].runId], [threadId, runId], 'RUN_STARTED echoes the ids');
  }
  if (last.type === 'RUN_FINISHED') {
    assert.deepEqual([last.threadId, last.runId], [threadId, runId], 'RUN_FINISHED echoes the ids');
    if (!isV1) assert.ok(['interrupt', undefined].includes(last.outcome?.type), 'clients of 0.x accept the outcome');
  }
  const calls = checkOrder(frames, conversation);
  checkResults(calls, tools, last, isV1);
  return { frames, calls, outcome: last.outcome ?? (last.type === 'RUN_ERROR' ? { ...last, type: 'error' } : { type: 'success' }) };
}

/** Asserts that events open and end in a legal order, and that ids are unique. Returns the calls of the stream. */
function checkOrder(frames, conversation) {
  const ids = (conversation.knownIds ??= new Set());
  const open = new Set();
  const calls = new Map();
  const assertUnique = (what, id) => {
    assert.ok(!ids.has(`${what} ${id}`), `${what} ${id} occurs twice in the conversation`);
    ids.add(`${what} ${id}`);
  };
  for (const frame of frames) {
    const [, group, part] = frame.type.match(/^(.+)_(START|CONTENT|ARGS|END|STARTED|FINISHED)$/) ?? [];
    const key = ID_FIELDS[group] && `${group} ${frame[ID_FIELDS[group]]}`;
    if (key && /START/.test(part)) {
      assert.ok(!open.has(key), `${key} begins twice`);
      open.add(key);
      if (group !== 'STEP') assertUnique(group === 'TOOL_CALL' ? 'call' : 'message', frame[ID_FIELDS[group]]);
    } else if (key) {
      assert.ok(open.has(key), `${frame.type} of ${key}, which is not open`);
      if (/END|FINISHED/.test(part)) open.delete(key);
    }
    if (frame.type === 'TOOL_CALL_START') {
      calls.set(frame.toolCallId, { id: frame.toolCallId, name: frame.toolCallName, arguments: '', deltas: 0, parent: frame.parentMessageId });
    }
    if (frame.type === 'TOOL_CALL_ARGS') {
      const call = calls.get(frame.toolCallId);
      call.arguments += frame.delta;
      call.deltas += 1;
    }
    if (frame.type === 'TOOL_CALL_RESULT') {
      assertUnique('message', frame.messageId);
      assert.ok(!open.has(`TOOL_CALL ${frame.toolCallId}`), 'the result follows the end of its call');
      assert.notEqual(frame.messageId, frame.toolCallId);
      assertUnique('result', frame.toolCallId);
      const call = calls.get(frame.toolCallId) ?? { id: frame.toolCallId, isEarlier: true };
      call.result = frame.content;
      calls.set(frame.toolCallId, call);
    }
  }
  assert.deepEqual([...open], [], 'nothing is open at the end');
  return [...calls.values()];
}

/** Asserts that each call has a result, or waits for the client or a person. */
function checkResults(calls, tools, last, isV1) {
  const isOfClient = call => tools.some(tool => tool.name === call.name);
  for (const call of calls.filter(isOfClient)) assert.equal(call.result, undefined, `the client executes ${call.name}`);
  const open = calls.filter(call => call.result === undefined);
  if (last.type !== 'RUN_FINISHED') {
    assert.deepEqual(open.filter(call => !isOfClient(call)), [], 'every server call has a result');
    return;
  }
  const interrupted = (last.outcome?.interrupts ?? []).map(interrupt => interrupt.toolCallId);
  const unanswered = open.filter(call => !isOfClient(call) && !interrupted.includes(call.id));
  assert.deepEqual(unanswered, [], 'every server call has a result or an interrupt');
  const pending = open.filter(isOfClient).map(call => call.id);
  if (last.outcome?.type === 'success') assert.deepEqual(last.outcome.pendingToolCallIds ?? [], pending, 'pendingToolCallIds');
  if (isV1 && pending.length && last.outcome?.type !== 'interrupt') assert.equal(last.outcome?.type, 'success');
}
