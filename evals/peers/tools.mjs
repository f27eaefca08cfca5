// The tools of src/tools.rs, as users of the AI SDK declare them.
import { tool } from 'ai';
import { z } from 'zod';

const place = z.object({ city: z.string().describe('The city.'), street: z.string().describe('The street.') });
const span = z.object({
  first: z.number().int().describe('The first day of the month.'),
  days: z.number().int().describe('The number of days.'),
});
const temperature = z.enum(['celsius', 'fahrenheit', 'kelvin']);

/** Returns the tools. Each calls `run` with its arguments. */
export const declare = (run) => ({
  book_train: tool({
    description: 'Books seats on a train.',
    inputSchema: z.object({
      origin: z.string().describe('The station of departure.'),
      destination: z.string().describe('The station of arrival.'),
      seats: z.number().int().min(1).max(9).describe('The number of seats.'),
      class: z.enum(['first', 'second', 'sleeper']).optional().describe('The class of the seats.'),
    }),
    execute: run,
  }),
  weather: tool({
    description: 'Returns the weather.',
    inputSchema: z.object({
      city: z.string().describe('The city.'),
      unit: temperature.describe('The unit.'),
      days: z.number().int().min(1).max(14).optional().describe('The number of days.'),
    }),
    execute: run,
  }),
  send_message: tool({
    description: 'Sends a message to people.',
    inputSchema: z.object({
      recipients: z.array(z.string()).describe('The names of the people.'),
      body: z.string().describe('The text.'),
      channel: z.enum(['email', 'text_message', 'letter', 'telephone']).describe('The way in which it is sent.'),
      urgent: z.boolean().optional().describe('Set to send it at once.'),
    }),
    execute: run,
  }),
  resize_image: tool({
    description: 'Changes the size of an image.',
    inputSchema: z.object({
      image: z.string().describe('The name of the image.'),
      width: z.number().int().min(1).max(8000).describe('The width in pixels.'),
      height: z.number().int().min(1).max(8000).describe('The height in pixels.'),
      format: z.enum(['png', 'jpeg', 'webp', 'avif']).optional().describe('The format.'),
    }),
    execute: run,
  }),
  search_recipes: tool({
    description: 'Searches recipes.',
    inputSchema: z.object({
      ingredients: z.array(z.string()).describe('The ingredients at hand.'),
      diets: z
        .array(z.enum(['vegan', 'vegetarian', 'halal', 'kosher', 'gluten_free']))
        .optional()
        .describe('The diets that the recipe respects.'),
      minutes: z.number().int().min(5).max(600).optional().describe('The longest time in minutes.'),
    }),
    execute: run,
  }),
  open_ticket: tool({
    description: 'Opens a ticket.',
    inputSchema: z.object({
      title: z.string().describe('The title.'),
      priority: z.enum(['low', 'normal', 'high', 'critical']).describe('The urgency.'),
      labels: z.array(z.string()).optional().describe('The labels.'),
      notify: z.boolean().describe('Set to inform the team.'),
    }),
    execute: run,
  }),
  transfer: tool({
    description: 'Transfers money.',
    inputSchema: z.object({
      from_account: z.string().describe('The account that pays.'),
      to_account: z.string().describe('The account that receives.'),
      amount: z.number().describe('The amount.'),
      memo: z.string().optional().describe('A remark.'),
    }),
    execute: run,
  }),
  plan_route: tool({
    description: 'Plans a route.',
    inputSchema: z.object({
      start: place.describe('The start.'),
      goal: place.describe('The goal.'),
      vehicle: z.enum(['bicycle', 'train', 'tram', 'ferry', 'on_foot']).describe('The means of transport.'),
      stops: z.array(z.string()).optional().describe('The places on the way.'),
    }),
    execute: run,
  }),
  rate_film: tool({
    description: 'Rates a film.',
    inputSchema: z.object({
      film: z.string().describe('The title of the film.'),
      stars: z.number().int().min(1).max(5).describe('The number of stars.'),
      review: z.string().optional().describe('A review.'),
    }),
    execute: run,
  }),
  set_alarm: tool({
    description: 'Sets an alarm.',
    inputSchema: z.object({
      hour: z.number().int().min(0).max(23).describe('The hour.'),
      minute: z.number().int().min(0).max(59).describe('The minute.'),
      repeat: z.boolean().describe('Set to repeat it each day.'),
      label: z.string().optional().describe('A name for it.'),
    }),
    execute: run,
  }),
  order_pizza: tool({
    description: 'Orders a pizza.',
    inputSchema: z.object({
      size: z.enum(['small', 'medium', 'large']).describe('The size.'),
      toppings: z.array(z.string()).describe('The toppings.'),
      address: place.describe('The place of delivery.'),
      tip: z.number().optional().describe('The tip.'),
    }),
    execute: run,
  }),
  convert_units: tool({
    description: 'Converts a quantity.',
    inputSchema: z.object({
      quantity: z.number().describe('The quantity.'),
      source: temperature.describe('The present unit.'),
      target: temperature.describe('The unit of the result.'),
      decimals: z.number().int().min(0).max(9).optional().describe('The number of decimals.'),
    }),
    execute: run,
  }),
  list_files: tool({
    description: 'Lists files.',
    inputSchema: z.object({
      folder: z.string().describe('The folder.'),
      order: z.enum(['name', 'modified', 'bytes']).describe('The order.'),
      recursive: z.boolean().optional().describe('Set to list inner folders.'),
      limit: z.number().int().min(1).max(1000).optional().describe('The largest number of files.'),
    }),
    execute: run,
  }),
  translate: tool({
    description: 'Translates a text.',
    inputSchema: z.object({
      text: z.string().describe('The text.'),
      language: z.string().describe('The language of the result.'),
      tone: z.enum(['formal', 'friendly', 'neutral']).describe('The tone of voice.'),
      keep: z.array(z.string()).optional().describe('The words that stay.'),
    }),
    execute: run,
  }),
  reserve_room: tool({
    description: 'Reserves a room.',
    inputSchema: z.object({
      room: z.string().describe('The name of the room.'),
      time: span.describe('The time.'),
      guests: z.number().int().min(1).max(200).describe('The number of guests.'),
      equipment: z.array(z.string()).optional().describe('The equipment.'),
    }),
    execute: run,
  }),
  run_report: tool({
    description: 'Makes a report.',
    inputSchema: z.object({
      subject: z.string().describe('The subject.'),
      years: z.array(z.number().int()).describe('The years that it covers.'),
      threshold: z.number().optional().describe('The limit from which values count.'),
      charts: z.boolean().describe('Set to add charts.'),
    }),
    execute: run,
  }),
});
