// One call of a tool, in each of its states.
import { type FormEvent, type ReactNode, useState } from 'react';
import { type Arguments, type Conversation, feedbackOf, type ToolPart } from './conversation';
import { FeedbackForm, Field, Values } from './forms';

interface Props {
  part: ToolPart;
  /** Whether it is what the conversation is at, so that a form still makes sense. */
  isOpen: boolean;
  conversation: Conversation;
}

export function ToolCard({ part, isOpen, conversation }: Props) {
  const name = part.type.slice('tool-'.length);
  const title = part.title ?? name.replaceAll('_', ' ');
  const state = stateOf(part);
  return (
    <article className="card" data-tool={name} data-state={part.state} data-asks={feedbackOf(part) !== undefined} aria-label={`${title}: ${state}`}>
      <header>
        <span className="dot" aria-hidden="true" />
        <h3>{title}</h3>
        <span className="state" role="status">
          {state}
        </span>
      </header>
      <div className="body">{body(part, title, isOpen, conversation)}</div>
    </article>
  );
}

function stateOf(part: ToolPart): string {
  switch (part.state) {
    case 'input-streaming':
      return 'Writing…';
    case 'input-available':
      return part.type === 'tool-pick_colour' ? 'Your turn' : 'Running…';
    case 'approval-requested':
      return 'Needs your approval';
    case 'approval-responded':
      return part.approval.approved ? 'Approved' : 'Denied';
    case 'output-available':
      return part.preliminary ? 'Working…' : 'Done';
    case 'output-error':
      return feedbackOf(part) ? 'Needs more' : 'Failed';
    case 'output-denied':
      return 'Denied';
  }
}

function body(part: ToolPart, title: string, isOpen: boolean, conversation: Conversation): ReactNode {
  switch (part.state) {
    case 'input-streaming':
      return <Values of={part.input} isArriving />;
    case 'input-available':
      return part.type === 'tool-pick_colour' ? (
        <Palette pick={colour => conversation.answer('pick_colour', part.toolCallId, colour)} />
      ) : (
        <Values of={part.input} />
      );
    case 'approval-requested':
      return <Approval key={part.approval.id} part={part} title={title} conversation={conversation} />;
    case 'approval-responded':
      return <Values of={part.input} />;
    case 'output-available':
      return <Output part={part} />;
    case 'output-error': {
      const feedback = feedbackOf(part);
      return feedback ? (
        <FeedbackForm feedback={feedback} input={part.input} isOpen={isOpen && !conversation.isBusy} say={conversation.say} />
      ) : (
        <p className="failure">{part.errorText}</p>
      );
    }
    case 'output-denied':
      return (
        <>
          <Values of={part.input} />
          <p className="muted">{part.approval.reason ? `Denied: ${part.approval.reason}` : 'You did not allow it.'}</p>
        </>
      );
  }
}

const SKY = { clear: '☀️', cloudy: '☁️', rain: '🌧️' };

/** What came of a call. The types are the server's. */
function Output({ part }: { part: ToolPart & { state: 'output-available' } }) {
  switch (part.type) {
    case 'tool-get_weather':
      return (
        <p className="weather">
          <span aria-label={part.output.sky}>{SKY[part.output.sky]}</span> {part.output.city}, {part.output.temperature} °C
        </p>
      );
    case 'tool-check_folder': {
      const { files, total } = part.output;
      return (
        <>
          <progress aria-label="Files checked" value={files.length} max={total} />
          <p className="muted">
            {files.length} of {total}: {files.at(-1) ?? 'none yet'}
          </p>
        </>
      );
    }
    case 'tool-pick_colour':
      return (
        <p>
          <span className="swatch" style={{ background: part.output.hex }} /> {part.output.name}
        </p>
      );
    case 'tool-book_train':
      return (
        <p>
          {part.output.seats} × {part.output.from} → {part.output.to}: <b>{part.output.total} €</b>
        </p>
      );
    case 'tool-delete_file':
    case 'tool-write_note':
      return <Values of={part.output} />;
  }
}

interface ApprovalProps {
  part: ToolPart & { state: 'approval-requested' };
  title: string;
  conversation: Conversation;
}

/** The question whether a call may run, with these arguments or others. */
function Approval({ part, title, conversation }: ApprovalProps) {
  const [draft, setDraft] = useState<Arguments>();
  const [reason, setReason] = useState('');
  const approve = (event: FormEvent) => {
    event.preventDefault();
    conversation.decide(part, draft ? { approved: true, edited: draft } : { approved: true });
  };
  return (
    <form className="approval" onSubmit={approve} aria-label={`Approval of ${title}`}>
      <p className="question">{part.approval.requestReason ?? `Allow “${title}”?`}</p>
      {draft ? (
        Object.entries(draft).map(([name, value]) => (
          <Field key={name} name={name} value={value} change={value => setDraft({ ...draft, [name]: value })} />
        ))
      ) : (
        <Values of={part.input} />
      )}
      <div className="row">
        <button className="primary">{draft ? 'Approve as changed' : 'Approve'}</button>
        {draft ? (
          <button type="button" onClick={() => setDraft(undefined)}>
            Keep as it was
          </button>
        ) : (
          <button type="button" onClick={() => setDraft({ ...part.input })}>
            Edit
          </button>
        )}
      </div>
      <div className="row">
        <input
          aria-label="Reason"
          placeholder="Why not? (optional)"
          value={reason}
          onChange={event => setReason(event.target.value)}
        />
        <button
          type="button"
          className="danger"
          onClick={() => conversation.decide(part, reason ? { approved: false, reason } : { approved: false })}
        >
          Deny
        </button>
      </div>
    </form>
  );
}

const PALETTE = [
  { name: 'Blue', hex: '#2f5fd0' },
  { name: 'Green', hex: '#1f7a4d' },
  { name: 'Plum', hex: '#8a2f8f' },
  { name: 'Rust', hex: '#b3471d' },
];

/** The tool that runs here. */
function Palette({ pick }: { pick(colour: (typeof PALETTE)[number]): void }) {
  return (
    <div className="row" role="group" aria-label="Colours">
      {PALETTE.map(colour => (
        <button
          key={colour.name}
          type="button"
          onClick={() => {
            document.documentElement.style.setProperty('--accent', colour.hex);
            pick(colour);
          }}
        >
          <span className="swatch" style={{ background: colour.hex }} /> {colour.name}
        </button>
      ))}
    </div>
  );
}
