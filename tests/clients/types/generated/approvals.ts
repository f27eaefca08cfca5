// Made from the declarations of the tools: change those.

export type FindOrderInput = {
  /** The order's number. */
  order: string;
};

export type FindOrderOutput = Order;

/** An order. */
export type Order = {
  number: string;
  customer: string;
  /** The price that was paid, in euros. */
  paid: number;
  /** The amount that was paid back, in euros. */
  refunded: number;
};

export type RefundInput = {
  /** The order's number. */
  order: string;
  /** The amount to pay back, in euros. */
  amount: number;
};

export type RefundOutput = string;

export type Tools = {
  /** Look an order up. */
  find_order: { input: FindOrderInput; output: FindOrderOutput };
  /** Refund an order: pay money back. */
  refund: { input: RefundInput; output: RefundOutput };
};
