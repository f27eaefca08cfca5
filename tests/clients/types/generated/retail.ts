// Made from the declarations of the tools: change those.

export type CalculateInput = {
  /** The mathematical expression to calculate, such as '2 + 2'. The expression can contain numbers, operators (+, -, *, /), parentheses, and spaces. */
  expression: string;
};

export type CalculateOutput = string;

export type CancelPendingOrderInput = {
  /** The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id. */
  order_id: string;
  /** The reason for cancellation, which should be either 'no longer needed' or 'ordered by mistake'. */
  reason: "no longer needed" | "ordered by mistake";
};

export type CancelPendingOrderOutput = Order;

/** An order. What follows the payment history is there only after a cancellation, a return or an exchange. */
export type Order = {
  order_id: string;
  user_id: string;
  address: Address;
  items: Item[];
  fulfillments: Fulfillment[];
  status: Status;
  payment_history: Transaction[];
  /** The reasons the policy accepts. */
  cancel_reason?: "no longer needed" | "ordered by mistake" | null;
  return_items?: string[] | null;
  return_payment_method_id?: string | null;
  exchange_items?: string[] | null;
  exchange_new_items?: string[] | null;
  exchange_payment_method_id?: string | null;
  exchange_price_difference?: number | null;
};

export type Transaction = {
  transaction_type: TransactionType;
  amount: number;
  payment_method_id: string;
};

export type TransactionType = "payment" | "refund";

export type Status = "pending" | "pending (item modified)" | "processed" | "delivered" | "cancelled" | "return requested" | "exchange requested";

export type Fulfillment = {
  tracking_id: string[];
  item_ids: string[];
};

export type Item = {
  name: string;
  product_id: string;
  item_id: string;
  price: number;
  options: { [key: string]: string };
};

/**
 * The lines of an address, by name.
 *
 * The lines keep the order in which they were written. In the database, the country is before the state; in an address from
 * a tool, it is after it. Results show each address in its own order.
 */
export type Address = { [key: string]: string };

export type ExchangeDeliveredOrderItemsInput = {
  /** The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id. */
  order_id: string;
  /** The item ids to be exchanged, each such as '1008292230'. There could be duplicate items in the list. */
  item_ids: string[];
  /** The item ids to be exchanged for, each such as '1008292230'. There could be duplicate items in the list. Each new item id should match the item id in the same position and be of the same product. */
  new_item_ids: string[];
  /** The payment method id to pay or receive refund for the item price difference, such as 'gift_card_0000000' or 'credit_card_0000000'. These can be looked up from the user or order details. */
  payment_method_id: string;
};

export type ExchangeDeliveredOrderItemsOutput = Order;

export type FindUserIdByEmailInput = {
  /** The email of the user, such as 'something@example.com'. */
  email: string;
};

export type FindUserIdByEmailOutput = string;

export type FindUserIdByNameZipInput = {
  /** The first name of the customer, such as 'John'. */
  first_name: string;
  /** The last name of the customer, such as 'Doe'. */
  last_name: string;
  /** The zip code of the customer, such as '12345'. */
  zip: string;
};

export type FindUserIdByNameZipOutput = string;

export type GetOrderDetailsInput = {
  /** The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id. */
  order_id: string;
};

export type GetOrderDetailsOutput = Order;

export type GetProductDetailsInput = {
  /** The product id, such as '6086499569'. Be careful the product id is different from the item id. */
  product_id: string;
};

export type GetProductDetailsOutput = Product;

/** A type of product, such as a T-shirt, and its variants by item id. */
export type Product = {
  name: string;
  product_id: string;
  variants: { [key: string]: Variant };
};

/** One item that can be bought, such as a blue T-shirt of size M. */
export type Variant = {
  item_id: string;
  options: { [key: string]: string };
  available: boolean;
  price: number;
};

export type GetUserDetailsInput = {
  /** The user id, such as 'sara_doe_496'. */
  user_id: string;
};

export type GetUserDetailsOutput = User;

/** A customer, with payment methods by their id. */
export type User = {
  name: Name;
  address: Address;
  email: string;
  payment_methods: { [key: string]: PaymentMethod };
  orders: string[];
};

export type PaymentMethod = {
  source: "paypal";
  id: string;
} | {
  source: "credit_card";
  brand: string;
  last_four: string;
  id: string;
} | {
  source: "gift_card";
  balance: number;
  id: string;
};

export type Name = {
  first_name: string;
  last_name: string;
};

export type ListAllProductTypesInput = { [key: string]: never };

export type ListAllProductTypesOutput = { [key: string]: string };

export type ModifyPendingOrderAddressInput = {
  /** The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id. */
  order_id: string;
  /** The first line of the address, such as '123 Main St'. */
  address1: string;
  /** The second line of the address, such as 'Apt 1' or ''. */
  address2: string;
  /** The city, such as 'San Francisco'. */
  city: string;
  /** The state, such as 'CA'. */
  state: string;
  /** The country, such as 'USA'. */
  country: string;
  /** The zip code, such as '12345'. */
  zip: string;
};

export type ModifyPendingOrderAddressOutput = Order;

export type ModifyPendingOrderItemsInput = {
  /** The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id. */
  order_id: string;
  /** The item ids to be modified, each such as '1008292230'. There could be duplicate items in the list. */
  item_ids: string[];
  /** The item ids to be modified for, each such as '1008292230'. There could be duplicate items in the list. Each new item id should match the item id in the same position and be of the same product. */
  new_item_ids: string[];
  /** The payment method id to pay or receive refund for the item price difference, such as 'gift_card_0000000' or 'credit_card_0000000'. These can be looked up from the user or order details. */
  payment_method_id: string;
};

