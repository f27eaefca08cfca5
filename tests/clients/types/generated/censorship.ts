// Made from the declarations of the tools: change those.

export type SearchInput = {
  /**
   * What to search for. Upper and lower case are alike.
   * @default ""
   */
  q?: string;
};

export type SearchOutput = Found;

/** The documents that were found. */
export type Found = {
  /** The documents that match. */
  results: string[];
};

export type Tools = {
  /** Exact-match search over a dataset. */
  search: { input: SearchInput; output: SearchOutput };
};
