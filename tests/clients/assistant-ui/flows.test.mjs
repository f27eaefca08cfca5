// assistant-ui, unmodified, with its runtimes for AG-UI and for the AI SDK.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { base, call, headers, newChat } from '../page_server.mjs';
import { until } from '../until.mjs';
import { Page } from './kit.mjs';

/** Returns what a page loads of the chat: over AG-UI what it has saved, and otherwise what the server has. */
const load = async ({ kind, thread, chat }) =>
  kind === 'ag-ui' ? thread.export() : (await fetch(`${base}/api/chat/${chat.thread}`, { headers })).json();

const END = 'All is well that ends.';

for (const kind of ['ag-ui', 'ai-sdk']) {
  describe(kind, () => {
    const pages = [];
    after(() => pages.forEach(page => page.close()));
    const open = (chat, saved) => {
      const page = new Page(kind, chat, saved);
      pages.push(page);
      return page;
    };
    const ends = page => page.until('the answer ends', ({ texts }) => texts.at(-1) === END);

    test('a text, a call, and calls of one turn', async () => {
      const chat = newChat();
      const page = open(chat);
      const turn = [call('weather', { city: 'Oslo' }), call('breaks', { why: 'rust' }), call('weather', { city: 'Rome' })];
      await page.send(chat.script(['Look: ', call('weather', { city: 'Bern' })], turn, [END]));
      await ends(page);
      assert.deepEqual(page.calls.map(({ toolName, args }) => [toolName, args]), [
        ['weather', { city: 'Bern' }], ['weather', { city: 'Oslo' }], ['breaks', { why: 'rust' }], ['weather', { city: 'Rome' }],
      ]);
      const [bern, oslo, broken, rome] = page.calls.map(({ result }) => result);
      for (const [result, city] of [[bern, 'Bern'], [oslo, 'Oslo'], [rome, 'Rome']]) assert.deepEqual(result, { city, degrees: 21 });
      assert.match(JSON.stringify(broken), /it broke: rust/);
      await page.send(chat.script(['Again.']));
      await page.until('the next answer', ({ texts }) => texts.at(-1) === 'Again.');
    });

    test('tools of the page, also two of one turn', async () => {
      const chat = newChat();
      const page = open(chat);
      // Over the AI SDK's protocol, the page has no tools of its own.
      const [name, first, second] = kind === 'ag-ui' ? ['show', { text: 'one' }, { text: 'two' }] : ['locate', {}, {}];
      await page.send(chat.script([call('locate')], [call(name, first), call(name, second)], [END]));
      await ends(page);
      // The runtime starts calls of one turn in any order.
      const [earlier, ...together] = page.executed.map(executed => JSON.stringify(executed));
      assert.deepEqual([earlier, ...together.sort()], [['locate', {}], [name, first], [name, second]].map(executed => JSON.stringify(executed)));
      assert.deepEqual(page.errors, []);
    });

    test('a tool of the page after an approval', async () => {
      const chat = newChat();
      const page = open(chat);
      await page.send(chat.script([call('share', { window: 'left' })], [END]));
      if (kind === 'ag-ui') {
        // The server announces the call after the approval, so only the hook for interrupts has the question.
        await page.until('the page is asked', ({ interrupts }) => interrupts.length === 1);
        await page.submitInterruptResponses([{ interruptId: page.interrupts[0].id, status: 'resolved', payload: { approved: true } }]);
      } else {
        await page.until('the page is asked', ({ asked }) => asked.length === 1);
        await page.respond(page.asked[0], { approved: true });
        // The runtime executes no call that had an approval, so the card of the call does.
        await page.until('the page executes the call', ({ calls }) => calls[0].approval?.approved && calls[0].status?.type !== 'running');
        page.finish(page.calls[0], { here: true });
      }
      await ends(page);
      assert.deepEqual(page.executed, kind === 'ag-ui' ? [['share', { window: 'left' }]] : []);
      assert.deepEqual(page.errors, []);
    });

    test('a tool of the page beside an approval', async () => {
      const chat = newChat();
      const page = open(chat);
      await page.send(chat.script([call('locate'), call('remove', { what: chat.gate })], [END]));
      await page.until('the page is asked', ({ asked }) => asked.length === 1);
      await page.respond(page.asked[0], { approved: true });
      await ends(page);
      assert.deepEqual(page.executed, [['locate', {}]]);
      assert.equal(await chat.countRemovals(), 1);
      assert.deepEqual(page.errors, []);
    });

    /** Returns a page that waits for an approval of a removal. */
    const ask = async chat => {
      const page = open(chat);
      await page.send(chat.script([call('remove', { what: chat.gate })], [END]));
      await page.until('the page is asked', ({ asked }) => asked.length === 1);
      return page;
    };
    const outcomeOf = ({ calls: [{ result, approval }] }) => JSON.stringify([result, approval]);

    for (const approved of [true, false]) {
      test(`a person ${approved ? 'approves' : 'denies'}`, async () => {
        const chat = newChat();
        const page = await ask(chat);
        await page.respond(page.asked[0], { approved, reason: approved ? undefined : 'keep it' });
        await ends(page);
        assert.match(outcomeOf(page), approved ? /removed/ : /keep it/);
        assert.equal(await chat.countRemovals(), approved ? 1 : 0);
      });
    }

    test('two approvals of one turn', async () => {
      const chat = newChat();
      const page = open(chat);
      await page.send(chat.script([call('remove', { what: chat.gate }), call('remove', { what: 'other' })], [END]));
      await page.until('the page is asked', ({ asked }) => asked.length === 2);
      const [first, second] = page.asked;
      await page.respond(first, { approved: true });
      await page.until('one question is left', ({ asked }) => asked.length === 1);
      await page.respond(page.calls.find(({ toolCallId }) => toolCallId === second.toolCallId), { approved: false });
      await ends(page);
      assert.equal(await chat.countRemovals(), 1);
    });

    test('an answer after a reload, and a late one from another device', async () => {
      const chat = newChat();
      const page = await ask(chat);
      const reloaded = open(chat, await load(page));
      await reloaded.until('the page is asked after a reload', ({ asked }) => asked.length === 1);
      await reloaded.respond(reloaded.asked[0], { approved: false });
      await ends(reloaded);
      // The first page does not know that, and receives the decision that counted.
      await page.respond(page.asked[0], { approved: true });
      await ends(page);
      assert.match(outcomeOf(page), /denied|"approved":false/);
      assert.equal(await chat.countRemovals(), 0);
    });

    test('a page stops, and the chat goes on, also after a reload', async () => {
      const chat = newChat();
      const page = open(chat);
      await page.send(chat.script(['Once upon ', null, 'a time.']));
      await until('the text begins', () => page.texts[0] === 'Once upon ');
      page.thread.cancelRun();
      await page.until('the page has stopped', () => true);
      await page.send(chat.script(['Again.']));
      await page.until('the next answer', ({ texts }) => texts.at(-1) === 'Again.');
      const old = open(chat, await load(page));
      await old.until('the page has the chat', ({ texts }) => texts.at(-1) === 'Again.');
      await old.send(chat.script(['And again.']));
      await old.until('the last answer', ({ texts }) => texts.at(-1) === 'And again.');
    });

    test('another tab stops the answer, and the chat goes on', async () => {
      const chat = newChat();
      const page = open(chat);
      await page.send(chat.script(['Look: ', call('work', { gate: chat.gate })], ['Too late.']));
      await until('the call is there', () => page.calls[0]?.args.gate === chat.gate);
      await chat.stop();
      await page.until('the page has stopped', ({ calls }) => calls[0].result !== undefined);
      await page.send(chat.script(['Again.']));
      await page.until('the next answer', ({ texts }) => texts.at(-1) === 'Again.');
      assert.deepEqual(page.texts, ['Look: ', 'Again.']);
      assert.deepEqual(page.errors, []);
    });

    if (kind === 'ag-ui') {
      // The runtime for the AI SDK can only approve and deny.
      test('an edit that does not fit is asked about again, and one that fits counts', async () => {
        const chat = newChat();
        const page = await ask(chat);
        const edit = async editedArgs => {
          await page.until('the page has the question', ({ interrupts }) => interrupts.length === 1);
          await page.submitInterruptResponses([{ interruptId: page.interrupts[0].id, status: 'resolved', payload: { approved: true, editedArgs } }]);
        };
        await edit({ what: 7 });
        // The hook for interrupts has the question; the call itself shows the decision that the page has sent.
        await page.until('the page is asked again', ({ interrupts }) => interrupts[0]?.metadata.refusal);
        assert.match(page.interrupts[0].message, /expected a string.*\nRemove/s);
        assert.equal(await chat.countRemovals(), 0);
        const what = `${chat.gate}-other`;
        await edit({ what });
        await ends(page);
        assert.match(outcomeOf(page), new RegExp(`"removed":"${what}"`));
        assert.deepEqual([await chat.countRemovals(), await chat.countRemovals(what)], [0, 1]);
      });
    }
  });
}
