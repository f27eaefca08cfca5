// A reloaded page: `useChat({ messages, resume: true })`, with the messages of the server.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import {
  base, call, counters, createChat, echo, executions, releaseSlowOnceRead, reset, script, sdk, stateless, text, until,
} from './kit.mjs';

beforeEach(reset);

/** Fetches the messages of a chat from the server. */
const fetchMessages = async id => fetch(`${base}${sdk.endpoint}/${id}`);

/** Loads a chat in a new page, and resumes its response. With `isSlow`, ends the calls of `slow` once the page reads the response. */
async function reload(chat, { isSlow = false } = {}) {
  const response = await fetchMessages(chat.id);
  assert.equal(response.status, 200);
  const messages = await response.json();
  await sdk.validateUIMessages({ messages });
  const reloaded = createChat({ id: chat.id, messages });
  const resuming = reloaded.resumeStream();
  if (isSlow) await releaseSlowOnceRead(reloaded);
  await resuming;
  await reloaded.untilSettled();
  reloaded.assertOk();
  return reloaded;
}

/** Returns the parts of a chat that a person sees. */
const visible = chat =>
  chat.messages.map(({ role, parts }) => [
    role,
    ...parts
      .filter(part => part.type !== 'text' || part.text !== '')
      .map(({ type, text, toolCallId, state, input, output, errorText, approval }) => {
        // Clients of version 6 lose rejected arguments.
        const visibleInput = sdk.version === 6 && state === 'output-error' ? undefined : input;
        return JSON.parse(JSON.stringify({ type, text, toolCallId, state, visibleInput, output, errorText, approved: approval?.approved }));
      }),
  ]);

/** Reloads a chat, and asserts that the new page shows the same and sends no request. */
const reloadUnchanged = async chat => {
  const reloaded = await reload(chat);
  assert.deepEqual(visible(reloaded), visible(chat));
  assert.equal(reloaded.log.requests.length, 0, 'the reloaded page sends no automatic request');
  return reloaded;
};