export type ModifyPendingOrderItemsOutput = Order;

export type ModifyPendingOrderPaymentInput = {
  /** The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id. */
  order_id: string;
  /** The payment method id to pay or receive refund for the item price difference, such as 'gift_card_0000000' or 'credit_card_0000000'. These can be looked up from the user or order details. */
  payment_method_id: string;
};

export type ModifyPendingOrderPaymentOutput = Order;

export type ModifyUserAddressInput = {
  /** The user id, such as 'sara_doe_496'. */
  user_id: string;
  /** The first line of the address, such as '123 Main St'. */
  address1: string;
  /** The second line of the address, such as 'Apt 1' or ''. */
  address2: string;
  /** The city, such as 'San Francisco'. */
  city: string;
  /** The state, such as 'CA'. */
  state: string;
  /** The country, such as 'USA'. */
  country: string;
  /** The zip code, such as '12345'. */
  zip: string;
};

export type ModifyUserAddressOutput = User;

export type ReturnDeliveredOrderItemsInput = {
  /** The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id. */
  order_id: string;
  /** The item ids to be returned, each such as '1008292230'. There could be duplicate items in the list. */
  item_ids: string[];
  /** The payment method id to pay or receive refund for the item price difference, such as 'gift_card_0000000' or 'credit_card_0000000'. These can be looked up from the user or order details. */
  payment_method_id: string;
};

export type ReturnDeliveredOrderItemsOutput = Order;

export type ThinkInput = {
  /** A thought to think about. */
  thought: string;
};

export type ThinkOutput = string;

export type TransferToHumanAgentsInput = {
  /** A summary of the user's issue. */
  summary: string;
};

export type TransferToHumanAgentsOutput = string;

export type Tools = {
  /** Calculate the result of a mathematical expression. */
  calculate: { input: CalculateInput; output: CalculateOutput };
  /** Cancel a pending order. If the order is already processed or delivered, it cannot be cancelled. The agent needs to explain the cancellation detail and ask for explicit user confirmation (yes/no) to proceed. If the user confirms, the order status will be changed to 'cancelled' and the payment will be refunded. The refund will be added to the user's gift card balance immediately if the payment was made using a gift card, otherwise the refund would take 5-7 business days to process. The function returns the order details after the cancellation. */
  cancel_pending_order: { input: CancelPendingOrderInput; output: CancelPendingOrderOutput };
  /** Exchange items in a delivered order to new items of the same product type. For a delivered order, return or exchange can be only done once by the agent. The agent needs to explain the exchange detail and ask for explicit user confirmation (yes/no) to proceed. */
  exchange_delivered_order_items: { input: ExchangeDeliveredOrderItemsInput; output: ExchangeDeliveredOrderItemsOutput };
  /** Find user id by email. If the user is not found, the function will return an error message. */
  find_user_id_by_email: { input: FindUserIdByEmailInput; output: FindUserIdByEmailOutput };
  /** Find user id by first name, last name, and zip code. If the user is not found, the function will return an error message. By default, find user id by email, and only call this function if the user is not found by email or cannot remember email. */
  find_user_id_by_name_zip: { input: FindUserIdByNameZipInput; output: FindUserIdByNameZipOutput };
  /** Get the status and details of an order. */
  get_order_details: { input: GetOrderDetailsInput; output: GetOrderDetailsOutput };
  /** Get the inventory details of a product. */
  get_product_details: { input: GetProductDetailsInput; output: GetProductDetailsOutput };
  /** Get the details of a user, including their orders. */
  get_user_details: { input: GetUserDetailsInput; output: GetUserDetailsOutput };
  /** List the name and product id of all product types. Each product type has a variety of different items with unique item ids and options. There are only 50 product types in the store. */
  list_all_product_types: { input: ListAllProductTypesInput; output: ListAllProductTypesOutput };
  /** Modify the shipping address of a pending order. The agent needs to explain the modification detail and ask for explicit user confirmation (yes/no) to proceed. */
  modify_pending_order_address: { input: ModifyPendingOrderAddressInput; output: ModifyPendingOrderAddressOutput };
  /** Modify items in a pending order to new items of the same product type. For a pending order, this function can only be called once. The agent needs to explain the exchange detail and ask for explicit user confirmation (yes/no) to proceed. */
  modify_pending_order_items: { input: ModifyPendingOrderItemsInput; output: ModifyPendingOrderItemsOutput };
  /** Modify the payment method of a pending order. The agent needs to explain the modification detail and ask for explicit user confirmation (yes/no) to proceed. */
  modify_pending_order_payment: { input: ModifyPendingOrderPaymentInput; output: ModifyPendingOrderPaymentOutput };
  /** Modify the default address of a user. The agent needs to explain the modification detail and ask for explicit user confirmation (yes/no) to proceed. */
  modify_user_address: { input: ModifyUserAddressInput; output: ModifyUserAddressOutput };
  /** Return some items of a delivered order. The order status will be changed to 'return requested'. The agent needs to explain the return detail and ask for explicit user confirmation (yes/no) to proceed. The user will receive follow-up email for how and where to return the item. */
  return_delivered_order_items: { input: ReturnDeliveredOrderItemsInput; output: ReturnDeliveredOrderItemsOutput };
  /** Use the tool to think about something. It will not obtain new information or change the database, but just append the thought to the log. Use it when complex reasoning or some cache memory is needed. */
  think: { input: ThinkInput; output: ThinkOutput };
  /** Transfer the user to a human agent, with a summary of the user's issue. Only transfer if the user explicitly asks for a human agent, or if the user's issue cannot be resolved by the agent with the available tools. */
  transfer_to_human_agents: { input: TransferToHumanAgentsInput; output: TransferToHumanAgentsOutput };
};
