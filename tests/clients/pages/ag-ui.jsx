// A page with the client of AG-UI 1.0. It loads the thread from the server. If the server is stateless, it loads the thread from the
// browser, and then the response in progress from the server.
import { HttpAgent, runHttpRequest, transformHttpEventStream } from '@ag-ui/client-1';
import { useEffect, useMemo, useReducer, useRef } from 'react';
import { Card, ClientCall, Composer, MessageText, Question, savedChats } from './components.jsx';

/** The client with the method `connect`, which applications have to write. */
class ConnectingAgent extends HttpAgent {
  connect(input) {
    const request = this.requestInit(input);
    return transformHttpEventStream(runHttpRequest(async () => this.runningResponse ?? fetch(`${this.url}/connect`, request)));
  }
}

/** The tools that the page executes. */
const CLIENT_TOOLS = ['locate', 'share'];

export function Page({ chat, headers, isSealed }) {
  const [, rerender] = useReducer(count => count + 1, 0);
  const partialArguments = useRef({}).current;
  const agent = useMemo(() => new ConnectingAgent({ url: '/agent', threadId: chat, headers }), []);
  const subscriber = {
    onMessagesChanged: rerender,
    onToolCallArgsEvent: ({ event, toolCallBuffer }) => void (partialArguments[event.toolCallId] = toolCallBuffer + event.delta),
    onToolCallEndEvent: ({ event }) => void delete partialArguments[event.toolCallId],
  };
  const save = () => isSealed && savedChats.save(chat, { messages: agent.messages, open: agent.pendingInterrupts });
  const run = async (resume, before) => {
    save();
    await before;
    await agent.runAgent({ forwardedProps: { resumable: true }, ...(resume && { resume }) }, subscriber);
    save();
    rerender();
  };
  useEffect(() => {
    const load = async () => {
      if (isSealed) {
        const { messages = [], open = [] } = savedChats.load(chat) ?? {};
        agent.setMessages(messages);
        agent.pendingInterrupts = open;
        agent.runningResponse = await fetch(`/agent/${chat}/stream`, { headers });
        if (agent.runningResponse.status === 204) return rerender();
        agent.pendingInterrupts = [];
        rerender();
      }
      await agent.connectAgent({}, subscriber);
      save();
      rerender();
    };
    void load();
  }, []);
  const results = Object.fromEntries(agent.messages.filter(({ role }) => role === 'tool').map(({ toolCallId, content }) => [toolCallId, content]));
  const progress = Object.fromEntries(
    agent.messages.filter(({ role }) => role === 'activity').map(({ content }) => [content.toolCallId, JSON.stringify(content.preliminary)]),
  );
  const decisions = useRef({}).current;
  const decide = (open, payload) => {
    decisions[open.id] = payload;
    if (agent.pendingInterrupts.some(({ id }) => !(id in decisions))) return;
    void run(agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: 'resolved', payload: decisions[id] })));
    rerender();
  };
  return (
    <main data-busy={agent.isRunning}>
      {agent.messages.map(({ id, role, content, toolCalls = [] }) => (
        <section key={id}>
          {['user', 'assistant'].includes(role) && content && <MessageText role={role}>{content}</MessageText>}
          {toolCalls.map(({ id, function: { name, arguments: json } }) => (
            <div key={id}>
              <Card
                tool={name}
                state={results[id] !== undefined ? 'complete' : progress[id] ? 'progress' : 'open'}
                input={partialArguments[id] ?? json}
                output={results[id] ?? progress[id]}
              />
              {CLIENT_TOOLS.includes(name) && results[id] === undefined && !agent.isRunning && !agent.pendingInterrupts.length && (
                <ClientCall
                  tool={name}
                  finish={output => {
                    agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId: id, content: JSON.stringify(output) });
                    void run();
                  }}
                />
              )}
            </div>
          ))}
        </section>
      ))}
      {!agent.isRunning &&
        agent.pendingInterrupts.map(open => {
          const isText = open.reason === 'input_required';
          return <Question key={open.id} question={open.message} isText={isText} decide={value => decide(open, isText ? value : { approved: value })} />;
        })}
      <Composer
        send={text => {
          agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: text });
          void run();
        }}
      />
    </main>
  );
}
