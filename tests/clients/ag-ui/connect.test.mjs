// A client that connects to a thread and has none of it: what an unmodified client makes of the snapshot.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answer, chat, client, deleted, id, isV1, stateless, tool, url } from './kit.mjs';

/** The real client, whose way to connect is left to applications. */
class Connecting extends client.HttpAgent {
  connect(input) {
    const send = () => fetch(`${url}/connect`, this.requestInit(input));
    return client.transformHttpEventStream(client.runHttpRequest(send));
  }
}

/** A page that has nothing of a thread but its id. */
async function connected(agent, tools = []) {
  const events = [];
  const page = new Connecting({ url, threadId: agent.threadId });
  await page.connectAgent({ tools, runId: id() }, { onEvent: ({ event }) => void events.push(event) });
  return { page, events };
}

/** What a person sees of a conversation. */
const shown = messages =>
  messages.map(({ role, content, toolCalls, toolCallId }) => ({
    role, content: content || undefined, toolCallId, calls: toolCalls?.map(call => [call.id, call.function.name, call.function.arguments]),
  }));

const IDLE = ['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'STATE_SNAPSHOT', 'RUN_FINISHED'];
const kinds = events => events.map(event => event.type);

if (stateless) {
  test('C00 what the client keeps stays as it is', async () => {
    const agent = chat();
    await agent.go('say Hi');
    const { events } = await connected(agent);
    assert.deepEqual(kinds(events), ['RUN_STARTED', 'RUN_FINISHED']);
  });
} else {
  test('C01 texts and calls', async () => {
    const agent = chat();
    await agent.go('say Hello.');
    await agent.go('call executed_log');
    const { page, events } = await connected(agent);
    assert.deepEqual(kinds(events), IDLE);
    assert.deepEqual(shown(page.messages), shown(agent.messages));
    const run = await chat({ threadId: agent.threadId, initialMessages: page.messages }).go('say Next.');
    assert.equal(run.text, 'Next.');
  });

  test('C02 an open interrupt is answered by the page that has connected', async () => {
    const agent = chat();
    const file = `/tmp/${id()}`;
    const { outcome } = await agent.go(`call delete_file {"path":"${file}"}`);
    const { page, events } = await connected(agent);
    assert.deepEqual(kinds(events), IDLE);
    assert.deepEqual(events.at(-1).outcome.interrupts, outcome.interrupts);
    if (isV1) assert.deepEqual(page.pendingInterrupts, agent.pendingInterrupts);
    assert.deepEqual(shown(page.messages), shown(agent.messages));
    const again = chat({ threadId: agent.threadId, initialMessages: page.messages });
    const resume = [{ interruptId: outcome.interrupts[0].id, status: 'resolved', payload: { approved: true } }];
    const run = await again.go(undefined, { resume });
    assert.match(run.calls[0].result, new RegExp(file));
    assert.equal((await deleted()).filter(deleted => deleted === file).length, 1);
    const { page: third, events: last } = await connected(agent);
    assert.equal(last.at(-1).outcome?.type ?? 'success', 'success');
    assert.deepEqual(shown(third.messages), shown(again.messages));
  });

  test('C03 a call that the page has to execute', async () => {
    const agent = chat();
    const tools = [tool('locate')];
    const { calls } = await agent.go('call locate {}', { tools });
    const { page, events } = await connected(agent, tools);
    assert.deepEqual(shown(page.messages), shown(agent.messages));
    if (isV1) assert.deepEqual(events.at(-1).outcome.pendingToolCallIds, [calls[0].id]);
    const again = chat({ threadId: agent.threadId, initialMessages: page.messages });
    await again.go(answer(calls[0].id, 'here'), { tools });
    const { page: third } = await connected(agent, tools);
    assert.deepEqual(shown(third.messages).map(({ role }) => role), shown(again.messages).map(({ role }) => role));
  });

  test('C04 a thread that there is not', async () => {
    const { page, events } = await connected({ threadId: id() });
    assert.deepEqual(kinds(events), ['RUN_STARTED', 'RUN_FINISHED']);
    assert.deepEqual(page.messages, []);
  });
}
