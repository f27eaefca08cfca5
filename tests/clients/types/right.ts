// Right uses of the generated types.
import type { UIDataTypes, UIMessage, UITools } from 'ai';
import type { Tools as Airline } from './generated/airline';
import type { Tools as Approvals } from './generated/approvals';
import type { Tools as Censorship } from './generated/censorship';
import type { Tools as Consensus } from './generated/consensus';
import type { Tools as Dojo } from './generated/dojo';
import type { Tools as Kinds, Shape, Tagged, Tree } from './generated/kinds';
import type { Tools as Manager } from './generated/manager';
import type { Tools as Retail } from './generated/retail';
import type { Tools as Weather } from './generated/weather';
import type { Tools as Wide } from './generated/wide';
import type { Tools as Workspace } from './generated/workspace';

/** The message of a chat with the tools `All`. It compiles only if the AI SDK accepts the types of the tools. */
type Chat<All extends UITools> = UIMessage<unknown, UIDataTypes, All>;
export type Chats =
  | Chat<Airline>
  | Chat<Approvals>
  | Chat<Censorship>
  | Chat<Consensus>
  | Chat<Dojo>
  | Chat<Kinds>
  | Chat<Manager>
  | Chat<Retail>
  | Chat<Weather>
  | Chat<Wide>
  | Chat<Workspace>;

// Values of every kind of type that a parameter can have.
const tree: Tree = { value: 1, children: [{ value: 2, children: [] }] };
const shapes: Shape[] = ['dot', { circle: 1.5 }, { line: [{ x: 1 }, { x: 2, y: null }] }, { rect: { at: { x: 0, y: 1 }, size: 2 } }];
const tagged: Tagged[] = [
  { kind: 'Named', name: 'a' },
  { kind: 'Numbered', number: 1 },
];
export const nested: Kinds['nested']['input'][] = [
  { a: 'dot', b: { atMostFive: 3 } },
  { a: { circle: 1 }, b: { atMostFive: 3, name: null }, c: tagged[0] ?? null, d: 'text', e: tree },
  { a: shapes[0] ?? 'dot', b: { atMostFive: 1, name: 'ab' }, d: 7, e: null },
];
export const collections: Kinds['collections']['input'] = { a: [{ x: 1 }], b: { one: 1 }, c: [1, true], e: [1] };

/** Narrows a union by its tag. */
export function label(tagged: Tagged): string {
  return tagged.kind === 'Named' ? tagged.name : tagged.number.toFixed();
}

/** Narrows the parts of a message by their tool. */
export function weatherTexts(message: Chat<Dojo>): string[] {
  return message.parts.flatMap(part =>
    part.type === 'tool-get_weather' && part.state === 'output-available' ? [part.output.city, part.output.windSpeed.toFixed()] : [],
  );
}
