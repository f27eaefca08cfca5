// Made from the declarations of the tools: change those.

export type NumbersInput = {
  a: number;
  b: number;
  c: number;
  d: number;
  e?: number | null;
  f: number;
  /** @default 3 */
  g?: number;
};

export type NumbersOutput = null;

export type TextsInput = {
  a: string;
  b?: string | null;
  c: string;
  /** @default false */
  d?: boolean;
  e: string;
};

export type TextsOutput = null;

export type CollectionsInput = {
  a: Point[];
  b: { [key: string]: number };
  c: [number, boolean];
  /** @default [] */
  d?: string[];
  e?: number[] | null;
};

export type Point = {
  x: number;
  y?: number | null;
};

export type CollectionsOutput = null;

export type NestedInput = {
  a: Shape;
  b: Limited;
  c?: Tagged | null;
  d?: Either | null;
  e?: Tree | null;
};

export type Tree = {
  value: number;
  children: Tree[];
};

export type Either = number | string;

export type Tagged = {
  kind: "Named";
  name: string;
} | {
  kind: "Numbered";
  number: number;
};

export type Limited = {
  /** Checked although only schemars knows of it. */
  atMostFive: number;
  name?: string | null;
};

export type Shape = "dot" | {
  circle: number;
} | {
  line: [Point, Point];
} | {
  rect: {
    at: Point;
    size: number;
  };
};

export type NestedOutput = null;

export type Tools = {
  /** Numbers. */
  numbers: { input: NumbersInput; output: NumbersOutput };
  /** Texts. */
  texts: { input: TextsInput; output: TextsOutput };
  /** Collections. */
  collections: { input: CollectionsInput; output: CollectionsOutput };
  /** Types of the user. */
  nested: { input: NestedInput; output: NestedOutput };
};
