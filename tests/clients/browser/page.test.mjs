// The example page, driven through all that it can do, over both protocols.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { before, describe, test } from 'node:test';
import { opened, PATIENCE, picture, seen, served, until } from './kit.mjs';

const left = async card => Number((await card.innerText()).match(/left\s+(\d+)/)[1]);

// Mostly they wait, so they do it side by side; each with a server of its own.
describe('the page', { concurrency: true }, () => {
  describe('over the protocol of the AI SDK', { concurrency: false }, () => conversation('ai-sdk'));
  describe('over AG-UI', { concurrency: false }, () => conversation('ag-ui'));
  describe('whatever happens', { concurrency: false }, anything);
});

test('every state of a call was shown', () => {
  const states = new Set([...seen].map(state => state.split(' ')[1]));
  assert.deepEqual([...states].toSorted(), [
    'approval-requested',
    'approval-responded',
    'input-available',
    'input-streaming',
    'output-available',
    'output-denied',
    'output-error',
  ]);
});

function conversation(mode) {
  let base;
  before(async () => (base = await served()));
  const open = () => opened(base, { mode });

  test('chat, and the output of a tool', async () => {
    const page = await open();
    await picture(page, `${mode}-welcome`);
    await page.say('Weather in Oslo');
    const card = await page.card('get_weather', 'output-available');
    assert.match(await card.innerText(), /Weather\s+Done\s+☀️ Oslo, -2 °C/);
    await page.rests();
    await page.say('Weather in Atlantis');
    assert.match(await (await page.card('get_weather', 'output-error')).innerText(), /no weather station in Atlantis/);
    await page.rests();
    await picture(page, `${mode}-weather`);
    page.fine();
  });

  test('arguments are seen while they are written', async () => {
    const page = await open();
    // Long enough to be seen on a busy machine, too.
    await page.say(`Write a note, title: Shopping, text: ${'milk and bread and '.repeat(80)}eggs from the market`);
    await page.getByText('Writing…').waitFor();
    await picture(page, `${mode}-writing`);
    assert.match(await (await page.card('write_note', 'output-available')).innerText(), /shopping\.txt/);
    const arriving = page.states.filter(({ state }) => state === 'input-streaming').map(({ text }) => text);
    assert.ok(arriving.some(text => text.includes('Shopping') && !text.includes('market')), `${arriving}`);
    page.fine();
  });

  test('approve, deny with a reason, edit', async () => {
    const page = await open();
    await page.say('Delete the file "report.pdf"');
    const asked = await page.card('delete_file', 'approval-requested');
    assert.match(await asked.innerText(), /Delete "report.pdf" for good\?/);
    await picture(page, `${mode}-approval`);
    await page.press('Approve');
    const before = await left(await page.card('delete_file', 'output-available'));

    await page.rests();
    await page.say('Delete the file "readme.md"');
    await page.card('delete_file', 'approval-requested');
    await page.getByLabel('Reason').fill('still needed');
    await page.press('Deny');
    assert.match(await (await page.card('delete_file', 'output-denied')).innerText(), /Denied: still needed/);
    await page.told('I did not do it: still needed.');
    await picture(page, `${mode}-denied`);

    await page.press('New chat');
    await page.say('Delete the file "readme.md"');
    await page.card('delete_file', 'approval-requested');
    await page.press('Edit');
    await page.getByRole('textbox', { name: 'name' }).fill('todo.txt');
    await picture(page, `${mode}-edit`);
    await page.press('Approve as changed');
    const card = await page.card('delete_file', 'output-available');
    assert.match(await card.innerText(), /deleted\s+todo.txt/);
    assert.equal(await left(card), before - 1, 'only what was approved is gone');
    page.fine();
  });

  test('an approval is found and given with the keyboard alone', async () => {
    const page = await open();
    await page.say('Delete the file "nobody.txt"');
    const card = await page.card('delete_file', 'approval-requested');
    assert.equal(await card.getByRole('status').innerText(), 'Needs your approval');
    await page.rests();
    // Backwards from the line for messages, over what the page offers, and over the buttons of the card.
    const focused = () => page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent);
    const order = [];
    while (order.at(-1) !== 'Approve' && order.length < 20) {
      await page.keyboard.press('Shift+Tab');
      order.push(await focused());
    }
    assert.deepEqual(order.slice(-4), ['Deny', 'Reason', 'Edit', 'Approve']);
    await page.keyboard.press('Enter');
    await page.card('delete_file', 'output-error');
    await page.told('no file called nobody');
    page.fine();
  });

  test('a tool of the page', async () => {
    const page = await open();
    await page.press('Pick a colour');
    await page.card('pick_colour', 'input-available');
    await page.rests();
    await picture(page, `${mode}-palette`);
    await page.press('Plum');
    await page.card('pick_colour', 'output-available');
    await page.told('#8a2f8f');
    const accent = await page.evaluate(() => document.documentElement.style.getPropertyValue('--accent'));
    assert.equal(accent, '#8a2f8f');
    page.fine();
  });

  test('how far a tool has come', async () => {
    const page = await open();
    await page.press('Check the folder');
    const bar = page.getByRole('progressbar', { name: 'Files checked' });
    await bar.waitFor();
    await picture(page, `${mode}-progress`);
    await page.told('Anything else?');
    const grown = page.states.flatMap(({ text }) => text.match(/(\d+) of \d+:/)?.[1] ?? []).map(Number);
    assert.deepEqual(grown, grown.toSorted((a, b) => a - b));
    assert.ok(new Set(grown).size >= 4, `${grown}`);
    assert.equal(await bar.getAttribute('value'), await bar.getAttribute('max'));
    page.fine();
  });

  test('a form that grows with what the tool says', async () => {
    const page = await open();
    await page.press('Book a train');
    await page.card('book_train', 'output-error');
    await page.rests();
    const choose = async (field, value) => {
      const form = page.getByRole('form', { name: 'What is missing' }).last();
      await form.getByLabel(field).selectOption(value);
      await page.press('Go on');
    };
    assert.ok(await page.getByLabel('seats').last().isDisabled(), 'seats depend on the cities');
    await choose('from', 'Berlin');
    await page.getByText('Berlin ✓').waitFor();
    await page.rests();
    await picture(page, `${mode}-form`);
    await choose('to', 'Prague');
    await page.getByText('Prague ✓').waitFor();
    await page.rests();
    await choose('seats', '2');
    const asked = await page.card('book_train', 'approval-requested');
    assert.match(await asked.innerText(), /Book 2 seat\(s\) from "Berlin" to "Prague"\?/);
    await page.press('Approve');
    assert.match(await (await page.card('book_train', 'output-available')).innerText(), /2 × Berlin → Prague: 70 €/);
    await picture(page, `${mode}-ticket`);
    page.fine();
  });

  test('resume: a page that is loaded anew in the middle of an answer goes on', async () => {
    const page = await open();
    await page.press('Check the folder');
    await page.getByRole('progressbar').waitFor();
    await page.reload();
    const bar = page.getByRole('progressbar', { name: 'Files checked' });
    await bar.waitFor();
    const before = Number(await bar.getAttribute('value'));
    assert.ok(before < 8, `${before}: it was over already`);
    await picture(page, `${mode}-resumed`);
    await page.told('Anything else?');
    assert.equal(await bar.getAttribute('value'), await bar.getAttribute('max'));
    assert.equal(await page.locator('[data-tool=check_folder]').count(), 1);
    assert.equal(await page.getByLabel('You').count(), 1);
    page.fine();
  });

  test('resume: what was written already is not there twice', async () => {
    const page = await open();
    await page.say(`Write a note, title: Shopping, text: ${'milk and bread and '.repeat(80)}eggs from the market`);
    await page.getByText('Writing…').waitFor();
    await page.reload();
    assert.match(await (await page.card('write_note', 'output-available')).innerText(), /shopping\.txt/);
    await page.rests();
    assert.equal(await page.locator('[data-tool=write_note]').count(), 1);
    await page.reload();
    await page.card('write_note', 'output-available');
    assert.equal(await page.getByLabel('Assistant').count(), 1);
    page.fine();
  });

  test('resume: what waits for an approval still waits, and is asked for once', async () => {
    const page = await open();
    await page.say('Delete the file "nothing.txt"');
    await page.card('delete_file', 'approval-requested');
    await page.rests();
    await page.reload();
    await page.card('delete_file', 'approval-requested');
    await page.press('Deny');
    await page.card('delete_file', 'output-denied');
    await page.told('I did not do it.');
    assert.equal(await page.locator('[data-tool=delete_file]').count(), 1);
    page.fine();
  });

  test('reload: a page shows what it showed in every state that a call can rest in', async () => {
    const page = await open();
    const cards = () => page.locator('[data-tool]').allInnerTexts();
    const steps = [
      ['Weather in Oslo', 'get_weather', 'output-available'],
      ['Weather in Atlantis', 'get_weather', 'output-error'],
      ['Pick a colour', 'pick_colour', 'input-available'],
      ['Delete the file "nothing.txt"', 'delete_file', 'approval-requested'],
    ];
    for (const [text, tool, state] of steps) {
      await page.say(text);
      await page.card(tool, state);
      await page.rests();
      const before = await cards();
      await page.reload();
      await page.card(tool, state);
      await page.rests();
      assert.deepEqual(await cards(), before);
      if (state === 'input-available') {
        await page.press('Plum');
        await page.told('#8a2f8f');
        await page.rests();
      }
    }
    await page.getByLabel('Reason').fill('still needed');
    await page.press('Deny');
    await page.told('I did not do it: still needed.');
    await page.rests();
    await page.reload();
    // AG-UI has no word for a denial: the result says it.
    const denied = await page.card('delete_file', mode === 'ai-sdk' ? 'output-denied' : 'output-error');
    assert.match(await denied.innerText(), /[Dd]enied.*still needed/s);
    assert.equal(await page.locator('[data-tool]').count(), steps.length);
    page.fine();
  });

  test('two devices see each other, and a decision counts once', async () => {
    const [one, other] = [await open(), await open()];
    await one.say('Delete the file "today.txt"');
    await one.card('delete_file', 'approval-requested');
    await other.getByRole('button', { name: /^Delete the file "today/ }).first().click();
    await other.card('delete_file', 'approval-requested');
    await other.getByLabel('Reason').fill('not today');
    await other.press('Deny');
    await other.told('I did not do it: not today.');
    // The first page is asked no longer, and shows what the other has done.
    await one.told('I did not do it: not today.');
    assert.equal(await one.getByRole('button', { name: 'Approve' }).count(), 0);
    assert.equal(await one.locator('[data-tool=delete_file]').count(), 1);
    if (mode === 'ai-sdk') await one.getByText('Denied by anna').waitFor();
    await picture(one, `${mode}-other-tab`);
    // An answer that one of them begins is read by both while it is written.
    await other.press('Check the folder');
    await one.getByRole('progressbar', { name: 'Files checked' }).waitFor();
    await Promise.all([one, other].map(page => page.told('Anything else?')));
    [one, other].forEach(page => page.fine());
  });

  test('chats are listed, renamed and deleted, with the keyboard alone', async () => {
    const page = await open();
    const list = page.getByRole('navigation', { name: 'Chats' });
    await page.say('Weather in Rome');
    await page.card('get_weather', 'output-available');
    await list.getByRole('button', { name: 'Rename Weather in Rome' }).last().focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type('Holidays');
    await page.keyboard.press('Enter');
    await page.getByText('Renamed to Holidays').waitFor({ state: 'attached' });
    const item = list.getByRole('button', { name: /^Holidays/ });
    await item.and(page.locator('[aria-current=page]')).waitFor();
    await until('the title is new', async () => (await page.title()).startsWith('Holidays'), PATIENCE);
    await until('the focus comes back', () => item.evaluate(button => button === document.activeElement), PATIENCE);
    await page.press('New chat');
    await page.getByText('What can I do for you?').waitFor();
    await item.focus();
    await page.keyboard.press('Enter');
    await page.card('get_weather', 'output-available');
    await picture(page, `${mode}-list`);
    await list.getByRole('button', { name: 'Delete Holidays' }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    await list.getByRole('button', { name: 'Delete Holidays' }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await page.getByText('Deleted Holidays').waitFor({ state: 'attached' });
    await page.getByText('What can I do for you?').waitFor();
    await item.waitFor({ state: 'detached' });
    page.fine();
  });

  test('a narrow screen', async () => {
    const page = await open();
    await page.setViewportSize({ width: 360, height: 640 });
    await page.say('Weather in Rome');
    await page.card('get_weather', 'output-available');
    await page.rests();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 360, `the page is ${wide} wide`);
    const ideas = await page.getByRole('group', { name: 'Ideas' }).boundingBox();
    assert.ok(ideas.height < 60, `the ideas are ${ideas.height} high: more than one line`);
    await picture(page, `${mode}-narrow`);
    const item = page.getByRole('button', { name: /^Weather in Rome.*:/ }).first();
    assert.ok(!(await item.isVisible()));
    await page.press('New chat');
    await page.press('Chats');
    await picture(page, `${mode}-drawer`);
    await item.click();
    await page.card('get_weather', 'output-available');
    assert.ok(!(await item.isVisible()), 'the list has made room');
    page.fine();
  });

  test('stop', async () => {
    const page = await open();
    await page.press('Check the folder');
    await page.getByRole('progressbar').waitFor();
    await page.press('Stop');
    await page.rests();
    await picture(page, `${mode}-stopped`);
    await page.waitForTimeout(1000);
    const value = () => page.getByRole('progressbar').first().getAttribute('value');
    assert.ok(Number(await value()) < 8, 'it went on');
    assert.match(await page.locator('[data-tool=check_folder]').innerText(), /Stopped/);
    assert.equal(await page.getByRole('alert').count(), 0, 'to be stopped is no failure');
    await page.say('Weather in Rome');
    await page.card('get_weather', 'output-available');
    page.fine();
  });
}

function anything() {
  let base;
  before(async () => (base = await served()));

  test('an edit that the tool does not take can be made again', async () => {
    const page = await opened(base);
    await page.say('Delete the file "nothing.txt"');
    await page.card('delete_file', 'approval-requested');
    await page.press('Edit');
    await page.getByRole('textbox', { name: 'name' }).fill('');
    await page.press('Approve as changed');
    await page.getByRole('alert').waitFor();
    await picture(page, 'edit-refused');
    assert.match(await page.getByRole('alert').innerText(), /name/);
    await page.card('delete_file', 'approval-requested');
    await page.getByRole('textbox', { name: 'name' }).fill('nobody.txt');
    await page.press('Approve as changed');
    assert.match(await (await page.card('delete_file', 'output-error')).innerText(), /no file called nobody\.txt/);
    // The refused request, and nothing else.
    assert.equal(page.complaints.length, 1);
    assert.match(page.complaints[0], /422/);
  });

  test('who has no token is told so', async () => {
    const page = await opened(base, { signIn: false });
    await page.getByLabel('Your token').fill('made-up-token');
    await page.press('Sign in');
    await page.say('Weather in Oslo');
    assert.match(await page.getByRole('alert').innerText(), /this token is not known/);
  });

  test('no other page can frame it', async () => {
    const evil = createServer((_, response) => response.setHeader('content-type', 'text/html').end(`<iframe src="${base}/"></iframe>`));
    await new Promise(ready => evil.listen(0, '127.0.0.1', ready));
    const page = await opened(base);
    const refused = page.waitForEvent('console', message => /frame-ancestors/.test(message.text()));
    await page.goto(`http://127.0.0.1:${evil.address().port}/`);
    await refused;
    assert.equal(await page.frames().at(-1).getByRole('heading', { name: 'Tool chat' }).count(), 0);
    evil.close();
    evil.closeAllConnections();
  });

  test('nobody is kept from using it', async () => {
    const { default: axe } = await import('axe-core');
    for (const colorScheme of ['light', 'dark']) {
      const page = await opened(base, { colorScheme });
      const look = async () => {
        await page.evaluate(axe.source);
        const { violations } = await page.evaluate(() => window.axe.run());
        assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map(node => node.html)]), []);
      };
      await look();
      await page.say('Weather in Atlantis');
      await page.told('no weather station');
      await page.rests();
      await page.press('New chat');
      await page.press('Book a train');
      await page.card('book_train', 'output-error');
      await page.rests();
      await look();
      await page.press('New chat');
      await page.say('Delete the file "readme.md"');
      await page.card('delete_file', 'approval-requested');
      await page.rests();
      await picture(page, `${colorScheme}-approval`);
      await look();
    }
  });
}
