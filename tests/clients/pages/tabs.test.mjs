// Two tabs and two devices: they see one stream and each other's decisions, and a decision counts once.
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { call, Chat, close, picture } from './kit.mjs';
import { ways } from './reload_points.mjs';

after(close);

const last = shown => shown.calls.at(-1);
const over = 'All is well that ends.';

// Mostly they wait, so the clients do it side by side.
describe('two tabs', { concurrency: true }, () => {
  for (const [way, kind] of ways.filter(([, kind]) => kind === 'sealed')) {
    test(`${way}, sealed: two tabs decide, and one decision counts`, async () => {
      const chat = new Chat(way, kind);
      const one = await chat.open();
      await chat.script(one, [call('remove', { what: chat.gate })], [over]);
      await one.until('the question', shown => shown.asked.length === 1);
      const other = await chat.tab(one.context());
      await other.until('the question, there', shown => shown.asked.length === 1);
      await one.press('Approve');
      await one.until('the end', shown => shown.assistant.at(-1) === over);
      const answered = other.waitForResponse(response => response.request().method() === 'POST');
      await other.press('Approve');
      await (await answered).finished();
      assert.equal(await chat.removed(chat.gate), 1);
      await chat.end();
    });
  }

  for (const [way, kind] of ways.filter(([, kind]) => kind === 'store')) {
    describe(way, { concurrency: false }, () => {
      let chat;
      const begun = async turns => {
        chat = new Chat(way, kind);
        const page = await chat.open();
        await chat.script(page, ...turns(chat.gate));
        return page;
      };
      afterEach(() => chat.end());

      test('both read an answer while it is written', async () => {
        const one = await begun(() => [['Once upon ', null, 'a time.']]);
        await one.until('the beginning', shown => /^Once upon/.test(shown.assistant[0]));
        const tab = await chat.tab(one.context());
        const device = await chat.open();
        for (const page of [tab, device]) await page.until('the beginning, there', shown => /^Once upon/.test(shown.assistant[0]));
        await chat.go();
        for (const page of [one, tab, device]) {
          const shown = await page.until('the end', shown => shown.assistant[0] === 'Once upon a time.');
          assert.equal(shown.user, 1);
          assert.equal(shown.assistant.length, 1);
        }
      });

      test('the other sees the decision, and who has made it', async () => {
        const one = await begun(gate => [[call('remove', { what: gate, gate })], [over]]);
        const other = await chat.open();
        for (const page of [one, other]) await page.until('the question', shown => shown.asked.length === 1);
        await one.press('Approve');
        await one.until('the decision', shown => shown.asked.length === 0);
        await other.again();
        const running = await other.until('the decision, there', shown => shown.asked.length === 0 && last(shown)?.tool === 'remove');
        if (way === 'ai-sdk') assert.equal(last(running).by, 'anna');
        await picture(other, `${way}-decided`);
        await chat.go();
        for (const page of [one, other]) await page.until('the end', shown => /"removed"/.test(last(shown).output) && shown.assistant.at(-1) === over);
        assert.equal(await chat.removed(chat.gate), 1);
      });

      for (const late of ['Approve', 'Deny']) {
        test(`who comes too late with ${late} decides nothing`, async () => {
          const one = await begun(gate => [[call('remove', { what: gate })], [over]]);
          const other = await chat.open();
          for (const page of [one, other]) await page.until('the question', shown => shown.asked.length === 1);
          await one.press('Approve');
          await one.until('the end', shown => shown.assistant.at(-1) === over);
          await other.press(late);
          // It may have to be loaded again, and then it shows what there is.
          await other.until('no question', shown => shown.asked.length === 0);
          await other.again();
          const shown = await other.until('the end, there', shown => /"removed"/.test(last(shown)?.output) && shown.assistant.at(-1) === over);
          assert.equal(shown.asked.length, 0);
          assert.equal(await chat.removed(chat.gate), 1);
          await one.again();
          await one.until('the end again', shown => /"removed"/.test(last(shown)?.output) && shown.assistant.at(-1) === over);
        });
      }

      test('both decide at the same time', async () => {
        const one = await begun(gate => [[call('remove', { what: gate })], [over]]);
        const other = await chat.open();
        for (const page of [one, other]) await page.until('the question', shown => shown.asked.length === 1);
        await Promise.all([one, other].map(page => page.press('Approve')));
        await Promise.any([one, other].map(page => page.until('the end', shown => /"removed"/.test(last(shown)?.output))));
        for (const page of [one, other]) {
          // CopilotKit's runtime refuses the second request, and its page goes on asking until it is loaded again.
          await page.again();
          await page.until('the end again', shown => /"removed"/.test(last(shown)?.output) && shown.assistant.at(-1) === over);
        }
        assert.equal(await chat.removed(chat.gate), 1);
      });

      // CopilotKit's own memory asks nobody who they are; its application has to.
      if (way !== 'memory') {
        test('somebody else sees nothing of it', async () => {
          const one = await begun(gate => [[call('remove', { what: gate })], [over]]);
          await one.until('the question', shown => shown.asked.length === 1);
          const stranger = await chat.open('bert');
          await stranger.waitForLoadState('networkidle');
          const shown = await stranger.shown();
          assert.deepEqual([shown.user, shown.calls, shown.asked], [0, [], []]);
        });
      }
    });
  }
});
