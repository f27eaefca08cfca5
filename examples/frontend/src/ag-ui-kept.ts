// A conversation over AG-UI that outlives its page: what was shown is kept here, and a run that is under way is read once more.
import { HttpAgent, type Message, runHttpRequest, transformHttpEventStream } from '@ag-ui/client';
import type { Notes } from './ag-ui-messages';

interface Kept {
  messages: Message[];
  interrupts: HttpAgent['pendingInterrupts'];
  notes: [string, Notes extends Map<string, infer Note> ? Note : never][];
  /** The messages when the run began that is under way. */
  before?: Message[];
}

export const key = (chat: string) => `ag-ui ${chat}`;

export class KeptAgent extends HttpAgent {
  readonly notes: Notes;
  #chat: string;
  #before: Message[] | undefined;
  #again: Response | undefined;

  constructor(chat: string, headers: Record<string, string>) {
    const kept = JSON.parse(localStorage.getItem(key(chat)) ?? '{}') as Partial<Kept>;
    // The other protocol's conversation is another.
    super({ url: '/agent', headers, threadId: `ag-ui-${chat}`, initialMessages: kept.messages ?? [] });
    this.pendingInterrupts = kept.interrupts ?? [];
    this.notes = new Map(kept.notes);
    this.#chat = chat;
    this.#before = kept.before;
  }

  keep(isRunning: boolean) {
    this.#before = isRunning ? (this.#before ?? structuredClone(this.messages)) : undefined;
    const kept = { messages: this.messages, interrupts: this.pendingInterrupts, notes: [...this.notes], before: this.#before };
    localStorage.setItem(key(this.#chat), JSON.stringify(kept));
  }

  /** Whether a run was under way when the page was left, and still is: `connectAgent` reads it from its beginning. */
  async isUnderWay(): Promise<boolean> {
    if (!this.#before) return false;
    const again = await fetch(`/agent/${this.threadId}/stream`, { headers: this.headers, signal: this.abortController.signal });
    if (again.status !== 200) {
      this.#before = undefined;
      return false;
    }
    this.#again = again;
    this.setMessages(this.#before);
    // What the run was asked to go on with is no question any more.
    this.pendingInterrupts = [];
    return true;
  }

  protected override connect() {
    return transformHttpEventStream(runHttpRequest(async () => this.#again ?? Response.error()));
  }

  /** Calls the run off, which would go on without its readers. */
  stop() {
    void fetch(`/api/chat/${this.threadId}/stop`, { method: 'POST', headers: this.headers });
    this.abortRun();
  }
}
