// Made from the declarations of the tools: change those.

export type RefundInput = {
  /** The order's number. */
  order: string;
  /** In euros. */
  amount: number;
};

export type RefundOutput = string;

export type Tools = {
  /** Pay money back. */
  refund: { input: RefundInput; output: RefundOutput };
};
