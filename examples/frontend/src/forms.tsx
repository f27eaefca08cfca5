// Components that show values, edit values, and make a form of a tool's feedback.
import { type FormEvent, useId, useState } from 'react';
import type { Feedback, FieldReport } from './conversation';

/** Shows arguments or an output, one value in a line. */
export function Values({ of, isArriving = false }: { of: unknown; isArriving?: boolean }) {
  const entries = of !== null && typeof of === 'object' ? Object.entries(of) : [];
  if (entries.length === 0) return isArriving ? <p className="arriving" /> : null;
  return (
    <dl className={isArriving ? 'values arriving' : 'values'}>
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{shown(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

const shown = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

interface FieldProps {
  name: string;
  value: unknown;
  change(value: unknown): void;
}

/** Edits a value. Texts are typed as they are, and other values as JSON. Every value can be replaced by `null`. */
export function Field({ name, value, change }: FieldProps) {
  const id = useId();
  const [first] = useState(value);
  const [typed, setTyped] = useState(() => shown(value));
  const isNull = value === null;
  return (
    <div className="field">
      <label htmlFor={id}>{name}</label>
      {typeof first === 'string' || typeof first === 'boolean' ? (
        <span className="editor">
          {typeof first === 'boolean' ? (
            <input
              id={id}
              type="checkbox"
              checked={value === true}
              disabled={isNull}
              onChange={event => change(event.target.checked)}
            />
          ) : (
            <input id={id} value={isNull ? '' : shown(value)} disabled={isNull} onChange={event => change(event.target.value)} />
          )}
          <label>
            <input
              type="checkbox"
              aria-label={`null in place of ${name}`}
              checked={isNull}
              onChange={event => change(event.target.checked ? null : first)}
            />
            null
          </label>
        </span>
      ) : (
        <input
          id={id}
          value={typed}
          onChange={event => {
            setTyped(event.target.value);
            change(parsed(event.target.value));
          }}
        />
      )}
    </div>
  );
}

/** Returns the value of a text that is JSON, or else the text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

interface FeedbackProps {
  feedback: Feedback;
  input: unknown;
  isOpen: boolean;
  say(text: string): void;
}

/** Shows the values that a tool has accepted, and asks for the missing ones. The form sends an ordinary message. */
export function FeedbackForm({ feedback, input, isOpen, say }: FeedbackProps) {
  const fields = Object.entries(feedback.validationResults ?? {});
  const given = (input ?? {}) as Record<string, unknown>;
  const [values, setValues] = useState<Record<string, string>>({});
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const said = Object.entries(values).filter(([, value]) => value !== '');
    if (said.length > 0) say(said.map(([name, value]) => `${name}: ${value}`).join(', '));
  };
  return (
    <form className="feedback" onSubmit={submit} aria-label="What is missing">
      {feedback.problems?.map(problem => (
        <p key={problem} className="failure">
          {problem}
        </p>
      ))}
      {fields.map(([name, report]) => (
        <FeedbackField
          key={name}
          name={name}
          report={report}
          known={report.normalizedValue ?? given[name]}
          value={values[name]}
          isOpen={isOpen}
          change={value => setValues({ ...values, [name]: value })}
        />
      ))}
      {isOpen && fields.length > 0 && (
        <div className="row">
          <button className="primary">Go on</button>
        </div>
      )}
    </form>
  );
}

interface FeedbackFieldProps {
  name: string;
  report: FieldReport;
  known: unknown;
  value: string | undefined;
  isOpen: boolean;
  change(value: string): void;
}

function FeedbackField({ name, report, known, value, isOpen, change }: FeedbackFieldProps) {
  const id = useId();
  const waits = report.requiresValidParameters ?? [];
  const choices = report.allowedValues ?? report.suggestedValues;
  const note = waits.length > 0 ? `first: ${waits.join(', ')}` : report.problems?.join('; ');
  return (
    <div className="field" data-valid={report.valid}>
      <label htmlFor={id}>{name}</label>
      {report.valid ? (
        <output id={id}>{shown(known)} ✓</output>
      ) : report.allowedValues ? (
        <select id={id} required disabled={!isOpen} value={value ?? ''} onChange={event => change(event.target.value)}>
          <option value="">choose…</option>
          {choices?.map(choice => <option key={shown(choice)}>{shown(choice)}</option>)}
        </select>
      ) : (
        <input id={id} disabled={!isOpen || waits.length > 0} value={value ?? ''} onChange={event => change(event.target.value)} />
      )}
      {note && <small>{note}</small>}
    </div>
  );
}
