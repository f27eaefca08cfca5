// A page-server for the tests of a file, and the chats that clients have with it.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { startServer } from './server.mjs';

/** True if the server stores nothing, and the client keeps the runs. */
export const stateless = process.env.STATELESS === '1';
/** The base URL of the page-server. */
export const base = await startServer(process.env.PAGE_SERVER, ...(stateless ? ['--stateless'] : []));
/** The headers of the user anna. */
export const headers = { authorization: 'Bearer anna' };

/** Returns a call for a script. */
export const call = (tool, args = {}) => ({ tool, pieces: [JSON.stringify(args)] });

/** Returns a new chat: its thread, the gate at which its script and its tools wait, and what they did. */
export function newChat() {
  const gate = `g${randomUUID().slice(0, 8)}`;
  return {
    thread: randomUUID(),
    gate,
    /** Returns the message with the script `turns`. */
    script: (...turns) => `${gate} ${JSON.stringify(turns)}`,
    async openGate() {
      assert.equal((await fetch(`${base}/probe/go/${gate}`, { method: 'POST' })).status, 204);
    },
    /** Stops the answer in progress, as another tab does. */
    async stop() {
      assert.equal((await fetch(`${base}/api/chat/${this.thread}/stop`, { method: 'POST', headers })).status, 204);
    },
    async countRemovals(what = gate) {
      return (await (await fetch(`${base}/probe/removed`)).json()).filter(removed => removed === what).length;
    },
  };
}
