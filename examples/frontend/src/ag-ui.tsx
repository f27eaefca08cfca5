// The same conversation over AG-UI: what its client keeps, shown as the other's messages are.
import { type AgentSubscriber, HttpAgent } from '@ag-ui/client';
import { useEffect, useMemo, useRef, useState } from 'react';
import { type Message, readable } from './conversation';
import { messagesOf, type Notes, object } from './ag-ui-messages';
import { Thread } from './thread';

type Resume = NonNullable<Parameters<HttpAgent['runAgent']>[0]>['resume'];

export default function AgUiThread({ token }: { token: string }) {
  const headers = useMemo(() => ({ authorization: `Bearer ${token}` }), [token]);
  const agent = useMemo(() => new HttpAgent({ url: '/agent', headers }), [headers]);
  const notes = useRef<Notes>(new Map());
  const isStopped = useRef(false);
  const [messages, setMessages] = useState<Message[]>([]);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<string>();

  useEffect(() => () => agent.abortRun(), [agent]);
  // The protocol has only names for tools.
  const titles = useRef<Record<string, string>>({});
  useEffect(() => {
    const load = async () => {
      const response = await fetch('/api/tools', { headers });
      const tools = (await response.json()) as { name: string; title: string | null }[];
      titles.current = Object.fromEntries(tools.flatMap(({ name, title }) => (title ? [[name, title]] : [])));
    };
    // Names are good enough without.
    load().catch(() => undefined);
  }, [headers]);

  const show = () => setMessages(messagesOf(agent, notes.current, titles.current));
  const note = (call: string, change: object) => notes.current.set(call, { ...notes.current.get(call), ...change });
  const subscriber: AgentSubscriber = {
    onMessagesChanged: show,
    onToolCallStartEvent: ({ event }) => void note(event.toolCallId, { isWhole: false }),
    onToolCallArgsEvent: ({ event, partialToolCallArgs }) => {
      // The client mends the text so far, and forgets to read it.
      const input: unknown = partialToolCallArgs;
      note(event.toolCallId, { input: typeof input === 'string' ? object(input) : input });
      show();
    },
    onToolCallEndEvent: ({ event, toolCallArgs }) => {
      note(event.toolCallId, { input: toolCallArgs, isWhole: true });
      show();
    },
    onRunErrorEvent: ({ event }) => setError(event.message),
  };
  const run = async (resume?: Resume) => {
    isStopped.current = false;
    setBusy(true);
    setError(undefined);
    try {
      await agent.runAgent(resume ? { resume } : {}, subscriber);
    } catch (failure) {
      setError(readable(failure as Error));
    }
    // To be stopped is no failure.
    if (isStopped.current) setError(undefined);
    setBusy(false);
    show();
  };

  return (
    <Thread
      messages={messages}
      isBusy={isBusy}
      error={error}
      say={text => {
        agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: text });
        show();
        void run();
      }}
      stop={() => {
        isStopped.current = true;
        agent.abortRun();
      }}
      decide={(part, decision) => {
        note(part.toolCallId, { decision });
        show();
        const asked = agent.pendingInterrupts.map(open => ({ open, decision: notes.current.get(open.toolCallId ?? '')?.decision }));
        // All that a run waits for is answered at once.
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
