// The list of the person's chats: loading, opening, renaming and deleting them.
import { type FormEvent, type KeyboardEvent, useCallback, useEffect, useRef, useState } from 'react';

export interface Chat {
  id: string;
  title?: string;
  /** The time of the last change, in milliseconds since 1970. */
  changed: number;
}

/** The interval at which a visible page reads the list, in milliseconds. So it notices changes by another tab or device. */
const EVERY = 2000;

/** Returns the chats, and a function that reads them at once. */
export function useChats(headers: Record<string, string>): { chats: Chat[]; refresh(): Promise<Chat[]> } {
  const [chats, setChats] = useState<Chat[]>([]);
  const refresh = useCallback(async () => {
    const response = await fetch('/api/chats', { headers });
    // The conversation shows the error of an unauthorized user, so the list can be empty.
    const chats = response.ok ? ((await response.json()) as Chat[]) : [];
    setChats(before => (JSON.stringify(before) === JSON.stringify(chats) ? before : chats));
    return chats;
  }, [headers]);
  useEffect(() => {
    const look = () => {
      if (document.visibilityState === 'visible') refresh().catch(() => undefined);
    };
    look();
    const timer = setInterval(look, EVERY);
    document.addEventListener('visibilitychange', look);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, [refresh]);
  return { chats, refresh };
}

/** Calls `again` when another page has changed the chat. The page already shows its own changes. */
export function useOthers(chat: Chat | undefined, isBusy: boolean, refresh: () => Promise<Chat[]>, id: string, again: () => void) {
  const seen = useRef<number | undefined>(undefined);
  const isOwn = useRef(true);
  useEffect(() => {
    isOwn.current = true;
    if (isBusy) return;
    let isOver = false;
    refresh()
      .then(chats => {
        if (isOver) return;
        seen.current = chats.find(known => known.id === id)?.changed;
        isOwn.current = false;
      })
      .catch(() => undefined);
    return () => {
      isOver = true;
    };
  }, [isBusy, refresh, id]);
  useEffect(() => {
    if (isOwn.current || !chat || chat.changed <= (seen.current ?? 0)) return;
    seen.current = chat.changed;
    again();
    // Only a change of the chat runs the effect.
  }, [chat?.changed]);
}

interface Props {
  chats: Chat[];
  current: string;
  headers: Record<string, string>;
  isOpen: boolean;
  open(id: string): void;
  /** Reports that a chat was renamed, or that the chat `deleted` was deleted. */
  changed(deleted?: string): void;
}

export function ChatList({ chats, current, headers, isOpen, open, changed }: Props) {
  const [news, setNews] = useState('');
  const list = useRef<HTMLElement>(null);
  const send = async (chat: Chat, method: 'PATCH' | 'DELETE', title?: string) => {
    const body = title === undefined ? {} : { body: JSON.stringify({ title }) };
    const response = await fetch(`/api/chat/${encodeURIComponent(chat.id)}`, {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      ...body,
    });
    const done = method === 'DELETE' ? `Deleted ${name(chat)}` : `Renamed to ${title}`;
    setNews(response.ok ? done : ((await response.json()) as { error: { message: string } }).error.message);
    // The pressed button disappears with its chat, so the list gets the focus.
    if (method === 'DELETE') list.current?.focus();
    changed(method === 'DELETE' && response.ok ? chat.id : undefined);
  };
  return (
    <nav id="chats" ref={list} tabIndex={-1} className={isOpen ? 'side open' : 'side'} aria-label="Chats">
      <ul>
        {chats.map(chat => (
          <Item key={chat.id} chat={chat} isCurrent={chat.id === current} open={open} send={send} />
        ))}
      </ul>
      {chats.length === 0 && <p className="muted">What you talk about is listed here.</p>}
      <p className="unseen" role="status">
        {news}
      </p>
    </nav>
  );
}

interface ItemProps {
  chat: Chat;
  isCurrent: boolean;
  open(id: string): void;
  send(chat: Chat, method: 'PATCH' | 'DELETE', title?: string): Promise<void>;
}

function Item({ chat, isCurrent, open, send }: ItemProps) {
  const [doing, setDoing] = useState<'rename' | 'delete'>();
  const title = name(chat);
  const button = useRef<HTMLButtonElement>(null);
  const was = useRef(doing);
  useEffect(() => {
    if (was.current && !doing) button.current?.focus();
    was.current = doing;
  }, [doing]);
  const leave = (event: KeyboardEvent) => {
    if (event.key === 'Escape') setDoing(undefined);
  };
  if (doing === 'rename') {
    const submit = (event: FormEvent<HTMLFormElement>) => {
      event.preventDefault();
      const title = String(new FormData(event.currentTarget).get('title')).trim();
      setDoing(undefined);
      if (title) void send(chat, 'PATCH', title);
    };
    return (
      <li>
        <form className="row" onSubmit={submit} onKeyDown={leave}>
          <input name="title" aria-label={`New title of ${title}`} defaultValue={chat.title} maxLength={60} autoFocus required />
          <button>Save</button>
        </form>
      </li>
    );
  }
  if (doing === 'delete') {
    return (
      <li>
        <div className="row" role="group" aria-label={`Delete ${title} for good?`} onKeyDown={leave}>
          <span className="title">Delete “{title}”?</span>
          <button type="button" className="danger" autoFocus onClick={() => void send(chat, 'DELETE')}>
            Delete
          </button>
          <button type="button" onClick={() => setDoing(undefined)}>
            Keep
          </button>
        </div>
      </li>
    );
  }
  return (
    <li>
      <button
        ref={button}
        type="button"
        className="title"
        aria-current={isCurrent ? 'page' : undefined}
        onClick={() => open(chat.id)}
      >
        {title}
        <small>{new Date(chat.changed).toLocaleString(undefined, { dateStyle: 'short', timeStyle: 'short' })}</small>
      </button>
      <button type="button" aria-label={`Rename ${title}`} title="Rename" onClick={() => setDoing('rename')}>
        <span aria-hidden="true">✎</span>
      </button>
      <button type="button" aria-label={`Delete ${title}`} title="Delete" onClick={() => setDoing('delete')}>
        <span aria-hidden="true">✕</span>
      </button>
    </li>
  );
}

const name = (chat: Chat) => chat.title ?? 'Untitled';
