// Drives the page of the example chat-server through all of its features, over both protocols.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { before, describe, test } from 'node:test';
import { openPage, PATIENCE, seenStates, startChatServer, takePicture, until } from './kit.mjs';

/** Returns the number of files left that a card shows. */
const filesLeft = async card => Number((await card.innerText()).match(/left\s+(\d+)/)[1]);

// The groups run concurrently, because they mostly wait. Each group has its own server.
describe('the page of chat-server', { concurrency: true }, () => {
  describe('over the protocol of the AI SDK', { concurrency: false }, () => testProtocol('ai-sdk'));
  describe('over AG-UI', { concurrency: false }, () => testProtocol('ag-ui'));
  describe('independent of the protocol', { concurrency: false }, testOtherFeatures);
});

test('the pages above have shown every state of a call', () => {
  const states = new Set([...seenStates].map(state => state.split(' ')[1]));
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

/** Registers the tests of one protocol. */
function testProtocol(mode) {
  let base;
  before(async () => (base = await startChatServer()));
  const open = () => openPage(base, { mode });

  test('the page shows the output and the error of a tool', async () => {
    const page = await open();
    await takePicture(page, `${mode}-welcome`);
    await page.sendMessage('Weather in Oslo');
    const card = await page.waitForCard('get_weather', 'output-available');
    assert.match(await card.innerText(), /Weather\s+Done\s+☀️ Oslo, -2 °C/);
    await page.waitUntilIdle();
    await page.sendMessage('Weather in Atlantis');
    assert.match(await (await page.waitForCard('get_weather', 'output-error')).innerText(), /no weather station in Atlantis/);
    await page.waitUntilIdle();
    await takePicture(page, `${mode}-weather`);
    page.assertNoErrors();
  });

  test('the page shows arguments while the model writes them', async () => {
    const page = await open();
    // The text is long enough to be visible on a busy machine.
    await page.sendMessage(`Write a note, title: Shopping, text: ${'milk and bread and '.repeat(80)}eggs from the market`);
    await page.getByText('Writing…').waitFor();
    await takePicture(page, `${mode}-writing`);
    assert.match(await (await page.waitForCard('write_note', 'output-available')).innerText(), /shopping\.txt/);
    const arriving = page.states.filter(({ state }) => state === 'input-streaming').map(({ text }) => text);
    assert.ok(arriving.some(text => text.includes('Shopping') && !text.includes('market')), `${arriving}`);
    page.assertNoErrors();
  });

  test('a person approves a call, denies one with a reason, and edits one', async () => {
    const page = await open();
    await page.sendMessage('Delete the file "report.pdf"');
    const openCard = await page.waitForCard('delete_file', 'approval-requested');
    assert.match(await openCard.innerText(), /Delete "report.pdf" for good\?/);
    await takePicture(page, `${mode}-approval`);
    await page.clickButton('Approve');
    const before = await filesLeft(await page.waitForCard('delete_file', 'output-available'));

    await page.waitUntilIdle();
    await page.sendMessage('Delete the file "readme.md"');
    await page.waitForCard('delete_file', 'approval-requested');
    await page.getByLabel('Reason').fill('still needed');
    await page.clickButton('Deny');
    assert.match(await (await page.waitForCard('delete_file', 'output-denied')).innerText(), /Denied: still needed/);
    await page.waitForText('I did not do it: still needed.');
    await takePicture(page, `${mode}-denied`);

    await page.clickButton('New chat');
    await page.sendMessage('Delete the file "readme.md"');
    await page.waitForCard('delete_file', 'approval-requested');
    await page.clickButton('Edit');
    await page.getByRole('textbox', { name: 'name' }).fill('todo.txt');
    await takePicture(page, `${mode}-edit`);
    await page.clickButton('Approve as changed');
    const card = await page.waitForCard('delete_file', 'output-available');
    assert.match(await card.innerText(), /deleted\s+todo.txt/);
    assert.equal(await filesLeft(card), before - 1, 'only the approved file is deleted');
    page.assertNoErrors();
  });

  test('a person approves a call with the keyboard alone', async () => {
    const page = await open();
    await page.sendMessage('Delete the file "nobody.txt"');
    const card = await page.waitForCard('delete_file', 'approval-requested');
    assert.equal(await card.getByRole('status').innerText(), 'Needs your approval');
    await page.waitUntilIdle();
    // Moves backwards from the message field, over the ideas, to the buttons of the card.
    const focused = () => page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent);
    const order = [];
    while (order.at(-1) !== 'Approve' && order.length < 20) {
      await page.keyboard.press('Shift+Tab');
      order.push(await focused());
    }
    assert.deepEqual(order.slice(-4), ['Deny', 'Reason', 'Edit', 'Approve']);
    await page.keyboard.press('Enter');
    await page.waitForCard('delete_file', 'output-error');
    await page.waitForText('no file called nobody');
    page.assertNoErrors();
  });

  test('the page executes its own tool', async () => {
    const page = await open();
    await page.clickButton('Pick a colour');
    await page.waitForCard('pick_colour', 'input-available');
    await page.waitUntilIdle();
    await takePicture(page, `${mode}-palette`);
    await page.clickButton('Plum');
    await page.waitForCard('pick_colour', 'output-available');
    await page.waitForText('#8a2f8f');
    const accent = await page.evaluate(() => document.documentElement.style.getPropertyValue('--accent'));
    assert.equal(accent, '#8a2f8f');
    page.assertNoErrors();
  });

  test('the page shows the progress of a tool', async () => {
    const page = await open();
    await page.clickButton('Check the folder');
    const bar = page.getByRole('progressbar', { name: 'Files checked' });
    await bar.waitFor();
    await takePicture(page, `${mode}-progress`);
    await page.waitForText('Anything else?');
    const progress = page.states.flatMap(({ text }) => text.match(/(\d+) of \d+:/)?.[1] ?? []).map(Number);
    assert.deepEqual(progress, progress.toSorted((a, b) => a - b));
    assert.ok(new Set(progress).size >= 4, `${progress}`);
    assert.equal(await bar.getAttribute('value'), await bar.getAttribute('max'));
    page.assertNoErrors();
  });

  test('a form grows with the feedback of the tool', async () => {
    const page = await open();
    await page.clickButton('Book a train');
    await page.waitForCard('book_train', 'output-error');
    await page.waitUntilIdle();
    const choose = async (field, value) => {
      const form = page.getByRole('form', { name: 'What is missing' }).last();
      await form.getByLabel(field).selectOption(value);
      await page.clickButton('Go on');
    };
    assert.ok(await page.getByLabel('seats').last().isDisabled(), 'the field for seats is disabled before the cities are chosen');
    await choose('from', 'Berlin');
    await page.getByText('Berlin ✓').waitFor();
    await page.waitUntilIdle();
    await takePicture(page, `${mode}-form`);
    await choose('to', 'Prague');
    await page.getByText('Prague ✓').waitFor();
    await page.waitUntilIdle();
    await choose('seats', '2');
    const openCard = await page.waitForCard('book_train', 'approval-requested');
    assert.match(await openCard.innerText(), /Book 2 seat\(s\) from "Berlin" to "Prague"\?/);
    await page.clickButton('Approve');
    assert.match(await (await page.waitForCard('book_train', 'output-available')).innerText(), /2 × Berlin → Prague: 70 €/);
    await takePicture(page, `${mode}-ticket`);
    page.assertNoErrors();
  });

  test('resume: a reloaded page continues a running response', async () => {
    const page = await open();
    await page.clickButton('Check the folder');
    await page.getByRole('progressbar').waitFor();
    await page.reload();
    const bar = page.getByRole('progressbar', { name: 'Files checked' });
    await bar.waitFor();
    const before = Number(await bar.getAttribute('value'));
    assert.ok(before < 8, `the tool had already checked ${before} files`);
    await takePicture(page, `${mode}-resumed`);
    await page.waitForText('Anything else?');
    assert.equal(await bar.getAttribute('value'), await bar.getAttribute('max'));
    assert.equal(await page.locator('[data-tool=check_folder]').count(), 1);
    assert.equal(await page.getByLabel('You').count(), 1);
    page.assertNoErrors();
  });

  test('resume: a reloaded page shows no part of a response twice', async () => {
    const page = await open();
    await page.sendMessage(`Write a note, title: Shopping, text: ${'milk and bread and '.repeat(80)}eggs from the market`);
    await page.getByText('Writing…').waitFor();
    await page.reload();
    assert.match(await (await page.waitForCard('write_note', 'output-available')).innerText(), /shopping\.txt/);
    await page.waitUntilIdle();
    assert.equal(await page.locator('[data-tool=write_note]').count(), 1);
    await page.reload();
    await page.waitForCard('write_note', 'output-available');
    assert.equal(await page.getByLabel('Assistant').count(), 1);
    page.assertNoErrors();
  });

  test('resume: a reloaded page asks once for an open approval', async () => {
    const page = await open();
    await page.sendMessage('Delete the file "nothing.txt"');
    await page.waitForCard('delete_file', 'approval-requested');
    await page.waitUntilIdle();
    await page.reload();
    await page.waitForCard('delete_file', 'approval-requested');
    await page.clickButton('Deny');
    await page.waitForCard('delete_file', 'output-denied');
    await page.waitForText('I did not do it.');
    assert.equal(await page.locator('[data-tool=delete_file]').count(), 1);
    page.assertNoErrors();
  });

  test('reload: a reloaded page shows the same calls in every state at rest', async () => {
    const page = await open();
    const cards = () => page.locator('[data-tool]').allInnerTexts();
    const steps = [
      ['Weather in Oslo', 'get_weather', 'output-available'],
      ['Weather in Atlantis', 'get_weather', 'output-error'],
      ['Pick a colour', 'pick_colour', 'input-available'],
      ['Delete the file "nothing.txt"', 'delete_file', 'approval-requested'],
    ];
    for (const [text, tool, state] of steps) {
      await page.sendMessage(text);
      await page.waitForCard(tool, state);
      await page.waitUntilIdle();
      const before = await cards();
      await page.reload();
      await page.waitForCard(tool, state);
      await page.waitUntilIdle();
      assert.deepEqual(await cards(), before);
      if (state === 'input-available') {
        await page.clickButton('Plum');
        await page.waitForText('#8a2f8f');
        await page.waitUntilIdle();
      }
    }
    await page.getByLabel('Reason').fill('still needed');
    await page.clickButton('Deny');
    await page.waitForText('I did not do it: still needed.');
    await page.waitUntilIdle();
    await page.reload();
    // AG-UI has no state for a denial. The result contains it.
    const denied = await page.waitForCard('delete_file', mode === 'ai-sdk' ? 'output-denied' : 'output-error');
    assert.match(await denied.innerText(), /[Dd]enied.*still needed/s);
    assert.equal(await page.locator('[data-tool]').count(), steps.length);
    page.assertNoErrors();
  });

  test('two devices show the same chat, and a decision counts once', async () => {
    const [one, other] = [await open(), await open()];
    await one.sendMessage('Delete the file "today.txt"');
    await one.waitForCard('delete_file', 'approval-requested');
    await other.getByRole('button', { name: /^Delete the file "today/ }).first().click();
    await other.waitForCard('delete_file', 'approval-requested');
    await other.getByLabel('Reason').fill('not today');
    await other.clickButton('Deny');
    await other.waitForText('I did not do it: not today.');
    // The first page no longer asks, and shows the decision of the other.
    await one.waitForText('I did not do it: not today.');
    assert.equal(await one.getByRole('button', { name: 'Approve' }).count(), 0);
    assert.equal(await one.locator('[data-tool=delete_file]').count(), 1);
    if (mode === 'ai-sdk') await one.getByText('Denied by anna').waitFor();
    await takePicture(one, `${mode}-other-tab`);
    // Both pages show a response while the model writes it.
    await other.clickButton('Check the folder');
    await one.getByRole('progressbar', { name: 'Files checked' }).waitFor();
    await Promise.all([one, other].map(page => page.waitForText('Anything else?')));
    [one, other].forEach(page => page.assertNoErrors());
  });

  test('a person opens, renames and deletes chats with the keyboard alone', async () => {
    const page = await open();
    const list = page.getByRole('navigation', { name: 'Chats' });
    await page.sendMessage('Weather in Rome');
    await page.waitForCard('get_weather', 'output-available');
    await list.getByRole('button', { name: 'Rename Weather in Rome' }).last().focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type('Holidays');
    await page.keyboard.press('Enter');
    await page.getByText('Renamed to Holidays').waitFor({ state: 'attached' });
    const item = list.getByRole('button', { name: /^Holidays/ });
    await item.and(page.locator('[aria-current=page]')).waitFor();
    await until('the page has the new title', async () => (await page.title()).startsWith('Holidays'), PATIENCE);
    await until('the focus is back on the chat', () => item.evaluate(button => button === document.activeElement), PATIENCE);
    await page.clickButton('New chat');
    await page.getByText('What can I do for you?').waitFor();
    await item.focus();
    await page.keyboard.press('Enter');
    await page.waitForCard('get_weather', 'output-available');
    await takePicture(page, `${mode}-list`);
    await list.getByRole('button', { name: 'Delete Holidays' }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    await list.getByRole('button', { name: 'Delete Holidays' }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await page.getByText('Deleted Holidays').waitFor({ state: 'attached' });
    await page.getByText('What can I do for you?').waitFor();
    await item.waitFor({ state: 'detached' });
    page.assertNoErrors();
  });

  test('the page fits a narrow screen', async () => {
    const page = await open();
    await page.setViewportSize({ width: 360, height: 640 });
    await page.sendMessage('Weather in Rome');
    await page.waitForCard('get_weather', 'output-available');
    await page.waitUntilIdle();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 360, `the page is ${wide} pixels wide`);
    const ideas = await page.getByRole('group', { name: 'Ideas' }).boundingBox();
    assert.ok(ideas.height < 60, `the ideas are ${ideas.height} pixels high, which is more than one line`);
    await takePicture(page, `${mode}-narrow`);
    const item = page.getByRole('button', { name: /^Weather in Rome.*:/ }).first();
    assert.ok(!(await item.isVisible()));
    await page.clickButton('New chat');
    await page.clickButton('Chats');
    await takePicture(page, `${mode}-drawer`);
    await item.click();
    await page.waitForCard('get_weather', 'output-available');
    assert.ok(!(await item.isVisible()), 'the page closes the list of chats');
    page.assertNoErrors();
  });

  test('a person stops a response, and continues the chat', async () => {
    const page = await open();
    await page.clickButton('Check the folder');
    await page.getByRole('progressbar').waitFor();
    await page.clickButton('Stop');
    await page.waitUntilIdle();
    await takePicture(page, `${mode}-stopped`);
    await page.waitForTimeout(1000);
    const value = () => page.getByRole('progressbar').first().getAttribute('value');
    assert.ok(Number(await value()) < 8, 'the tool continued after the stop');
    assert.match(await page.locator('[data-tool=check_folder]').innerText(), /Stopped/);
    assert.equal(await page.getByRole('alert').count(), 0, 'the page shows no error after a stop');
    await page.sendMessage('Weather in Rome');
    await page.waitForCard('get_weather', 'output-available');
    page.assertNoErrors();
  });
}

/** Registers the tests that do not depend on the protocol. */
function testOtherFeatures() {
  let base;
  before(async () => (base = await startChatServer()));

  test('a person corrects an edit that the server has rejected', async () => {
    const page = await openPage(base);
    await page.sendMessage('Delete the file "nothing.txt"');
    await page.waitForCard('delete_file', 'approval-requested');
    await page.clickButton('Edit');
    await page.getByRole('textbox', { name: 'name' }).fill('');
    await page.clickButton('Approve as changed');
    await page.getByRole('alert').waitFor();
    await takePicture(page, 'edit-refused');
    assert.match(await page.getByRole('alert').innerText(), /name/);
    await page.waitForCard('delete_file', 'approval-requested');
    await page.getByRole('textbox', { name: 'name' }).fill('nobody.txt');
    await page.clickButton('Approve as changed');
    assert.match(await (await page.waitForCard('delete_file', 'output-error')).innerText(), /no file called nobody\.txt/);
    page.assertNoErrors();
  });

  test('the page reports an unknown token', async () => {
    const page = await openPage(base, { signIn: false });
    await page.getByLabel('Your token').fill('made-up-token');
    await page.clickButton('Sign in');
    await page.sendMessage('Weather in Oslo');
    assert.match(await page.getByRole('alert').innerText(), /this token is not known/);
  });

  test('another site cannot embed the page in a frame', async () => {
    const evil = createServer((_, response) => response.setHeader('content-type', 'text/html').end(`<iframe src="${base}/"></iframe>`));
    await new Promise(ready => evil.listen(0, '127.0.0.1', ready));
    const page = await openPage(base);
    const refused = page.waitForEvent('console', message => /frame-ancestors/.test(message.text()));
    await page.goto(`http://127.0.0.1:${evil.address().port}/`);
    await refused;
    assert.equal(await page.frames().at(-1).getByRole('heading', { name: 'Tool chat' }).count(), 0);
    evil.close();
    evil.closeAllConnections();
  });

  test('the page has no accessibility violations', async () => {
    const { default: axe } = await import('axe-core');
    for (const colorScheme of ['light', 'dark']) {
      const page = await openPage(base, { colorScheme });
      const assertAccessible = async () => {
        await page.evaluate(axe.source);
        const { violations } = await page.evaluate(() => window.axe.run());
        assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map(node => node.html)]), []);
      };
      await assertAccessible();
      await page.sendMessage('Weather in Atlantis');
      await page.waitForText('no weather station');
      await page.waitUntilIdle();
      await page.clickButton('New chat');
      await page.clickButton('Book a train');
      await page.waitForCard('book_train', 'output-error');
      await page.waitUntilIdle();
      await assertAccessible();
      await page.clickButton('New chat');
      await page.sendMessage('Delete the file "readme.md"');
      await page.waitForCard('delete_file', 'approval-requested');
      await page.waitUntilIdle();
      await takePicture(page, `${colorScheme}-approval`);
      await assertAccessible();
    }
  });
}
