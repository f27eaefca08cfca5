// Made from the declarations of the tools: change those.

export type UpdateKnowledgeInput = {
  /** Who it is about. */
  agent?: Person | null;
  place?: Place | null;
  time?: Time | null;
  status?: Status | null;
};

/**
 * A person's answer to a slot.
 *
 * - `can`: They can.
 * - `cannot`: They cannot.
 */
export type Status = "can" | "cannot";

/**
 * The time of the meeting.
 *
 * - `morning`: Morning.
 * - `evening`: Evening.
 */
export type Time = "morning" | "evening";

/**
 * The place of the meeting.
 *
 * - `bar`: Bar.
 * - `museum`: Museum.
 */
export type Place = "bar" | "museum";

/**
 * A participant.
 *
 * - `Alice`: Alice.
 * - `Bob`: Bob.
 * - `Carol`: Carol.
 * - `Dave`: Dave.
 */
export type Person = "Alice" | "Bob" | "Carol" | "Dave";

export type UpdateKnowledgeOutput = null;

export type ProposeInput = {
  place?: Place | null;
  time?: Time | null;
};

export type ProposeOutput = Inbox;

/** The messages that have arrived. */
export type Inbox = {
  /** What the others said. */
  messages: Letter[];
};

/** A message to all others. */
export type Letter = {
  /** The author. */
  from: Person;
  /** What. */
  content: string;
};

export type ConfirmInput = {
  place?: Place | null;
  time?: Time | null;
};

export type ConfirmOutput = null;

export type RejectInput = {
  place?: Place | null;
  time?: Time | null;
};

export type RejectOutput = null;

export type GiveUpInput = { [key: string]: never };

export type GiveUpOutput = null;

export type Tools = {
  /** Note in your knowledge base whether somebody can come. */
  update_knowledge: { input: UpdateKnowledgeInput; output: UpdateKnowledgeOutput };
  /** Propose to meet at a place and time, to all others. Gives back what they said since, after waiting a moment for it. */
  propose: { input: ProposeInput; output: ProposeOutput };
  /** Confirm a place and time, once you know that everybody can come. It is final. */
  confirm: { input: ConfirmInput; output: ConfirmOutput };
  /** Tell all others that you cannot come to a place at a time. */
  reject: { input: RejectInput; output: RejectOutput };
  /** Give up, when there is no place and time at which everybody can come. It is final, and for everybody. */
  give_up: { input: GiveUpInput; output: GiveUpOutput };
};
