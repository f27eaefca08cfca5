// Uses that are wrong: every marked line is an error, and no other.
import type { UIDataTypes, UIMessage } from 'ai';
import type { Tools as Page } from '../../../examples/frontend/src/tools';
import type { Shape, Tagged, Tools as Kinds } from './generated/kinds';

type Part = UIMessage<unknown, UIDataTypes, Page>['parts'][number];

export function outputs(part: Part): unknown {
  if (part.type === 'tool-get_wether') return 0; // wrong: there is no such tool
  if (part.type === 'tool-get_weather' && part.state === 'output-available') {
    const sky: 'clear' = part.output.sky; // wrong: it may be another
    return [sky, part.output.humidity]; // wrong: it is not told
  }
  if (part.type === 'tool-get_weather') return part.output.city; // wrong: there may be none yet
  if (part.type === 'tool-book_train' && part.state === 'approval-requested') {
    return part.input.seats.toFixed(); // wrong: it may be missing
  }
  return part.type === 'tool-check_folder' && part.state === 'output-available' ? part.output.files.toFixed() : 0; // wrong: a list
}

export const shapes: Shape[] = [
  'line', // wrong: it has points
  { circle: '1' }, // wrong: a number
  { line: [{ x: 1 }] }, // wrong: two points
  { rect: { at: { x: 0 } } }, // wrong: a size
];

export function name(tagged: Tagged): string {
  return tagged.name; // wrong: only one of them has a name
}

export const collections: Kinds['collections']['input'] = {
  a: [{ y: 1 }], // wrong: x
  b: { one: '1' }, // wrong: a number
  c: [1, true, 2], // wrong: two items
  e: [null], // wrong: numbers
};
export const missing: Kinds['texts']['input'] = { a: '', c: '' }; // wrong: e is required
export const more: Kinds['texts']['input'] = { a: '', c: '', e: 'x', z: 1 }; // wrong: there is no z
