// The flows of CopilotKit's page that need no reload. The other clients run theirs without a browser.
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { call, Chat, close } from './kit.mjs';
import { FINAL_TEXT } from './reload_points.mjs';

after(close);

// The runners of CopilotKit run concurrently, because they mostly wait.
describe('flows', { concurrency: true }, () => {
  for (const client of ['copilotkit-memory', 'copilotkit-server']) {
    describe(client, { concurrency: false }, () => {
      let chat;
      /** Opens a new chat, and sends it a script. `turns` returns the script for a gate. */
      const startChat = async turns => {
        chat = new Chat(client);
        const page = await chat.openDevice();
        await chat.sendScript(page, ...turns(chat.gate));
        return page;
      };
      afterEach(() => chat.close());
      const ends = page => page.untilShown('the end', shown => shown.assistant.at(-1) === FINAL_TEXT);

      test('a text, and calls of one turn', async () => {
        const page = await startChat(() => [['Look: ', call('weather', { city: 'Oslo' }), call('breaks', { why: 'rust' }), call('weather', { city: 'Rome' })], [FINAL_TEXT]]);
        const { assistant, calls } = await ends(page);
        assert.equal(assistant[0], 'Look:');
        const expected = [['weather', /Oslo/, /Oslo.*21/], ['breaks', /rust/, /it broke: rust/], ['weather', /Rome/, /Rome.*21/]];
        assert.equal(calls.length, expected.length);
        for (const [at, [tool, input, output]] of expected.entries()) {
          assert.equal(calls[at].tool, tool);
          assert.match(calls[at].input, input);
          assert.match(calls[at].output, output);
        }
      });

      test('a tool of the page beside an approval', async () => {
        const page = await startChat(gate => [[call('locate'), call('remove', { what: gate })], [FINAL_TEXT]]);
        await page.untilShown('the question', shown => shown.questions.length === 1);
        await page.clickButton('Finish locate');
        await page.clickButton('Approve');
        const { calls } = await ends(page);
        const outputOf = tool => calls.find(call => call.tool === tool).output;
        assert.match(outputOf('locate'), /here/);
        assert.match(outputOf('remove'), /"removed"/);
        assert.equal(await chat.countRemovals(chat.gate), 1);
      });

      test('an edit that does not fit is asked about again, and one that fits counts', async () => {
        const page = await startChat(gate => [[call('remove', { what: gate })], [FINAL_TEXT]]);
        const edit = async input => {
          await page.getByLabel('Arguments').fill(JSON.stringify(input));
          await page.clickButton('Edit');
        };
        await edit({ what: 7 });
        await page.untilShown('the question and the reason', shown => /expected a string.*Remove/s.test(shown.questions[0]));
        assert.equal(await chat.countRemovals(chat.gate), 0);
        const what = `${chat.gate}-other`;
        await edit({ what });
        const { calls } = await ends(page);
        assert.match(calls[0].output, new RegExp(`"removed":"${what}"`));
        assert.deepEqual([await chat.countRemovals(chat.gate), await chat.countRemovals(what)], [0, 1]);
      });

      test('a person stops, and the thread goes on, also after a reload', async () => {
        const page = await startChat(() => [['Once upon ', null, 'a time.']]);
        await page.untilShown('the beginning', shown => /^Once upon/.test(shown.assistant[0]));
        await page.getByTestId('copilot-send-button').click();
        await page.untilIdle();
        await chat.sendScript(page, ['Again.']);
        await page.untilShown('the next answer', shown => shown.assistant.at(-1) === 'Again.');
        // The runtime's own memory shows a stopped text last after a reload.
        if (client === 'copilotkit-memory') return;
        await page.reloadPage();
        await page.untilShown('the thread after a reload', shown => shown.assistant.at(-1) === 'Again.');
        await chat.sendScript(page, ['And again.']);
        await page.untilShown('the last answer', shown => shown.assistant.at(-1) === 'And again.');
      });
    });
  }
});
