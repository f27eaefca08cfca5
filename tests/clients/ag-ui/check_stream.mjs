// What every stream must be, beside what the client itself enforces: the official schema, strictly, and what the protocol
// asks of a producer and no client looks at.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

const { Ajv } = await import(process.env.AG_UI === '0' ? './v0/client.mjs' : './v1/client.mjs');
const schema = JSON.parse(readFileSync(new URL('schema-1.0.json', import.meta.url), 'utf8'));
const ajv = new Ajv({ strict: false, allErrors: true });
ajv.addSchema(schema);
const isEvent = ajv.compile({ $ref: `${schema.$id}#/$defs/Event` });
const OPENS = { TEXT_MESSAGE: 'messageId', TOOL_CALL: 'toolCallId', REASONING: 'messageId', REASONING_MESSAGE: 'messageId', STEP: 'stepName' };

/** Checks the bytes of one answer; gives what was in them. `seen` remembers a conversation's ids. */
export function check({ type, bytes }, { threadId, runId, tools, isV1, seen }) {
  assert.match(type ?? '', /^text\/event-stream/, 'the content type');
  const raw = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(bytes));
  assert.ok(!raw.includes('\r'), 'lines end in LF');
  assert.ok(raw.endsWith('\n\n'), 'the last frame is complete');
  const frames = [];
  for (const frame of raw.split('\n\n').slice(0, -1)) {
    if (frame.startsWith(':')) continue;
    assert.match(frame, /^data: [^\n]*$/, 'one line for each frame');
    frames.push(JSON.parse(frame.slice('data: '.length)));
  }
  for (const frame of frames) {
    assert.ok(isEvent(frame), `${JSON.stringify(frame)}: ${ajv.errorsText(isEvent.errors)}`);
  }
  const last = frames.at(-1);
  assert.ok(['RUN_FINISHED', 'RUN_ERROR'].includes(last?.type), `the last event is ${last?.type}`);
  const ends = frames.filter(frame => ['RUN_FINISHED', 'RUN_ERROR'].includes(frame.type));
  assert.equal(ends.length, 1, 'one event ends the run');
  if (frames[0].type === 'RUN_STARTED' || last.type !== 'RUN_ERROR') {
    assert.equal(frames[0].type, 'RUN_STARTED');
    assert.equal(frames[0].protocolVersion, '1.0');
    assert.deepEqual([frames[0].threadId, frames[0].runId], [threadId, runId], 'RUN_STARTED echoes the ids');
  }
  if (last.type === 'RUN_FINISHED') {
    assert.deepEqual([last.threadId, last.runId], [threadId, runId], 'RUN_FINISHED echoes the ids');
    if (!isV1) assert.ok(['interrupt', undefined].includes(last.outcome?.type), 'an outcome that 0.x refuses');
  }
  const calls = sequence(frames, seen);
  answers(calls, frames, tools, last, isV1);
  return { frames, calls, outcome: last.outcome ?? (last.type === 'RUN_ERROR' ? { ...last, type: 'error' } : { type: 'success' }) };
}

function sequence(frames, seen) {
  const ids = (seen.knownIds ??= new Set());
  const open = new Set();
  const calls = new Map();
  const unique = (what, id) => {
    assert.ok(!ids.has(`${what} ${id}`), `${what} ${id} is used twice in the conversation`);
    ids.add(`${what} ${id}`);
  };
  for (const frame of frames) {
    const [, group, part] = frame.type.match(/^(.+)_(START|CONTENT|ARGS|END|STARTED|FINISHED)$/) ?? [];
    const key = OPENS[group] && `${group} ${frame[OPENS[group]]}`;
    if (key && /START/.test(part)) {
      assert.ok(!open.has(key), `${key} begins twice`);
      open.add(key);
      if (group !== 'STEP') unique(group === 'TOOL_CALL' ? 'call' : 'message', frame[OPENS[group]]);
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
      unique('message', frame.messageId);
      assert.ok(!open.has(`TOOL_CALL ${frame.toolCallId}`), 'a result before its call is complete');
      assert.notEqual(frame.messageId, frame.toolCallId);
      unique('result', frame.toolCallId);
      const call = calls.get(frame.toolCallId) ?? { id: frame.toolCallId, isEarlier: true };
      call.result = frame.content;
      calls.set(frame.toolCallId, call);
    }
  }
  assert.deepEqual([...open], [], 'something is open at the end');
  return [...calls.values()];
}

function answers(calls, frames, tools, last, isV1) {
  const isOfClient = call => tools.some(tool => tool.name === call.name);
  for (const call of calls.filter(isOfClient)) assert.equal(call.result, undefined, `${call.name} is the client's to answer`);
  const open = calls.filter(call => call.result === undefined);
  if (last.type !== 'RUN_FINISHED') {
    assert.deepEqual(open.filter(call => !isOfClient(call)), [], 'a call is left behind');
    return;
  }
  const asked = (last.outcome?.interrupts ?? []).map(interrupt => interrupt.toolCallId);
  const left = open.filter(call => !isOfClient(call) && !asked.includes(call.id));
  assert.deepEqual(left, [], 'a call is left behind');
  const pending = open.filter(isOfClient).map(call => call.id);
  if (last.outcome?.type === 'success') assert.deepEqual(last.outcome.pendingToolCallIds ?? [], pending, 'pendingToolCallIds');
  if (isV1 && pending.length && last.outcome?.type !== 'interrupt') assert.equal(last.outcome?.type, 'success');
}
