// A page that is loaded again: `useChat({ messages, resume: true })`, with the messages that the server has.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { base, call, chat, counters, echo, executions, releaseOnceRead, reset, script, sdk, stateless, text, until } from './kit.mjs';

beforeEach(reset);

const fetched = async id => fetch(`${base}${sdk.endpoint}/${id}`);

/** The same chat in a page that has nothing of it. If its answer waits for `slow`, the tool ends once the page reads. */
async function loaded(it, { isSlow = false } = {}) {
  const response = await fetched(it.id);
  assert.equal(response.status, 200);
  const messages = await response.json();
  await sdk.validateUIMessages({ messages });
  const again = chat({ id: it.id, messages });
  const resumed = again.resumeStream();
  if (isSlow) await releaseOnceRead(again);
  await resumed;
  await again.settled();
  again.ok();
  return again;
}

/** What a person sees of a chat. */
const shown = it =>
  it.messages.map(({ role, parts }) => [
    role,
    ...parts
      .filter(part => part.type !== 'text' || part.text !== '')
      .map(({ type, text, toolCallId, state, input, output, errorText, approval }) => {
        // Clients of version 6 forget wrong arguments.
        const seen = sdk.level === 6 && state === 'output-error' ? undefined : input;
        return JSON.parse(JSON.stringify({ type, text, toolCallId, state, seen, output, errorText, approved: approval?.approved }));
      }),
  ]);

const same = async it => {
  const again = await loaded(it);
  assert.deepEqual(shown(again), shown(it));
  assert.equal(again.log.requests.length, 0, 'nothing is sent by itself');
  return again;
};

if (stateless) {
  test('R00 a server that keeps nothing says so', async () => {
    const it = chat();
    await it.say([text('Hello.')]);
    const response = await fetched(it.id);
    assert.equal(response.status, 404);
    assert.match((await response.json()).error.message, /its clients keep them/);
  });
} else {
  test('R01 texts, and calls that have ended', async () => {
    const it = chat();
    await it.say([text('Look.'), call('c1', 'getWeather', { city: 'Oslo' }), call('c2', 'explode', { message: 'bang' })], [echo]);
    await it.say([call('c3', 'getWeather', { city: 7 }), call('c4', 'teleport', { to: 'Oslo' })], [text('Well.')]);
    await it.say([call('c5', 'countdown', { from: 2 })], [echo]);
    const again = await same(it);
    assert.deepEqual([1, 2, 3, 4, 5].map(n => again.part(`c${n}`).state.slice('output-'.length)), ['available', 'error', 'error', 'error', 'available']);
    // It goes on with what the server knows.
    await again.say([call('c6', 'getWeather', { city: 'Rome' })], [echo]);
    again.ok();
    assert.equal(again.messages.length, 8);
  });

  for (const approved of [true, false]) {
    test(`R02 a request for approval, ${approved ? 'approved' : 'denied'} after it was loaded`, async () => {
      const it = chat();
      await it.say([call('c1', 'deleteFile', { filename: 'a' })], [echo]);
      const again = await same(it);
      const { approval, state } = again.part('c1');
      assert.deepEqual([state, approval.id], ['approval-requested', it.part('c1').approval.id]);
      await again.addToolApprovalResponse({ id: approval.id, approved });
      await again.settled();
      again.ok();
      assert.equal(await executions('deleteFile'), approved ? 1 : 0);
      assert.equal(again.part('c1').state, approved ? 'output-available' : 'output-denied');
      assert.equal(again.messages.length, 2);
      const third = await same(again);
      if (sdk.level === 7) assert.equal(third.part('c1').callProviderMetadata.tool.decidedBy, 'acceptance');
      // Who comes too late decides nothing.
      await it.addToolApprovalResponse({ id: approval.id, approved: !approved });
      await it.settled();
      assert.equal(await executions('deleteFile'), approved ? 1 : 0);
    });
  }

  test('R03 calls that the page executes, one of them after an approval', async () => {
    const it = chat({ auto: false });
    await it.say([call('c1', 'getLocation', {}), call('c2', 'shareScreen', { window: 'left' })], [echo]);
    const again = await same(it);
    assert.deepEqual([again.part('c1').state, again.part('c2').state], ['input-available', 'approval-requested']);
    await again.addToolOutput({ tool: 'getLocation', toolCallId: 'c1', output: { lat: 59.9 } });
    await again.addToolApprovalResponse({ id: again.part('c2').approval.id, approved: true });
    await again.settled();
    await until('the screen is to be shared', async () => again.part('c2').state === 'input-available');
    const third = await loaded(it);
    assert.deepEqual([third.part('c1').output, third.part('c2').state], [{ lat: 59.9 }, 'input-available']);
    await third.addToolOutput({ tool: 'shareScreen', toolCallId: 'c2', output: ['left'] });
    await third.settled();
    third.ok();
    assert.equal(third.seen().length, 2);
  });

  test('R04 two pages read one answer', async () => {
    const it = chat({ body: { resumable: true } });
    const sent = it.sendMessage({ text: script([text('before'), call('c1', 'slow', { ms: 60_000 })], [echo]) });
    await until('the tool runs', async () => (await executions('slow')) === 1);
    const again = await loaded(it, { isSlow: true });
    await sent;
    await it.settled();
    assert.deepEqual(shown(again), shown(it));
    assert.deepEqual(await counters(), { executions: { slow: 1 }, aborted: {} });
    await same(it);
  });

  test('R05 a page sees what another has decided', async () => {
    const it = chat({ body: { resumable: true } });
    await it.say([call('c1', 'deleteFile', { filename: 'a' })], [call('c2', 'slow', { ms: 60_000 })], [echo]);
    void it.addToolApprovalResponse({ id: it.part('c1').approval.id, approved: true });
    await until('the second tool runs', async () => (await executions('slow')) === 1);
    const again = await loaded(it, { isSlow: true });
    await it.settled();
    assert.deepEqual(again.parts().map(part => part.state ?? part.type), it.parts().map(part => part.state ?? part.type));
    assert.equal(again.messages.length, 2);
    if (sdk.level === 7) assert.equal(again.part('c1').callProviderMetadata.tool.decidedBy, 'acceptance');
  });

  test('R06 an edited message, and another answer', async () => {
    const it = chat();
    await it.say([call('c1', 'getWeather', { city: 'Oslo' })], [echo]);
    await it.say([text('two')]);
    const { id } = it.messages.at(-2);
    await it.sendMessage({ text: script([text('other')]), messageId: id });
    await it.settled();
    await it.regenerate();
    await it.settled();
    const again = await loaded(it);
    assert.deepEqual(again.messages.map(({ role }) => role), ['user', 'assistant', 'user', 'assistant']);
    assert.equal(again.part('c1').output.city, 'Oslo');
    assert.equal(again.spoken(), 'other');
  });
}
