// A browser in front of the example `chat-server`: its page as a person uses it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { after } from 'node:test';
import { chromium } from 'playwright-core';

export { until } from '../until.mjs';

const token = 'browser-test-token';

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  // Pages of this test alone; containers have no user to be.
  args: ['--no-sandbox'],
});
const servers = [];
after(async () => {
  await browser.close();
  servers.forEach(server => server.kill());
});

/** The time that a page may take to show something, in milliseconds. */
export const PATIENCE = 60_000;

/** A server with a folder and trains of its own; its address. */
export async function served() {
  const server = spawn(process.env.CHAT_SERVER, ['--port', '0', '--user', `anna=${token}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // The model that needs no key, and a folder whose check outlasts a reload on a busy machine.
    env: { PATH: process.env.PATH, LOOK_MILLIS: '1000' },
  });
  servers.push(server);
  return new Promise((resolve, reject) => {
    let text = '';
    server.stdout.on('data', data => {
      const found = (text += data).match(/anna: (\S+)\/#token=/);
      if (found) resolve(found[1]);
    });
    server.on('exit', code => reject(new Error(`the server ended with ${code}`)));
  });
}

/** Which states of calls were seen by any page, as `tool state`. */
export const seen = new Set();

/** A page of its own, with nothing remembered, that has signed in. */
export async function opened(base, { mode = 'ai-sdk', signIn = true, colorScheme = 'light' } = {}) {
  const context = await browser.newContext({ viewport: { width: 900, height: 900 }, colorScheme });
  const states = [];
  await context.exposeFunction('sawState', (tool, state, text) => {
    seen.add(`${tool} ${state}`);
    states.push({ tool, state, text });
  });
  await context.addInitScript(mode => {
    localStorage.getItem('mode') ?? localStorage.setItem('mode', mode);
    const last = new WeakMap();
    const look = () => {
      for (const card of document.querySelectorAll('[data-tool]')) {
        const now = [card.dataset.tool, card.dataset.state, card.textContent];
        if (last.get(card) === String(now)) continue;
        last.set(card, String(now));
        window.sawState(...now);
      }
    };
    new MutationObserver(look).observe(document, { subtree: true, childList: true, attributes: true });
  }, mode);
  const page = await context.newPage();
  const complaints = [];
  page.on('pageerror', error => complaints.push(String(error)));
  page.on('console', message => message.type() === 'error' && complaints.push(message.text()));
  await page.goto(signIn ? `${base}/#token=${token}` : base);
  return Object.assign(page, {
    complaints,
    /** What its cards looked like, one after the other: `tool`, `state` and `text`. */
    states,
    /** Says something, and waits for what comes of it. */
    say: async text => {
      await page.getByLabel('Message').fill(text);
      await page.keyboard.press('Enter');
    },
    press: name => page.getByRole('button', { name, exact: true }).last().click(),
    /** The card of the last call of a tool, once it is in a state. */
    card: async (tool, state) => {
      const card = page.locator(`[data-tool=${tool}]`).last();
      await card.and(page.locator(`[data-state=${state}]`)).waitFor({ timeout: PATIENCE });
      return card;
    },
    /** Waits until nothing goes on. */
    rests: () => page.locator('[role=log][aria-busy=false]').waitFor({ timeout: PATIENCE }),
    /** What the assistant has said last. */
    told: async text => {
      await page.getByText(text).last().waitFor({ timeout: PATIENCE });
    },
    fine: () => assert.deepEqual(complaints, [], 'the page complains'),
  });
}

const shots = process.env.SCREENSHOTS;
if (shots) mkdirSync(shots, { recursive: true });

/** Keeps a picture for whoever wants to look. */
export const picture = async (page, name) => shots && page.screenshot({ path: `${shots}/${name}.png` });
