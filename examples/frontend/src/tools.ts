// Made from the declarations of the tools: change those.

export type GetWeatherInput = {
  /** The city. */
  city: string;
};

export type GetWeatherOutput = Weather;

/** The weather as it is now. */
export type Weather = {
  city: string;
  sky: Sky;
  /** In degrees Celsius. */
  temperature: number;
};

export type Sky = "clear" | "cloudy" | "rain";

export type WriteNoteInput = {
  /** The title of the note. */
  title: string;
  /** The text of the note. */
  text: string;
};

export type WriteNoteOutput = Written;

/** A written file. */
export type Written = {
  file: string;
  words: number;
};

export type CheckFolderInput = { [key: string]: never };

export type CheckFolderOutput = Checked;

/** The progress of the check. */
export type Checked = {
  /** The files that were looked at, in order. */
  files: string[];
  /** The number of all files. */
  total: number;
};

export type DeleteFileInput = {
  /** The name of the file. */
  name: string;
};

export type DeleteFileOutput = Deleted;

/** A deleted file. */
export type Deleted = {
  deleted: string;
  /** The files that are left. */
  left: number;
};

export type BookTrainInput = {
  /** The city of departure. */
  from?: string;
  /** The city of arrival. */
  to?: string;
  /** The number of travellers. */
  seats?: number;
};

export type BookTrainOutput = Ticket;

/** A ticket. */
export type Ticket = {
  from: string;
  to: string;
  seats: number;
  /** The price of all seats, in euros. */
  total: number;
};

export type PickColourInput = { [key: string]: never };

export type PickColourOutput = Colour;

/** A colour. */
export type Colour = {
  /** As people call it. */
  name: string;
  /** Such as `#3366cc`. */
  hex: string;
};

export type Tools = {
  /** Get the weather in a city. */
  get_weather: { input: GetWeatherInput; output: GetWeatherOutput };
  /** Write a note into the folder. */
  write_note: { input: WriteNoteInput; output: WriteNoteOutput };
  /** Check every file of the folder for damage. This takes a while. */
  check_folder: { input: CheckFolderInput; output: CheckFolderOutput };
  /** Delete a file of the folder. */
  delete_file: { input: DeleteFileInput; output: DeleteFileOutput };
  /** Book a train. Call it with what is known: it tells what is missing, and what there is to choose from. */
  book_train: { input: BookTrainInput; output: BookTrainOutput };
  /** Let the user pick a colour for the page. It is done in the browser. */
  pick_colour: { input: PickColourInput; output: PickColourOutput };
};
