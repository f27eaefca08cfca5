// Made from the declarations of the tools: change those.

export type BookFlightInput = {
  /** The city of departure. */
  departure?: string;
  /** The city of arrival. */
  arrival?: string;
  /** The day of the flight. */
  date?: string;
  /** The number of passengers. */
  passengers?: number;
};

export type BookFlightOutput = Booking;

/** A booking. */
export type Booking = {
  code: string;
  flight: string;
  departure: string;
  arrival: string;
  date: string;
  passengers: number;
  /** The price for all passengers, in euros. */
  total: number;
};

export type MyBookingsInput = { [key: string]: never };

export type MyBookingsOutput = Booking[];

export type CancelBookingInput = {
  /** The code of the booking. */
  code?: string;
};

export type CancelBookingOutput = string;

export type Tools = {
  /** Book a flight. Call it even if only some values are known: it returns the missing and the allowed values. */
  book_flight: { input: BookFlightInput; output: BookFlightOutput };
  /** Show my bookings. */
  my_bookings: { input: MyBookingsInput; output: MyBookingsOutput };
  /** Cancel a booking. */
  cancel_booking: { input: CancelBookingInput; output: CancelBookingOutput };
};
