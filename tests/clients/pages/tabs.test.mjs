// Two tabs and two devices of one chat. Each page receives the same response and the decisions of the other. A decision counts once.
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { call, Chat, close, takePicture } from './kit.mjs';
import { clients } from './reload_points.mjs';

after(close);

const lastCall = shown => shown.calls.at(-1);
const FINAL_TEXT = 'All is well that ends.';

// The clients run concurrently, because they mostly wait.
describe('two tabs', { concurrency: true }, () => {
  for (const [client, storage] of clients.filter(([, storage]) => storage === 'sealed')) {
    test(`${client}, sealed: two tabs decide, and one decision counts`, async () => {
      const chat = new Chat(client, storage);
      const one = await chat.openDevice();
      await chat.sendScript(one, [call('remove', { what: chat.gate })], [FINAL_TEXT]);
      await one.untilShown('the question', shown => shown.questions.length === 1);
      const other = await chat.openTab(one.context());
      await other.untilShown('the question on the other page', shown => shown.questions.length === 1);
      await one.clickButton('Approve');
      await one.untilShown('the end', shown => shown.assistant.at(-1) === FINAL_TEXT);
      const answered = other.waitForResponse(response => response.request().method() === 'POST');
      await other.clickButton('Approve');
      await (await answered).finished();
      assert.equal(await chat.countRemovals(chat.gate), 1);
      await chat.close();
    });
  }

  for (const [client, storage] of clients.filter(([, storage]) => storage === 'store')) {
    describe(client, { concurrency: false }, () => {
      let chat;
      /** Opens a new chat, and sends it a script. `turns` returns the script for a gate. */
      const startChat = async turns => {
        chat = new Chat(client, storage);
        const page = await chat.openDevice();
        await chat.sendScript(page, ...turns(chat.gate));
        return page;
      };
      afterEach(() => chat.close());

      test('all pages show a response while the model writes it', async () => {
        const one = await startChat(() => [['Once upon ', null, 'a time.']]);
        await one.untilShown('the beginning', shown => /^Once upon/.test(shown.assistant[0]));
        const tab = await chat.openTab(one.context());
        const device = await chat.openDevice();
        for (const page of [tab, device]) await page.untilShown('the beginning on the other pages', shown => /^Once upon/.test(shown.assistant[0]));
        await chat.openGate();
        for (const page of [one, tab, device]) {
          const shown = await page.untilShown('the end', shown => shown.assistant[0] === 'Once upon a time.');
          assert.equal(shown.user, 1);
          assert.equal(shown.assistant.length, 1);
        }
      });

      test('a page shows the decision of the other, and its author', async () => {
        const one = await startChat(gate => [[call('remove', { what: gate, gate })], [FINAL_TEXT]]);
        const other = await chat.openDevice();
        for (const page of [one, other]) await page.untilShown('the question', shown => shown.questions.length === 1);
        await one.clickButton('Approve');
        await one.untilShown('the decision', shown => shown.questions.length === 0);
        await other.reloadPage();
        const running = await other.untilShown('the decision on the other page', shown => shown.questions.length === 0 && lastCall(shown)?.tool === 'remove');
        if (client === 'ai-sdk') assert.equal(lastCall(running).decidedBy, 'anna');
        await takePicture(other, `${client}-decided`);
        await chat.openGate();
        for (const page of [one, other]) await page.untilShown('the end', shown => /"removed"/.test(lastCall(shown).output) && shown.assistant.at(-1) === FINAL_TEXT);
        assert.equal(await chat.countRemovals(chat.gate), 1);
      });

      for (const late of ['Approve', 'Deny']) {
        test(`a late ${late} changes nothing`, async () => {
          const one = await startChat(gate => [[call('remove', { what: gate })], [FINAL_TEXT]]);
          const other = await chat.openDevice();
          for (const page of [one, other]) await page.untilShown('the question', shown => shown.questions.length === 1);
          await one.clickButton('Approve');
          await one.untilShown('the end', shown => shown.assistant.at(-1) === FINAL_TEXT);
          await other.clickButton(late);
          // The page may have to reload before it shows the decision.
          await other.untilShown('no question', shown => shown.questions.length === 0);
          await other.reloadPage();
          const shown = await other.untilShown('the end on the other page', shown => /"removed"/.test(lastCall(shown)?.output) && shown.assistant.at(-1) === FINAL_TEXT);
          assert.equal(shown.questions.length, 0);
          assert.equal(await chat.countRemovals(chat.gate), 1);
          await one.reloadPage();
          await one.untilShown('the end after a reload', shown => /"removed"/.test(lastCall(shown)?.output) && shown.assistant.at(-1) === FINAL_TEXT);
        });
      }

      test('two pages decide at the same time, and one decision counts', async () => {
        const one = await startChat(gate => [[call('remove', { what: gate })], [FINAL_TEXT]]);
        const other = await chat.openDevice();
        for (const page of [one, other]) await page.untilShown('the question', shown => shown.questions.length === 1);
        await Promise.all([one, other].map(page => page.clickButton('Approve')));
        await Promise.any([one, other].map(page => page.untilShown('the end', shown => /"removed"/.test(lastCall(shown)?.output))));
        for (const page of [one, other]) {
          // CopilotKit's runtime rejects the second request, and the page asks until it reloads.
          await page.reloadPage();
          await page.untilShown('the end after a reload', shown => /"removed"/.test(lastCall(shown)?.output) && shown.assistant.at(-1) === FINAL_TEXT);
        }
        assert.equal(await chat.countRemovals(chat.gate), 1);
      });

      // CopilotKit's memory runner does not authenticate users. Its application has to.
      if (client !== 'copilotkit-memory') {
        test('another user sees nothing of the chat', async () => {
          const one = await startChat(gate => [[call('remove', { what: gate })], [FINAL_TEXT]]);
          await one.untilShown('the question', shown => shown.questions.length === 1);
          const stranger = await chat.openDevice('bert');
          await stranger.waitForLoadState('networkidle');
          const shown = await stranger.readContent();
          assert.deepEqual([shown.user, shown.calls, shown.questions], [0, [], []]);
        });
      }
    });
  }
});
