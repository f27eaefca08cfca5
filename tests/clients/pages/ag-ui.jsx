// The client of AG-UI 1.0: it connects to the server's thread, or keeps the thread and reads the run in progress.
import { HttpAgent, runHttpRequest, transformHttpEventStream } from '@ag-ui/client-1';
import { useEffect, useMemo, useReducer, useRef } from 'react';
import { Ask, Card, Composer, kept, Said, Task } from './components.jsx';

class StoredAgent extends HttpAgent {
  connect(input) {
    const request = this.requestInit(input);
    return transformHttpEventStream(runHttpRequest(async () => this.running ?? fetch(`${this.url}/connect`, request)));
  }
}

const EXECUTED = ['locate', 'share'];

export function Page({ chat, headers, isSealed }) {
  const [, show] = useReducer(count => count + 1, 0);
  const partial = useRef({}).current;
  const agent = useMemo(() => new StoredAgent({ url: '/agent', threadId: chat, headers }), []);
  const subscriber = {
    onMessagesChanged: show,
    onToolCallArgsEvent: ({ event, toolCallBuffer }) => void (partial[event.toolCallId] = toolCallBuffer + event.delta),
    onToolCallEndEvent: ({ event }) => void delete partial[event.toolCallId],
  };
  const keep = () => isSealed && kept.set(chat, { messages: agent.messages, open: agent.pendingInterrupts });
  const run = async (resume, before) => {
    keep();
    await before;
    await agent.runAgent({ forwardedProps: { resumable: true }, ...(resume && { resume }) }, subscriber);
    keep();
    show();
  };
  useEffect(() => {
    const load = async () => {
      if (isSealed) {
        const { messages = [], open = [] } = kept.get(chat) ?? {};
        agent.setMessages(messages);
        agent.pendingInterrupts = open;
        agent.running = await fetch(`/agent/${chat}/stream`, { headers });
        if (agent.running.status === 204) return show();
        agent.pendingInterrupts = [];
        show();
      }
      await agent.connectAgent({}, subscriber);
      keep();
      show();
    };
    void load();
  }, []);
  const results = Object.fromEntries(agent.messages.filter(({ role }) => role === 'tool').map(({ toolCallId, content }) => [toolCallId, content]));
  const progress = Object.fromEntries(
    agent.messages.filter(({ role }) => role === 'activity').map(({ content }) => [content.toolCallId, JSON.stringify(content.preliminary)]),
  );
  const answer = useRef({}).current;
  const decide = (open, payload) => {
    answer[open.id] = payload;
    if (agent.pendingInterrupts.some(({ id }) => !(id in answer))) return;
    void run(agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: 'resolved', payload: answer[id] })));
    show();
  };
  return (
    <main data-busy={agent.isRunning}>
      {agent.messages.map(({ id, role, content, toolCalls = [] }) => (
        <section key={id}>
          {['user', 'assistant'].includes(role) && content && <Said role={role}>{content}</Said>}
          {toolCalls.map(({ id, function: { name, arguments: json } }) => (
            <div key={id}>
              <Card
                tool={name}
                state={results[id] !== undefined ? 'complete' : progress[id] ? 'progress' : 'open'}
                input={partial[id] ?? json}
                output={results[id] ?? progress[id]}
              />
              {EXECUTED.includes(name) && results[id] === undefined && !agent.isRunning && !agent.pendingInterrupts.length && (
                <Task
                  tool={name}
                  done={output => {
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
          return <Ask key={open.id} question={open.message} isText={isText} decide={value => decide(open, isText ? value : { approved: value })} />;
        })}
      <Composer
        say={text => {
          agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: text });
          void run();
        }}
      />
    </main>
  );
}
