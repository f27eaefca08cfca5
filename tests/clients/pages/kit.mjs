// A browser with the pages, and what a person sees there.
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

/** The addresses of the pages in front of a server with a store, and of one without. */
export const bases = { store: await host.started(), sealed: await host.started({ isSealed: true }) };

/** How long anything may take, in milliseconds. Nothing is decided by it. */
export const PATIENCE = 30_000;

/** A conversation of anna's, over one client and one server: pages of it, and the gate at which its script waits. */
export class Chat {
  constructor(way, kind = 'store') {
    Object.assign(this, { way, kind, base: bases[kind], id: randomUUID(), gate: `g${randomUUID().slice(0, 8)}`, contexts: [] });
  }

  /** A device that has seen nothing of it. */
  async open(user = 'anna') {
    const context = await browser.newContext({ viewport: { width: 900, height: 900 } });
    this.contexts.push(context);
    return this.tab(context, user);
  }

  /** Another tab of a device. */
  async tab(context, user = 'anna') {
    const page = await context.newPage();
    const complaints = [];
    page.on('pageerror', error => complaints.push(String(error)));
    const isCopilotKit = ['memory', 'server'].includes(this.way);
    const sealed = this.kind === 'sealed' ? '&sealed=1' : '';
    await page.goto(`${this.base}/#way=${this.way}&chat=${this.id}&user=${user}${sealed}`);
    const it = Object.assign(page, {
      complaints,
      shown: () => page.evaluate(shown),
      /** Waits until what is shown is as `is` wants it; returns it. */
      until: async (what, is) => {
        let last;
        const end = Date.now() + PATIENCE;
        do {
          last = await page.evaluate(shown).catch(() => undefined);
          if (last && is(last)) return last;
          await page.waitForTimeout(50);
        } while (Date.now() < end);
        assert.fail(`${what}: ${JSON.stringify(last)}${complaints}`);
      },
      say: async text => {
        if (isCopilotKit) {
          await page.getByTestId('copilot-chat-textarea').fill(text);
          await page.keyboard.press('Enter');
        } else {
          await page.getByLabel('Message').fill(text);
          await page.getByRole('button', { name: 'Send', exact: true }).click();
        }
      },
      press: name => page.getByRole('button', { name, exact: true }).first().click({ timeout: PATIENCE }),
      answer: async text => {
        await page.getByLabel('Answer').fill(text);
        await it.press('Answer');
      },
      /** Waits until the page has read the end of an answer, and its effects have run. */
      rested: async () => {
        await page.waitForFunction(() => document.querySelector('main')?.dataset.busy !== 'true', undefined, { timeout: PATIENCE });
        await page.evaluate(() => new Promise(done => requestAnimationFrame(() => setTimeout(done))));
      },
      again: async () => {
        await page.reload();
        await it.ready();
      },
      ready: () => page.locator(isCopilotKit ? '[data-testid=copilot-chat-textarea]' : '[aria-label=Message]').waitFor({ timeout: PATIENCE }),
    });
    await it.ready();
    return it;
  }

  /** Sends the model a script, whose turns are lists of texts, calls and waits. */
  script(page, ...turns) {
    return page.say(`${this.gate} ${JSON.stringify(turns)}`);
  }

  /** Lets one thing go on. */
  async go() {
    const response = await fetch(`${this.base}/probe/go/${this.gate}`, { method: 'POST' });
    assert.equal(response.status, 204);
  }

  /** How often it was removed. */
  async removed(what) {
    const all = await (await fetch(`${this.base}/probe/removed`)).json();
    return all.filter(removed => removed === what).length;
  }

  async end() {
    await Promise.all(this.contexts.map(context => context.close()));
  }
}

export const call = (tool, args = {}, ...pieces) => ({ tool, pieces: pieces.length ? pieces : [JSON.stringify(args)] });

const shots = process.env.SCREENSHOTS;
if (shots) mkdirSync(shots, { recursive: true });

/** Keeps a picture for whoever wants to look. */
export const picture = async (page, name) => shots && page.screenshot({ path: `${shots}/${name}.png` });

/** In the page: what a person sees, without the words in which a client calls its states. */
function shown() {
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
      by: card.querySelector('[data-by]')?.textContent,
    })),
    progress: texts('[data-progress]'),
    asked: texts('[data-ask] span'),
    tasks: [...document.querySelectorAll('[data-task]')].map(task => task.dataset.task),
    alerts: texts('[role=alert]'),
  };
}
