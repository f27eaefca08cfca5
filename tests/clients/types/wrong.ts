// Wrong uses of the generated types. The compiler reports an error on each marked line, and on no other line.
import type { UIDataTypes, UIMessage } from 'ai';
import type { Tools as Page } from '../../../examples/frontend/src/tools';
import type { Shape, Tagged, Tools as Kinds } from './generated/kinds';

type Part = UIMessage<unknown, UIDataTypes, Page>['parts'][number];

export function outputs(part: Part): unknown {
  if (part.type === 'tool-get_wether') return 0; // wrong: no tool has this name
  if (part.type === 'tool-get_weather' && part.state === 'output-available') {
    const sky: 'clear' = part.output.sky; // wrong: the sky may have another value
    return [sky, part.output.humidity]; // wrong: the output has no humidity
  }
  if (part.type === 'tool-get_weather') return part.output.city; // wrong: the output may not exist yet
  if (part.type === 'tool-book_train' && part.state === 'approval-requested') {
    return part.input.seats.toFixed(); // wrong: seats may be missing
  }
  return part.type === 'tool-check_folder' && part.state === 'output-available' ? part.output.files.toFixed() : 0; // wrong: files is a list
}

export const shapes: Shape[] = [
  'line', // wrong: a line has points
  { circle: '1' }, // wrong: the radius is a number
  { line: [{ x: 1 }] }, // wrong: a line has two points
  { rect: { at: { x: 0 } } }, // wrong: a rect needs a size
];

export function name(tagged: Tagged): string {
  return tagged.name; // wrong: only one variant has a name
}

export const collections: Kinds['collections']['input'] = {
  a: [{ y: 1 }], // wrong: the point has no x
  b: { one: '1' }, // wrong: the value is a number
  c: [1, true, 2], // wrong: the tuple has two items
  e: [null], // wrong: the items are numbers
};
export const missing: Kinds['texts']['input'] = { a: '', c: '' }; // wrong: e is required
export const more: Kinds['texts']['input'] = { a: '', c: '', e: 'x', z: 1 }; // wrong: the input has no z
