// A conversation over AG-UI. The page shows its messages in the same way as those of the AI SDK.
import { type AgentSubscriber, HttpAgent, type RunAgentInput, runHttpRequest, transformHttpEventStream } from '@ag-ui/client';
import { useEffect, useMemo, useRef, useState } from 'react';
import { messagesOf, type Notes, object } from './ag-ui-messages';
import { useOthers } from './chats';
import { type Message, readable, type ThreadProps } from './conversation';
import { Thread } from './thread';

type Resume = NonNullable<Parameters<HttpAgent['runAgent']>[0]>['resume'];

/** An agent whose conversation the server keeps. Connecting reads the conversation and the active response. */
class StoredAgent extends HttpAgent {
  protected override connect(input: RunAgentInput) {
    const { body, ...request } = this.requestInit(input);
    const send = () => fetch(`${this.url}/connect`, { ...request, body: body ?? null });
    return transformHttpEventStream(runHttpRequest(send));
  }
}

export default function AgUiThread({ chat, headers, known, refresh }: ThreadProps) {
  const agent = useMemo(() => new StoredAgent({ url: '/agent', headers, threadId: chat }), [chat, headers]);
  const notes: Notes = useMemo(() => new Map(), [agent]);
  const isStopped = useRef(false);
  const connecting = useRef<Promise<void>>(undefined);
  const [messages, setMessages] = useState<Message[]>([]);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<string>();

  // The protocol sends no titles of tools.
  const titles = useRef<Record<string, string>>({});
  useEffect(() => {
    const load = async () => {
      const response = await fetch('/api/tools', { headers });
      const tools = (await response.json()) as { name: string; title: string | null }[];
      titles.current = Object.fromEntries(tools.flatMap(({ name, title }) => (title ? [[name, title]] : [])));
      show();
    };
    // Without titles, the page shows the tools' names.
    load().catch(() => undefined);
  }, [headers]);

  const show = () => setMessages(messagesOf(agent, notes, titles.current));
  const note = (call: string, change: object) => notes.set(call, { ...notes.get(call), ...change });
  const subscriber: AgentSubscriber = {
    onMessagesChanged: () => show(),
    onToolCallStartEvent: ({ event }) => void note(event.toolCallId, { isWhole: false }),
    onToolCallArgsEvent: ({ event, partialToolCallArgs }) => {
      // The client completes the text so far to valid JSON, but may pass it on as a string.
      const input: unknown = partialToolCallArgs;
      note(event.toolCallId, { input: typeof input === 'string' ? object(input) : input });
      show();
    },
    onToolCallEndEvent: ({ event, toolCallArgs }) => {
      note(event.toolCallId, { input: toolCallArgs, isWhole: true });
      show();
    },
    // The server has this thread. Until all of it has arrived, the person cannot send a message.
    onMessagesSnapshotEvent: () => setBusy(true),
    onRunErrorEvent: ({ event }) => setError(event.message),
  };
  const follow = async (running: Promise<unknown>) => {
    isStopped.current = false;
    setError(undefined);
    try {
      await running;
    } catch (failure) {
      setError(readable(failure as Error));
    }
    // A stop by the person is no failure.
    if (isStopped.current) setError(undefined);
    setBusy(false);
    show();
  };
  const connect = () => {
    notes.clear();
    // The response has the open interrupts.
    agent.pendingInterrupts = [];
    connecting.current = follow(agent.connectAgent({}, subscriber));
  };
  const run = (resume?: Resume) => {
    setBusy(true);
    // The run continues when the person leaves the page. The page reads its events when it is loaded again.
    return follow(agent.runAgent({ forwardedProps: { resumable: true }, ...(resume && { resume }) }, subscriber));
  };
  useEffect(() => {
    connect();
    return () => agent.abortRun();
    // Runs once for each conversation. The other values are new at each rendering.
  }, [agent]);
  useOthers(known, isBusy, refresh, chat, () => connect());

  return (
    <Thread
      messages={messages}
      isBusy={isBusy}
      error={error}
      say={text => {
        const say = async () => {
          // The client can have only one run at a time.
          await connecting.current;
          agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: text });
          show();
          await run();
        };
        void say();
      }}
      stop={() => {
        isStopped.current = true;
        // Closing the connection would not stop the run, because the run continues without readers.
        void fetch(`/api/chat/${chat}/stop`, { method: 'POST', headers });
        agent.abortRun();
      }}
      decide={(part, decision) => {
        note(part.toolCallId, { decision });
        show();
        const asked = agent.pendingInterrupts.map(open => ({ open, decision: notes.get(open.toolCallId ?? '')?.decision }));
        // One request answers all open interrupts of the run.
        if (asked.some(({ decision }) => !decision)) return;
        void run(
          asked.map(({ open, decision }) => ({
            interruptId: open.id,
            status: 'resolved' as const,
            payload: decision?.approved
              ? { approved: true, ...(decision.edited && { editedArgs: decision.edited }) }
              : { approved: false, ...(decision?.reason && { reason: decision.reason }) },
          })),
        );
      }}
      answer={(_tool, toolCallId, output) => {
        agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId, content: JSON.stringify(output) });
        show();
        void run();
      }}
    />
  );
}
