// Made from the declarations of the tools: change those.

export type SearchFlightsInput = {
  /** The city of departure. */
  from?: string;
  /** The city of arrival. */
  to?: string;
  /** The day of departure. */
  date?: string;
  /**
   * The number of passengers.
   * @default 1
   */
  seats?: number;
};

export type SearchFlightsOutput = Journey[];

/** A way from one city to another. */
export type Journey = {
  /** One flight, or two with a change of planes. */
  flights: Flight[];
};

/** A flight on one day. Times are in UTC. */
export type Flight = {
  number: string;
  from: string;
  to: string;
  leaves: string;
  lands: string;
  status: Status;
  /** The cabins that the plane has. */
  fares: Fare[];
};

/** A cabin of a flight, with its free seats and the price of one. */
export type Fare = {
  cabin: Cabin;
  seats: number;
  cents: number;
};

/** A class of seats. */
export type Cabin = "basic" | "economy" | "business";

/** The punctuality of a flight. */
export type Status = "on_time" | "delayed" | "cancelled";

export type LookUpCustomerInput = {
  /** The customer's id, or the address of the e-mail. */
  customer?: string;
};

export type LookUpCustomerOutput = CustomerFile;

/** A customer, and the codes of all bookings. */
export type CustomerFile = {
  customer: Customer;
  bookings: string[];
};

/** A customer of the airline. */
export type Customer = {
  id: string;
  email: string;
  membership: Membership;
  /** The persons for whom the customer has booked before. */
  travellers: Passenger[];
  methods: Method[];
};

/** A method of payment. */
export type Method = {
  id: string;
  kind: MethodKind;
  /** The money that is left; a card has no such limit. */
  cents: number | null;
};

/** - `voucher`: It pays for one booking. What is left of it is lost. */
export type MethodKind = "card" | "gift_card" | "voucher";

/** A person who flies. */
export type Passenger = {
  /** As in the passport. */
  first_name: string;
  /** As in the passport. */
  last_name: string;
  /** The day of birth. */
  born: string;
};

/** A level of membership. */
export type Membership = "regular" | "silver" | "gold";

export type LookUpBookingInput = {
  /** The code of the booking. */
  booking?: string;
};

export type LookUpBookingOutput = Booking;

/** A booking. */
export type Booking = {
  code: string;
  customer: string;
  trip: Trip;
  from: string;
  to: string;
  cabin: Cabin;
  flights: FlightChoice[];
  passengers: Passenger[];
  bags: number;
  paid_bags: number;
  insurance: boolean;
  /** The part of the price that is for the seats. */
  fare: number;
  charges: Charge[];
  booked: string;
  /** The reason, if it is cancelled. */
  cancelled: Reason | null;
  is_compensated: boolean;
};

/**
 * The reason of a cancellation.
 *
 * - `plans`: The customer changed the plans.
 * - `airline`: The airline cancelled a flight.
 * - `illness`: A passenger is ill.
 */
export type Reason = "plans" | "airline" | "illness";

/** Money that a customer paid or, if negative, got back. */
export type Charge = {
  method: string;
  cents: number;
};

/** A flight that somebody chose. */
export type FlightChoice = {
  /** The number, such as TA110. */
  number: string;
  /** The day on which it leaves. */
  date: string;
};

/** The form of a journey. */
export type Trip = "one_way" | "round_trip";

export type BookFlightsInput = {
  /** The customer's id, or the address of the e-mail. */
  customer?: string;
  /** The city of departure. */
  from?: string;
  /** The city of arrival. */
  to?: string;
  /**
   * With or without the way back.
   * @default "one_way"
   */
  trip?: Trip;
  /** The flights in their order, with those of the way back. */
  flights?: FlightChoice[];
  /** The cabin. */
  cabin?: Cabin;
  /** The passengers. */
  passengers?: Passenger[];
  /** The number of checked bags of all passengers together. */
  bags?: number;
  /** The number of bags beyond the allowance, which cost 40 euros each. */
  paid_bags?: number;
  /** An insurance pays the money back after an illness. It costs 25 euros for each passenger. */
  insurance?: boolean;
  /** The payments, with at most one voucher, one card and three gift cards. */
  payments?: Payment[];
};

/** A part of the price, and the method that pays it. */
export type Payment = {
  /** The id of one of the customer's methods of payment. */
  method: string;
  /** The amount in cents. */
  cents: number;
};

export type BookFlightsOutput = Booking;

export type ChangeFlightsInput = {
  /** The code of the booking. */
  booking?: string;
  /** All flights in their order, those that stay included. */
  flights?: FlightChoice[];
  /** The cabin of all flights, as before if it is left out. */
  cabin?: Cabin;
  /** The card or gift card that pays the difference, or receives it. */
  method?: string;
};

export type ChangeFlightsOutput = Booking;

export type AddBagsInput = {
  /** The code of the booking. */
  booking?: string;
  /** The number of bags of all passengers, those of before included. */
  bags?: number;
  /** The number of bags beyond the allowance, which cost 40 euros each. */
  paid_bags?: number;
  /** The card or gift card that pays. */
  method?: string;
};

export type AddBagsOutput = Booking;

export type ChangePassengersInput = {
  /** The code of the booking. */
  booking?: string;
  /** Everybody who flies, in the order of before. */
  passengers?: Passenger[];
};

export type ChangePassengersOutput = Booking;

export type CancelBookingInput = {
  /** The code of the booking. */
  booking?: string;
  /** The reason of the customer. */
  reason?: Reason;
};

export type CancelBookingOutput = string;

export type CompensateInput = {
  /** The code of the booking. */
  booking?: string;
  /** The amount in cents; all that is possible if it is left out. */
  cents?: number;
};

export type CompensateOutput = Method;

export type Tools = {
  /** Search the flights of a day. Call it even if only some values are known: it returns the missing and the allowed values. */
  search_flights: { input: SearchFlightsInput; output: SearchFlightsOutput };
  /** Look up a customer: membership, travellers, methods of payment, and the codes of the bookings. */
  look_up_customer: { input: LookUpCustomerInput; output: LookUpCustomerOutput };
  /** Look up a booking: flights, passengers, bags and payments. */
  look_up_booking: { input: LookUpBookingInput; output: LookUpBookingOutput };
  /** Book flights. Call it even if only some values are known: it returns the missing and the allowed values, and the price. */
  book_flights: { input: BookFlightsInput; output: BookFlightsOutput };
  /** Change the flights or the cabin of a booking. The seats are paid at the prices of today. Basic cannot be changed. */
  change_flights: { input: ChangeFlightsInput; output: ChangeFlightsOutput };
  /** Add checked bags to a booking. A bag cannot be taken off. */
  add_bags: { input: AddBagsInput; output: AddBagsOutput };
  /** Correct the passengers of a booking: names and days of birth, but not their number. */
  change_passengers: { input: ChangePassengersInput; output: ChangePassengersOutput };
  /** Cancel a booking, and pay the money back. Money of a voucher is lost. */
  cancel_booking: { input: CancelBookingInput; output: CancelBookingOutput };
  /** Give a voucher for a flight that was delayed or cancelled: 50 or 100 euros for each passenger. */
  compensate: { input: CompensateInput; output: CompensateOutput };
};
