// The kit of assistant-ui's tests: its two runtimes, rendered without a browser.
import { HttpAgent } from '@ag-ui/client';
import { useChat } from '@ai-sdk/react';
import { AssistantRuntimeProvider, makeAssistantTool } from '@assistant-ui/react';
import { useAgUiInterrupts, useAgUiRuntime, useAgUiSubmitInterruptResponses } from '@assistant-ui/react-ag-ui';
import { AssistantChatTransport, useAISDKRuntime } from '@assistant-ui/react-ai-sdk';
import { lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } from 'ai';
import { createElement } from 'react';
import { create } from 'react-test-renderer';
import { base, headers } from '../page_server.mjs';
import { until } from '../until.mjs';

// The renderer without a browser says at each use that it is deprecated.
const printError = console.error;
console.error = (...text) => /react-test-renderer is deprecated/.test(text[0]) || printError(...text);

/** Each runtime as a hook of a page. */
const runtimes = {
  'ag-ui': page => {
    page.agent ??= new HttpAgent({ url: `${base}/assistant-ui`, threadId: page.chat.thread, headers });
    page.history ??= { load: async () => ((page.isLoaded = true), page.saved ?? { messages: [] }), append: async () => {} };
    return useAgUiRuntime({ agent: page.agent, adapters: { history: page.history }, onError: error => page.errors.push(error) });
  },
  'ai-sdk': page => {
    page.transport ??= new AssistantChatTransport({ api: `${base}/api/chat`, headers });
    const chat = useChat({
      id: page.chat.thread,
      messages: page.saved,
      transport: page.transport,
      sendAutomaticallyWhen: options =>
        lastAssistantMessageIsCompleteWithToolCalls(options) || lastAssistantMessageIsCompleteWithApprovalResponses(options),
      onError: error => page.errors.push(error),
    });
    return useAISDKRuntime(chat);
  },
};

/** A page with a chat. `saved` is what it has loaded of the chat. */
export class Page {
  executed = [];
  errors = [];

  constructor(kind, chat, saved) {
    Object.assign(this, { kind, chat, saved });
    const clientTool = (toolName, properties, output) =>
      makeAssistantTool({
        toolName,
        type: 'frontend',
        description: `The tool ${toolName}.`,
        parameters: { type: 'object', properties, required: Object.keys(properties) },
        execute: async input => {
          this.executed.push([toolName, input]);
          return output(input);
        },
      });
    // The server declares `locate` and `share` itself. `show` exists only in the page.
    const tools = [clientTool('locate', {}, () => ({ here: true })), clientTool('share', { window: { type: 'string' } }, () => ({ here: true }))];
    if (kind === 'ag-ui') tools.push(clientTool('show', { text: { type: 'string' } }, ({ text }) => ({ shown: text })));
    const Inside = () => {
      this.interrupts = useAgUiInterrupts();
      this.submitInterruptResponses = useAgUiSubmitInterruptResponses();
      return tools.map((Tool, at) => createElement(Tool, { key: at }));
    };
    const App = () => {
      this.runtime = runtimes[kind](this);
      return createElement(AssistantRuntimeProvider, { runtime: this.runtime }, createElement(Inside));
    };
    this.root = create(createElement(App));
  }

  get thread() {
    return this.runtime.thread;
  }
  get messages() {
    return this.thread.getState().messages;
  }
  get parts() {
    return this.messages.filter(({ role }) => role === 'assistant').flatMap(({ content }) => content);
  }
  get texts() {
    return this.parts.filter(({ type }) => type === 'text').map(({ text }) => text);
  }
  get calls() {
    return this.parts.filter(({ type }) => type === 'tool-call');
  }
  /** The calls about which a person has to decide. */
  get asked() {
    return this.calls.filter(({ approval }) => approval && approval.approved === undefined && !approval.resolution);
  }

  /** Waits until the page satisfies a condition, and sends nothing more. */
  async until(what, condition) {
    await until(what, () => this.runtime && !this.thread.getState().isRunning && condition(this)).catch(error => {
      throw new Error(`${error.message}: ${JSON.stringify(this.messages, null, 1)} ${this.errors}`);
    });
  }
  async send(text) {
    await until('the page has loaded', () => (this.kind === 'ai-sdk' || this.isLoaded) && this.runtime && !this.thread.getState().isLoading);
    this.thread.append(text);
  }
  respond(call, response) {
    return this.#partOf(call).respondToToolApproval(response);
  }
  /** Gives the result of a call, as the card of the call does. */
  finish(call, result) {
    this.#partOf(call).addToolResult(result);
  }
  #partOf(call) {
    const message = this.messages.find(({ content }) => content.includes(call));
    return this.thread.getMessageById(message.id).getMessagePartByToolCallId(call.toolCallId);
  }
  close() {
    this.root.unmount();
  }
}