if (stateless) {
  test('R00 a stateless server reports that it has no messages', async () => {
    const chat = createChat();
    await chat.sendScript([text('Hello.')]);
    const response = await fetchMessages(chat.id);
    assert.equal(response.status, 404);
    assert.match((await response.json()).error.message, /its clients keep them/);
  });
} else {
  test('R01 a reloaded page shows texts and finished calls', async () => {
    const chat = createChat();
    await chat.sendScript([text('Look.'), call('c1', 'getWeather', { city: 'Oslo' }), call('c2', 'explode', { message: 'bang' })], [echo]);
    await chat.sendScript([call('c3', 'getWeather', { city: 7 }), call('c4', 'teleport', { to: 'Oslo' })], [text('Well.')]);
    await chat.sendScript([call('c5', 'countdown', { from: 2 })], [echo]);
    const reloaded = await reloadUnchanged(chat);
    assert.deepEqual([1, 2, 3, 4, 5].map(n => reloaded.part(`c${n}`).state.slice('output-'.length)), ['available', 'error', 'error', 'error', 'available']);
    // The reloaded page continues the chat.
    await reloaded.sendScript([call('c6', 'getWeather', { city: 'Rome' })], [echo]);
    reloaded.assertOk();
    assert.equal(reloaded.messages.length, 8);
  });

  for (const approved of [true, false]) {
    test(`R02 a reloaded page ${approved ? 'approves' : 'denies'} an open call`, async () => {
      const chat = createChat();
      await chat.sendScript([call('c1', 'deleteFile', { filename: 'a' })], [echo]);
      const reloaded = await reloadUnchanged(chat);
      const { approval, state } = reloaded.part('c1');
      assert.deepEqual([state, approval.id], ['approval-requested', chat.part('c1').approval.id]);
      await reloaded.addToolApprovalResponse({ id: approval.id, approved });
      await reloaded.untilSettled();
      reloaded.assertOk();
      assert.equal(await executions('deleteFile'), approved ? 1 : 0);
      assert.equal(reloaded.part('c1').state, approved ? 'output-available' : 'output-denied');
      assert.equal(reloaded.messages.length, 2);
      const third = await reloadUnchanged(reloaded);
      if (sdk.version === 7) assert.equal(third.part('c1').callProviderMetadata.tool.decidedBy, 'acceptance');
      // A late decision of the first page changes nothing, and that page then shows the one that counted.
      await chat.addToolApprovalResponse({ id: approval.id, approved: !approved });
      await chat.untilSettled();
      assert.equal(await executions('deleteFile'), approved ? 1 : 0);
      // Version 6 knows no decisions of others, so its page keeps its own beside the state and the output.
      const states = page => page.parts().map(({ type, state, output, approval }) => [type, state, output, sdk.version === 7 && approval?.approved]);
      assert.deepEqual(states(chat), states(third));
    });
  }

  test('R03 a reloaded page executes client tools, one of them after an approval', async () => {
    const chat = createChat({ auto: false });
    await chat.sendScript([call('c1', 'getLocation', {}), call('c2', 'shareScreen', { window: 'left' })], [echo]);
    const reloaded = await reloadUnchanged(chat);
    assert.deepEqual([reloaded.part('c1').state, reloaded.part('c2').state], ['input-available', 'approval-requested']);
    await reloaded.addToolOutput({ tool: 'getLocation', toolCallId: 'c1', output: { lat: 59.9 } });
    await reloaded.addToolApprovalResponse({ id: reloaded.part('c2').approval.id, approved: true });
    await reloaded.untilSettled();
    await until('the page may share its screen', async () => reloaded.part('c2').state === 'input-available');
    const third = await reload(chat);
    assert.deepEqual([third.part('c1').output, third.part('c2').state], [{ lat: 59.9 }, 'input-available']);
    await third.addToolOutput({ tool: 'shareScreen', toolCallId: 'c2', output: ['left'] });
    await third.untilSettled();
    third.assertOk();
    assert.equal(third.resultsForModel().length, 2);
  });

  test('R04 two pages read the same response', async () => {
    const chat = createChat({ body: { resumable: true } });
    const sent = chat.sendMessage({ text: script([text('before'), call('c1', 'slow', { ms: 60_000 })], [echo]) });
    await until('the tool runs', async () => (await executions('slow')) === 1);
    const reloaded = await reload(chat, { isSlow: true });
    await sent;
    await chat.untilSettled();
    assert.deepEqual(visible(reloaded), visible(chat));
    assert.deepEqual(await counters(), { executions: { slow: 1 }, aborted: {} });
    await reloadUnchanged(chat);
  });

  test('R05 a reloaded page shows a decision of another page', async () => {
    const chat = createChat({ body: { resumable: true } });
    await chat.sendScript([call('c1', 'deleteFile', { filename: 'a' })], [call('c2', 'slow', { ms: 60_000 })], [echo]);
    void chat.addToolApprovalResponse({ id: chat.part('c1').approval.id, approved: true });
    await until('the second tool runs', async () => (await executions('slow')) === 1);
    const reloaded = await reload(chat, { isSlow: true });
    await chat.untilSettled();
    assert.deepEqual(reloaded.parts().map(part => part.state ?? part.type), chat.parts().map(part => part.state ?? part.type));
    assert.equal(reloaded.messages.length, 2);
    if (sdk.version === 7) assert.equal(reloaded.part('c1').callProviderMetadata.tool.decidedBy, 'acceptance');
  });

  test('R06 a reloaded page shows an edited message and its regenerated response', async () => {
    const chat = createChat();
    await chat.sendScript([call('c1', 'getWeather', { city: 'Oslo' })], [echo]);
    await chat.sendScript([text('two')]);
    const { id } = chat.messages.at(-2);
    await chat.sendMessage({ text: script([text('other')]), messageId: id });
    await chat.untilSettled();
    await chat.regenerate();
    await chat.untilSettled();
    const reloaded = await reload(chat);
    assert.deepEqual(reloaded.messages.map(({ role }) => role), ['user', 'assistant', 'user', 'assistant']);
    assert.equal(reloaded.part('c1').output.city, 'Oslo');
    assert.equal(reloaded.lastText(), 'other');
  });
}
