// The messages of a conversation, and the form for a new message.
import { type FormEvent, useEffect, useRef, useState } from 'react';
import type { Conversation, Message, ToolPart } from './conversation';
import { ToolCard } from './tool-card';

const IDEAS = [
  'Weather in Oslo',
  'Write a note, title: Shopping, text: Milk, bread, and a dozen eggs from the market',
  'Check the folder',
  'Delete the file "report.pdf"',
  'Book a train',
  'Pick a colour',
];

export function Thread(it: Conversation) {
  const [text, setText] = useState('');
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    void end.current?.scrollIntoView({ block: 'end' });
  }, [it.messages, it.isBusy, it.error]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!text.trim() || it.isBusy) return;
    it.say(text.trim());
    setText('');
  };
  const last = it.messages.at(-1);
  return (
    <main>
      <div className="thread" role="log" aria-label="Conversation" aria-busy={it.isBusy}>
        {it.messages.length === 0 && (
          <div className="welcome">
            <h2>What can I do for you?</h2>
            <p>Every card below a message is a tool at work. Some ask you first; one runs here, in your browser.</p>
          </div>
        )}
        {it.messages.map(message => (
          <Said key={message.id} message={message} isLast={message === last} conversation={it} />
        ))}
        {it.isBusy && last?.role !== 'assistant' && <p className="thinking">Thinking…</p>}
        {it.error && (
          <p className="failure" role="alert">
            {it.error}
          </p>
        )}
        <div ref={end} />
      </div>
      <footer>
        <div className="ideas" role="group" aria-label="Ideas">
          {IDEAS.map(idea => (
            <button key={idea} type="button" disabled={it.isBusy} onClick={() => it.say(idea)}>
              {idea.split(',')[0]}
            </button>
          ))}
        </div>
        <form className="composer" onSubmit={submit}>
          <input
            aria-label="Message"
            placeholder="Say something…"
            autoComplete="off"
            autoFocus
            value={text}
            onChange={event => setText(event.target.value)}
          />
          {it.isBusy ? (
            <button type="button" onClick={it.stop}>
              Stop
            </button>
          ) : (
            <button className="primary">Send</button>
          )}
        </form>
      </footer>
    </main>
  );
}

interface SaidProps {
  message: Message;
  isLast: boolean;
  conversation: Conversation;
}

function Said({ message, isLast, conversation }: SaidProps) {
  const calls = message.parts.filter((part): part is ToolPart => part.type.startsWith('tool-'));
  return (
    <section className={`said ${message.role}`} aria-label={message.role === 'user' ? 'You' : 'Assistant'}>
      {message.parts.map((part, at) => {
        if (part.type === 'text') {
          return part.text && <p key={at}>{part.text}</p>;
        }
        if (part.type === 'reasoning') {
          return (
            <details key={at}>
              <summary>Thoughts</summary>
              <p>{part.text}</p>
            </details>
          );
        }
        if (!part.type.startsWith('tool-')) return null;
        const call = part as ToolPart;
        return <ToolCard key={call.toolCallId} part={call} isOpen={isLast && call === calls.at(-1)} conversation={conversation} />;
      })}
    </section>
  );
}
