// Right uses of the types of chat-server's page.
import type { UIDataTypes, UIMessage } from 'ai';
import type { Tools } from '../../../examples/frontend/src/tools';

type Part = UIMessage<unknown, UIDataTypes, Tools>['parts'][number];

export function summary(part: Part): string | number | undefined {
  switch (part.type) {
    case 'tool-get_weather':
      // While the input arrives, each of its fields may be missing.
      if (part.state === 'input-streaming') return part.input?.city;
      return part.state === 'output-available' ? part.output.temperature : part.input?.city;
    case 'tool-pick_colour':
      return part.state === 'output-available' ? part.output.hex : undefined;
    default:
      return undefined;
  }
}
