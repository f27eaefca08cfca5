// An unmodified client connects to a thread that it does not know, and receives a snapshot.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { client, createAgent, deletedPaths, id, isV1, stateless, tool, toolResult, url } from './kit.mjs';

/** The real client, with the method `connect`, which applications have to write. */
class ConnectingAgent extends client.HttpAgent {
  connect(input) {
    const send = () => fetch(`${url}/connect`, this.requestInit(input));
    return client.transformHttpEventStream(client.runHttpRequest(send));
  }
}

/** The real client, which reads the stream of its thread in place of a new run. */
class ReplayingAgent extends client.HttpAgent {
  run(input) {
    const send = () => fetch(`${url}/${input.threadId}/stream`, { headers: { accept: 'text/event-stream' } });
    return client.transformHttpEventStream(client.runHttpRequest(send));
  }
}

/** Connects a new page to the thread of an agent. The page knows only the thread's id. */
async function connectPage(agent, tools = []) {
  const events = [];
  const page = new ConnectingAgent({ url, threadId: agent.threadId });
  await page.connectAgent({ tools, runId: id() }, { onEvent: ({ event }) => void events.push(event) });
  return { page, events };
}

/** Returns the content that a person sees in messages. */
const visible = messages =>
  messages.map(({ role, content, toolCalls, toolCallId }) => ({
    role, content: content || undefined, toolCallId, calls: toolCalls?.map(call => [call.id, call.function.name, call.function.arguments]),
  }));

/** The types of the events for a thread without a run in progress. */
const IDLE_EVENT_TYPES = ['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'STATE_SNAPSHOT', 'RUN_FINISHED'];
const types = events => events.map(event => event.type);

if (stateless) {
  test('C00 a stateless server sends no snapshot', async () => {
    const agent = createAgent();
    await agent.runChecked('say Hi');
    const { events } = await connectPage(agent);
    assert.deepEqual(types(events), ['RUN_STARTED', 'RUN_FINISHED']);
  });
} else {
  test('C01 a snapshot has the texts and calls of a thread', async () => {
    const agent = createAgent();
    await agent.runChecked('say Hello.');
    await agent.runChecked('call executed_log');
    const { page, events } = await connectPage(agent);
    assert.deepEqual(types(events), IDLE_EVENT_TYPES);
    assert.deepEqual(visible(page.messages), visible(agent.messages));
    const run = await createAgent({ threadId: agent.threadId, initialMessages: page.messages }).runChecked('say Next.');
    assert.equal(run.text, 'Next.');
  });

  test('C01a a snapshot has the files of a person, in the form of the client', async () => {
    const agent = createAgent();
    const address = 'http://127.0.0.1/a.pdf';
    const file = isV1
      ? { type: 'document', source: { type: 'url', value: address, mimeType: 'application/pdf' }, metadata: { filename: 'a.pdf' } }
      : { type: 'binary', mimeType: 'application/pdf', url: address, filename: 'a.pdf' };
    const content = [file, { type: 'text', text: 'say Hello.' }];
    const { frames } = await agent.runChecked({ id: id(), role: 'user', content });
    const notice = frames.find(frame => frame.type === 'CUSTOM' && frame.name === 'unreadable_part');
    assert.deepEqual(notice.value, { description: '(a document, a.pdf)', filename: 'a.pdf', mediaType: 'application/pdf' });
    const { page } = await connectPage(agent);
    assert.deepEqual(page.messages[0].content, content);
    const run = await createAgent({ threadId: agent.threadId, initialMessages: page.messages }).runChecked('say Next.');
    assert.equal(run.text, 'Next.');
  });

  test('C02 a page that connects can answer an open interrupt', async () => {
    const agent = createAgent();
    const file = `/tmp/${id()}`;
    const { outcome } = await agent.runChecked(`call delete_file {"path":"${file}"}`);
    const { page, events } = await connectPage(agent);
    assert.deepEqual(types(events), IDLE_EVENT_TYPES);
    assert.deepEqual(events.at(-1).outcome.interrupts, outcome.interrupts);
    if (isV1) assert.deepEqual(page.pendingInterrupts, agent.pendingInterrupts);
    assert.deepEqual(visible(page.messages), visible(agent.messages));
    const secondAgent = createAgent({ threadId: agent.threadId, initialMessages: page.messages });
    const resume = [{ interruptId: outcome.interrupts[0].id, status: 'resolved', payload: { approved: true } }];
    const run = await secondAgent.runChecked(undefined, { resume });
    assert.match(run.calls[0].result, new RegExp(file));
    assert.equal((await deletedPaths()).filter(deleted => deleted === file).length, 1);
    const { page: third, events: last } = await connectPage(agent);
    assert.equal(last.at(-1).outcome?.type ?? 'success', 'success');
    assert.deepEqual(visible(third.messages), visible(secondAgent.messages));
  });

  test('C03 a page that connects can execute an open client call', async () => {
    const agent = createAgent();
    const tools = [tool('locate')];
    const { calls } = await agent.runChecked('call locate {}', { tools });
    const { page, events } = await connectPage(agent, tools);
    assert.deepEqual(visible(page.messages), visible(agent.messages));
    if (isV1) assert.deepEqual(events.at(-1).outcome.pendingToolCallIds, [calls[0].id]);
    const secondAgent = createAgent({ threadId: agent.threadId, initialMessages: page.messages });
    await secondAgent.runChecked(toolResult(calls[0].id, 'here'), { tools });
    const { page: third } = await connectPage(agent, tools);
    assert.deepEqual(visible(third.messages).map(({ role }) => role), visible(secondAgent.messages).map(({ role }) => role));
  });

  test('C04 connecting to an unknown thread returns no messages', async () => {
    const { page, events } = await connectPage({ threadId: id() });
    assert.deepEqual(types(events), ['RUN_STARTED', 'RUN_FINISHED']);
    assert.deepEqual(page.messages, []);
  });

  // Whatever the client has of the response, it has each text and each argument once afterwards.
  const parts = { all: messages => messages, none: () => [], 'half of the text': messages => messages.slice(0, -1).concat({ ...messages.at(-1), content: 'one' }) };
  for (const [name, select] of Object.entries(parts)) {
    test(`C10 a client that has ${name} reads the stream of a thread`, async () => {
      const agent = createAgent();
      await agent.runChecked('say Before.');
      const running = agent.runChecked(`call get_weather {"city":"Oslo"}\nslow ${'one two three four five six seven eight '.repeat(3)}`);
      while (agent.messages.at(-1).role !== 'assistant' || !agent.messages.at(-1).content?.includes('two')) await sleep(20);
      const page = new ReplayingAgent({ url, threadId: agent.threadId, initialMessages: structuredClone(select(agent.messages)) });
      await page.runAgent({ runId: id() });
      await running;
      assert.deepEqual(visible(page.messages), visible(agent.messages));
    });
  }
}
