// A call that another person than the page's user decides about, and a file that the model does not read.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { base, call, createChat, echo, executions, reset, script, sdk, stateless, text } from './kit.mjs';

beforeEach(reset);

const waiting = chat => chat.messages.flatMap(m => m.parts).findLast(part => part.type === 'data-waiting');

test('W01 a page shows whom a call waits for, and its own approval leaves the call open', async () => {
  const chat = createChat();
  await chat.sendScript([call('c1', 'deleteFile', { filename: 'boss' })], [echo]);
  const asked = chat.part('c1');
  assert.equal(asked.state, 'approval-requested');
  assert.deepEqual([waiting(chat).data.deciders, waiting(chat).data.approvalId], [['boss'], asked.approval.id]);
  if (sdk.version === 7) assert.match(asked.approval.requestReason, /^boss has to decide\n/);

  for (const approved of [true, false]) {
    await chat.addToolApprovalResponse({ id: chat.part('c1').approval.id, approved });
    await chat.untilSettled();
    chat.assertOk();
    const again = chat.part('c1');
    assert.deepEqual([again.state, again.approval.id], ['approval-requested', asked.approval.id]);
    assert.equal(waiting(chat).data.refusal, 'your answer does not count');
    if (sdk.version === 7) assert.match(again.approval.requestReason, /^your answer does not count\n/);
  }
  assert.equal(chat.log.requests.length, 3, 'the client sends nothing by itself');
  assert.equal(await executions('deleteFile'), 0);
  await chat.sendScript([text('Fine.')]);
  chat.assertOk();
  assert.equal(chat.lastText(), 'Fine.');
});

test('W02 the page learns that the model did not read a file', async () => {
  const chat = createChat();
  const file = { type: 'file', mediaType: 'application/pdf', filename: 'a.pdf', url: 'http://127.0.0.1/a.pdf' };
  await chat.sendMessage({ text: script([text('Well.')]), files: [file] });
  await chat.untilSettled();
  chat.assertOk();
  const notice = chat.parts().find(part => part.type === 'data-unreadable-part');
  assert.deepEqual(notice.data, { description: '(a document, a.pdf)', filename: 'a.pdf', mediaType: 'application/pdf' });
  if (stateless) return;
  const messages = await (await fetch(`${base}${sdk.endpoint}/${chat.id}`)).json();
  await sdk.validateUIMessages({ messages });
  assert.deepEqual(messages[0].parts.find(part => part.type === 'file'), file);
});
