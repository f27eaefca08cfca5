// The card of one call, in each of the call's states.
import { type FormEvent, type ReactNode, useState } from 'react';
import { type Arguments, type Conversation, decidedBy, feedbackOf, type ToolPart } from './conversation';
import { FeedbackForm, Field, Values } from './forms';

interface Props {
  part: ToolPart;
  /** Set if this is the conversation's last call, so that its form can still be sent. */
  isOpen: boolean;
  conversation: Conversation;
}

export function ToolCard({ part, isOpen, conversation }: Props) {
  // The state is kept here, so that a draft remains if the server refuses it.
  const [draft, setDraft] = useState<Arguments>();
  const name = part.type.slice('tool-'.length);
  const title = part.title ?? name.replaceAll('_', ' ');
  const [tone, state] = look(part, conversation.isBusy);
  return (
    <article className={`card ${tone}`} data-tool={name} data-state={part.state} aria-label={`${title}: ${state}`}>
      <header>
        <span className="dot" aria-hidden="true" />
        <h2>{title}</h2>
        <span className="state" role="status">
          {state}
        </span>
      </header>
      <div className="body">
        {part.state === 'approval-requested' ? (
          <Approval part={part} title={title} draft={draft} setDraft={setDraft} decide={conversation.decide} />
        ) : (
          body(part, isOpen, conversation)
        )}
        {decidedBy(part) && 'approval' in part && part.approval && (
          <p className="muted">
            {part.approval.approved ? 'Approved' : 'Denied'} by {decidedBy(part)}
          </p>
        )}
      </div>
    </article>
  );
}

type Tone = 'going' | 'asks' | 'good' | 'bad' | 'still';

/** Returns the tone and the label of a call's card. An unfinished call was stopped if the conversation is not busy. */
function look(part: ToolPart, isBusy: boolean): [Tone, string] {
  const going = (state: string): [Tone, string] => (isBusy ? ['going', state] : ['still', 'Stopped']);
  switch (part.state) {
    case 'input-streaming':
      return going('Writing…');
    case 'input-available':
      return part.type === 'tool-pick_colour' ? ['asks', 'Your turn'] : going('Running…');
    case 'approval-requested':
      return ['asks', 'Needs your approval'];
    case 'approval-responded':
      return ['going', part.approval.approved ? 'Approved' : 'Denied'];
    case 'output-available':
      return part.preliminary ? going('Working…') : ['good', 'Done'];
    case 'output-error':
      return feedbackOf(part) ? ['asks', 'Needs more'] : ['bad', 'Failed'];
    case 'output-denied':
      return ['bad', 'Denied'];
  }
}

function body(part: Exclude<ToolPart, { state: 'approval-requested' }>, isOpen: boolean, conversation: Conversation): ReactNode {
  switch (part.state) {
    case 'input-streaming':
      return <Values of={part.input} isArriving />;
    case 'input-available':
      return part.type === 'tool-pick_colour' ? (
        <Palette pick={colour => conversation.answer('pick_colour', part.toolCallId, colour)} />
      ) : (
        <Values of={part.input} />
      );
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

/** Shows the output of a call. The server generates the output's type. */
function Output({ part }: { part: ToolPart & { state: 'output-available' } }) {
  switch (part.type) {
    case 'tool-get_weather':
      return (
        <p className="weather">
          <span role="img" aria-label={part.output.sky}>{SKY[part.output.sky]}</span> {part.output.city}, {part.output.temperature} °C
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
  /** The arguments with the person's changes so far; `undefined` if the person does not edit them. */
  draft: Arguments | undefined;
  setDraft(draft: Arguments | undefined): void;
  decide: Conversation['decide'];
}

/** Asks whether a call may run, with its own arguments or with edited ones. */
function Approval({ part, title, draft, setDraft, decide }: ApprovalProps) {
  const [reason, setReason] = useState('');
  const approve = (event: FormEvent) => {
    event.preventDefault();
    decide(part, draft ? { approved: true, edited: draft } : { approved: true });
  };
  // If the server refuses an edit, it asks again with the reason before the question.
  const lines = (part.approval.requestReason ?? `Allow “${title}”?`).split('\n');
  const refusal = draft ? lines.slice(0, -1) : [];
  return (
    <form className="approval" onSubmit={approve} aria-label={`Approval of ${title}`}>
      {refusal.length > 0 && (
        <p className="failure" role="alert">
          {refusal.join(' ')}
        </p>
      )}
      <p className="question">{lines.slice(refusal.length).join('\n')}</p>
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
          onClick={() => decide(part, reason ? { approved: false, reason } : { approved: false })}
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

/** The tool that the page executes itself: the person picks a colour. */
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
