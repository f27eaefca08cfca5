// Made from the declarations of the tools: change those.

export type ListInput = {
  /**
   * The directory, relative to the root.
   * @default "."
   */
  path?: string;
};

export type ListOutput = Entry[];

/** The entries of a directory. */
export type Entry = {
  name: string;
  is_directory: boolean;
  /** The size in bytes. */
  size: number;
};

export type ReadInput = {
  /** The file, relative to the root. */
  path: string;
};

export type ReadOutput = string;

export type SearchInput = {
  /** The text to look for; upper and lower case are different. */
  text: string;
};

export type SearchOutput = Match[];

/** A line that was found. */
export type Match = {
  path: string;
  /** The number of the line, from 1. */
  line: number;
  text: string;
};

export type WriteInput = {
  /** The file, relative to the root. */
  path: string;
  /** The whole content. */
  content: string;
};

export type WriteOutput = string;

export type DeleteInput = {
  /** The file, relative to the root. */
  path: string;
};

export type DeleteOutput = string;

export type Tools = {
  /** List the files of a directory. */
  list: { input: ListInput; output: ListOutput };
  /** Read a text file. */
  read: { input: ReadInput; output: ReadOutput };
  /** Search all files for a text. */
  search: { input: SearchInput; output: SearchOutput };
  /** Write a text file, in place of what was there. */
  write: { input: WriteInput; output: WriteOutput };
  /** Delete a file. */
  delete: { input: DeleteInput; output: DeleteOutput };
};
