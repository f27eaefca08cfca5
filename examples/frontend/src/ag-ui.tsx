// The same conversation over AG-UI: what its client keeps, shown as the other's messages are.
import type { AgentSubscriber } from '@ag-ui/client';
import { useEffect, useMemo, useRef, useState } from 'react';
import { type Message, readable } from './conversation';
import { KeptAgent } from './ag-ui-kept';
import { messagesOf, object } from './ag-ui-messages';
import { Thread } from './thread';

type Resume = NonNullable<Parameters<KeptAgent['runAgent']>[0]>['resume'];

export default function AgUiThread({ chat, token }: { chat: string; token: string }) {
  const headers = useMemo(() => ({ authorization: `Bearer ${token}` }), [token]);
  const agent = useMemo(() => new KeptAgent(chat, headers), [chat, headers]);
  const { notes } = agent;
  const isStopped = useRef(false);
  const [messages, setMessages] = useState<Message[]>([]);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<string>();

  // The protocol has only names for tools.
  const titles = useRef<Record<string, string>>({});
  useEffect(() => {
    const load = async () => {
      const response = await fetch('/api/tools', { headers });
      const tools = (await response.json()) as { name: string; title: string | null }[];
      titles.current = Object.fromEntries(tools.flatMap(({ name, title }) => (title ? [[name, title]] : [])));
      show();
    };
    // Names are good enough without.
    load().catch(() => undefined);
  }, [headers]);

  const show = () => setMessages(messagesOf(agent, notes, titles.current));
  const note = (call: string, change: object) => notes.set(call, { ...notes.get(call), ...change });
  const subscriber: AgentSubscriber = {
    onMessagesChanged: () => {
      agent.keep(true);
      show();
    },
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
  const follow = async (running: Promise<unknown>) => {
    isStopped.current = false;
    setBusy(true);
    setError(undefined);
    try {
      await running;
    } catch (failure) {
      setError(readable(failure as Error));
    }
    // To be stopped is no failure.
    if (isStopped.current) setError(undefined);
    setBusy(false);
    agent.keep(false);
    show();
  };
  const run = (resume?: Resume) => {
    agent.keep(true);
    // The run goes on when the page is left, and is read again when it comes back.
    return follow(agent.runAgent({ forwardedProps: { resumable: true }, ...(resume && { resume }) }, subscriber));
  };
  useEffect(() => {
    show();
    const comeBack = async () => {
      if (await agent.isUnderWay()) await follow(agent.connectAgent({}, subscriber));
    };
    // What there is to see is shown without.
    comeBack().catch(() => undefined);
    return () => agent.abortRun();
    // Once for each conversation: the rest is made anew with everything that is shown.
  }, [agent]);

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
        agent.stop();
      }}
      decide={(part, decision) => {
        note(part.toolCallId, { decision });
        show();
        const asked = agent.pendingInterrupts.map(open => ({ open, decision: notes.get(open.toolCallId ?? '')?.decision }));
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
