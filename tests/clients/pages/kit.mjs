// The kit of the pages' tests: a browser, chats in its pages, and the content that a person sees.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { chromium } from 'playwright-core';
import * as host from './host.mjs';

export const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });

export async function close() {
  await browser.close();
  host.close();
}

/** The base URLs of the pages: in front of a server with a store, and of a stateless server, whose clients keep sealed runs. */
export const bases = { store: await host.startPages(), sealed: await host.startPages({ isSealed: true }) };

/** The time that a page may take to show something, in milliseconds. No test measures time. */
export const PATIENCE = 30_000;

/** A chat of the user anna with one client and one kind of storage. `gate` is the gate at which its script waits. */
export class Chat {
  constructor(client, storage = 'store') {
    Object.assign(this, { client, storage, base: bases[storage], id: randomUUID(), gate: `g${randomUUID().slice(0, 8)}`, contexts: [] });
  }

  /** Opens the chat on a new device. */
  async openDevice(user = 'anna') {
    const context = await browser.newContext({ viewport: { width: 900, height: 900 } });
    this.contexts.push(context);
    return this.openTab(context, user);
  }

  /** Opens the chat in a new tab of a device. */
  async openTab(context, user = 'anna') {
    const page = await context.newPage();
    const errors = [];
    page.on('pageerror', error => errors.push(String(error)));
    const isCopilotKit = ['copilotkit-memory', 'copilotkit-server'].includes(this.client);
    const sealed = this.storage === 'sealed' ? '&sealed=1' : '';
    await page.goto(`${this.base}/#client=${this.client}&chat=${this.id}&user=${user}${sealed}`);
    const tab = Object.assign(page, {
      /** The errors that the page has thrown. */
      errors,
      readContent: () => page.evaluate(readContent),
      /** Waits until the content of the page satisfies `condition`, and returns the content. */
      untilShown: async (expected, condition) => {
        let last;
        const end = Date.now() + PATIENCE;
        do {
          last = await page.evaluate(readContent).catch(() => undefined);
          if (last && condition(last)) return last;
          await page.waitForTimeout(50);
        } while (Date.now() < end);
        assert.fail(`timed out waiting for ${expected}: ${JSON.stringify(last)}${errors}`);
      },
      /** Sends a message. */
      sendMessage: async text => {
        if (isCopilotKit) {
          await page.getByTestId('copilot-chat-textarea').fill(text);
          // Until CopilotKit has heard from its runtime, its chat ignores the key.
          await page.locator('[data-testid=copilot-send-button]:enabled').waitFor({ timeout: PATIENCE });
          await page.keyboard.press('Enter');
        } else {
          await page.getByLabel('Message').fill(text);
          await page.getByRole('button', { name: 'Send', exact: true }).click();
        }
      },
      /** Clicks the first button with a name. */
      clickButton: name => page.getByRole('button', { name, exact: true }).first().click({ timeout: PATIENCE }),
      /** Answers the question of a tool. */
      answerQuestion: async text => {
        await page.getByLabel('Answer').fill(text);
        await tab.clickButton('Answer');
      },
      /** Waits until the page has received the whole response, and has run its effects. */
      untilIdle: async () => {
        await page.waitForFunction(() => document.querySelector('main')?.dataset.busy !== 'true', undefined, { timeout: PATIENCE });
        await page.evaluate(() => new Promise(done => requestAnimationFrame(() => setTimeout(done))));
      },
      reloadPage: async () => {
        await page.reload();
        await tab.untilReady();
      },
      /** Waits until a person can write a message. */
      untilReady: () => page.locator(isCopilotKit ? '[data-testid=copilot-chat-textarea]' : '[aria-label=Message]').waitFor({ timeout: PATIENCE }),
    });
    await tab.untilReady();
    return tab;
  }

  /** Sends the model a script. Each turn is a list of texts, calls and `null`, which waits at the gate. */
  sendScript(page, ...turns) {
    return page.sendMessage(`${this.gate} ${JSON.stringify(turns)}`);
  }

  /** Opens the gate once, for the model or for a tool. */
  async openGate() {
    const response = await fetch(`${this.base}/probe/go/${this.gate}`, { method: 'POST' });
    assert.equal(response.status, 204);
  }

  /** Returns how often the tool `remove` has removed an item. */
  async countRemovals(what) {
    const all = await (await fetch(`${this.base}/probe/removed`)).json();
    return all.filter(removed => removed === what).length;
  }

  /** Closes all pages of the chat. */
  async close() {
    await Promise.all(this.contexts.map(context => context.close()));
  }
}

/** Returns a call for a script. `pieces` are the parts of its arguments, by default one. */
export const call = (tool, args = {}, ...pieces) => ({ tool, pieces: pieces.length ? pieces : [JSON.stringify(args)] });

const shots = process.env.SCREENSHOTS;
if (shots) mkdirSync(shots, { recursive: true });

/** Saves a picture of a page, if SCREENSHOTS names a folder. */
export const takePicture = async (page, name) => shots && page.screenshot({ path: `${shots}/${name}.png` });

/** Runs in the page. Returns the content that a person sees. */
function readContent() {
  const texts = selector => [...document.querySelectorAll(selector)].map(found => found.innerText.trim());
  const assistant = [...document.querySelectorAll('[data-role=assistant], [data-testid=copilot-assistant-message]')].map(found => {
    const copy = found.cloneNode(true);
    copy.querySelectorAll('[data-tool], [data-task], [data-testid=copilot-assistant-toolbar]').forEach(part => part.remove());
    return copy.textContent.trim();
  });
  return {
    user: texts('[data-role=user], [data-testid=copilot-user-message]').length,
    assistant: assistant.filter(Boolean),
    calls: [...document.querySelectorAll('[data-tool]')].map(card => ({
      tool: card.dataset.tool,
      state: card.dataset.state,
      input: card.querySelector('[data-input]').textContent,
      output: card.querySelector('[data-output]').textContent,
      decidedBy: card.querySelector('[data-by]')?.textContent,
    })),
    progress: texts('[data-progress]'),
    questions: texts('[data-ask] span'),
    tasks: [...document.querySelectorAll('[data-task]')].map(task => task.dataset.task),
    alerts: texts('[role=alert]'),
  };
}
