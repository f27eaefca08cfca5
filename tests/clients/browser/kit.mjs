// The kit of chat-server's page tests: servers of the example, and pages in a browser.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { after } from 'node:test';
import { chromium } from 'playwright-core';

export { until } from '../until.mjs';

const token = 'browser-test-token';

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  // Chromium's sandbox does not work for the root user of a container. The browser opens pages of this test only.
  args: ['--no-sandbox'],
});
const servers = [];
after(async () => {
  await browser.close();
  servers.forEach(server => server.kill());
});

/** The time that a page may take to show something, in milliseconds. */
export const PATIENCE = 60_000;

/** Starts a server with its own folder and trains, and returns its base URL. */
export async function startChatServer() {
  const server = spawn(process.env.CHAT_SERVER, ['--port', '0', '--user', `anna=${token}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // Without API keys the server uses the negotiating model. LOOK_MILLIS makes the check of the folder outlast a reload.
    env: { PATH: process.env.PATH, LOOK_MILLIS: '1000' },
  });
  servers.push(server);
  return new Promise((resolve, reject) => {
    let stdout = '';
    server.stdout.on('data', data => {
      const found = (stdout += data).match(/anna: (\S+)\/#token=/);
      if (found) resolve(found[1]);
    });
    server.on('exit', code => reject(new Error(`the server exited with code ${code}`)));
  });
}

/** The states of calls that any page has shown, as `tool state`. */
export const seenStates = new Set();

/** Opens a page in a new browser context, and signs in. */
export async function openPage(base, { mode = 'ai-sdk', signIn = true, colorScheme = 'light' } = {}) {
  const context = await browser.newContext({ viewport: { width: 900, height: 900 }, colorScheme });
  const states = [];
  await context.exposeFunction('recordState', (tool, state, text) => {
    seenStates.add(`${tool} ${state}`);
    states.push({ tool, state, text });
  });
  await context.addInitScript(mode => {
    localStorage.getItem('mode') ?? localStorage.setItem('mode', mode);
    const last = new WeakMap();
    const recordChanges = () => {
      for (const card of document.querySelectorAll('[data-tool]')) {
        const now = [card.dataset.tool, card.dataset.state, card.textContent];
        if (last.get(card) === String(now)) continue;
        last.set(card, String(now));
        window.recordState(...now);
      }
    };
    new MutationObserver(recordChanges).observe(document, { subtree: true, childList: true, attributes: true });
  }, mode);
  const page = await context.newPage();
  const errors = [];
  page.on('pageerror', error => errors.push(String(error)));
  page.on('console', message => message.type() === 'error' && errors.push(message.text()));
  await page.goto(signIn ? `${base}/#token=${token}` : base);
  return Object.assign(page, {
    /** The errors that the page has thrown or written to the console. */
    errors,
    /** The states that the page's cards have shown, in order: `tool`, `state` and `text`. */
    states,
    /** Sends a message. */
    sendMessage: async text => {
      await page.getByLabel('Message').fill(text);
      await page.keyboard.press('Enter');
    },
    /** Clicks the last button with a name. */
    clickButton: name => page.getByRole('button', { name, exact: true }).last().click(),
    /** Waits until the last call of a tool is in a state, and returns the call's card. */
    waitForCard: async (tool, state) => {
      const card = page.locator(`[data-tool=${tool}]`).last();
      await card.and(page.locator(`[data-state=${state}]`)).waitFor({ timeout: PATIENCE });
      return card;
    },
    /** Waits until the page receives no response. */
    waitUntilIdle: () => page.locator('[role=log][aria-busy=false]').waitFor({ timeout: PATIENCE }),
    /** Waits until the page shows a text. */
    waitForText: async text => {
      await page.getByText(text).last().waitFor({ timeout: PATIENCE });
    },
    /** Asserts that the page has reported no error. */
    assertNoErrors: () => assert.deepEqual(errors, [], 'the page reports errors'),
  });
}

const shots = process.env.SCREENSHOTS;
if (shots) mkdirSync(shots, { recursive: true });

/** Saves a picture of a page, if SCREENSHOTS names a folder. */
export const takePicture = async (page, name) => shots && page.screenshot({ path: `${shots}/${name}.png` });
